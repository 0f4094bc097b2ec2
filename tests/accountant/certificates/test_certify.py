"""Certificates of guarantees: verified, close to the engine's own answer, refused when unknown."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpproof import mechanisms as m, proofs
from dpproof.accountant import (
    GDP,
    L1,
    L2,
    ZCDP,
    AddRemove,
    ApproxDP,
    BoundedRange,
    Guarantee,
    LInf,
    NotCertified,
    ParameterError,
    Poisson,
    PrivacyProfile,
    PureDP,
    ReplaceOne,
    TradeOff,
    WithoutReplacement,
    compose,
    convert,
    group,
    mixture,
    select,
    select_above,
    self_compose,
)
from dpproof.accountant.certificates import certify, finite_sums
from dpproof.accountant.certificates.certify import checked
from dpproof.accountant.certificates.prove import prove_point
from dpproof.accountant.guarantees.derivation import Attained, Derivation, Theorem, theorem_of
from dpproof.accountant.run_counts.law import TruncatedNegativeBinomial
from dpproof.accountant.theorems.composition import compose_gdp
from dpproof.mechanisms import (
    DiscreteGaussian,
    Gaussian,
    Laplace,
    RandomizedResponse,
    compose as mechanism_compose,
)
from dpproof.proofs import Certificate, Rejected, VerifiedUnder
from dpproof.proofs.certificate import show_rational
from tests.accountant.certificates.builders import CLOSE, MORE, certifiable
from tests.proofs.corpus import COMPUTATIONS, DELTA, training

LONG = {
    "choices",
    "samples",
    "sampled answers",
    "five samples",
    "rough",
    "whole noise beside laplace",
}

GRID = 1e-3  # Relative room of a grid for composed bounded ranges.
NAMES = [
    pytest.param(name, marks=pytest.mark.slow if name in LONG else ())
    for name in [*COMPUTATIONS, *MORE]
]


def verified(certificate: Certificate) -> dict[str, Fraction]:
    """The numbers of the claim, if the checker accepts it."""
    verdict = proofs.check(certificate)
    assert isinstance(verdict, VerifiedUnder), verdict
    claim = certificate.claim
    return {name: Fraction(str(claim[name])) for name in ("epsilon", "delta")}


@pytest.mark.parametrize("name", NAMES)
def test_epsilon_at_delta(name: str) -> None:
    """The claim is the engine's upper end, at most a millionth above, or a coarse grid's share."""
    guarantee = {**COMPUTATIONS, **MORE}[name]()
    claim = verified(guarantee.certify(delta=DELTA))
    known, close = expected(name, guarantee)
    upper = known.epsilon(delta=DELTA).upper

    assert claim["delta"] <= Fraction(DELTA)
    assert upper <= claim["epsilon"] <= upper * (1 + close) + Fraction(1, 10**9)


@pytest.mark.parametrize("name", NAMES)
def test_delta_at_epsilon(name: str) -> None:
    """The same for delta."""
    guarantee = {**COMPUTATIONS, **MORE}[name]()
    claim = verified(guarantee.certify(epsilon=0.75))
    known, close = expected(name, guarantee)
    upper = known.delta(epsilon=0.75).upper

    assert claim["epsilon"] == Fraction(3, 4)
    assert upper <= claim["delta"] <= upper * (1 + close)


def expected(name: str, guarantee: Guarantee[Any]) -> tuple[Guarantee[Any], Fraction]:
    """What is proved, and how closely: bounded ranges that are counted together on a grid."""
    if name == "choices":
        return guarantee, Fraction(GRID)
    return certifiable(guarantee), Fraction(CLOSE)


def test_producing_and_checking_is_fast() -> None:
    """Little work for ten thousand steps of DP-SGD, and a few kilobytes."""
    training().certify(delta=DELTA)
    start = time.process_time()
    certificate = training().certify(delta=DELTA)
    made = time.process_time()
    verified(certificate)
    checked = time.process_time()

    assert made - start < 2
    assert checked - made < 5
    assert len(certificate.to_json()) < 4_000


def test_a_million_steps() -> None:
    """The certificate does not grow with the count."""
    certificate = training(10**6).certify(delta=DELTA)

    verified(certificate)
    assert len(certificate.to_json()) < 4_000


@pytest.mark.parametrize("delta", [0.5, 1e-12])
def test_every_size_of_delta(delta: float) -> None:
    """The tail is certified as well as the bulk."""
    claim = verified(training().certify(delta=delta))
    upper = training().epsilon(delta=delta).upper

    assert upper <= claim["epsilon"] <= upper * (1 + Fraction(CLOSE)) + Fraction(1, 10**9)


def test_pure_claims() -> None:
    """At delta = 0 a pure statement is its own proof, and losses without bound have none."""
    assert verified(PureDP(epsilon=0.5).certify(delta=0)) == {
        "epsilon": Fraction(1, 2),
        "delta": Fraction(0),
    }
    with pytest.raises(NotCertified, match="no finite epsilon"):
        GDP(mu=1).certify(delta=0)


@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in COMPUTATIONS),
        *("gdp", "zcdp", "rdp", "sampled", "sampled laplace"),
    ],
)
def test_divergence_at_an_order(name: str) -> None:
    """The Renyi divergence is the engine's upper end, at most a millionth above."""
    guarantee = {**COMPUTATIONS, **MORE}[name]()
    refused = {"points": "no finite", "disjoint": "no finite"}
    if name in refused:
        with pytest.raises(NotCertified, match=refused[name]):
            guarantee.certify(order=2)
        return
    certificate = guarantee.certify(order=2)
    verdict = proofs.check(certificate)
    said = json.loads(certificate.to_json())["claim"]["points"]
    ((order, value),) = [(Fraction(first), Fraction(second)) for first, second in said]

    assert isinstance(verdict, VerifiedUnder), verdict
    assert order == 2
    assert value <= certifiable(guarantee).rdp(order=2).upper * (1 + Fraction(CLOSE))


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["poisson", "subsets"])
@pytest.mark.parametrize(
    "order", [3, *(pytest.param(order, marks=pytest.mark.slow) for order in (1.5, 16))]
)
def test_divergences_of_samples_without_a_bound(direction: str, order: float) -> None:
    """A table and what lies beyond it: at most a millionth above the engine, which is tight."""
    noise = DiscreteGaussian(
        sigma=4, sensitivity=L2(1, ReplaceOne() if direction == "subsets" else AddRemove())
    )
    subsets = WithoutReplacement(sample_size=10, population_size=50)
    scheme = subsets if direction == "subsets" else Poisson(sampling_rate=0.2)
    guarantee = noise.subsample(scheme).repeat(10).guarantee()
    certificate = guarantee.certify(order=order)
    ((_, value),) = json.loads(certificate.to_json())["claim"]["points"]
    found = guarantee.rdp(order=order)

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert found.upper <= Fraction(value) <= found.upper * (1 + Fraction(CLOSE))
    assert found.upper <= found.lower * (1 + 1e-3)


