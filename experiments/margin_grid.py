"""A margin chosen from a public grid: train at every one, score every one, keep the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray
from scipy.special import ndtri

from dpproof.accountant import arguments, arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.relation import R
from dpproof.accountant.theorems.composition import compose, post_process
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.descent import MarginDescent
from dpproof.mechanisms.learning.maps.feature_map import FeatureMap, LinearMap, map_or_none
from dpproof.mechanisms.learning.risk_bounds import NoisyCount, NoisyMistakes, cover_count
from dpproof.mechanisms.mechanism import Mechanism, Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import Rng

Maps = FeatureMap | Sequence[FeatureMap | None] | None


def _maps(maps: Maps, _name: str = "value") -> Maps:
    """Keep several maps as a tuple."""
    return tuple(maps) if isinstance(maps, Sequence) else maps


def _margins(margins: Sequence[Number], name: str = "value") -> tuple[Fraction, ...]:
    """Keep at least two numbers above 0 exactly."""
    values: Any = margins
    if not isinstance(values, Sequence | np.ndarray) or len(values) < 2:
        raise ParameterError(name, margins, "at least two numbers above 0")
    return tuple(arguments.positive(**{name: margin}) for margin in values)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class MarginGrid(Mechanism[R]):
    """Learn at every margin of a public grid, count all mistakes with noise, and keep the fewest.

    Everything is released: the weights at each margin and their noisy counts, a private curve of
    mistakes against margin. A second count with noise of its own says how good the chosen weights
    are: unlike the least of several, it is not too small on average.

    Statement: of mu^2 the counts that choose get ``score_share``, those that are reported
        ``report_share``, and the trainings the rest, all equally; given the weights a count moves
        by at most 1 under every relation, so that everything together is mu-GDP.
    Source: Wang, Zhu & Wang, arXiv:2505.24737, Algorithms 2 and 3, which give half to the counts;
        proofs/theory/margins.md, section 8.

    Args:
        margins: of the hinge, public, at least two.
        norm: mapped rows are clipped to this Euclidean norm.
        steps: of each training.
        mu: of everything.
        map: as for ``MarginDescent``, one for all margins; or one for each, all linear or None.
        score_share: of mu^2, in (0, 1).
        report_share: of mu^2, in (0, 1), together with ``score_share`` below 1.
        penalised: whether 2.5 ln(patterns of halfspaces in the width of the margin's mapped rows)
            is added to a count that chooses: half of the bound risk <= 2 err/n + 5 A/n. It needs a
            map for each margin, and ``records``: a penalty by the true number of records, where
            that is private, would move by up to 17 times as much as a count.
        relation: the neighbouring relation.
        records: as for ``MarginDescent``.
        radius: as for ``MarginDescent``.
    Outputs:
        A record with fields ``index`` (of the chosen margin), ``weights`` (at it), ``mistakes``
        (its reported count), ``scores`` (the counts that choose, without penalty, one for each
        margin) and ``candidates`` (the weights at each).
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows.
    Example:
        >>> from dpproof.accountant import ReplaceOne
        >>> grid = [2.0**-power for power in range(1, 9)]
        >>> learner = MarginGrid(
        ...     margins=grid, norm=1, steps=60, mu=0.26805, relation=ReplaceOne()
        ... )
        >>> learner.guarantee().epsilon(delta=1e-5).upper <= 1
        True
    """

    margins: tuple[Fraction, ...] = field(converter=_margins)
    norm: Fraction = field(converter=parameters.scale)
    steps: int = field(converter=parameters.count)
    mu: Fraction = field(converter=parameters.positive)
    map: Maps = field(default=None, converter=_maps)
    score_share: Fraction = field(default=Fraction(1, 10), converter=parameters.open_probability)
    report_share: Fraction = field(default=Fraction(1, 50), converter=parameters.open_probability)
    penalised: bool = field(default=False)
    relation: R = field(validator=parameters.neighbours)
    records: int | None = field(default=None, converter=parameters.optional_count)
    radius: Fraction = field(default=Fraction(1), converter=parameters.positive)

    @map.validator  # noqa: A003  # the parameter
    def _one_each(self, _parameter: object, value: Maps) -> None:
        if not isinstance(value, Sequence):
            map_or_none(self, _parameter, value)
            return
        number = len(self.margins)
        if len(value) != number or not all(isinstance(one, LinearMap | None) for one in value):
            allowed = f"one map, or {number} linear ones or None, one for each margin"
            raise ParameterError("map", value, allowed)

    @report_share.validator
    def _leaves_some(self, _parameter: object, report_share: Fraction) -> None:
        if self.score_share + report_share >= 1:
            allowed = f"below 1 - {float(self.score_share):g}"
            raise ParameterError("report_share", float(report_share), allowed)

    @penalised.validator
    def _penalty_is_known(self, _parameter: object, penalised: object) -> None:
        sized = self.records is not None and None not in self.maps
        if not isinstance(penalised, bool) or (penalised and not sized):
            allowed = "False, or True with a map for each margin and a public number of records"
            raise ParameterError("penalised", penalised, allowed)

    def __attrs_post_init__(self) -> None:
        """Refuse what a learner of one margin refuses."""
        self.learners()

    @property
    def maps(self) -> tuple[FeatureMap | None, ...]:
        """Return the map of each margin."""
        value = self.map
        return tuple(value) if isinstance(value, Sequence) else (value,) * len(self.margins)

    @property
    def acts_on_records(self) -> bool:
        """Return True: a learner learns from records."""
        return True

    def learners(self) -> tuple[MarginDescent[R], ...]:
        """Return the training at every margin."""
        share = 1 - self.score_share - self.report_share
        return tuple(
            MarginDescent(
                margin=margin,
                norm=self.norm,
                steps=self.steps,
                mu=1 / self._noise(share),
                map=plan,
                relation=self.relation,
                records=self.records,
                radius=self.radius,
            )
            for margin, plan in zip(self.margins, self.maps, strict=True)
        )

    @property
    def score_sigma(self) -> Fraction:
        """Return the standard deviation of the noise on a count that chooses, in records."""
        return self._noise(self.score_share)

    @property
    def report_sigma(self) -> Fraction:
        """Return the standard deviation of the noise on a count that is reported, in records."""
        return self._noise(self.report_share)

    @property
    def penalties(self) -> tuple[float, ...]:
        """Return the penalty of each count that chooses; zeros unless ``penalised``."""
        points = 2 * (self.records or 1)
        return tuple(
            2.5 * cover_count(dimension=plan.output_features, points=points)
            if self.penalised and plan is not None
            else 0.0
            for plan in self.maps
        )

    def guarantee(self) -> Guarantee[R]:
        """Return mu-GDP of all trainings and all counts, or a little less."""
        counted = self._counts().guarantee()
        parts = [part for one in self.learners() for part in (one.guarantee(), counted)]
        return post_process(
            compose(*parts), description="looking up the margin of the fewest noisy mistakes"
        )

    def excess(self, *, failure: Number) -> float:
        """Bound how many more mistakes the chosen weights make than the best of the grid.

        Statement: at most 2 sigma z, z the normal quantile of failure/(2 margins), sigma that of
            the counts that choose, except with probability ``failure``; without penalties.
        Source: proofs/theory/margins.md, section 8.

        Raises:
            ParameterError: not in (0, 1).
        Example:
            >>> from dpproof.accountant import ReplaceOne
            >>> learner = MarginGrid(
            ...     margins=[0.1, 0.2], norm=1, steps=9, mu=1, relation=ReplaceOne()
            ... )
            >>> round(learner.excess(failure=0.05), 1)
            20.0
        """
        chance = float(check.open_probability(failure=failure))
        quantile = -float(ndtri(chance / (2 * len(self.margins))))
        return 2 * float(self.score_sigma) * quantile

    def reported(self, mistakes: float, *, records: int) -> NoisyCount:
        """Return the reported count for use in risk bounds, without a price for the choice.

        Its noise is independent of everything that chose, so that ``selected`` is 1.

        Args:
            mistakes: the field of that name.
            records: n, public.
        Raises:
            ParameterError: a relation under which n is not public.
        """
        return NoisyCount(
            value=mistakes, sigma=self.report_sigma, records=records, relation=self.relation
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run ``count`` times on each dataset: records of shape (len(datasets), count)."""
        return np.stack([self._runs(data, count, rng) for data in datasets])

    def _runs(self, data: object, count: int, rng: Rng) -> Outputs:
        """Run on one dataset."""
        weights, counts = [], []
        for learner in self.learners():
            outputs = learner.draw([data], count, rng)[0]
            weights.append(np.asarray(outputs["weights"]))
            counts.append(self._counts().draw(data, outputs, rng))
        table, reports = np.moveaxis(np.stack(counts, axis=1), 2, 0)
        picked = (table + np.array(self.penalties)).argmin(axis=1)
        return _looked_up(picked, np.stack(weights, axis=1), table, reports)

    def _counts(self) -> NoisyMistakes[R]:
        """Return the noisy counts of mistakes of the weights of one training."""
        (plan, *_) = self.maps
        return NoisyMistakes(
            sigma=self.score_sigma,
            report_sigma=self.report_sigma,
            map=None if isinstance(plan, LinearMap) else plan,
            relation=self.relation,
        )

    def _noise(self, share: Fraction) -> Fraction:
        """Return 1/mu of one of the parts that have this share of mu^2 together, rounded up."""
        return sqrt_up(len(self.margins) / (share * self.mu**2))


def _looked_up(
    picked: NDArray[np.int64],
    weights: NDArray[np.float64],
    scores: NDArray[np.float64],
    reports: NDArray[np.float64],
) -> Outputs:
    """Return numpy records of the chosen margins, one for each run."""
    rows = np.arange(len(picked))
    fields = [
        ("index", np.int64),
        ("weights", np.float64, weights.shape[2:]),
        ("mistakes", np.float64),
        ("scores", np.float64, scores.shape[1:]),
        ("candidates", np.float64, weights.shape[1:]),
    ]
    outputs = np.recarray(picked.shape, dtype=fields)
    outputs["index"], outputs["weights"] = picked, weights[rows, picked]
    outputs["mistakes"] = reports[rows, picked]
    outputs["scores"], outputs["candidates"] = scores, weights
    return np.asarray(outputs)


def dyadic_margins(*, records: int, smallest: Number = 0) -> tuple[float, ...]:
    """Return the grid 2^j / n up to 1, and 1.

    Any margin has one of them above its half and not above it.

    Args:
        records: n, public.
        smallest: leave out what is below; bounds say nothing below 1/sqrt(n).
    Raises:
        ParameterError: an argument outside its domain, or no margin left but 1.
    Source: Wang, Zhu & Wang, arXiv:2505.24737, Algorithm 2.
    Example:
        >>> len(dyadic_margins(records=10_000))
        15
        >>> dyadic_margins(records=10, smallest=0.3)
        (0.4, 0.8, 1.0)
    """
    size, least = check.count(records=records), check.non_negative(smallest=smallest)
    below = [2**j / size for j in range(math.ceil(math.log2(size)) + 1) if 2**j < size]
    margins = (*(one for one in below if one >= least), 1.0)
    if len(margins) < 2:
        raise ParameterError("smallest", smallest, "below a half, with at least 3 records")
    return margins
