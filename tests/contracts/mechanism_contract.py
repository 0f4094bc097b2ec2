"""What every mechanism owes: inherit, name the instances, and the battery runs."""

from __future__ import annotations

import functools
import itertools
import pickle
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof import auditing, proofs
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import Mechanism, ReplayRng, compose
from dpproof.mechanisms.mechanism import flatten, unpack
from dpproof.proofs import Rejected, VerifiedUnder

DELTA = 1e-6
FALSE_ALARM = 1e-8
AUDIT_ALARM = 1e-9
AUDIT_SAMPLES = 3_000
NOT_POSITIVE: tuple[Any, ...] = (
    float("nan"),
    float("inf"),
    -float("inf"),
    0,
    -1.0,
    "1",
    True,
    None,
)


def one_bad(
    build: Callable[..., object], good: dict[str, Any], bad: dict[str, Sequence[Any]]
) -> list[Callable[[], object]]:
    """Constructions with good arguments but one, over all the bad values of each."""
    return [
        functools.partial(build, **{**good, name: value})
        for name, values in bad.items()
        for value in values
    ]


def overlap(left: Bound, right: Bound) -> bool:
    """Whether two brackets can hold the same number."""
    return left.lower <= right.upper and right.lower <= left.upper


class MechanismContract(ABC):
    """The battery; a test class inherits it and implements the four abstract methods."""

    @abstractmethod
    def mechanism(self) -> Mechanism[Any]:
        """A typical instance, able to run on ``data``."""

    @abstractmethod
    def data(self) -> object:
        """Something the instance runs on; records when the instance acts on records."""

    @abstractmethod
    def increasing_noise(self) -> Sequence[Mechanism[Any]]:
        """Instances from little noise to much, all else equal; at least three."""

    @abstractmethod
    def invalid(self) -> Sequence[Callable[[], object]]:
        """Constructions that must be refused, each with one bad argument."""

    def test_certificate_is_verified(self) -> None:
        """What is stated, with its conditions, can be proved to others, and nothing smaller."""
        guarantee = self.mechanism().guarantee()
        certificate = guarantee.certify(delta=DELTA)
        starts = [node for node in guarantee.derivation.everything() if not node.premises]
        claim = str(certificate.claim["epsilon"])
        lowered = str(Fraction(claim) * Fraction(9, 10))
        false = certificate.to_json().replace(f'"{claim}"', f'"{lowered}"')

        assert isinstance(proofs.check(certificate), VerifiedUnder)
        assert isinstance(proofs.check_text(false), Rejected)
        assert all(node.assumptions and "state/" not in node.rule for node in starts)

    def neighbour(self) -> object:
        """A neighbour of ``data``: a record less, or a value that moved by the sensitivity."""
        mechanism, data = self.mechanism(), self.data()
        if mechanism.acts_on_records:
            return data[:-1]  # type: ignore[index]
        sensitivity = getattr(mechanism, "sensitivity", None)
        if not isinstance(sensitivity, L1 | L2):
            pytest.fail("what a neighbour is has to be said: define neighbour()")
        moved = np.array(data)
        moved.flat[0] += float(sensitivity.value)
        return moved.tolist()

    def test_audit_does_not_contradict_the_statement(self) -> None:
        """Outputs on two neighbours do not refute the guarantee, floating point included.

        Fresh entropy; a true statement is refuted with probability at most ``AUDIT_ALARM``.
        """
        mechanism = self.mechanism()
        pair = self.data(), self.neighbour()
        report = auditing.audit(
            mechanism.sampler(),
            pair,
            mechanism.guarantee(),
            samples=AUDIT_SAMPLES,
            significance=AUDIT_ALARM,
        )

        assert report.outcome is not auditing.Outcome.VIOLATION, str(report)

    def test_refuses_bad_arguments(self) -> None:
        """Every bad argument is a typed error where it enters, and names its domain."""
        for position, construct in enumerate(self.invalid()):
            with pytest.raises(ParameterError, match=r" must be (?!must)") as refused:
                pytest.fail(f"invalid()[{position}] was accepted: {construct()!r}")
            assert not refused.value.allowed.startswith("must"), str(refused.value)

    def test_shows_itself_on_one_line(self) -> None:
        """The repr of the mechanism, of its guarantee and of its derivation can be read."""
        guarantee = self.mechanism().guarantee()
        for one in (self.mechanism(), guarantee, guarantee.derivation):
            assert repr(one).isprintable()
            assert repr(one).startswith(type(one).__name__)
            assert len(repr(one)) <= 300

    def test_is_an_immutable_value(self) -> None:
        """Equal parameters make equal, hashable, picklable mechanisms."""
        mechanism = self.mechanism()

        assert mechanism == self.mechanism()
        assert hash(mechanism) == hash(self.mechanism())
        assert pickle.loads(pickle.dumps(mechanism)) == mechanism  # noqa: S301 - our own bytes
        sampler = mechanism.sampler()
        assert pickle.loads(pickle.dumps(sampler)) == sampler  # noqa: S301 - our own bytes
        with pytest.raises((AttributeError, TypeError)):
            mechanism.anything = 1  # type: ignore[attr-defined]

    def test_replay_is_deterministic(self) -> None:
        """The same words give the same output, other words another."""
        mechanism, data = self.mechanism().repeat(64), self.data()
        first, again, other = (
            flatten(mechanism.release_many(data, 1, rng=ReplayRng(seed))).tolist()
            for seed in (1, 1, 2)
        )

        assert first == again
        assert first != other

    def test_release_is_one_of_release_many(self) -> None:
        """``release`` and ``release_many`` are one sampler: same words, same output."""
        mechanism, data = self.mechanism(), self.data()
        one = mechanism.release(data, rng=ReplayRng(5))
        many = mechanism.release_many(data, 1, rng=ReplayRng(5))

        assert _listed(one) == _listed(unpack(many[0]))

    def test_first_axis_is_outputs(self) -> None:
        """``release_many`` and the auditing sampler put outputs on the first axis."""
        mechanism, data = self.mechanism(), self.data()
        sampled = mechanism.sampler()(data, 11, np.random.default_rng(3))

        assert len(mechanism.release_many(data, 11)) == 11
        assert sampled.dtype == np.float64
        assert sampled.ndim in (1, 2)
        assert len(sampled) == 11

    def test_refuses_bad_sizes_and_sources(self) -> None:
        """A size is a whole number from 1, a source of randomness is an Rng."""
        mechanism, data = self.mechanism(), self.data()
        for size in (0, -1, 1.5, "3", True):
            with pytest.raises(ParameterError):
                mechanism.release_many(data, size)  # type: ignore[arg-type]
        with pytest.raises(ParameterError):
            mechanism.release(data, rng=7)  # type: ignore[arg-type]
        for count in (0, -1, 2.0, "3", True):
            with pytest.raises(ParameterError):
                mechanism.repeat(count)  # type: ignore[arg-type]

    def test_states_its_relation_and_assumptions(self) -> None:
        """The guarantee speaks of the mechanism's relation and says what it assumes."""
        guarantee = self.mechanism().guarantee()

        assert guarantee.relation == self.mechanism().relation
        assert guarantee.derivation.all_assumptions()
        assert str(guarantee.relation) in guarantee.derivation.explain()

    def test_more_noise_costs_less(self) -> None:
        """Epsilon is monotone in the noise."""
        costs = [m.guarantee().epsilon(delta=DELTA) for m in self.increasing_noise()]
        assert len(costs) >= 3
        for less, more in itertools.pairwise(costs):
            assert more.lower <= less.upper
        assert costs[-1].upper < costs[0].lower

    def test_repetition_is_composition(self) -> None:
        """``repeat(n)`` states what ``compose`` of n copies states, and costs more than one."""
        mechanism = self.mechanism()
        once, thrice = mechanism.guarantee(), mechanism.repeat(3).guarantee()
        copies = compose(mechanism, mechanism, mechanism).guarantee()

        assert thrice == copies
        assert once.delta(epsilon=0.25).upper < thrice.delta(epsilon=0.25).lower

    def test_repeating_once_is_the_identity(self) -> None:
        """``repeat(1)`` and ``compose`` of one part change nothing."""
        mechanism = self.mechanism()
        plain = mechanism.guarantee().epsilon(delta=DELTA)

        assert overlap(plain, mechanism.repeat(1).guarantee().epsilon(delta=DELTA))
        assert overlap(plain, compose(mechanism).guarantee().epsilon(delta=DELTA))

    def test_combinators_run(self) -> None:
        """Repeating and composing run on the same data, and nest."""
        mechanism, data = self.mechanism(), self.data()
        first, second = compose(mechanism.repeat(2), mechanism).repeat(3).release(data)[0]

        assert len(first) == 2
        assert len(mechanism.repeat(4).release(data)) == 4
        assert second is not None

    def test_subsampling_everything_is_the_identity(self) -> None:
        """At rate 1 subsampling changes nothing; below 1 it gains, where a pair is known.

        Under relations other than add-remove it is known of Gaussian sums alone.
        """
        mechanism = self.mechanism()
        plain = mechanism.guarantee().epsilon(delta=DELTA)
        try:
            everything = mechanism.subsample(Poisson(sampling_rate=1)).guarantee()
            few = mechanism.subsample(Poisson(sampling_rate=0.125)).guarantee()
        except NotImplied:
            if isinstance(mechanism.relation, AddRemove):
                with pytest.raises(NotImplied):
                    mechanism.guarantee().to_pair()
            return
        assert overlap(plain, everything.epsilon(delta=DELTA))
        assert few.epsilon(delta=DELTA).upper < plain.lower

    def test_subsampling_runs_on_records_only(self) -> None:
        """A sample is drawn from records; without a query the error says to give one."""
        mechanism, data = self.mechanism(), self.data()
        step = mechanism.subsample(Poisson(sampling_rate=1))
        if mechanism.acts_on_records:
            assert len(step.release_many(data, 5)) == 5
            return
        with pytest.raises(ParameterError, match="query="):
            step.release(data)


