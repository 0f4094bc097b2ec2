"""Bad input of every kind gets one clear line: file, stage, key, what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpproof.__main__ import main
from dpproof.pipeline import vocabulary
from dpproof.pipeline.section import listed, quoted
from tests.dpproof.files import GAUSSIAN, GROUP, LAPLACE, PIPELINE

SCHEMES = (
    '"poisson", "without-replacement", "shuffled", "with-replacement", "truncated-poisson", '
    '"user-poisson", "allocation", "balls-in-bins", "cyclic-poisson" or "shuffled-reports"'
)
TRAINING = 'stage "training"'
POISSON = 'sampling = { scheme = "poisson", rate = 0.01 }\n'
ABOVE_ZERO = "a finite number above 0"
WHOLE = "a whole number from 1 to 1000000000000, without a point or exponent"
RATE = "a number above 0 and at most 1"
RELATIONS = '"add-remove", "replace-one", "zero-out" or "replace-label"'
WORDS = [quoted(name) for name in vocabulary.KINDS]
KINDS = listed([*WORDS[:12], f"one of {len(WORDS) - 12} more words of docs/PIPELINES.md"])


def _number(key: str, value: str) -> str:
    return PIPELINE + GAUSSIAN.replace("noise_multiplier = 1.0", f"{key} = {value}")


def _stage(lines: str) -> str:
    return f'{PIPELINE}\n[[stage]]\nname = "s"\n{lines}'


def _pipeline(old: str, new: str) -> str:
    return PIPELINE.replace(old, new) + GAUSSIAN


def _noise(value: str, shown: str | None = None) -> tuple[str, str]:
    line = f"{TRAINING}: noise_multiplier: expected {ABOVE_ZERO}, got {shown or value}"
    return _number("noise_multiplier", value), line


def _count(value: str) -> tuple[str, str]:
    text = f"{PIPELINE}{GAUSSIAN}count = {value}"
    return text, f"{TRAINING}: count: expected {WHOLE}, got {value}"


def _rate(value: str) -> tuple[str, str]:
    text = f'{PIPELINE}{GAUSSIAN}sampling = {{ scheme = "poisson", rate = {value} }}'
    return text, f"{TRAINING}: sampling.rate: expected {RATE}, got {value}"


def _delta(value: str) -> tuple[str, str]:
    line = f"[pipeline]: delta: expected a number above 0 and below 1, got {value}"
    return _pipeline("1e-6", value), line


CASES: dict[str, tuple[str, str]] = {
    "not TOML": ("[pipeline", "expected TOML: "),
    "key twice": ("a = 1\na = 2", "expected TOML: Cannot overwrite a value"),
    "ratio": (
        "a = ]1\nb = 1/256",
        "expected TOML: Invalid value (at line 1, column 5); write 1/256",
    ),
    "deeply nested": ("a = " + "[" * 100_000, "expected TOML: "),
    "number too long": ("a = " + "1" * 5000, "expected TOML: "),
    "empty": ("", "pipeline: missing; expected a [pipeline] table with relation and delta"),
    "unknown table": ("[pipelin]\n", 'unknown key "pipelin"; did you mean "pipeline"?'),
    "stages": (_pipeline("", "").replace("[[stage]]", "[[stages]]"), 'unknown key "stages"; did'),
    "pipeline is no table": ("pipeline = 3", "pipeline: expected a [pipeline] table with rela"),
    "unknown key in pipeline": (
        _pipeline("epsilon", "epsilom"),
        '[pipeline]: unknown key "epsilom"; did you mean "epsilon"?',
    ),
    "unknown key, nothing near": (
        _pipeline("epsilon", "xyz"),
        '[pipeline]: unknown key "xyz"; expected relation, delta, epsilon, n or protect',
    ),
    "missing relation": (
        _pipeline('relation = "add-remove"', ""),
        f"[pipeline]: relation: missing; expected {RELATIONS}",
    ),
    "unknown relation": (
        _pipeline("add-remove", "add_remove"),
        (
            f"[pipeline]: relation: expected {RELATIONS}, "
            'got "add_remove"; did you mean "add-remove"?'
        ),
    ),
    "relation is a number": (
        _pipeline('"add-remove"', "3"),
        f"[pipeline]: relation: expected {RELATIONS}, got 3",
    ),
    "missing delta": (
        _pipeline("delta = 1e-6", ""),
        "[pipeline]: delta: missing; expected a number above 0 and below 1",
    ),
    "delta 0": _delta("0"),
    "delta 1": _delta("1.0"),
    "delta negative": _delta("-1e-06"),
    "delta nan": _delta("nan"),
    "delta text": _delta('"1e-6"'),
    "epsilon negative": (
        _pipeline("8.0", "-8"),
        f"[pipeline]: epsilon: expected {ABOVE_ZERO}, got -8",
    ),
    "no stages": (PIPELINE, "stage: missing; expected at least one [[stage]] table"),
    "stages empty": ("stage = []" + PIPELINE, "stage: expected at least one [[stage]] table, got "),
    "stage is a table": (
        PIPELINE + '[stage]\nname = "a"',
        "stage: expected at least one [[stage]] table, got a table",
    ),
    "no name": (
        PIPELINE + '[[stage]]\nmechanism = "gaussian"',
        "stage 1: name: missing; expected a name on one line",
    ),
    "name misspelt": (
        PIPELINE + '[[stage]]\nnmae = "a"',
        'stage 1: unknown key "nmae"; did you mean "name"?',
    ),
    "name empty": (PIPELINE + '[[stage]]\nname = " "', "stage 1: name: expected a name on one li"),
    "name on two lines": (
        PIPELINE + '[[stage]]\nname = "a\\nb"',
        'stage 1: name: expected a name on one line, got "a\\nb"',
    ),
    "name with an escape": (
        PIPELINE + '[[stage]]\nname = "a\\u001b[31mb"',
        'stage 1: name: expected a name on one line, got "a\\u001b[31mb"',
    ),
    "duplicate names": (
        PIPELINE + GAUSSIAN + LAPLACE + GAUSSIAN,
        'stage 3: name: expected a name of its own, got "training" as in stage 1',
    ),
    "no mechanism": (_stage("scale = 2"), f'stage "s": mechanism: missing; expected {KINDS}'),
    "unknown mechanism": (
        _stage('mechanism = "gausian"'),
        'stage "s": mechanism: unknown "gausian"; did you mean "gaussian"?',
    ),
    "unknown key in a stage": (
        _number("noise_multiplyer", "1"),
        f'{TRAINING}: unknown key "noise_multiplyer"; did you mean "noise_multiplier"?',
    ),
    "another mechanism's parameter": (
        _number("scale", "1"),
        (
            f"{TRAINING}: scale: not a parameter here: gaussian takes noise_multiplier, "
            "or sigma and sensitivity"
        ),
    ),
    "no parameter": (
        _stage('mechanism = "laplace"'),
        f'stage "s": scale: missing; expected {ABOVE_ZERO} (laplace takes scale and sensitivity)',
    ),
    "sigma without sensitivity": (
        _number("sigma", "1"),
        (
            f"{TRAINING}: sensitivity: missing; expected {ABOVE_ZERO} "
            "(gaussian takes noise_multiplier, or sigma and sensitivity, "
            "or sigma and contribution)"
        ),
    ),
    "sigma and noise_multiplier": (
        _number("sensitivity = 1\nsigma = 1\nnoise_multiplier", "1"),
        (
            f"{TRAINING}: noise_multiplier: expected either noise_multiplier, "
            "or sigma and sensitivity, or sigma and contribution, not both"
        ),
    ),
    "noise negative": _noise("-1.0"),
    "noise 0": _noise("0.0"),
    "noise nan": _noise("nan"),
    "noise inf": _noise("inf"),
    "noise beyond floats": _noise("1e400", "inf"),
    "noise a huge whole number": _noise("1" + "0" * 400, hex(10**400)[:39] + "…"),
    "noise text": _noise('"1.0"'),
    "noise with a unit": _noise('"1 kg"'),
    "noise a boolean": _noise("true"),
    "noise an array": _noise("[1]", "an array"),
    "noise a table": _noise("{ sigma = 1 }", "a table"),
    "noise a date": _noise("1979-05-27"),
    "count 0": _count("0"),
    "count negative": _count("-3"),
    "count not whole": _count("2.5"),
    "count whole but a float": _count("10000.0"),
    "count too large": _count("1000000000001"),
    "count text": _count('"3"'),
    "count nan": _count("nan"),
    "rate above 1": _rate("1.5"),
    "rate in per cent": _rate('"1%"'),
    "rate 0": _rate("0"),
    "rate negative": _rate("-0.1"),
    "rate nan": _rate("nan"),
    "sampling is a number": (
        f"{PIPELINE}{GAUSSIAN}sampling = 0.01",
        (
            f"{TRAINING}: sampling: expected a table such as "
            '{ scheme = "poisson", rate = 0.01 }, got 0.01'
        ),
    ),
    "no scheme": (
        f"{PIPELINE}{GAUSSIAN}sampling = {{ rate = 0.1 }}",
        f"{TRAINING}: sampling.scheme: missing; expected {SCHEMES}",
    ),
    "unknown scheme": (
        f'{PIPELINE}{GAUSSIAN}sampling = {{ scheme = "shuffle", rate = 0.1 }}',
        f'{TRAINING}: sampling.scheme: expected {SCHEMES}, got "shuffle"',
    ),
    "unknown key in sampling": (
        f'{PIPELINE}{GAUSSIAN}sampling = {{ scheme = "poisson", ratio = 0.1 }}',
        f'{TRAINING}: unknown key "sampling.ratio"; did you mean "rate"?',
    ),
    "another scheme's key": (
        f'{PIPELINE}{GAUSSIAN}sampling = {{ scheme = "poisson", rate = 1, sample_size = 1 }}',
        f"{TRAINING}: sampling.sample_size: not a parameter here: poisson takes rate",
    ),
    "sample larger than the population": (
        PIPELINE.replace("add-remove", "replace-one")
        + GAUSSIAN
        + 'sampling = { scheme = "without-replacement", sample_size = 3, population_size = 2 }',
        f"{TRAINING}: sampling.sample_size: expected at most population_size = 2, got 3",
    ),
    "Poisson sampling under replace-one": (
        PIPELINE.replace("add-remove", "replace-one") + GAUSSIAN + POISSON,
        f'{TRAINING}: sampling.scheme: Poisson samples under relation = "replace-one" ',
    ),
    "two Gaussian sums on one sample under replace-one": (
        PIPELINE.replace("add-remove", "replace-one")
        + '[[stage]]\nname = "training"\n'
        + POISSON
        + 2 * '[[stage.release]]\nmechanism = "gaussian"\nsigma = 1\ncontribution = 1\n',
        (
            f'{TRAINING}: sampling.scheme: Poisson samples under relation = "replace-one" work for '
            "one gaussian release alone, which states its clipping norm; write sigma = 1.0 and "
            'contribution = 1 instead of noise_multiplier, scheme = "without-replacement", or '
            'relation = "add-remove"'
        ),
    ),
    "fixed size under add-remove": (
        PIPELINE
        + GAUSSIAN
        + 'sampling = { scheme = "without-replacement", sample_size = 1, population_size = 2 }',
        (
            f"{TRAINING}: sampling.scheme: samples of a fixed size work under relation = "
            '"add-remove" for one gaussian release alone, which states its clipping norm; write '
            'sigma = 1.0 and contribution = 1 instead of noise_multiplier, scheme = "poisson" with '
            'a rate, or relation = "replace-one"'
        ),
    ),
    "noise beyond all that samplers have": (
        _number("noise_multiplier", "1e300"),
        f"{TRAINING}: noise_multiplier must be in [2^-300, 2^300], got ",
    ),
    "sensitivity in a fraction of a count": (
        _stage('mechanism = "discrete-laplace"\nscale = 2\nsensitivity = 1.5'),
        (
            'stage "s": sensitivity: expected a whole number of at least 1: '
            "the query's values are whole numbers, got 1.5"
        ),
    ),
    "sensitivity in two norms": (
        _stage('mechanism = "discrete-gaussian"\nsigma = 2\nsensitivity = { l1 = 1, l2 = 1 }'),
        'stage "s": sensitivity: expected one norm, l1 or l2',
    ),
    "sensitivity in another norm": (
        _stage('mechanism = "laplace"\nscale = 2\nsensitivity = { l2 = 1 }'),
        'stage "s": unknown key "sensitivity.l2"; ',
    ),
    "categories 1": (
        _stage('mechanism = "randomized-response"\nepsilon = 1\ncategories = 1'),
        'stage "s": categories',
    ),
    "mechanism and releases": (
        PIPELINE + GROUP.replace("count = 200", 'mechanism = "gaussian"'),
        'stage "joint": mechanism: expected either mechanism, or [[stage.release]] tables, not bo',
    ),
    "parameter beside releases": (
        PIPELINE + GROUP.replace("count = 200", "scale = 2"),
        'stage "joint": unknown key "scale"',
    ),
    "sampling of one release": (
        PIPELINE + GROUP + "sampling = 2",
        'stage "joint", release 2: unknown key "sampling"; ',
    ),
    "release names twice": (
        PIPELINE + GROUP + 'name = "gradient"',
        'stage "joint", release 2: name: expected a name of its own, got "gradient" twice',
    ),
    "bad number in a release": (
        PIPELINE + GROUP.replace("4.0", "-4.0"),
        f'stage "joint", release 2: scale: expected {ABOVE_ZERO}, got -4.0',
    ),
    "releases empty": (
        _stage("release = []"),
        'stage "s": release: expected [[stage.release]] tables, got none',
    ),
}


@pytest.mark.parametrize(("text", "line"), CASES.values(), ids=CASES.keys())
def test_one_clear_line(
    text: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 2, nothing on standard output, and one line that names the place."""
    file = tmp_path / "pipeline.toml"
    file.write_text(text, encoding="utf-8")

    status = main(["budget", str(file)])

    out, err = capsys.readouterr()
    assert status == 2
    assert out == ""
    assert err.startswith(f"dpproof: {file}: {line}")
    assert err.count("\n") == 1
    assert len(err) < 500 + len(str(file))


