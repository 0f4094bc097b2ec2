"""A pipeline file that is right becomes exactly what it says."""

from __future__ import annotations

import tomllib
from fractions import Fraction

import pytest

from dpproof.accountant.relation import AddRemove, ReplaceLabel, ReplaceOne, ZeroOut
from dpproof.accountant.sampling import (
    BallsInBins,
    Poisson,
    RandomAllocation,
    SamplingScheme,
    ShuffledBatches,
    TruncatedPoisson,
    UserPoisson,
    WithoutReplacement,
    WithReplacement,
)
from dpproof.accountant.sensitivity import L2Contribution
from dpproof.errors import InputError
from dpproof.mechanisms import Gaussian, Shuffled
from dpproof.pipeline.parse import parse
from dpproof.pipeline.pipeline import Pipeline, Stage
from tests.dpproof.files import GAUSSIAN, GROUP, ISSUE, PIPELINE


def parsed(text: str) -> Pipeline:
    """The pipeline of some text."""
    return parse(tomllib.loads(text), "pipeline.toml")


def test_the_issues_example() -> None:
    """Every key of the example arrives, floats at their binary64 values."""
    pipeline = parsed(ISSUE)
    training, evaluation = pipeline.stages

    assert pipeline.relation == AddRemove()
    assert pipeline.delta == Fraction(1e-6)
    assert pipeline.epsilon == 8
    assert training.sampling == Poisson(sampling_rate=Fraction(0.01))
    assert (training.count, evaluation.count) == (10000, 3)
    assert training.releases[0].values == {"noise_multiplier": 1}
    assert evaluation.releases[0].values == {"scale": 20, "sensitivity": 1}
    assert evaluation.sampling is None


def test_sigma_with_sensitivity_is_in_data_units() -> None:
    """Sigma 6 at sensitivity 2 is a noise multiplier of 3."""
    by_sigma = 'mechanism = "gaussian"\nsigma = 6\nsensitivity = 2'
    by_multiplier = 'mechanism = "gaussian"\nnoise_multiplier = 3'
    a, b = (
        parsed(f'{PIPELINE}[[stage]]\nname = "a"\n{how}').stages[0].guarantee(AddRemove())
        for how in (by_sigma, by_multiplier)
    )

    assert a == b


def test_count_and_budget_may_be_left_out() -> None:
    """A stage runs once unless it says otherwise; a pipeline needs no budget."""
    pipeline = parsed('[pipeline]\nrelation = "replace-one"\ndelta = 1e-6\n' + GAUSSIAN)

    assert pipeline.relation == ReplaceOne()
    assert pipeline.epsilon is None
    assert pipeline.stages[0].count == 1


def test_releases_on_one_sample() -> None:
    """A group shares its sample; its releases have names or positions."""
    (stage,) = parsed(PIPELINE + GROUP).stages

    assert [release.name for release in stage.releases] == ["gradient", "2"]
    assert stage.count == 200
    assert dict(stage.numbers()) == {
        "count": 200,
        "rate": Fraction(0.02),
        "noise_multiplier": 2,
        "gradient.noise_multiplier": 2,
        "scale": 4,
        "2.scale": 4,
        "sensitivity": 1,
        "2.sensitivity": 1,
    }


def test_sampling_without_replacement() -> None:
    """Both sizes are read as whole numbers."""
    sampling = '{ scheme = "without-replacement", sample_size = 10, population_size = 1000 }'
    text = PIPELINE.replace("add-remove", "replace-one") + GAUSSIAN + f"sampling = {sampling}"

    (stage,) = parsed(text).stages

    assert stage.sampling == WithoutReplacement(sample_size=10, population_size=1000)


def test_a_sensitivity_may_name_its_norm() -> None:
    """A plain number is in the mechanism's usual norm; a table says which."""
    stage = '[[stage]]\nname = "a"\nmechanism = "discrete-gaussian"\nsigma = 3\nsensitivity = '
    plain, l1, l2 = (
        parsed(f"{PIPELINE}{stage}{value}").stages[0].releases[0]
        for value in ("2", "{ l1 = 2 }", "{ l2 = 1.5 }")
    )

    assert plain == l1
    assert (l1.norm, l1.values["sensitivity"]) == ("l1", Fraction(2))
    assert (l2.norm, l2.values["sensitivity"]) == ("l2", Fraction(3, 2))


