"""Where a privacy profile is asked, to be known everywhere from a few points."""

from __future__ import annotations

from typing import Any, Final

from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rounding import MAX_EXPONENT

_PLACES: Final = 40  # Heuristic: epsilons of what is made of these points are off by about 1 %.
_LEAST: Final = 1e-24  # The smallest delta but 0. Heuristic.


def profile_places(guarantee: Guarantee[Any]) -> list[float]:
    """Epsilons from 0 to the largest loss, where delta falls by equal factors.

    Args:
        guarantee: any notion.
    Example:
        >>> from dpproof.accountant.guarantees.pure_dp import PureDP
        >>> 0.999 < profile_places(PureDP(epsilon=1))[-1] < 1.001
        True
    """
    most = guarantee.delta(epsilon=0).upper
    asked = [most * (_LEAST / most) ** (k / _PLACES) for k in range(1, _PLACES)] if most else []
    found = {guarantee.epsilon(delta=delta).upper for delta in (*asked, 0)}
    return sorted({0.0, *(one for one in found if one <= MAX_EXPONENT)})
