"""``dpproof calibrate``: the value it finds meets the budget, and hardly more."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest

import dpproof as dp
from dpproof.commands import budget, calibrate
from tests.dpproof.command import Command, time_is_up
from tests.dpproof.files import GAUSSIAN, GROUP, ISSUE, LAPLACE, PIPELINE

NUMBERS = [
    ("training", "noise_multiplier", "noise_multiplier = 1.0", "noise_multiplier = {}"),
    ("training", "rate", "rate = 0.01", "rate = {}"),
    ("training", "count", "count = 10000", "count = {}"),
    ("evaluation", "scale", "scale = 20", "scale = {}"),
    ("evaluation", "count", "count = 3", "count = {}"),
]


@pytest.mark.parametrize(("stage", "parameter", "old", "new"), NUMBERS)
def test_the_value_meets_the_budget(
    stage: str, parameter: str, old: str, new: str, command: Command
) -> None:
    """Written back into the file, the value gives the epsilon that was promised, within budget."""
    solved = command.calibrate(ISSUE, stage, parameter, "--json")
    assert solved.status == 0
    assert solved.err == ""

    text = ISSUE.replace(old, new.format(solved.json["value"]), 1)
    budget = command.budget(text, "--json")

    assert budget.status == 0
    assert budget.json["epsilon"] == solved.json["epsilon"]
    assert solved.json["epsilon"]["upper"] <= 8
    if parameter != "count":
        assert solved.json["epsilon"]["upper"] >= 8 * (1 - 1e-6)


@pytest.mark.parametrize(("stage", "parameter", "old", "new"), NUMBERS)
def test_the_printed_value_is_on_the_safe_side(
    stage: str, parameter: str, old: str, new: str, command: Command
) -> None:
    """The rounded value that is printed meets the budget too."""
    page = command.calibrate(ISSUE, stage, parameter).out
    printed = re.search(rf"^{parameter} = (\S+)$", page, re.MULTILINE)
    assert printed is not None

    budget = command.budget(ISSUE.replace(old, new.format(printed[1]), 1), "--json")

    assert budget.status == 0


def test_counts_are_the_largest(command: Command) -> None:
    """One run more than the answer is over the budget."""
    count = command.calibrate(ISSUE, "training", "count", "--json").json["value"]

    assert isinstance(count, int)
    over = ISSUE.replace("count = 10000", f"count = {count + 1}")
    assert command.budget(over, "--json").status == 1


def test_a_number_that_is_left_out(command: Command) -> None:
    """The file need not have the number that is asked for; the answer is the same."""
    without = ISSUE.replace("noise_multiplier = 1.0", "")

    asked = command.calibrate(without, "training", "noise_multiplier", "--json")

    expected = command.calibrate(ISSUE, "training", "noise_multiplier", "--json")
    assert asked == expected


@pytest.mark.slow
def test_a_release_of_a_group(command: Command) -> None:
    """A release's parameter is addressed by the release's name or position."""
    named = command.calibrate(PIPELINE + GROUP, "joint", "2.scale", "--json")
    plain = command.calibrate(PIPELINE + GROUP, "joint", "scale", "--json")

    assert named.status == plain.status == 0
    assert named.json["value"] == plain.json["value"]


@pytest.mark.slow
def test_fixed_size_samples(command: Command) -> None:
    """The size of a sample without replacement is a whole number."""
    sampling = '{ scheme = "without-replacement", sample_size = 10, population_size = 1000 }'
    pipeline = PIPELINE.replace("add-remove", "replace-one").replace("8.0", "1.0")
    text = f"{pipeline}{GAUSSIAN}count = 20\nsampling = {sampling}\n"

    size = command.calibrate(text, "training", "sample_size", "--json").json["value"]

    assert isinstance(size, int)
    assert command.budget(text.replace("size = 10,", f"size = {size},"), "--json").status == 0
    assert command.budget(text.replace("size = 10,", f"size = {size + 1},"), "--json").status == 1


def test_a_rate_of_one_may_be_the_answer(command: Command) -> None:
    """A stage that is cheap without sampling needs none."""
    sampling = '{ scheme = "poisson", rate = 0.1 }'
    text = f"{PIPELINE}{LAPLACE}sampling = {sampling}\n"

    solved = command.calibrate(text, "evaluation", "rate", "--json")

    assert solved.json["value"] == 1


def test_no_value_meets_the_budget(command: Command) -> None:
    """Status 1 with the reason when the other stages alone are over the budget."""
    text = ISSUE.replace("epsilon = 8.0", "epsilon = 2.0")

    outcome = command.calibrate(text, "evaluation", "scale")
    as_json = command.calibrate(text, "evaluation", "scale", "--json")

    assert (outcome.status, outcome.out) == (1, "")
    assert re.match(r'dpproof: .*: stage "evaluation": scale: no value meets', outcome.err)
    assert outcome.err.count("\n") == 1
    assert as_json.status == 1
    assert as_json.json["value"] is None


def test_without_a_budget_there_is_nothing_to_meet(command: Command) -> None:
    """The missing key is named."""
    outcome = command.calibrate(ISSUE.replace("epsilon = 8.0", ""), "training", "rate")

    assert outcome.status == 2
    assert "[pipeline]: epsilon: missing; expected the budget to meet" in outcome.err


@pytest.mark.parametrize(
    ("stage", "parameter"), [("trainin", "rate"), ("training", "sigma"), ("training", "x.y")]
)
def test_what_is_not_there(stage: str, parameter: str, command: Command) -> None:
    """A stage or number that is not in the file is bad input, in one line."""
    outcome = command.calibrate(ISSUE, stage, parameter)

    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)


def test_the_known_noise_multiplier(command: Command) -> None:
    """10,000 steps at rate 0.01 are (1, 1e-6)-DP from a noise multiplier of 4.302106."""
    text = f"{PIPELINE.replace('8.0', '1.0')}{GAUSSIAN}count = 10000\n"
    text += 'sampling = { scheme = "poisson", rate = 0.01 }\n'

    value = command.calibrate(text, "training", "noise_multiplier", "--json").json["value"]

    assert Fraction("4.302105") < Fraction(value) < Fraction("4.302107")


@pytest.mark.slow
def test_a_safe_number_is_an_answer_when_the_time_is_up(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has more noise than the exact one, and its budget holds; without time there is none."""
    exact = command.calibrate(ISSUE, "training", "noise_multiplier", "--json").json
    real = budget.total

    def slow(guarantees: Any, delta: Any = None) -> Any:  # noqa: ANN401  # as it is given
        if delta is not None:
            time_is_up()
        return real(guarantees, delta)

    monkeypatch.setattr(calibrate, "total", slow)
    options = ("--json", "--seconds", "600")
    found = command.calibrate(ISSUE, "training", "noise_multiplier", *options).json
    again = command.budget(ISSUE.replace("multiplier = 1.0", f"multiplier = {found['value']!r}"))
    refused = command.calibrate(ISSUE, "training", "noise_multiplier", "--seconds", "1e-3")

    assert (exact["exact"], found["exact"]) == (True, False)
    assert exact["value"] < found["value"] < 1.5 * exact["value"]
    assert found["epsilon"]["lower"] == 0  # divergences have none of what runs
    assert found["epsilon"]["upper"] <= 8
    assert again.status == 0
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "is not known after 0.001 seconds" in refused.err


