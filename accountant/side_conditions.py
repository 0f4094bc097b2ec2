"""The side conditions of theorems, in the words that derivations list them in.

A theorem's docstring names its conditions after ``Assumes:``, its derivation lists their texts,
and the checker says the same in its own words; tests/docs/test_side_conditions.py compares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final


@final
@dataclass(frozen=True, slots=True)
class SideCondition:
    """One condition that a theorem takes for granted."""

    name: str  # its name in ``Assumes:``
    text: str  # one clause; what stands in braces depends on the application

    def __call__(self, **values: object) -> str:
        """Return the clause with the values of one application."""
        return self.text.format(**values)


FIXED: Final = SideCondition(
    "fixed in advance", "what runs, and how private it is, is fixed before any output is seen"
)
OWN_RANDOMNESS: Final = SideCondition(
    "own randomness",
    "every mechanism that runs draws randomness of its own, independent of all other randomness",
)
PUBLIC_DRAW: Final = SideCondition(
    "public draw",
    "which of the mechanisms runs is drawn by a law that looks at no data, whatever they draw",
)
SPLIT: Final = SideCondition(
    "split by record", "which part a record belongs to depends on that record alone"
)
SPLIT_KEPT: Final = SideCondition(
    "split kept by blanking",
    "which part a record belongs to depends on nothing of it that blanking it changes",
)
SPLIT_BY_POSITION: Final = SideCondition(
    "split by position",
    "which part a position of the data belongs to is drawn without looking at any record",
)
REPEATED_POSITIONS: Final = SideCondition(
    "repeated positions",
    "each phase draws its positions independently and uniformly from {records}, whatever the data",
)
APART: Final = SideCondition("parts apart", "no part looks at what another part releases")
OUTPUTS_ALONE: Final = SideCondition(
    "outputs alone",
    "{description} does not look at the data, nor at the randomness of what it is applied to",
)
MAPPED_ALONE: Final = SideCondition(
    "each record mapped alone",
    "{description} maps every record to one that depends on that record alone, a blank one to a "
    "blank one, and features without looking at labels",
)
POISSON_SAMPLE: Final = SideCondition(
    "independent sampling",
    "every record is drawn independently with probability {rate}, whatever the mechanism draws",
)
FIXED_SIZE_SAMPLE: Final = SideCondition(
    "uniform subset",
    "the sample is a uniformly random subset of exactly {size} of the {population} records, drawn "
    "independently of the mechanism's randomness, in random order if their order matters",
)
COUNTED_SAMPLE: Final = SideCondition(
    "counted sample",
    "every record is drawn {most} times, each time independently with probability {rate}, and "
    "counts as often as it is drawn",
)
SUBSET_SAMPLE: Final = SideCondition(
    "subset of one size",
    "the sample is a uniformly random subset of exactly {size} records; {population}",
)
REPEATED_DRAWS: Final = SideCondition(
    "draws with replacement",
    "{size} times one of the records is drawn uniformly and independently, and counts each time; "
    "{population}",
)
TRUNCATED_SAMPLE: Final = SideCondition(
    "truncated sample",
    "every record is drawn independently with probability {rate}; where more than {largest} are, a "
    "uniformly random subset of so many stays; {population}",
)
SHUFFLED_BATCHES: Final = SideCondition(
    "shuffled batches",
    "a uniformly random order of the records, kept for {epochs}, fills {batches} batches of public "
    "sizes, and every epoch releases one noisy sum of each batch",
)
RANDOM_ALLOCATION: Final = SideCondition(
    "random allocation",
    "every record draws {chosen} of {steps} rounds uniformly, independently of other records and "
    "of what is released, and keeps them for {epochs}; every round releases one noisy sum of the "
    "records that drew it",
)
CYCLIC_SAMPLE: Final = SideCondition(
    "cyclic sample",
    "which of {cycle} parts a record belongs to {dealt}; round i takes from part i mod {cycle} "
    "alone, every record of it independently with probability {rate}",
)
SHUFFLED_REPORTS: Final = SideCondition(
    "shuffled reports",
    "each of {records} records is reported alone, with randomness of its own, and of the reports "
    "nothing is revealed but how often each occurs",
)
SUM_OF_CONTRIBUTIONS: Final = SideCondition(
    "sum of contributions",
    "the query's exact value is a sum over the records, the term of a record having Euclidean norm "
    "at most {bound} and depending on no other record",
)
PARTICIPATION: Final = SideCondition(
    "participation",
    "for equal earlier releases a round's exact value moves by at most {value} in L2 norm between "
    "{relation} neighbours, in at most {participation}, and in no other round",
)
SAMPLE_HIDDEN: Final = SideCondition(
    "hidden sample", "of the sample nothing is revealed but what the mechanism releases"
)
BLANK_IGNORED: Final = SideCondition(
    "blank ignored", "the mechanism treats a blank record as if it were not there"
)
BLANK_ADDS_NOTHING: Final = SideCondition(
    "blank adds nothing", "a blank record adds nothing to the exact sum"
)
RUNS_AT_NOTHING: Final = SideCondition(
    "independent number of runs",
    "the number of runs is drawn independently of the data and of all outputs",
)
SCORE_OF_OUTPUT: Final = SideCondition(
    "score of the output",
    "the score that selects looks at one run's output alone, and ties are broken at random",
)
BEST_ALONE: Final = SideCondition(
    "best output alone",
    "only the best output is released, neither the number of runs nor which of them it was",
)
SCORE_AND_THRESHOLD: Final = SideCondition(
    "score and fixed threshold",
    "the score looks at one run's output alone, and the threshold is fixed in advance",
)
FIRST_ALONE: Final = SideCondition(
    "first output alone",
    "only the first output at the threshold is released, or that there was none, and neither the "
    "number of runs nor which of them it was",
)
SENSITIVITY: Final = SideCondition(
    "sensitivity",
    "the query's exact value moves by at most {value} in {norm} norm between {relation} neighbours",
)
FEW_CELLS: Final = SideCondition(
    "few cells",
    "at most {cells} numbers of the query's exact value move between {relation} neighbours, each "
    "by at most {largest}",
)
PROPOSED_BOUND: Final = SideCondition(
    "proposed bound",
    "the distance is a whole number from 0 that moves by at most 1 between {relation} neighbours, "
    "0 where the query's exact value moves by more than {value} in {norm} norm to one of them",
)
SMOOTH_BOUND: Final = SideCondition(
    "smooth bound",
    "between {relation} neighbours the query's exact value moves by at most the bound on either, "
    "and the bounds differ by a factor of at most e^{beta}",
)
ONE_SHAPE: Final = SideCondition(
    "one shape", "the query's value is finite and its shape is the same on every dataset"
)
RANDOM_BITS: Final = SideCondition(
    "random bits", "the random source's 64-bit words are independent and uniform"
)
OUTPUT_ALONE: Final = SideCondition(
    "output alone", "of the query's value and of the noise nothing is revealed but the output"
)
MONOTONE: Final = SideCondition(
    "monotone scores", "between neighbours no two scores move in opposite directions"
)
RISING: Final = SideCondition("rising queries", "a further record moves no query down")
SAME_CANDIDATES: Final = SideCondition(
    "same candidates", "the candidates are the same on every dataset"
)
PERTURBED_MINIMUM: Final = SideCondition(
    "perturbed minimum",
    "the released weights are a function of an exact minimum, and of what is released beside it; "
    "it is that of the logistic losses of all records, with penalty {regulariser} ||w||^2 / 2 and "
    "a linear term of independent ideal Gaussian coordinates; each loss is of a row of norm at "
    "most {bound} that depends on its record alone",
)
SPHERICAL_MINIMUM: Final = SideCondition(
    "spherical minimum",
    "the released weights are a function of an exact minimum, and of what is released beside it; "
    "it is that of the logistic losses of all records, with penalty {regulariser} ||w||^2 / 2 and "
    "a linear term of ideal noise whose density falls exponentially with its Euclidean norm; each "
    "loss is of a row of norm at most {bound} that depends on its record alone",
)
PERTURBED_CHOICE: Final = SideCondition(
    "perturbed choice",
    "the released candidate is the first, in an order that no data decides, to minimise an integer "
    "objective plus the noise on the places of its pattern; between {relation} neighbours the "
    "difference of the objectives of two candidates moves by at most {shift} times the number of "
    "places in which their patterns differ",
)
LIFTED_CHOICE: Final = SideCondition(
    "lifted choice",
    "the released candidate is the first, in an order that no data decides, to minimise an integer "
    "objective minus the product of the noise and a whole vector psi(w) of squared length at most "
    "{length}; between {relation} neighbours the difference of the objectives of w and u moves "
    "by at most {shift} <psi(w), psi(w) - psi(u)>",
)
AVERAGED_CHOICES: Final = SideCondition(
    "averaged choices",
    "what is released is a function of the sum of {calls} whole vectors from a box whose sides add "
    "up to {box}, plus discrete Laplace noise; each is the first, in an order that no data "
    "decides, to minimise an integer objective minus the product of the vector and geometric noise "
    "of its own; between {relation} neighbours the difference of the objectives of w and u "
    "moves by at most {slope} ||w - u||_1",
)
NEAR_MINIMUM: Final = SideCondition(
    "near minimum",
    "whatever the data and the noise, the released candidate misses the minimum by at most {units} "
    "units",
)
CATEGORIES: Final = SideCondition(
    "categories", "the released value is one of {categories} categories on every dataset"
)


def selection_of_the_best() -> tuple[str, ...]:
    """Return the assumptions of every theorem on the best of some runs."""
    return RUNS_AT_NOTHING(), OWN_RANDOMNESS(), SCORE_OF_OUTPUT(), BEST_ALONE()


CONCURRENT: Final = SideCondition(
    "asked at once",
    "what is stated of every mechanism holds towards every analyst who asks it alone, whatever the "
    "questions, and its questions and answers are finitely many, from finite sets",
)
SPENT_BEFORE: Final = SideCondition(
    "spent before",
    "every mechanism is spent before it runs, with a guarantee that holds given all outputs before "
    "it, and what is refused does not run",
)
