"""One bit hidden among uniform bits, in layers: the profile of such pairs, from either side.

In a layer (drawn by one law under P and Q, and shown) the outcome is the sum of some bits that are
1 with one probability, and of one bit that is 1 with probability ``up`` under P and ``down`` under
Q. More other bits, and bits that differ less, reveal less. Proofs: proofs/theory/shuffle_model.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.arithmetic.discrete_laws import Binomial
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.errors import NotCertified

# What floats miss of a divergence, relative to its terms, beside the masses, and of a sum of
# layers. Soundness depends on both.
_TERMS: Final = 2.0**-48
_LAYERS: Final = 1e-11
_ODDS: Final = 8.0  # Times as far a place is off where odds were computed. Soundness depends on it.
_CHUNK: Final = 1 << 16  # Numbers at once. Heuristic: they fit a cache.
_NEAR: Final = 0.25  # Above the error of a place. Soundness depends on it.


@final
@dataclass(frozen=True, slots=True)
class Layer:
    """One layer.

    Attributes:
        others: the sum of the other bits.
        weight: its probability, from above or from below.
        up: the probability of 1 under P, rounded outwards.
        down: under Q, below ``up``, rounded outwards.
    """

    others: Binomial
    weight: float
    up: float
    down: float


@final
class HiddenBits:
    """The profile of layers at t >= 1.

    Attributes:
        upper: whether it is bounded from above, else from below.
    """

    __slots__ = ("_columns", "_masses", "_starts", "_tails", "upper")

    def __init__(self, layers: Iterable[Layer], *, upper: bool) -> None:
        """Make the tables of all layers, one for each sum of other bits.

        Raises:
            NotCertified: floats do not tell where the ratio of a layer crosses t.
        """
        starts: dict[Binomial, int] = {}
        masses: list[Reals] = []
        tails: list[Reals] = []
        size, rows, begins = 0, [], []
        for one in layers:
            law = one.others
            if law not in starts:
                starts[law] = size
                masses.append(np.concatenate([[0.0], law.masses, [0.0]]))
                tails.append(np.concatenate([[1.0], law.tails, [0.0]]))
                size += len(masses[-1])
            gap = one.up - one.down
            odds = _ODDS if law.odds != 1.0 else 1.0
            if upper and (law.trials + 1) * _TERMS * odds > _NEAR * gap:
                raise NotCertified(
                    f"reports at epsilon of about {gap:.3g} or less are next to nothing among "
                    f"{law.trials} others, and floats do not tell them from it; use a larger "
                    "epsilon"
                )
            rate, errors = law.odds / (1.0 + law.odds), (law.slip, law.lost)
            place = (law.trials, law.first, len(law.masses) + 1)
            rows.append((one.weight, one.up, one.down, rate, *errors, *place))
            begins.append(starts[law])
        self.upper = upper
        self._masses, self._tails = np.concatenate(masses), np.concatenate(tails)
        self._columns: Reals = np.array(rows, dtype=np.float64).T[:, :, None]
        self._starts: NDArray[Any] = np.array(begins, dtype=np.int64)[:, None]

    def __call__(self, epsilon: Reals) -> Reals:
        """Bound the profile at epsilon >= 0, at most 700."""
        size = max(1, _CHUNK // self._starts.size)
        parts = [self._sum(epsilon[k : k + size]) for k in range(0, epsilon.size, size)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _sum(self, epsilon: Reals) -> Reals:
        """Return the sums over all layers.

        Rounds: in a layer, H_t = max_j (up - t down) b(j - 1) - (t - 1) G(j), b the masses and G
            the tails of the other bits: its terms carry a few roundings each, those of t included.
            Every j is a bound from below; from above the best one is one of the two tried.
        """
        t = np.exp(epsilon)[None, :]
        weight, up, down, rate, slip, lost, bits, first, most = self._columns
        ahead, behind = np.maximum(up - t * down, 0.0), t * (1.0 - down) - (1.0 - up)
        share = rate * behind
        crossing = (bits + 1.0) * share / (ahead * (1.0 - rate) + share) - first
        largest = np.zeros_like(crossing)
        for shift in (-_NEAR, _NEAR) if self.upper else (0.0,):
            at = self._starts + np.clip(np.ceil(crossing + shift), 0.0, most - 1.0).astype(np.int64)
            mass, tail = self._masses[at], self._tails[at + 1]
            value = (up - t * down) * mass - (t - 1.0) * tail
            slack = (_TERMS + slip) * (up * mass + t * (down * mass + tail)) + 2.0 * t * lost
            largest = np.maximum(largest, value + slack if self.upper else value - slack)
        total = (weight * largest).sum(axis=0)
        return np.asarray(total * (1.0 + _LAYERS if self.upper else 1.0 - _LAYERS))
