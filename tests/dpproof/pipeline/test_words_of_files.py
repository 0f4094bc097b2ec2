"""What pipeline files can say beside a plain number: ratios, epochs, groups, statements, means."""

from __future__ import annotations

import math
import tomllib
from fractions import Fraction

import pytest

from dpproof.accountant import AddRemove
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rdp import RDP, ZCDP
from dpproof.accountant.relation import Relation
from dpproof.accountant.run_counts.law import PoissonRuns, RunLaw, TruncatedNegativeBinomial
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.sensitivity import L1, L2, Differences, JointSensitivity, LInf
from dpproof.errors import InputError
from dpproof.mechanisms import (
    CorrelatedGaussian,
    FiniteMechanism,
    Gaussian,
    GeneralisedExponential,
    Histogram,
    Laplace,
    NumericAnswers,
    ProposeTestRelease,
    Rappor,
    ThresholdedCounts,
    WithinBound,
    compose,
)
from dpproof.mechanisms.statistics.bounded_mean import Statistic
from dpproof.pipeline.parse import parse
from dpproof.pipeline.pipeline import Pipeline

NOISE = 'mechanism = "gaussian"\nnoise_multiplier = 2.0\n'
BATCHES = 'sampling = { scheme = "poisson", batch = 256, population = 60000 }\n'
ABOVE = 'mechanism = "above-threshold"\nthreshold_scale = 2.0\nquery_scale = 4.0\nsensitivity = 1\n'

COIN = 'mechanism = "finite"\n'
ELLIPSE = 'mechanism = "correlated-gaussian"\ncovariance = [[4, 3], [3, 4]]\n'


def pipeline(stage: str, *, head: str = "delta = 1e-6", relation: str = "add-remove") -> Pipeline:
    """A file of one stage."""
    text = f'[pipeline]\nrelation = "{relation}"\n{head}\n[[stage]]\nname = "one"\n{stage}'
    return parse(tomllib.loads(text), "file")


def guarantee(stage: str, *, head: str = "delta = 1e-6") -> Guarantee[Relation]:
    """The guarantee of the one stage."""
    found = pipeline(stage, head=head)
    return found.stages[0].guarantee(found.relation)


def test_ratios_are_exact() -> None:
    """A rate as a text is the ratio, not the float next to it."""
    stage = pipeline(NOISE + 'sampling = { scheme = "poisson", rate = "256/60000" }').stages[0]

    assert stage.sampling == Poisson(sampling_rate=Fraction(256, 60000))


def test_epochs_over_a_population() -> None:
    """60 epochs of batches of 256 of 60,000 are 14,063 steps: the last is counted whole."""
    stage = pipeline(NOISE + BATCHES + "epochs = 60").stages[0]

    assert stage.count == 14_063
    assert stage.sampling == Poisson(sampling_rate=Fraction(256, 60000))


def test_delta_by_the_number_of_records() -> None:
    """1/n exactly, and other powers of n rounded down by next to nothing."""
    assert pipeline(NOISE, head='delta = "1/n"\nn = 1000').delta == Fraction(1, 1000)
    found = float(pipeline(NOISE, head='delta = "1/n^1.1"\nn = 60000').delta)
    assert 60000**-1.1 * (1 - 1e-11) < found < 60000**-1.1


def test_nested_stages_run_together_several_times() -> None:
    """A week of two releases, 52 times, is what the mechanisms say."""
    text = (
        'count = 52\n[[stage.stage]]\nname = "a"\nmechanism = "histogram"\nsigma = 5.0\n'
        '[[stage.stage]]\nname = "b"\nmechanism = "histogram"\nscale = 9.0\ncount = 3'
    )
    week = compose(
        Histogram(scale=5, relation=AddRemove()),
        Histogram(scale=9, noise="laplace", relation=AddRemove()).repeat(3),
    )

    assert guarantee(text) == week.repeat(52).guarantee()
    assert pipeline(text).stages[0].numbers()["count"] == 52
    assert pipeline(text).stages[0].replaced("count", Fraction(2)).count == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("epsilon = 0.5", PureDP(epsilon=0.5)),
        ("epsilon = 0.5\ndelta = 0.25", ApproxDP(epsilon=0.5, delta=0.25)),
        ("rho = 0.5", ZCDP(rho=0.5)),
        ("mu = 0.5", GDP(mu=0.5)),
        ("points = [[2, 0.25], [8, 1.5]]", RDP(points=((2, 0.25), (8, 1.5)))),
    ],
)
def test_stated_guarantees_of_others(text: str, expected: Guarantee[Relation]) -> None:
    """Each notion is taken as it stands, and does not run."""
    found = pipeline(f'mechanism = "stated"\n{text}')
    mechanism = found.stages[0].build(found.relation)

    assert mechanism.guarantee() == expected
    with pytest.raises(NotImplied, match="not here"):
        mechanism.release([])


