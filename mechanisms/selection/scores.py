"""Mechanisms that choose among scores: shared parameters, and reading the scores."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import DataError
from dpproof.accountant.guarantees.derivation import Attained, Parameter, Theorem
from dpproof.accountant.guarantees.guarantee import applied
from dpproof.accountant.guarantees.pure_dp import MetricDP
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import LInf
from dpproof.accountant.side_conditions import MONOTONE, SAME_CANDIDATES
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import Mechanism, NoiseMechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import Field, named
from dpproof.mechanisms.queries import Query, real_values
from dpproof.mechanisms.samplers.arrays import scale as noise_scale
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.rounded import NoisyReals, largest_of_rows

_AT_ONCE: Final = 1 << 18  # Noisy numbers in memory at a time.


def one_direction(mechanism: Mechanism[Any], parameter: Field, value: bool) -> None:  # noqa: FBT001
    """Refuse a claim that no two scores move in opposite directions, under symmetric relations."""
    if value and mechanism.relation.symmetric:
        raise ParameterError(
            parameter.name,
            value,
            f"False under {mechanism.relation}",
            "replacing a record can raise one score and lower another",
        )


@frozen(kw_only=True, repr=False, field_transformer=named)
class ScoreMechanism(NoiseMechanism[R], ABC):
    """A choice among scores, each of which moves by at most the sensitivity."""

    sensitivity: LInf[R] = field(validator=parameters.norms(LInf))
    monotone: bool = field(default=False, converter=parameters.flag, validator=one_direction)

    def _assumptions(self) -> tuple[str, ...]:
        assumptions = (*parameters.assumptions(self.sensitivity), SAME_CANDIDATES())
        return (*assumptions, MONOTONE()) if self.monotone else assumptions


@frozen(kw_only=True, repr=False, field_transformer=named)
class PathMechanism(ScoreMechanism[R], ABC):
    """A choice by noise of one scale, which is metric-DP along paths of scores."""

    epsilon: Fraction = field(converter=parameters.positive)

    def __attrs_post_init__(self) -> None:
        noise_scale(scale=self.scale)

    @property
    @final
    def scale(self) -> Fraction:
        """Return the scale of the noise, in the scores' unit."""
        return self.sensitivity.value * (1 if self.monotone else 2) / self.epsilon

    @final
    def _along_paths(
        self, theorem: Theorem, said: str, attained: Attained | None = None, **given: Parameter
    ) -> MetricDP[R]:
        """State metric-DP along paths of the noise that chooses."""
        derivation = applied(
            theorem,
            f"{said} of scale {show(self.scale)} on scores of sensitivity "
            f"{show(self.sensitivity.value)} is {show(self.epsilon)}-metric-DP along paths "
            f"({self.relation})",
            assumptions=self._assumptions(),
            attained=attained,
            **given,
            scale=self.scale,
            sensitivity=self.sensitivity.value,
            monotone=self.monotone,
        )
        return MetricDP(epsilon=self.epsilon, relation=self.relation, derivation=derivation)

    @final
    def _largest(
        self, datasets: Sequence[object], count: int, rng: Rng, *, signed: bool
    ) -> Outputs:

        def some(row: NDArray[np.float64], size: int) -> NDArray[np.int64]:
            return noisy_maxima(row, size, self.scale, rng, signed=signed)

        return in_parts(read_scores(self.query, datasets), count, some)


def read_scores(query: Query | None, datasets: Sequence[object]) -> NDArray[np.float64]:
    """Return one row of scores for each dataset."""
    scores = real_values(query, datasets)
    if scores.ndim != 2 or scores.shape[1] == 0:
        raise DataError("scores", scores[0], "one number per candidate, at least 1")
    return scores


def in_parts(
    scores: NDArray[np.float64], count: int, draw: Callable[[NDArray[np.float64], int], Outputs]
) -> Outputs:
    """Draw ``count`` outputs for each row of scores, some at a time to bound memory."""
    return np.stack([np.concatenate(list(_parts(row, count, draw))) for row in scores])


def _parts(
    row: NDArray[np.float64], count: int, draw: Callable[[NDArray[np.float64], int], Outputs]
) -> Iterator[Outputs]:
    size = max(_AT_ONCE // len(row), 1)
    for start in range(0, count, size):
        yield draw(row, min(size, count - start))


def noisy_maxima(
    row: NDArray[np.float64], size: int, scale: Fraction, rng: Rng, *, signed: bool
) -> NDArray[np.int64]:
    """Return ``size`` positions of the largest score with Laplace or exponential noise."""
    return largest_of_rows(NoisyReals(np.tile(row, size), scale, rng, signed=signed), len(row))
