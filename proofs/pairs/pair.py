"""What extensions know of pairs (P, Q): M along lines, listed losses, and pairs on lattices.

M(s) = E_P[e^{sL}; L < inf]. Everything is an enclosure at the current precision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb, isqrt
from typing import ClassVar, Final, Never, Protocol, TypeVar

from flint import acb, acb_mat, arb, arb_poly, ctx

from dpproof.proofs.core import pairs
from dpproof.proofs.core.arithmetic import Number, ball, exact
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import GaussianPair, LaplacePair, Pair, SubsampledGaussianPair
from dpproof.proofs.limits import MAX_REACH, MAX_SHIFT, atoms
from dpproof.proofs.pairs.finite import FinitePair, RandomizedResponsePair
from dpproof.proofs.pairs.quadrature import Powers, read_quadrature

T = TypeVar("T", arb, arb_poly)


@frozen
class Terms:
    """All the losses of a pair."""

    losses: list[tuple[arb, arb]]  # the finite ones with their masses under P
    infinite: arb  # P(L = inf)
    top: ClassVar[Fraction | None] = None  # M(c) bounds everything

    def along(self, c: Fraction, step: arb, count: int) -> list[acb]:
        """Return every sum at once: with k = n a + b, e^{i k x} is e^{i n a x} e^{i b x}."""
        if not self.losses:
            return [acb(0)] * count
        tilt, n = ball(c), isqrt(count - 1) + 1
        weights = [mass * (tilt * loss).exp() for loss, mass in self.losses]
        turns = [step * loss for loss, _ in self.losses]
        small = acb_mat([[acb(0, turn * b).exp() for b in range(n)] for turn in turns])
        large = acb_mat(
            [
                [
                    weight * acb(0, turn * a).exp()
                    for weight, turn in zip(weights, turns, strict=True)
                ]
                for a in range(0, count, n)
            ]
        )
        products = large * small
        return [products[k // n, k % n] for k in range(count)]

    def ceiling(self, c: Fraction, y: arb, top: Fraction | None) -> arb:  # noqa: ARG002  # flat
        """Return M(c)."""
        (flat,) = self.along(c, arb(0), 1)
        return flat.real

    def times(self, other: Terms, count: int) -> Terms:
        """Return the losses of a product with independent copies of another pair."""
        more = power(other.losses, count)
        losses = [(a + b, p * q) for a, p in self.losses for b, q in more]
        return Terms(losses, 1 - (1 - self.infinite) * (1 - other.infinite) ** count)


def power(terms: Sequence[tuple[arb, T]], count: int) -> list[tuple[arb, T]]:
    """Return the terms of a power of a sum of factor e^{z exponent}, by the multinomial theorem."""
    if len(terms) == 1:
        return [_alone(terms[0], count)]
    middle = len(terms) // 2
    return _together(_powers(terms[:middle], count), _powers(terms[middle:], count), count)


def _powers(terms: Sequence[tuple[arb, T]], count: int) -> list[list[tuple[arb, T]]]:
    """Return all powers from 0 to a count: those of both halves, multiplied."""
    if len(terms) == 1:
        return [[_alone(terms[0], n)] for n in range(count + 1)]
    middle = len(terms) // 2
    left, right = _powers(terms[:middle], count), _powers(terms[middle:], count)
    return [_together(left, right, n) for n in range(count + 1)]


def _alone(term: tuple[arb, T], count: int) -> tuple[arb, T]:
    """Return the power of one term."""
    exponent, factor = term
    return exponent * count, factor**count


def _together(
    left: list[list[tuple[arb, T]]], right: list[list[tuple[arb, T]]], count: int
) -> list[tuple[arb, T]]:
    """Return the power of a sum of two sums, from all powers of both."""
    return [
        (a + b, p * q * comb(count, k))
        for k in range(count + 1)
        for a, p in left[k]
        for b, q in right[count - k]
    ]


_NONE: Final = arb(0)


class Moments(Protocol):
    """M along vertical lines."""

    def along(self, c: Fraction, step: arb, count: int) -> list[acb]:
        """Return M(c + i k step) for k = 0, ..., count - 1, c > 0."""

    def ceiling(self, c: Fraction, y: arb, top: Fraction | None) -> arb:
        """Return at least |M(c + i v)| for v from y >= 0 to the top, or for all v >= y if None."""

    @property
    def infinite(self) -> arb:
        """Return P(L = inf) of the pair that M belongs to."""

    @property
    def top(self) -> Fraction | None:
        """Return where the ceiling stops to fall; None if it never does."""


class LossPair(Pair, ABC):
    """A pair of an extension, and what is known of its losses."""

    __slots__ = ()

    def exact_infinite_mass(self) -> arb:
        """Return an enclosure of P(L = inf)."""
        return ball(self.infinite)

    def largest(self) -> Number:
        """Return a number at or above every finite loss; refuse if there is no bound."""
        return reach_of(self)

    @property
    def lattice(self) -> tuple[Fraction, Fraction] | None:
        """Return an offset and span: every finite loss is offset + k span, k an integer.

        None, as of losses with a density, says that no lattice is known.
        """
        return None

    @property
    def outcomes(self) -> int:
        """Return the number of finite losses; 0 if they are not listed, as of most pairs."""
        return 0

    def terms(self) -> Terms:
        """Return all losses if the finite ones are listed; refuse if they are not."""
        raise unlisted(self.describe())

    @abstractmethod
    def moments(self, witness: object) -> Moments:
        """Return M, computed with the help of a witness, which is None for a closed formula."""

    @abstractmethod
    def swapped(self) -> Pair:
        """Return the pair (Q, P), or one with the same profile."""


class Reflected(LossPair, ABC):
    """A pair whose P and Q are exchanged by a reflection of the outcomes."""

    __slots__ = ()

    def swapped(self) -> Pair:
        """Return the pair itself: reflecting the outcomes exchanges P and Q."""
        return self


@frozen
class Formula:
    """M by a closed formula."""

    moment: Callable[[acb], acb]  # s -> M(s) for Re s > 0
    # (c, y) -> at or above |M(c + i v)| for v >= y; |M(c + i v)| <= M(c) needs no proof
    decay: Callable[[arb, arb], arb] | None = None
    infinite: arb = _NONE  # P(L = inf)
    top: ClassVar[Fraction | None] = None  # the bound falls for ever

    def along(self, c: Fraction, step: arb, count: int) -> list[acb]:
        """Return the formula at every node."""
        real = ball(c)
        return [self.moment(acb(real, step * k)) for k in range(count)]

    def ceiling(self, c: Fraction, y: arb, top: Fraction | None) -> arb:  # noqa: ARG002  # any
        """Return the smaller of M(c) and the decay."""
        flat = self.moment(acb(ball(c))).real
        return flat if self.decay is None else flat.min(self.decay(ball(c), y))


def some_infinite(finite: Iterable[tuple[arb, int]]) -> arb:
    """Return P(L = inf) of a product, 1 - prod (1 - p_i)^{n_i}, from each 1 - p_i and n_i."""
    rest = arb(1)
    for one, count in finite:
        rest *= one**count
    return 1 - rest


def no_witness(witness: object) -> None:
    """Refuse a witness that a closed formula does not need."""
    if witness is not None:
        raise RefusedError("a pair with a closed formula takes null as its witness")


def unbounded(what: str) -> RefusedError:
    """Return the refusal of a pair whose losses have no bound."""
    return RefusedError(f"the losses of {what} have no bound")


def unlisted(what: str) -> RefusedError:
    """Return the refusal of a pair whose losses are not listed."""
    return RefusedError(f"the losses of {what} are not listed: its witness is a table")


def no_profile(what: str) -> RefusedError:
    """Return the refusal of a pair without a closed profile."""
    return RefusedError(f"{what} has no profile in closed form here: use its moments")


def moments(pair: Pair, witness: object) -> Moments:
    """Return M of a pair, computed with the help of a witness: None for a closed formula."""
    match pair:
        case LossPair():
            return pair.moments(witness)
        case SubsampledGaussianPair():
            return read_quadrature(witness, Powers(pair), pair.mu_squared)
        case FinitePair():
            no_witness(witness)
            return terms_of(pair)
    no_witness(witness)
    match pair:
        case GaussianPair():
            return _gaussian(pair)
        case LaplacePair():
            return _laplace(pair)
        case RandomizedResponsePair():
            return _response(pair)
    raise unlisted(pair.describe())


def _gaussian(pair: GaussianPair) -> Formula:
    """Return M(s) = e^{mu^2 s(s+1)/2}; |M(c+iy)| = M(c) e^{-mu^2 y^2/2}."""
    half = ball(pair.mu_squared / 2)

    def moment(s: acb) -> acb:
        return (half * s * (s + 1)).exp()

    return Formula(moment, lambda c, y: (half * (c * (c + 1) - y * y)).exp())


def _laplace(pair: LaplacePair) -> Formula:
    """Return M(s) = ((s+1) e^{sa} + s e^{-(s+1)a}) / (2s+1), a = epsilon.

    For Re s = c > 0, |s+1|/|2s+1| falls as |Im s| grows and |s|/|2s+1| is below 1/2.
    """
    a = ball(pair.epsilon)

    def moment(s: acb) -> acb:
        return ((s + 1) * (s * a).exp() + s * (-(s + 1) * a).exp()) / (2 * s + 1)

    def decay(c: arb, y: arb) -> arb:
        s = acb(c, y)
        share = (s + 1).abs_upper() / (2 * s + 1).abs_lower()
        return share * (c * a).exp() + (-(c + 1) * a).exp() / 2

    return Formula(moment, decay)


def _response(pair: RandomizedResponsePair) -> Formula:
    """Return M as a sum of three terms."""
    e, share, rest = ball(pair.epsilon), pair.share(), pair.categories - 2

    def moment(s: acb) -> acb:
        return share * (((s + 1) * e).exp() + (-(s * e)).exp() + rest)

    return Formula(moment, infinite=ball(pair.infinite))


def swapped(pair: Pair) -> Pair:
    """Return the pair (Q, P), or one with the same profile: of most the pair itself."""
    match pair:
        case LossPair():
            return pair.swapped()
        case SubsampledGaussianPair(mu_squared, sampling_rate, removal):
            return SubsampledGaussianPair(mu_squared, sampling_rate, not removal)
        case FinitePair(p, q):
            return FinitePair(q, p)
    return pair


def lattice_of(pair: Pair) -> tuple[Fraction, Fraction] | None:
    """Return an offset and span of all finite losses; None if no lattice is known."""
    match pair:
        case LossPair():
            return pair.lattice
        case RandomizedResponsePair(epsilon, categories):
            return -epsilon, epsilon * (2 if categories == 2 else 1)
    return None


def outcomes_of(pair: Pair) -> int:
    """Return the number of finite losses; 0 if they are not listed, as of most pairs."""
    match pair:
        case LossPair():
            return pair.outcomes
        case RandomizedResponsePair():
            return min(pair.categories, 3)
        case FinitePair():
            return len(pair.shared)
    return 0


def largest_of(pair: Pair) -> Number:
    """Return a number at or above every finite loss; refuse if there is no bound."""
    match pair:
        case LossPair():
            return pair.largest()
        case FinitePair():
            return ball(pair.ratio).log()
        case SubsampledGaussianPair() if not pair.removal:
            return -ball(1 - pair.sampling_rate).log()
    return reach_of(pair)


def reach_of(pair: Pair) -> Fraction:
    """Return a rational at or above every finite loss; refuse if none is at hand."""
    if pair.reach is None:
        raise RefusedError(f"the losses of {pair.describe()} have no bound")
    return pair.reach


def terms_of(pair: Pair) -> Terms:
    """Return all losses, if the finite ones are listed; refuse if they are not."""
    match pair:
        case LossPair():
            return pair.terms()
        case RandomizedResponsePair():
            e, share, others = ball(pair.epsilon), pair.share(), pair.categories - 2
            middle = [(arb(0), share * others)] if others else []
            return Terms([(e, share * e.exp()), (-e, share), *middle], ball(pair.infinite))
        case FinitePair():
            listed = [(ball(a / b).log(), ball(a)) for a, b in pair.shared]
            return Terms(listed, ball(pair.infinite))
    raise unlisted(pair.describe())


def infinite_mass(pair: Pair) -> arb:
    """Return an enclosure of P(L = inf)."""
    return pair.exact_infinite_mass() if isinstance(pair, LossPair) else ball(pair.infinite)


def corners(pair: FinitePair) -> list[tuple[Fraction, Fraction]]:
    """Return the ratios t = p/q, increasing, each with the profile there; it bends there alone.

    In t the profile is 1 at 0, linear between the corners, and constant after the last.
    """
    ratios = sorted({a / b for a, b in pair.shared})
    jumps = dict.fromkeys(ratios, Fraction(0))
    for a, b in pair.shared:
        jumps[a / b] += b
    height, steep, points = pair.infinite, Fraction(0), []
    for place, t in reversed(list(enumerate(ratios))):
        height += steep * (ratios[place + 1] - t) if steep else 0
        steep += jumps[t]
        points.append((t, height))
    return points[::-1]


def outcomes(product: pairs.Product) -> int:
    """Return the approximate number of finite losses; 0 if they are not listed or too many."""
    return atoms([(outcomes_of(pair), count) for pair, count in product])


def terms(product: pairs.Product) -> Terms:
    """Return all losses of a product whose pairs list them."""
    found = Terms([(arb(0), arb(1))], arb(0))
    for pair, count in product:
        found = found.times(terms_of(pair), count)
    return found


@frozen
class DiscreteLaplacePair(Reflected):
    """P(x) ~ r^{|x - shift|} over Q(x) ~ r^{|x|}, r = e^{-1/scale}, b = scale, m = shift.

    Under P the loss is m/b with mass 1/(1+r), -m/b with mass r^m/(1+r), and (m - 2j)/b with
    mass (1-r)/(1+r) r^j for 0 < j < m; with v = e^{-(2s+1)/b} the last add up to
    (1-r)/(1+r) e^{sm/b} (v - v^m)/(1 - v).
    """

    scale: Fraction
    shift: int
    words: ClassVar[str] = "discrete Laplace of scale {scale} shifted by {shift}"

    @property
    def lattice(self) -> tuple[Fraction, Fraction] | None:
        """Return -shift/scale, and the span 2/scale."""
        return -self.shift / self.scale, 2 / self.scale

    @property
    def outcomes(self) -> int:
        """Return shift + 1."""
        return self.shift + 1

    def terms(self) -> Terms:
        """Return the losses and masses above."""
        r, reach = ball(-1 / self.scale).exp(), ball(self.shift / self.scale)
        inner = ((self.shift - 2 * j, (1 - r) / (1 + r) * r**j) for j in range(1, self.shift))
        ends = [(reach, 1 / (1 + r)), (-reach, r**self.shift / (1 + r))]
        return Terms([*ends, *((ball(k / self.scale), mass) for k, mass in inner)], arb(0))

    def largest(self) -> arb:
        """Return shift/scale."""
        return ball(self.shift / self.scale)

    def moments(self, witness: object) -> Moments:
        """Return M by the geometric sum."""
        no_witness(witness)
        r, reach = ball(-1 / self.scale).exp(), ball(self.shift / self.scale)
        each = ball(1 / self.scale)
        far = (-reach).exp()

        def moment(s: acb) -> acb:
            v = (-(2 * s + 1) * each).exp()
            between = (1 - r) * (v - v**self.shift) / (1 - v)
            up = (s * reach).exp()
            return (up * (1 + between) + far / up) / (1 + r)

        return Formula(moment)

    def profile(self, epsilon: arb) -> arb:
        """Return the sum of (1 - e^{eps - l})_+ over the losses l under P."""
        t = epsilon.exp()
        gaps = (
            mass * (1 - t * rest).nonnegative_part()
            for mass, rest in _laplace_terms(self, ctx.prec)
        )
        return sum(gaps, arb(0))


@lru_cache(maxsize=8)
def _laplace_terms(pair: DiscreteLaplacePair, precision: int) -> list[tuple[arb, arb]]:  # noqa: ARG001
    """Return masses under P with e^{-l}, at one precision; the loss -m/b never counts."""
    if pair.shift > MAX_SHIFT:
        raise no_profile("a discrete Laplace pair of so many losses")
    r = ball(-1 / pair.scale).exp()
    masses = [1 / (1 + r), *((1 - r) / (1 + r) * r**j for j in range(1, pair.shift))]
    losses = ((pair.shift - 2 * j) / pair.scale for j in range(pair.shift))
    return [(mass, ball(-loss).exp()) for mass, loss in zip(masses, losses, strict=True)]


@frozen
class DiscreteGaussianPair(Reflected):
    """P(x) ~ e^{-(x - m)^2 / (2 v)} over Q(x) ~ e^{-x^2 / (2 v)}, v = sigma^2, m = shift.

    The loss at x = m + j is (2 m j + m^2)/(2 v), so M(s) = e^{s m^2/(2v)} sum_j e^{-j^2/(2v)} e^{s
    m j / v} / sum_j e^{-j^2/(2v)}, two values of the Jacobi theta function of nome e^{-1/(2v)}.
    """

    sigma_squared: Fraction
    shift: int
    words: ClassVar[str] = "discrete Gaussians of sigma^2 = {sigma_squared} shifted by {shift}"

    @property
    def lattice(self) -> tuple[Fraction, Fraction] | None:
        """Return offset and span of (2 m j + m^2)/(2 v), j an integer."""
        span = self.shift / self.sigma_squared
        return self.shift * span / 2, span

    def moments(self, witness: object) -> Moments:
        """Return M by theta functions: theta_3(z, tau) = sum_j e^{pi i tau j^2 + 2 pi i z j}."""
        no_witness(witness)
        pi = arb.pi()
        tau = acb(0, 1 / (2 * pi * ball(self.sigma_squared)))
        span = ball(self.shift / self.sigma_squared)
        lift = ball(self.shift**2 / (2 * self.sigma_squared))
        bottom = acb.modular_theta(acb(0), tau)[2]

        def moment(s: acb) -> acb:
            z = s * span / acb(0, 2 * pi)
            return (s * lift).exp() * acb.modular_theta(z, tau)[2] / bottom

        return Formula(moment)

    def profile(self, epsilon: arb) -> arb:
        """Return the sum of (1 - e^{eps - l})_+ over the losses under P, the mass far out included.

        P(|j| > J) <= 2 e^{-J^2/(2v)} (Canonne, Kamath & Steinke, arXiv:2004.00010, Corollary 17).
        """
        terms, far = _gaussian_terms(self, ctx.prec)
        t = epsilon.exp()
        gaps = (mass * (1 - t * ratio).nonnegative_part() for mass, ratio in terms)
        return sum(gaps, far * arb(0.5, 0.5))


def reach(pair: DiscreteGaussianPair, precision: int) -> int:
    """Return a distance from the mean beyond which masses are below 2^-precision."""
    return isqrt(int(2 * pair.sigma_squared * (precision + 8))) + 1


@lru_cache(maxsize=8)
def _gaussian_terms(
    pair: DiscreteGaussianPair, precision: int
) -> tuple[list[tuple[arb, arb]], arb]:
    """Return P's masses with e^{-l} where l can be above 0, up to the reach, and what is beyond."""
    variance = pair.sigma_squared
    last = reach(pair, precision)
    if last > MAX_REACH:
        raise no_profile("a discrete Gaussian pair of so large a variance")
    tau = acb(0, 1 / (2 * arb.pi() * ball(variance)))
    whole = acb.modular_theta(acb(0), tau)[2].real
    terms = []
    for j in range(-min(pair.shift // 2, last), last + 1):
        loss = pair.shift * (2 * j + pair.shift) / (2 * variance)
        terms.append((ball(-j * j / (2 * variance)).exp() / whole, ball(-loss).exp()))
    return terms, 2 * ball(-last * last / (2 * variance)).exp()


@frozen
class LogisticPair(Reflected):
    """M(s) = sinh(z eps) / (2 z sinh(eps/2)), z = s + 1/2; |sinh(x + iy)| <= cosh x.

    Proof in proofs/theory/bounded_range.md.
    """

    epsilon: Fraction
    words: ClassVar[str] = "logistic variables {epsilon} apart"

    def largest(self) -> arb:
        """Return the largest loss, the pair's epsilon."""
        return ball(self.epsilon)

    def moments(self, witness: object) -> Moments:
        """Return M by its formula."""
        no_witness(witness)
        e, half = ball(self.epsilon), ball(Fraction(1, 2))
        scale = 2 * ball(self.epsilon / 2).sinh()

        def moment(s: acb) -> acb:
            z = s + half
            return (z * e).sinh() / (z * scale)

        def decay(c: arb, y: arb) -> arb:
            return ((c + half) * e).cosh() / (acb(c + half, y).abs_lower() * scale)

        return Formula(moment, decay)

    def profile(self, epsilon: arb) -> arb:
        """Return (sqrt a - sqrt t)^2 / (a - 1), a = e^{epsilon of the pair}, t = e^epsilon <= a."""
        below = (-((epsilon - ball(self.epsilon)) / 2).expm1()).nonnegative_part()
        return -below * below / (-ball(self.epsilon)).expm1()


@frozen
class ShuffledReportsPair(LossPair):
    """Counts of reports of a record's two categories, or clones of two reports."""

    epsilon: Fraction  # of each report
    categories: int  # of randomised response; 0 for clones
    records: int  # the number of reports
    removal: bool  # of two categories whether all others have the second; else the first

    def moments(self, witness: object) -> Never:  # noqa: ARG002  # of none
        """Refuse: no rule reads them."""
        raise no_profile(self.describe())

    def profile(self, epsilon: arb) -> Never:  # noqa: ARG002  # at none
        """Refuse: it has no formula here."""
        raise no_profile(self.describe())

    def swapped(self) -> ShuffledReportsPair:
        """Return the pair (Q, P): of two categories, each takes the other's place."""
        removal = self.removal is (self.categories != 2)
        return ShuffledReportsPair(self.epsilon, self.categories, self.records, removal)

    def describe(self) -> str:
        """Name the two laws."""
        epsilon = exact(self.epsilon)
        if not self.categories:
            return (
                f"a number C of successes in {self.records - 1} trials of probability "
                f"e^-{epsilon}; beside it Binomial(C, 1/2) plus a bit, which is 1 with "
                f"probability 1/(1 + e^-{epsilon}) under P and 1/(1 + e^{epsilon}) under Q"
            )
        others = "a third" if self.categories > 2 else "the second" if self.removal else "the first"
        return (
            f"how many of {self.records} reports by randomised response at epsilon {epsilon} on "
            f"{self.categories} categories are of the first and of the second; one record is in "
            f"the first under P and in the second under Q, all others in {others}"
        )