def test_monotone_queries_cost_less() -> None:
    """The word reaches the mechanism, and is refused where records are replaced."""
    either, together = (guarantee(ABOVE + text) for text in ("", "monotone = true"))

    assert together.epsilon(delta=0).upper == pytest.approx(0.75)
    assert either.epsilon(delta=0).upper == pytest.approx(1)
    assert guarantee(ABOVE + "gap = true").epsilon(delta=0) == either.epsilon(delta=0)
    with pytest.raises(InputError, match="replace-one"):
        pipeline(ABOVE + "monotone = true", relation="replace-one")


def test_few_numbers_that_move_a_little() -> None:
    """Beside the sum of changes a Laplace release may state the largest."""
    text = 'mechanism = "laplace"\nscale = 5.0\nsensitivity = 10\n'
    few = JointSensitivity(l1=10, linf=1)

    assert guarantee(text + "each = 1") == Laplace(scale=5, sensitivity=few).guarantee()
    assert guarantee(text) == Laplace(scale=5, sensitivity=L1(10)).guarantee()


def test_noise_by_local_sensitivity() -> None:
    """Smooth bounds and tests of stability cost what their numbers say, and do not run."""
    smooth = 'mechanism = "smooth-sensitivity"\nbeta = 0.25\nscale = 2.0'
    stable = 'mechanism = "propose-test-release"\nsensitivity = 2\nepsilon = 1.0\ndelta = 1e-9\n'

    assert guarantee(smooth).epsilon(delta=0).upper == pytest.approx(0.744933, abs=1e-6)
    total = Gaussian(sigma=4, sensitivity=L2(2), query=len)
    there = ProposeTestRelease(release=total, distance=len, epsilon=1, delta=1e-9)
    assert guarantee(stable + "sigma = 4.0") == there.guarantee()
    found = pipeline(smooth)
    with pytest.raises(NotImplied, match="not here"):
        found.stages[0].build(found.relation).release([1])


@pytest.mark.slow
def test_groups_are_protected_part_by_part() -> None:
    """Four records: mu is four times as large, for every part alike."""
    text = NOISE + "count = 9"

    four = "delta = 1e-6\nprotect = 4"
    assert guarantee(text, head=four) == GDP(mu=6)
    coin = COIN + 'table = [["3/4", "1/4"], ["1/4", "3/4"]]\n'
    for sampling, once in (("", 3.0), ('sampling = { scheme = "poisson", rate = 0.5 }\n', 2.0)):
        found = guarantee(coin + sampling, head=four).epsilon(delta=1e-9).upper
        assert found == pytest.approx(4 * math.log(once), abs=1e-6)


@pytest.mark.parametrize(
    ("select", "law"),
    [
        ('runs = "geometric", mean = 8', TruncatedNegativeBinomial(eta=1, gamma=0.125)),
        ('runs = "poisson", mean = 2.5', PoissonRuns(rate=2.5)),
    ],
)
def test_numbers_of_runs_by_their_mean(select: str, law: RunLaw) -> None:
    """The law of the family that has the mean."""
    assert pipeline(NOISE + f"select = {{ {select} }}").stages[0].runs == law


def test_other_laws_by_their_mean() -> None:
    """Where gamma has no formula it is found."""
    for text in ('runs = "logarithmic"', 'runs = "truncated-negative-binomial", eta = 0.5'):
        runs = pipeline(NOISE + f"select = {{ {text}, mean = 12 }}").stages[0].runs
        assert runs is not None
        assert runs.mean == pytest.approx(12, rel=1e-6)


