"""The extent to which the mechanism attains the answers of its dominating pair."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import final


@final
class Attained(IntEnum):
    """The extent to which an instance of the described mechanism attains the answers; NO is falsy.

    An instance is a mechanism that meets every word of the derivation, on two neighbours of its
    relation. Every answer's claim holds for all instances. The other end of its bracket speaks
    of the mechanism only if some instance attains the pair.

    Attributes:
        NO: no instance is known that does; the pair is an upper bound alone.
        POINTS: for every epsilon from 0 some instance has delta there, not one for all of them.
        WHOLE: for each direction one instance has the pair, at every epsilon. Then the pair of
            either direction has the profile of the other one's swap (``Theorem``).

    Theorem: if (P, Q) is attained forwards and (P', Q') backwards, H(P'||Q') = H(Q||P) everywhere.
    Proof: the instance that attains (P, Q) has (Q, P) in the other order, which (P', Q')
        dominates: H(Q||P) <= H(P'||Q'). Likewise H(Q'||P') <= H(P||Q), which says
        H(P'||Q') <= H(Q||P), as H_e(P||Q) = 1 - t + t H_-e(Q||P), t the power of the number e.

    Example:
        >>> bool(Attained.NO), Attained.POINTS < Attained.WHOLE
        (False, True)
    """

    NO = 0
    POINTS = 1
    WHOLE = 2

    def of_premises(self, premises: Iterable[Attained], *, pointwise: bool) -> Attained:
        """Return the level of a conclusion whose theorem keeps at most this one.

        Args:
            premises: their levels.
            pointwise: whether an instance that attains the premise at an epsilon is enough.
        Example:
            >>> Attained.WHOLE.of_premises([Attained.POINTS], pointwise=False).name
            'NO'
        """
        least = min(premises, default=Attained.WHOLE)
        if least is Attained.POINTS and not pointwise:
            return Attained.NO
        return min(self, least)
