"""Group privacy: what holds of one record, for several records at once.

Each theorem takes a guarantee that holds for one step between neighbours, and the number of steps,
from 1 to 10**12; what it returns is about datasets that so many steps connect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, TypeVar

from dpproof.accountant import arguments
from dpproof.accountant.errors import CONVERT, NotImplied
from dpproof.accountant.guarantees import dominating_pair, guarantee as guarantees
from dpproof.accountant.guarantees.approx_dp import ApproxDP, PrivacyProfile, TradeOff
from dpproof.accountant.guarantees.derivation import Attained, theorem
from dpproof.accountant.guarantees.dominating_pair import GDP, DominatingPair, chained
from dpproof.accountant.guarantees.guarantee import Guarantee, applied, concluded
from dpproof.accountant.guarantees.pure_dp import BoundedRange, MetricDP, PureDP
from dpproof.accountant.guarantees.rdp import RDP, ZCDP
from dpproof.accountant.guarantees.rounding import MAX_EXPONENT, exp_up
from dpproof.accountant.pairs import laplace
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair, GaussianPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.relation import R
from dpproof.accountant.subsampling.shuffled import ShuffledGaussianPair
from dpproof.accountant.theorems import conversion
from dpproof.accountant.theorems.conversion import notion_to_profile, pair_to_gdp

N = TypeVar("N", bound=Guarantee[Any])


def _for_groups(result: N, rule: Callable[..., Any], guarantee: Guarantee[Any], size: int) -> N:
    """Return what a theorem states for groups of so many, with its derivation."""
    words = f"{guarantee.describe()}, for groups of {size}"
    return concluded(result, rule, words, guarantee, size=size)


@theorem(
    rule="group/pair",
    source="Dong, Roth & Su, arXiv:1905.02383, Theorem 2.14; proved in group_pair",
    attained=Attained.WHOLE,  # a query that moves on along a line
)
def group_pair(guarantee: DominatingPair[R], *, size: int) -> DominatingPair[R]:
    """Multiply the shift by the size of the group.

    Statement: let F be the distribution function of log-concave noise (on the line, or on the
        integers with integer shifts), f_s the trade-off between the noise and its shift by s.
        Then 1 - f_{k s} is 1 - f_s applied k times: what f_s-DP implies for groups of k.
        Products of Gaussians are one Gaussian, mu^2 being the sum, and scale the same way.
    Assumes: nothing.
    Source: Dong, Roth & Su, arXiv:1905.02383, Theorem 2.14; that shifts add is proved below.
    Proof: the best tests are half-lines (on the integers, randomised at the edge), so the power
        is 1 - f_s(a) = F(F^{-1}(a) + s), and shifts add. On the integers a shift by an integer s
        takes each step of F linearly onto another.
    Rounds: nothing.
    Laws: size 1 changes nothing; monotone in size.
    Example:
        >>> from fractions import Fraction
        >>> pair = DominatingPair(forward=Product.of(laplace.LaplacePair(epsilon=Fraction(1))))
        >>> group_pair(pair, size=3).forward.factors[0].pair
        LaplacePair(epsilon=3)
    """
    times = arguments.count(size=size)
    if times == 1:
        return guarantee
    product = _scaled(guarantee.forward, times)
    if product is None or guarantee.backward.swapped() != guarantee.forward:
        raise NotImplied(
            f"no group-privacy theorem scales {guarantee.describe()}; group each part and "
            "compose, or convert with to=TradeOff (at epsilons) and group that"
        )
    words = f"{guarantee.describe()}, for groups of {times}"
    derivation = applied(group_pair, words, guarantee, size=times)
    return DominatingPair(forward=product, relation=guarantee.relation, derivation=derivation)


def _scaled(product: Product, times: int) -> Product | None:
    """Return the product with shifts multiplied, or None if no theorem applies."""
    pairs = [factor.pair for factor in product.factors]
    gaussians = [pair for pair in pairs if isinstance(pair, GaussianPair)]
    if len(gaussians) == len(pairs):
        return Product(
            tuple(
                Factor(GaussianPair(mu_squared=times**2 * pair.mu_squared), factor.count)
                for pair, factor in zip(gaussians, product.factors, strict=True)
            )
        )
    if len(pairs) > 1 or product.factors[0].count > 1:
        return None
    shifted = _shifted(pairs[0], times)
    return None if shifted is None else Product.of(shifted)


def _shifted(pair: Pair, times: int) -> Pair | None:
    """Return the pair with its shift multiplied, or None for other pairs."""
    if isinstance(pair, laplace.LaplacePair):
        return laplace.LaplacePair(epsilon=times * pair.epsilon)
    if isinstance(pair, laplace.LogisticShift):
        return laplace.LogisticPair(epsilon=times * pair.epsilon)
    if isinstance(pair, laplace.DiscreteLaplacePair):
        return laplace.DiscreteLaplacePair(scale=pair.scale, shift=times * pair.shift)
    if isinstance(pair, DiscreteGaussianPair):
        return DiscreteGaussianPair(sigma_squared=pair.sigma_squared, shift=times * pair.shift)
    return None


@theorem(
    rule="group/approx-dp",
    source="Vadhan 2017, Lemma 2.2; proved in group_approx",
    attained=Attained.NO,  # loses information
    lossless=False,
)
def group_approx(guarantee: ApproxDP[R], *, size: int) -> ApproxDP[R]:
    """Multiply epsilon by the size of the group, and add up delta along the chain.

    Statement: (epsilon, delta)-DP for neighbours is (size epsilon, delta')-DP along a chain of
        size neighbours, delta' = delta (e^{size epsilon} - 1)/(e^epsilon - 1), at most 1.
    Assumes: nothing.
    Source: Vadhan, "The complexity of differential privacy", 2017, Lemma 2.2 (with the larger
        size e^{(size-1) epsilon} delta).
    Proof: P_0(S) <= e^eps P_1(S) + delta <= e^{2 eps} P_2(S) + (1 + e^eps) delta, and so on: the
        factor of delta is the sum of e^{i epsilon} for i < size.
    Rounds: delta up, by at most 2**-60 relative.
    Laws: size 1 changes nothing; monotone in size; ``group_trade_off`` of the same statement is
        no weaker.
    Example:
        >>> group_approx(ApproxDP(epsilon=0, delta=0.125), size=3).stated_delta
        Fraction(3, 8)
    """
    times = arguments.count(size=size)
    epsilon = guarantee.stated_epsilon
    delta = _delta(epsilon, guarantee.stated_delta, times)
    result = ApproxDP(epsilon=times * epsilon, delta=delta, relation=guarantee.relation)
    return _for_groups(result, group_approx, guarantee, times)


def _delta(epsilon: Fraction, delta: Fraction, times: int) -> Fraction:
    """Return delta (e^{n eps} - 1)/(e^eps - 1), rounded up, at most 1."""
    if delta == 0 or times == 1:
        return delta
    if (times - 1) * epsilon > MAX_EXPONENT:
        return Fraction(1)
    # (e^{n eps} - 1)/(e^eps - 1) = 1 + r + ... + r^(n-1) grows with r, so r up is safe.
    ratio = exp_up(epsilon)
    return min(Fraction(1), delta * _geometric_sum(ratio, times))


def _geometric_sum(ratio: Fraction, terms: int) -> Fraction:
    """Return 1 + r + ... + r^(terms-1) up, for r >= 1, by doubling: S(2m) = S(m)(1 + r^m)."""
    total, power = Fraction(0), Fraction(1)
    for bit in f"{terms:b}":
        total, power = _up(total * (1 + power)), _up(power * power)
        if bit == "1":
            total, power = _up(total + power), _up(power * ratio)
    return total


def _up(value: Fraction) -> Fraction:
    """Round up by at most 2**-200, relative to a value that is 0 or at least 1."""
    return Fraction(-((-value.numerator << 200) // value.denominator), 1 << 200)


@theorem(
    rule="group/bounded-range",
    source="proved in group_bounded_range",
    attained=Attained.POINTS,  # along a chain the odds of two outputs move on
    pointwise=True,
)
def group_bounded_range(guarantee: BoundedRange[R], *, size: int) -> BoundedRange[R]:
    """Multiply the range by the size of the group.

    Statement: epsilon-bounded-range for neighbours is size epsilon-bounded-range along a chain of
        size neighbours.
    Assumes: nothing.
    Source: the proof below.
    Proof: the loss of the chain at an output is the sum of the losses of its steps there, each
        in an interval of length epsilon.
    Rounds: nothing.
    Laws: size 1 changes nothing; monotone in size.
    Example:
        >>> group_bounded_range(BoundedRange(epsilon=1), size=3).stated_epsilon
        Fraction(3, 1)
    """
    times = arguments.count(size=size)
    result = BoundedRange(epsilon=times * guarantee.stated_epsilon, relation=guarantee.relation)
    return _for_groups(result, group_bounded_range, guarantee, times)


@theorem(
    rule="group/gdp",
    source="Dong, Roth & Su, arXiv:1905.02383, Theorem 2.14",
    attained=Attained.WHOLE,  # a query that moves on along a line
)
def group_gdp(guarantee: GDP[R], *, size: int) -> GDP[R]:
    """Multiply mu by the size of the group.

    Statement: mu-GDP for neighbours is size mu-GDP along a chain of size neighbours.
    Assumes: nothing.
    Source: Dong, Roth & Su, arXiv:1905.02383, Theorem 2.14 (the example after it).
    Proof: the power a -> Phi(Phi^{-1}(a) + mu) applied size times is the power for size mu.
    Rounds: nothing.
    Laws: size 1 changes nothing; monotone in size.
    Example:
        >>> group_gdp(GDP(mu=1), size=3).mu
        Fraction(3, 1)
    """
    times = arguments.count(size=size)
    result = GDP(mu_squared=times**2 * guarantee.mu_squared, relation=guarantee.relation)
    return _for_groups(result, group_gdp, guarantee, times)


@theorem(
    rule="group/metric-dp",
    source="proved in group_metric",
    attained=Attained.WHOLE,  # a longer path under Laplace noise
)
def group_metric(guarantee: MetricDP[R], *, size: int) -> MetricDP[R]:
    """Multiply epsilon by the size of the group.

    Statement: epsilon-metric-DP for neighbours is size epsilon-metric-DP along a chain of size
        neighbours.
    Assumes: nothing.
    Source: the proof below.
    Proof: the paths of the steps one after the other are one path of length size; at constant
        speed it takes time 1, and the loss grows size times as fast.
    Rounds: nothing.
    Laws: size 1 changes nothing; monotone in size.
    Example:
        >>> group_metric(MetricDP(epsilon=1), size=3).stated_epsilon
        Fraction(3, 1)
    """
    times = arguments.count(size=size)
    result = MetricDP(epsilon=times * guarantee.stated_epsilon, relation=guarantee.relation)
    return _for_groups(result, group_metric, guarantee, times)


@theorem(
    rule="group/pure-dp",
    source="Dwork & Roth 2014, Theorem 2.2",
    attained=Attained.NO,  # randomised response itself does not move so far along a chain
)
def group_pure(guarantee: PureDP[R], *, size: int) -> PureDP[R]:
    """Multiply epsilon by the size of the group.

    Statement: epsilon-DP for neighbours is size epsilon-DP along a chain of size neighbours.
    Assumes: nothing.
    Source: Dwork & Roth 2014, Theorem 2.2.
    Proof: multiply the size inequalities P_i(S) <= e^epsilon P_{i+1}(S).
    Rounds: nothing.
    Laws: size 1 changes nothing; monotone in size.
    Example:
        >>> group_pure(PureDP(epsilon=1), size=3).stated_epsilon
        Fraction(3, 1)
    """
    times = arguments.count(size=size)
    result = PureDP(epsilon=times * guarantee.stated_epsilon, relation=guarantee.relation)
    return _for_groups(result, group_pure, guarantee, times)


_MAX_SIZE = 10_000  # Largest size of a group, to bound the time. Larger ones raise.


@theorem(
    rule="group/rdp",
    source="Bun & Steinke, arXiv:1605.02065, Lemma 5.2, iterated in group_rdp",
    attained=Attained.NO,  # loses information
    lossless=False,
)
def group_rdp(guarantee: RDP[R], *, size: int) -> RDP[R]:
    """Add up Renyi divergences along the chain, at growing orders.

    Statement: if the divergence of neighbours at order b is at most R(b), that along a chain of
        k neighbours at order a > 1 is at most sum_{j<k} k a/(k a - j) R(k a - j).
    Assumes: nothing.
    Source: Bun & Steinke, arXiv:1605.02065, Lemma 5.2 (the triangle inequality), iterated.
    Proof: Hoelder with exponents (k a - 1)/(a (k-1)) and (k a - 1)/(a - 1) gives D_a(P || Q) <=
        k a/(k a - 1) D_{(k a - 1)/(k - 1)}(P || S) + D_{k a}(S || Q). Apply it with k - 1 at
        order a' = (k a - 1)/(k - 1), where (k-1) a' = k a - 1; the factors telescope.
    Rounds: up.
    Laws: size 1 changes nothing; a curve rho a becomes k^2 rho a.
    Example:
        >>> group_rdp(RDP(points=((2, 2), (3, 3), (4, 4))), size=2).points[1]
        (Fraction(2, 1), Fraction(8, 1))
    """
    times = arguments.count(size=size)
    if times == 1:
        return guarantee
    if times > _MAX_SIZE:
        raise NotImplied(f"groups of {times} are beyond {_MAX_SIZE} for a Renyi curve; use ZCDP")
    orders = [order / times for order, _ in guarantee.points if order > times]
    if not orders:
        raise NotImplied(
            f"a group of {times} needs Renyi orders above {times}; the largest known is "
            f"{float(guarantee.largest_order):g}; list larger orders"
        )
    points = [(order, _summed(guarantee, order, times)) for order in orders]
    result = RDP(points=points, relation=guarantee.relation)
    return _for_groups(result, group_rdp, guarantee, times)


def _summed(guarantee: RDP[R], order: Fraction, times: int) -> Fraction:
    """Return the bound at an order, the weighted sum of the divergences at the orders it needs."""
    total, top = Fraction(0), times * order
    for j in range(times):
        value = guarantee.divergence_up(top - j)
        if value is None:
            raise NotImplied(
                f"a group needs the Renyi divergence at order {float(top - j):g}, which is not "
                "listed; list it, or use ZCDP, which has every order"
            )
        total += top / (top - j) * value
    return total


_TRADE_OFF_MAX_SIZE = 1000  # Largest size of a group, to bound the time. Larger ones raise.


@theorem(
    rule="group/trade-off",
    source="Dong, Roth & Su, arXiv:1905.02383, Theorem 2.14",
    attained=Attained.NO,  # nothing is known about chains that attain every step
    written="",
)
def group_trade_off(guarantee: TradeOff[R], *, size: int) -> TradeOff[R]:
    """Iterate the power curve of the best test.

    Statement: if M is f-DP for neighbours, it is [1 - (1-f)^{o size}]-DP for datasets that
        ``size`` steps between neighbours connect, the power 1-f applied size times over.
    Assumes: nothing.
    Source: Dong, Roth & Su, arXiv:1905.02383, Theorem 2.14.
    Proof: a test with power at most b on the i-th dataset of the chain has power at most
        1 - f(b) on the next one.
    Rounds: down for both errors, after every step, to 160 significant bits; the lower convex
        hull of lowered points is below the curve.
    Laws: size 1 changes nothing; monotone in size.
    Example:
        >>> f = TradeOff(points=((0, 1), (0.25, 0.25), (1, 0)))
        >>> [float(x) for x, _ in group_trade_off(f, size=2).points]
        [0.0, 0.08333333333333333, 0.25, 1.0]
    """
    times = arguments.count(size=size)
    if times == 1:
        return guarantee
    points = guarantee.points
    if times > _TRADE_OFF_MAX_SIZE:
        raise NotImplied(
            f"a curve is iterated for groups of at most {_MAX_SIZE}, not {times}; use PureDP, GDP "
            "or ZCDP, which scale by a formula"
        )
    for _ in range(times - 1):
        points = chained(points, guarantee.points)
        if len(points) == 1:
            break  # everything can be told: nothing is left to lose
    result = TradeOff(points=points, relation=guarantee.relation)
    words = f"f-DP for groups of {times}, f linear between {len(points)} points"
    return concluded(result, group_trade_off, words, guarantee, size=times)


@theorem(
    rule="group/zcdp",
    source="Bun & Steinke, arXiv:1605.02065, Proposition 1.9",
    attained=Attained.WHOLE,  # a Gaussian query that moves on along a line
)
def group_zcdp(guarantee: ZCDP[R], *, size: int) -> ZCDP[R]:
    """Multiply rho by the square of the size of the group.

    Statement: rho-zCDP for neighbours is size^2 rho-zCDP along a chain of size neighbours.
    Assumes: nothing.
    Source: Bun & Steinke, arXiv:1605.02065, Proposition 1.9.
    Proof: ``group_rdp`` with R_a = rho a: each of its size terms is size rho a.
    Rounds: nothing.
    Laws: size 1 changes nothing; monotone in size.
    Example:
        >>> group_zcdp(ZCDP(rho=1), size=3).rho
        Fraction(9, 1)
    """
    times = arguments.count(size=size)
    result = ZCDP(rho=times**2 * guarantee.rho, relation=guarantee.relation)
    return _for_groups(result, group_zcdp, guarantee, times)


def group(guarantee: Guarantee[R], *, size: int) -> Guarantee[R]:
    """Bound what changes when ``size`` records change, not one.

    The result keeps the relation's name but speaks of size steps of it: under AddRemove size
    records added or removed, under ReplaceOne size replaced, under ZeroOut size blanked or
    restored. Composing it with a statement about one record is refused: group every part alike.
    Replacing one record is one removal and one addition, so size=2 under AddRemove covers one
    step of ReplaceOne.

    Statement: what the theorem of the notion says about a chain of size neighbours.
    Assumes: what the theorem that applies assumes.
    Source: ``group_pure``, ``group_bounded_range``, ``group_metric``, ``group_gdp``,
        ``group_zcdp``, ``group_approx``, ``group_rdp``, ``group_trade_off``, ``group_pair``.
    Rounds: to the safe side, where the theorem rounds at all.

    Args:
        guarantee: any notion.
        size: number of records, from 1 to 10**12.
    Returns:
        The same notion; TradeOff from a PrivacyProfile, and from pairs that are no shift of noise,
        whose profile is taken at some forty epsilons: epsilon is then within about 1 % of what the
        whole profile says.
    Raises:
        NotImplied: no theorem scales this curve, or not by so much; says what to do.
        ParameterError: size out of range.
    Laws: size 1 changes nothing; monotone in size.
    Example:
        >>> group(ZCDP(rho=1), size=3).describe()
        '9-zCDP'
    """
    guarantees.required_guarantee(guarantee)
    for notion, function in _THEOREMS:
        if isinstance(guarantee, notion):
            scaled: Guarantee[R] = function(guarantee, size=size)
            return scaled
    raise NotImplied(f"no group-privacy theorem for {guarantee!r}; {CONVERT}")


def _group_profile(guarantee: PrivacyProfile[R], *, size: int) -> TradeOff[R]:
    """Apply the theorem on trade-off curves to a profile."""
    return group_trade_off(conversion.profile_to_trade_off(guarantee), size=size)


def _group_pair(guarantee: DominatingPair[R], *, size: int) -> Guarantee[R]:
    """Multiply a shift of noise, or apply the theorem on trade-off curves to another pair."""
    try:
        return group_pair(guarantee, size=size)
    except NotImplied:  # it is no shift
        if any(isinstance(one.pair, ShuffledGaussianPair) for one in guarantee.forward.factors):
            return group_gdp(pair_to_gdp(guarantee), size=size)  # nothing better is known of one
        profile = notion_to_profile(guarantee, epsilons=dominating_pair.profile_places(guarantee))
        return _group_profile(profile, size=size)


_THEOREMS: Final[Sequence[tuple[type[Guarantee[Any]], Callable[..., Guarantee[Any]]]]] = (
    (PureDP, group_pure),
    (BoundedRange, group_bounded_range),
    (MetricDP, group_metric),
    (GDP, group_gdp),
    (ZCDP, group_zcdp),
    (ApproxDP, group_approx),
    (RDP, group_rdp),
    (TradeOff, group_trade_off),
    (PrivacyProfile, _group_profile),
    (DominatingPair, _group_pair),
)
