"""Masses of the Skellam law, the difference of two Poisson numbers of one mean, in integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, final

_GUARD: Final = 64  # Bits that are computed beyond those asked for. Soundness rests on brackets.
_LOG_2: Final = Fraction(7, 10)  # Above log 2. Heuristic: it decides how far the masses go.


@final
@dataclass(frozen=True, slots=True)
class SkellamMasses:
    """Brackets of P(X = k), k = 0, 1, ..., and of what lies beyond, in units of 2^-bits."""

    lower: tuple[int, ...]  # at or below the masses
    upper: tuple[int, ...]  # at or above the masses
    beyond: int  # at or above P(X > k) for the last k


@lru_cache(maxsize=16)
def skellam_masses(variance: Fraction, bits: int) -> SkellamMasses:
    """Return brackets of the masses P(k) = e^-v I_k(v), up to where they are below 2^-bits.

    Proof: I_(k-1) - I_(k+1) = (2k/v) I_k, so r_k = I_(k+1)/I_k has r_(k-1) = 1/(2k/v + r_k), which
        falls in r_k: a bracket of r_k, [0, 1] for the first, gives one of r_(k-1), and those of the
        products w_k = r_0 ... r_(k-1) follow. The masses are w_k over their sum. A Skellam law is
        log-concave, as a convolution of log-concave laws, so r_k falls in k and the w beyond the
        last, w_K, add up to at most w_K r_K/(1 - r_K).
    """
    last = math.isqrt(math.ceil(2 * variance * bits * _LOG_2)) + bits
    work = bits + _GUARD
    one, square = 1 << work, 1 << (2 * work)
    low, high = 0, one
    ratios: list[tuple[int, int]] = []
    for k in range(last + last // 2 + bits, 0, -1):
        if k <= last + 1:
            ratios.append((low, high))
        step = (2 * k * variance.denominator << work) // variance.numerator
        low, high = square // (step + 1 + high), -(-square // (step + low))
    ratios.append((low, high))
    ratios.reverse()
    least, most = [one], [one]
    for low, high in ratios[:last]:
        least.append(least[-1] * low >> work)
        most.append(-(-most[-1] * high >> work))
    falling = ratios[last][1]
    rest = most[-1] * falling // (one - falling) + 1
    whole = one + 2 * sum(least[1:]), one + 2 * sum(most[1:]) + 2 * rest
    return SkellamMasses(
        tuple((w << bits) // whole[1] for w in least),
        tuple(-(-(w << bits) // whole[0]) for w in most),
        -(-(rest << bits) // whole[0]),
    )
