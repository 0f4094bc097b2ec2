"""Scores of one number with nothing to learn: sums, sizes, signs, repeats, bits of an output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Final, final

import numpy as np

from dpproof.auditing.counts.binomial import Floats
from dpproof.auditing.trials.sampler import Training
from dpproof.auditing.witnesses.coordinates import lowest_bit, without_nan
from dpproof.auditing.witnesses.witness import Score, Witness


def _total(values: Floats) -> Floats:
    """Add up every row from the left, so that nan at its end, counted as 0, changes no bit."""
    return np.asarray(np.cumsum(np.where(np.isnan(values), 0.0, values), axis=1)[:, -1])


def _repeats(features: Floats) -> Floats:
    """Count how many numbers of every row are equal to an earlier one; nan equals nothing."""
    ordered = np.sort(features, axis=1)
    return np.asarray((ordered[:, 1:] == ordered[:, :-1]).sum(axis=1), dtype=np.float64)


def _bits(features: Floats) -> Floats:
    """Add up the lowest bits of the numbers that have one."""
    bits = lowest_bit(features)
    return _total(np.where(np.isfinite(features) & (features != 0), bits, 0.0))


_EXTREME: Final = "the most extreme number of an output"
_SUMMARIES: Final[dict[str, tuple[Callable[[Floats], Floats], str]]] = {
    "sum(output)": (_total, "the sum of an output's numbers"),
    "sum(output ** 2)": (lambda x: _total(x * x), "the norm of an output"),
    "sum(|output|)": (lambda x: _total(np.abs(x)), "the sum of the sizes of an output's numbers"),
    "max(output)": (lambda x: np.max(without_nan(x), axis=1), _EXTREME),
    "-min(output)": (lambda x: np.max(without_nan(-x), axis=1), _EXTREME),
    "max(|output|)": (lambda x: np.max(np.where(np.isnan(x), 0.0, np.abs(x)), axis=1), _EXTREME),
    "sum(output > 0)": (
        lambda x: (x > 0).sum(axis=1).astype(np.float64),
        "how many numbers of an output are positive",
    ),
    "len(output) - len(set(output))": (_repeats, "how many numbers of an output are repeated"),
    "sum(output == output)": (
        lambda x: (~np.isnan(x)).sum(axis=1).astype(np.float64),
        "how many numbers an output has, apart from nan",
    ),
    "sum(lowest_bit(output))": (_bits, "the lowest bits of an output's numbers"),
}


@final
@dataclass(frozen=True, slots=True)
class Summary:
    """One number of a whole output, the same for every dataset and every audit.

    Attributes:
        name: of the number, one of ``Summaries``.
    """

    name: str

    def __call__(self, features: Floats) -> Floats:
        """Return the score of every row."""
        with np.errstate(over="ignore", invalid="ignore"):
            return without_nan(_SUMMARIES[self.name][0](features))

    def __str__(self) -> str:
        return self.name

    @property
    def meaning(self) -> str:
        """Return what the score looks at, in words."""
        return _SUMMARIES[self.name][1]


@final
@dataclass(frozen=True, slots=True)
class Summaries(Witness):
    """Numbers of whole outputs: sums, sizes, signs, repeats, length and lowest bits.

    They find a wrong scale of a whole gradient, which a fit to few outputs of many numbers cannot.
    """

    learns: ClassVar[bool] = False

    def scores(self, training: Training) -> Iterator[Score]:
        """Yield those that vary, where an output has several numbers."""
        if training.features.shape[1] < 2:
            return
        for score in map(Summary, _SUMMARIES):
            values = score(training.features)
            if (values != values[0]).any():
                yield score