def test_replacing_a_number_changes_that_number_only() -> None:
    """Every address can be written back, and changes what ``numbers`` says there."""
    (stage,) = parsed(PIPELINE + GROUP).stages

    for address in ("count", "rate", "noise_multiplier", "2.scale", "gradient.noise_multiplier"):
        changed = stage.replaced(address, Fraction(1)).numbers()
        plain = address.split(".")[-1]
        assert changed[address] == 1
        assert {name for name, value in changed.items() if value != stage.numbers()[name]} == {
            name for name in changed if name.split(".")[-1] == plain
        }


def test_a_gaussian_sum_on_poisson_samples_under_replace_one() -> None:
    """A stated contribution is all that the theorem asks for; the cost is that of the library."""
    text = (
        PIPELINE.replace("add-remove", "replace-one")
        + '[[stage]]\nname = "training"\nmechanism = "gaussian"\nsigma = 2\ncontribution = 3\n'
        + 'sampling = { scheme = "poisson", rate = 0.25 }\ncount = 5\n'
    )
    (stage,) = parsed(text).stages
    noise = Gaussian(sigma=2, sensitivity=L2Contribution(3, ReplaceOne()))

    assert stage.releases[0].values == {"sigma": 2, "contribution": 3}
    step = noise.subsample(Poisson(sampling_rate=0.25)).repeat(5)
    assert stage.guarantee(ReplaceOne()) == step.guarantee()


COUNTED: dict[str, tuple[SamplingScheme, str]] = {
    '"without-replacement", sample_size = 2, population_size = 9': (
        WithoutReplacement(sample_size=2, population_size=9),
        "contribution",
    ),
    '"with-replacement", sample_size = 2, population_size = 9': (
        WithReplacement(sample_size=2, population_size=9),
        "sample_size",
    ),
    '"truncated-poisson", rate = 0.25, largest = 2, population_size = 9': (
        TruncatedPoisson(sampling_rate=0.25, largest=2, population_size=9),
        "largest",
    ),
    '"user-poisson", rate = 0.25, contributions = 2': (
        UserPoisson(sampling_rate=0.25, contributions=2),
        "contributions",
    ),
}
SUM_STAGE = '[[stage]]\nname = "training"\nmechanism = "gaussian"\nsigma = 2\ncontribution = 3\n'


@pytest.mark.parametrize("said", COUNTED)
def test_samples_in_which_records_count_often_are_of_gaussian_sums(said: str) -> None:
    """The scheme and its numbers, which can be written back; the cost under every relation."""
    text = PIPELINE + SUM_STAGE + f"sampling = {{ scheme = {said} }}\n"
    (stage,) = parsed(text).stages
    scheme, address = COUNTED[said]
    noise = Gaussian(sigma=2, sensitivity=L2Contribution(3))

    assert stage.sampling == scheme
    assert stage.guarantee(AddRemove()) == noise.subsample(scheme).guarantee()
    changed = stage.replaced(address, Fraction(1)).numbers()
    assert {name for name, value in changed.items() if value != stage.numbers()[name]} == {address}
    with pytest.raises(InputError, match="gaussian release"):
        parsed(text.replace("contribution =", "sensitivity ="))
    for relation in (ZeroOut(), ReplaceOne()):
        other = text.replace("add-remove", relation.name)
        if isinstance(scheme, UserPoisson) and isinstance(relation, ReplaceOne):
            with pytest.raises(InputError, match="under relation"):
                parsed(other)
            continue
        same = Gaussian(sigma=2, sensitivity=L2Contribution(3, relation)).subsample(scheme)
        assert parsed(other).stages[0].guarantee(relation) == same.guarantee()


