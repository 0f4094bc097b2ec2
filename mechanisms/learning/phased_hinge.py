"""Phased descent on the smoothed hinge: every record is looked at once, or at random places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import AddRemove, R
from dpproof.accountant.sensitivity import L2
from dpproof.accountant.theorems.composition import post_process
from dpproof.accountant.theorems.parallel import parallel_positions
from dpproof.accountant.theorems.subsampling import repeated_positions
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.bounded_updates import learned
from dpproof.mechanisms.learning.grid import RECORD_BITS, Vectors
from dpproof.mechanisms.learning.halfspace import signed
from dpproof.mechanisms.learning.maps.feature_map import FeatureMap, LinearMap, fits_rows
from dpproof.mechanisms.learning.margin_descent import mapped_back, mapped_records
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.noise.broadcast import on_grid as in_data_units
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers import default_granularity, gaussian_rounded, uniform_below
from dpproof.mechanisms.samplers.rng import Rng

_PERMUTATION: Final = "permutation"
_REPLACEMENT: Final = "with-replacement"
_LEAST: Final = 4


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class PhasedHinge(Mechanism[R]):
    """Learn a halfspace in phases of one pass each, with Gaussian noise after every phase.

    Phase p = 1, ..., floor(log2 n) takes n_p = floor(n / 2^p) records. It makes a step of projected
    descent on the smoothed hinge for each, with a rate that falls by 4 from phase to phase. It
    releases the mean of its states plus noise, from which the next phase starts.

    Statement: with ``sampling="permutation"`` the phases see disjoint positions of a random
        permutation, so the run is mu-GDP (parallel composition by position). With
        ``"with-replacement"`` a position occurs C_p ~ Bin(n_p, 1/n) times in phase p, and
        delta(epsilon) is the mean of that of (mu sqrt(sum C_p^2))-GDP: about three times the
        epsilon at the same noise.
    Source: Bassily, Mohri & Suresh, arXiv:2204.10376, Algorithm 4, which samples with replacement
        and prices it by a group of O(log 1/delta) records; the permutation is Feldman, Koren &
        Talwar, arXiv:2005.04763. Sensitivity and accounting: proofs/theory/margins.md, section 6,
        binary64 included.

    Args:
        margin, norm, map, relation, radius, features: as for ``MarginDescent``; add-remove is
            refused, as a record has no position there.
        mu: of the noise of one phase: what a record that occurs once costs.
        sampling: "permutation" or "with-replacement".
        records: n; None takes the number of records, which is public here. Sampling with
            replacement needs it, and then data of another size is refused.
    Outputs:
        A record with fields ``stopped`` (False), ``steps`` (phases) and ``weights``.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows,
            of another size than ``records``, or fewer than 4. A record that is not finite, or whose
            label is neither 1 nor -1, makes no step.
    Example:
        >>> from dpproof.accountant import ReplaceOne
        >>> learner = PhasedHinge(margin=0.1, norm=1, mu=0.1, relation=ReplaceOne())
        >>> float(learner.guarantee().mu)
        0.1
        >>> other = PhasedHinge(
        ...     margin=0.1,
        ...     norm=1,
        ...     mu=0.1,
        ...     sampling="with-replacement",
        ...     records=10_000,
        ...     relation=ReplaceOne(),
        ... )
        >>> other.guarantee().epsilon(delta=1e-6).upper > 3 * 0.397
        True
    """

    whole = "it takes the records one after the other, in a random order"

    margin: Fraction = field(converter=parameters.scale)
    norm: Fraction = field(converter=parameters.scale)
    mu: Fraction = field(converter=parameters.scale)
    map: FeatureMap | None = field(default=None, validator=fits_rows)
    relation: R = field(validator=parameters.neighbours)
    records: int | None = field(default=None, converter=parameters.optional_count)
    radius: Fraction = field(default=Fraction(1), converter=parameters.scale)
    sampling: str = field(
        default=_PERMUTATION, validator=parameters.one_of(_PERMUTATION, _REPLACEMENT)
    )
    features: int | None = field(default=None, converter=parameters.optional_count)

    @relation.validator
    def _has_positions(self, _parameter: object, relation: object) -> None:
        if isinstance(relation, AddRemove):
            allowed = "ReplaceOne(), ReplaceLabel() or ZeroOut()"
            raise ParameterError("relation", relation, allowed, "records need positions")

    @records.validator
    def _enough(self, _parameter: object, records: int | None) -> None:
        missing = records is None and self.sampling == _REPLACEMENT
        if (_LEAST if records is None else records) < _LEAST or missing:
            allowed = f"at least {_LEAST}, and stated for sampling with replacement"
            raise ParameterError("records", records, allowed)

    def guarantee(self) -> Guarantee[R]:
        """Return mu-GDP of phases on a permutation, or the profile of draws with replacement."""
        phase = Gaussian(sigma=1 / self.mu, sensitivity=L2(1, self.relation)).guarantee()
        if self.sampling == _PERMUTATION:
            count = 2 if self.records is None else len(phase_sizes(self.records))
            guarantee: Guarantee[R] = parallel_positions(*[phase] * count)
        else:
            assert self.records is not None  # noqa: S101  # by construction
            guarantee = repeated_positions(
                phase, records=self.records, draws=phase_sizes(self.records)
            )
        guarantee = post_process(guarantee, description="projecting the last phase's noisy mean")
        return guarantee if self.map is None else self.map.applied(guarantee)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run ``count`` times on each dataset: records of shape (len(datasets), count)."""
        runs = [self._runs(data, count, rng) for data in datasets]
        if isinstance(self.map, LinearMap):
            runs = [mapped_back(self.map, one) for one in runs]
        return np.stack(runs)

    def _runs(self, data: object, count: int, rng: Rng) -> Outputs:
        """Run the phases on one dataset."""
        records = mapped_records(data, self.map, self.norm, self.features)
        size = records.total
        if size != (self.records or size) or size < _LEAST:
            allowed = f"{self.records or f'at least {_LEAST}'} of them"
            raise ParameterError("records", size, allowed, "their number is public")
        rows = np.zeros((size, records.vectors.shape[1]))
        rows[records.positions] = signed(records)
        sizes = phase_sizes(size)
        order, states = self._order(size, sum(sizes), count, rng), np.zeros((count, rows.shape[1]))
        for phase, steps in enumerate(sizes, start=1):
            places, order = order[:, :steps], order[:, steps:]
            one = self._pass(size, phase)
            start = projected(states, float(one.radius))
            mean = one.run(start, rows, places)
            sides = 2 if self.relation.symmetric else 1
            noise = one.moves(steps=steps, width=rows.shape[1], sides=sides) / self.mu
            grain = default_granularity(noise)
            states = in_data_units(gaussian_rounded(mean, noise, grain, rng), grain)
        weights = projected(states, float(one.radius)) / float(self.norm)
        return learned(np.zeros(count, dtype=np.bool_), np.full(count, len(sizes)), weights)

    def _order(self, size: int, steps: int, count: int, rng: Rng) -> NDArray[np.int64]:
        """Draw the positions of every run's steps.

        Privacy needs only that their law is public.
        """
        if self.sampling == _REPLACEMENT:
            return np.asarray(uniform_below(size, count * steps, rng), dtype=np.int64).reshape(
                count, steps
            )
        keys = rng.words(count * size).reshape(count, size)
        return np.asarray(keys.argsort(axis=1, kind="stable")[:, :steps])

    def _pass(self, size: int, phase: int) -> SmoothedPass:
        """Run one phase for w norm and rows / norm.

        Their product is that of w and rows.

        The ball has twice the radius of the reference; smoothness and rate are those of the paper:
        rate <= 2/smoothness at once, as it is a quarter of 1/smoothness in the first phase.
        """
        ball = 2 * self.radius * self.norm
        slope, root = float(1 / self.margin), math.sqrt(size)
        return SmoothedPass(
            margin=self.margin,
            smoothness=slope * root / float(ball),
            rate=float(ball) / slope / root / 4.0**phase,
            radius=ball,
        )