@pytest.mark.slow
def test_mu_of_samples() -> None:
    """Forgetting a sample loses nothing that mu knows: the bases' mu add up in squares."""
    both = mechanism_compose(
        Gaussian(sigma=2, sensitivity=L2(1)), Laplace(scale=4, sensitivity=L1(1))
    )
    sampled = both.subsample(Poisson(sampling_rate=0.125)).repeat(3).guarantee()
    stated = convert(sampled, to=GDP)
    assert sampled.gdp(smallest_delta=1e-40).lower < sampled.gdp(smallest_delta=1e-90).upper
    certificate = stated.certify()

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    assert "convert/pair-unsampled" in [step.rule for step in certificate.steps]
    assert Fraction(str(certificate.claim["mu_squared"])) == stated.mu_squared


@pytest.mark.parametrize(
    ("guarantee", "notion"),
    [
        (compose(GDP(mu=1), GDP(mu=2)), "gdp"),
        (convert(GDP(mu=1), to=ZCDP), "zcdp"),
        (training(), "dominating-pair"),
    ],
)
def test_statements(guarantee: Guarantee[Any], notion: str) -> None:
    """Without a question the statement itself is certified: mu, rho, a pair."""
    certificate = guarantee.certify()

    assert certificate.claim["notion"] == notion
    assert isinstance(proofs.check(certificate), VerifiedUnder)


