"""The best of two coins, which leaks what both coins together do, and Gaussians by quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from dpproof.accountant import (
    GDP,
    L1,
    L2,
    AddRemove,
    BinomialRuns,
    FixedRuns,
    Guarantee,
    Poisson,
    PoissonRuns,
    TruncatedNegativeBinomial,
    answers,
    compose,
    select,
    self_compose,
)
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.engine import trade_off
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import RandomizedResponsePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.selection.profile import selection
from dpproof.accountant.selection.selected_pair import SelectedPair
from dpproof.mechanisms import DiscreteGaussian, Gaussian, Histogram, Laplace, RandomizedResponse
from tests.accountant.pairs.builders import responses
from tests.accountant.subsampling.builders import times
from tests.contracts.definition import ball
from tests.contracts.pair_contract import Case, PairContract, flipped
from tests.contracts.tabulated_contract import TabulatedContract


class TestSelected(TabulatedContract, PairContract):
    """Two runs of randomised response: both answers alike and of the rarer kind say it all.

    P(best is the rarer answer) = p^2 against (1 - p)^2 is the corner of the profile of both
    answers released, and no score can do better than releasing them.
    """

    profile_width = 1e-3
    bracket_width = 5e-2

    def cases(self) -> Sequence[Case]:
        """Runs of one answer."""
        found = []
        for epsilon in (Fraction(3, 4),):
            base = Product.of(RandomizedResponsePair(epsilon=epsilon))
            one = responses(epsilon, 2, Fraction(0))
            both = times(one, one)
            pair = SelectedPair(base=base, runs=FixedRuns(count=2))
            found.append(Case(pair, both, flipped(both)))
        return found

    def test_max_loss(self) -> None:
        """Beyond the largest loss nothing is left, and just below it something is."""
        for case in self.cases():
            top = case.pair.max_loss
            assert case.definition.hockey_stick(top).upper() <= 1e-12
            assert case.definition.hockey_stick(top * (1 - 1e-6)).lower() > 0

    @pytest.mark.parametrize("order", [1.5, 9.0])
    def test_renyi(self, order: float) -> None:
        """The bracket holds the divergence."""
        for case in self.cases():
            found = answers.renyi(Product.of(case.pair), order)
            true = case.definition.moment(order - 1.0).real.log() / ball(order - 1.0)
            assert ball(found.lower).lower() <= true.upper()
            assert true.lower() <= ball(found.upper).upper()


GEOMETRIC = TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 10))
LOGARITHMIC = TruncatedNegativeBinomial(eta=0, gamma=Fraction(1, 10))
LONG = TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 1000))


@pytest.mark.parametrize(
    ("mu", "runs", "value"),
    [
        (Fraction(1, 4), GEOMETRIC, 1.557),
        (Fraction(1, 4), LOGARITHMIC, 1.321),
        (Fraction(1, 10), LONG, 0.958),
    ],
)
def test_reference_values(mu: Fraction, runs: TruncatedNegativeBinomial, value: float) -> None:
    """Epsilon at delta 1e-6 of three selections, to the digits they were first computed to."""
    pair = SelectedPair(base=Product.of(GaussianPair(mu_squared=mu**2)), runs=runs)

    found = pair.epsilon(1e-6)

    assert found.upper <= value + 5e-4
    assert found.lower >= value - 2e-3
    assert found.relative_width <= 1e-3


@pytest.mark.some(9)
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.1])
@pytest.mark.parametrize("gamma", [Fraction(1, 2), Fraction(1, 10), Fraction(1, 100)])
@pytest.mark.parametrize("eta", [Fraction(-1, 2), Fraction(0), Fraction(1)])
def test_brackets_are_narrow(eta: Fraction, gamma: Fraction, delta: float) -> None:
    """Within 0.3 % in epsilon for means up to 100, also where delta is large."""
    runs = TruncatedNegativeBinomial(eta=eta, gamma=gamma)
    pair = SelectedPair(base=Product.of(GaussianPair(mu_squared=Fraction(1, 4))), runs=runs)

    found = pair.epsilon(delta)

    assert 0 < found.lower <= found.upper
    assert found.width <= 3e-3 * found.upper


@pytest.mark.parametrize("count", [2, 3, pytest.param(10, marks=pytest.mark.slow)])
def test_fixed_runs(count: int) -> None:
    """Within 0.05 % in epsilon, where tangents of n z^(n-1) alone leave 4 %."""
    base = Product.of(GaussianPair(mu_squared=Fraction(1, 4)))
    found = SelectedPair(base=base, runs=FixedRuns(count=count)).epsilon(1e-6)

    assert 0 < found.lower <= found.upper
    assert found.width <= 5e-4 * found.upper


def _geometric(a: np.ndarray) -> np.ndarray:
    """The derivative of the law of a geometric number of mean 10, at 1 - a."""
    return np.asarray(10 * (0.1 / (0.1 + 0.9 * a)) ** 2)


def _three(a: np.ndarray) -> np.ndarray:
    """The same of three runs."""
    return np.asarray(3 * np.clip(1 - a, 0.0, 1.0) ** 2)


def _quadrature(mu: float, w: Callable[[np.ndarray], np.ndarray], epsilon: float) -> float:
    """Theorem 1's integral for a Gaussian base, on plain grids of quantiles: an estimate."""
    from scipy.special import ndtr
    from scipy.stats import norm

    x = np.linspace(mu / 2 + 8, -3.0, 4001)  # events: outcomes above x, losses falling
    k, A = norm.sf(x - mu), norm.sf(x)
    y = np.linspace(-9.0, 2.0, 900)  # others: outcomes below y
    j, B = ndtr(y - mu), ndtr(y)
    total = 0.0
    for i in range(x.size - 1):
        middle = 0.5 * (k[i] + k[i + 1]), 0.5 * (A[i] + A[i + 1])
        usable = y < x[i]
        value = w(middle[0] + j[usable]) * (k[i + 1] - k[i]) - math.exp(epsilon) * w(
            middle[1] + B[usable]
        ) * (A[i + 1] - A[i])
        total += max(float(value.max(initial=0.0)), 0.0)
    return total


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.5])
def test_profile_is_the_integral(epsilon: float) -> None:
    """Delta of a Gaussian base agrees with Theorem 1's integral, computed independently."""
    pair = SelectedPair(base=Product.of(GaussianPair(mu_squared=Fraction(1, 4))), runs=GEOMETRIC)
    truth = _quadrature(0.5, _geometric, epsilon)

    found = pair.delta(epsilon)

    assert found.lower <= truth * 1.002
    assert found.upper >= truth * 0.998
    assert found.width <= 0.01 * found.upper


