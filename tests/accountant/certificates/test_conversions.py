"""Conversions inside a derivation: certified with numbers raised by next to nothing."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpproof import accountant, proofs
from dpproof.accountant import (
    GDP,
    L1,
    L2,
    RDP,
    ZCDP,
    ApproxDP,
    BallsInBins,
    BoundedRange,
    Guarantee,
    L2Contribution,
    MetricDP,
    NotCertified,
    Poisson,
    PrivacyProfile,
    PureDP,
    ReplaceOne,
    TradeOff,
    TruncatedNegativeBinomial,
    WithoutReplacement,
    choice,
    compose,
    compose_concurrent,
    convert,
    group,
    map_records,
    mixture,
    parallel_compose,
    parallel_positions,
    post_process,
    restrict,
    select,
    select_above,
    self_compose,
)
from dpproof.accountant.certificates import conversions
from dpproof.accountant.certificates.conversions import _apply_again, raise_numbers
from dpproof.accountant.guarantees.derivation import DECLARED, Attained, Derivation, Theorem
from dpproof.accountant.guarantees.dominating_pair import value_at
from dpproof.accountant.sampling import RandomAllocation, Shuffle
from dpproof.accountant.theorems.allocation import allocate_random
from dpproof.accountant.theorems.parallel import shuffle_pure
from dpproof.accountant.theorems.subsampling import subsample_poisson, subsample_without_replacement
from dpproof.mechanisms import Gaussian, Laplace
from dpproof.proofs import Rejected, VerifiedUnder
from tests.accountant.adaptive.builders import spent_filters
from tests.proofs.corpus import COMPUTATIONS, training

GEOMETRIC = TruncatedNegativeBinomial(eta=1, gamma=0.1)
CLOSE = Fraction(1, 10**6)
CURVE = TradeOff(points=((0, 1), (0.25, 0.25), (1, 0)))
EPSILONS = [0, 0.5, 1, 2, 3, 4, 6]


def _laplaces() -> Guarantee[Any]:
    """Sampled, so that the checker makes a table."""
    noise = Laplace(scale=2, sensitivity=L1(1)).subsample(Poisson(sampling_rate=0.125))
    return noise.repeat(100).guarantee()


def _point(delta: float = 1e-9) -> ApproxDP[Any]:
    return convert(training(100), to=ApproxDP, delta=delta)


def _subset() -> Guarantee[Any]:
    base = convert(GDP(mu=0.5, relation=ReplaceOne()), to=ApproxDP, delta=1e-9)
    scheme = WithoutReplacement(sample_size=5, population_size=40)
    return subsample_without_replacement(base, scheme)


CASES: dict[str, tuple[Callable[[], Guarantee[Any]], float]] = {
    "point": (lambda: _point(1e-6), 1e-6),
    "points": (lambda: self_compose(_point(), 3), 1e-6),
    "point of a stated one": (lambda: convert(PureDP(epsilon=1), to=ApproxDP, delta=0.1), 0.1),
    "concentrated": (
        lambda: compose(convert(ZCDP(rho=0.1), to=ApproxDP, delta=1e-7), GDP(mu=0.5)),
        1e-6,
    ),
    "variation": (lambda: convert(ZCDP(rho=0.001), to=ApproxDP, delta=0.1), 0.1),
    "profile": (
        lambda: compose(convert(training(), to=PrivacyProfile, epsilons=EPSILONS), GDP(mu=0.5)),
        1e-3,
    ),
    "pure profile": (
        lambda: convert(PureDP(epsilon=1), to=PrivacyProfile, epsilons=[0, 0.5, 1]),
        1e-3,
    ),
    "curve profile": (
        lambda: convert(RDP(points=((2, 1), (10, 6))), to=PrivacyProfile, epsilons=EPSILONS),
        1e-2,
    ),
    "trade-off": (
        lambda: self_compose(
            convert(PureDP(epsilon=0.5), to=TradeOff, epsilons=[0, 0.25, 0.5]),
            3,
        ),
        1e-6,
    ),
    "table": (lambda: compose(convert(_laplaces(), to=RDP, orders=[2, 8]), ZCDP(rho=0.1)), 1e-2),
    "range": (
        lambda: compose(convert(BoundedRange(epsilon=1), to=RDP, orders=[2, 8]), ZCDP(rho=0.1)),
        1e-2,
    ),
    "curve of a group": (lambda: group(CURVE, size=5), 1e-3),
    "curves of groups": (
        lambda: self_compose(
            group(convert(GDP(mu=0.25), to=PrivacyProfile, epsilons=[0, 0.5, 1]), size=3), 2
        ),
        0.3,
    ),
    "sample": (lambda: subsample_poisson(_point(), Poisson(sampling_rate=0.1)), 1e-6),
    "subset": (_subset, 1e-6),
    "group": (lambda: group(post_process(_point(), description="rounding"), size=3), 1e-6),
    "disjoint": (lambda: parallel_compose(_point(), ApproxDP(epsilon=1, delta=1e-8)), 1e-6),
    "disjoint profiles": (
        lambda: parallel_compose(GDP(mu=1), PureDP(epsilon=1), epsilons=EPSILONS),
        1e-3,
    ),
    "disjoint curves": (
        lambda: parallel_compose(ZCDP(rho=0.1), RDP(points=((2, 1), (10, 6)))),
        1e-3,
    ),
    "number of points": (lambda: convert(convert(_point(), to=PrivacyProfile, epsilons=[1, 2]),
                                         to=PrivacyProfile, epsilons=[1.5, 3]), 1e-3),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_epsilon_at_delta(name: str) -> None:
    """The claim is at or above the engine's upper end, by at most a millionth."""
    make, delta = CASES[name]
    guarantee = make()
    certificate = guarantee.certify(delta=delta)
    verdict = proofs.check(certificate)
    assert isinstance(verdict, VerifiedUnder), verdict
    upper = guarantee.epsilon(delta=delta).upper
    claimed = Fraction(str(certificate.claim["epsilon"]))

    assert Fraction(str(certificate.claim["delta"])) <= Fraction(delta)
    assert upper * (1 - CLOSE) <= claimed <= upper * (1 + CLOSE)