def test_one_of_them_is_given() -> None:
    """Two questions are refused, and so is a number outside its domain."""
    with pytest.raises(ParameterError):
        GDP(mu=1).certify(delta=0.1, epsilon=1)
    with pytest.raises(ParameterError):
        GDP(mu=1).certify(delta=2)
    with pytest.raises(ParameterError):
        GDP(mu=1).certify(epsilon=-1)


@pytest.mark.parametrize(
    ("make", "notions"),
    [
        (lambda: TradeOff(points=((0, 1), (0.25, 0.25), (1, 0))), (GDP, ZCDP)),
        (lambda: Laplace(scale=2, sensitivity=L1(1)).guarantee(), (GDP, ZCDP)),
        (lambda: self_compose(Laplace(scale=2, sensitivity=L1(1)).guarantee(), 20), (ZCDP,)),
        (training, (GDP, ZCDP)),
        (lambda: BoundedRange(epsilon=1), (GDP,)),
        (
            lambda: certifiable(compose(PureDP(epsilon=0.25), BoundedRange(epsilon=0.5))),
            (GDP, ZCDP),
        ),
        (lambda: self_compose(PureDP(epsilon=0.5), 5), (GDP, ZCDP)),
        (
            lambda: (
                RandomizedResponse(epsilon=1, categories=4, relation=AddRemove())
                .repeat(10)
                .guarantee()
            ),
            (ZCDP,),
        ),
    ],
    ids=["trade-off", "laplace", "laplaces", "training", "range", "two", "pures", "answers"],
)
def test_one_number(make: Callable[[], Guarantee[Any]], notions: tuple[Any, ...]) -> None:
    """The smallest mu and rho of a product are certified exactly as they are stated."""
    for notion in notions:
        stated = convert(make(), to=notion)
        certificate = stated.certify()

        assert isinstance(proofs.check(certificate), VerifiedUnder)
        number = Fraction(str(certificate.claim["rho" if notion is ZCDP else "mu_squared"]))
        assert number == (stated.rho if notion is ZCDP else stated.mu_squared)


@pytest.mark.parametrize("notion", [GDP, ZCDP])
@pytest.mark.parametrize(
    "make",
    [
        lambda: self_compose(BoundedRange(epsilon=1), 10),
        lambda: compose(PureDP(epsilon=0.25), BoundedRange(epsilon=0.5)),
        lambda: compose(self_compose(BoundedRange(epsilon=1), 9), GDP(mu=0.5)),
    ],
    ids=["alone", "beside pure", "beside a Gaussian"],
)
def test_mu_and_rho_of_composed_ranges(
    make: Callable[[], Guarantee[Any]],
    notion: Any,  # noqa: ANN401
) -> None:
    """Their certificates prove a number at or above the smallest one."""
    stated: Any = convert(make(), to=notion)
    certificate = stated.certify()

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    number = Fraction(str(certificate.claim["rho" if notion is ZCDP else "mu_squared"]))
    exact = stated.rho if isinstance(stated, ZCDP) else stated.mu_squared
    assert exact <= number <= 4 * exact


def test_what_no_rule_covers_is_refused() -> None:
    """A theorem without a rule is named; nothing is certified around it."""
    node = Derivation(
        theorem=Theorem("magic/gdp", "nowhere", Attained.NO, written=""), statement="a trick"
    )

    with pytest.raises(NotCertified, match="magic/gdp"):
        GDP(mu=1, derivation=node).certify(delta=DELTA)


