"""Feature maps: public functions of one row, the same whatever other rows there are."""

import functools
import itertools
import math
from abc import ABC, abstractmethod
from collections import Counter
from fractions import Fraction
from typing import Any, Final, TypeVar, final

import numpy as np
from attrs import field, frozen

from dpproof.accountant import Guarantee, ParameterError, arguments as check, map_records
from dpproof.accountant.form import Withholding
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.readable import Readable
from dpproof.mechanisms import parameters
from dpproof.mechanisms.blocks import Blocks
from dpproof.mechanisms.learning.records import (
    RECORD_BITS,
    STATE_BITS,
    WIDEST,
    Records,
    Vectors,
    as_records,
    dense_blocks,
    displacement,
    grid_rows,
    unit_rows,
)
from dpproof.mechanisms.samplers.rng import ReplayRng

N = TypeVar("N", bound=Guarantee)  # type: ignore[type-arg]  # of any relation


class FeatureMap(Withholding, Readable, ABC):
    """A public function from rows to rows: a frozen value, its seed a field.

    For every fixed map that acts on one row at a time neighbours stay neighbours, so a learner on
    mapped rows keeps its guarantee, and map and weights together satisfy it. No property of the
    map is needed for that: learners clip mapped rows to their own bound.

    Laws: ``apply`` of some of the rows is those rows of ``apply`` of all, bit for bit.
    """

    __slots__ = ()

    features: int

    @property
    @abstractmethod
    def output_features(self) -> int:
        """Return the width of a mapped row."""

    @property
    @abstractmethod
    def output_norm(self) -> Fraction | None:
        """Return a bound of mapped rows' norms, for choosing a learner's; not for privacy."""

    @property
    @abstractmethod
    def description(self) -> str:
        """Return the map in words that hold everything that decides it, for derivations."""

    @abstractmethod
    def _apply(self, rows: Vectors) -> Vectors:
        """Map finite rows of the right width."""

    @final
    def apply(self, rows: Vectors) -> Vectors:
        """Map rows, (n, features), to (n, output_features); nan if a row is not finite."""
        if rows.ndim != 2 or rows.shape[1] != self.features:
            raise ParameterError("rows", rows.shape, f"a matrix {self.features} wide")
        finite = np.asarray(np.isfinite(rows).all(axis=1))
        mapped = self._apply(np.where(finite[:, np.newaxis], rows, 0.0))
        mapped[~finite] = np.nan
        return mapped

    @final
    def records(self, data: object) -> Any:  # noqa: ANN401  # Records, or Blocks of them
        """Read labelled rows, as every learner, and map them; a blank row, all zeros, stays."""
        if isinstance(data, Blocks):
            return data.map(self.records)
        read = as_records(data, self.features)
        parts = []
        for rows in dense_blocks(read.rows):
            parts.append(self.apply(rows))
            parts[-1][~rows.any(axis=1)] = 0.0
        return Records(np.concatenate(parts), read.labels)

    @final
    def applied(self, guarantee: N) -> N:
        """Return the guarantee of a learner on mapped records, with the map in its derivation."""
        return map_records(guarantee, description=self.description)


class LinearMap(FeatureMap, ABC):
    """A map that multiplies a row by a public matrix, and may scale the result."""

    __slots__ = ()

    @abstractmethod
    def matrix(self) -> Vectors:
        """Return the matrix, shape (output_features, features), up to scale."""

    @final
    def back(self, weights: Vectors) -> Vectors:
        """Return weights for the rows before mapping, from weights for mapped rows."""
        return np.asarray(weights @ self.matrix())


def checked_width(value: int, name: str = "features") -> int:
    """Keep a number of features."""
    width = check.count(**{name: value})
    if width > WIDEST:
        raise ParameterError(name, width, f"at most {WIDEST}")
    return width


