"""Public calls that once failed, as they were reported: what each has to answer since."""

from __future__ import annotations

import inspect
import json
from fractions import Fraction
from typing import Any

import pytest

import dpproof as dp
from dpproof import learn, mechanisms, proofs
from dpproof.learn.private_estimator import PrivateEstimator


@pytest.mark.parametrize(
    "mechanism",
    [
        dp.DiscreteGaussian(sigma=1e20, sensitivity=dp.L1(1)),
        dp.DiscreteGaussian(sigma=1e18, sensitivity=dp.L1(1)),
        dp.DiscreteLaplace(scale=1e20, sensitivity=dp.L1(1)),
        dp.DiscreteLaplace(scale=1e20, sensitivity=dp.L1(1)).select(
            dp.FixedRuns(count=2), score=float
        ),
    ],
    ids=["gaussian", "some-beyond", "laplace", "selection"],
)
def test_one_integer_is_released_beyond_64_bits(mechanism: dp.Mechanism[dp.AddRemove]) -> None:
    """One release of one integer is an integer, wherever the noise ends."""
    for _ in range(20):
        assert isinstance(mechanism.release(5), int)


def test_a_sensitivity_of_2_to_the_40_is_one() -> None:
    """The largest sensitivity of a staircase is not refused for a unit of rounding."""
    found = mechanisms.Staircase(epsilon=1, width=5, sensitivity=dp.L1(2**40)).guarantee()
    assert 0.999 < found.epsilon(delta=1e-6).upper <= 1.0


@pytest.mark.parametrize(
    "given", [{"epsilon": 0}, {"delta": 0}, {"delta": 2}, {"epsilon": 1e-9, "delta": 1e-9}]
)
def test_refusals_say_must_be_once(given: dict[str, float]) -> None:
    """A domain that begins with the words had them twice, as in "must be must be above 0"."""
    arguments: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "relation": dp.AddRemove(), **given}
    with pytest.raises(dp.ParameterError) as refused:
        mechanisms.PartitionSelection(**arguments).guarantee()
    assert str(refused.value).count("must be") == 1


def _trained(rate: float) -> dp.Guarantee[dp.AddRemove]:
    one = dp.Gaussian(sigma=1, sensitivity=dp.L2(1))
    return one.subsample(dp.Poisson(sampling_rate=rate)).repeat(1000).guarantee()


def test_numbers_that_the_tail_decides_say_what_to_ask_instead() -> None:
    """The mu and rho of sampled training are those without sampling, and helped nobody."""
    plain = dp.Gaussian(sigma=1, sensitivity=dp.L2(1)).repeat(1000).guarantee()
    for ask, number in ((dp.Guarantee.gdp, 1000**0.5), (dp.Guarantee.zcdp, 500.0)):
        answer, bare = ask(_trained(0.01)), ask(plain)
        assert number in answer
        assert number in bare
        assert answer.advice in repr(answer)
        assert answer.advice in answer._repr_html_()
        assert not bare.advice
        assert not ask(dp.PureDP(epsilon=1)).advice
        assert not ask(dp.GDP(mu=0)).advice
        assert ask(dp.ApproxDP(epsilon=1, delta=1e-6)).advice  # infinite
    assert "smallest_delta" in _trained(0.01).gdp().advice
    asked = _trained(0.01).gdp(smallest_delta=1e-6)
    assert not asked.advice
    assert asked.upper < 0.5
    assert "rdp(order=...)" in _trained(0.01).zcdp().advice
    assert _trained(0.01).rdp(order=8).upper < 1


@pytest.mark.slow
def test_the_best_of_permuted_candidates_is_narrow() -> None:
    """Epsilon of a selection from permute-and-flip was 3.5 % wide."""
    one = mechanisms.PermuteAndFlip(epsilon=Fraction(1, 10), sensitivity=dp.LInf(1))
    runs = dp.TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 10))
    assert one.select(runs).guarantee().epsilon(delta=1e-6).relative_width < 1e-4


@pytest.mark.parametrize("given", [None, b"", 3, [1]])
def test_what_is_no_text_or_certificate_is_refused_by_type(given: object) -> None:
    """The documented type of error, which names the type that was given."""
    for call in (proofs.check_text, proofs.check, dp.check):
        with pytest.raises(TypeError, match=type(given).__name__):
            call(given)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="str"):
        dp.check("text")  # type: ignore[arg-type]


def test_keys_of_a_claim_stand_in_any_order() -> None:
    """What a program wrote with sorted keys is the same certificate."""
    text = dp.GDP(mu=1).certify(delta=1e-6).to_json()
    for order in (False, True):
        again = json.dumps(json.loads(text), sort_keys=order)
        assert not isinstance(proofs.check_text(again), proofs.Rejected)


@pytest.mark.slow
def test_a_power_is_not_above_what_its_certificate_proves() -> None:
    """Three logistic objectives: a lower end of 1 - 4e-14 stood against a proof of 0.94717."""
    one = (
        mechanisms.LogisticObjective(sigma=3, regulariser=1, relation=dp.AddRemove())
        .repeat(3)
        .guarantee()
    )
    found = one.true_positive_rate(false_positive_rate=0.1)
    proved = one.certify(false_positive_rate=0.1)
    assert not isinstance(proofs.check(proved), proofs.Rejected)
    assert found.lower < 0.94717


def test_estimators_have_one_default_relation() -> None:
    """Whoever compares epsilons of estimators compares them for the same neighbours."""
    estimators = [
        one
        for name in vars(learn)["__all__"]
        if inspect.isclass(one := getattr(learn, name)) and issubclass(one, PrivateEstimator)
    ]
    assert len(estimators) > 7
    defaults = {
        one.__name__: inspect.signature(one).parameters["relation"].default
        for one in estimators
        if "relation" in inspect.signature(one).parameters
    }
    assert set(defaults.values()) == {None}, defaults