@pytest.mark.slow
def test_the_law_of_the_number_of_runs_is_calibrated(command: Command) -> None:
    """The smallest gamma, which is missing in the file, is the one that the library finds."""
    text = """
[pipeline]
relation = "add-remove"
delta = 1e-6
epsilon = 3

[[stage]]
name = "tuning"
select = { runs = "truncated-negative-binomial", eta = 1 }
mechanism = "gaussian"
noise_multiplier = 3.0
"""
    found = command.calibrate(text, "tuning", "gamma", "--json").json
    once = dp.Gaussian(sigma=3, sensitivity=dp.L2(1)).guarantee()
    other = dp.calibrate(
        lambda gamma: dp.select(once, dp.TruncatedNegativeBinomial(eta=1, gamma=gamma)),
        epsilon=3,
        delta=1e-6,
        upper=0.99,
    )
    # Upper ends of selections are as wide as 1e-4, and the two searches look at others of them.
    assert found["value"] == pytest.approx(other.value, rel=1e-3)
    assert 2.999 < found["epsilon"]["upper"] <= 3
    full = text.replace("eta = 1", f"eta = 1, gamma = {found['value']!r}")
    assert command.budget(full).status == 0
    set_ = ("--set", f"tuning.gamma={0.5 * found['value']!r}")
    assert command.budget(full, *set_).status == 1
    assert (
        command.calibrate(text.replace("eta = 1", "eta = 1, mean = 9"), "tuning", "gamma").status
        == 0
    )


def test_a_group_needs_no_count(command: Command) -> None:
    """It runs once, and costs what its stages cost side by side."""
    alone = command.budget(PIPELINE + GAUSSIAN + LAPLACE, "--json").json
    group = '[[stage]]\nname = "group"\n' + (GAUSSIAN + LAPLACE).replace(
        "[[stage]]", "[[stage.stage]]"
    )
    together = command.budget(PIPELINE + group, "--json").json

    assert together["epsilon"] == alone["epsilon"]
    assert [one["name"] for one in together["stages"][0]["stages"]] == [
        f"group.{one['name']}" for one in alone["stages"]
    ]
