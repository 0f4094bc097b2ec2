"""The example of a mechanism outside of the package passes what every mechanism has to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpproof as dp
from tests.contracts.mechanism_contract import NOT_POSITIVE, ExactLawContract, one_bad
from tests.examples.loaded import example

EXAMPLE: ModuleType = example("unrelated_question")
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


def asking(asked: Fraction) -> dp.Mechanism[dp.AddRemove]:
    """The mechanism that asks so often."""
    made: dp.Mechanism[dp.AddRemove] = EXAMPLE.UnrelatedQuestion(
        asked=asked, yes=QUARTER, relation=dp.AddRemove()
    )
    return made


class TestUnrelatedQuestion(ExactLawContract):
    """Half of the people are asked."""

    def mechanism(self) -> dp.Mechanism[dp.AddRemove]:
        """A spinner with two halves."""
        return asking(HALF)

    def data(self) -> object:
        """Yes."""
        return 1

    def neighbour(self) -> object:
        """No."""
        return 0

    def increasing_noise(self) -> Sequence[dp.Mechanism[dp.AddRemove]]:
        """The sensitive question is asked less and less."""
        return [asking(one) for one in (Fraction(3, 4), HALF, Fraction(1, 8))]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "asked": (*NOT_POSITIVE, 1),
            "yes": (*NOT_POSITIVE, 1),
            "relation": (None, "add-remove"),
        }
        good = {"asked": HALF, "yes": HALF, "relation": dp.AddRemove()}
        return one_bad(EXAMPLE.UnrelatedQuestion, good, bad)

    def law(self, value: int) -> NDArray[np.float64]:
        """Whoever is asked says the truth, the others yes in a quarter of the cases."""
        yes = 0.125 + 0.5 * value
        return np.array([1 - yes, yes])

    def window_start(self) -> int:
        """No."""
        return 0

    def shift(self) -> int:
        """From no to yes."""
        return 1


def test_refuses_other_answers_by_their_form() -> None:
    """A number that is no answer is not shown."""
    with pytest.raises(dp.DataError, match="0 or 1") as refusal:
        asking(HALF).release(70_707)
    assert "70707" not in str(refusal.value).replace(",", "").replace("_", "")


def test_runs_as_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    """It prints the price and an estimate."""
    EXAMPLE.main()
    printed = capsys.readouterr().out
    assert "Bound(lower=1.6" in printed
    assert "would say yes, estimated" in printed
