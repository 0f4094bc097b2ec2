"""The first line of a report: the fact that refutes the claim, in the numbers of both sides."""

from __future__ import annotations

import html
import math
import re

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof import auditing
from dpproof.accountant import GDP, L2, Poisson
from dpproof.auditing.counts import Design, EventCounts
from dpproof.auditing.report import Finding
from dpproof.mechanisms import Gaussian

EVENT = re.compile(
    r"VIOLATION\. At epsilon (\S+) the claim allows delta (\S+); counted (\S+) of (\S+) on (D'?) "
    r"against (\S+) of (\S+) on (D'?) \(delta about (\S+), p-value (\S+)\)"
)


def _short(value: float, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Gaussian noise, a third short of what is claimed."""
    return np.asarray((value + rng.normal(scale=0.67, size=size)).round(9))


def test_the_headline_is_the_refuting_fact() -> None:
    """Its numbers are those of the refuting test, and delta that of its plain frequencies."""
    claim = GDP(mu=1)
    report = auditing.audit(_short, (0.0, 1.0), claim, samples=20_000, seed=1, delta=1e-6)
    found = EVENT.fullmatch(str(report).splitlines()[0])

    assert found is not None, str(report)
    assert f"<summary>{html.escape(report.headline())}</summary>" in report._repr_html_()
    epsilon, allowed = float(found[1]), float(found[2])
    hits, trials, other, others = (int(found[i].replace(",", "")) for i in (3, 4, 6, 7))
    about = hits / trials - math.exp(epsilon) * other / others
    assert claim.delta(epsilon=epsilon).upper == pytest.approx(allowed, rel=1e-2)
    assert float(found[9]) == pytest.approx(about, rel=2e-2, abs=1e-3)
    assert about > allowed
    assert {found[5], found[8]} == {"D", "D'"}
    assert float(found[10]) < report.significance
    assert report.to_dict()["headline"] == str(report).splitlines()[0]


def test_an_epsilon_below_the_claimed_one_is_said_not_to_refute() -> None:
    """Where the curve refutes the claim, the smaller epsilon does not read as an acquittal."""
    report = auditing.audit(_short, (0.0, 1.0), GDP(mu=1), samples=20_000, seed=1, delta=1e-6)

    assert report.epsilon_lower < report.epsilon_claimed
    line = f"measured: epsilon >= {report.epsilon_lower:.6g} at delta = 1e-06"
    assert f"{line}, which does not refute it by itself\n" in str(report)


def test_the_curve_s_test_says_more_than_the_bound_of_epsilon() -> None:
    """Where both refute the claim, the headline is the one with a p-value."""

    def loud(value: float, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return np.asarray((value + rng.normal(scale=0.2, size=size)).round(9))

    report = auditing.audit(loud, (0.0, 1.0), GDP(mu=1), samples=20_000, seed=1, delta=1e-6)
    bounds = [one for one in report.findings if one.refutes and one.epsilon_lower is not None]

    assert bounds
    assert report.epsilon_lower > report.epsilon_claimed
    assert EVENT.fullmatch(report.headline())
    assert "by itself" not in str(report)


@pytest.mark.parametrize("label", ["", "DP-SGD, 10 steps"])
def test_the_claim_is_in_its_author_s_words(label: str) -> None:
    """The label of the guarantee, or what the mechanism is; never a class of ours."""
    step = Gaussian(sigma=2, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.2))
    claim = step.repeat(10).guarantee()
    asked = claim.labelled(label) if label else claim
    report = auditing.audit(_short, (0.0, 1.0), asked, samples=500, seed=1)

    mechanism = (
        "Gaussian noise of standard deviation 2 on a query of L2 sensitivity 1, Poisson sample of "
        "rate 0.2, 10 times"
    )
    assert f"\n  claim: {label or mechanism}: epsilon = " in str(report)
    assert "Pair(" not in str(report)


def test_guesses_are_told_as_guesses() -> None:
    """Right ones against wrong ones, and delta about their frequencies."""
    counts = EventCounts(30, 90, 10, 10, Design.GUESSES)
    finding = Finding(
        what="",
        event="",
        order="data",
        counts=counts,
        significance=0.05,
        refutes=True,
        epsilon_lower=0.5,
        epsilon=0.25,
        allowed=0.0,
    )

    assert finding.difference == pytest.approx((30 - math.exp(0.25) * 10) / 100)
    assert finding.headline() == (
        "At epsilon 0.25 the claim allows delta 0; counted 30 right guesses of the dataset against "
        "10 wrong ones in 100 trials (delta about 0.172, epsilon at least 0.5, error 0.05)"
    )


def test_what_is_not_refuted_says_what_was_measured() -> None:
    """The outcome, and both epsilons."""
    report = auditing.audit(_short, (0.0, 1.0), (9, 1e-6), samples=1_000, seed=1)

    assert str(report).startswith("INCONCLUSIVE: measured epsilon >= ")
    assert " of 9 claimed at delta = 1e-06\n" in str(report)