def test_advantage_of_three_runs_is_narrow() -> None:
    """Where all others rank below an outcome, cells as short as rounding left 16 %."""
    found = select(GDP(mu=1), FixedRuns(count=3)).advantage()
    assert found.relative_width < 1e-4
    assert _quadrature(1.0, _three, 0.0) == pytest.approx(found.upper, rel=1e-4)


def test_table_holds_the_profile() -> None:
    """The finite pairs above and below, between the direct answers."""
    pair = SelectedPair(base=Product.of(GaussianPair(mu_squared=Fraction(1, 4))), runs=GEOMETRIC)
    epsilon = np.array([-2.0, -0.5, 0.0, 0.3, 1.0, 2.0, 3.0])
    direct = [pair.delta(float(one)) for one in epsilon]
    above, below = pair.above(1).profile(epsilon), pair.below(1).profile(epsilon)
    assert above is not None
    assert below is not None
    for i, one in enumerate(direct):
        assert above[1][i] >= one.lower
        assert below[0][i] <= one.upper
        assert above[1][i] <= 1.02 * one.upper
        rest = max(-math.expm1(epsilon[i]), 0.0)
        assert below[0][i] - rest >= 0.7 * (one.lower - rest)


def test_ratios_near_the_largest_float() -> None:
    """Losses of hundreds of nats, whose squares no float holds, are answered."""
    pair = SelectedPair(base=Product.of(GaussianPair(mu_squared=Fraction(225))), runs=GEOMETRIC)

    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert pair.epsilon(1e-5).relative_width < 0.03


