"""The profile of finitely many outcomes, linear in e^epsilon between its corners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.selection.finite_base import Outcomes


@final
@dataclass(frozen=True, slots=True, eq=False)
class Corners:
    """Upper ends of a pair's profile.

    Attributes:
        loss: shape (k,), increasing, nats; empty where all losses are +inf.
        height: shape (k,), the profile there.
    """

    loss: Reals
    height: Reals

    def at(self, x: Reals) -> Reals:
        """Return the profile at any real epsilons, of any shape."""
        if not self.loss.size:
            return np.ones(x.shape)  # nothing but losses of +inf
        at = np.clip(np.searchsorted(self.loss, x, side="right"), 1, self.loss.size - 1)
        left, right = self.loss[at - 1], self.loss[at]
        inside = np.clip(x, left, right)
        share = np.expm1(inside - left) / np.expm1(right - left)
        middle = self.height[at - 1] + (self.height[at] - self.height[at - 1]) * share
        first = 1.0 - (1.0 - self.height[0]) * np.exp(np.minimum(x - self.loss[0], 0.0))
        return np.where(x < self.loss[0], first, middle)


def corners(above: Outcomes) -> Corners:
    """Return the corners of the outcomes' profile, rounded up.

    The heights are sums of positive terms.
    """
    finite = np.isfinite(above.loss)
    loss = above.loss[finite][::-1]
    rest = float(above.p[~finite].sum())
    tail = np.cumsum(above.q[finite])[:-1][::-1]  # Q's mass above each loss but the last
    with np.errstate(under="ignore"):
        rise = np.exp(loss[:-1]) * np.expm1(np.diff(loss)) * tail
    if not loss.size:
        return Corners(loss, loss)
    height = np.concatenate([np.cumsum(rise[::-1])[::-1], [0.0]]) + rest
    # One corner more, so that there are two even for a single loss; equal losses are one corner.
    loss, height = np.append(loss, loss[-1:] + 1.0), np.append(height, rest)
    new = np.append(True, np.diff(loss) > 0.0)
    return Corners(loss[new], np.minimum(height[new] * (1 + 1e-11), 1.0))
