"""A mechanism of one's own: the unrelated question, outside of the package.

A fair way to ask a sensitive question of one person: a spinner decides, unseen by others, whether
the person answers it or an innocent question whose rate of yes is known. What has to be written is
the parameters with their checks, ``relation``, ``guarantee`` and ``draw``; releases, composition,
subsampling, certificates and audits follow. Greenberg, Abul-Ela, Simmons & Horvitz (1969).

    python examples/unrelated_question.py
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np
from attrs import field, frozen

import dpproof as dp
from dpproof.accountant.relation import R
from dpproof.mechanisms import QueryMechanism, Rng, parameters, whole_values


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class UnrelatedQuestion(QueryMechanism[R]):
    """Release the answer, 0 or 1, to a sensitive question or to an innocent one.

    Args:
        asked: how likely the sensitive question is answered, in (0, 1).
        yes: how likely the innocent one is answered yes, in (0, 1).
        relation: the neighbouring relation: the true answer may become the other one.
        query: data -> the true answer; None when the data is already that.
    """

    asked: Fraction = field(converter=parameters.open_probability)
    yes: Fraction = field(converter=parameters.open_probability)
    relation: R = field(validator=parameters.neighbours)

    def chance(self, answer: int) -> Fraction:
        """Return how likely a yes is released for a true answer."""
        return self.asked * answer + (1 - self.asked) * self.yes

    def guarantee(self) -> dp.Guarantee[R]:
        """Return what the two laws say: two rows of a table, so the statement is exact."""
        table = [[1 - self.chance(answer), self.chance(answer)] for answer in (0, 1)]
        return dp.FiniteMechanism(table, relation=self.relation).guarantee()

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> np.ndarray:
        """Draw answers: shape (datasets, count). Whole numbers of numpy have exactly their law."""
        generator = rng.numpy()
        drawn = np.empty((len(datasets), count), dtype=np.int64)
        for row, answer in enumerate(whole_values(self.query, datasets)):
            if answer not in (0, 1):
                raise dp.DataError("value", answer, "0 or 1")  # shows its form, never its value
            chance = self.chance(int(answer))
            spins = generator.integers(0, chance.denominator, size=count)
            drawn[row] = spins < chance.numerator
        return drawn


def main() -> None:
    """Ask a thousand people, and estimate how many would say yes."""
    question = UnrelatedQuestion(asked=Fraction(1, 2), yes=Fraction(1, 4), relation=dp.ReplaceOne())
    print(question.guarantee().epsilon(delta=0))
    truth = np.random.default_rng(1).random(1000) < 0.3
    answers = np.array([question.release(int(one)) for one in truth])
    estimate = (answers.mean() - float(question.chance(0))) / float(question.asked)
    print(f"{truth.mean():.3f} would say yes, estimated {estimate:.3f}")


if __name__ == "__main__":
    main()
