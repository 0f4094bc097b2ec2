"""The core alone: small, apart, and open about what it leaves to extensions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dpproof.proofs import Rejected, Step, VerifiedUnder, check, check_text
from dpproof.proofs.core.rules import CORE_RULES
from dpproof.proofs.rules import EXTENSIONS, PAIRS, RULES
from tests.architecture.tree import ROOT, imported
from tests.proofs.corpus import FOLDER
from tests.proofs.support import Object, certificate, fact, factor, gaussian, pairs, said, stated

CORE = ROOT / "proofs" / "core"
MOST_LINES = 1_500  # of code, comments, docstrings and blank lines
NOISE: Object = {"sigma": "1", "sensitivity": "1"}
SHIFT = factor("discrete-laplace", scale="2", shift=1)
LOGISTIC = factor("logistic", epsilon="1")
ALONE = "from core.kernel import check_text; import sys; print(check_text(sys.stdin.read()))"


def _step(
    rule: str, conclusion: Object, premises: tuple[int, ...], witness: Object, label: str = ""
) -> Step:
    return Step(rule=rule, conclusion=conclusion, premises=premises, witness=witness, label=label)


def test_the_core_is_small() -> None:
    """Every line of every file counts."""
    lines = [line for path in CORE.glob("*.py") for line in path.read_text("utf-8").splitlines()]

    assert len(lines) <= MOST_LINES


def test_the_core_imports_nothing_of_the_rest() -> None:
    """Flint, the standard library and its own folder, and no folder within it."""
    names = {name for path in CORE.rglob("*.py") for _, name in imported(path)}
    tops = {name.split(".")[0] for name in names if not name.startswith("proofs.core.")}

    assert tops - sys.stdlib_module_names == {"flint"}
    assert list(CORE.rglob("*.py")) == list(CORE.glob("*.py"))


def test_a_copy_of_the_folder_checks_certificates(tmp_path: Path) -> None:
    """Nothing else of the project is there, and the verdict is the same."""
    shutil.copytree(CORE, tmp_path / "core", ignore=shutil.ignore_patterns("__pycache__"))
    text = (FOLDER / "training.json").read_text(encoding="utf-8")
    blocked = "import sys; sys.modules['dpproof'] = None; "
    run = subprocess.run(
        [sys.executable, "-c", blocked + ALONE],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == repr(check_text(text, core=True))


def test_every_rule_is_the_cores_or_one_extensions() -> None:
    """No rule is in two extensions, nor of the core in one."""
    beside = [name for rules in EXTENSIONS.values() for name in rules]

    assert len(beside) == len(set(beside))
    assert RULES.keys() == {*beside, *CORE_RULES}
    assert CORE_RULES.keys().isdisjoint(beside)


@pytest.mark.parametrize(
    ("conclusion", "needed"),
    [
        (pairs([gaussian("1")]), ()),
        (pairs([factor("finite", p=["1/2", "1/2"], q=["1/2", "1/2"])]), ("discrete",)),
        (pairs([gaussian("1")], [LOGISTIC]), ("curves",)),
        (
            pairs([factor("sampled", base=[LOGISTIC], sampling_rate="1/2", direction="removal")]),
            ("curves", "samples"),
        ),
    ],
)
def test_verdicts_name_the_extensions_of_pairs(conclusion: Object, needed: Any) -> None:  # noqa: ANN401
    """A pair needs its extension, also inside a sample; the core keeps it as it is written."""
    verdict = check(certificate(stated(conclusion)))
    alone = check(certificate(stated(conclusion)), core=True)

    assert isinstance(verdict, VerifiedUnder)
    assert isinstance(alone, VerifiedUnder)
    assert verdict.extensions == needed
    assert alone.extensions == ()
    kinds = {kind for kind in PAIRS if f'"kind": "{kind}"' in alone.claim}
    assert {PAIRS[kind] for kind in kinds} == set(needed)


def test_several_pairs_have_a_closed_profile_by_an_extension() -> None:
    """Two Laplace pairs need ``sums``; Gaussian pairs, or one pair, do not."""
    two = _step(
        "hockey-stick/closed", fact([factor("laplace", 2, epsilon="1")], "1", "1/2"), (), {}
    )
    many = _step("hockey-stick/closed", fact([gaussian("1/9", 9)], "1", "1/2"), (), {})

    assert check(certificate(two)).extensions == ("sums",)  # type: ignore[union-attr]
    assert check(certificate(many)).extensions == ()  # type: ignore[union-attr]
    assert isinstance(check(certificate(two), core=True), Rejected)
    assert check(certificate(many), core=True).ok


def _composed() -> list[Step]:
    """Noise that the core knows, noise that it does not, and both together."""
    shift = {"scale": "2", "shift": 1}
    return [
        _step("mechanism/gaussian", said("gdp", mu_squared="1"), (), NOISE),
        _step("dominate/gdp", pairs([gaussian("1")]), (0,), {}),
        _step("mechanism/discrete-laplace", pairs([SHIFT]), (), shift),
        _step("compose/pair", pairs([gaussian("1"), SHIFT]), (1, 2), {}),
    ]


def _bounded(delta: str) -> list[Step]:
    """The same, with a bound of its profile that needs an extension, or is true without."""
    product = [gaussian("1"), SHIFT]
    known = _step("hockey-stick/closed", fact(product, "1", delta), (), {})
    claim = said("approx-dp", epsilon="1", delta=delta)
    return [*_composed(), known, _step("convert/pair-approx", claim, (3, 4), {})]


def test_conclusions_of_extensions_are_named() -> None:
    """A mechanism and a fact that the core does not check stand among the assumptions."""
    verdict = check(certificate(*_bounded("9/10")), core=True)

    assert isinstance(verdict, VerifiedUnder)
    open_ones = [text for text in verdict.assumptions if text.startswith("not checked here: ")]
    assert len(open_ones) == 2
    assert open_ones[0].startswith(
        'not checked here: M2, of step 2 ("mechanism/discrete-laplace"), is dominated'
    )
    assert open_ones[1].startswith("not checked here: hockey-stick divergence at 1 of 1 x Gaussian")
    assert open_ones[1].endswith('at most 9/10, by step 4 ("hockey-stick/closed")')
    assert verdict.claim.startswith("M3 is (1, ")


def test_what_the_core_checks_is_refused_as_ever() -> None:
    """A wrong step of a known rule is rejected beside steps that are left open."""
    steps = _bounded("9/10")
    steps[0] = _step("mechanism/gaussian", said("gdp", mu_squared="1/4"), (), NOISE)
    verdict = check(certificate(*steps), core=True)

    assert isinstance(verdict, Rejected)
    assert verdict.step == 0


def test_the_claim_itself_is_never_left_open() -> None:
    """A claim by a rule, or in words, of an extension is rejected."""
    shift = _composed()[2]
    selected = stated(said("zcdp", rho="1"))

    for step in (shift, selected):
        verdict = check(certificate(step), core=True)
        assert isinstance(verdict, Rejected)
        assert verdict.reason == "the core alone cannot check the claim itself"


def test_what_rests_on_unknown_words_is_left_open_too() -> None:
    """A known rule with a premise that the core cannot read is not asked."""
    curve = said("zcdp", rho="1")
    steps = [
        stated(curve),
        _step("post-process", curve, (0,), {"description": "rounding"}),
        _step("convert/renyi-approx", said("approx-dp", epsilon="9", delta="1/2"), (1,), {}),
        _step("convert/approx-advantage", said("advantage", advantage="1"), (2,), {}),
    ]
    verdict = check(certificate(*steps), core=True)

    assert isinstance(verdict, VerifiedUnder)
    assert [text.split(" is ")[1] for text in verdict.assumptions[:2]] == [
        "something that the core cannot read"
    ] * 2
    assert 'M3, which step 2 ("convert/renyi-approx") makes of M2, is (9' in verdict.assumptions[2]


def test_a_fact_in_unknown_words_is_left_open() -> None:
    """It is about no mechanism, and a rule that would take it is not asked."""
    lower = {"notion": "hockey-stick-at-least", "product": [], "epsilon": "0", "delta": "0"}
    claim = said("approx-dp", epsilon="1", delta="0")
    steps = [
        _step("at-least/closed", lower, (), {}),
        stated(pairs([])),
        _step("convert/pair-approx", claim, (0, 1), {}),
        _step("post-process", claim, (2,), {"description": "rounding"}),
    ]
    verdict = check(certificate(*steps), core=True)

    assert isinstance(verdict, VerifiedUnder)
    assert verdict.assumptions[0] == (
        'not checked here: something that the core cannot read, by step 0 ("at-least/closed")'
    )


def test_a_label_of_an_open_step_is_quoted() -> None:
    """Labels stand apart, also beside mechanisms that only extensions know."""
    steps = _bounded("9/10")
    steps[2] = _step(steps[2].rule, steps[2].conclusion, (), steps[2].witness, "counts")
    verdict = check(certificate(*steps), core=True)

    assert isinstance(verdict, VerifiedUnder)
    assert verdict.labels == ('M2 is called "counts"',)


def open_steps() -> None:
    """Let the core meet everything that it leaves to extensions."""
    test_several_pairs_have_a_closed_profile_by_an_extension()
    test_conclusions_of_extensions_are_named()
    test_what_the_core_checks_is_refused_as_ever()
    test_the_claim_itself_is_never_left_open()
    test_what_rests_on_unknown_words_is_left_open_too()
    test_a_fact_in_unknown_words_is_left_open()
    test_a_label_of_an_open_step_is_quoted()
    for path in FOLDER.glob("*.json"):
        check_text(path.read_text(encoding="utf-8"), core=True)
    none = _step("hockey-stick/closed", fact([], "1", "0"), (), {})
    check(certificate(none), core=True)