@pytest.mark.parametrize("name", ["variation", "profile", "disjoint profiles", "table"])
def test_the_statement_itself(name: str) -> None:
    """Without a question the raised statement is certified."""
    certificate = CASES[name][0]().certify()

    assert isinstance(proofs.check(certificate), VerifiedUnder)


@pytest.mark.parametrize(
    ("guarantee", "epsilon"),
    [(ZCDP(rho=0.01), 0), (ZCDP(rho=2), 0), (RDP(points=((2, 1), (10, 6))), 0.25)],
)
def test_total_variation_of_a_curve(guarantee: Guarantee[Any], epsilon: float) -> None:
    """Where no order of a Renyi curve says as much as its total variation, that is certified."""
    certificate = guarantee.certify(epsilon=epsilon)
    upper = guarantee.delta(epsilon=epsilon).upper

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert upper <= Fraction(str(certificate.claim["delta"])) <= upper * (1 + CLOSE)


def test_renyi_divergence_of_a_range() -> None:
    """Bounded range says more than its pair, and that is certified."""
    certificate = BoundedRange(epsilon=1).certify(order=2)
    ((_, value),) = json.loads(certificate.to_json())["claim"]["points"]
    upper = BoundedRange(epsilon=1).rdp(order=2).upper

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert upper <= Fraction(value) <= upper * (1 + CLOSE)


def _nodes(derivation: Derivation) -> Iterator[Derivation]:
    yield derivation
    for premise in derivation.premises:
        yield from _nodes(premise)


