"""What of its answers a mechanism attains, from theorem to bracket."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dpproof import accountant, mechanisms
from dpproof.accountant import (
    GDP,
    L2,
    ZCDP,
    AddRemove,
    Attained,
    BoundedRange,
    DominatingPair,
    Guarantee,
    LInf,
    MetricDP,
    PureDP,
    WithoutReplacement,
    compose,
    convert,
    group,
    mixture,
    post_process,
    self_compose,
)
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.guarantee import applied
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import ReplaceOne
from dpproof.accountant.theorems.parallel import choice
from dpproof.accountant.theorems.subsampling import subsample_without_replacement
from dpproof.mechanisms import (
    AboveThreshold,
    ExponentialMechanism,
    FiniteMechanism,
    Gaussian,
    PartitionSelection,
    PermuteAndFlip,
    Quantile,
    ReportNoisyMax,
    TopK,
    TruncatedLaplace,
)

_MADE = ("Theorem", "theorem")
NO, POINTS, WHOLE = Attained.NO, Attained.POINTS, Attained.WHOLE
_RANGE, _GAUSSIAN = BoundedRange(epsilon=1), GDP(mu=1)
_NOTHING = DominatingPair(forward=Product(()))
_ONE_SIDED = DominatingPair(
    forward=Product(()), backward=Product.of(GaussianPair(mu_squared=Fraction(1)))
)
_HALF = Fraction(1, 2)
_LOPSIDED = Product.of(FinitePair(p=(_HALF, _HALF), q=(_HALF / 2, 3 * _HALF / 2)))
_TWO = WithoutReplacement(sample_size=1, population_size=4)


def _theorems() -> Iterator[tuple[str, ast.Call, str]]:
    """Yield every construction of a theorem in the product, with where it is and its source."""
    for package in (accountant, mechanisms):
        for path in sorted(Path(str(package.__file__)).parent.rglob("*.py")):
            text = path.read_text()
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _MADE:
                    yield f"{path.stem}:{node.lineno}", node, text


def test_every_theorem_says_why_it_is_attained_or_not() -> None:
    """Every theorem that is applied has its level with a reason on the line."""
    places = 0
    for place, call, text in _theorems():
        named = {word.arg: word.value for word in call.keywords}
        if "rule" not in named:  # pickled, or stated by the caller, whose notion decides
            continue
        line = text.splitlines()[named["attained"].lineno - 1]
        level, _, reason = line.partition("  # ")
        assert "attained=Attained." in level, place
        assert len(reason) > 7, place
        places += 1
    assert places > 80


@pytest.mark.parametrize(
    ("guarantee", "level"),
    [
        (_GAUSSIAN, WHOLE),
        (compose(_GAUSSIAN, PureDP(epsilon=1)), WHOLE),
        (self_compose(ZCDP(rho=1), 9), WHOLE),
        (_RANGE, POINTS),
        (_RANGE.to_pair(), POINTS),
        (self_compose(_RANGE, 2), POINTS),
        (self_compose(_RANGE, 512), POINTS),
        (self_compose(_RANGE, 513), NO),
        (self_compose(self_compose(_RANGE, 256), 2), POINTS),
        (compose(_RANGE, self_compose(_RANGE, 3), _NOTHING), POINTS),
        (compose(self_compose(_RANGE, 512), _RANGE), NO),
        (compose(_RANGE, BoundedRange(epsilon=2)), NO),
        (compose(_RANGE, _RANGE, _ONE_SIDED), NO),
        (compose(_RANGE, _GAUSSIAN), NO),
        (compose(_RANGE, post_process(_RANGE, description="rounding")), NO),
        (compose(_RANGE, _NOTHING), POINTS),
        (convert(_GAUSSIAN, to=ZCDP), NO),
        (convert(_RANGE, to=PureDP), NO),
        (convert(PureDP(epsilon=1), to=accountant.ApproxDP), WHOLE),
        (group(_GAUSSIAN, size=3), WHOLE),
        (group(PureDP(epsilon=1), size=3), NO),
        (group(_RANGE, size=3), POINTS),
        (choice(_RANGE, _RANGE), POINTS),
        (choice(_GAUSSIAN, GDP(mu=2)), NO),
        (mixture([_GAUSSIAN, GDP(mu=2)], weights=[0.5, 0.5]), WHOLE),
        (post_process(_GAUSSIAN, description="rounding"), NO),
        (subsample_without_replacement(GDP(mu=1, relation=ReplaceOne()), _TWO), POINTS),
        (DominatingPair(forward=_LOPSIDED), WHOLE),
        (DominatingPair(forward=_LOPSIDED, backward=_LOPSIDED), NO),
        (DominatingPair(forward=_LOPSIDED, relation=ReplaceOne()), NO),
    ],
)
def test_the_level_follows_the_theorems(guarantee: Guarantee[AddRemove], level: Attained) -> None:
    """Composition keeps what one instance attains, and conversions that forget keep nothing."""
    assert guarantee.attained is level
    assert guarantee.labelled("a name").attained is level


@pytest.mark.parametrize(
    ("mechanism", "level"),
    [
        (Gaussian(sigma=1, sensitivity=L2(1)), WHOLE),
        (ExponentialMechanism(epsilon=1, sensitivity=LInf(1)), POINTS),
        (ExponentialMechanism(epsilon=1, sensitivity=LInf(1)).repeat(2), POINTS),
        (TopK(ExponentialMechanism(epsilon=1, sensitivity=LInf(1)), k=3), NO),
        (PermuteAndFlip(epsilon=1, sensitivity=LInf(1)), POINTS),
        (Quantile(epsilon=1, q=0.5, candidates=[1, 2, 3], relation=AddRemove()), NO),
        (Quantile(epsilon=1, q=0.5, candidates=[1, 2, 3], relation=AddRemove()).repeat(2), NO),
        (PermuteAndFlip(epsilon=1, sensitivity=LInf(1)).repeat(2), NO),
        (ReportNoisyMax(epsilon=1, noise="laplace", sensitivity=LInf(1)), NO),
        (AboveThreshold(threshold_scale=1, query_scale=2, sensitivity=LInf(1)), NO),
        (PartitionSelection(epsilon=1, delta=1e-3, relation=AddRemove()), POINTS),
        (PartitionSelection(epsilon=1, delta=1e-3, contributions=2, relation=AddRemove()), NO),
        (TruncatedLaplace(epsilon=1, delta=1e-3, sensitivity=accountant.L1(1)), WHOLE),
        (FiniteMechanism([[0.75, 0.25], [0.25, 0.75]], relation=AddRemove()), WHOLE),
        (FiniteMechanism([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]], relation=AddRemove()), WHOLE),
        (
            FiniteMechanism(
                [[0.75, 0.25], [0.625, 0.375], [0.125, 0.875], [0.0625, 0.9375]],
                neighbours=[(0, 1), (2, 3)],
                relation=AddRemove(),
            ),
            POINTS,
        ),
    ],
)
def test_the_level_of_a_mechanism(
    mechanism: mechanisms.Mechanism[AddRemove], level: Attained
) -> None:
    """Mechanisms say what some instance attains of their statement."""
    assert mechanism.guarantee().attained is level


def test_brackets_carry_the_level() -> None:
    """A bracket of the pair alone says so where the pair is not attained, and nowhere else."""
    many = compose(_RANGE, PureDP(epsilon=1))
    for answer in (
        many.epsilon(delta=1e-6),
        many.delta(epsilon=1),
        many.advantage(),
        many.gdp(),
        many.zcdp(),
        many.rdp(order=2),
        many.true_positive_rate(false_positive_rate=0.1),
        many.type_ii_error(type_i_error=0.1),
    ):
        assert not answer.attained
        assert "dominating pair" in repr(answer)
    assert many.epsilon(delta=1).attained
    assert _RANGE.epsilon(delta=1e-6).attained
    assert not _RANGE.true_positive_rate(false_positive_rate=0.1).attained
    assert _GAUSSIAN.true_positive_rate(false_positive_rate=0.1).attained
    assert MetricDP(epsilon=1).rdp(order=2).attained


def test_a_theorem_that_needs_one_instance_forgets_points() -> None:
    """What follows from premises attained at points is attained only where points are enough."""
    joint = Theorem("x", "y", WHOLE)
    pointwise = Theorem("x", "y", WHOLE, pointwise=True)
    assert applied(joint, "", _RANGE).attained is NO
    assert applied(pointwise, "", _RANGE).attained is POINTS
    assert applied(joint, "", _GAUSSIAN).attained is WHOLE
    assert applied(Theorem("x", "y", POINTS), "", _GAUSSIAN).attained is POINTS
