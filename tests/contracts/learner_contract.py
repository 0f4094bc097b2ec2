"""What every learner that adds up bounded contributions owes, beyond what every mechanism does."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from dpproof import auditing
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove, ReplaceOne, ZeroOut
from dpproof.accountant.sensitivity import L2, L2Contribution
from dpproof.auditing import Recorder
from dpproof.mechanisms import Records, ReplayRng
from dpproof.mechanisms.learning.bounded_updates import Contributions, SumLearner
from dpproof.mechanisms.learning.records import RECORD_BITS
from dpproof.mechanisms.mechanism import flatten
from tests.contracts.mechanism_contract import AUDIT_ALARM, MechanismContract

ENGINE = "dpproof.mechanisms.learning.bounded_updates"
FEATURES = 2
AXES = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.6, -0.8]]
ODD_ROWS = [[0.0, 0.0], [np.nan, 1.0], [np.inf, 0.0], [3.0, -4.0], [1e300, 1e300], [5e-324, 0.0]]
# Around the widths of vector units and the blocks of matrix products.
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 257, 513)


class LearnerContract(MechanismContract):
    """The battery; a test class names its learner, its labels and its worst records."""

    reached = Fraction(
        1
    )  # how much of the squared movement under replace-one the grid's rows reach

    @abstractmethod
    def learner(self, **changes: Any) -> SumLearner[Any]:  # noqa: ANN401  # whatever it takes
        """A learner of two features with norm 1; arguments are as given, or typical."""

    @abstractmethod
    def labels(self) -> list[float]:
        """All labels that the learner knows."""

    def mechanism(self) -> SumLearner[AddRemove]:
        """The typical learner."""
        return self.learner()

    def data(self) -> Records:
        """A few rows of every label."""
        rows = [[0.6, 0.8], [-0.5, 0.5], [1.0, 0.0], [0.0, -1.0], [0.6, -0.8]]
        return Records(rows, list(itertools.islice(itertools.cycle(self.labels()), len(rows))))

    def increasing_noise(self) -> list[SumLearner[AddRemove]]:
        """Standard deviations from half the norm to fifty times."""
        return [self.learner(sigma=sigma) for sigma in (0.5, 1, 2.5, 50)]

    def states(self) -> NDArray[np.float64]:
        """States of every shape of mistake: zero, along each axis, and random ones."""
        shape = self.contributions([]).shape
        random = np.random.default_rng(5).normal(size=(6, *shape))
        axes = np.eye(int(np.prod(shape))).reshape(-1, *shape)
        return np.concatenate([np.zeros((1, *shape)), axes, -axes, random])

    def contributions(self, records: list[tuple[Any, float]]) -> Contributions:
        """Of the records, to the typical learner."""
        return self.learner(features=FEATURES).contributions(records)

    def vectors(self, records: list[tuple[Any, float]]) -> list[NDArray[np.int64]]:
        """The sum of the contributions in every state, exact, in units of 2^-24."""
        sums = self.contributions(records).totals(self.states(), None).sums
        return list(sums.reshape(len(sums), -1).astype(np.int64))

    def universe(self) -> list[tuple[Any, float]]:
        """Every row of the grid with every label, and an unknown label."""
        rows = [*AXES, *ODD_ROWS]
        return [(row, label) for row in rows for label in (*self.labels(), 17.0)]

    def test_sensitivity_is_attained_and_not_exceeded(self) -> None:
        """On all tiny datasets of a grid the largest movement is the one stated, exactly."""
        universe = self.universe()
        empty = self.vectors([])
        single = [self.vectors([record]) for record in universe]
        added = replaced = 0
        for (i, one), (j, two) in itertools.product(enumerate(universe), repeat=2):
            both = self.vectors([one, two])
            for state in range(len(empty)):
                added = max(added, _squared(both[state] - single[i][state]))
                replaced = max(replaced, _squared(single[i][state] - single[j][state]))
        for relation, worst in ((AddRemove(), added), (ZeroOut(), added), (ReplaceOne(), replaced)):
            stated = (
                L2Contribution(self.learner().sums().contribution.bound, relation).as_l2().value
            )

            assert Fraction(worst, 4**RECORD_BITS) <= stated**2
            share = self.reached if relation == ReplaceOne() else 1
            assert share * stated**2 - Fraction(worst, 4**RECORD_BITS) < Fraction(1, 2**70)

    def test_blank_and_malformed_records_contribute_nothing(self) -> None:
        """Nan, infinity, a zero row, an unknown label and a wrong width change no bit, and no n."""
        odd: list[tuple[Any, Any]] = [
            ([np.nan, 0.5], self.labels()[0]),
            ([0.5, np.inf], self.labels()[0]),
            ([0.0, 0.0], self.labels()[0]),
            ([0.5, 0.5], 0.5),
            ([0.5, 0.5], np.nan),
            ([0.5, 0.5, 0.5], self.labels()[0]),
            ("ab", self.labels()[0]),
        ]
        learner = self.learner(features=FEATURES, rate=1)
        good = [self.data()[i] for i in range(len(self.data()))]
        plain = learner.release(good, rng=ReplayRng(3))
        for position in (0, 2, len(good)):
            mixed = [*good[:position], *odd, *good[position:]]

            assert learner.release(mixed, rng=ReplayRng(3)).tolist()[:2] == plain.tolist()[:2]
            assert (learner.release(mixed, rng=ReplayRng(3)).weights == plain.weights).all()

    @pytest.mark.parametrize("features", [1, 3, 64, 200])
    def test_contributions_do_not_depend_on_the_others(self, features: int) -> None:
        """Insertion, removal and permutation change no bit of another record's contribution."""
        rng = np.random.default_rng(features)
        rows = rng.normal(size=(max(SIZES), features)) / np.sqrt(features)
        labels = rng.choice(self.labels(), size=len(rows))
        learner = self.learner()
        shape = learner.contributions(Records(rows, labels)).shape
        state = rng.normal(size=shape)
        whole = self.each(learner.contributions(Records(rows, labels)), state)
        order = rng.permutation(len(rows))
        mixed = self.each(learner.contributions(Records(rows[order], labels[order])), state)

        assert (mixed == whole[order]).all()
        assert whole.any()
        for size in SIZES:
            for part in (slice(size), slice(len(rows) - size, None)):
                alone = self.each(learner.contributions(Records(rows[part], labels[part])), state)
                total = learner.contributions(Records(rows[part], labels[part]))

                assert (alone == whole[part]).all()
                assert (total.totals(state[None], None).sums[0] == whole[part].sum(axis=0)).all()

    @staticmethod
    def each(contributions: Contributions, state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Every record's own contribution, computed beside all others."""
        found = []
        for start in range(0, contributions.records, 64):
            chosen = np.eye(contributions.records, dtype=bool)[start : start + 64]
            states = np.broadcast_to(state, (len(chosen), *state.shape))
            found.append(contributions.totals(states, chosen).sums)
        return np.concatenate(found)

    def test_the_forms_of_data_agree(self) -> None:
        """Records, sparse or not, two arrays, one array and pairs; two rows are no columns."""
        data = self.data()
        forms: Iterator[Any] = iter(
            [
                data,
                Records(sparse.csr_array(data.rows), data.labels),
                (data.rows, data.labels),
                np.column_stack([data.rows, data.labels]),
                [data[i] for i in range(len(data))],
            ]
        )
        learner = self.learner(features=FEATURES)
        released = [learner.release(form, rng=ReplayRng(2)).weights.tolist() for form in forms]

        assert all(one == released[0] for one in released)
        with pytest.raises(ParameterError, match="features"):
            self.learner().release([([0.5, 0.5], self.labels()[0])])
        with pytest.raises(ParameterError, match="rows"):
            learner.release(np.zeros((3, 4)))
        for wrong in ("text", 3, None, np.zeros(3), np.zeros((2, 2), dtype=complex)):
            with pytest.raises(ParameterError):
                learner.release(wrong)

    def test_neighbours_ask_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Run on neighbours, the learner draws the same noise on sums that differ by the norm."""
        recorder = Recorder()
        primitive = vars(__import__(ENGINE, fromlist=["gaussian_rounded"]))["gaussian_rounded"]
        declared = L2(self.learner().sums().contribution.bound)
        watched = recorder.watch(primitive, value="value", sensitivity=declared)
        monkeypatch.setattr(f"{ENGINE}.gaussian_rounded", watched)
        data = self.data()
        pairs = [(data, data[np.arange(len(data)) != i]) for i in range(len(data))]
        seen = recorder.inspect(self.learner(rate=1).sampler(), pairs, seed=1)

        assert seen.facts == (), str(seen)
        assert any(movement.measured > 0 for movement in seen.movements)

    def test_audit_sees_a_weakened_copy(self) -> None:
        """A learner with a quarter of the claimed noise is caught on its worst neighbours."""
        claim = self.learner(sigma=2, steps=1).guarantee()
        row = Records([[1.0, 0.0]], self.labels()[:1])
        pair = row, row[:0]
        for sigma, caught in ((2, False), (0.5, True)):
            sampler = self.learner(sigma=sigma, steps=1).sampler()
            report = auditing.audit(sampler, pair, claim, samples=6_000, significance=AUDIT_ALARM)

            assert (report.outcome is auditing.Outcome.VIOLATION) is caught, str(report)

    def test_relations_and_samples(self) -> None:
        """Add-remove and zero-out cost the same, replace-one as much as twice the norm."""
        one, two, three = (
            self.learner(relation=relation, rate=1).guarantee()
            for relation in (AddRemove(), ZeroOut(), ReplaceOne())
        )

        assert one.gdp().upper == two.gdp().upper
        assert three.gdp().upper == pytest.approx(2 * one.gdp().upper)

    def test_outputs_are_records(self) -> None:
        """One release has its fields by name, many are one array, and audits see numbers."""
        learner, data = self.learner(), self.data()
        one, many = learner.release(data), learner.release_many(data, 7)

        assert not one.stopped
        assert one.steps == learner.sums().steps
        assert one.weights.shape == learner.contributions(data).shape
        assert many["weights"].shape == (7, *one.weights.shape)
        assert flatten(many).shape == (7, 2 + one.weights.size)


def assert_ties_are_mistakes(learner: SumLearner[Any], labels: list[float]) -> None:
    """Rows whose product with the state is exactly 0 are mistakes of margin 0, however many.

    Coordinates of the state come in equal pairs, those of the rows in opposite ones. In binary64
    without the grid the sums that cancel leave rounding errors, whose signs depend on the order.
    """
    rng = np.random.default_rng(3)
    half, kinds = rng.normal(size=(257, 32)), rng.choice(labels, size=257)
    order = rng.permutation(64)
    rows = np.concatenate([half, -half], axis=1)[:, order]
    shape = learner.contributions(Records(rows, kinds)).shape
    one = rng.normal(size=(*shape[:-1], 32))
    state = np.concatenate([one, one], axis=-1)[..., order]
    for size in (1, 2, 3, 5, 8, 13, 33, 64, 129, 257):
        part = learner.contributions(Records(rows[:size], kinds[:size]))

        assert part.totals(state[np.newaxis], None).counts.tolist() == [size]


def _squared(vector: NDArray[np.int64]) -> int:
    return sum(int(x) ** 2 for x in vector)