def test_a_noise_multiplier_says_nothing_of_replaced_records() -> None:
    """Under zero-out it is relative to a contribution; under replace-one it may be to two."""
    text = PIPELINE + f"{SUM_STAGE}sampling = {{ scheme = {list(COUNTED)[1]} }}\n"
    relative = text.replace("sigma = 2\ncontribution = 3\n", "noise_multiplier = 2\n")

    assert parsed(relative.replace("add-remove", "zero-out")).stages
    with pytest.raises(InputError, match="clipping norm"):
        parsed(relative.replace("add-remove", "replace-one"))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ('"user-poisson", rate = 1, contributions = 2', "below 1"),
        ('"with-replacement", sample_size = 1, population_size = 1', "at least 2"),
        ('"without-replacement", sample_size = 9, population_size = 9', "less than"),
        ('"user-poisson", rate = 0.5, contributions = 0', "contributions"),
    ],
)
def test_refuses_samples_that_are_none(said: str, why: str) -> None:
    """Rates of 1, a single record, and subsets of all records under add-remove."""
    with pytest.raises(InputError, match=why):
        parsed(PIPELINE + SUM_STAGE + f"sampling = {{ scheme = {said} }}\n")


@pytest.mark.parametrize("scheme", ['"poisson", rate = 0.1', '"without-replacement"'])
def test_sampling_under_replace_label_is_refused(scheme: str) -> None:
    """The relation can be named, and a stage that samples under it is refused."""
    text = PIPELINE.replace("add-remove", "replace-label") + GAUSSIAN

    assert parsed(text).relation == ReplaceLabel()
    with pytest.raises(InputError, match="replace-label"):
        parsed(f"{text}sampling = {{ scheme = {scheme} }}")


SHUFFLED = '[pipeline]\nrelation = "zero-out"\ndelta = 1e-6\n[[stage]]\nname = "a"\n'
SUM = 'mechanism = "gaussian"\nsigma = 2\ncontribution = 2\n'
MULTIPLE = 'mechanism = "gaussian"\nnoise_multiplier = 1\n'


def shuffled(sampling: str, release: str = SUM, relation: str = "zero-out") -> Stage:
    """The stage of a file with this sampling table."""
    text = SHUFFLED.replace("zero-out", relation) + release
    return parsed(f'{text}sampling = {{ scheme = "shuffled", {sampling} }}').stages[0]


def test_shuffled_batches_are_epochs_in_fresh_orders_unless_kept() -> None:
    """Epochs count as runs if each has an order of its own, and belong to the scheme if kept."""
    fresh, kept = (
        shuffled("batches = 9, epochs = 4"),
        shuffled('batches = 9, epochs = 4, order = "kept"'),
    )
    once = shuffled('batches = 9, order = "fresh"', SUM + "count = 3\n")

    assert (fresh.sampling, fresh.count) == (ShuffledBatches(batches=9), 4)
    assert (kept.sampling, kept.count) == (ShuffledBatches(batches=9, epochs=4), 1)
    assert once.count == 3
    assert shuffled("batches = 9, epochs = 4", SUM + "count = 3\n").count == 12


@pytest.mark.parametrize("release", [SUM, MULTIPLE])
def test_shuffled_sums_are_of_bounded_contributions(release: str) -> None:
    """Sigma with a contribution, and under zero-out a noise multiplier, say the same."""
    noisy = Gaussian(sigma=1, sensitivity=L2Contribution(1, ZeroOut()))
    expected = noisy.allocate(ShuffledBatches(batches=9)).guarantee()
    found = shuffled("batches = 9", release)

    assert found.guarantee(ZeroOut()) == expected
    printed = found.as_poisson()
    assert printed is not None
    assert printed.relation == AddRemove()
    assert printed.epsilon(delta=1e-6).upper < found.guarantee(ZeroOut()).epsilon(delta=1e-6).upper


