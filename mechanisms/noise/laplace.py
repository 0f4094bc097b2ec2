"""Laplace noise: on real values, on whole numbers, truncated, in stairs, and canonical."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import L1, DominatingPair, JointSensitivity, ParameterError
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.finite import smallest_pair_above
from dpproof.accountant.pairs.laplace import DiscreteLaplacePair, LaplacePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import SENSITIVITY
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import NoiseMechanism, Outputs
from dpproof.mechanisms.noise.finite_mechanism import MECHANISM_FINITE, attained_by
from dpproof.mechanisms.queries import one_integer, real_values, whole_values
from dpproof.mechanisms.samplers import (
    Rng,
    add_whole,
    bernoulli,
    default_granularity,
    discrete_laplace,
    laplace_rounded,
    repeated_values,
    uniform_below,
    with_noise,
)
from dpproof.mechanisms.samplers.discrete import from_law
from dpproof.mechanisms.samplers.enclosure import exp_minus
from dpproof.mechanisms.samplers.rng import geometric_ratio

MECHANISM_LAPLACE: Final = Theorem(
    rule="mechanism/laplace",
    source="docs/shift-lemma.md, Corollary 1",
    attained=Attained.WHOLE,  # a query that moves by the sensitivity in one coordinate
)
MECHANISM_LAPLACE_JOINT: Final = Theorem(
    rule="mechanism/laplace-joint",
    source="proofs/theory/joint_sensitivity.md",
    attained=Attained.WHOLE,  # a query that makes the largest change
)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class Laplace(NoiseMechanism[R]):
    """Add independent Laplace noise to every coordinate of a real-valued query.

    The output is rounded as that of ``Gaussian``, so that the textbook statement holds exactly.

    Statement: if the query moves by at most Delta in L1 norm between neighbours, the output is
        dominated, in any dimension, by one Laplace variable shifted by Delta / scale; in
        particular it is (Delta / scale)-DP, and strictly better than that at every delta > 0.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: docs/shift-lemma.md, for log-concave noise; proofs/theory/joint_sensitivity.md.

    Args:
        scale: mean absolute deviation, in data units, in [2^-300, 2^300].
        sensitivity: L1, in data units, of the exact real value of the query; or JointSensitivity,
            if one coordinate moves by less: then as many shifts by that as the sum allows dominate.
        query, granularity: as for ``Gaussian``.
    Example:
        >>> tables = Laplace(scale=20, sensitivity=L1(1))
        >>> tables.release([100.0, 200.0]).shape
        (2,)
    """

    scale: Fraction = field(converter=parameters.scale)
    sensitivity: L1[R] | JointSensitivity[R] = field(
        validator=parameters.norms(L1, JointSensitivity)
    )
    granularity: Fraction = field(converter=parameters.granularity)

    @granularity.default
    def _fine(self) -> Fraction:
        return default_granularity(self.scale)

    def guarantee(self) -> DominatingPair[R]:
        """Return the Laplace pair at sensitivity / scale, or those of the largest changes."""
        if isinstance(self.sensitivity, JointSensitivity):
            return self._jointly(self.sensitivity)
        epsilon = self.sensitivity.value / self.scale
        return self._dominated(
            MECHANISM_LAPLACE,
            f"Laplace noise of scale {show(self.scale)} on a query of L1 sensitivity "
            f"{show(self.sensitivity.value)} is dominated by Laplace variables {show(epsilon)} "
            f"scales apart ({self.relation})",
            Product.of(LaplacePair(epsilon=epsilon)),
            assumptions=parameters.assumptions(self.sensitivity),
            scale=self.scale,
            sensitivity=self.sensitivity.value,
        )

    def _jointly(self, joint: JointSensitivity[R]) -> DominatingPair[R]:
        """Return a pair for each coordinate of the worst change."""
        full, rest = joint.largest
        sizes = [joint.linf / self.scale, rest / self.scale]
        norm = f"L1, and {show(joint.linf)} in LInf"
        shifts = zip(sizes, (full, 1), strict=True)
        return self._dominated(
            MECHANISM_LAPLACE_JOINT,
            f"Laplace noise of scale {show(self.scale)} on a query that moves by at most "
            f"{show(joint.l1)} in {norm} norm is dominated by {full} Laplace shifts by "
            f"{show(sizes[0])} scales and one by {show(sizes[1])} ({self.relation})",
            Product(tuple(Factor(LaplacePair(epsilon=e), n) for e, n in shifts if e)),
            assumptions=(
                SENSITIVITY(value=show(joint.l1), norm=norm, relation=self.relation),
                *parameters.assumptions_of_noise(),
            ),
            scale=self.scale,
            sensitivity=joint.l1,
            largest=joint.linf,
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise, rounded to the grid: float64, shape (datasets, count, ...)."""
        values = repeated_values(real_values(self.query, datasets), count)
        return with_noise(laplace_rounded, values, self.scale, rng, self.granularity)


