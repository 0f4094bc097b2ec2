"""Samples that serve one purpose, drawn anywhere, in bounded memory."""

from __future__ import annotations

import math
import subprocess
import sys
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest

from dpproof import auditing
from dpproof.accountant.errors import ParameterError
from dpproof.auditing import Outcome, SamplesUsed
from dpproof.auditing.trials.encoding import Pair
from dpproof.auditing.trials.trials import Trials
from dpproof.auditing.witnesses.standard import Coordinate
from dpproof.auditing.witnesses.witness import Question
from tests.architecture.tree import ROOT
from tests.auditing.samplers import laplace

PAIR = Pair(0.0, 1.0)
QUESTION = Question(Coordinate(0), upwards=True, swapped=False, thresholds=np.array([1.0, 0.0]))


def test_testing_samples_are_counted_once() -> None:
    """A second count is refused."""
    testing = Trials(laplace(1.0), PAIR, seed=1).testing(100)
    testing.tally([QUESTION])
    with pytest.raises(SamplesUsed):
        testing.tally([QUESTION])


def test_samples_are_never_drawn_twice() -> None:
    """Everything drawn from one source is different; the same seed gives the same again."""
    trials = Trials(laplace(1.0), PAIR, seed=1)
    first, second = trials.training(500), trials.training(500)
    again = Trials(laplace(1.0), PAIR, seed=1).training(500)

    assert not set(first.features[:, 0]) & set(second.features[:, 0])
    assert (first.features == again.features).all()
    assert (first.labels == again.labels).all()


def test_labels_are_fair_coins() -> None:
    """Half of the trials are on D: within six standard deviations of a hundred thousand coins."""
    training = Trials(laplace(1.0), PAIR, seed=2).training(100_000)

    assert abs(training.labels.mean() - 0.5) < 6 * 0.5 / math.sqrt(100_000)


def test_counts_are_of_the_stated_events() -> None:
    """Nested counts equal those of the plain comparison, for both orders of the datasets."""
    training = Trials(laplace(1.0), PAIR, seed=3).training(1_000)
    inside, hits = QUESTION.count(training.features, training.labels)
    values = training.features[:, 0]

    assert inside.tolist() == [(values >= 1).sum(), (values >= 0).sum()]
    assert hits.tolist() == [
        ((values >= 1) & training.labels).sum(),
        ((values >= 0) & training.labels).sum(),
    ]


def test_a_time_budget_ends_without_a_verdict() -> None:
    """A sampler too slow for its budget is inconclusive, whatever it does."""

    def slow(value: float, size: int, rng: np.random.Generator) -> object:
        time.sleep(0.05)
        return laplace(1.0)(value, size, rng)

    report = auditing.audit(slow, (0.0, 1.0), (1, 0), samples=10**6, seconds=0.1, seed=1)

    assert report.outcome is Outcome.INCONCLUSIVE
    assert any("time budget" in note for note in report.notes)


def test_what_was_seen_before_the_time_ended_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound from the last look before the end; the same audit with enough time has a better."""
    drawn = 0

    def counted(value: float, size: int, rng: np.random.Generator) -> object:
        nonlocal drawn
        drawn += size
        return laplace(1.0)(value, size, rng)

    def timed(enough: int) -> auditing.Report:
        nonlocal drawn
        drawn = 0
        monkeypatch.setattr("time.monotonic", lambda: 1e9 if drawn > enough else 0.0)
        return auditing.audit(counted, (0.0, 1.0), (2, 0), samples=2_500, seconds=10, seed=1)

    hurried, patient = timed(3_000), timed(10**6)

    assert hurried.outcome is Outcome.INCONCLUSIVE
    assert hurried.trials < patient.trials == 5_000
    assert 0.4 < hurried.epsilon_lower < patient.epsilon_lower < 1
    assert len(hurried.findings) == len(patient.findings)


def test_a_time_budget_is_kept_by_slow_samplers() -> None:
    """Tasks begin with one trial and grow with those before, so that none takes long by itself."""
    sizes: list[int] = []

    def counted(value: float, size: int, rng: np.random.Generator) -> object:
        sizes.append(size)
        return laplace(1.0)(value, size, rng)

    trials = Trials(counted, PAIR, seed=1, growing=True)
    assert len(trials.training(3_000).labels) == 3_000
    assert sizes[0] == 1
    assert all(size <= 1 + sum(sizes[:place]) / 4 for place, size in enumerate(sizes))
    assert len(sizes) < 100


@pytest.mark.parametrize("samples", [0, 4, -1, 1.5, "9"])
def test_refuses_too_few_samples(samples: object) -> None:
    """At least five a dataset, a whole number."""
    with pytest.raises(ParameterError):
        auditing.audit(laplace(1.0), (0.0, 1.0), (1, 0), samples=samples)  # type: ignore[arg-type]


def test_refuses_samplers_that_lose_outputs() -> None:
    """As many outputs as were asked for."""
    with pytest.raises(ParameterError, match="outputs"):
        auditing.audit(lambda _, size, __: np.zeros(size - 1), (0, 1), (1, 0), samples=10)


def test_counting_takes_no_more_memory_for_more_trials() -> None:
    """Two million trials are counted in the memory of two hundred thousand."""
    peaks = []
    for count in (200_000, 2_000_000):
        testing = Trials(laplace(1.0), PAIR, seed=1).testing(count)
        tracemalloc.start()
        testing.tally([QUESTION])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[1] < 1.2 * peaks[0] < 20_000_000


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_million_samples_are_cheap() -> None:
    """A million samples a dataset take less than 500 MB.

    The peak is read from /proc: getrusage's starts at what the process was forked from.
    """
    code = (
        "import numpy as np\n"
        "import dpproof.auditing\n"
        "draw = lambda v, n, r: np.rint((v + r.laplace(size=n)) * 2**30) / 2**30\n"
        "report = dpproof.auditing.audit(draw, (0., 1.), (1, 0), samples=10**6, seed=1)\n"
        "print(report.outcome.name)\n"
        "status = open('/proc/self/status').read()\n"
        "print(status.split('VmHWM:')[1].split()[0])\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    outcome, kilobytes = result.stdout.split()

    assert outcome == "NO_EVIDENCE"
    assert int(kilobytes) < 500_000


class _Interrupted:
    """A sampler that is interrupted after some calls; no draw differs between the datasets."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self, data: float, size: int, rng: np.random.Generator) -> Any:  # noqa: ANN401  # as samplers
        """Draw noise beside the data, or stop."""
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return data + rng.normal(size=size)


def test_an_interrupted_audit_reports_what_it_has() -> None:
    """Where that is asked for: inconclusive, with the reason; else the interruption is raised."""
    about: Any = {"samples": 10**5, "seed": 1, "chunk": 100}
    report = auditing.audit(_Interrupted(50), (0.0, 1.0), (1, 0), **about, report_interrupted=True)

    assert report.outcome is auditing.Outcome.INCONCLUSIVE
    assert 0 < report.trials < report.planned
    assert any("interrupted" in note for note in report.notes)
    assert report.log_evidence <= 0
    with pytest.raises(KeyboardInterrupt):
        auditing.audit(_Interrupted(50), (0.0, 1.0), (1, 0), **about)


def test_a_violation_that_was_found_outlives_an_interruption() -> None:
    """The first look refutes a gross claim; an interruption after it changes nothing."""
    report = auditing.audit(
        _Interrupted(10**6), (0.0, 9.0), (0.1, 0), samples=10**4, seed=1, report_interrupted=True
    )

    assert report.outcome is auditing.Outcome.VIOLATION
