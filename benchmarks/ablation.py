"""Natural and named questions with one method of the engine switched off at a time.

A method stays in the engine if a question misses its goal without it: 1 s and a relative 1e-4.
Questions that take 3 s with every method are left out: they miss the goal whatever is switched off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final, final
from unittest import mock

import numpy as np

from benchmarks import named, natural
from benchmarks.accountants import Dpproof
from benchmarks.natural import SLOW, WIDE, Asked, measured
from benchmarks.report import Progress, Section, seconds
from benchmarks.worker import Workers
from dpproof.accountant import Bound, answers
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.engine import profile, trade_off
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.selection import profile as selections, selected_pair
from dpproof.accountant.selection.profile import Selection
from dpproof.accountant.selection.worst_order import Lines

_DRAWS: Final = 40  # natural questions a repeat
_SLOWEST: Final = 3.0  # processor seconds of the questions that are compared
_DIGITS: Final = 100.0  # Growth of a width that counts as two digits lost.
_NARROW: Final = 1e-10  # Widths below it are not compared: nobody sees their digits.

Replacement = tuple[object, str, Any]


def _nothing(*_: object) -> None:
    """Answer that the method does not apply."""


def _zeros(_: Product, epsilon: np.ndarray[Any, np.dtype[np.float64]]) -> object:
    """Return the trivial lower bound of delta."""
    return np.zeros(epsilon.shape)


def _unknown(_: Product, epsilon: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[object, object]:
    """Return the trivial bounds of log(1 - delta)."""
    return np.full(epsilon.shape, -np.inf), np.zeros(epsilon.shape)


def _boundless(_: Product, __: object, s: Reals) -> Reals:
    """Return the trivial upper bound of a moment."""
    return np.full(s.shape, np.inf)


METHODS: Final[Mapping[str, tuple[Replacement, ...]]] = {
    "nothing": (),
    "residues": ((profile, "exponential_sum", _nothing),),
    "near lattices": ((Product, "near_lattice", lambda one: (one, 0.0)),),
    "longer floats": ((Product, "refined", lambda one: one),),
    "1 - delta": (
        (profile, "delta_below", _zeros),
        (trade_off, "power_below", lambda *_: 0.0),
        (trade_off, "log_overlap", _unknown),
    ),
    "tables of few releases": ((answers, "released_few", _nothing),),
    "largest losses first": ((Selection, "_largest_first", lambda *_: 0.0),),
    "shifted mixtures": ((Selection, "rough", lambda *_: 1.0), (selections, "_CERTAIN", 0.0)),
    "finer lines": ((Lines, "refined", lambda one, *_, **__: one),),
    "lines added where wide": ((selections, "_MOST", (160,)),),
    "moments of one run": ((selected_pair, "log_moment", _boundless),),
}
"""What stands in the place of each method that is switched off."""


@final
@dataclass(frozen=True, slots=True)
class Without:
    """Answers without one method.

    Attributes:
        asked: one for each question, in their order.
    """

    asked: tuple[Asked, ...]

    @property
    def cpu(self) -> float:
        """Return the processor seconds of all answers."""
        return sum(one.cpu for one in self.asked)

    def missed(self) -> set[str]:
        """Return the questions that miss a goal."""
        return {one.what for one in self.asked if one.cpu > SLOW or one.width > WIDE}

    def wider(self, others: Without) -> set[str]:
        """Return the questions that lose two digits against other answers."""
        return {
            one.what
            for one, other in zip(self.asked, others.asked, strict=True)
            if one.width > max(_DIGITS * other.width, _NARROW)
        }


def ablation(_: Workers, repeats: int, progress: Progress) -> Section:
    """Ask the same questions without each method in turn."""
    section = Section(
        name="ablation",
        title=f"{_DRAWS * repeats} natural and the named questions, without one method each",
        columns=("without", "miss a goal", "more than with it", "two digits lost", "processor"),
    )
    draws = _DRAWS * repeats
    every = without("nothing", draws, progress)
    whole = Without(tuple(one for one in every.asked if one.cpu < _SLOWEST))
    quick = frozenset(one.what for one in whole.asked)
    for name in METHODS:
        one = whole if name == "nothing" else without(name, draws, progress, quick)
        more, wider = one.missed() - whole.missed(), one.wider(whole)
        counts = (len(one.missed()), len(more), len(wider))
        section.rows.append((name, *map(str, counts), seconds(one.cpu)))
        section.notes += [f"- without {name} misses: {what}" for what in sorted(more)]
        section.notes += [f"- without {name} wider: {what}" for what in sorted(wider - more)]
        section.data += [
            {"without": name, "what": each.what, "cpu": each.cpu, "width": each.width}
            for each in one.asked
        ]
    return section


def without(
    method: str, draws: int, progress: Progress, only: frozenset[str] | None = None
) -> Without:
    """Return the answers to some questions without a method, all caches empty before each."""
    engine = Dpproof()
    asked = []
    with ExitStack() as stack:
        for owner, name, replacement in METHODS[method]:
            stack.enter_context(mock.patch.object(owner, name, replacement))
        for what, ask in _questions(draws):
            if only is not None and what not in only:
                continue
            progress(f"without {method}: {what}")
            engine.forget()
            asked.append(measured(what, ask))
    engine.forget()
    return Without(tuple(asked))


def _questions(draws: int) -> Iterator[tuple[str, Callable[[], Bound]]]:
    """Yield natural questions, then the named ones."""
    yield from natural.questions(draws)
    for what, _, ask in named.cases():
        yield what, ask