@pytest.mark.parametrize(
    ("stage", "head", "why"),
    [
        (NOISE + "epochs = 3", "delta = 1e-6", "epochs: expected sampling"),
        (NOISE + BATCHES + "epochs = 3\ncount = 2", "delta = 1e-6", "either count or epochs"),
        (NOISE, 'delta = "1/n"', "n: missing"),
        (NOISE, 'delta = "1/m"', "delta: expected"),
        (NOISE, "delta = 1e-6\nn = 3", "n: left out"),
        (NOISE, 'delta = "1/n^0"\nn = 3', "exponent from 0"),
        (NOISE + 'sampling = { scheme = "poisson", rate = "1/0" }', "delta = 1e-6", "rate"),
        (NOISE + BATCHES.replace("256", "70000"), "delta = 1e-6", "at most population"),
        (NOISE + 'select = { runs = "fixed", mean = 3 }', "delta = 1e-6", "not a parameter"),
        (NOISE + 'select = { runs = "logarithmic", mean = 0.5 }', "delta = 1e-6", "above 1"),
        ('mechanism = "stated"\nrho = 1.0\nmu = 1.0', "delta = 1e-6", "not both"),
        ('mechanism = "stated"\npoints = []', "delta = 1e-6", "points: expected an array"),
        ('mechanism = "stated"\npoints = 3', "delta = 1e-6", "points: expected an array"),
        ('mechanism = "stated"\npoints = [[2]]', "delta = 1e-6", "points: expected an array"),
        ('mechanism = "stated"\npoints = [[2, -1]]', "delta = 1e-6", "points, 1: divergence"),
        ('mechanism = "stated"\npoints = [[0.5, 1]]', "delta = 1e-6", "order must be"),
        (COIN + 'table = [[0.9, 0.1], ["1/2", "1/2"]]', "delta = 1e-6", "sum to exactly 1.*write"),
        (COIN + "table = [[1, 0], [2, -1]]", "delta = 1e-6", "table, 2: 1: expected a number from"),
        (COIN + "table = [[], []]", "delta = 1e-6", "table: expected an array"),
        (COIN + "table = [[1], [1]]\nneighbours = [[0, 2]]", "delta = 1e-6", "0 to 1"),
        (COIN + "table = [[1], [1]]\nneighbours = [[0]]", "delta = 1e-6", "neighbours: expected"),
        (ELLIPSE + "sensitivity = { l3 = 1 }", "delta = 1e-6", "l3"),
        (ELLIPSE + "sensitivity = 1\ndifferences = [[1, 1]]", "delta = 1e-6", "not both"),
        (ELLIPSE + "differences = [[1]]", "delta = 1e-6", "length 2"),
        (ABOVE + "monotone = 1", "delta = 1e-6", "monotone: expected true or false"),
        (NOISE, "delta = 1e-6\nprotect = 0", "protect"),
    ],
)
def test_refusals_say_where(stage: str, head: str, why: str) -> None:
    """Every combination without a meaning is refused by name."""
    with pytest.raises(InputError, match=why):
        pipeline(stage, head=head)


def test_noisy_counts_above_a_threshold() -> None:
    """Either noise, with what one record has published so rarely."""
    laplace = ThresholdedCounts(scale=2, delta=1e-8, contributions=3, relation=AddRemove())
    normal = ThresholdedCounts(
        scale=4, noise="gaussian", delta=1e-8, contributions=3, relation=AddRemove()
    )
    for words, mine in (("scale = 2.0", laplace), ("sigma = 4.0", normal)):
        text = f'mechanism = "thresholded-counts"\n{words}\ndelta = 1e-8\ncontributions = 3\n'
        assert guarantee(text).epsilon(delta=1e-6) == mine.guarantee().epsilon(delta=1e-6)


def test_normal_noise_above_a_threshold() -> None:
    """With a bound on the number of queries, which costs."""
    text = (
        'mechanism = "gaussian-above-threshold"\nthreshold_sigma = 10\nquery_sigma = 20\n'
        "queries = 100\nsensitivity = 1\n"
    )
    assert guarantee(text).epsilon(delta=1e-6).upper == pytest.approx(0.932, abs=1e-3)