@pytest.mark.parametrize(
    ("mu", "runs", "delta"),
    [
        (15, GEOMETRIC, 1e-6),  # A(x) jumps within 1e-12 of x = 1
        (10, FixedRuns(count=2), 1e-6),  # masses e^-50 under Q, next to which phi' is 0
        (1, FixedRuns(count=100), 1e-6),
        (1, FixedRuns(count=1), 1.3e-20),  # an event of a mass below the rounding of 1
    ],
)
def test_masses_are_rounded_relatively(mu: int, runs: RunLaw, delta: float) -> None:
    """Neither end is vacuous at small masses, of which some are known to their own digits."""
    base = Product.of(GaussianPair(mu_squared=Fraction(mu**2)))

    assert SelectedPair(base=base, runs=runs).epsilon(delta).relative_width < 1e-4


def test_infinite_losses() -> None:
    """What betrays one run with probability p betrays the selection with 1 - phi(1 - p)."""
    response = RandomizedResponsePair(epsilon=Fraction(1), infinite=Fraction(1, 1000))
    pair = SelectedPair(base=Product.of(response), runs=FixedRuns(count=5))

    assert pair.infinite_mass == pytest.approx(1 - 0.999**5)
    assert pair.epsilon(1e-3).lower == math.inf
    assert pair.epsilon(0.01).upper < 6


def test_outcomes_that_one_dataset_alone_has_make_larger_losses() -> None:
    """What Q alone has, ranked on top, is above all that P has: the order Q-only, 2, 1 by hand."""
    p, q = (Fraction(7, 13), Fraction(0), Fraction(6, 13)), (Fraction(4, 9), Fraction(2, 9))
    gamma, epsilon = Fraction(3, 100), 1.2
    base = Product.of(FinitePair(p=p, q=(*q, Fraction(1, 3))))
    pair = SelectedPair(base=base, runs=TruncatedNegativeBinomial(eta=1, gamma=gamma))

    def phi(z: Fraction) -> Fraction:
        return gamma * z / (1 - (1 - gamma) * z)

    masses = [(phi(Fraction(1)) - phi(p[0]), phi(1 - q[1]) - phi(q[0])), (phi(p[0]), phi(q[0]))]
    truth = sum(max(float(a) - math.exp(epsilon) * float(b), 0.0) for a, b in masses)
    bracket = pair.delta(epsilon)

    assert 0.5 < truth <= bracket.upper
    assert bracket.relative_width < 1e-3


def test_tails_are_left_to_the_answer() -> None:
    """A tiny delta is still answered, and an unreachable one is infinite, not wrong."""
    base = Product.of(GaussianPair(mu_squared=Fraction(1, 16)))
    pair = SelectedPair(base=base, runs=GEOMETRIC)

    assert pair.epsilon(1e-60).relative_width < 0.02
    assert pair.epsilon(0.0).upper == math.inf
    assert pair.epsilon(0.0).lower > pair.epsilon(1e-60).upper * 0.5
    assert selection(base, GEOMETRIC) is selection(base, GEOMETRIC)


def test_deltas_below_all_others_are_those_of_the_largest_loss() -> None:
    """At delta 0 the upper end is the largest loss, not what is enough at 1e-300."""
    base = Product.of(RandomizedResponsePair(epsilon=Fraction(1)))
    pair = SelectedPair(base=base, runs=GEOMETRIC)
    for delta in (0.0, 1e-310):
        found = pair.epsilon(delta)
        assert found.lower <= found.upper == pair.max_loss


def test_many_runs_multiply_the_rounding_of_what_is_missed() -> None:
    """With a mean of 10^9 runs phi(1 - p) moves by 1e-8 between two floats next to 1."""
    runs = TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 10**9))
    for k in range(200):
        mass = Fraction(1e-9) * Fraction(50 + k, 50)
        base = Product.of(RandomizedResponsePair(epsilon=Fraction(1), infinite=mass))
        missed = runs.gamma * (1 - mass) / (runs.gamma + (1 - runs.gamma) * mass)
        assert SelectedPair(base=base, runs=runs).infinite_mass >= 1 - missed


