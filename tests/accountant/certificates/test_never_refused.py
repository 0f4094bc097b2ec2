"""What is natural and within the checker's limits is certified, or refused for a stated reason.

Random pipelines of the mechanisms that the documentation shows: some releases, on all records or
on samples, up to a thousand times; and random questions. What is written has to be accepted.
"""

from __future__ import annotations

import random
import re
from typing import Any, Final

import pytest

from dpproof import proofs
from dpproof.accountant import Guarantee, NotCertified
from tests.accountant.certificates.pipelines import (
    NEWER,
    PLAIN,
    PYTHON,
    Make,
    misplaced,
    natural,
    pipeline,
    question,
)

OPENINGS: Final = {
    "nothing is claimed by a lower end of 0": r"no finite lower end above 0",
    "losses are infinite with some probability": r"has no finite (Renyi divergence|epsilon)",
    "nothing is claimed by delta = 1": r"is 1 as closely as the checker's sums tell",
    "nothing is claimed by a rate of 1": r"has no proved bound below 1",
    "no pair of laws attains it": r"composed bounded ranges have no one pair that attains",
}
"""Why a natural question is refused: its answer says nothing, or no pair of laws proves it."""


def _drawn(seed: int, kinds: tuple[Make, ...], most: int) -> tuple[Guarantee[Any], dict[str, Any]]:
    rng = random.Random(seed)  # noqa: S311  # no secret
    return pipeline(rng, kinds, most), question(rng)


def _certified(seed: int, guarantee: Guarantee[Any], asked: dict[str, Any]) -> None:
    """Require a certificate that the checker accepts, or a stated reason why there is none."""
    try:
        certificate = guarantee.certify(**asked)
    except NotCertified as refusal:
        stated = any(re.search(pattern, str(refusal)) for pattern in OPENINGS.values())
        assert stated, f"seed {seed}: {asked}: {refusal}"  # noqa: PT017  # refused is allowed
        return
    verdict = proofs.check(certificate)
    assert not isinstance(verdict, proofs.Rejected), f"seed {seed}: {asked}: {verdict}"


@pytest.mark.parametrize("seed", [*range(28, 38), 39, pytest.param(38, marks=pytest.mark.slow)])
def test_few_plain_releases(seed: int) -> None:
    """Some pipelines of plain mechanisms, each up to thirty times."""
    _certified(seed, *_drawn(seed, PLAIN, 30))


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed",
    [
        *range(16, 28),
        *range(100, 112),
        pytest.param(112, marks=pytest.mark.xfail(strict=True, reason="too rough, open")),
    ],
)
def test_many_releases(seed: int) -> None:
    """More pipelines, of newer mechanisms too, each up to a thousand times."""
    _certified(seed, *_drawn(seed, PLAIN + NEWER, 1000))


def _never_rejected(seed: int) -> None:
    """Require that whatever is written is accepted; a refusal may have any reason of its own."""
    guarantee, asked = natural(seed)
    try:
        certificate = guarantee.certify(**asked)
    except NotCertified as refusal:
        text = f"seed {seed}: {asked}: {refusal}"
        assert "the checker rejects" not in text  # refused is allowed
        assert not PYTHON.search(str(refusal)), text  # noqa: PT017
        assert misplaced(str(refusal), asked) == [], text  # noqa: PT017
    else:
        assert proofs.check(certificate).ok, f"seed {seed}: {asked}"


@pytest.mark.parametrize("seed", [*range(29, 36), 38, *range(40, 43)])
def test_some_of_every_kind(seed: int) -> None:
    """Pipelines of every kind, selections and groups among them, with any question."""
    _never_rejected(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [28, 36, 37, 39, *range(143, 160), 20740])
def test_more_of_every_kind(seed: int) -> None:
    """As above, in the nightly run; how many were run is in docs/SOUNDNESS.md."""
    _never_rejected(seed)
