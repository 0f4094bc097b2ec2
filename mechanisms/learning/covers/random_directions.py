"""Random directions from a public seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import CalibrationError, ParameterError
from dpproof.mechanisms.learning.covers.cover import Cover, checked_dimension, checked_size
from dpproof.mechanisms.learning.grid import Vectors
from dpproof.mechanisms.learning.maps.feature_map import checked_seed
from dpproof.mechanisms.learning.planning.least import FAR, least_count
from dpproof.mechanisms.samplers.rng import ReplayRng

# Pairs that are drawn at once, from a stream of their own.
_BLOCK: Final = 4096


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RandomDirections(Cover):
    """Directions uniform on the sphere, in pairs of opposite ones, from a public seed.

    Statement: with a pair (w, -w) in place of two independent directions the probability that none
        of ``size`` falls into a cap of mass p below 1/2 is (1 - 2 p)^(size/2), no more than
        (1 - p)^size.
    Source: margins of caps as in Bassily, Mohri & Suresh, arXiv:2204.10376, appendix G; a pair
        costs one matrix product.

    Args:
        size: how many, from 1 to 10^8.
        dimension: coordinates of a direction.
        seed: public, chosen before looking at the data; trying several is a selection.
    Raises:
        ParameterError: a parameter outside its domain.
    Example:
        >>> cover = RandomDirections(size=5, dimension=3, seed=1)
        >>> bool((cover.directions(0, 1) == -cover.directions(1, 2)).all())
        True
        >>> RandomDirections.needed(dimension=8, angle=0.3, failure=0.05)
        100963
    """

    size: int
    dimension: int
    seed: int

    def __post_init__(self) -> None:
        """Refuse sizes that are not counts, and a seed that is no integer."""
        object.__setattr__(self, "size", checked_size(self.size))
        object.__setattr__(self, "dimension", checked_dimension(self.dimension))
        object.__setattr__(self, "seed", checked_seed(self.seed))

    def missed(self, *, angle: Number) -> float:
        """The probability that none of them is within ``angle`` of any one stated direction.

        Statement: (1 - 2 p)^(pairs), times 1 - p for one without its opposite, p the share of the
            sphere within the angle.

        Args:
            angle: in radians, in (0, pi/2).
        Raises:
            ParameterError: an argument outside its domain, or one dimension.
        Example:
            >>> round(RandomDirections(size=100_963, dimension=8, seed=1).missed(angle=0.3), 4)
            0.05
        """
        return _missed(self.size, _share(self.dimension, angle))

    @staticmethod
    def needed(*, dimension: int, angle: Number, failure: Number) -> int:
        """How many are enough: the least number for which ``missed`` is at most ``failure``.

        Args:
            dimension: coordinates, at least 2.
            angle: in radians, in (0, pi/2).
            failure: the probability with which none is, in (0, 1).
        Raises:
            ParameterError: an argument outside its domain.
            CalibrationError: 10^300 are too few.
        """
        share, chance = _share(dimension, angle), check.open_probability(failure=failure)
        found = least_count(lambda size: _missed(size, share) <= chance, FAR)
        if found is None:
            raise CalibrationError(f"{FAR:.0e} directions are too few; allow a larger angle")
        return found

    @property
    def paired(self) -> bool:
        """Each is followed by its opposite."""
        return True

    @property
    def description(self) -> str:
        """Name the numbers and the seed."""
        return f"RandomDirections, {self.size} in {self.dimension} dimensions, seed {self.seed}"

    def _rows(self, start: int, stop: int) -> Vectors:
        first = start // _BLOCK
        blocks = [self._block(number) for number in range(first, -(-stop // _BLOCK))]
        return np.concatenate(blocks)[start - first * _BLOCK : stop - first * _BLOCK]

    def _block(self, number: int) -> Vectors:
        """Normal vectors: no quantile of a uniform number above 0 and below 1 is 0 or infinite."""
        from scipy.special import ndtri  # noqa: PLC0415 - its import takes longer than all of ours

        words = ReplayRng(b"directions:%d:%d" % (self.seed, number)).words(_BLOCK * self.dimension)
        uniform = ((words >> np.uint64(11)) + 0.5) * 2.0**-53
        return np.asarray(ndtri(uniform)).reshape(_BLOCK, self.dimension)


def _share(dimension: int, angle: Number) -> float:
    """Return the share of a sphere that is within an angle of a direction.

    Raises:
        ParameterError: an argument outside its domain.
    """
    from scipy.special import betainc  # noqa: PLC0415 - its import takes longer than all of ours

    width, radians = check.count(dimension=dimension), float(check.positive(angle=angle))
    if width < 2:
        raise ParameterError("dimension", dimension, "at least 2")
    if not radians < math.pi / 2:
        raise ParameterError("angle", angle, "in (0, pi/2), in radians")
    return float(betainc((width - 1) / 2, 0.5, math.sin(radians) ** 2) / 2)


def _missed(size: int, share: float) -> float:
    """Return the probability that none of some directions, in pairs, falls into such a cap."""
    alone = math.log1p(-share) * (size % 2)
    pairs = 2 * share
    return math.exp(alone + (size // 2) * math.log1p(-pairs)) if pairs < 1 else float(size < 2) / 2
