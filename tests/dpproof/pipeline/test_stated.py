"""Selecting in pipeline files: the table, what it builds, what is shown, what is refused."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from dpproof import proofs
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.run_counts.law import (
    BinomialRuns,
    FixedRuns,
    PoissonRuns,
    RunLaw,
    TruncatedNegativeBinomial,
)
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import Gaussian, Laplace, compose
from dpproof.pipeline.parse import parse
from dpproof.pipeline.vocabulary import Stated
from tests.dpproof.command import Command
from tests.dpproof.files import GAUSSIAN, PIPELINE, WRAPPED

TRAINING = 'stage "training"'
NESTED = "".join(
    f'\n[[{".".join(["stage"] * depth)}]]\nname = "1"\nselect = {{ runs = "fixed", count = 2 }}\n'
    for depth in range(1, 10)
)
BAD: dict[str, tuple[str, str]] = {
    "a number is not a selection": (
        f"{PIPELINE}{GAUSSIAN}select = 3",
        f"{TRAINING}: select: expected a table such as {{ runs = ",
    ),
    "an unknown law of the runs": (
        f'{PIPELINE}{GAUSSIAN}select = {{ runs = "geometrical", gamma = 0.1 }}',
        f'{TRAINING}: select.runs: expected "geometric", ',
    ),
    "a law without its number": (
        f'{PIPELINE}{GAUSSIAN}select = {{ runs = "geometric" }}',
        f"{TRAINING}: select.gamma: missing; expected a number above 0 and below 1",
    ),
    "another law's number": (
        f'{PIPELINE}{GAUSSIAN}select = {{ runs = "geometric", gamma = 0.1, eta = 1 }}',
        f"{TRAINING}: select.eta: not a parameter here: geometric takes gamma",
    ),
    "a law's number out of its domain": (
        PIPELINE + WRAPPED.replace('"geometric"', '"truncated-negative-binomial", eta = -1'),
        'stage "tuning": select: eta must be above -1',
    ),
    "a sample of stages": (
        PIPELINE + WRAPPED.replace("select", "epochs = 3\nselect"),
        'stage "tuning": unknown key "epochs"; expected name, select, count or stage',
    ),
    "a name twice inside": (
        PIPELINE + WRAPPED.replace('"score"', '"run"'),
        'stage "tuning", stage 2: name: expected a name of its own, got "run" as in stage 1',
    ),
    "a mistake inside": (
        PIPELINE + WRAPPED.replace("scale = 20", "scale = 0"),
        'stage "tuning", stage "score": scale: expected a finite number above 0, got 0',
    ),
    "stages too deep": (
        f"{PIPELINE}{NESTED}",
        f"""stage "1"{', stage "1"' * 7}: stage: expected stages at most 8 deep""",
    ),
}


@pytest.mark.parametrize(("text", "line"), BAD.values(), ids=BAD)
def test_one_clear_line(text: str, line: str, command: Command) -> None:
    """Status 2, nothing on standard output, one line with file, stage, key and expectation."""
    outcome = command.budget(text)

    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert f": {line}" in outcome.err


def test_a_selection_wraps_stages(command: Command) -> None:
    """What is selected from runs together; one run, the selection and the factor are shown."""
    one = compose(Gaussian(sigma=4.0, sensitivity=L2(1)), Laplace(scale=20, sensitivity=L1(1)))
    once = one.guarantee().epsilon(delta=1e-6)
    best = one.select(TruncatedNegativeBinomial(eta=1, gamma=0.1)).guarantee().epsilon(delta=1e-6)

    (stage,) = command.budget(PIPELINE + WRAPPED, "--json").json["stages"]

    assert stage["epsilon"] == {"lower": best.lower, "upper": best.upper, "attained": best.attained}
    assert stage["one_run"] == {"lower": once.lower, "upper": once.upper, "attained": once.attained}
    assert stage["factor"] == best.upper / once.lower > 1
    page = command.budget(PIPELINE + WRAPPED).out
    assert "best of truncated negative binomial runs" in page
    assert f"{stage['factor']:.2f}"[:3] in page


@pytest.mark.parametrize(
    ("table", "law"),
    [
        ('runs = "geometric", gamma = 0.5', TruncatedNegativeBinomial(eta=1, gamma=0.5)),
        ('runs = "logarithmic", gamma = 0.5', TruncatedNegativeBinomial(eta=0, gamma=0.5)),
        (
            'runs = "truncated-negative-binomial", eta = -0.5, gamma = 0.5',
            TruncatedNegativeBinomial(eta=-0.5, gamma=0.5),
        ),
        ('runs = "poisson", rate = 2.5', PoissonRuns(rate=2.5)),
        (
            'runs = "binomial", trials = 3, probability = 0.5',
            BinomialRuns(trials=3, probability=0.5),
        ),
        ('runs = "fixed", count = 2', FixedRuns(count=2)),
    ],
)
def test_every_law_can_be_named(table: str, law: RunLaw) -> None:
    """A stage of its own is selected from as a whole, with its sample and its count."""
    stage = GAUSSIAN + 'sampling = { scheme = "poisson", rate = 0.5 }\ncount = 2\n'
    run = Gaussian(sigma=1.0, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.5)).repeat(2)

    pipeline = parse(tomllib.loads(f"{PIPELINE}{stage}select = {{ {table} }}"), "file")

    assert pipeline.stages[0].build(AddRemove()) == run.select(law)


def test_a_number_inside_is_found(command: Command, tmp_path: Path) -> None:
    """Calibrating the noise of a run inside a selection meets the budget from the safe side."""
    file = tmp_path / "pipeline.toml"
    file.write_text(PIPELINE.replace("8.0", "2.0") + WRAPPED, encoding="utf-8")
    outcome = command.run(
        "calibrate", str(file), "--stage", "tuning", "--parameter", "run.noise_multiplier", "--json"
    )

    assert outcome.status == 0
    assert 1.99 < outcome.json["epsilon"]["upper"] <= 2.0


def test_stages_inside_keep_their_names() -> None:
    """A certificate calls what is selected from by the names in the file; a single stage too."""
    alone = PIPELINE + WRAPPED.partition('\n[[stage.stage]]\nname = "score"')[0]

    for text, names in (
        (PIPELINE + WRAPPED, ("run", "score", "tuning")),
        (alone, ("run", "tuning")),
    ):
        pipeline = parse(tomllib.loads(text), "file")
        verdict = proofs.check(pipeline.stages[0].guarantee(AddRemove()).certify(delta=1e-6))
        assert isinstance(verdict, proofs.VerifiedUnder)
        assert [label.split('"')[1] for label in verdict.labels] == list(names)


def test_only_guarantees_are_stated() -> None:
    """A mechanism or a number in the place of a guarantee is refused where it enters."""
    for bad in (None, 1.0, Gaussian(sigma=1, sensitivity=L2(1))):
        with pytest.raises(ParameterError, match="stated must be a guarantee"):
            Stated(bad)  # type: ignore[arg-type]  # bad on purpose