def _refusal(path: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["budget", path]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err.rstrip("\n")


def test_no_such_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not there is named."""
    path = str(tmp_path / "nothing.toml")

    expected = f"dpproof: {path}: cannot read the file: No such file or directory"
    assert _refusal(path, capsys) == expected


def test_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory is called a directory."""
    expected = f"dpproof: {tmp_path}: expected a pipeline file, found a directory"

    assert _refusal(str(tmp_path), capsys) == expected


def test_not_utf_8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first byte that is not UTF-8 is named with its position."""
    file = tmp_path / "latin.toml"
    file.write_bytes(b"# caf\xe9\n")

    expected = f"dpproof: {file}: expected UTF-8 text, found byte 0xe9 at position 5"
    assert _refusal(str(file), capsys) == expected


def test_an_endless_file(capsys: pytest.CaptureFixture[str]) -> None:
    """A file without an end is refused after reading a sensible amount."""
    expected = "dpproof: /dev/zero: expected a pipeline file of at most 16777216 bytes"

    assert _refusal("/dev/zero", capsys) == expected


def test_a_name_on_two_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """A file name cannot break the line."""
    expected = 'dpproof: "a\\nb.toml": cannot read the file: No such file or directory'

    assert _refusal("a\nb.toml", capsys) == expected


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["bugdet"], "No such command 'bugdet'"),
        (["budget"], "Missing argument 'FILE'."),
        (["budget", "a", "b"], "Got unexpected extra argument"),
        (["budget", "--jsno", "a"], "No such option"),
        (["calibrate", "a"], "Missing option '--stage'."),
        (["calibrate", "a", "--stage", "s"], "Missing option '--parameter'."),
        *(
            (["budget", "a", "--seconds", text], "Invalid value for '--seconds': expected a number")
            for text in ("nan", "inf", "-inf", "1e400", "0", "-1", "1e10", "soon")
        ),
        *(
            (
                ["ledger", "init", "l", "--epsilon", text, "--relation", "add-remove"],
                "Invalid value for '--epsilon': expected a number such as",
            )
            for text in ("1e99999", "1e-99999", "1e901", "1e309", "1" * 101, "1e0.5", "1e", "nan")
        ),
    ],
)
def test_bad_command_lines(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command line that cannot be understood gets one line too."""
    assert main(arguments) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"dpproof: {line}")
    assert err.count("\n") == 1