MECHANISM_DISCRETE_LAPLACE: Final = Theorem(
    rule="mechanism/discrete-laplace",
    source="docs/shift-lemma.md, Corollary 1",
    attained=Attained.WHOLE,  # a query that moves by the sensitivity in one coordinate
)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class DiscreteLaplace(NoiseMechanism[R]):
    """Add independent discrete Laplace noise to every coordinate of an integer query.

    The noise has P(z) proportional to e^(-|z| / scale) on the whole numbers.

    Statement: if the query moves by at most k in L1 norm between neighbours, k whole, the output
        is dominated, in any dimension, by one discrete Laplace variable shifted by k.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: docs/shift-lemma.md, for log-concave noise.

    Args:
        scale: in units of the query, in [2^-300, 2^300].
        sensitivity: L1, at least 1, of which the whole part counts, as for ``DiscreteGaussian``.
    Example:
        >>> isinstance(DiscreteLaplace(scale=3, sensitivity=L1(1)).release(41), int)
        True
    """

    scale: Fraction = field(converter=parameters.scale)
    sensitivity: L1[R] = field(validator=[parameters.norms(L1), parameters.moves])

    def guarantee(self) -> DominatingPair[R]:
        """Return the discrete Laplace pair at the whole sensitivity, in both directions."""
        shift = parameters.whole_part(self.sensitivity.value)
        return self._dominated(
            MECHANISM_DISCRETE_LAPLACE,
            f"discrete Laplace noise of scale {show(self.scale)} on an integer query of "
            f"L1 sensitivity {shift} is dominated by its shift by {shift} ({self.relation})",
            Product.of(DiscreteLaplacePair(scale=self.scale, shift=shift)),
            assumptions=parameters.assumptions(self.sensitivity),
            scale=self.scale,
            shift=shift,
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise: integers of shape (datasets, count, ...)."""
        values = repeated_values(whole_values(self.query, datasets), count)
        return add_whole(values, discrete_laplace(self.scale, values.size, rng))


_MOST_UNITS: Final = 16
_MOST_REACH: Final = 400
_BITS: Final = 16


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class TruncatedLaplace(NoiseMechanism[R]):
    """Add bounded noise to ONE whole number: it never misses by more than ``reach``.

    The noise has P(z) proportional to r^|z| on the whole numbers from -reach to reach. Here r is
    e^(-epsilon/k) rounded up to a multiple of 2^-16, and reach is the smallest at which the k
    outermost numbers have mass at most delta; k is the whole part of the sensitivity. So it is
    (epsilon, delta)-DP, and its pair says more: for k > 1 it has losses between -epsilon and
    epsilon.

    Statement: each order of neighbours is dominated by the finite pair whose profile is the
        largest of those of the noise shifted by 1, ..., k, exactly in rationals.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: proofs/theory/finite.md: ``FiniteMechanism`` at values 0, ..., k; a shift of both values
        changes nothing.

    Args:
        epsilon: above every finite loss, positive; refused where reach would exceed 400.
        delta: the mass of the infinite loss, in (0, 1/2].
        sensitivity: L1, from 1 to 16, in units of the query.
    Example:
        >>> noise = TruncatedLaplace(epsilon=1, delta=1e-6, sensitivity=L1(1))
        >>> noise.reach, abs(noise.release(41) - 41) <= noise.reach
        (14, True)
    """

    epsilon: Fraction = field(converter=parameters.positive)
    delta: Fraction = field(converter=parameters.half)
    sensitivity: L1[R] = field(validator=[parameters.norms(L1), parameters.moves])

    def __attrs_post_init__(self) -> None:
        units = parameters.whole_part(self.sensitivity.value)
        if units > _MOST_UNITS:
            raise ParameterError("sensitivity", units, f"at most {_MOST_UNITS} whole units")
        _masses(self.epsilon, self.delta, units)

    @property
    def reach(self) -> int:
        """Return the largest size of the noise."""
        return len(self.masses()) // 2

    def masses(self) -> tuple[Fraction, ...]:
        """Return the probabilities of the noise -reach, ..., reach.

        Example:
            >>> sum(TruncatedLaplace(epsilon=2, delta=0.01, sensitivity=L1(1)).masses())
            Fraction(1, 1)
        """
        return _masses(self.epsilon, self.delta, parameters.whole_part(self.sensitivity.value))

    def guarantee(self) -> DominatingPair[R]:
        """Return the smallest pair above all shifts up to the sensitivity, both ways."""
        masses = self.masses()
        units = parameters.whole_part(self.sensitivity.value)
        none = Fraction(0)
        table = tuple(
            (none,) * shift + masses + (none,) * (units - shift) for shift in range(units + 1)
        )
        neighbours = tuple(
            order for shift in range(1, units + 1) for order in ((0, shift), (shift, 0))
        )
        laws = [(table[x], table[y]) for x, y in neighbours]
        pair = smallest_pair_above(laws)
        return self._dominated(
            MECHANISM_FINITE,
            f"discrete Laplace noise of size at most {len(masses) // 2} on one integer that moves "
            f"by at most {units} for epsilon {show(self.epsilon)}, delta {show(self.delta)} "
            f"({self.relation}), by its table at 0, ..., {units}",
            Product.of(pair),
            assumptions=parameters.assumptions(self.sensitivity),
            table=table,
            neighbours=neighbours,
            attained=attained_by(laws, pair),
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise: integers of shape (datasets, count)."""
        values = repeated_values(one_integer(self.query, datasets), count)
        return add_whole(values, from_law(self.masses(), values.size, rng) - self.reach)


def _masses(epsilon: Fraction, delta: Fraction, units: int) -> tuple[Fraction, ...]:
    """Return the law of the noise; that its statement is true does not rest on how it is chosen."""
    numerator = math.ceil(math.exp(-min(float(epsilon / units), 700.0)) * 2**_BITS)
    ratio = Fraction(numerator, 2**_BITS)
    powers = [Fraction(1)]
    total = Fraction(1)
    while ratio < 1 and len(powers) <= _MOST_REACH:
        powers.append(powers[-1] * ratio)
        total += 2 * powers[-1]
        weights = (*reversed(powers), *powers[1:])
        if len(weights) > units and sum(weights[:units]) <= delta * total:
            return tuple(one / total for one in weights)
    allowed = f"at least what noise of size at most {_MOST_REACH} attains at this delta"
    raise ParameterError("epsilon", float(epsilon), allowed, "DiscreteLaplace has no such limit")


_MOST_STAIR_UNITS: Final = 2**40
_LEAST: Final = Fraction(1, 2**10)
_LARGEST: Final = 256
_STAIR_BITS: Final = 20  # Of 1 - b, and of b: how close it is to that of epsilon. Heuristic.


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class Staircase(NoiseMechanism[R]):
    """Add staircase noise to ONE whole number: the least noise of an epsilon-DP sum far from 1.

    With k the whole part of the sensitivity and w the width, the numbers of size below w have one
    probability, those of size from w + (j - 1)k to w + jk - 1 b^j times it, j = 1, 2, ...; b is
    e^-epsilon rounded up to a rational.

    Statement: each order of neighbours is dominated by the three outcomes (m, 1 - m - mb, mb)
        against their mirror image, (1 - b)m being the total variation distance of a move by k,
        which attains the pair. So it is epsilon-DP, and several uses compose better than
        epsilon-DP does where w is not about k/2.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: proofs/theory/staircase.md; the noise is that of Geng & Viswanath, arXiv:1212.1186.

    Args:
        epsilon: at or above the largest loss, from 2^-10 to 256.
        sensitivity: L1, from 1 to 2^40, in units of the query.
        width: a whole number from 1 to k; None: about k/(1 + e^(epsilon/2)), which makes the
            expected size of the noise the least there is at epsilon for large k.
    Example:
        >>> noise = Staircase(epsilon=2, sensitivity=L1(1000))
        >>> noise.width, round(noise.repeat(10).guarantee().epsilon(delta=1e-6).upper, 3)
        (269, 20.0)
    """

    epsilon: Fraction = field(
        converter=parameters.positive,
        validator=parameters.within(
            _LEAST,
            _LARGEST,
            f"at least 2^-10 and at most {_LARGEST}",
            "DiscreteLaplace has no such limit",
        ),
    )
    sensitivity: L1[R] = field(validator=[parameters.norms(L1), parameters.moves])
    width: int = field(converter=parameters.count)

    @sensitivity.validator
    def _few_units(self, _parameter: object, sensitivity: L1[R]) -> None:
        if parameters.whole_part(sensitivity.value) > _MOST_STAIR_UNITS:
            raise ParameterError("sensitivity", float(sensitivity.value), "at most 2^40")

    @width.default
    def _best(self) -> int:
        sensitivity: object = self.sensitivity
        if not isinstance(sensitivity, L1):
            return 1  # the sensitivity is refused next
        units = parameters.whole_part(sensitivity.value)
        return max(1, round(units / (1 + math.exp(float(self.epsilon) / 2))))

    @width.validator
    def _within(self, _parameter: object, width: int) -> None:
        if width > self.step:
            raise ParameterError("width", width, f"at most the sensitivity, {self.step}")

    @property
    def step(self) -> int:
        """Return the number of equally probable integers on either side: the whole sensitivity."""
        return parameters.whole_part(self.sensitivity.value)

    @property
    def ratio(self) -> Fraction:
        """Return the factor by which the probability falls a step: e^-epsilon, rounded up."""
        fine = max(float(self.epsilon) / math.log(2), -math.log2(float(self.epsilon)))
        bits = _STAIR_BITS + math.ceil(fine)
        return Fraction(exp_minus(self.epsilon)(bits)[1], 2**bits)

    @property
    def highest(self) -> Fraction:
        """Return the probability of 0."""
        return 1 / (2 * self.width - 1 + 2 * self.step * self.ratio / (1 - self.ratio))

    def guarantee(self) -> DominatingPair[R]:
        """Return the pair of three outcomes, in both directions."""
        inside = self._central()
        apart = self.highest * (inside + (self.step - inside) * self.ratio)
        most = apart / (1 - self.ratio)
        law = (most, 1 - most - most * self.ratio, most * self.ratio)
        table = (law, law[::-1])
        return self._dominated(
            MECHANISM_FINITE,
            f"staircase noise of width {self.width} for epsilon {show(self.epsilon)} on one "
            f"integer that moves by at most {self.step} ({self.relation}), by the table of its "
            "losses",
            Product.of(smallest_pair_above([table, table[::-1]])),
            assumptions=parameters.assumptions(self.sensitivity),
            table=table,
            neighbours=((0, 1), (1, 0)),
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise: integers of shape (datasets, count)."""
        values = repeated_values(one_integer(self.query, datasets), count)
        return add_whole(values, self._noise(values.size, rng))

    def _noise(self, size: int, rng: Rng) -> NDArray[Any]:
        """Draw noise: whether it is on the highest step, and if not, which one and where there."""
        centre = 2 * self.width - 1
        outside = bernoulli(1 - centre * self.highest, size, rng)
        noise = uniform_below(centre, size, rng) - (self.width - 1)
        beyond = int(outside.sum())
        steps = geometric_ratio(self.ratio, beyond, rng)
        place = self.width + self.step * steps + uniform_below(self.step, beyond, rng)
        noise[outside] = np.where(bernoulli(Fraction(1, 2), beyond, rng), place, -place)
        return noise

    def _central(self) -> int:
        """Return how many of the numbers z with -k <= 2z < k are on the highest step."""
        low, high = -(self.step // 2), -(-self.step // 2) - 1
        return min(high, self.width - 1) - max(low, 1 - self.width) + 1


_MOST_STEPS: Final = 400
_CANONICAL_BITS: Final = 16


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class CanonicalNoise(NoiseMechanism[R]):
    """Add noise to ONE whole number that spends epsilon and delta whole: the integer Tulap.

    The noise is k K + U: k the whole part of the sensitivity, U uniform on the k whole numbers from
    -floor(k/2), and K symmetric with P[K < 0] = c = (1 - delta)/(1 + E) and
    P[K < -j - 1] = max(0, P[K < -j] - delta)/E; E is e^epsilon rounded down to a multiple of 2^-16.

    Statement: each order of neighbours is dominated by the laws of K and K + 1, which a value that
        moves by k attains. Their profile equals that of (ln E, delta)-DP from loss -ln E to ln E;
        beyond it is at most that, as the outermost number of K may have less mass than delta.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: proofs/theory/canonical.md; the recursion is that of Awan and Vadhan, arXiv:2108.04303.

    Args:
        epsilon: positive; refused where K would exceed 400.
        delta: in (0, 1/2].
        sensitivity: L1, from 1 to 2^40, in units of the query.
    Example:
        >>> noise = CanonicalNoise(epsilon=1, delta=0.01, sensitivity=L1(1))
        >>> round(noise.guarantee().delta(epsilon=1).upper, 4)
        0.01
    """

    epsilon: Fraction = field(converter=parameters.positive)
    delta: Fraction = field(converter=parameters.half)
    sensitivity: L1[R] = field(validator=[parameters.norms(L1), parameters.moves])

    def __attrs_post_init__(self) -> None:
        if parameters.whole_part(self.sensitivity.value) > _MOST_STAIR_UNITS:
            raise ParameterError("sensitivity", float(self.sensitivity.value), "at most 2^40")
        self.masses()

    def masses(self) -> tuple[Fraction, ...]:
        """Return the probabilities of K, symmetric about the middle one.

        Example:
            >>> sum(CanonicalNoise(epsilon=2, delta=0.01, sensitivity=L1(1)).masses())
            Fraction(1, 1)
        """
        ratio = Fraction(
            math.floor(math.exp(min(float(self.epsilon), 700.0)) * 2**_CANONICAL_BITS),
            2**_CANONICAL_BITS,
        )
        below = [(1 - self.delta) / (1 + ratio)]
        while below[-1] > 0 and len(below) <= _MOST_STEPS:
            below.append(max(Fraction(0), below[-1] - self.delta) / ratio)
        if below[-1] > 0 or ratio <= 1:
            allowed = f"at least what {_MOST_STEPS} steps attain at this delta"
            hint = "DiscreteLaplace has no such limit"
            raise ParameterError("epsilon", float(self.epsilon), allowed, hint)
        half = [more - less for more, less in pairwise(below)]
        return (*reversed(half), 1 - 2 * below[0], *half)

    def guarantee(self) -> DominatingPair[R]:
        """Return the pair of K and K + 1, in both directions."""
        none, masses = (Fraction(0),), self.masses()
        table = (masses + none, none + masses)
        return self._dominated(
            MECHANISM_FINITE,
            f"canonical noise for epsilon {show(self.epsilon)}, delta {show(self.delta)} on one "
            f"integer that moves by at most {parameters.whole_part(self.sensitivity.value)} "
            f"({self.relation}), by the table of its steps moved by 0 and 1",
            Product.of(smallest_pair_above([table, table[::-1]])),
            assumptions=parameters.assumptions(self.sensitivity),
            table=table,
            neighbours=((0, 1), (1, 0)),
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise: integers of shape (datasets, count)."""
        values, masses = (repeated_values(one_integer(self.query, datasets), count), self.masses())
        units = parameters.whole_part(self.sensitivity.value)
        steps = from_law(masses, values.size, rng) - len(masses) // 2
        inside = uniform_below(units, values.size, rng) - units // 2
        return add_whole(values, units * steps + inside)
