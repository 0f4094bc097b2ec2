"""Noise by local sensitivity: a smooth bound on it, or a bound that is proposed and tested."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import DominatingPair, ParameterError, PureDP, arguments
from dpproof.accountant.form import DataError, withholding
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.guarantee import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import L1, L2, JointSensitivity
from dpproof.accountant.side_conditions import PROPOSED_BOUND, SMOOTH_BOUND
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import Mechanism, Outputs, QueryMechanism
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.noise.laplace import Laplace
from dpproof.mechanisms.queries import Query, real_values, whole_values
from dpproof.mechanisms.samplers import Rng, bernoulli, bernoulli_exp, with_noise
from dpproof.mechanisms.samplers.enclosure import exp_minus
from dpproof.mechanisms.samplers.rounded import cauchy_rounded

MECHANISM_SMOOTH_SENSITIVITY: Final = Theorem(
    rule="mechanism/smooth-sensitivity",
    source="proofs/theory/smooth_sensitivity.md, Theorem 1",
    attained=Attained.NO,  # the largest loss alone is near
)
_ROOM: Final = 1 + Fraction(1, 2**40)  # Above the rounding of epsilon in floats.
_BITS: Final = 40


@final
@frozen(kw_only=True, field_transformer=parameters.named)
class SmoothBound:
    """A claim about how far a query moves between neighbours, by a bound for each dataset.

    The query moves by at most the bounds of both, and these differ by a factor of at most e^beta.
    Bounds are exact numbers above 0: rounded ones of neighbours may differ by more.
    """

    beta: Fraction = field(converter=parameters.positive)
    bound: Callable[[Any], arguments.Number] = field(validator=parameters.function_of_data)


@final
@frozen(kw_only=True, field_transformer=parameters.named)
class SmoothMedian:
    """The median of an odd number of values clipped to public ends, and its smooth bound.

    The k-th bound is by how much the median can move if k values were replaced before, a
    difference of sorted values; the smooth one is the largest b^k of it, b being e^-beta rounded up
    to a rational, and everything is exact. For the relation replace-one.

    Source: Nissim, Raskhodnikova & Smith (STOC 2007), Section 3.1; proofs/theory/
        smooth_sensitivity.md, Theorem 2.

    Example:
        >>> median = SmoothMedian(lower=0, upper=100, beta=0.5)
        >>> median([3.0, 5.0, 4.0]), float(median.smooth().bound([1.0] * 99)) < 1e-8
        (4.0, True)
    """

    lower: Fraction = field(converter=parameters.real)
    upper: Fraction = field(converter=parameters.real)
    beta: Fraction = field(converter=parameters.positive)

    def __attrs_post_init__(self) -> None:
        ends = self.lower, self.upper
        if not self.lower < self.upper or any(Fraction(float(end)) != end for end in ends):
            allowed = "two floats, the first smaller"
            raise ParameterError("lower, upper", tuple(map(float, ends)), allowed)

    @withholding
    def __call__(self, records: Sequence[float]) -> float:
        """Return the median of the clipped values."""
        return float(self._sorted(records)[len(records) // 2])

    def smooth(self) -> SmoothBound:
        """Return the smooth bound, as an oracle."""
        return SmoothBound(beta=self.beta, bound=_BoundOf(self))

    @withholding
    def bound(self, records: Sequence[float]) -> Fraction:
        """Return the smooth bound on how far the median moves if one value is replaced."""
        values, width = self._sorted(records), self.upper - self.lower
        fall, middle = Fraction(exp_minus(self.beta)(_BITS)[1], 2**_BITS), len(values) // 2
        best, factor = Fraction(0), Fraction(1)
        for k in range(len(values) + 1):
            if factor * width <= best:
                break
            ends = range(middle, middle + k + 2)
            moved = max(self._at(values, end) - self._at(values, end - k - 1) for end in ends)
            best, factor = max(best, factor * moved), factor * fall
        return best

    def _sorted(self, records: Sequence[float]) -> list[Fraction]:
        """Return the clipped values, sorted; nan counts as the lower end."""
        if len(records) % 2 == 0:
            raise DataError("records", records, "an odd number")
        low, high = float(self.lower), float(self.upper)
        return sorted(Fraction(min(max(low, float(one)), high)) for one in records)

    def _at(self, values: list[Fraction], place: int) -> Fraction:
        """Return a sorted value, an end beyond them."""
        if place < 0:
            return self.lower
        return values[place] if place < len(values) else self.upper


@final
@frozen
class _BoundOf:
    """The smooth bound of a median, as a function that compares and pickles."""

    median: SmoothMedian

    def __call__(self, records: Sequence[float]) -> Fraction:
        return self.median.bound(records)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class SmoothSensitivity(QueryMechanism[R]):
    """Add Cauchy noise of scale ``scale`` times a smooth bound to the one number of a query.

    The noise is small on data where the query moves little, and pure privacy holds on all. The sum
    is rounded to a public grid, and the bound is at least ``granularity``, which keeps it smooth.

    Statement: it is epsilon-DP for epsilon = beta + 2 asinh(1/(2 scale)), rounded up by 2^-40.
    Assumes: smooth bound; one shape; random bits; output alone.
    Source: proofs/theory/smooth_sensitivity.md; Nissim, Raskhodnikova & Smith (STOC 2007) have
        the noise with larger constants.

    Args:
        bound: the claim on how far the query moves, with its beta.
        scale: of the noise, in units of the bound.
        granularity: a power of two in data units, public.
    Example:
        >>> from dpproof.accountant.relation import ReplaceOne
        >>> median = SmoothMedian(lower=0, upper=100, beta=0.25)
        >>> of = {"query": median, "bound": median.smooth(), "relation": ReplaceOne()}
        >>> noise = SmoothSensitivity(scale=2, granularity=2**-10, **of)
        >>> round(float(noise.guarantee().epsilon(delta=0).upper), 6)
        0.744933
    """

    query: Query = field(validator=parameters.function_of_data)
    bound: SmoothBound = field(
        validator=parameters.instance(SmoothBound, "a SmoothBound", "it states its beta")
    )
    scale: Fraction = field(converter=parameters.scale)
    granularity: Fraction = field(converter=parameters.granularity)
    relation: R = field(validator=parameters.neighbours)

    def guarantee(self) -> PureDP[R]:
        """Return the epsilon that a change of the scale and a shift cost together."""
        shift = 2 * math.asinh(0.5 * float(1 / self.scale))
        epsilon = (self.bound.beta + Fraction(shift)) * _ROOM
        derivation = applied(
            MECHANISM_SMOOTH_SENSITIVITY,
            f"Cauchy noise of scale {show(self.scale)} times a bound of smoothness "
            f"{show(self.bound.beta)} is {show(epsilon)}-DP ({self.relation})",
            assumptions=(
                SMOOTH_BOUND(beta=show(self.bound.beta), relation=self.relation),
                *parameters.assumptions_of_noise(),
            ),
            beta=self.bound.beta,
            scale=self.scale,
        )
        return PureDP(epsilon=epsilon, relation=self.relation, derivation=derivation)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise, rounded to the grid: float64 of shape (datasets, count)."""
        values = real_values(self.query, datasets)
        if values.ndim != 1:
            raise DataError("value", values[0], "one number, not an array")
        draws = []
        for data, value in zip(datasets, values, strict=True):
            sensitivity_bound = arguments.non_negative(bound=self.bound.bound(data))
            size = self.scale * max(sensitivity_bound, self.granularity)
            one = np.full(count, value)
            draws.append(with_noise(cauchy_rounded, one, size, rng, self.granularity))
        return np.stack(draws)


