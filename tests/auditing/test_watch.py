"""Audits that stop at any time, and evidence kept between runs."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dpproof.accountant import GDP, ZCDP
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.auditing import EvidenceStore, StoreRefused, fingerprint, watch
from tests.auditing.builders import LAPLACE
from tests.auditing.samplers import gaussian, laplace, randomized_response


def test_gross_violations_end_early() -> None:
    """Half the noise is found with a few hundred trials of the hundred thousand allowed."""
    evidence = watch(laplace(0.5), (0.0, 1.0), (1, 0), seed=1)

    assert evidence.refuted
    assert evidence.trials <= 2_000


def test_small_violations_are_found() -> None:
    """A tenth less noise, within fifty thousand trials."""
    evidence = watch(laplace(1 / 1.1), (0.0, 1.0), (1, 0), samples=25_000, seed=1)

    assert evidence.refuted


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 0.0), (0.2, 0.0), (1.0, 0.05)], ids=["1", "0.2", "1, 0.05"]
)
def test_true_claims_are_left_alone(epsilon: float, delta: float) -> None:
    """With fresh entropy, wrong with probability 1e-9."""
    evidence = watch(
        randomized_response(epsilon, delta),
        (0.0, 1.0),
        (epsilon, delta),
        samples=5_000,
        significance=1e-9,
    )

    assert not evidence.refuted, str(evidence)


def test_a_claim_that_nothing_is_bet_against_stays_at_one() -> None:
    """The largest wealth against far less privacy than there is is that of the start."""
    evidence = watch(randomized_response(1.0, 0.0), (0.0, 1.0), (9.0, 0.5), samples=200, seed=1)

    assert evidence.largest == 0.0


def test_a_curve_is_refuted_as_a_whole() -> None:
    """Gaussian noise a tenth short of its claim takes a few thousand samples; mu is bounded."""
    evidence = watch(gaussian(0.9), (0.0, 1.0), GDP(mu=1), samples=20_000, seed=1)

    assert evidence.refuted
    assert evidence.trials <= 20_000
    assert evidence.mu_lower is not None
    assert 0.9 <= evidence.mu_lower <= 1 / 0.9


@pytest.mark.parametrize("claim", [GDP(mu=1), ZCDP(rho=0.5), LAPLACE], ids=["gdp", "zcdp", "pair"])
def test_true_curves_are_left_alone(claim: Guarantee[Any]) -> None:
    """With fresh entropy, each of three statements wrong with probability 1e-9."""
    draw = laplace(1.0) if claim is LAPLACE else gaussian(1.0)
    evidence = watch(draw, (0.0, 1.0), claim, samples=5_000, significance=1e-9)

    assert not evidence.refuted, str(evidence)
    assert evidence.mu_lower is not None
    if claim is not LAPLACE:
        assert evidence.mu_lower <= 1, str(evidence)


def test_epsilon_of_a_curve_is_bounded_where_it_is_asked_for() -> None:
    """Laplace noise: the bound at a delta of a tenth is below the one at 0."""
    run = partial(watch, laplace(1.0), (0.0, 1.0), LAPLACE, samples=5_000, seed=2)

    assert 0 < run(delta=0.1).epsilon_lower < run().epsilon_lower <= 1


def test_a_point_says_nothing_of_mu() -> None:
    """There is no curve to be told."""
    assert watch(laplace(1.0), (0.0, 1.0), (1, 0), samples=100, seed=1).mu_lower is None


def test_a_seed_replays() -> None:
    """The same seed gives the same evidence."""
    first, again = (watch(laplace(1.0), (0.0, 1.0), (1, 0), samples=500, seed=9) for _ in "ab")

    assert first == again


def test_trials_run_anywhere() -> None:
    """Threads gather the evidence that no executor gathers, and say how far they are."""
    seen: list[tuple[int, int]] = []
    run = partial(watch, laplace(1.0), (0.0, 1.0), (1, 0), samples=500, seed=9, chunk=50)
    with ThreadPoolExecutor(3) as executor:
        together = run(executor=executor, progress=lambda *counts: seen.append(counts))
    alone = run()

    assert together == alone
    assert seen[-1] == (alone.trials, 1_000)


def test_runs_multiply_until_the_code_changes(tmp_path: Path) -> None:
    """Evidence of one fingerprint adds up in logarithms; another one starts again."""
    store = EvidenceStore(tmp_path / "evidence.sqlite")
    old, new = fingerprint("code", "claim"), fingerprint("other code", "claim")

    assert store.multiply("a", old, 1.5) == 1.5
    assert store.multiply("a", old, -0.25) == 1.25
    assert store.runs("a") == 2
    assert EvidenceStore(tmp_path / "evidence.sqlite").multiply("a", old, 1.0) == 2.25
    assert store.multiply("b", old, 0.5) == 0.5
    assert store.multiply("a", new, 0.125) == 0.125
    assert store.runs("a") == 1
    assert store.runs("nobody") == 0


def test_a_run_that_never_ends_counts_at_its_least(tmp_path: Path) -> None:
    """What is begun counts; what other code has deleted meanwhile adds nothing."""
    store = EvidenceStore(tmp_path / "evidence.sqlite")
    store.multiply("a", "f", 5.0)
    store.begin("a", "f", least=-3.0)
    last = store.begin("a", "f", least=-3.0)

    assert store.finish(last, 1.0) == 3.0
    assert store.runs("a") == 3
    deleted = store.begin("a", "f", least=-3.0)
    store.begin("a", "g", least=-3.0)
    assert store.finish(deleted, 100.0) == 0.0
    assert store.multiply("a", "g", 1.0) == -2.0


def test_parallel_runs_lose_nothing(tmp_path: Path) -> None:
    """Forty runs from eight threads all count."""
    store = EvidenceStore(tmp_path / "evidence.sqlite")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: store.multiply("a", "f", 1.0), range(40)))

    assert store.multiply("a", "f", 0.0) == 40.0


def test_refuses_files_that_are_no_store(tmp_path: Path) -> None:
    """A text, and a folder that is not there."""
    (tmp_path / "text").write_text("hello, this is a text\n" * 100, encoding="utf-8")
    for path in ("text", "nowhere/it"):
        with pytest.raises(StoreRefused, match=path):
            EvidenceStore(tmp_path / path)


def test_refuses_evidence_that_is_none(tmp_path: Path) -> None:
    """A nan is refused; what is lost stays lost."""
    store = EvidenceStore(tmp_path / "evidence.sqlite")
    with pytest.raises(ParameterError):
        store.multiply("a", "f", math.nan)

    assert store.multiply("a", "f", -math.inf) == -1e300
