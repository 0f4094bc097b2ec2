"""What a score looks at, for people."""

from __future__ import annotations

from dpproof.auditing.witnesses.coordinates import Coordinate, FarFrom, Largest, Smallest
from dpproof.auditing.witnesses.float_grid import LowestBit
from dpproof.auditing.witnesses.histogram import AtomOdds, BinOdds
from dpproof.auditing.witnesses.independent import SumOfOdds
from dpproof.auditing.witnesses.linear import LinearScore
from dpproof.auditing.witnesses.witness import Score


def meaning(score: Score) -> str:
    """Return what a score looks at in words; empty if it is another's.

    Example:
        >>> meaning(LowestBit(0))
        'the lowest bit of number 0 of an output'
    """
    match score:
        case LowestBit(index=index):
            return f"the lowest bit of number {index} of an output"
        case Coordinate(index=index):
            return f"how large number {index} of an output is"
        case FarFrom(index=index):
            return f"how far number {index} of an output is from its usual place"
        case Largest() | Smallest():
            return "the most extreme number of an output"
        case AtomOdds():
            return "values that come up on one dataset more than on the other"
        case BinOdds(index=index):
            return f"where number {index} of an output lies, by bins"
        case LinearScore() | SumOfOdds():
            return "many numbers of an output together"
        case _:
            return ""
