"""Histories, measurements and budget accountants of other libraries."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

import dpproof as dp
from dpproof.errors import InputError
from dpproof.interop import (
    from_diffprivlib,
    from_opacus_history,
    from_opendp,
    from_pipeline_dp,
    to_opendp,
)
from dpproof.interop.opendp import loss_at

ADD = dp.AddRemove()
HISTORY = [(1.1, 0.01, 500), (0.9, 0.02, 100)]


def test_opacus_history_is_the_composition() -> None:
    """Each entry is so many sampled Gaussian steps; a state dictionary is read too."""
    parts = [
        dp.Gaussian(sigma=sigma, sensitivity=dp.L2(1))
        .subsample(dp.Poisson(sampling_rate=rate))
        .repeat(steps)
        for sigma, rate, steps in HISTORY
    ]
    expected = dp.compose(*parts).guarantee().epsilon(delta=1e-5)

    assert from_opacus_history(HISTORY, poisson=True).epsilon(delta=1e-5) == expected
    state = {"history": HISTORY, "mechanism": "prv"}
    assert from_opacus_history(state, poisson=True).epsilon(delta=1e-5) == expected


@pytest.mark.parametrize(
    ("history", "poisson", "error"),
    [
        (HISTORY, None, dp.ParameterError),
        (HISTORY, 1, dp.ParameterError),
        ([(1.0, 0.1, 0)], False, dp.ParameterError),
        ([(1.0, 1.5, 5)], False, dp.ParameterError),
        ([], True, InputError),
        ({"mechanism": "rdp"}, True, InputError),
        ([(1.0, 0.1)], True, InputError),
        ([(0.0, 0.1, 5)], True, dp.ParameterError),
        ([(1.0, 45.0, 5)], True, dp.ParameterError),
    ],
)
def test_opacus_refusals(history: Any, poisson: Any, error: type[Exception]) -> None:  # noqa: ANN401  # bad on purpose
    """With neither word, and with numbers that are none, nothing is answered."""
    with pytest.raises(error):
        from_opacus_history(history, poisson=poisson)


def test_opacus_without_poisson_samples_is_shuffled() -> None:
    """One over the rate batches an epoch, in a new order each, under zero-out or replace-one."""
    epochs = dp.Gaussian(sigma=1.5, sensitivity=dp.L2Contribution(1, dp.ZeroOut()))
    expected = epochs.allocate(dp.ShuffledBatches(batches=469)).repeat(10).guarantee()
    found = from_opacus_history([(1.5, 1 / 469, 4690)])
    assert found.epsilon(delta=1e-6) == expected.epsilon(delta=1e-6)
    assert found.attained
    with pytest.raises(InputError, match="whether the last batch was dropped"):
        from_opacus_history([(1.5, 128 / 60_000, 4690)])
    other = from_opacus_history([(1.5, 1 / 469, 4690)], relation=dp.ReplaceOne())
    assert other.epsilon(delta=1e-6).lower > expected.epsilon(delta=1e-6).lower
    with pytest.raises(dp.NotImplied, match="amplifies nothing"):
        from_opacus_history([(1.5, 1 / 469, 4690)], relation=ADD)
    with pytest.raises(InputError, match="add-remove neighbours"):
        from_opacus_history([(1.5, 1 / 469, 4690)], poisson=True, relation=dp.ZeroOut())


def test_an_unfinished_epoch_is_accounted_for_as_a_whole() -> None:
    """What is forgotten can only help: the upper end is that of whole epochs, none is attained."""
    part, whole = (from_opacus_history([(1.0, 0.01, steps)]) for steps in (150, 200))

    assert part.epsilon(delta=1e-6).upper == whole.epsilon(delta=1e-6).upper
    assert not part.epsilon(delta=1e-6).attained
    assert whole.epsilon(delta=1e-6).attained


def test_diffprivlib() -> None:
    """Spent budgets compose, from the accountant, its list or JSON; the relation has to be said."""
    spent = [(1.0, 0.0), (0.5, 1e-7)]
    for source in (spent, {"spent_budget": spent}, SimpleNamespace(spent_budget=spent)):
        assert 1.4 < from_diffprivlib(source, ADD).epsilon(delta=2e-7).upper <= 1.5
    assert from_diffprivlib([], ADD).epsilon(delta=0).upper == 0
    with pytest.raises(dp.ParameterError):
        from_diffprivlib(spent)
    for bad in (3, [(1.0,)], "text"):
        with pytest.raises(InputError):
            from_diffprivlib(bad, ADD)


def test_pipeline_dp() -> None:
    """Noise relative to the sensitivity is the mechanism, epsilon and delta what they state."""
    laplace = {"mechanism_type": "Laplace", "noise_standard_deviation": 2**0.5, "count": 2}
    generic = {
        "mechanism_type": "Generic",
        "eps": 1.0,
        "delta": 1e-7,
        "noise_standard_deviation": None,
    }

    assert from_pipeline_dp([laplace], ADD).epsilon(delta=0).upper == pytest.approx(2)
    assert from_pipeline_dp({"mechanism_specs": [generic]}, ADD).epsilon(delta=1e-7).upper == 1
    hidden = from_pipeline_dp([{**laplace, "thresholding_delta": 1e-8}], ADD)
    assert hidden.epsilon(delta=0).upper == float("inf")
    with pytest.raises(dp.NotImplied, match="thresholding_delta"):
        from_pipeline_dp([{**laplace, "mechanism_type": "Laplace Thresholding"}], ADD)
    with pytest.raises(dp.NotImplied):
        from_pipeline_dp([{"mechanism_type": "GAUSSIAN", "eps": 1.0, "delta": 0}], ADD)
    with pytest.raises(InputError):
        from_pipeline_dp([], ADD)


class _Measurement:
    """What is read of a measurement of OpenDP."""

    def __init__(self, metric: str, measure: str, loss: object) -> None:
        self.input_metric, self.output_measure, self._loss = metric, measure, loss

    def map(self, _: object) -> object:
        """The loss at any distance."""
        return self._loss


@pytest.mark.parametrize(
    ("measure", "loss", "expected"),
    [
        ("MaxDivergence", 1.0, dp.PureDP(epsilon=1)),
        ("ZeroConcentratedDivergence", 0.5, dp.ZCDP(rho=0.5)),
        ("Approximate(MaxDivergence)", (1.0, 1e-7), dp.ApproxDP(epsilon=1, delta=1e-7)),
    ],
)
def test_opendp(measure: str, loss: object, expected: dp.Guarantee[Any]) -> None:
    """The output measure names the notion, the input metric the neighbours."""
    assert from_opendp(_Measurement("SymmetricDistance()", measure, loss)) == expected
    replaced = from_opendp(_Measurement("ChangeOneDistance()", measure, loss))
    assert replaced.relation == dp.ReplaceOne()
    with pytest.raises(dp.ParameterError):
        from_opendp(_Measurement("AbsoluteDistance(f64)", measure, loss))
    with pytest.raises(dp.ParameterError):
        from_opendp(_Measurement("ChangeOneDistance()", measure, loss), relation=ADD)
    for metric, near, relation in (
        ("SymmetricDistance()", 0, ADD),
        ("ChangeOneDistance()", 0, dp.ZeroOut()),
        ("ChangeOneDistance()", 2, ADD),
    ):
        with pytest.raises(dp.ParameterError):
            from_opendp(_Measurement(metric, measure, loss), d_in=near, relation=relation)
    with pytest.raises(dp.NotImplied):
        from_opendp(_Measurement("SymmetricDistance()", "Other", loss))


@pytest.mark.slow  # the library takes seconds to load
def test_opendp_itself() -> None:
    """A measurement of the library, where it is installed."""
    library = pytest.importorskip(
        "opendp.prelude", reason="opendp (extra test, 47 MB) is not installed"
    )
    library.enable_features("contrib")
    space = library.vector_domain(library.atom_domain(bounds=(0, 1))), library.symmetric_distance()
    noisy = space >> library.t.then_sum() >> library.m.then_laplace(scale=2.0)

    assert from_opendp(noisy).epsilon(delta=0).upper == pytest.approx(0.5)


class _Library:
    """What is called of OpenDP: it keeps the arguments of a measurement."""

    def __init__(self) -> None:
        self.m = self

    def make_user_measurement(self, *space: object, **arguments: object) -> SimpleNamespace:
        """Return a measurement that says what it was made of."""
        return SimpleNamespace(input_metric=space[1], map=arguments["privacy_map"], **arguments)

    def max_divergence(self) -> str:
        """Name the measure of pure DP."""
        return "MaxDivergence"

    def zero_concentrated_divergence(self) -> str:
        """Name the measure of zCDP."""
        return "ZeroConcentratedDivergence"

    def approximate(self, inner: str) -> str:
        """Name the measure of (epsilon, delta)-DP."""
        return f"Approximate({inner})"


EXPORTED: list[tuple[dp.Guarantee[Any], float | None, str]] = [
    (dp.PureDP(epsilon=0.25), None, "MaxDivergence"),
    (dp.ZCDP(rho=0.25), None, "ZeroConcentratedDivergence"),
    (dp.GDP(mu=0.5), None, "ZeroConcentratedDivergence"),
    (dp.ApproxDP(epsilon=0.25, delta=2**-20), None, "Approximate(MaxDivergence)"),
    (dp.GDP(mu=0.5), 2**-20, "Approximate(MaxDivergence)"),
]


@pytest.mark.parametrize(("guarantee", "delta", "measure"), EXPORTED)
def test_to_opendp_and_back(
    guarantee: Any,  # noqa: ANN401  # of five notions
    delta: float | None,
    measure: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a measurement says is what was exported, never less, and groups cost more."""
    monkeypatch.setitem(sys.modules, "opendp.prelude", _Library())
    given: Any = {"input_domain": "rows", "input_metric": "SymmetricDistance()", "delta": delta}
    made = to_opendp(guarantee, len, **given)

    assert made.output_measure == measure
    back = from_opendp(made)
    asked = 2**-20
    exact, told = guarantee.epsilon(delta=asked).lower, back.epsilon(delta=asked).upper
    assert exact <= told
    if guarantee.describe() == back.describe():
        assert back == guarantee
    assert made.map(2) > made.map(1) > made.map(0)


