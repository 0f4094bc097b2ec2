"""One notion implies another by a formula."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from typing import Any, overload

from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.derivation import Attained, theorem
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.guarantees.guarantee import Guarantee, concluded, required_guarantee
from dpproof.accountant.guarantees.pure_dp import BoundedRange, MetricDP, PureDP
from dpproof.accountant.guarantees.rdp import ZCDP
from dpproof.accountant.guarantees.rounding import epsilon_tanh_up, floats_around, show
from dpproof.accountant.pairs.gaussian import pure_mu
from dpproof.accountant.relation import AddRemove, R, ReplaceLabel, ReplaceOne


@theorem(
    rule="convert/approx-pure",
    source="Dwork et al., EUROCRYPT 2006, Definition 1",
    attained=Attained.WHOLE,  # the same pair
    pointwise=True,
)
def approx_to_pure(guarantee: ApproxDP[R]) -> PureDP[R]:
    """Write (epsilon, 0)-DP as epsilon-DP.

    Statement: epsilon-DP and (epsilon, 0)-DP are the same statement.
    Assumes: nothing.
    Source: Dwork et al., EUROCRYPT 2006, Definition 1 with delta = 0.
    Rounds: nothing.
    Laws: lossless; ``pure_to_approx`` is its inverse.
    Example:
        >>> approx_to_pure(ApproxDP(epsilon=1, delta=0)).stated_epsilon
        Fraction(1, 1)
    """
    if guarantee.stated_delta > 0:
        raise NotImplied(
            f"{guarantee.describe()} implies epsilon-DP for no epsilon, as delta is above 0; "
            "keep it as ApproxDP"
        )
    result = PureDP(epsilon=guarantee.stated_epsilon, relation=guarantee.relation)
    words = f"{guarantee.describe()} without delta"
    return concluded(result, approx_to_pure, words, guarantee)


@theorem(
    rule="convert/bounded-range-pure",
    source="Dong, Durfee & Rogers, arXiv:1909.13830, Lemma 2.3",
    attained=Attained.NO,  # loses information
    lossless=False,
)
def bounded_range_to_pure(guarantee: BoundedRange[R]) -> PureDP[R]:
    """Bound the loss by the length of its range.

    Statement: P and Q both have total mass 1, so the loss is nowhere above 0 everywhere nor
        below 0 everywhere: the interval [t, t + epsilon] holds 0, and lies in
        [-epsilon, epsilon].
    Assumes: nothing.
    Source: Dong, Durfee & Rogers, arXiv:1909.13830, Lemma 2.3; the statement is its own proof.
    Rounds: nothing.
    Laws: loses information: the way back gives 2 epsilon, not epsilon.
    Example:
        >>> bounded_range_to_pure(BoundedRange(epsilon=1)).stated_epsilon
        Fraction(1, 1)
    """
    result = PureDP(epsilon=guarantee.stated_epsilon, relation=guarantee.relation)
    words = f"loss at most the range of {guarantee.describe()}"
    return concluded(result, bounded_range_to_pure, words, guarantee)


@theorem(
    rule="convert/bounded-range-zcdp",
    source="Cesar & Rogers, arXiv:2004.07223, Lemma 3.4; proved in bounded_range_to_zcdp",
    attained=Attained.NO,  # loses information
    lossless=False,
)
def bounded_range_to_zcdp(guarantee: BoundedRange[R]) -> ZCDP[R]:
    """Bound the Renyi curve of a bounded-range mechanism by a line.

    Statement: epsilon-bounded-range implies rho-zCDP with rho = epsilon^2/8, and, being
        epsilon-DP, with rho = epsilon tanh(epsilon/2); the smaller is returned.
    Assumes: nothing.
    Source: Cesar & Rogers, arXiv:2004.07223, Lemma 3.4.
    Proof: k(s) = log E_P e^{sL} is 0 at s = 0 and at s = -1, and k'' is the variance of a law on
        an interval of length epsilon, at most epsilon^2/4. So k(s) - s(s+1) epsilon^2/8 is
        concave and 0 at -1 and 0: it is at most 0 for s > 0. Divide by s = order - 1.
    Rounds: the first nothing, the second up by at most 1e-15 relative.
    Laws: loses information; at most a quarter of what epsilon-DP alone gives, for small epsilon.
    Example:
        >>> bounded_range_to_zcdp(BoundedRange(epsilon=1)).rho
        Fraction(1, 8)
    """
    epsilon = guarantee.stated_epsilon
    rho = min(epsilon * epsilon / 8, epsilon_tanh_up(epsilon))
    result = ZCDP(rho=rho, relation=guarantee.relation)
    words = f"rho = epsilon^2/8 of {guarantee.describe()}"
    return concluded(result, bounded_range_to_zcdp, words, guarantee)


@theorem(
    rule="convert/gdp-zcdp",
    source="Bun & Steinke, arXiv:1605.02065, Lemma 2.4",
    attained=Attained.NO,  # no Gaussian, though the same divergences
    lossless=False,
)
def gdp_to_zcdp(guarantee: GDP[R]) -> ZCDP[R]:
    """Keep the Renyi curve of a Gaussian guarantee.

    Statement: mu-GDP implies rho-zCDP with rho = mu^2/2, and no smaller rho: the Renyi
        divergence of N(mu, 1) from N(0, 1) at order a is mu^2 a/2, and outputs of the mechanism
        are a post-processing of these two.
    Assumes: nothing.
    Source: Bun & Steinke, arXiv:1605.02065, Lemma 2.4 (the divergence); Dong, Roth & Su,
        arXiv:1905.02383, Theorem 2.10 (Blackwell).
    Rounds: nothing.
    Laws: loses information; commutes with composition.
    Example:
        >>> gdp_to_zcdp(GDP(mu=2)).rho
        Fraction(2, 1)
    """
    rho = guarantee.mu_squared / 2
    result = ZCDP(rho=rho, relation=guarantee.relation)
    return concluded(result, gdp_to_zcdp, f"{show(rho)}-zCDP", guarantee)


@theorem(
    rule="convert/metric-pure",
    source="proofs/theory/path.md, Section 1",
    attained=Attained.NO,  # loses information
    lossless=False,
)
def metric_to_pure(guarantee: MetricDP[R]) -> PureDP[R]:
    """Bound the loss between the ends of a path.

    Statement: the ends of a path are at distance 1, so the loss between them is at most epsilon.
    Assumes: nothing.
    Source: proofs/theory/path.md, Section 1.
    Rounds: nothing.
    Laws: loses information: there is no way back.
    Example:
        >>> metric_to_pure(MetricDP(epsilon=1)).stated_epsilon
        Fraction(1, 1)
    """
    result = PureDP(epsilon=guarantee.stated_epsilon, relation=guarantee.relation)
    words = f"loss at most that between the ends of {guarantee.describe()}"
    return concluded(result, metric_to_pure, words, guarantee)


@theorem(
    rule="convert/pure-approx",
    source="Dwork et al., EUROCRYPT 2006, Definition 1",
    attained=Attained.WHOLE,  # the same pair
    pointwise=True,
)
def pure_to_approx(guarantee: PureDP[R]) -> ApproxDP[R]:
    """Write epsilon-DP as (epsilon, 0)-DP.

    Statement: epsilon-DP and (epsilon, 0)-DP are the same statement.
    Assumes: nothing.
    Source: Dwork et al., EUROCRYPT 2006, Definition 1 with delta = 0.
    Rounds: nothing.
    Laws: lossless; ``approx_to_pure`` is its inverse.
    Example:
        >>> pure_to_approx(PureDP(epsilon=1)).stated_delta
        Fraction(0, 1)
    """
    result = ApproxDP(epsilon=guarantee.stated_epsilon, delta=0, relation=guarantee.relation)
    words = f"{guarantee.describe()} with delta = 0"
    return concluded(result, pure_to_approx, words, guarantee)


@theorem(
    rule="convert/pure-bounded-range",
    source="Dong, Durfee & Rogers, arXiv:1909.13830, Lemma 2.3",
    attained=Attained.NO,  # loses information
    lossless=False,
)
def pure_to_bounded_range(guarantee: PureDP[R]) -> BoundedRange[R]:
    """Bound the range of the loss by twice its bound.

    Statement: the loss of an epsilon-DP mechanism lies in [-epsilon, epsilon], an interval of
        length 2 epsilon.
    Assumes: nothing.
    Source: Dong, Durfee & Rogers, arXiv:1909.13830, Lemma 2.3; the statement is its own proof.
    Rounds: nothing.
    Laws: loses information: the way back gives 2 epsilon, not epsilon.
    Example:
        >>> pure_to_bounded_range(PureDP(epsilon=1)).stated_epsilon
        Fraction(2, 1)
    """
    result = BoundedRange(epsilon=2 * guarantee.stated_epsilon, relation=guarantee.relation)
    words = f"range at most twice that of {guarantee.describe()}"
    return concluded(result, pure_to_bounded_range, words, guarantee)


@theorem(
    rule="convert/pure-gdp",
    source="Liu, Sun, Jiang & Kong, arXiv:2210.09269; proved in pure_to_gdp",
    attained=Attained.NO,  # loses information
    lossless=False,
)
def pure_to_gdp(guarantee: PureDP[R]) -> GDP[R]:
    """Find the Gaussian trade-off below that of randomised response.

    Statement: epsilon-DP implies mu-GDP with mu = 2 Phi^{-1}(e^epsilon/(1 + e^epsilon)), and no
        smaller mu.
    Assumes: nothing.
    Source: Liu, Sun, Jiang & Kong, arXiv:2210.09269 (every epsilon-DP mechanism is GDP).
    Proof: the trade-off of randomised response is linear between (0, 1), (a, a) and (1, 0) with
        a = 1/(1 + e^epsilon). A convex curve is below it iff it is at the three vertices, and
        G_mu(0) = 1, G_mu(1) = 0, while G_mu(a) = Phi(Phi^{-1}(1 - a) - mu) <= a iff
        mu >= 2 Phi^{-1}(1 - a).
    Rounds: up, by at most 1e-13 relative.
    Laws: loses information; monotone in epsilon.
    Example:
        >>> round(float(pure_to_gdp(PureDP(epsilon=1)).mu), 6)
        1.232035
    """
    above = floats_around(guarantee.stated_epsilon)[1]
    if math.isinf(above):
        raise NotImplied(
            "epsilon is not representable as a float, so that it implies no usable mu; state a "
            "smaller epsilon"
        )
    result = GDP(mu=Fraction(pure_mu(above)), relation=guarantee.relation)
    words = f"mu = 2 Phi^-1(e^epsilon/(1 + e^epsilon)) of {guarantee.describe()}"
    return concluded(result, pure_to_gdp, words, guarantee)


@theorem(
    rule="convert/pure-zcdp",
    source="Steinke 2024; proved in pure_to_zcdp",
    attained=Attained.NO,  # loses information
    lossless=False,
)
def pure_to_zcdp(guarantee: PureDP[R]) -> ZCDP[R]:
    """Bound the Renyi curve of an epsilon-DP mechanism by a line.

    Statement: epsilon-DP implies rho-zCDP with rho = epsilon tanh(epsilon/2), and no smaller rho.
    Assumes: nothing.
    Source: Steinke, "Sharp RDP & zCDP from Pure DP", differentialprivacy.org, 2024, for the
        curve of randomised response.
    Proof: randomised response dominates, and E_P e^{sL} for it is cosh(epsilon u)/cosh(epsilon/2)
        with u = s + 1/2. As a function of w = u^2, log cosh(epsilon sqrt(w)) is concave (its
        derivative epsilon tanh(epsilon sqrt(w))/(2 sqrt(w)) falls), so it is below its tangent
        at w = 1/4: log E_P e^{sL} <= (u^2 - 1/4) epsilon tanh(epsilon/2), and u^2 - 1/4 is
        s(s+1), that is order times (order - 1). The tangent is met as the order falls to 1.
    Rounds: up, by at most 1e-15 relative; never above epsilon or epsilon^2/2, exact bounds.
    Laws: loses information; rho <= min(epsilon, epsilon^2/2).
    Example:
        >>> round(float(pure_to_zcdp(PureDP(epsilon=1)).rho), 6)
        0.462117
    """
    epsilon = guarantee.stated_epsilon
    result = ZCDP(rho=epsilon_tanh_up(epsilon), relation=guarantee.relation)
    words = f"rho = epsilon tanh(epsilon/2) of {guarantee.describe()}"
    return concluded(result, pure_to_zcdp, words, guarantee)


@overload
def restrict(guarantee: Guarantee[ReplaceOne]) -> Guarantee[ReplaceLabel]: ...
@overload
def restrict(guarantee: Guarantee[AddRemove]) -> Guarantee[ReplaceOne]: ...
@theorem(
    rule="restrict/relation",
    source="proofs/theory/margins.md, section 1",
    attained=Attained.NO,  # a label alone may move a query by less
    lossless=False,
)
def restrict(guarantee: Guarantee[Any]) -> Guarantee[Any]:
    """State a guarantee under a relation whose neighbours it covers.

    Statement: datasets that differ in the label of one record differ in one record, so what holds
        for all neighbours under replace-one holds for all under replace-label; likewise for
        groups. It says nothing about features and the number of records: they are not protected.
        One replaced record is one removal and one addition, so what holds for groups of 2 under
        add-remove holds for all neighbours under replace-one; likewise for k and 2k.
    Assumes: nothing.
    Source: proofs/theory/margins.md, section 1.
    Rounds: nothing.

    Args:
        guarantee: any notion, under ReplaceOne, or under AddRemove about groups of an even size:
            ``group(..., size=2)``. One under ZeroOut bounds a changed label as two steps, not one.
    Returns:
        The same statement under ReplaceLabel, or under ReplaceOne about groups of half the size.
    Raises:
        NotImplied: the guarantee is under another relation, or about one record more or less.
    Laws: every answer is unchanged.
    Example:
        >>> from dpproof.accountant import GDP, ReplaceOne
        >>> restrict(GDP(mu=1, relation=ReplaceOne()))
        GDP(mu_squared=1, relation=ReplaceLabel())
    """
    required_guarantee(guarantee)
    relation: object = guarantee.relation
    replaced = isinstance(relation, AddRemove) and guarantee.derivation.apart % 2 == 0
    if not (replaced or isinstance(relation, ReplaceOne)):
        raise NotImplied(
            f"a guarantee under {type(relation).__name__} does not speak of a changed label in one "
            "step; state it under ReplaceOne(), whose neighbours include those of ReplaceLabel(); "
            "group(..., size=2) under AddRemove() speaks of a replaced record"
        )
    twin: Guarantee[Any] = copy.copy(guarantee)
    object.__setattr__(twin, "relation", ReplaceOne() if replaced else ReplaceLabel())
    said = (
        "where one record is removed and one added"
        if replaced
        else "where labels alone differ; features and the number of records are public"
    )
    sizes: dict[str, Any] = {"size": 2} if replaced else {}
    return concluded(twin, restrict, f"{guarantee.describe()} {said}", guarantee, **sizes)
