"""Guarantees in the words of their authors."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpproof.accountant import GDP, L1, L2, ApproxDP, Guarantee, Poisson, compose, convert, group
from dpproof.accountant.guarantees.guarantee import in_words
from dpproof.accountant.relation import AddRemove
from dpproof.commands.budget import total
from dpproof.mechanisms import Gaussian, Laplace
from dpproof.pipeline import parse
from tests.architecture.tree import ROOT

LAPLACE = Laplace(scale=1, sensitivity=L1(1)).guarantee()
STEP = Gaussian(sigma=2, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.2))
NOISE = "Laplace noise of scale 1 on a query of L1 sensitivity 1"
STEPS = (
    "Gaussian noise of standard deviation 2 on a query of L2 sensitivity 1, Poisson sample of "
    "rate 0.2, 10 times"
)
SGD = STEP.repeat(10).guarantee()


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (LAPLACE, NOISE),
        (SGD, STEPS),
        (compose(LAPLACE, SGD), f"{NOISE}; {STEPS}"),
        (compose(LAPLACE, SGD.labelled("training")), f"{NOISE}; training"),
        (compose(*[LAPLACE.labelled(name) for name in "abcd"]), "4 releases together"),
        (group(SGD, size=3), f"{STEPS}, groups of 3"),
        (GDP(mu=1), "1-GDP"),
        (GDP(mu=1).labelled("theirs"), "theirs"),
        (convert(GDP(mu=1), to=ApproxDP, delta=0.25), "(0.456232, 0.25)-DP"),
    ],
)
def test_words(guarantee: Guarantee[AddRemove], words: str) -> None:
    """Labels stand for what they name, mechanisms for themselves, stated notions as stated."""
    assert in_words(guarantee) == words


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.stem)
def test_stages_are_called_by_their_names(path: Path) -> None:
    """No class of ours is in the words of any pipeline."""
    pipeline = parse.load(str(path))
    found = in_words(total([stage.guarantee(pipeline.relation) for stage in pipeline.stages]))

    assert found in {
        "; ".join(stage.name for stage in pipeline.stages),
        f"{len(pipeline.stages)} releases together",
    }