def test_clamped_noise_costs_what_noise_costs() -> None:
    """A public range is a whole addition to any noise, and the derivation says that it is there."""
    plain = 'mechanism = "laplace"\nscale = 5.0\nsensitivity = 1\n'
    clamped = guarantee(plain + "lower = 0\nupper = 1\n")
    assert clamped.epsilon(delta=1e-6) == guarantee(plain).epsilon(delta=1e-6)
    assert "clamping to [0, 1]" in clamped.derivation.explain()
    staircase = 'mechanism = "staircase"\nepsilon = 1\nsensitivity = 2\n'
    inside = guarantee(staircase + "lower = 0\nupper = 9\n")
    assert inside.epsilon(delta=1e-6) == guarantee(staircase).epsilon(delta=1e-6)
    with pytest.raises(InputError, match="upper"):
        pipeline(plain + "lower = 0\n")
    with pytest.raises(InputError, match="in order"):
        pipeline(plain + "lower = 1\nupper = 0\n")


def test_numeric_answers_are_so_many_shifts() -> None:
    """As NumericAnswers states, for so many positions."""
    text = 'mechanism = "numeric-answers"\nscale = 5.0\nsensitivity = 2\ncutoff = 3\n'
    mine = NumericAnswers(query=len, scale=5, sensitivity=LInf(2), cutoff=3)
    assert guarantee(text).epsilon(delta=1e-6) == mine.guarantee().epsilon(delta=1e-6)


def test_rappor_is_its_two_bits() -> None:
    """A report of one value, and all of them by the permanent response."""
    text = 'mechanism = "rappor"\nf = 0.5\none = {}\nzero = {}\ncategories = 8\n'
    mine = Rappor(f=0.5, one=0.75, zero=0.5, categories=8, relation=AddRemove()).guarantee()
    assert guarantee(text.format(0.75, 0.5)).epsilon(delta=1e-6) == mine.epsilon(delta=1e-6)
    every = Rappor(f=0.5, one=0.75, zero=0.5, categories=8, relation=AddRemove()).permanent()
    assert guarantee(text.format(1, 0)).epsilon(delta=1e-6) == every.epsilon(delta=1e-6)
    with pytest.raises(InputError, match="above zero"):
        pipeline(text.format(0.5, 0.5))


def test_tables_of_probabilities() -> None:
    """A table in the file is the mechanism of the table, of the neighbours that it names."""
    text = COIN + 'table = [["2/3", "1/3"], [0.5, 0.5], [1, 0]]\n'
    half = Fraction(1, 2)
    rows = [[Fraction(2, 3), Fraction(1, 3)], [half, half], [Fraction(1), Fraction(0)]]

    assert guarantee(text) == FiniteMechanism(rows, relation=AddRemove()).guarantee()
    near = FiniteMechanism(rows, neighbours=[(0, 1)], relation=AddRemove()).guarantee()
    assert guarantee(text + "neighbours = [[0, 1]]") == near


def test_noise_with_a_covariance() -> None:
    """By a norm, or by the changes that the query can make."""
    for text, moves in (
        ("sensitivity = 2", L2(2)),
        ("sensitivity = { linf = 2 }", LInf(2)),
        ("differences = [[1, 1], [1, -1]]", Differences([[1, 1], [1, -1]])),
    ):
        mine = CorrelatedGaussian([[4, 3], [3, 4]], sensitivity=moves)
        assert guarantee(ELLIPSE + text) == mine.guarantee()


def test_choices_among_losses_of_different_sensitivities() -> None:
    """Epsilon says what it costs, whatever the sensitivities are."""
    mine = GeneralisedExponential(
        epsilon=1, sensitivities=[1, 100], relation=AddRemove()
    ).guarantee()
    assert guarantee('mechanism = "generalised-exponential"\nepsilon = 1') == mine


@pytest.mark.parametrize("statistic", ["sum", "mean"])
def test_statistics_within_a_released_bound(statistic: Statistic) -> None:
    """Noise in units of the sensitivity costs the same for sums and means and every bound."""
    text = 'mechanism = "within-bound"\n'
    normal = WithinBound(statistic=statistic, noise_multiplier=4, relation=AddRemove())
    laplace = WithinBound(
        statistic=statistic, noise_multiplier=4, noise="laplace", relation=AddRemove()
    )

    assert guarantee(text + "noise_multiplier = 4") == normal.guarantee()
    assert guarantee(text + "scale = 4") == laplace.guarantee()
    assert laplace.at(1024).guarantee() == laplace.guarantee()