MECHANISM_PROPOSE_TEST_RELEASE: Final = Theorem(
    rule="mechanism/propose-test-release",
    source="proofs/theory/propose_test_release.md",
    attained=Attained.NO,  # both costs at once
)
_LEAST: Final = Fraction(1, 2**200)
_GUARD: Final = 256
_LOG_ROOM: Final = Fraction(1, 2**40)  # Above the rounding of a log in floats; the sum is checked.


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class ProposeTestRelease(Mechanism[R]):
    """Release a noisy value if a noisy distance says that the data is stable; else say that not.

    ``release`` proposes by its sensitivity how far its query moves from this data. ``distance`` is
    a whole number, 0 where that is wrong and moving by at most 1 between neighbours: the fewest
    changes after which it is wrong is the largest such one. The test passes if distance + Laplace
    noise of scale 1/epsilon is above margin/epsilon.

    Statement: both orders are dominated by the pair of ``release``, the Laplace pair at epsilon and
        the pair of (0, delta)-DP together: the value's cost where it is stable on either side of
        two neighbours, and where on neither, the test passes with probability at most delta.
    Assumes: proposed bound; one shape; random bits; output alone.
    Source: proofs/theory/propose_test_release.md; Dwork & Lei (STOC 2009), for the mechanism.

    Args:
        release: Gaussian or Laplace noise, with its query, on one norm's sensitivity.
        distance: data -> a whole number from 0.
        epsilon: of the test, nats.
        delta: the largest probability to pass where the bound is wrong, in [2^-200, 1/2].
    Example:
        >>> from dpproof.accountant import L2
        >>> from dpproof.mechanisms import Gaussian
        >>> total = Gaussian(sigma=4, sensitivity=L2(1), query=sum)
        >>> careful = ProposeTestRelease(release=total, distance=len, epsilon=1, delta=1e-9)
        >>> careful.release([0.5] * 100)[0], careful.release([0.5]).tolist()
        (np.float64(1.0), [0.0, 0.0])
    """

    proposed: Gaussian[R] | Laplace[R] = field(alias="release")
    distance: Callable[[Any], int] = field(validator=parameters.function_of_data)
    epsilon: Fraction = field(converter=parameters.positive)
    delta: Fraction = field(
        converter=parameters.half,
        validator=parameters.within(_LEAST, 1, "at least 2^-200 and at most 1/2"),
    )

    @proposed.validator
    def _has_query_and_norm(self, _parameter: object, release: object) -> None:
        if (
            not isinstance(release, Gaussian | Laplace)
            or isinstance(release.sensitivity, JointSensitivity)
            or release.query is None
        ):
            allowed = "Gaussian or Laplace noise with a query and an L1 or L2 sensitivity"
            raise ParameterError("release", release, allowed)

    @property
    def relation(self) -> R:
        """Return the relation of the release."""
        return self.proposed.relation

    @property
    def _moves(self) -> L1[R] | L2[R]:
        if isinstance(self.proposed, Gaussian):
            return self.proposed.sensitivity.as_l2()
        return self.proposed.sensitivity.as_l1()

    @property
    def margin(self) -> Fraction:
        """Return the margin of the test, in scales of its noise above 0: log(1/(2 delta))."""
        near = Fraction(math.log(1 / (2 * float(self.delta)))) * (1 + _LOG_ROOM) + _LOG_ROOM
        if Fraction(exp_minus(near)(_GUARD)[1], 2 ** (_GUARD + 1)) > self.delta:
            raise ParameterError("delta", float(self.delta), "at least what a margin is found for")
        return near

    def guarantee(self) -> DominatingPair[R]:
        """Return the product of the release's pair, the test's, and the misses, both ways."""
        base = self.proposed.guarantee().to_pair()
        keep = 1 - self.delta
        missed = FinitePair(p=(self.delta, keep, Fraction(0)), q=(Fraction(0), keep, self.delta))
        pair = base.forward.joined(Product.of(LaplacePair(epsilon=self.epsilon), missed))
        gaussian = isinstance(self.proposed, Gaussian)
        scale = self.proposed.sigma if isinstance(self.proposed, Gaussian) else self.proposed.scale
        moves = self._moves
        return self._dominated(
            MECHANISM_PROPOSE_TEST_RELEASE,
            f"{'Gaussian' if gaussian else 'Laplace'} noise of scale {show(scale)} for a proposed "
            f"sensitivity {show(moves.value)}, after a test with epsilon {show(self.epsilon)} that "
            f"misses with probability {show(self.delta)} ({self.relation})",
            pair,
            assumptions=(
                PROPOSED_BOUND(
                    value=show(moves.value), norm=type(moves).__name__, relation=self.relation
                ),
                *parameters.assumptions_of_noise(),
            ),
            noise="gaussian" if gaussian else "laplace",
            scale=scale,
            sensitivity=moves.value,
            epsilon=self.epsilon,
            delta=self.delta,
            margin=self.margin,
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw 1 and the noisy values, or zeros: float64 of shape (datasets, count, 1 + values)."""
        far = whole_values(self.distance, datasets)
        if far.ndim != 1 or far.min() < 0:
            raise DataError("distance", far, "one whole number from 0")
        values = np.asarray(self.proposed.draw(datasets, count, rng), dtype=np.float64)
        passed = np.stack([self._passes(int(one), count, rng) for one in far])
        flat = values.reshape(len(datasets), count, -1)
        shown = np.where(passed[..., np.newaxis], flat, 0.0)
        return np.concatenate([passed[..., np.newaxis].astype(np.float64), shown], axis=2)

    def _passes(self, distance: int, count: int, rng: Rng) -> NDArray[np.bool_]:
        """Toss coins that are True exactly as often as distance + noise exceeds margin/epsilon."""
        missing = self.margin - self.epsilon * distance
        tail = bernoulli_exp(abs(missing), count, rng) & bernoulli(Fraction(1, 2), count, rng)
        return tail if missing >= 0 else ~tail
