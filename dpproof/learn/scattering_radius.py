"""How far scattering features move with an image, for certified radii."""

from __future__ import annotations

import functools
import math

import numpy as np

from dpproof.learn.fourier_radius import shares_of_length
from dpproof.learn.matrix_norm import Matrix, lengths, norm_bound, slack
from dpproof.mechanisms import ScatteringFeatures
from dpproof.mechanisms.learning.grid import displacement
from dpproof.mechanisms.learning.maps.scattering_features import filters_of

# The transforms of one image of norm 1 are off by less than this together (theory, section 3).
_TRANSFORMS = 2.0**-35


@functools.lru_cache(maxsize=8)
def lipschitz(plan: ScatteringFeatures) -> float:
    """Return an upper bound of how far features move per unit of a clipped or scaled image.

    Statement: Theorem 1 of proofs/theory/scattering.md, for the filters that the map uses: the
        energy that a layer passes on is at most the largest eigenvalue of a matrix for every set
        of frequencies that its steps fold together, where a child weighs as much as what it
        passes on. Dividing a centred channel by sqrt(energy + floor) stretches by at most
        1 / sqrt(floor).
    Source: proofs/theory/scattering.md; that a scattering transform with a frame bound of 1 brings
        no two signals further apart is Mallat, arXiv:1101.2286, section 2.
    Example:
        >>> plan = ScatteringFeatures(features=784, floor=None)
        >>> 0.99 < lipschitz(plan) < 1.2
        True
    """
    second = [_passed(plan, octave, {}) for octave in range(plan.scales)]
    first = [
        _passed(plan, octave, dict(enumerate(second[octave + 1 :], octave + 1)))
        for octave in range(plan.scales)
    ]
    stretched = math.sqrt(_passed(plan, 0, dict(enumerate(first)))) * (1 + slack(4))
    if plan.floor is None:
        return stretched
    return stretched / math.sqrt(float(plan.floor)) * (1 + slack(4))


def _passed(plan: ScatteringFeatures, coarse: int, children: dict[int, float]) -> float:
    """Bound the energy of all features of an image of norm 1 at resolution 2^-coarse.

    ``children`` has the same bound of what the wavelets of each scale make.
    """
    low, wavelets = filters_of(plan)[coarse]
    parts = [(low[np.newaxis], plan.scales)]
    parts += [(wavelets[octave] * math.sqrt(c), octave) for octave, c in children.items()]
    bounds = [norm_bound(matrix) for matrix in _folded_together(parts, coarse, plan.scales)]
    return max(bounds) ** 2 * (1 + slack(16))


def _folded_together(parts: list[tuple[Matrix, int]], coarse: int, top: int) -> Matrix:
    """Return what filters do to frequencies that fold to one: (classes, rows, 4^(top - coarse)).

    ``parts`` are filters, shape (number, height, width), each with the resolution of what it makes.
    One row is for the filter, and one for it mirrored, as a real image has at a frequency the
    energy that it has at its negative.
    """
    apart = 2 ** (top - coarse)
    down, across = np.divmod(np.arange(apart**2), apart)
    rows = []
    for filters, made in parts:
        same = 2 ** (top - made)  # aliases meet if they agree modulo this in both directions
        for kept in np.ndindex(same, same):
            meets = (down % same == kept[0]) & (across % same == kept[1])
            for one in filters:
                for filtered in (one, np.roll(np.flip(one), (1, 1), axis=(0, 1))):
                    height, width = (side // apart for side in one.shape)
                    cells = filtered.reshape(apart, height, apart, width).transpose(1, 3, 0, 2)
                    rows.append(cells.reshape(height * width, apart**2) * meets / math.sqrt(2))
    return np.stack(rows, axis=1)


def image_radii(moves: Matrix, plan: ScatteringFeatures, rows: Matrix) -> Matrix:
    """Return how far rows can move with their features sure to move by less than ``moves``.

    Statement: features move by at most ``lipschitz`` per unit of the clipped image; clipping, grid
        and scaling to norm 1 are as for Fourier features.
    Source: proofs/theory/scattering.md, section 4.

    Args:
        moves: of features as they are computed, Euclidean.
        plan: the map.
        rows: finite, in data units.
    """
    error = _TRANSFORMS * (1 if plan.floor is None else 1 / math.sqrt(float(plan.floor)) + 1)
    chords = (moves - error) / lipschitz(plan) - 2 * displacement(plan.features)
    chords = np.maximum(chords, 0.0) * (1 - slack(8))
    if plan.norm is not None:
        return np.asarray(chords * float(plan.norm))
    sizes = lengths(rows) * (1 - 4 * slack(rows.shape[1]))
    return np.asarray(sizes * shares_of_length(chords))
