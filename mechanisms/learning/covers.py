"""Finite sets of directions that come close to every direction."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import ArrayLike

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import CalibrationError, ParameterError
from dpproof.accountant.readable import Readable
from dpproof.mechanisms.learning.grid import STATE_BITS, WIDEST, Vectors, unit_rows
from dpproof.mechanisms.learning.maps.feature_map import FeatureMap, checked_seed
from dpproof.mechanisms.learning.maps.fourier_features import cosine, sine
from dpproof.mechanisms.learning.maps.projected_margin import sign_projection_dimension
from dpproof.mechanisms.learning.mistake_exponential import finite_directions
from dpproof.mechanisms.learning.planning.exponential_plan import FAR, least_count
from dpproof.mechanisms.samplers.rng import ReplayRng

MOST_CANDIDATES: Final = 10**8


class Cover(Readable, ABC):
    """A public list of directions: a frozen value, its seed a field.

    A pick among them is private whatever they are, as long as they were fixed without looking at
    the data; how well they lie decides how few mistakes the best of them makes.

    Laws: ``directions`` of a range is that range of ``directions`` of all, bit for bit.
    """

    __slots__ = ()

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
    def paired(self) -> bool:
        """Return whether every direction of odd number is the opposite of the one before it."""

    @property
    @abstractmethod
    def description(self) -> str:
        """Return the cover in words, for derivations and certificates.

        The words hold everything that decides the cover.
        """

    @abstractmethod
    def _rows(self, start: int, stop: int) -> Vectors:
        """Return vectors of the directions, none of them zero, of any length.

        If the directions are paired, only every other one is returned.

        Args:
            start: number of a direction; if paired, of a pair.
            stop: one beyond the last.
        """

    @final
    def on_grid(self, start: int, stop: int) -> Vectors:
        """Return the directions, one a pair if paired, of length 1 in units of 2^-28: integers."""
        return unit_rows(self._rows(start, stop), STATE_BITS)

    @final
    def directions(self, start: int, stop: int) -> Vectors:
        """Return the directions from ``start`` to ``stop - 1``: shape (count, dimension).

        Raises:
            ParameterError: not a range of numbers of directions.
        """
        if not 0 <= start < stop <= self.size:
            raise ParameterError("start, stop", (start, stop), f"a range within 0 to {self.size}")
        if not self.paired:
            return self.on_grid(start, stop) * 2.0**-STATE_BITS
        halves = self.on_grid(start // 2, -(-stop // 2)) * 2.0**-STATE_BITS
        both = np.stack([halves, -halves], axis=1).reshape(-1, self.dimension)
        return both[start % 2 :][: stop - start]


def checked_dimension(dimension: object) -> int:
    """Return the number of coordinates of a direction, checked.

    Raises:
        ParameterError: not a count, or more than learners take.
    """
    width = check.count(dimension=dimension)
    if width > WIDEST:
        raise ParameterError("dimension", width, f"at most {WIDEST}")
    return width


def checked_size(size: object) -> int:
    """Return the number of directions, checked.

    Raises:
        ParameterError: not a count, or more than can be looked at.
    """
    number = check.count(size=size)
    if number > MOST_CANDIDATES:
        raise ParameterError("size", number, f"at most {MOST_CANDIDATES} candidates")
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
    maps: tuple[FeatureMap | None, ...] | None = None

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
            if plan is not None and not isinstance(plan, FeatureMap):
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
    Raises:
        ParameterError: not such a matrix.
    Example:
        >>> FiniteCover([[1, 0], [3, 4]]).directions(0, 2).round(6)
        array([[1. , 0. ],
               [0.6, 0.8]])
    """

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
    def paired(self) -> bool:
        """Return False: the directions come in any order."""
        return False

    @property
    def description(self) -> str:
        """Return a description that says how many directions there are."""
        return f"FiniteCover of {self.size} public directions in {self.dimension} dimensions"

    def _rows(self, start: int, stop: int) -> Vectors:
        return np.array(self.candidates[start:stop])


_LEAST: Final = 4


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Polygon(Cover):
    """The corners of a regular polygon: every direction of the plane has one within pi / corners.

    ``CircleExponential`` picks from the same polygon, faster where there are many corners and few
    records; this is the one to unite with other covers. The circle itself has arcs whose ends are
    irrational, and as floats would tell of the data.

    Args:
        corners: even, from 4 to 10^8.
    Raises:
        ParameterError: another number.
    Example:
        >>> Polygon(corners=4).directions(0, 2).round(6) + 0.0
        array([[-0.707107, -0.707107],
               [ 0.707107,  0.707107]])
    """

    corners: int

    def __post_init__(self) -> None:
        """Refuse odd numbers."""
        number = checked_size(check.count(corners=self.corners))
        if number % 2 or number < _LEAST:
            raise ParameterError("corners", self.corners, f"even, at least {_LEAST}")
        object.__setattr__(self, "corners", number)

    @property
    def size(self) -> int:
        """Return the number of corners."""
        return self.corners

    @property
    def dimension(self) -> int:
        """Return 2, the dimension of a plane."""
        return 2

    @property
    def paired(self) -> bool:
        """Return True: a corner is followed by the opposite one."""
        return True

    @property
    def description(self) -> str:
        """Return a description that names the number."""
        return f"Polygon of {self.corners} corners"

    def _rows(self, start: int, stop: int) -> Vectors:
        turns = (np.arange(start, stop) + 0.5) / self.corners - 0.5
        return np.column_stack([cosine(turns), sine(turns)])


