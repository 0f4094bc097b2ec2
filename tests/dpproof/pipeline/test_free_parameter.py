"""Which number calibration may change, and how it is found."""

from __future__ import annotations

import tomllib
from fractions import Fraction

import pytest

from dpproof.errors import InputError
from dpproof.pipeline.free_parameter import completed, find
from dpproof.pipeline.parse import parse
from dpproof.pipeline.pipeline import Pipeline
from tests.dpproof.files import GAUSSIAN, GROUP, ISSUE, PIPELINE


def _parsed(text: str) -> Pipeline:
    return parse(tomllib.loads(text), "pipeline.toml")


def test_only_that_number_is_replaced() -> None:
    """The solved pipeline differs in one number of one stage."""
    pipeline = _parsed(ISSUE)
    free = find(pipeline, "evaluation", "scale")

    solved = free.solved(Fraction(7))

    assert solved.stages[0] == pipeline.stages[0]
    assert solved.stages[1].numbers() == {**pipeline.stages[1].numbers(), "scale": 7}
    assert [stage.name for stage in free.others] == ["training"]


@pytest.mark.parametrize(
    ("stage", "address", "line"),
    [
        ("trainin", "count", 'pipeline.toml: no stage "trainin"; did you mean "training"?'),
        ("zzz", "count", 'pipeline.toml: no stage "zzz"; expected "training" or "evaluation"'),
        (
            "training",
            "sigma",
            (
                'pipeline.toml: stage "training": no number "sigma" to solve for; '
                "expected count, rate or noise_multiplier"
            ),
        ),
        (
            "evaluation",
            "sensitivity",
            (
                'pipeline.toml: stage "evaluation": no number "sensitivity" to solve for; '
                "expected count or scale"
            ),
        ),
    ],
)
def test_refusals_name_what_there_is(stage: str, address: str, line: str) -> None:
    """A wrong name is answered with the right ones."""
    with pytest.raises(InputError) as refusal:
        find(_parsed(ISSUE), stage, address)

    assert str(refusal.value) == line


def test_a_number_left_out_may_be_solved_for() -> None:
    """The file need not name a value for the number that is asked for."""
    sampled = 'sampling = { scheme = "poisson" }\n'
    for text, stage, address in (
        (PIPELINE + GAUSSIAN.replace("noise_multiplier = 1.0", ""), "training", "noise_multiplier"),
        (PIPELINE + GAUSSIAN.replace("noise_multiplier", "sensitivity"), "training", "sigma"),
        (PIPELINE + GAUSSIAN + sampled, "training", "rate"),
        (PIPELINE + GROUP.replace("scale = 4.0", ""), "joint", "2.scale"),
        (
            PIPELINE + GROUP.replace("noise_multiplier = 2.0", ""),
            "joint",
            "gradient.noise_multiplier",
        ),
    ):
        document = completed(tomllib.loads(text), stage, address)

        free = find(parse(document, "pipeline.toml"), stage, address)

        assert free.stage.numbers()[address] == 1


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (PIPELINE + GAUSSIAN, "sigma"),
        (PIPELINE + GAUSSIAN, "noise_multiplier"),
        (PIPELINE + GAUSSIAN, "rate"),
        (PIPELINE + GAUSSIAN, "nonsense"),
        (PIPELINE + GROUP, "scale"),
        (PIPELINE, "scale"),
        ("stage = 3", "scale"),
        ("stage = [3]", "scale"),
    ],
)
def test_nothing_else_is_completed(text: str, address: str) -> None:
    """A file that says everything, or is wrong otherwise, stays as it is."""
    document = tomllib.loads(text)

    assert completed(document, "training", address) == document
