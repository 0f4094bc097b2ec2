"""A pipeline file that is right becomes exactly what it says."""

from __future__ import annotations

import tomllib
from fractions import Fraction

import pytest

from dpproof.accountant.relation import AddRemove, ReplaceLabel, ReplaceOne
from dpproof.accountant.sampling import Poisson, WithoutReplacement
from dpproof.accountant.sensitivity import L2Contribution
from dpproof.errors import InputError
from dpproof.mechanisms import Gaussian
from dpproof.pipeline.parse import parse
from dpproof.pipeline.pipeline import Pipeline
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


@pytest.mark.parametrize("scheme", ['"poisson", rate = 0.1', '"without-replacement"'])
def test_sampling_under_replace_label_is_refused(scheme: str) -> None:
    """The relation can be named, and a stage that samples under it is refused."""
    text = PIPELINE.replace("add-remove", "replace-label") + GAUSSIAN

    assert parsed(text).relation == ReplaceLabel()
    with pytest.raises(InputError, match="replace-label"):
        parsed(f"{text}sampling = {{ scheme = {scheme} }}")
