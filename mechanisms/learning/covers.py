"""Finite sets of directions that come close to every direction."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike

from dpproof.accountant import ParameterError, arguments as check
from dpproof.accountant.readable import Readable
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.maps import feature_map
from dpproof.mechanisms.learning.records import STATE_BITS, Vectors, unit_rows
from dpproof.mechanisms.samplers.rng import ReplayRng

MOST_CANDIDATES: Final = 10**8


class Cover(Readable, ABC):
    """A public list of directions: a frozen value, its seed a field.

    A pick among them is private whatever they are, as long as they were fixed without looking at
    the data; how well they lie decides how few mistakes the best of them makes.

    Laws: ``directions`` of a range is that range of ``directions`` of all, bit for bit.
    """

    __slots__ = ()
    paired: ClassVar[bool] = True
    """Whether every direction of odd number is the opposite of the one before it."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Return the number of directions, from 1 to 10^8."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Return the number of coordinates of a direction."""

    @property
    @abstractmethod
    def description(self) -> str:
        """Return the cover in words that hold everything that decides it, for derivations."""

    @abstractmethod
    def _rows(self, start: int, stop: int) -> Vectors:
        """Return vectors of the directions, or of one of each pair, none zero, of any length."""

    @final
    def on_grid(self, start: int, stop: int) -> Vectors:
        """Return the directions, one a pair if paired, of length 1 in units of 2^-28: integers."""
        return unit_rows(self._rows(start, stop), STATE_BITS)

    @final
    def directions(self, start: int, stop: int) -> Vectors:
        """Return the directions from ``start`` to ``stop - 1``: shape (count, dimension)."""
        if not 0 <= start < stop <= self.size:
            raise ParameterError("start, stop", (start, stop), f"a range within 0 to {self.size}")
        if not self.paired:
            return self.on_grid(start, stop) * 2.0**-STATE_BITS
        halves = self.on_grid(start // 2, -(-stop // 2)) * 2.0**-STATE_BITS
        both = np.stack([halves, -halves], axis=1).reshape(-1, self.dimension)
        return both[start % 2 :][: stop - start]


def checked_size(value: int, name: str = "size") -> int:
    """Keep a number of directions."""
    number = check.count(**{name: value})
    if number > MOST_CANDIDATES:
        raise ParameterError(name, number, f"at most {MOST_CANDIDATES} candidates")
    return number


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CoverUnion:
    """The candidates of several covers, numbered one cover after the other.

    An exponential mechanism over all of them picks the map and the direction at once, at the price
    of one pick.

    Args:
        covers: at least one.
        maps: one for each cover, None for the identity; None if no cover has a map of its own.
            Their rows have one width.
    Raises:
        ParameterError: not covers and maps, widths that do not fit, or more than 10^8 candidates.
    Example:
        >>> from dpproof.mechanisms.learning.covers import Polygon
        >>> CoverUnion(covers=(Polygon(corners=8), Polygon(corners=64))).size
        72
    """

    covers: tuple[Cover, ...]
    maps: tuple[feature_map.FeatureMap | None, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse what does not fit together."""
        covers: object = self.covers
        if not isinstance(covers, tuple) or not covers:
            raise ParameterError("covers", covers, "a tuple of at least one cover")
        for cover in covers:
            if not isinstance(cover, Cover):
                raise ParameterError("covers", cover, "covers such as RandomDirections(...)")
        checked_size(self.size)
        maps: object = self.maps
        if maps is None:
            return
        if not isinstance(maps, tuple) or len(maps) != len(covers):
            raise ParameterError("maps", maps, f"a tuple of {len(covers)}, one for each cover")
        for plan in maps:
            if plan is not None and not isinstance(plan, feature_map.FeatureMap):
                raise ParameterError("maps", plan, "feature maps, or None for the identity")

    @property
    def size(self) -> int:
        """Return the number of all candidates."""
        return sum(cover.size for cover in self.covers)

    @property
    def description(self) -> str:
        """Return a description that names the covers and their maps."""
        said = [
            f"{cover.description}, on {'rows as they are' if plan is None else plan.description}"
            for cover, plan in zip(self.covers, self.maps or [None] * len(self.covers), strict=True)
        ]
        return "the union of " + "; ".join(said)