_MOST_CELLS: Final = 10**8


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CubeSurface(Cover):
    """Directions to the centres of cells on the 2 k faces of the cube [-1, 1]^k.

    Statement: every face is cut into cells^(k - 1) equal cubes, and every point of the sphere is
        within a chord of sqrt(k - 1)/cells of the direction to some centre.
    Proof: scale a direction to the surface of the cube, where it is in some cell, within
        sqrt(k - 1)/cells of its centre; projecting two points outside the unit ball on the sphere
        brings them nearer.

    Args:
        dimension: k, from 1.
        cells: along each edge of a face.
    Raises:
        ParameterError: not counts, or more than 10^8 directions.
    Example:
        >>> CubeSurface(dimension=3, cells=4).size
        96
    """

    dimension: int
    cells: int

    def __post_init__(self) -> None:
        """Refuse what is not a count, and covers that are too large."""
        object.__setattr__(self, "dimension", checked_dimension(self.dimension))
        object.__setattr__(self, "cells", check.count(cells=self.cells))
        digits = (self.dimension - 1) * math.log10(self.cells)
        checked_size(self.size if digits < 9 else 10**9)

    @property
    def size(self) -> int:
        """Return twice the dimension, times the cells of a face."""
        return int(2 * self.dimension * self.cells ** (self.dimension - 1))

    @property
    def radius(self) -> float:
        """Return the chord within which every direction has one of the cover."""
        return _radius(self.dimension, self.cells)

    @staticmethod
    def needed(*, dimension: int, radius: Number) -> int:
        """Return how many cells along an edge suffice: the least for which ``radius`` is as stated.

        Args:
            dimension: k.
            radius: the chord within which every direction is to have one of the cover.
        Raises:
            ParameterError: an argument outside its domain.
            CalibrationError: 10^8 cells are too few.
        Example:
            >>> CubeSurface.needed(dimension=4, radius=0.2)
            9
        """
        width, chord = checked_dimension(dimension), check.positive(radius=radius)
        found = least_count(lambda cells: _radius(width, cells) <= chord, _MOST_CELLS)
        if found is None:
            raise CalibrationError(f"{_MOST_CELLS} cells are too few; allow a larger radius")
        return found

    @property
    def paired(self) -> bool:
        """Return True: a cell is followed by the opposite one."""
        return True

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


def _radius(dimension: int, cells: int) -> float:
    """Return the chord from a point of the sphere to the direction of its cell's centre."""
    return math.sqrt(dimension - 1) / cells


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
        size: the number of directions, from 1 to 10^8.
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
        """Return the probability that none is within ``angle`` of any one stated direction.

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
        """Return how many suffice: the least number for which ``missed`` is at most ``failure``.

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
        """Return whether each direction is followed by its opposite."""
        return True

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


_SHARE: Final = 10


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedCover:
    """The cover of a paper's algorithm at given parameters.

    Attributes:
        dimension: to which rows are projected.
        log10_size: the decimal logarithm of the number of candidates.
    """

    dimension: int
    log10_size: float

    @property
    def feasible(self) -> bool:
        """Return whether its candidates can be listed at all."""
        return self.log10_size <= math.log10(MOST_CANDIDATES)

    def __str__(self) -> str:
        """Say whether it can be listed, and what can be done instead."""
        size = f"10^{self.log10_size:.0f} candidates in {self.dimension} dimensions"
        if self.feasible:
            return f"{size} can be listed"
        return f"{size} are out of reach; take RandomDirections or CubeSurface"


def published_cover(*, ratio: Number, records: int, failure: Number = 0.05) -> PublishedCover:
    """Return the size of the cover that the pure learner of Bassily, Mohri & Suresh asks for.

    Statement: k dimensions keep norms and products of ``records`` points up to the distortion
        1/(10 ratio), and a cover of the ball of radius 2 Lambda in R^k at distance
        margin/(10 norm) has at most (1 + 40 ratio)^k members.
    Source: Bassily, Mohri & Suresh, arXiv:2204.10376, Algorithm 1; k with the constants of
        ``sign_projection_dimension``, as the paper states an order of magnitude.

    Args:
        ratio: Lambda norm / margin, at least 1.
        records: m, a public number of records.
        failure: beta, in (0, 1).
    Raises:
        ParameterError: an argument outside its domain.
    Example:
        >>> print(published_cover(ratio=1, records=10_000).dimension)
        6000
        >>> published_cover(ratio=1, records=10_000).feasible
        False
    """
    exact = check.positive(ratio=ratio)
    if exact < 1:
        raise ParameterError("ratio", ratio, "at least 1: no margin exceeds Lambda norm")
    dimension = sign_projection_dimension(
        distortion=1 / (_SHARE * exact), points=records, failure=failure
    )
    size = dimension * math.log10(1 + 4 * _SHARE * float(exact))
    return PublishedCover(dimension=dimension, log10_size=size)
