"""Noisy descent on the hinge loss of a stated margin, after a public map: exactly mu-GDP."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, final

import numpy as np
from attrs import field, frozen

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.relation import AddRemove, R, ZeroOut
from dpproof.accountant.sensitivity import L2Contribution
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.bounded_updates import Contributions, NoisySums
from dpproof.mechanisms.learning.grid import Vectors
from dpproof.mechanisms.learning.halfspace import HalfspaceMistakes, hinge_limits, signs
from dpproof.mechanisms.learning.maps.feature_map import FeatureMap, LinearMap, fits_rows
from dpproof.mechanisms.learning.records import GridRecords, on_grid
from dpproof.mechanisms.learning.sum_learner import SumLearner
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.arrays import scale as noise_scale
from dpproof.mechanisms.samplers.rng import Rng

# Above Euler's constant, and above 4 + 1 + 1/4 + 1/9 + ...: Theorem 2' of margins.md.
_EULER: Final = 0.5772156650
_SQUARES: Final = 5.645


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class MarginDescent(SumLearner[R]):
    """Learn a halfspace by noisy subgradient steps on the hinge loss max(0, 1 - y <w, x> / margin).

    Map every row, clip it to ``norm``, start from w = 0, and ``steps`` times add up y x over
    all records with y <w, x> < margin, add N(0, sigma^2 I), and move w by a constant times the
    noisy sum. Nothing is projected on a ball.

    Statement: one record moves a sum by at most C = norm, by 2 C under replace-one and
        replace-label, for every map, as rows are clipped after mapping. With
        sigma = sensitivity sqrt(steps) / mu all noisy sums together are mu-GDP, and so is every
        function of them. Opposite records attain it.
    Source: the algorithms are Bassily, Mohri & Suresh, arXiv:2204.10376, Algorithm 2, and Wang,
        Zhu & Wang, arXiv:2505.24737, Algorithm 1, with one solver for both; the accounting is
        Theorem A of proofs/theory/learners.md, the utility proofs/theory/margins.md, section 2.

    Args:
        margin: of the hinge, above 0, in units of mapped rows.
        norm: mapped rows are clipped to this Euclidean norm.
        steps: T, fixed in advance.
        mu: of the whole run; sigma follows, rounded up.
        map: from rows to rows; None is the identity.
        relation: the neighbouring relation. Under add-remove and zero-out ``records`` is
            needed; under the others the number of records is public.
        records: a public number of records at or above the true one, for the step size only;
            None takes the number of records, malformed ones included.
        radius: of the reference halfspace, for the step size.
        average: whether the weights are the mean of all states, w = 0 included, or the last state.
        features: the width of a row; None takes it from the map or the array.
    Outputs:
        A record with fields ``stopped`` (False), ``steps`` and ``weights``: for rows before
        mapping if the map is linear, else for mapped rows.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows.
            A record that is not finite, or whose label is neither 1 nor -1, contributes nothing.
    Example:
        >>> from dpproof.accountant import ReplaceOne
        >>> learner = MarginDescent(
        ...     margin=0.125, norm=1, steps=100, mu=0.25, relation=ReplaceOne()
        ... )
        >>> learner.guarantee().mu, learner.sigma
        (Fraction(1, 4), Fraction(80, 1))
    """

    margin: Fraction = field(converter=parameters.positive)
    norm: Fraction = field(converter=parameters.scale)
    steps: int = field(converter=parameters.count)
    mu: Fraction = field(converter=parameters.positive)
    map: FeatureMap | None = field(default=None, validator=fits_rows)
    records: int | None = field(default=None, converter=parameters.optional_count)
    radius: Fraction = field(default=Fraction(1), converter=parameters.positive)

    @records.validator
    def _is_public(self, _parameter: object, records: int | None) -> None:
        if records is None and isinstance(self.relation, AddRemove | ZeroOut):
            raise ParameterError(
                "records",
                None,
                f"a public number under {self.relation}",
                "the number of records is private there, and the learner would show it",
            )

    def __attrs_post_init__(self) -> None:
        noise_scale(sigma=self.sigma)

    @property
    def sensitivity(self) -> Fraction:
        """Return how far one record moves a sum between neighbours, in units of mapped rows."""
        return L2Contribution(self.norm, self.relation).as_l2().value

    @property
    def sigma(self) -> Fraction:
        """Return the standard deviation of the noise on a sum.

        It is sensitivity sqrt(steps) / mu, rounded up.
        """
        return sqrt_up(self.sensitivity**2 * self.steps / self.mu**2)

    def sums(self) -> NoisySums[R]:
        """Return the noisy sums that a run releases, with a bound of one record's contribution."""
        return NoisySums(
            steps=self.steps, sigma=self.sigma, norm=self.norm, relation=self.relation, whole=True
        )

    def excess(self, *, records: int, width: int, failure: Number | None = None) -> float:
        """Bound the released state's hinge loss beyond that of any reference w.

        Statement: for all w with ||w|| <= radius, E[sum of hinge(released)] <= sum of hinge(w) + c
            radius sqrt((G^2 + k s^2)/(T + 1)). Here G = n norm/margin, s = sigma/margin, k is the
            width of mapped rows, and n = ``records`` of the learner, at or above the true number; c
            is 1 for the mean state, and 1 + H/2 with H = 1 + 1/2 + ... + 1/T for the last one. With
            ``failure`` the last state has the bound of Theorem 2' with that probability missed.
        Source: proofs/theory/margins.md, Theorems 2 and 2'.
        Raises:
            ParameterError: ``failure`` of the mean state, which has no such bound.
        Example:
            >>> from dpproof.accountant import ReplaceOne
            >>> learner = MarginDescent(
            ...     margin=0.5, norm=1, steps=10_000, mu=1, relation=ReplaceOne()
            ... )
            >>> round(learner.excess(records=1_000, width=4))
            22
        """
        size, s = self.records or records, float(self.sigma / self.margin)
        g = size * float(self.norm / self.margin)
        largest = math.hypot(g, math.sqrt(width) * s)
        doubled = 2.0 if self.average else 2 + _EULER + math.log(self.steps) + 0.5 / self.steps
        if failure is not None:
            if self.average:
                allowed = "None: a bound with a probability is proved for average=False"
                raise ParameterError("failure", failure, allowed)
            log = math.log(3 / float(check.open_probability(failure=failure)))
            tail = (2 * g + math.sqrt(2 * width) * s) * math.sqrt(2 * _SQUARES * log) + 8 * s * log
            doubled += 1 + s * tail / largest**2
        return float(self.radius) * largest / math.sqrt(self.steps + 1) * doubled / 2

    def mistakes(
        self, *, records: int, width: int, outliers: int = 0, failure: Number | None = None
    ) -> float:
        """Bound the expected mistakes, if all but some records have the hinge's margin.

        Statement: let some w with ||w|| <= radius have y <w, z> >= margin for the mapped and
            clipped rows z of all but ``outliers`` records. Then the released state is expected to
            err on at most outliers (1 + radius norm/margin) + ``excess``: a mistake has hinge at
            least 1. With ``failure`` it errs on no more but with that probability.
        Source: proofs/theory/margins.md, section 2; the form of Wang, Zhu & Wang,
            arXiv:2505.24737, Theorems 6.3 and 6.5, with our constants.
        """
        worst = 1 + float(self.radius * self.norm / self.margin)
        return outliers * worst + self.excess(records=records, width=width, failure=failure)

    def guarantee(self) -> Guarantee[R]:
        """Return mu-GDP of the noisy sums, with the map in the derivation."""
        guarantee = SumLearner.guarantee(self)
        return guarantee if self.map is None else self.map.applied(guarantee)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run ``count`` times on each dataset: records of shape (len(datasets), count)."""
        released = SumLearner.draw(self, datasets, count, rng)
        if not isinstance(self.map, LinearMap):
            return released
        return np.stack([mapped_back(self.map, runs) for runs in released])

    def _read(self, data: object) -> GridRecords:
        """Map the rows first, and put what comes out on the grid."""
        return mapped_records(data, self.map, self.norm, self.features, compact=True)

    def _contributions(self, records: GridRecords) -> Contributions:
        # The engine's states are w / norm, and the grid's rows x / norm.
        size, width = self.records or max(records.total, 1), records.vectors.shape[1]
        pace = float(self.radius) / (math.sqrt(self.steps + 1) * self._largest(size, width))

        def update(states: Vectors, noisy: Vectors) -> Vectors:
            return np.asarray(states + pace * noisy)

        limits = hinge_limits(float(self.margin / self.norm**2))
        return HalfspaceMistakes(records, limits, update)

    def _largest(self, records: int, width: int) -> float:
        """Return the root of the expected squared norm of a noisy sum, at most."""
        return math.hypot(records * float(self.norm), math.sqrt(width) * float(self.sigma))


def mapped_records(
    data: object,
    plan: FeatureMap | None,
    norm: Fraction,
    features: int | None,
    *,
    compact: bool = False,
) -> GridRecords:
    """Return records of labels 1 and -1, their rows mapped, clipped to ``norm``, on the grid.

    Raises:
        ParameterError: the data is not labelled rows of the right width.
    """
    read = data if plan is None else plan.records(data)
    width = features if plan is None else plan.output_features
    return on_grid(read, signs, norm=float(norm), features=width, compact=compact)


def mapped_back(plan: LinearMap, runs: Outputs) -> Outputs:
    """Return the outputs of runs with weights for rows before mapping."""
    weights = plan.back(runs["weights"])
    fields = [
        (name, weights.dtype, weights.shape[1:]) if name == "weights" else (name, runs[name].dtype)
        for name in runs.dtype.names or ()
    ]
    outputs = np.recarray(runs.shape, dtype=fields)
    for name, *_ in fields:
        outputs[name] = weights if name == "weights" else runs[name]
    return np.asarray(outputs)