def declared() -> set[Theorem]:
    """Every theorem object of the accountant that can be applied again."""
    modules = (
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(accountant.__path__, prefix="dpproof.accountant.")
    )
    values = (value for module in modules for value in vars(module).values())
    found = {one for one in values if isinstance(one, Theorem)} | {*DECLARED.values()}
    return {one for one in found if one.again is not None}


def test_every_theorem_can_be_applied_again() -> None:
    """A theorem applied again to its own premises concludes what it did: all that are declared."""
    more: list[Guarantee[Any]] = [
        convert(convert(ApproxDP(epsilon=1, delta=0), to=PureDP), to=BoundedRange),
        convert(convert(BoundedRange(epsilon=1), to=PureDP), to=GDP),
        convert(PureDP(epsilon=1), to=ApproxDP),
        convert(BoundedRange(epsilon=1), to=ZCDP),
        convert(GDP(mu=1), to=ZCDP),
        convert(compose(PureDP(epsilon=1), BoundedRange(epsilon=1)), to=PureDP),
        convert(PrivacyProfile(points=((0.5, 0.1), (1, 0))), to=TradeOff),
        select(PureDP(epsilon=1), GEOMETRIC),
        select(ZCDP(rho=0.1), GEOMETRIC),
        select_above(GDP(mu=1), GEOMETRIC),
        group(RDP(points=((2, 1), (4, 2), (8, 5))), size=2),
        group(PureDP(epsilon=1), size=2),
        group(ZCDP(rho=1), size=2),
        group(BoundedRange(epsilon=1), size=2),
        group(GDP(mu=1).to_pair(), size=2),
        group(MetricDP(epsilon=1), size=2),
        convert(MetricDP(epsilon=1), to=PureDP),
        MetricDP(epsilon=1).to_pair(),
        choice(GDP(mu=1), GDP(mu=2)),
        compose_concurrent(GDP(mu=1), GDP(mu=2)),
        mixture([GDP(mu=1), GDP(mu=2)], weights=[0.25, 0.75]),
        restrict(GDP(mu=1, relation=ReplaceOne())),
        map_records(GDP(mu=1), description="clipping"),
        allocate_random(GDP(mu=1), RandomAllocation(steps=3)),
        allocate_random(GDP(mu=1), RandomAllocation(steps=3, chosen=2)),
        allocate_random(PureDP(epsilon=1), RandomAllocation(steps=3)),
        shuffle_pure(PureDP(epsilon=1, relation=ReplaceOne()), scheme=Shuffle(records=20)),
        parallel_positions(*(GDP(mu=mu, relation=ReplaceOne()) for mu in (1, 2))),
    ]
    used = [spent.guarantee() for spent in spent_filters()]
    more += [guarantee for guarantee in used if guarantee.derivation.premises]
    made = [make() for make in COMPUTATIONS.values()] + [make() for make, _ in CASES.values()]
    seen = set()
    for node in (node for one in [*made, *more] for node in _nodes(one.derivation)):
        if node.theorem.again is not None:
            seen.add(node.rule)
            premises = [one.conclusion for one in node.premises]
            assert _apply_again(node, premises) == node.conclusion  # type: ignore[arg-type]

    assert seen >= {theorem.rule for theorem in declared()}


@pytest.mark.parametrize("size", [2, 3, 6, 11])
def test_curves_of_groups_are_lowered_a_hair(size: int) -> None:
    """Every corner of the certified curve is at or below the theorem's, and next to it."""
    exact = group(CURVE, size=size)
    lowered, _ = raise_numbers(exact)
    assert isinstance(exact, TradeOff)
    assert isinstance(lowered, TradeOff)

    for place, height in lowered.points:
        assert height <= value_at(exact.points, place)
    for place, height in exact.points:
        assert value_at(lowered.points, place) >= height * (1 - CLOSE) - Fraction(1, 10**11)