@pytest.mark.parametrize("runs", [FixedRuns(count=3), TruncatedNegativeBinomial(eta=1, gamma=0.1)])
@pytest.mark.parametrize("order", [1.25, 2.0, 8.0])
def test_zcdp_bound_is_above_the_divergences(
    runs: FixedRuns | TruncatedNegativeBinomial, order: float
) -> None:
    """M(s) made of the profile at every odds, those below 1 too, is below e^(rho s (s + 1))."""
    pair = SelectedPair(base=Product.of(RandomizedResponsePair(epsilon=Fraction(1, 2))), runs=runs)
    epsilon = np.linspace(-8.0, 8.0, 4_001)
    delta, s = pair.profile(epsilon)[0], order - 1.0
    integrand = s * (s + 1.0) * np.exp(s * epsilon) * delta
    moment = float(np.trapezoid(integrand, epsilon)) + (s + 1.0) * math.exp(-8.0 * s)

    assert math.log(moment) / s <= pair.zcdp_bound * order


LAWS: tuple[RunLaw, ...] = (
    TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 20)),
    TruncatedNegativeBinomial(eta=0, gamma=Fraction(1, 10)),
    PoissonRuns(rate=5),
    BinomialRuns(trials=10, probability=Fraction(1, 3)),
    FixedRuns(count=3),
)


def explicit(mu: float, law: RunLaw, order: float, sign: int) -> float:
    """The divergence of the best of runs of N(mu, 1) from N(0, 1), by the output or its negative.

    The density of the best output x is phi'(F(x)) f(x).
    """
    x = np.linspace(-9.0, 9.0 + order * mu, 4001)

    def log_density(mean: float) -> Reals:
        below = norm.cdf(sign * (x - mean))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(law.derivative(below)) + norm.logpdf(x - mean))

    terms = np.exp(order * log_density(mu) + (1 - order) * log_density(0.0))
    total = float(terms.sum()) * (x[1] - x[0])  # the trapezoid rule
    return float(np.log(law.probability_of_none + total) / (order - 1.0))


@pytest.mark.some(2)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
@pytest.mark.parametrize(
    "order", [*(pytest.param(x, marks=pytest.mark.slow) for x in (1.5, 2.0)), 8.0]
)
def test_no_score_exceeds_a_divergence_that_is_narrow(law: RunLaw, order: float) -> None:
    """Two scores of Gaussian runs are at or below the upper end, which is within 1 %."""
    found = select(GDP(mu=Fraction(1, 4)), law).rdp(order=order)
    best = max(explicit(0.25, law, order, sign) for sign in (1, -1))
    assert best <= found.upper
    assert found.lower <= found.upper <= 1.01 * found.lower


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.describe())
def test_rho_of_selections_of_training(law: RunLaw) -> None:
    """Rho is that of the fewest runs, whose tails no law hides, and the divergences are small."""
    step = Gaussian(sigma=Fraction("2.13"), sensitivity=L2(1))
    step_guarantee = step.subsample(Poisson(sampling_rate=Fraction("6.18e-4"))).guarantee()
    training = self_compose(step_guarantee, 6556)
    chosen = select(training, law)
    rho = chosen.zcdp()
    one = training.zcdp()
    assert one.lower * law.smallest <= rho.upper
    assert rho.lower == pytest.approx(one.lower * law.smallest, rel=1e-9)
    assert rho.relative_width < 1e-4
    divergence = chosen.rdp(order=2)
    assert training.rdp(order=2).lower <= divergence.upper
    assert divergence.relative_width < 0.01


def test_rho_of_selections_of_gaussian_runs() -> None:
    """Rho is at or above every order's divergence over the order, and narrow."""
    chosen = select(GDP(mu=Fraction(1, 4)), PoissonRuns(rate=5))
    rho = chosen.zcdp()
    ratios = [chosen.rdp(order=a).lower / a for a in (1.01, 1.5, 2, 4, 16, 64)]
    assert max(ratios) <= rho.upper
    assert max(explicit(0.25, PoissonRuns(rate=5), a, -1) / a for a in (1.1, 2.0)) <= rho.upper
    assert rho.relative_width < 1e-3


def _counts() -> Guarantee[Any]:
    """Counts whose losses end far out, where a table's points meet at -1."""
    laplace = Laplace(scale=Fraction("5.2"), sensitivity=L1(1)).guarantee()
    response = RandomizedResponse(
        epsilon=Fraction("2.37"), categories=2, relation=AddRemove()
    ).guarantee()
    return compose(self_compose(laplace, 14), self_compose(response, 8))


