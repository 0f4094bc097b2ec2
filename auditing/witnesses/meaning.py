"""What a score looks at, and what to do if it tells two datasets apart, for people."""

from __future__ import annotations

from auditing.witnesses.coordinates import Coordinate, FarFrom, Largest, Smallest
from auditing.witnesses.float_grid import LowestBit
from auditing.witnesses.histogram import AtomOdds, BinOdds
from auditing.witnesses.independent import SumOfOdds
from auditing.witnesses.linear import LinearScore
from auditing.witnesses.witness import Score

_SCALE = "look for noise that is smaller than stated, or a sensitivity larger"


def meaning(score: Score) -> str:
    """Return what a score is in words and what its success hints at; empty if it is another's.

    Example:
        >>> meaning(LowestBit(0))[:47]
        'the lowest bit of number 0: floating-point leak'
    """
    match score:
        case LowestBit(index=index):
            return (
                f"the lowest bit of number {index}: floating-point leak; round what is released to "
                "a grid that does not depend on the data, or use mechanisms.Laplace or Gaussian, "
                "whose noise is on a grid"
            )
        case Coordinate(index=index):
            return f"how large number {index} of an output is: {_SCALE}"
        case FarFrom(index=index):
            return f"how far number {index} of an output is from its usual place: {_SCALE}"
        case Largest() | Smallest():
            return f"the most extreme number of an output: {_SCALE} in one coordinate"
        case AtomOdds():
            return (
                "values that come up on one dataset more than on the other: look for outputs that "
                "are released without noise, such as lengths, errors, keys and defaults"
            )
        case BinOdds(index=index):
            return f"where number {index} of an output lies, by bins: {_SCALE}"
        case LinearScore() | SumOfOdds():
            return (
                "many numbers of an output together: look for noise that the coordinates share, or "
                f"a sensitivity in another norm than the noise needs; {_SCALE}"
            )
        case _:
            return ""
