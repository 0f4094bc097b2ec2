"""Taking a virtual Gaussian out of a profile again.

Lemma (tent) of proofs/theory/contour.md, section 4.

With t = e^eps, delta(t) the part of a profile that finite losses have, X = e^{tau N},
N ~ N(-tau/2, 1), so that E X = 1, and g(t) = E delta(tX), the lemma bounds delta(t) from below by
values of g at t and w nats to either side.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import arb

from dpproof.proofs.balls.arithmetic import ball, normal_tail


@final
@dataclass(frozen=True, slots=True)
class Tent:
    """The hat functions T_u, T, T_v on the points u = e^{-w}, 1, v = e^w.

    Attributes:
        tau: of the virtual Gaussian, above 0.
        width: w, above 0.
    """

    tau: Fraction
    width: Fraction

    def hats(self) -> tuple[arb, arb, arb]:
        """Return E[T_u(X)], E[T(X)], E[T_v(X)].

        P(u <= X <= 1) = E[X; 1 <= X <= v] = a, P(1 <= X <= v) = E[X; u <= X <= 1] = b.
        """
        half, reach = ball(self.tau / 2), ball(self.width / self.tau)
        a = normal_tail(-half) - normal_tail(reach - half)
        b = normal_tail(half) - normal_tail(reach + half)
        w = ball(self.width)
        left, right = (b - a) / (-w).expm1(), (a - b) / w.expm1()
        return left, a + b - left - right, right

    def outside(self, c: Fraction) -> arb:
        """Return E[X^{-c}; X < u or X > v] over E[X^{-c}] = e^{tau^2 c(c+1)/2}."""
        reach, shift = ball(self.width / self.tau), ball((c + Fraction(1, 2)) * self.tau)
        return normal_tail(reach - shift) + normal_tail(reach + shift)