@pytest.mark.slow
def test_tables_that_end_far_out() -> None:
    """Corners at e^-40 and less divide nothing by 0."""
    chosen = select(_counts(), PoissonRuns(rate=Fraction("22.4")))
    rho = chosen.zcdp()
    assert _counts().zcdp().lower <= rho.upper
    assert rho.relative_width < 1e-3
    counts = self_compose(DiscreteGaussian(sigma=5, sensitivity=L1(1)).guarantee(), 100)
    both = compose(counts, self_compose(Histogram(scale=10, relation=AddRemove()).guarantee(), 2))
    found = select(both, TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 10)))
    assert found.epsilon(delta=7e-8).relative_width < 1e-4


@pytest.mark.parametrize(
    "rate", [0.1, *(pytest.param(one, marks=pytest.mark.slow) for one in (0.01, 0.5, 0.9))]
)
def test_power_of_two_runs_is_that_of_both_answers(rate: float) -> None:
    """The bracket holds the power of Neyman and Pearson's test between both answers, exactly."""
    base = Product.of(RandomizedResponsePair(epsilon=Fraction(3, 4)))
    likely = 1.0 / (1.0 + math.exp(-0.75))
    p = np.array([likely**2, 2 * likely * (1 - likely), (1 - likely) ** 2])
    truth = float(np.interp(rate, np.append(0.0, p[::-1].cumsum()), np.append(0.0, p.cumsum())))

    pair = SelectedPair(base=base, runs=FixedRuns(count=2))
    found = answers.larger_power(Product.of(pair), Product.of(pair.swapped()), rate)

    assert found.lower - 1e-12 <= truth <= found.upper + 1e-12
    assert found.relative_width <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("rate", [1e-3, 0.9])
@pytest.mark.parametrize("runs", [FixedRuns(count=3), PoissonRuns(rate=4)])
def test_power_agrees_with_that_of_tables(runs: RunLaw, rate: float) -> None:
    """The bracket by orders meets that by finite pairs, and no bound by one epsilon is below."""
    pair = SelectedPair(base=Product.of(GaussianPair(mu_squared=Fraction(1, 4))), runs=runs)
    places = np.linspace(-2.0, 3.0, 21)

    found = pair.power(rate)
    other = trade_off.true_positive_rate(Product.of(pair), rate)

    assert max(found.lower, other.lower) <= min(found.upper, other.upper)
    assert found.lower <= (pair.profile(places)[1] + np.exp(places) * rate).min()
    assert found.relative_width <= 2e-3


def test_rho_of_a_mixture_of_noises_is_narrow() -> None:
    """What bounds every pair by itself is not taken while the orders say less of all together."""
    rate = Poisson(sampling_rate=Fraction("0.00405"))
    training = Gaussian(sigma=Fraction("3.01"), sensitivity=L2(1)).subsample(rate).repeat(606)
    laplace = self_compose(Laplace(scale=Fraction("27.9"), sensitivity=L1(1)).guarantee(), 25)
    both = compose(training.guarantee(), laplace)
    rho = both.zcdp()

    assert rho.relative_width < 1e-4
    assert all(both.rdp(order=order).lower <= rho.upper * order for order in (1.5, 2, 8, 100))
    assert rho.lower <= training.guarantee().zcdp().upper + laplace.zcdp().upper


@pytest.mark.slow
def test_the_order_of_two_directions_does_not_matter() -> None:
    """The smaller direction is left out by coarse lines, whichever of both it is."""
    step = Gaussian(sigma=2, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.1))
    pair = select(step.repeat(100).guarantee(), GEOMETRIC).to_pair()
    for delta in (1e-2, 1e-6):
        first = answers.larger_epsilon(pair.forward, pair.backward, delta)
        other = answers.larger_epsilon(pair.backward, pair.forward, delta)
        assert first.lower <= other.upper <= first.upper * (1 + 1e-4)
        assert other.lower <= first.upper <= other.upper * (1 + 1e-4)
    for epsilon in (0.5, 2.0):
        small = answers.delta(pair.backward, epsilon)
        first = answers.larger_delta(pair.forward, pair.backward, epsilon)
        other = answers.larger_delta(pair.backward, pair.forward, epsilon)
        assert small.upper < first.lower <= other.upper <= first.upper * (1 + 1e-3)
        assert other.lower <= first.upper
