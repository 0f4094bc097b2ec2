"""Gaussian noise on weighted sums of rounds: matrix mechanisms, and tree aggregation."""

from collections import deque
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import lcm
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import GDP, L2, DataError, L2Contribution, ParameterError
from dpproof.accountant.arguments import Number
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.guarantee import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import ONE_SHAPE, OUTPUT_ALONE, PARTICIPATION, RANDOM_BITS
from dpproof.mechanisms import parameters
from dpproof.mechanisms.correlated import factors
from dpproof.mechanisms.mechanism import NoiseMechanism, Outputs
from dpproof.mechanisms.queries import real_values
from dpproof.mechanisms.samplers import Rng, as_rng, repeated_values, with_noise
from dpproof.mechanisms.samplers.rounded import gaussian_rounded_rationals

Reals = NDArray[np.float64]
Exact = NDArray[Any]  # whole numbers of 2^-1074, the last place of a float
AddNoise = Callable[[Exact, int], Reals]

_PLACES: Final = 1074


@final
class NoisyRounds:
    """The stream of one run; ``MatrixMechanism.start`` begins it.

    Every row's sum of rounds is exact, gets fresh Gaussian noise, and is rounded to a grid
    that no data decides. What ``add`` returns is a function of these noisy sums alone.
    """

    def __init__(self, factor: factors.Factor, sigma: Fraction, rng: Rng) -> None:
        self._factor, self._sigma, self._rng = factor, sigma, rng
        self._rows: _TriangularRows | _TreeRows
        if isinstance(factor, factors.Triangular):
            self._rows = _TriangularRows(factor)
        else:
            self._rows = _TreeRows()
        self._place = 0
        self._shape: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        return f"NoisyRounds({self._place} of {self._factor.rounds} rounds)"

    def add(self, value: object) -> Reals:
        """Take the exact value of the next round, and return it with correlated noise.

        It is a number or array, in data units, of one shape in all rounds. Running sums of what is
        returned have little noise.
        """
        if self._place == self._factor.rounds:
            allowed = f"at most {self._place} values"
            raise ParameterError("rounds", self._place + 1, allowed, "start() begins another run")
        real = real_values(None, [value])[0]
        if self._shape is None:
            self._shape = real.shape
        if real.shape != self._shape:
            raise DataError("value", real, f"of one shape in all rounds, here {self._shape}")
        released = self._rows.next(_exact(real.ravel()), self._place, self._noisy_sum)
        self._place += 1
        return released.reshape(self._shape)

    def _noisy_sum(self, sums: Exact, below: int) -> Reals:
        exact = [Fraction(one, below << _PLACES) for one in sums]
        return with_noise(gaussian_rounded_rationals, exact, self._sigma, self._rng)


