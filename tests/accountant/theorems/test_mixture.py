"""A mechanism drawn by a public law."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import L1, mixture, select
from dpproof.accountant.errors import NotCertified, NotImplied, ParameterError, RelationMismatch
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.dominating_pair import GDP, DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import BoundedRange, PureDP
from dpproof.accountant.guarantees.rdp import RDP, ZCDP
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.run_counts.law import TruncatedNegativeBinomial
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.sensitivity import L2
from dpproof.accountant.theorems.composition import compose
from dpproof.accountant.theorems.parallel import choice
from dpproof.mechanisms import Gaussian, Laplace, RandomizedResponse

SAMPLED = Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.125)).guarantee()


@pytest.mark.parametrize(
    ("parts", "worst"),
    [
        ((GDP(mu=3), GDP(mu=2)), GDP(mu=3)),
        ((PureDP(epsilon=1), PureDP(epsilon=2)), PureDP(epsilon=2)),
        ((ZCDP(rho=1), ZCDP(rho=2)), ZCDP(rho=2)),
        ((SAMPLED, SAMPLED), SAMPLED),
        ((BoundedRange(epsilon=1), BoundedRange(epsilon=1)), BoundedRange(epsilon=1).to_pair()),
    ],
)
def test_the_worst_part_counts(
    parts: tuple[Guarantee[AddRemove], ...], worst: Guarantee[AddRemove]
) -> None:
    """The largest parameter, or the pair that all share, in any order."""
    assert choice(*parts) == worst
    assert choice(*reversed(parts)) == worst
    assert choice(parts[0]) is parts[0]


@pytest.mark.parametrize(
    "parts",
    [
        (GDP(mu=1), PureDP(epsilon=1)),
        (SAMPLED, compose(SAMPLED, SAMPLED)),
        (RDP(points=((2, 1),)), RDP(points=((2, 1),))),
        (BoundedRange(epsilon=1), BoundedRange(epsilon=2)),
    ],
)
def test_parts_without_a_common_worst_one_are_refused(
    parts: tuple[Guarantee[AddRemove], ...],
) -> None:
    """Different notions, different pairs and curves are refused, and the error says what to do."""
    with pytest.raises(NotImplied, match="the noise at which they cost the same"):
        choice(*parts)


def test_parts_are_guarantees_under_one_relation() -> None:
    """No part, something else and another relation are refused."""
    with pytest.raises(ParameterError):
        choice()
    with pytest.raises(ParameterError):
        choice(GDP(mu=1), 1)  # type: ignore[arg-type]
    with pytest.raises(RelationMismatch):
        choice(GDP(mu=1), GDP(mu=1, relation=ReplaceOne()))  # type: ignore[misc]


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 1.7])
def test_every_choice_of_randomised_responses_costs_no_more(epsilon: float) -> None:
    """Brute force: mixtures of two responses, mirrored or not, for all weights of a grid."""
    keep = np.exp(1.0) / (1 + np.exp(1.0))
    one, other = np.array([keep, 1 - keep]), np.array([1 - keep, keep])
    stated = choice(
        *[RandomizedResponse(epsilon=1, categories=2, relation=AddRemove()).guarantee()] * 2
    ).delta(epsilon=epsilon)
    for weight, (p, q) in product(np.linspace(0, 1, 11), [(one, other), (other, one)]):
        left = np.concatenate([weight * one, (1 - weight) * p])
        right = np.concatenate([weight * other, (1 - weight) * q])
        divergence = np.maximum(left - np.exp(epsilon) * right, 0).sum()

        assert divergence <= stated.upper + 1e-12
        assert divergence >= stated.lower - 1e-12  # attained by every one of them


@pytest.mark.parametrize("parts", [(GDP(mu=0.25), GDP(mu=0.5)), (SAMPLED, SAMPLED)])
def test_a_choice_is_certified(parts: tuple[Guarantee[AddRemove], ...]) -> None:
    """The checker accepts what is stated, and says that the draw looks at no data."""
    verdict = proofs.check(choice(*parts).certify(delta=1e-5))

    assert isinstance(verdict, proofs.VerifiedUnder)
    (drawn,) = (text for text in verdict.assumptions if "draws one of" in text)
    assert "by a law that is the same for all datasets, looking at no data" in drawn
    assert "what runs is fixed" not in drawn


HALVES = [Fraction(1, 2)] * 2
MIXTURE_SAMPLED = (
    Gaussian(sigma=2, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.125)).repeat(20)
)
PARTS = [MIXTURE_SAMPLED.guarantee(), Gaussian(sigma=4, sensitivity=L2(1)).guarantee()]


def finite(p: Any, q: Any, relation: Any) -> DominatingPair[Any]:  # noqa: ANN401
    """The exact guarantee of a mechanism with these two laws."""
    pair, back = FinitePair(p=tuple(p), q=tuple(q)), FinitePair(p=tuple(q), q=tuple(p))
    return DominatingPair(forward=Product.of(pair), backward=Product.of(back), relation=relation)


def masses(rng: np.random.Generator, size: int) -> list[Fraction]:
    """A random law of some outcomes, some of them never."""
    counts = rng.integers(0, 6, size=size)
    counts[int(rng.integers(size))] += 1
    return [Fraction(int(one), int(counts.sum())) for one in counts]


def ahead(p: list[Fraction], q: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """The laws in order."""
    return p, q


def behind(p: list[Fraction], q: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """The laws exchanged."""
    return q, p


@pytest.mark.parametrize("seed", range(12))
def test_draws_of_random_finite_mechanisms(seed: int) -> None:
    """Brute force: with parts at their pairs, the profile is that of (part, output), exactly."""
    rng = np.random.default_rng(seed)
    weights = [Fraction(int(one), 10) for one in rng.permutation([1, 2, 7])]
    laws = [(masses(rng, size), masses(rng, size)) for size in (2, 3, 4)]
    drawn = mixture([finite(p, q, AddRemove()) for p, q in laws], weights=weights)
    for epsilon in (0.0, 0.4, 1.5):
        t = Fraction(np.exp(epsilon))
        for sign in (1, -1):
            true = sum(
                w * max(one - t * other, Fraction(0))
                for w, (p, q) in zip(weights, laws, strict=True)
                for one, other in list(
                    zip(p, q, strict=True) if sign > 0 else zip(q, p, strict=True)
                )
            )
            assert drawn.delta(epsilon=epsilon).upper >= float(true) - 1e-12
    worst = max(
        sum(
            w * max(one - other, Fraction(0))
            for w, (p, q) in zip(weights, laws, strict=True)
            for one, other in zip(*pair(p, q), strict=True)
        )
        for pair in (ahead, behind)
    )
    assert drawn.delta(epsilon=0).upper == pytest.approx(float(worst), abs=1e-9)


def test_what_a_part_does_not_attain_is_no_more() -> None:
    """Brute force: mechanisms below their bound, on all neighbours, stay below the mixture."""
    bounds = [PureDP(epsilon=1), ApproxDP(epsilon=0.25, delta=0.125)]
    stated = mixture(bounds, weights=[0.25, 0.75])
    grid = [Fraction(k, 16) for k in range(17)]
    for epsilon in (0.0, 0.25, 0.7, 1.0):
        t = np.exp(epsilon)
        largest = [
            max(
                max(float(p) - t * float(q), 0.0) + max(float(q - p) - (t - 1) * float(1 - q), 0.0)
                for p, q in product(grid, grid)
                if _allowed(float(p), float(q), bound)
            )
            for bound in bounds
        ]
        assert 0.25 * largest[0] + 0.75 * largest[1] <= stated.delta(epsilon=epsilon).upper + 1e-12


def _allowed(p: float, q: float, bound: Guarantee[AddRemove]) -> bool:
    """Whether answers with these probabilities of 1 satisfy a bound of epsilon and delta."""
    epsilon, delta = (1.0, 0.0) if isinstance(bound, PureDP) else (0.25, 0.125)
    events = [(p, q), (1 - p, 1 - q), (q, p), (1 - q, 1 - p)]
    return all(a <= np.exp(epsilon) * b + delta + 1e-15 for a, b in events)


def test_laws() -> None:
    """Order does not matter, equal parts are one, and the mean is between best and worst."""
    drawn = mixture(PARTS, weights=HALVES)
    other = mixture([PARTS[1], PARTS[0], PARTS[1]], weights=[0.25, 0.5, 0.25])
    each = [one.delta(epsilon=0.5) for one in PARTS]
    found = drawn.delta(epsilon=0.5)

    assert other.delta(epsilon=0.5).upper == pytest.approx(found.upper, rel=1e-12)
    assert found.upper == pytest.approx(sum(one.upper for one in each) / 2, rel=1e-9)
    assert min(each, key=lambda one: one.upper).upper < found.upper
    assert mixture([PARTS[0]] * 2, weights=HALVES) == PARTS[0]


@pytest.mark.parametrize(
    ("parts", "weights", "error", "text"),
    [
        ([], [], ParameterError, "one guarantee or more"),
        ([GDP(mu=1), GDP(mu=2)], [1], ParameterError, "2 probabilities"),
        ([GDP(mu=1), GDP(mu=2)], [0.5, 0.25], ParameterError, "sum to exactly 1"),
        ([GDP(mu=1), GDP(mu=2)], [0.0, 1.0], ParameterError, "weights"),
        ([GDP(mu=1), GDP(mu=2)], [Fraction(1, 10**101), 1], ParameterError, "1e-100"),
        ([GDP(mu=1), ZCDP(rho=1)], HALVES, NotImplied, "ZCDP has none"),
        ([GDP(mu=1), GDP(mu=1, relation=ReplaceOne())], HALVES, RelationMismatch, "ReplaceOne"),
    ],
)
def test_refusals(parts: Any, weights: Any, error: type[Exception], text: str) -> None:  # noqa: ANN401
    """No parts, weights that are no probabilities, curves and mixed relations are refused."""
    with pytest.raises(error, match=text):
        mixture(parts, weights=weights)


def test_a_mixture_is_certified() -> None:
    """The checker repeats the parts' profiles, and says by which probabilities one is drawn."""
    noises = [Laplace(scale=3, sensitivity=L1(1)).guarantee(), GDP(mu=0.5)]
    drawn = mixture(noises, weights=[0.25, 0.75])
    certificate = drawn.certify(delta=1e-5)
    verdict = proofs.check(certificate)

    assert isinstance(verdict, proofs.VerifiedUnder)
    assert any("with probabilities 0.25, 0.75, in this order" in one for one in verdict.assumptions)
    proved = float(Fraction(str(certificate.claim["epsilon"])))
    assert drawn.epsilon(delta=1e-5).upper <= proved <= drawn.epsilon(delta=1e-5).upper * (1 + 1e-6)
    with pytest.raises(NotCertified):
        drawn.certify(order=2)
    with pytest.raises(
        NotCertified, match="certified for epsilon at a delta above 0, and for delta"
    ):
        drawn.certify()