@pytest.mark.parametrize(
    ("sampling", "release", "relation", "words"),
    [
        ("batches = 9", MULTIPLE, "replace-one", "which states its clipping norm"),
        ("batches = 9", SUM, "add-remove", "no guarantee under relation"),
        ("batches = 9", SUM, "replace-label", "left out under replace-label"),
        (
            "batches = 9",
            'mechanism = "laplace"\nscale = 1\nsensitivity = 1\n',
            "zero-out",
            "states",
        ),
        ("batches = 0", SUM, "zero-out", "batches"),
        ("batches = 9, epochs = 0", SUM, "zero-out", "epochs"),
        ('batches = 9, order = "sorted"', SUM, "zero-out", "order"),
        ("batches = 9, rate = 0.1", SUM, "zero-out", "not a parameter here"),
        ("epochs = 9", SUM, "zero-out", "batches"),
    ],
)
def test_shuffled_batches_are_refused(
    sampling: str, release: str, relation: str, words: str
) -> None:
    """What is no sum, has no theorem or no meaning is refused in the file's words."""
    with pytest.raises(InputError, match=words):
        shuffled(sampling, release, relation)
    with pytest.raises(InputError, match="epochs"):
        parsed(f'{SHUFFLED}{SUM}sampling = {{ scheme = "poisson", rate = 0.1, epochs = 3 }}')


def test_numbers_of_shuffled_batches_are_replaced() -> None:
    """Batches, epochs of a kept order, and count have addresses of their own."""
    stage = shuffled('batches = 9, epochs = 4, order = "kept"')

    assert stage.numbers()["batches"] == 9
    assert stage.numbers()["epochs"] == 4
    assert stage.replaced("epochs", Fraction(2)).sampling == ShuffledBatches(batches=9, epochs=2)
    assert stage.replaced("batches", Fraction(2)).sampling == ShuffledBatches(batches=2, epochs=4)


@pytest.mark.parametrize(
    ("sampling", "scheme"),
    [
        ('scheme = "allocation", steps = 9', RandomAllocation(steps=9)),
        ('scheme = "allocation", steps = 9, chosen = 2', RandomAllocation(steps=9, chosen=2)),
        ('scheme = "balls-in-bins", steps = 9, epochs = 4', BallsInBins(steps=9, epochs=4)),
    ],
)
def test_random_allocation_is_read(sampling: str, scheme: object) -> None:
    """Rounds, how many a record draws, and for how long it keeps its round."""
    for relation in ("zero-out", "add-remove", "replace-one"):
        text = f"{SHUFFLED}{SUM}sampling = {{ {sampling} }}".replace("zero-out", relation)
        assert parsed(text).stages[0].sampling == scheme
        if relation == "replace-one":
            with pytest.raises(InputError, match="clipping norm"):
                parsed(text.replace(SUM, MULTIPLE))


def test_more_rounds_than_there_are_cannot_be_drawn() -> None:
    """As many rounds as there are, at most."""
    with pytest.raises(InputError, match="at most steps"):
        parsed(f'{SHUFFLED}{SUM}sampling = {{ scheme = "allocation", steps = 2, chosen = 3 }}')


def survey(mechanism: str, relation: str, records: int = 100) -> Pipeline:
    """A stage of shuffled reports."""
    text = f"""
    [pipeline]
    relation = "{relation}"
    delta = 1e-6
    [[stage]]
    name = "survey"
    {mechanism}
    sampling = {{ scheme = "shuffled-reports", records = {records} }}
    """
    return parsed(text)


def test_shuffled_reports_are_one_local_mechanism() -> None:
    """Under replace-one, of at most 1e8 records; all else is refused by its place."""
    response = 'mechanism = "randomized-response"\nepsilon = 1\ncategories = 3'
    noise = 'mechanism = "laplace"\nscale = 1\nsensitivity = 1'
    built = survey(response, "replace-one").stages[0].build(ReplaceOne())

    assert isinstance(built, Shuffled)
    assert built.scheme.records == 100
    for mechanism, relation in ((noise, "replace-one"), (response, "add-remove")):
        with pytest.raises(InputError, match="one local mechanism alone"):
            survey(mechanism, relation)
    with pytest.raises(InputError, match="at most 100000000"):
        survey(response, "replace-one", 10**9)
