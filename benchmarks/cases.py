"""The pipelines that are measured, and where their true values come from.

``accounting.json`` holds hockey-stick divergences made by ball arithmetic to about 18 significant
digits, independently of any accountant.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import final

REFERENCE = Path(__file__).resolve().parent / "accounting.json"


@final
@dataclass(frozen=True, slots=True)
class Part:
    """One mechanism of sensitivity 1, ``count`` times, on Poisson samples where ``rate`` is given.

    Attributes:
        mechanism: "gaussian" or "laplace".
        noise: sigma or scale.
        rate: the sampling rate, None without sampling.
        count: the number of times.
    """

    mechanism: str
    noise: float
    rate: float | None
    count: int


@final
@dataclass(frozen=True, slots=True)
class Case:
    """A pipeline, an epsilon, and the true delta there."""

    name: str
    parts: tuple[Part, ...]
    epsilon: float
    delta: Fraction

    @property
    def is_subsampled_gaussian(self) -> bool:
        """Return whether every part is a Gaussian on Poisson samples."""
        return all(p.mechanism == "gaussian" and p.rate is not None for p in self.parts)


def load() -> list[Case]:
    """Return every reference case, in the order of the file."""
    return [
        Case(
            name=entry["name"],
            parts=tuple(
                Part(
                    mechanism=part["mechanism"],
                    noise=part["sigma"] if part["mechanism"] == "gaussian" else part["scale"],
                    rate=part["rate"] if part["mechanism"] == "gaussian" else None,
                    count=part["count"],
                )
                for part in entry["parts"]
            ),
            epsilon=entry["epsilon"],
            delta=Fraction(entry["delta"]),
        )
        for entry in json.loads(REFERENCE.read_text())
    ]


def sampled_gaussian(*, sigma: float, rate: float, count: int) -> tuple[Part, ...]:
    """Return one subsampled Gaussian, repeated."""
    return (Part("gaussian", sigma, rate, count),)


def mixed(gaussians: int = 1000, laplaces: int = 100) -> tuple[Part, ...]:
    """Return different subsampled Gaussians, one step each, and equal Laplace releases.

    sigma runs from 0.8 to 2 and the rate from 0.001 to 0.02 in equal steps; the scale is 20.
    """
    last = max(gaussians - 1, 1)
    steps = [
        Part("gaussian", 0.8 + 1.2 * i / last, 0.001 + 0.019 * i / last, 1)
        for i in range(gaussians)
    ]
    return (*steps, *[Part("laplace", 20.0, None, 1)] * laplaces)