@final
class _TriangularRows:
    """Rows of a triangular factor: y_i = sum of c_j x_(i-j) + z_i, and x solved from y."""

    def __init__(self, factor: factors.Triangular) -> None:
        self._factor = factor
        self._values: deque[Exact] = deque(maxlen=factor.bands)
        self._released: deque[Reals] = deque(maxlen=factor.bands)

    def next(self, value: Exact, place: int, add_noise: AddNoise) -> Reals:
        """Return the next round's value with noise."""
        self._values.appendleft(value)
        row = self._factor.newest_first(place)
        below = lcm(*(one.denominator for one in row))
        total = np.zeros_like(value)
        for one, earlier in zip(row, self._values, strict=False):  # beyond the band all are 0
            if one:
                total = total + one.numerator * (below // one.denominator) * earlier
        released = add_noise(total, below)
        for one, before in zip(row[1:], self._released, strict=False):
            released = released - float(one) * before
        released = released / float(row[0])
        self._released.appendleft(released)
        return released


@final
class _TreeRows:
    """Nodes of a binary tree: each complete one gets noise, and prefixes are sums of nodes."""

    def __init__(self) -> None:
        self._prefixes: list[Exact] = []  # exact, where each level's last node ended
        self._noisy: list[Reals] = []  # of the last complete node of each level
        self._total: Exact | int = 0
        self._prefix: Reals | float = 0.0

    def next(self, value: Exact, place: int, add_noise: AddNoise) -> Reals:
        """Return the next round's share of the noisy prefix."""
        rounds = place + 1
        self._total = self._total + value
        if rounds & place == 0:  # a power of two is the end of the first node of a new level
            self._prefixes.append(np.zeros_like(value))
            self._noisy.append(np.zeros(len(value)))
        for level in range(len(self._noisy)):
            if rounds % (1 << level) == 0:
                self._noisy[level] = add_noise(self._total - self._prefixes[level], 1)
                self._prefixes[level] = self._total
        parts = (one for level, one in enumerate(self._noisy) if rounds >> level & 1)
        before, self._prefix = self._prefix, sum(parts, np.zeros(len(value)))
        return self._prefix - before


def _exact(values: Reals) -> Exact:
    """Return floats as whole numbers of 2^-1074."""
    ratios = (value.as_integer_ratio() for value in values.tolist())
    whole = [above << (_PLACES + 1 - below.bit_length()) for above, below in ratios]
    return np.array([*whole, None], dtype=np.object_)[:-1]


MECHANISM_MATRIX: Final = Theorem(
    rule="mechanism/matrix",
    source="proofs/theory/matrix.md",
    attained=Attained.WHOLE,  # contributions that attain the sensitivity, if the bound is exact
)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class MatrixMechanism(NoiseMechanism[R]):
    """Release the values of rounds with Gaussian noise that is correlated between rounds.

    With C the factor and x the values of the rounds, C x + Z is computed, Z independent
    N(0, sigma^2) in every coordinate, each row exactly and then rounded to a grid. What is
    released solves it for x: x + C^-1 Z, or with a tree differences of noisy prefix sums.

    Statement: let the value of a round move between neighbours by at most Delta in Euclidean norm,
        in the rounds of one pattern of the participation and in no other. Then all rounds together
        are mu-GDP with mu = sens(C) Delta / sigma. Values may depend on earlier releases.
    Assumes: participation; one shape; random bits; output alone.
    Source: proofs/theory/matrix.md; Denisov et al., arXiv:2202.08312, for adaptive values.

    Args:
        factor: Toeplitz, SquareRoot, BufferedToeplitz, LowerTriangular or Tree.
        sigma: standard deviation of Z, in data units, in [2^-300, 2^300].
        sensitivity: L2 of one round's value, or L2Contribution where it is a sum over the records:
            replacing a record moves it by twice that. Under replace-one both records take part in
            the same rounds.
        participation: SingleParticipation, FixedEpochs or MinSeparation.
    Raises:
        NotCertified: by ``guarantee``, where no theorem bounds the factor's sensitivity.
    Example:
        >>> from dpproof.mechanisms import MinSeparation, SquareRoot
        >>> of = {"sensitivity": L2(1), "participation": MinSeparation(100)}
        >>> noise = MatrixMechanism(factor=SquareRoot(rounds=1000), sigma=10, **of)
        >>> round(float(noise.guarantee().mu), 6)
        0.915404
    """

    factor: factors.Factor = field(
        validator=parameters.instance(
            factors.Factor, "Toeplitz, SquareRoot, BufferedToeplitz, LowerTriangular or Tree"
        )
    )
    sigma: Fraction = field(converter=parameters.scale)
    sensitivity: L2[R] | L2Contribution[R] = field(validator=parameters.norms(L2, L2Contribution))
    participation: factors.Participation = field(
        validator=parameters.instance(factors.Participation, factors.PARTICIPATIONS)
    )

    @participation.validator
    def _fits(self, _parameter: object, participation: factors.Participation) -> None:
        participation.within(self.factor.rounds)

    def guarantee(self) -> GDP[R]:
        """Return mu-GDP, mu the sensitivity of the factor times that of a round over sigma."""
        factor, schedule = self.factor, self.participation.within(self.factor.rounds)
        square, moved = (
            factors.squared_sensitivity(factor, schedule),
            self.sensitivity.as_l2().value,
        )
        mu_squared = square.value * (moved / self.sigma) ** 2
        derivation = applied(
            MECHANISM_MATRIX,
            f"Gaussian noise of standard deviation {show(self.sigma)} on the rows of a factor of "
            f"{factor.rounds} rounds, of squared sensitivity {show(square.value)}, is GDP "
            f"with mu^2 = {show(mu_squared)} ({self.relation})",
            assumptions=(
                PARTICIPATION(
                    value=show(moved), relation=self.relation, participation=schedule.words()
                ),
                ONE_SHAPE(),
                RANDOM_BITS(),
                OUTPUT_ALONE(),
            ),
            attained=None if square.exact else Attained.NO,
            factor=factor.kind,
            rounds=factor.rounds,
            bands=factor.bands,
            listed=factor.listed,
            separation=schedule.separation,
            participations=schedule.participations,
            fixed=schedule.fixed,
            method=square.method,
            duals=square.duals,
            sensitivity=moved,
            sigma=self.sigma,
        )
        return GDP(mu_squared=mu_squared, relation=self.relation, derivation=derivation)

    def start(self, *, rng: Rng | np.random.Generator | None = None) -> NoisyRounds:
        """Begin a stream of rounds, for values that depend on earlier releases.

        ``rng`` is as for ``release``.

        Example:
            >>> from dpproof.mechanisms import SingleParticipation, Toeplitz
            >>> of = {"sensitivity": L2(1), "participation": SingleParticipation()}
            >>> noise = MatrixMechanism(factor=Toeplitz([1, 0.5], rounds=3), sigma=1, **of)
            >>> rounds = noise.start()
            >>> [rounds.add([0.5, 1.0]).shape for _ in range(3)], rounds
            ([(2,), (2,), (2,)], NoisyRounds(3 of 3 rounds))
        """
        return NoisyRounds(self.factor, self.sigma, as_rng(rng))

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw noisy values of all rounds: float64, shape (datasets, count, rounds, ...)."""
        values, rounds = real_values(self.query, datasets), self.factor.rounds
        if values.ndim < 2 or values.shape[1] != rounds:
            allowed = f"an array of {rounds} rows, one a round"
            raise ParameterError("value", values.shape[1:], allowed)
        stream = self.start(rng=rng)  # of all runs side by side: every coordinate has its own noise
        rows = np.moveaxis(repeated_values(values, count), 2, 0)
        return np.stack([stream.add(row) for row in rows], axis=2)


def TreeAggregation(  # noqa: N802  # a mechanism's name
    *,
    rounds: int,
    sigma: Number,
    sensitivity: L2[R] | L2Contribution[R],
    participation: factors.Participation,
) -> MatrixMechanism[R]:
    """Return the mechanism that adds noise to the nodes of a binary tree over the rounds.

    Example:
        >>> from dpproof.mechanisms import SingleParticipation
        >>> tree = TreeAggregation(
        ...     rounds=1000, sigma=1, sensitivity=L2(1), participation=SingleParticipation()
        ... )
        >>> tree.guarantee().mu_squared
        Fraction(10, 1)
    """
    return MatrixMechanism(
        factor=factors.Tree(rounds=rounds),
        sigma=sigma,
        sensitivity=sensitivity,
        participation=participation,
    )