class ExactLawContract(MechanismContract):
    """For mechanisms whose law can be written down: the statement against brute force."""

    @abstractmethod
    def law(self, value: int) -> NDArray[np.float64]:
        """The instance's mass function on a fixed window of outputs, when the query says value.

        Written from the textbook, sharing no code with the mechanism.
        """

    @abstractmethod
    def window_start(self) -> int:
        """The output that ``law``'s first entry belongs to."""

    @abstractmethod
    def shift(self) -> int:
        """How far neighbours' values are apart at worst."""

    def test_statement_is_the_brute_force_hockey_stick(self) -> None:
        """delta(epsilon) of the guarantee equals that of the two laws, in both directions."""
        p, q = self.law(self.shift()), self.law(0)
        cut_off = max(1 - p.sum(), 1 - q.sum(), 0.0) + 1e-12
        guarantee = self.mechanism().guarantee()
        for epsilon in (-0.5, 0.0, 0.1, 0.7, 1.5, 3.0):
            truth = max(
                np.maximum(p - np.exp(epsilon) * q, 0).sum(),
                np.maximum(q - np.exp(epsilon) * p, 0).sum(),
            )
            stated = guarantee.delta(epsilon=epsilon)

            assert stated.upper >= truth - cut_off
            assert stated.lower <= truth + cut_off

    def test_outputs_follow_the_law(self) -> None:
        """The empirical distribution stays in its band, except with probability 1e-8.

        Band: Dvoretzky-Kiefer-Wolfowitz with Massart's constant, for any law.
        """
        seed = secrets.randbits(64)
        print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
        size = 200_000
        mechanism = self.mechanism()
        outputs = mechanism.release_many(0, size, rng=np.random.default_rng(seed))
        mass = self.law(0)
        edges = np.arange(self.window_start(), self.window_start() + len(mass))
        empirical = np.searchsorted(np.sort(outputs.astype(np.int64)), edges, side="right") / size
        below = 0.5 * (1 - mass.sum()) if self.window_start() < 0 else 0.0
        band = np.sqrt(np.log(2 / FALSE_ALARM) / (2 * size))

        assert np.abs(empirical - (below + np.cumsum(mass))).max() <= band


def _listed(output: object) -> object:
    if isinstance(output, np.record):
        return [_listed(output[name]) for name in output.dtype.names or ()]
    if isinstance(output, tuple):
        return [_listed(part) for part in output]
    return output.tolist() if isinstance(output, np.ndarray) else output
