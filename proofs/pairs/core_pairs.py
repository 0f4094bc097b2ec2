"""The losses of the core's pairs, and M(s) = E_P[e^{sL}; L < inf] of them."""

from __future__ import annotations

from fractions import Fraction

from flint import acb, arb

from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.pairs import (
    FinitePair,
    GaussianPair,
    LaplacePair,
    Pair,
    Product,
    RandomizedResponsePair,
    SubsampledGaussianPair,
)
from dpproof.proofs.limits import atoms
from dpproof.proofs.pairs.loss_atoms import Terms
from dpproof.proofs.pairs.pair import Formula, LossPair, Moments, no_witness, unlisted
from dpproof.proofs.pairs.quadrature import read_quadrature
from dpproof.proofs.pairs.subsampled_gaussian import Powers


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


def outcomes(product: Product) -> int:
    """Return the approximate number of finite losses; 0 if they are not listed or too many."""
    return atoms([(outcomes_of(pair), count) for pair, count in product])


def terms(product: Product) -> Terms:
    """Return all losses of a product whose pairs list them."""
    found = Terms([(arb(0), arb(1))], arb(0))
    for pair, count in product:
        found = found.times(terms_of(pair), count)
    return found