@pytest.mark.slow
def test_a_selection_from_a_mixture_is_certified() -> None:
    """As tuning over rates needs it: different samples, one drawn for every run, the best kept."""
    runs = TruncatedNegativeBinomial(eta=1, gamma=0.2)
    best = select(mixture(PARTS, weights=HALVES), runs)
    certificate = best.certify(delta=1e-5)

    assert isinstance(proofs.check(certificate), proofs.VerifiedUnder)
    proved = float(Fraction(str(certificate.claim["epsilon"])))
    assert proved == pytest.approx(best.epsilon(delta=1e-5).upper, rel=1e-3)


def test_what_underflows_is_not_lost() -> None:
    """A delta below every float is not 0, and one that is 0 stays 0."""
    rare = Fraction(1, 10**100)
    parts = [ApproxDP(epsilon=0, delta=Fraction(1, 10**300)), PureDP(epsilon=1)]
    found = mixture(parts, weights=[rare, 1 - rare]).delta(epsilon=1.5)
    twice = compose(*[ApproxDP(epsilon=1, delta=Fraction(1, 10**390))] * 2).delta(epsilon=3)
    pure = mixture([PureDP(epsilon=0.5), PureDP(epsilon=1)], weights=HALVES).delta(epsilon=1.5)

    assert found.lower == 0.0 < found.upper < 1e-300
    assert twice.lower == 0.0 < twice.upper < 1e-300
    assert (pure.lower, pure.upper) == (0.0, 0.0)