def checked_seed(value: int, name: str = "seed") -> int:
    """Keep the seed of a public map."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ParameterError(name, value, "an int, chosen before looking at the data")
    return value


@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class ClippedProjection(LinearMap, ABC):
    """A random matrix on rows clipped to a norm; if k >= d, rows stay as they are."""

    features: int = field(converter=checked_width)
    dimension: int = field(converter=checked_width)
    seed: int = field(converter=checked_seed)
    norm: Fraction = field(default=Fraction(1), converter=parameters.scale)

    @property
    @final
    def output_features(self) -> int:
        """Return the smaller one of both widths."""
        return min(self.dimension, self.features)

    @property
    @final
    def output_norm(self) -> Fraction | None:
        """Return the norm of the rows if they stay as they are; else no useful bound."""
        return self.norm if self.dimension >= self.features else None

    @property
    @final
    def description(self) -> str:
        """Return a description that names the map, the widths, the seed and the clipping."""
        widths = f"{self.features} to {self.output_features} features"
        clipped = f"after clipping to {self.norm}"
        return f"{type(self).__name__}, {widths}, seed {self.seed}, {clipped}"


def map_or_none(_learner: object, _parameter: object, value: Any) -> None:  # noqa: ANN401  # checked
    """Refuse anything but a feature map or None."""
    if value is not None and not isinstance(value, FeatureMap):
        allowed = "a feature map such as RademacherProjection(...), or None"
        raise ParameterError("map", value, allowed)


def fits_rows(learner: Any, _parameter: object, value: Any) -> None:  # noqa: ANN401  # checked
    """Refuse anything but None or a feature map of rows as wide as the learner's features."""
    map_or_none(learner, _parameter, value)
    if isinstance(value, FeatureMap) and learner.features not in (None, value.features):
        allowed = f"None or {value.features}, as the map's"
        raise ParameterError("features", learner.features, allowed)


# Taylor's series of the sine: on a quarter turn the first term left out is below 3e-16.
_SINE: Final = [(-1) ** k / math.factorial(2 * k + 1) for k in range(10)]


def sine(turns: Vectors) -> Vectors:
    """Return the sine of 2 pi turns in [-1/2, 1/2], with an error of at most 2^-50, one by one."""
    half = np.copysign(0.5, turns)
    folded = np.where(np.abs(turns) > 0.25, half - turns, turns)
    angle = 2 * math.pi * folded
    square = angle * angle
    series = np.full_like(angle, _SINE[-1])
    for coefficient in reversed(_SINE[:-1]):
        series = series * square + coefficient
    return np.asarray(series * angle)


def cosine(turns: Vectors) -> Vectors:
    """Return the cosine of 2 pi turns in [-1/2, 1/2], as ``sine``."""
    return sine(0.25 - np.abs(turns))


