"""Planning a selection: what it chooses meets what was asked."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from dpproof.accountant.calibration.plan_selection import SelectionPlan, plan_selection
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.run_counts.law import PoissonRuns, TruncatedNegativeBinomial
from dpproof.accountant.theorems.selection import select


def gaussian(sigma: float) -> GDP[Any]:
    """One run at a noise."""
    return GDP(mu=1 / sigma)


@functools.cache
def plan(candidates: int, probability: float) -> SelectionPlan:
    """For Gaussian runs within (2, 1e-6)."""
    return plan_selection(
        gaussian, epsilon=2, delta=1e-6, candidates=candidates, probability=probability
    )


@pytest.mark.parametrize(
    ("candidates", "probability"),
    [
        (2, 0.99),
        pytest.param(4, 0.3, marks=pytest.mark.slow),
        pytest.param(12, 0.9, marks=pytest.mark.slow),
    ],
)
def test_every_option_meets_the_request(candidates: int, probability: float) -> None:
    """Within the budget, at least the probability, neither with much to spare; the best first."""
    found = plan(candidates, probability)

    assert found.best == min(found.options, key=lambda option: option.noise)
    for option in found.options:
        cost = select(gaussian(option.noise), option.runs).epsilon(delta=1e-6)
        assert option.epsilon == cost
        assert 1.98 < cost.upper <= 2
        drawn = option.runs.probability_drawn(candidates=candidates)
        assert probability <= drawn == option.probability_drawn < probability + 1e-3


@pytest.mark.slow
def test_all_candidates_are_composed() -> None:
    """The comparison is GDP composition: the root of the number of candidates."""
    found = plan(12, 0.9)
    every = GDP(mu_squared=12 / found.all_candidates_noise**2).epsilon(delta=1e-6)

    assert 1.98 < every.upper <= 2
    at_best = GDP(mu_squared=12 / found.best.noise**2).epsilon(delta=1e-6)
    assert found.all_candidates_epsilon.upper == pytest.approx(at_best.upper)


def test_few_candidates_are_all_tried() -> None:
    """For two candidates and certainty composition wins, for twelve selection does."""
    assert not plan(2, 0.99).selecting_pays
    assert plan(12, 0.9).selecting_pays


def test_a_heavy_tail_pays_with_runs() -> None:
    """The geometric law needs less noise than Poisson runs here, and more runs."""
    options = plan(12, 0.9).options
    (poisson,) = (one for one in options if isinstance(one.runs, PoissonRuns))
    (geometric,) = (
        one
        for one in options
        if isinstance(one.runs, TruncatedNegativeBinomial) and one.runs.eta == 1
    )

    assert geometric.noise < poisson.noise
    assert geometric.runs.mean > poisson.runs.mean


BAD: list[Callable[[], object]] = [
    *(
        lambda n=n: plan_selection(gaussian, epsilon=1, delta=1e-6, candidates=n, probability=0.5)
        for n in (0, 1, 1.5, None)
    ),
    *(
        lambda p=p: plan_selection(gaussian, epsilon=1, delta=1e-6, candidates=3, probability=p)
        for p in (0, 1, float("nan"))
    ),
    lambda: plan_selection(gaussian, epsilon=0, delta=1e-6, candidates=3, probability=0.5),
    lambda: plan_selection(gaussian, epsilon=1, delta=0, candidates=3, probability=0.5),
]


@pytest.mark.parametrize("build", BAD)
def test_bad_requests_are_refused(build: Callable[[], object]) -> None:
    """A number outside its domain is refused where it enters."""
    with pytest.raises(ParameterError):
        build()


@pytest.mark.slow
def test_it_says_what_it_tried_and_why_it_lost() -> None:
    """A line each: means and quantiles of the options, what others reach, and all at once."""
    found = plan(12, 0.99)
    lines = found.explain().splitlines()
    assert len(found.options) + len(found.left_out) == 4
    assert len(lines) == 6
    best = found.best.runs
    assert f"{best.mean:.4g} runs on average" in lines[0]
    assert lines[0].endswith(f"at most {best.quantile(level=0.99)}")
    assert "least noise" in lines[0]
    assert "% more noise" in lines[1]
    assert all("left out" in line for line in lines[len(found.options) : -2])
    assert found.left_out, "two laws do not reach so much"
    once = gaussian(found.best.noise).epsilon(delta=1e-6).upper
    assert lines[-2].startswith(f"one run with the least noise: epsilon {once:.5g}, ")
    reached = float(found.left_out[0].split("probability ")[1].split(" only")[0])
    assert reached < 0.99