def test_numbers_that_no_sum_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mu of several rough releases goes by points of their profile, nearly as tight."""
    monkeypatch.setattr(finite_sums, "_SHARE_OF_VALUES", 1)
    many = convert(self_compose(Laplace(scale=2, sensitivity=L1(1)).guarantee(), 5), to=GDP)
    certificate = many.certify()

    assert isinstance(proofs.check(certificate), VerifiedUnder)
    number, upper = Fraction(str(certificate.claim["mu_squared"])), many.mu_squared
    assert upper <= number <= upper * (1 + Fraction(1, 200))


@pytest.mark.slow
def test_a_table_whose_masses_are_too_far_apart() -> None:
    """Where little noise is sampled at a high rate, a tilt beyond floating point is not tried."""
    noise = Laplace(scale=0.2, sensitivity=L1(1)).subsample(Poisson(sampling_rate=0.9))
    guarantee = noise.repeat(10).guarantee()
    claim = verified(guarantee.certify(delta=DELTA))
    upper = guarantee.epsilon(delta=DELTA).upper

    assert upper <= claim["epsilon"] <= upper * (1 + Fraction(1, 10**4))


def test_groups_are_not_mixed_with_records() -> None:
    """A statement about groups and one about single records have no common claim."""
    parts = (group(GDP(mu=1), size=2).derivation, GDP(mu=1).derivation)
    node = Derivation(theorem=theorem_of(compose_gdp), statement="both", premises=parts)
    both = GDP(mu_squared=5, derivation=node)

    with pytest.raises(NotCertified, match="groups"):
        both.certify(delta=DELTA)


def test_a_guarantee_knows_how_it_was_derived() -> None:
    """Every step of a derivation holds its exact parameters and its conclusion."""
    guarantee = training()
    node = guarantee.derivation

    assert node.rule == "repeat/pair"
    assert node.parameters == (("count", 10_000),)
    assert node.conclusion is guarantee


def test_long_derivations_are_walked() -> None:
    """A chain longer than the recursion limit allows is walked."""
    total: Guarantee[Any] = GDP(mu=0.125)
    for _ in range(1_100):
        total = compose(total, GDP(mu=0.125))

    certificate = total.certify(delta=DELTA)

    assert len(certificate.steps) > 2_000
    verified(certificate)


def test_shared_steps_are_written_once() -> None:
    """Repeating a part does not repeat its proof."""
    part = DiscreteGaussian(sigma=4, sensitivity=L2(1)).guarantee()
    certificate = compose(part, part, part).certify(delta=DELTA)

    assert [step.rule for step in certificate.steps].count("mechanism/discrete-gaussian") == 1
    verified(certificate)


def test_a_false_claim_is_rejected() -> None:
    """A certificate of fewer steps does not do for more: the checker computes."""
    text = training(9_000).certify(delta=DELTA).to_json()
    verdict = proofs.check_text(text.replace("9000", "10000"))

    assert isinstance(verdict, Rejected)
    assert verdict.rule.startswith("hockey-stick/")


RUNS = TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 10))
SUBSET = WithoutReplacement(sample_size=100, population_size=1000)
REPLACED = ReplaceOne()


def _response(epsilon: float) -> Any:  # noqa: ANN401
    return m.RandomizedResponse(epsilon=epsilon, relation=REPLACED).subsample(SUBSET)


def _best() -> Any:  # noqa: ANN401
    return m.ExponentialMechanism(epsilon=1, sensitivity=LInf(1, REPLACED)).select(RUNS)


def _objective() -> Any:  # noqa: ANN401
    sampled = m.LogisticObjective(sigma=3, regulariser=1, relation=AddRemove())
    return sampled.subsample(Poisson(sampling_rate=Fraction(1, 100))).repeat(2)


@pytest.mark.slow
@pytest.mark.parametrize("asked", [{"delta": 1e-6}, {"epsilon": 1}])
def test_samples_of_floored_pairs(asked: dict[str, Any]) -> None:
    """Two minima of sampled objectives with little regularisation are certified at the number."""
    guarantee = _objective().guarantee()
    claim = guarantee.certify(**asked).claim
    known = guarantee.epsilon(delta=1e-6) if "delta" in asked else guarantee.delta(epsilon=1)
    proved = Fraction(str(claim["epsilon" if "delta" in asked else "delta"]))

    assert known.upper <= proved <= known.upper * (1 + 1e-6)


@pytest.mark.parametrize(("epsilon", "order"), [(0.25, 32), (2, 2)])
def test_divergences_of_samples_beside_a_selection(epsilon: float, order: int) -> None:
    """The divergence of a fixed-size sample is stated at what its table proves."""
    both = m.compose(_response(epsilon), _best()).guarantee()
    alone = _response(epsilon).guarantee().rdp(order=order).lower
    ((_, value),) = _points(both.certify(order=order))

    assert value > alone


@pytest.mark.slow
def test_a_selection_of_a_thousand_sparse_vectors() -> None:
    """Bounds that are 1 at small epsilons, and costs of 1e-90, do not spoil a certificate."""
    once = m.AboveThreshold(threshold_scale=2, query_scale=4, sensitivity=LInf(1))
    guarantee = once.repeat(1000).select(RUNS).guarantee()
    proved = Fraction(str(guarantee.certify(delta=1e-6).claim["epsilon"]))
    upper = guarantee.epsilon(delta=1e-6).upper

    assert upper <= proved <= upper * (1 + 2e-4)


@pytest.mark.slow
def test_a_fact_at_which_nothing_is_claimed() -> None:
    """A delta of 1 at a small epsilon beside others costs a group nothing."""
    finite = m.FiniteMechanism(
        table=[[Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 4), Fraction(3, 4)]],
        neighbours=[(0, 1), (1, 0)],
        relation=AddRemove(),
    )
    chosen = m.ExponentialMechanism(epsilon=1, sensitivity=LInf(1))
    parts = [self_compose(one.guarantee(), 100) for one in (finite, chosen)]
    try:
        certificate = group(compose(*parts), size=2).certify(delta=1e-6)
    except NotCertified as refusal:
        assert "the checker rejects" not in str(refusal)  # noqa: PT017  # refused is allowed
    else:
        assert proofs.check(certificate).ok


def _ranges() -> Guarantee[Any]:
    return self_compose(_chosen(1), 2)


def _chosen(epsilon: float) -> Guarantee[Any]:
    return m.ExponentialMechanism(epsilon=epsilon, sensitivity=LInf(1)).guarantee()


@pytest.mark.parametrize(
    ("make", "asked"),
    [
        (lambda: group(_ranges(), size=2), {"delta": 1e-6}),
        pytest.param(lambda: group(_ranges(), size=3), {"advantage": True}, marks=pytest.mark.slow),
        (lambda: convert(_ranges(), to=PrivacyProfile, epsilons=[0.5, 1, 2]), {}),
        (lambda: convert(_ranges(), to=ApproxDP, delta=1e-6), {}),
        (lambda: convert(_ranges(), to=PureDP), {}),
        pytest.param(lambda: select(_ranges(), RUNS), {"delta": 1e-6}, marks=pytest.mark.slow),
        pytest.param(
            lambda: compose(select(_ranges(), RUNS), GDP(mu=1)),
            {"delta": 1e-6},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda: select_above(_ranges(), RUNS), {"delta": 1e-6}, marks=pytest.mark.slow
        ),
        pytest.param(
            lambda: mixture([_ranges(), _chosen(0.5)], weights=[0.5, 0.5]),
            {"delta": 1e-6},
            marks=pytest.mark.slow,
        ),
    ],
    ids=["group", "attack", "profile", "approx", "pure", "best", "beside", "above", "either"],
)
def test_what_follows_from_composed_bounded_ranges(
    make: Callable[[], Guarantee[Any]], asked: dict[str, Any]
) -> None:
    """Their exact worst case has no rule: whatever is made of them is proved of logistic pairs."""
    assert proofs.check(make().certify(**asked)).ok


def test_what_is_rejected_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer that claims too little is found out at the door, with the checker's reason."""

    def too_small(steps: Any, *others: Any) -> None:  # noqa: ANN401
        prove_point(steps, *others)
        last = steps.listed[-1]
        epsilon = show_rational(Fraction(str(last.conclusion["epsilon"])) / 2)
        steps.listed[-1] = replace(last, conclusion={**last.conclusion, "epsilon": epsilon})

    monkeypatch.setattr(certify, "prove_point", too_small)

    with pytest.raises(
        NotCertified, match=r"the checker rejects .*convert/pair-approx: no bound of each"
    ):
        m.Gaussian(sigma=1, sensitivity=L2(1)).guarantee().certify(delta=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: GDP(mu=1, relation=AddRemove()).certify(delta=1e-6),
        lambda: PureDP(epsilon=1, relation=AddRemove()).certify(),
        lambda: GDP(mu=1, relation=AddRemove()).certify(delta=1e-6, lower=True),
    ],
)
def test_every_way_out_is_checked(
    make: Callable[[], Certificate], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upper ends, statements and lower ends all pass the same door."""
    asked: list[Certificate] = []

    def seen(certificate: Certificate) -> Certificate:
        asked.append(certificate)
        return checked(certificate)

    monkeypatch.setattr(certify, "checked", seen)

    assert asked == [make()]


def _points(certificate: Certificate) -> list[tuple[Fraction, Fraction]]:
    """Return the points of a claim."""
    points: Any = certificate.claim["points"]
    return [(Fraction(order), Fraction(value)) for order, value in points]