# Heuristic: with longer frequencies the grid's phases would be off by more than a 2^-12 turn.
_LONGEST: Final = 2**12


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class FourierFeatures(FeatureMap):
    """Map x to (cos <r_j, x>, sin <r_j, x>) / sqrt(D), j = 1, ..., D, with r_j ~ N(0, I / width^2).

    Scalar products of mapped rows approximate the Gaussian kernel exp(-||x - x'||^2 / (2 width^2)),
    up to approximately 1 / sqrt(D); every mapped row has norm 1.

    Args:
        features: d, the width of the rows.
        frequencies: D; mapped rows have 2 D features.
        width: of the kernel, in data units.
        seed: public, chosen before looking at the data; trying several is a selection.
        norm: rows are clipped to this Euclidean norm before they are mapped, in data units; None
            scales every row to norm 1.
    Source: Rahimi & Recht, "Random features for large-scale kernel machines", NeurIPS 2007,
        section 3; Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, section 5.
    Proof: rows and frequencies in turns are integer vectors of norms at most 2^24 and 2^28, so
        their products are exact in binary64 in any order; multiples of whole turns are taken off
        exactly; cosines are computed element by element. So a mapped row depends on no other.
    Raises:
        ParameterError: a parameter outside its domain, or a kernel so narrow beside ``norm`` that
            phases would be noise of rounding.
    Example:
        >>> plan = FourierFeatures(features=2, frequencies=500, width=2, seed=1, norm=8)
        >>> one, other = plan.apply(np.array([[1.0, 2.0], [1.0, 0.0]]))
        >>> bool(abs(one @ other - np.exp(-4 / 8)) < 0.1)
        True
    """

    output_norm = Fraction(1)

    features: int = field(converter=checked_width)
    frequencies: int = field(
        converter=parameters.count,
        validator=parameters.within(1, WIDEST // 2, f"at most {WIDEST // 2}"),
    )
    width: Fraction = field(converter=parameters.scale)
    seed: int = field(converter=checked_seed)
    norm: Fraction | None = field(default=Fraction(1), converter=parameters.optional_scale)

    def __attrs_post_init__(self) -> None:
        if self.unit * math.isqrt(self.features) > 6 * _LONGEST * self.width:
            allowed = f"at least norm sqrt(features) / {6 * _LONGEST}"
            raise ParameterError("width", self.width, allowed, "phases would lose their digits")

    @property
    def output_features(self) -> int:
        """Return the number of a cosine and a sine for every frequency."""
        return 2 * self.frequencies

    @property
    def description(self) -> str:
        """Return a description that names the numbers, the seed and the clipping."""
        numbers = f"{self.features} features, {self.frequencies} frequencies, width {self.width}"
        first = "scaling to norm 1" if self.norm is None else f"clipping to norm {self.norm}"
        return f"FourierFeatures, {numbers}, seed {self.seed}, after {first}"

    def matrix(self) -> Vectors:
        """Return the applied frequencies r_j, in 1 / data units: shape (frequencies, features).

        Standard normal quantiles of the words of ``ReplayRng(seed)``, rounded to a grid.
        """
        steps, bits = _turns(self)
        return steps * (2 * math.pi * 2.0**-bits / float(self.unit))

    def clipped(self, rows: Vectors) -> Vectors:
        """Return the rows that frequencies meet, in data units: clipped, or scaled to norm 1."""
        return self._steps(rows) * (2.0**-RECORD_BITS * float(self.unit))

    @property
    def rounding(self) -> float:
        """Return a bound of the distance of ``clipped`` rows from exact ones, in data units."""
        return displacement(self.features) * float(self.unit)

    def _apply(self, rows: Vectors) -> Vectors:
        steps, bits = _turns(self)
        phases = (self._steps(rows) @ steps.T) * 2.0 ** -(RECORD_BITS + bits)
        phases -= np.rint(phases)
        mapped = np.concatenate([cosine(phases), sine(phases)], axis=1)
        return np.asarray(mapped / math.sqrt(self.frequencies))

    def _steps(self, rows: Vectors) -> Vectors:
        """Put rows on the grid, in units of norm 2^-24."""
        return grid_rows(rows, self.norm)

    @property
    def unit(self) -> Fraction:
        """Return the bound of the rows' norms, in data units."""
        return Fraction(1) if self.norm is None else self.norm


@functools.lru_cache(maxsize=8)
def _turns(plan: FourierFeatures) -> tuple[Vectors, int]:
    """Return frequencies in turns for rows of norm ``norm``, integers of norm <= 2^28, and bits."""
    from scipy.special import ndtri  # noqa: PLC0415 - its import takes longer than all of ours

    size = plan.frequencies * plan.features
    uniform = ((ReplayRng(plan.seed).words(size) >> np.uint64(11)) + 0.5) * 2.0**-53
    normal = ndtri(uniform).reshape(plan.frequencies, plan.features)
    turns = normal * (float(plan.unit / plan.width) / (2 * math.pi))
    longest = float(np.linalg.norm(turns, axis=1).max())
    bits = STATE_BITS - 1 - math.frexp(longest)[1]
    steps = np.trunc(np.ldexp(turns, bits))
    steps.flags.writeable = False
    return steps, bits


_MOST: Final = 2**16


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class MonomialFeatures(FeatureMap):
    """Map x to all monomials, weighted so that products are (<x, x'> + offset)^degree.

    Statement: mapped rows have norm (||x||^2 + offset)^(degree/2), at most
        (norm^2 + offset)^(degree/2). Bassily et al. say norm^degree, which is less: 1 instead of 2
        for norm, offset 1 and degree 2.

    Args:
        features: d, the width of the rows.
        degree: p; there are C(d + p, p) monomials, at most 2^16.
        offset: c, at least 0; without it lower degrees are left out.
        norm: rows are clipped to this Euclidean norm before they are mapped, in data units.
    Source: the multinomial theorem; Bassily, Mohri & Suresh, arXiv:2204.10376, section 4.
    Proof: a feature is a product of coordinates of one row, one multiplication after the other.
    Example:
        >>> plan = MonomialFeatures(features=2, degree=2, offset=1, norm=8)
        >>> one, other = plan.apply(np.array([[1.0, 2.0], [0.5, -1.0]]))
        >>> round(float(one @ other), 9), plan.output_features
        (0.25, 6)
    """

    features: int = field(converter=checked_width)
    degree: int = field(converter=parameters.count)
    offset: Fraction = field(default=Fraction(1), converter=parameters.non_negative)
    norm: Fraction = field(default=Fraction(1), converter=parameters.scale)

    def __attrs_post_init__(self) -> None:
        if self.output_features > _MOST:
            raise ParameterError("degree", self.degree, f"at most {_MOST} monomials")

    @property
    def output_features(self) -> int:
        """Return the number of monomials."""
        letters = self.features + (self.offset > 0)
        return math.comb(letters + self.degree - 1, self.degree)

    @property
    def output_norm(self) -> Fraction:
        """Return (norm^2 + offset)^(degree/2), rounded up."""
        return sqrt_up((self.norm**2 + self.offset) ** self.degree)

    @property
    def description(self) -> str:
        """Return a description that names the numbers and the clipping."""
        kernel = f"degree {self.degree}, offset {self.offset}"
        return f"MonomialFeatures of {self.features}, {kernel}, after clipping to {self.norm}"

    def _apply(self, rows: Vectors) -> Vectors:
        unit = float(self.norm) * 2.0**-RECORD_BITS
        letters = grid_rows(rows, self.norm) * unit
        if self.offset > 0:
            constant = np.full((len(rows), 1), math.sqrt(self.offset))
            letters = np.concatenate([letters, constant], axis=1)
        places = range(letters.shape[1])
        mapped = np.empty((len(rows), self.output_features))
        words = itertools.combinations_with_replacement(places, self.degree)
        for column, word in enumerate(words):
            ways = math.factorial(self.degree)
            for times in Counter(word).values():
                ways //= math.factorial(times)
            value = np.full(len(rows), math.sqrt(ways))
            for place in word:
                value = value * letters[:, place]
            mapped[:, column] = value
        return mapped


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class GaussianProjection(ClippedProjection):
    """Multiply by a public k x d matrix of independent N(0, 1/k) entries, rounded to a grid.

    proofs/theory/margins.md, section 3, is exact for it up to that rounding. If k >= d, rows
    stay as they are, as projecting would only add distortion.

    Args:
        features, dimension, seed: as for ``SignProjection``.
        norm: rows are clipped to this Euclidean norm before they are mapped, in data units.
    Source: Bassily, Mohri & Suresh, arXiv:2204.10376, Lemma A.1 and others on projections.
    Proof: rows and the matrix's rows are integer vectors of norms at most 2^24 and 2^28, so their
        products are exact in binary64 in any order, and a row of the result depends on no other.
    Example:
        >>> GaussianProjection(features=4, dimension=2, seed=1).matrix().shape
        (2, 4)
    """

    def matrix(self) -> Vectors:
        """Return the entries, shape (output_features, features); the identity if k >= d."""
        steps, bits = self._steps()
        return np.ldexp(steps, -bits)

    def _apply(self, rows: Vectors) -> Vectors:
        whole = grid_rows(rows, self.norm)
        steps, bits = self._steps()
        return np.asarray(np.ldexp(whole @ steps.T, -RECORD_BITS - bits) * float(self.norm))

    def _steps(self) -> tuple[Vectors, int]:
        """Return the matrix as integers in units of 2^-bits, and bits; rows of norm up to 2^28."""
        from scipy.special import ndtri  # noqa: PLC0415 - its import takes longer than all of ours

        if self.dimension >= self.features:
            return np.diag(np.ones(self.features)), 0
        words = ReplayRng(b"gaussian:%d" % self.seed).words(self.dimension * self.features)
        normal = ndtri(((words >> np.uint64(11)) + 0.5) * 2.0**-53) / math.sqrt(self.dimension)
        drawn = normal.reshape(self.dimension, self.features)
        bits = STATE_BITS - 1 - math.frexp(float(np.linalg.norm(drawn, axis=1).max()))[1]
        return np.trunc(np.ldexp(drawn, bits)), bits


_WORD_BITS = 64


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class SignProjection(LinearMap):
    """A public matrix of random signs, from features to fewer dimensions, and rows of norm 1.

    Scalar products of unit vectors keep their value up to approximately 1 / sqrt(dimension). If
    dimension is at least features, rows are only scaled to norm 1.

    Args:
        features: d, the width of the rows.
        dimension: m. It has to be a constant: computed from the number of records it leaks that.
        seed: public, chosen before looking at the data; trying several is a selection.
    Source: Achlioptas, "Database-friendly random projections", JCSS 66 (2003), Theorem 1.1.
    Laws: a zero row stays zero.
    Proof: rows are put on the grid first, where sums of at most 2^24 signed coordinates of at most
        2^24 are exact in binary64, so a row of the result depends on that row alone.
    Example:
        >>> SignProjection(features=4, dimension=2, seed=1).matrix().shape
        (2, 4)
    """

    output_norm = Fraction(1)

    features: int = field(converter=checked_width)
    dimension: int = field(converter=checked_width)
    seed: int = field(converter=checked_seed)

    @property
    def output_features(self) -> int:
        """Return the smaller one of both widths."""
        return min(self.dimension, self.features)

    @property
    def description(self) -> str:
        """Return a description that names the widths and the seed."""
        widths = f"{self.features} to {self.output_features} features"
        return f"SignProjection, {widths}, seed {self.seed}, each row scaled to norm 1"

    def matrix(self) -> Vectors:
        """Return the signs, shape (output_features, features); the identity if k >= d."""
        if self.dimension >= self.features:
            return np.diag(np.ones(self.features))
        size = self.dimension * self.features
        words = ReplayRng(self.seed).words(-(-size // _WORD_BITS))
        bits = np.unpackbits(words.astype("<u8").view(np.uint8))[:size]
        signs = 2.0 * bits.astype(np.float64) - 1.0
        return signs.reshape(self.dimension, self.features)

    def _apply(self, rows: Vectors) -> Vectors:
        steps = unit_rows(rows, RECORD_BITS)
        return unit_rows(steps @ self.matrix().T, RECORD_BITS) * 2.0**-RECORD_BITS


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class RademacherProjection(ClippedProjection):
    """Multiply by a public k x d matrix with entries +1 or -1 over sqrt(k).

    E ||Phi x||^2 = ||x||^2. Unlike ``SignProjection`` it does not scale rows afterwards: a learner
    clips mapped rows to its own norm. If k >= d, rows stay as they are, as projecting would only
    add distortion.

    Args:
        features, dimension, seed: as for ``SignProjection``, as is the proof.
        norm: rows are clipped to this Euclidean norm before they are mapped, in data units.
    Source: Bassily, Mohri & Suresh, arXiv:2204.10376, Algorithm 1; Achlioptas, JCSS 66 (2003),
        Theorem 1.1.
    Example:
        >>> plan = RademacherProjection(features=4, dimension=2, seed=1, norm=2)
        >>> (plan.matrix() * 2**0.5).round().tolist()
        [[1.0, 1.0, -1.0, -1.0], [1.0, 1.0, -1.0, 1.0]]
    """

    def matrix(self) -> Vectors:
        """Return the scaled signs, shape (output_features, features); the identity if k >= d."""
        plain = SignProjection(features=self.features, dimension=self.dimension, seed=self.seed)
        kept = self.dimension >= self.features
        return plain.matrix() / (1.0 if kept else math.sqrt(self.dimension))

    def _apply(self, rows: Vectors) -> Vectors:
        steps = grid_rows(rows, self.norm)
        unit = float(self.norm) * 2.0**-RECORD_BITS
        if self.dimension >= self.features:
            return steps * unit
        signs = np.sign(self.matrix())
        return np.asarray((steps @ signs.T) * (unit / math.sqrt(self.dimension)))