def phase_sizes(records: int) -> list[int]:
    """Return how many steps each phase makes: half of the records, a quarter, and so on.

    Example:
        >>> phase_sizes(100)
        [50, 25, 12, 6, 3, 1]
    """
    return [records >> phase for phase in range(1, records.bit_length())]


# Soundness: what rounding moves a step by is below this many units, see the proof of ``moves``.
_ROUNDINGS: Final = 8
_UNIT: Final = Fraction(1, 2**53)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SmoothedPass:
    """Steps w <- P(w - rate gradient) over some records z = y x of norm at most 1, one each.

    The loss is the Moreau envelope of max(0, 1 - <w, z>/margin), with c = smoothness/||z||^2 and
    a = <w, z>: 0 from a = margin on, (c/2)(margin - a)^2 next to it, and linear of slope 1/margin
    beyond margin - 1/(margin c). It is (1/margin)-Lipschitz, ``smoothness``-smooth and convex.

    Attributes:
        margin: above 0.
        smoothness: above 0.
        rate: of a step, at most 2/smoothness, at which steps are non-expansive.
        radius: of the ball that P projects on.
    """

    margin: Fraction
    smoothness: float
    rate: float
    radius: Fraction

    def moves(self, *, steps: int, width: int, sides: int) -> Fraction:
        """Bound how far one record moves the mean state of a pass, in Euclidean norm.

        Statement: sides rate / margin, and what rounding adds; sides is 2 if a record is replaced,
            1 if it is blanked.
        Proof: proofs/theory/margins.md, section 6. Binary64 errs in a step of two vectors of
            ``width`` coordinates by at most (3 width + 6) u (radius + rate/margin), in the mean by
            at most steps u radius; non-expansive steps only add these up, in either run.
        """
        slope = Fraction(self.rate) / self.margin
        rounded = _ROUNDINGS * (width + 2) * _UNIT * (self.radius + slope)
        return sides * slope + 2 * steps * rounded

    def run(self, start: Vectors, signed: Vectors, order: NDArray[np.int64]) -> Vectors:
        """Return the mean state of each run after its steps.

        Args:
            start: shape (runs, width), inside the ball.
            signed: y x on the grid, in units of 2^-24, shape (records, width).
            order: the records of each run's steps, shape (runs, steps), at least one step.
        """
        squares = np.square(signed).sum(axis=1) * 4.0**-RECORD_BITS
        curve = self.smoothness / np.where(squares > 0, squares, 1.0)
        states, total = start.copy(), np.zeros_like(start)
        margin, slope, radius = float(self.margin), float(1 / self.margin), float(self.radius)
        for places in order.T:
            rows = signed[places] * 2.0**-RECORD_BITS
            short = np.maximum(margin - np.einsum("ij,ij->i", states, rows), 0.0)
            states += (self.rate * np.minimum(slope, curve[places] * short))[:, np.newaxis] * rows
            states = projected(states, radius)
            total += states
        return np.asarray(total / order.shape[1])


def projected(states: Vectors, radius: float) -> Vectors:
    """Shorten states to the radius of a ball.

    Example:
        >>> projected(np.array([[3.0, 4.0], [0.3, 0.4]]), 1.0)
        array([[0.6, 0.8],
               [0.3, 0.4]])
    """
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    return np.asarray(states * np.minimum(1.0, radius / np.maximum(lengths, 1e-300)))
