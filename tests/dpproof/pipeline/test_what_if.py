"""Other numbers, and fewer stages, than a file says."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

import dpproof as dp
from dpproof.errors import InputError
from dpproof.pipeline.free_parameter import changed
from dpproof.pipeline.parse import parse
from dpproof.pipeline.pipeline import Pipeline
from tests.dpproof.command import Command
from tests.dpproof.files import ISSUE

NESTED = """
[pipeline]
relation = "add-remove"
delta = 1e-6
epsilon = 8

[[stage]]
name = "model"
count = 2

[[stage.stage]]
name = "training"
mechanism = "gaussian"
noise_multiplier = 4.0
sampling = { scheme = "poisson", rate = 0.01 }
count = 100

[[stage.stage]]
name = "evaluation"
mechanism = "laplace"
scale = 40
sensitivity = { l1 = 1 }
"""


def pipeline(text: str = NESTED) -> Pipeline:
    """A pipeline of a text."""
    return parse(tomllib.loads(text), "x.toml")


def test_numbers_are_replaced_wherever_they_stand() -> None:
    """By stage, by inner stage, by an address that only one number ends with; and delta."""
    found = changed(
        pipeline(),
        ["training.noise_multiplier=5", "model.scale=1/2", "delta=1e-7", "epsilon=2"],
        [],
    )
    numbers = found.stages[0].numbers()
    assert numbers["training.noise_multiplier"] == 5
    assert numbers["evaluation.scale"] == Fraction(1, 2)
    assert numbers["training.rate"] == Fraction(0.01)
    assert found.delta == Fraction(1e-7)
    assert found.epsilon == 2
    assert changed(pipeline(), [], []) == pipeline()


def test_stages_are_left_out() -> None:
    """All others stay as they are."""
    both = pipeline(ISSUE)
    assert changed(both, [], ["training"]).stages == both.stages[1:]


def test_what_is_shown_is_not_of_the_file(command: Command) -> None:
    """The name on the page says each change, in order; without changes it is the file's."""
    options = ["--set", "training.noise_multiplier=8", "--set", "delta=1e-5", "--without", "other"]
    text = NESTED + '\n[[stage]]\nname = "other"\nmechanism = "exponential"\nepsilon = 1\n'
    found = changed(pipeline(text), options[1:4:2], options[5:])
    told = "with --set training.noise_multiplier=8, --set delta=1e-5, --without other"
    assert found.file == f"x.toml {told}"
    file = command.file(text)
    assert told in " ".join(command.run("budget", file, *options).out.split())
    assert " with --" not in command.run("budget", file).out


@pytest.mark.parametrize(
    ("numbers", "without", "told"),
    [
        (["training.noise_multiplier"], [], "expected STAGE.NAME=VALUE"),
        (["noise_multiplier=3"], [], "expected STAGE.NAME=VALUE"),
        (["training.noise_multiplier=-1"], [], "a finite number above 0"),
        (["training.noise_multiplier=x"], [], "a finite number above 0"),
        (["delta=2"], [], "above 0 and below 1"),
        (["model.count=1.5"], [], "several numbers|whole number"),
        (["nothing.count=1"], [], "no stage"),
        ([], ["nothing"], "no stage"),
        ([], ["model"], "the last stage"),
    ],
)
def test_refusals(numbers: list[str], without: list[str], told: str) -> None:
    """What is no number, no stage, or all of them."""
    with pytest.raises(InputError, match=told):
        changed(pipeline(), numbers, without)


def test_on_the_command_line(command: Command) -> None:
    """More noise costs less, no certificate is of it; calibration finds numbers of inner stages."""
    file = command.file(NESTED)
    costs = [
        command.run("budget", file, "--json", *more).json["epsilon"]["upper"]
        for more in ((), ("--set", "training.noise_multiplier=8", "--set", "evaluation.scale=80"))
    ]
    assert costs[1] < 0.6 * costs[0]
    refused = command.run("budget", file, "--set", "delta=1e-5", "--certify", "c.json")
    assert (refused.status, refused.out) == (2, "")
    found = command.run("calibrate", file, "--stage", "model", "--parameter", "scale")
    assert "evaluation.scale = " in found.out
    left_out = command.file(NESTED.replace("noise_multiplier = 4.0\n", ""))
    again = command.run(
        "calibrate", left_out, "--stage", "training", "--parameter", "noise_multiplier"
    )
    assert "training.noise_multiplier = " in again.out


def test_inner_stages_are_seen_everywhere(command: Command, tmp_path: Path) -> None:
    """Table, JSON and report name them, with the epsilon of each alone, once."""
    file = command.file(NESTED)
    (model,) = command.run("budget", file, "--json").json["stages"]
    inner = {one["name"]: one["epsilon"] for one in model["stages"]}
    noise = dp.Laplace(scale=40, sensitivity=dp.L1(1)).guarantee().epsilon(delta=1e-6)
    assert list(inner) == ["model.training", "model.evaluation"]
    assert inner["model.evaluation"]["upper"] == noise.upper
    shown = command.run("budget", file).out
    assert "training: Gaussian noise" in shown
    assert "· model.evaluation" in shown
    page = tmp_path / "page.html"
    assert command.run("report", file, "-o", str(page)).status == 0
    assert '<th scope="row">model.training</th>' in page.read_text(encoding="utf-8")