@final
@dataclass(frozen=True, slots=True, init=False)
class FiniteCover(Cover):
    """The directions of some public vectors.

    Args:
        candidates: shape (candidates, dimension), finite and none of them zero, chosen without
            looking at the data.
    Example:
        >>> FiniteCover([[1, 0], [3, 4]]).directions(0, 2).round(6)
        array([[1. , 0. ],
               [0.6, 0.8]])
    """

    paired = False

    candidates: tuple[tuple[float, ...], ...]

    def __init__(self, candidates: ArrayLike) -> None:
        rows = finite_directions(candidates)
        checked_size(len(rows))
        object.__setattr__(self, "candidates", tuple(tuple(row) for row in rows.tolist()))

    @property
    def size(self) -> int:
        """Return the number of directions given."""
        return len(self.candidates)

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of each direction given."""
        return len(self.candidates[0])

    @property
    def description(self) -> str:
        """Return a description that says how many directions there are."""
        return f"FiniteCover of {self.size} public directions in {self.dimension} dimensions"

    def _rows(self, start: int, stop: int) -> Vectors:
        return np.array(self.candidates[start:stop])


_LEAST: Final = 4


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class Polygon(Cover):
    """The corners of a regular polygon: every direction of the plane has one within pi / corners.

    The circle itself has arcs whose ends are irrational, and as floats would tell of the data.

    Args:
        corners: even, from 4 to 10^8.
    Example:
        >>> Polygon(corners=4).directions(0, 2).round(6) + 0.0
        array([[-0.707107, -0.707107],
               [ 0.707107,  0.707107]])
    """

    dimension = 2

    corners: int = field(converter=checked_size)

    @corners.validator
    def _is_even(self, _parameter: object, number: int) -> None:
        if number % 2 or number < _LEAST:
            raise ParameterError("corners", number, f"even, at least {_LEAST}")

    @property
    def size(self) -> int:
        """Return the number of corners."""
        return self.corners

    @property
    def description(self) -> str:
        """Return a description that names the number."""
        return f"Polygon of {self.corners} corners"

    def _rows(self, start: int, stop: int) -> Vectors:
        turns = (np.arange(start, stop) + 0.5) / self.corners - 0.5
        return np.column_stack([feature_map.cosine(turns), feature_map.sine(turns)])


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class CubeSurface(Cover):
    """Directions to the centres of cells on the 2 k faces of the cube [-1, 1]^k.

    Statement: every face is cut into cells^(k - 1) equal cubes, and every point of the sphere is
        within a chord of sqrt(k - 1)/cells of the direction to some centre.
    Proof: scale a direction to the surface of the cube, where it is in some cell, within
        sqrt(k - 1)/cells of its centre; projecting two points outside the unit ball on the sphere
        brings them nearer.

    Args:
        dimension: k, from 1.
        cells: along each edge of a face; there are at most 10^8 in all.
    Example:
        >>> CubeSurface(dimension=3, cells=4).size
        96
    """

    dimension: int = field(converter=feature_map.checked_width)
    cells: int = field(converter=parameters.count)

    def __attrs_post_init__(self) -> None:
        digits = (self.dimension - 1) * math.log10(self.cells)
        checked_size(self.size if digits < 9 else 10**9)

    @property
    def size(self) -> int:
        """Return twice the dimension, times the cells of a face."""
        return int(2 * self.dimension * self.cells ** (self.dimension - 1))

    @property
    def radius(self) -> float:
        """Return the chord within which every direction has one of the cover."""
        return math.sqrt(self.dimension - 1) / self.cells

    @property
    def description(self) -> str:
        """Return a description that names the numbers."""
        return f"CubeSurface in {self.dimension} dimensions, {self.cells} cells along an edge"

    def _rows(self, start: int, stop: int) -> Vectors:
        # Integers: the centre of cell c on the interval [-1, 1] is (2 c + 1 - cells) / cells.
        numbers = np.arange(start, stop)
        face, cell = np.divmod(numbers, self.cells ** (self.dimension - 1))
        rows = np.empty((len(numbers), self.dimension))
        for place in range(self.dimension - 1):
            cell, digit = np.divmod(cell, self.cells)
            rows[:, place] = 2 * digit + 1 - self.cells
        rows[:, -1] = self.cells
        columns = (
            np.arange(self.dimension)[np.newaxis, :] - face[:, np.newaxis] - 1
        ) % self.dimension
        return np.take_along_axis(rows, columns, axis=1)


# Pairs that are drawn at once, from a stream of their own.
_BLOCK: Final = 4096


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class RandomDirections(Cover):
    """Directions uniform on the sphere, in pairs of opposite ones, from a public seed.

    Statement: with a pair (w, -w) in place of two independent directions the probability that none
        of ``size`` falls into a cap of mass p below 1/2 is (1 - 2 p)^(size/2), no more than
        (1 - p)^size.
    Source: margins of caps as in Bassily, Mohri & Suresh, arXiv:2204.10376, appendix G; a pair
        costs one matrix product.

    Args:
        size: the number of directions, from 1 to 10^8.
        dimension: coordinates of a direction.
        seed: public, chosen before looking at the data; trying several is a selection.
    Example:
        >>> cover = RandomDirections(size=5, dimension=3, seed=1)
        >>> bool((cover.directions(0, 1) == -cover.directions(1, 2)).all())
        True
    """

    size: int = field(converter=checked_size)
    dimension: int = field(converter=feature_map.checked_width)
    seed: int = field(converter=feature_map.checked_seed)

    @property
    def description(self) -> str:
        """Return a description that names the numbers and the seed."""
        return f"RandomDirections, {self.size} in {self.dimension} dimensions, seed {self.seed}"

    def _rows(self, start: int, stop: int) -> Vectors:
        first = start // _BLOCK
        blocks = [self._block(number) for number in range(first, -(-stop // _BLOCK))]
        return np.concatenate(blocks)[start - first * _BLOCK : stop - first * _BLOCK]

    def _block(self, number: int) -> Vectors:
        """Return normal vectors: no quantile of a uniform number in (0, 1) is 0 or infinite."""
        from scipy.special import ndtri  # noqa: PLC0415 - its import takes longer than all of ours

        words = ReplayRng(b"directions:%d:%d" % (self.seed, number)).words(_BLOCK * self.dimension)
        uniform = ((words >> np.uint64(11)) + 0.5) * 2.0**-53
        return np.asarray(ndtri(uniform)).reshape(_BLOCK, self.dimension)


def finite_directions(candidates: ArrayLike) -> Vectors:
    """Return the candidates as a matrix."""
    allowed = "a matrix of finite numbers, one row per candidate, none of them zero"
    try:
        directions = np.asarray(candidates, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("candidates", candidates, allowed) from None
    if directions.ndim != 2 or directions.size == 0 or not np.isfinite(directions).all():
        raise ParameterError("candidates", candidates, allowed)
    if not directions.any(axis=1).all():
        raise ParameterError("candidates", candidates, allowed)
    return directions
