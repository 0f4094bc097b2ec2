"""Private selection: the best of a random number of runs, and the first run above a threshold."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpproof.accountant import side_conditions as assumed
from dpproof.accountant.arithmetic.enclosure import log_exact, raised_up
from dpproof.accountant.errors import CONVERT, NotImplied
from dpproof.accountant.guarantees.derivation import Attained, theorem, theorem_of
from dpproof.accountant.guarantees.dominating_pair import DominatingPair, PairGuarantee
from dpproof.accountant.guarantees.guarantee import Guarantee, applied, required_guarantee
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rdp import RDP, RenyiGuarantee, listed_curve
from dpproof.accountant.guarantees.rounding import floats_around, show
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import R
from dpproof.accountant.run_counts import law
from dpproof.accountant.run_counts.law import LOG_ERROR, PoissonRuns, RunLaw, required_runs
from dpproof.accountant.selection.selected_pair import SelectedPair
from dpproof.accountant.selection.thresholded_pair import ThresholdedPair


@theorem(
    rule="select/pure",
    source="proofs/theory/selection.md, Corollary 3",
    attained=Attained.NO,  # the largest loss alone is attained
    lossless=False,
)
def select_pure(guarantee: PureDP[R], runs: RunLaw) -> PureDP[R]:
    """Return the pure DP guarantee of the best of a random number of epsilon-DP runs.

    Statement: the selected output is (epsilon + excess)-DP, where with z = e^eps/(1 + e^eps)
        excess is log phi'(z)/phi'(1 - z): (1 + eta) log((gamma + e^eps)/(1 + gamma e^eps)) for
        truncated negative binomial runs, rate tanh(eps/2) for Poisson runs,
        (n - 1) log((1 - p + e^eps)/(1 + (1 - p) e^eps)) for binomial runs, (n - 1) eps for n
        runs. For a law with finitely many values the maximum is not always there and is
        bounded over cells. Randomised response, with a score that ranks the less likely answer
        first and a coin after it, attains the formula.
    Assumes: independent number of runs; own randomness; score of the output; best output alone.
    Source: proofs/theory/selection.md, Corollary 3; Papernot & Steinke (arXiv:2110.03620), Theorem
        2 with all orders infinite, is the weaker (2 + eta) eps.
    Rounds: up, by at most 1e-10.
    Laws: one run changes nothing; below (2 + eta) eps.
    Example:
        >>> from dpproof.accountant import TruncatedNegativeBinomial
        >>> law = TruncatedNegativeBinomial(eta=1, gamma=0.1)
        >>> round(float(select_pure(PureDP(epsilon=1), law).stated_epsilon), 6)
        2.591344
    """
    epsilon = guarantee.stated_epsilon + _excess_up(runs, guarantee.stated_epsilon)
    return PureDP(
        epsilon=epsilon,
        relation=guarantee.relation,
        derivation=applied(
            select_pure,
            f"best of {runs.describe()} is {show(epsilon)}-DP",
            guarantee,
            assumptions=assumed.selection_of_the_best(),
            runs=runs,
        ),
    )


def _excess_up(runs: RunLaw, epsilon: Fraction) -> Fraction:
    """Return an upper bound of what the runs add to epsilon.

    It is (n - 1) epsilon, exactly, if that is less or the other bound is no float.
    """
    log_ratio = runs.log_ratio_up(floats_around(epsilon)[1])
    bounds = [Fraction(log_ratio)] if math.isfinite(log_ratio) else []
    if runs.largest is not None:
        bounds.append((runs.largest - 1) * epsilon)
    return min(bounds)


@theorem(
    rule="select/pair",
    source="proofs/theory/selection.md, Theorem 1, or Theorem 2 where it rounds to less",
    attained=Attained.POINTS,  # for every epsilon some order of the outputs
    written="best_of_runs",
)
def select_pair(guarantee: PairGuarantee[R], runs: RunLaw) -> DominatingPair[R]:
    """Run a mechanism K times on the same data, release only the best output.

    Statement: let (P, Q) dominate (M(D), M(D')), let K have generating function phi and not
        depend on the data. Let the selected output be the best of K independent ones by a
        score of the output, ties broken at random. Let w(a) be phi'(1 - a), and A and B the
        least and largest mass under Q of a set of a given mass under P. For every epsilon at or
        above 0 the hockey-stick divergence of the selected outputs is at most the supremum,
        over the events U in [0, 1], of the integral over U of this:
        w(u) du - e^epsilon w(Q(p = 0) + A(k) + B(u - k)) dA(k); k is the length of U up to u. Some
        mechanism and score attain it. It is at most E_Q[psi(dP/dQ)] with
        psi(l) = max over a of (w(a) l - e^epsilon w(g(a)))_+, g(a) the largest mass under Q of
        a set of mass a under P. No run at all reveals nothing.
    Assumes: independent number of runs; own randomness; score of the output; best output alone.
    Source: proofs/theory/selection.md, Theorems 1 and 2.
    Rounds: not at all; the pair answers by brackets, the smaller of the two upper bounds.
    Laws: one run changes nothing; more runs never cost less; never above releasing all runs.
    Example:
        >>> from dpproof.accountant.guarantees.dominating_pair import GDP
        >>> from dpproof.accountant import TruncatedNegativeBinomial
        >>> best = select_pair(GDP(mu=0.25), TruncatedNegativeBinomial(eta=1, gamma=0.1))
        >>> round(best.epsilon(delta=1e-6).upper, 3)
        1.557
    """
    pair = guarantee.to_pair()
    premises: list[Guarantee[R]] = [pair]
    if isinstance(guarantee, PureDP) and guarantee.stated_epsilon > 0:
        premises.append(select_pure(guarantee, runs))
    return DominatingPair(
        forward=_selected(pair.forward, runs),
        backward=_selected(pair.backward, runs),
        relation=guarantee.relation,
        derivation=applied(
            select_pair,
            f"best of {runs.describe()}, for the worst score",
            *premises,
            assumptions=assumed.selection_of_the_best(),
            attained=theorem_of(select_pair).attained.of_premises([pair.attained], pointwise=False),
            runs=runs,
        ),
    )


def _selected(base: Product, runs: RunLaw) -> Product:
    """Return the pair of the selection; a base that reveals nothing is returned as it is."""
    return Product.of(SelectedPair(base=base, runs=runs)) if base.factors else base


# Relative room for a certificate's choice of orders. Soundness does not depend on it.
_ROOM = 1e-10
_NAMES = {
    "shape": "Papernot & Steinke, arXiv:2110.03620, Theorem 2",
    "rate": "Papernot & Steinke, arXiv:2110.03620, Theorem 6",
    "all": "all runs released",
    "ratio": "bounded ratio",
}


@theorem(
    rule="select/rdp",
    source="Papernot & Steinke, arXiv:2110.03620, Theorems 2 and 6; proofs/theory/selection.md",
    attained=Attained.NO,  # loses information
    lossless=False,
    written="to_selected_rdp",
)
def select_rdp(guarantee: RenyiGuarantee[R], runs: RunLaw) -> RDP[R]:
    """Return renyi divergences of the best of a random number of runs.

    Statement: with R(a) the divergence of one run at order a, that of the selection is at most
        each of the following, m the mean of the number of runs, p_0 the probability of none:
        (1) for truncated negative binomial runs and any order b >= 1,
            R(a) + (1 + eta)((1 - 1/b) R(b) + log(1/gamma)/b) + log(m)/(a - 1);
        (2) for Poisson runs, log(p_0 + m e^((a-1)(R(a) + m d)))/(a - 1), d the base's delta at
            epsilon = log(a/(a-1));
        (3) log E[e^((a-1) K R(a))]/(a - 1), what releasing all the runs costs;
        (4) R(a) + log(phi'(1)/phi'(0)) + log(m + p_0)/(a - 1), where m + p_0 >= 1.
    Assumes: independent number of runs; own randomness; score of the output; best output alone.
    Source: (1) Papernot & Steinke (arXiv:2110.03620), Theorem 2; (2) ibid., Theorem 6, with
        the output of no run kept apart; (3) given K, composition, and the selected output is
        post-processing; (4) phi' lies between phi'(0) and phi'(1). All: proofs/theory/selection.md,
        Section 5.
    Rounds: up, by 1e-10 relative, at the smallest divergences as well.
    Laws: one run changes nothing; never below one run's divergence.
    Example:
        >>> from dpproof.accountant import ZCDP, TruncatedNegativeBinomial
        >>> law = TruncatedNegativeBinomial(eta=1, gamma=0.1)
        >>> round(select_rdp(ZCDP(rho=0.01), law).epsilon(delta=1e-6).upper, 2)
        1.28
    """
    curve = listed_curve(guarantee)
    shape = runs.least_shape(curve)[0] if isinstance(runs, law.TruncatedNegativeBinomial) else None
    points, winners = [], []
    for order in curve:
        bounds = _bounds(guarantee, runs, (order, curve[order]), shape)
        name = min(bounds, key=lambda key: bounds[key])
        if bounds[name] < math.inf:
            points.append((order, Fraction(bounds[name] * (1 + _ROOM))))
            winners.append(name)
    if not points:
        raise NotImplied(
            f"no theorem bounds the best of {runs.describe()} at the orders of "
            f"{guarantee.describe()}; state the base by a pair, or at lower orders"
        )
    said = ", ".join(
        f"{_NAMES[one]} at {winners.count(one)} orders" for one in dict.fromkeys(winners)
    )
    return RDP(
        points=points,
        relation=guarantee.relation,
        derivation=applied(
            select_rdp,
            f"best of {runs.describe()}; smallest bound: {said}",
            guarantee,
            assumptions=assumed.selection_of_the_best(),
            runs=runs,
            bounds=" ".join(winners),
        ),
    )


def _bounds(
    guarantee: Guarantee[R], runs: RunLaw, point: tuple[Fraction, Fraction], shape: Fraction | None
) -> dict[str, float]:
    """Return every bound at one order, rounded up, +inf if it is vacuous.

    Each log is rounded up relative to itself, also next to 0; the sums are exact.
    """
    excess, base = point[0] - 1, point[1]
    size = runs.log_mean_up
    bounds = {
        "all": _sum_up(Fraction(0), (runs.log_moment_up(_float_up(excess * base)), excess)),
        "ratio": _sum_up(base, (runs.log_ratio_up(math.inf), Fraction(1)), (size, excess)),
    }
    if isinstance(runs, law.TruncatedNegativeBinomial) and shape is not None:
        bounds["shape"] = _sum_up(base + (1 + runs.eta) * shape, (size, excess))
    if isinstance(runs, PoissonRuns):
        log = math.log1p(floats_around(1 / excess)[0]) * (1 - LOG_ERROR)  # log(1 + 1/s), down
        delta = Fraction(guarantee.delta(epsilon=log).upper)
        grown = _float_up(excess * (base + runs.rate * delta))
        bounds["rate"] = _sum_up(Fraction(0), (_log_rate_up(runs, grown), excess))
    return bounds


def _log_rate_up(runs: PoissonRuns, exponent: float) -> float:
    """Return log(e^-m + m e^x) up, m the rate: log(1 + (m - 1 + e^-m) + m (e^x - 1))."""
    if exponent <= law.FARTHEST:
        more = math.expm1(runs.log_mean_up) + runs.mean * math.expm1(exponent)
        return raised_up(math.log1p(more), 4 * LOG_ERROR)
    if math.isinf(exponent):
        return math.inf
    log_rate = log_exact(runs.rate)
    return float(np.logaddexp(0.0, log_rate + exponent)) + LOG_ERROR * (abs(log_rate) + exponent)


def _float_up(value: Fraction) -> float:
    """Return the least float at or above an exact value."""
    return floats_around(value)[1]


def _sum_up(base: Fraction, *terms: tuple[float, Fraction]) -> float:
    """Return the base plus every first number over its second, added exactly and rounded up."""
    if any(math.isinf(value) for value, _ in terms):
        return math.inf
    return _float_up(base + sum(Fraction(value) / divisor for value, divisor in terms))


@theorem(
    rule="select/above",
    source="proofs/theory/threshold.md, Theorem 1, or Theorem 2 where it rounds to less",
    attained=Attained.NO,  # the bound treats the events of runs apart
    lossless=False,
    written="first_above",
)
def select_above(guarantee: Guarantee[R], runs: RunLaw) -> DominatingPair[R]:
    """Run a mechanism until its output reaches a threshold, at most K times; release that output.

    The geometric law is Liu & Talwar's random stopping, a coin before every further run;
    ``FiniteRuns`` of a geometric law's masses, the rest at the last, is the same with a cap.

    Statement: let (P, Q) dominate (M(D), M(D')), let K have generating function phi and look at
        nothing, and let g(a) = (1 - phi(1 - a))/a. Release the first of K runs whose score is
        at or above the threshold, or that there is none. For every t > 0 the hockey-stick
        divergence is at most the supremum over a in [0, 1] of
        min(g(a) H_{t g(b)/g(a)}(P|Q), 1 - phi(1 - a)) + (phi(1 - a) - t phi(1 - b))_+. Here b
        is the largest mass under Q of a set of mass a under P.
    Assumes: independent number of runs; own randomness; score and fixed threshold; first output
        alone.
    Source: proofs/theory/threshold.md, Theorem 1 and Theorem 2 as lines (Lemma 3); the mechanism
        is Liu & Talwar's (arXiv:1811.07971).
    Rounds: not at all; the pair answers by brackets.
    Laws: an epsilon-DP base and geometric runs give 2 epsilon at most.
    Example:
        >>> from dpproof.accountant.guarantees.dominating_pair import GDP
        >>> from dpproof.accountant import TruncatedNegativeBinomial
        >>> found = select_above(GDP(mu=0.25), TruncatedNegativeBinomial(eta=1, gamma=0.1))
        >>> found.epsilon(delta=1e-6).upper < 2
        True
    """
    required_guarantee(guarantee)
    required_runs(runs)
    if not isinstance(guarantee, PairGuarantee):
        raise NotImplied(f"no theorem on stopping at a threshold for {guarantee!r}; {CONVERT}")
    pair = guarantee.to_pair()
    return DominatingPair(
        forward=_thresholded(pair.forward, runs),
        backward=_thresholded(pair.backward, runs),
        relation=guarantee.relation,
        derivation=applied(
            select_above,
            f"first of {runs.describe()} above a threshold, for the worst score",
            pair,
            assumptions=(
                assumed.RUNS_AT_NOTHING(),
                assumed.OWN_RANDOMNESS(),
                assumed.SCORE_AND_THRESHOLD(),
                assumed.FIRST_ALONE(),
            ),
            runs=runs,
        ),
    )


def _thresholded(base: Product, runs: RunLaw) -> Product:
    """Return the pair with a threshold; a base that reveals nothing is returned as it is."""
    return Product.of(ThresholdedPair(base=base, runs=runs)) if base.factors else base


def select(guarantee: Guarantee[R], runs: RunLaw) -> Guarantee[R]:
    """Bound what the best of a random number of runs reveals.

    The number of runs must not depend on the data, nor on outputs: stopping when an output is
    good enough is another theorem. Nothing but the best output is released.

    Statement: what ``select_pair`` says of a base with a dominating pair, ``select_rdp`` of one
        known only by its Renyi curve.
    Assumes: what the theorem that applies assumes.
    Source: proofs/theory/selection.md; Papernot & Steinke (arXiv:2110.03620).
    Rounds: up.
    Laws: one run changes nothing.
    Returns:
        DominatingPair, or RDP; it composes, is subsampled and selected like any other.
    Example:
        >>> from dpproof.accountant import GDP, FixedRuns
        >>> select(GDP(mu=1), FixedRuns(count=1))
        GDP(mu_squared=1, relation=AddRemove())
    """
    required_guarantee(guarantee)
    required_runs(runs)
    if isinstance(runs, law.FixedRuns) and runs.count == 1:
        return guarantee
    if isinstance(guarantee, PairGuarantee):
        return select_pair(guarantee, runs)
    if isinstance(guarantee, RenyiGuarantee):
        return select_rdp(guarantee, runs)
    raise NotImplied(f"no selection theorem for {guarantee!r}; {CONVERT}")