def test_to_opendp_refuses_what_no_metric_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other neighbours, metrics of others, and curves without a delta are refused."""
    monkeypatch.setitem(sys.modules, "opendp.prelude", _Library())
    space: Any = {"input_domain": "rows", "input_metric": "SymmetricDistance()"}
    with pytest.raises(dp.ParameterError, match="ChangeOneDistance"):
        to_opendp(dp.PureDP(epsilon=1, relation=dp.ReplaceOne()), len, **space)
    with pytest.raises(dp.NotImplied, match="no metric"):
        to_opendp(dp.PureDP(epsilon=1, relation=dp.ZeroOut()), len, **space)
    with pytest.raises(dp.ParameterError, match="states no epsilon"):
        to_opendp(dp.RDP(points=((2, 1),)), len, **space)
    with pytest.raises(dp.NotImplied):
        to_opendp(dp.group(dp.PureDP(epsilon=1), size=2), len, **space)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(InputError, match="pip install opendp"):
        to_opendp(dp.PureDP(epsilon=1), len, **space)


def test_losses_of_groups() -> None:
    """Distances 0, 1 and 2 of zCDP and of (epsilon, delta)-DP, by hand."""
    assert [loss_at(dp.ZCDP(rho=0.5), size, None) for size in (0, 1, 2)] == [0.0, 0.5, 2.0]
    assert loss_at(dp.ApproxDP(epsilon=0, delta=2**-20), 2, None) == (0.0, 2**-19)


@pytest.mark.slow  # as above
def test_to_opendp_itself() -> None:
    """The library takes the measurement, runs it, and composes what its map says."""
    library = pytest.importorskip(
        "opendp.prelude", reason="opendp (extra test, 47 MB) is not installed"
    )
    library.enable_features("contrib", "honest-but-curious")
    space: Any = {
        "input_domain": library.vector_domain(library.atom_domain(T=int)),
        "input_metric": library.symmetric_distance(),
    }
    counted = to_opendp(dp.ZCDP(rho=0.5), len, **space)
    failing = to_opendp(dp.ApproxDP(epsilon=1, delta=1e-7), len, **space)

    assert counted([1, 2, 3]) == 3
    assert (counted.map(1), counted.map(2)) == (0.5, 2.0)
    assert failing.map(1) == (1.0, 1e-7)
    assert from_opendp(counted) == dp.ZCDP(rho=0.5)