def test_curves_of_groups_stay_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of curves with too many corners is refused."""
    monkeypatch.setattr(conversions, "_MOST_POINTS", 4)

    assert isinstance(proofs.check(group(CURVE, size=2).certify()), VerifiedUnder)
    with pytest.raises(NotCertified, match="more than 4 corners"):
        group(CURVE, size=5).certify()


def test_roundings_along_a_chain_are_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A curve that is not below its premises' is not certified."""
    monkeypatch.setattr(conversions, "_lowered", lambda curve, _: ((0, 1), curve[-1]))

    with pytest.raises(NotCertified, match="roundings"):
        group(CURVE, size=3).certify()


def test_what_needs_no_raising_stays() -> None:
    """A derivation without conversions is not made again."""
    guarantee = training()

    assert raise_numbers(guarantee) == (guarantee, {})
    assert raise_numbers(guarantee)[0] is guarantee


def test_what_cannot_be_made_again_is_refused() -> None:
    """A theorem that is not listed is refused, with a way out."""
    node = replace(_point().derivation, theorem=Theorem("unheard/of", "", Attained.NO, written=""))

    with pytest.raises(NotCertified, match="certify what it was applied to"):
        _apply_again(node, [training(100)])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mu_squared", "rho"])
def test_an_allocation_has_the_mu_of_one_round(name: str) -> None:
    """Alone, kept, several rounds, composed, and beside a sample; no smaller number is accepted."""
    noise = Gaussian(sigma=1, sensitivity=L2(1))
    one = noise.allocate(RandomAllocation(steps=100)).guarantee()
    sample = noise.subsample(Poisson(sampling_rate=0.125)).guarantee()
    for guarantee, squared in (
        (one, 1),
        (noise.allocate(BallsInBins(steps=100, epochs=4)).guarantee(), 4),
        (noise.allocate(RandomAllocation(steps=100, chosen=3)).guarantee(), 3),
        (compose(self_compose(one, 3), sample), 4),
    ):
        by_mu = name == "mu_squared"
        converted = convert(guarantee, to=GDP) if by_mu else convert(guarantee, to=ZCDP)
        certificate = converted.certify()
        stated = Fraction(str(certificate.claim[name])) * (1 if by_mu else 2)
        assert isinstance(proofs.check(certificate), VerifiedUnder)
        assert squared <= stated <= squared * (1 + CLOSE)
        document = json.loads(certificate.to_json())
        for said in (document["steps"][-1]["conclusion"], document["claim"]):
            said[name] = str(stated * Fraction(999, 1000) / (1 if by_mu else 2))
        rejected = proofs.check_text(json.dumps(document))
        assert isinstance(rejected, Rejected)
        assert rejected.step == len(document["steps"]) - 1


def test_mu_of_a_replaced_allocation_is_refused() -> None:
    """Its curve ends, and its bound by revealed rounds is no step."""
    noise = Gaussian(sigma=1, sensitivity=L2Contribution(1, ReplaceOne()))
    guarantee = noise.allocate(RandomAllocation(steps=50)).guarantee()

    assert convert(guarantee, to=GDP).mu <= 2 * (1 + CLOSE)
    with pytest.raises(NotCertified, match="certificates know less"):
        convert(guarantee, to=GDP).certify()


@pytest.mark.slow
def test_orders_that_are_too_large_for_the_checker_are_left_out() -> None:
    """A curve goes as far as its proof; what lies beyond is refused."""
    sampled = subsample_poisson(GDP(mu=1), Poisson(sampling_rate=0.01))
    curve = convert(sampled, to=RDP, orders=[2, 1500])
    certificate = curve.certify()
    points: Any = certificate.claim["points"]

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert [order for order, _ in points] == ["2"]
    with pytest.raises(NotCertified, match="no finite"):
        curve.certify(order=1500)
    with pytest.raises(NotCertified, match="at 1199189 points, where the checker allows"):
        convert(sampled, to=RDP, orders=[1500]).certify()
    assert isinstance(
        proofs.check(compose(ZCDP(rho=1), sampled).certify(delta=1e-6)), VerifiedUnder
    )
