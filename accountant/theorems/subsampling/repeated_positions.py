"""Phases that draw positions with replacement, each with Gaussian noise of its own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments as check
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.preconditions import require_single, required_guarantee
from dpproof.accountant.guarantees.privacy_profile import PrivacyProfile
from dpproof.accountant.guarantees.provenance import applied, rederived
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.pairs.gaussian import gaussian_profile
from dpproof.accountant.relation import AddRemove, R
from dpproof.accountant.side_conditions import FIXED, OWN_RANDOMNESS, REPEATED_POSITIONS
from dpproof.accountant.subsampling.occurrences import occurrences

REPEATED: Final = Theorem(
    rule="subsample/positions",
    source="proofs/theory/margins.md, section 6",
    attained=Attained.NO,  # the profile between points is bounded
    lossless=False,
)

_POINTS: Final = 300
# Soundness: errors of masses, of their sum, and of sums of profiles, are far below these.
_SLACK: Final = 1e-9


def repeated_positions(
    guarantee: GDP[R], *, records: int, draws: Sequence[int]
) -> PrivacyProfile[R]:
    """State what phases satisfy that each draw some positions uniformly with replacement.

    Statement: phase p draws n_p of the positions 1, ..., n, independently and uniformly, and
        is (C mu)-GDP if a changed record is drawn C times, whatever was released before. Then all
        phases and the drawn positions satisfy delta(eps) = E delta_GDP(mu sqrt(sum C_p^2))(eps),
        C_p ~ Bin(n_p, 1/n) independent.
    Assumes: repeated positions; own randomness; fixed in advance.
    Source: proofs/theory/margins.md, section 6. Replaces the group privacy of Bassily, Mohri &
        Suresh, arXiv:2204.10376, Lemma 3.1, at the most occurrences that are likely.
    Rounds: delta up, by a relative 1e-9, the mass of sums of squares above 400, and 1e-12.

    Args:
        guarantee: mu-GDP of a phase in which the record is drawn once.
        records: n.
        draws: n_p of every phase, at least one.
    Returns:
        A profile at 300 epsilons.
    Raises:
        NotImplied: under add-remove, where records have no positions, or about groups.
        ParameterError: not GDP, or numbers that are not counts.
    Laws: increases with mu and with every n_p.
    Example:
        >>> from dpproof.accountant import GDP, ReplaceOne
        >>> one = GDP(mu=0.1, relation=ReplaceOne())
        >>> found = repeated_positions(one, records=10_000, draws=[5_000, 2_500, 1_250])
        >>> 1 < found.epsilon(delta=1e-6).upper < 1.3
        True
    """
    required_guarantee(guarantee)
    if not isinstance(guarantee, GDP):
        raise ParameterError("guarantee", guarantee, "mu-GDP of one phase")
    if isinstance(guarantee.relation, AddRemove):
        raise NotImplied("under add-remove records have no positions: state it under ReplaceOne()")
    require_single(guarantee, "sampling positions with replacement")
    size = check.count(records=records)
    counts = [check.count(draws=one) for one in draws]
    if not counts:
        raise ParameterError("draws", draws, "at least one phase")
    epsilons, deltas = _profile(floats_around(guarantee.mu)[1], *occurrences(size, counts))
    points = tuple(
        (Fraction(float(e)), Fraction(min(float(d), 1.0)))
        for e, d in zip(epsilons, deltas, strict=True)
    )
    found = PrivacyProfile(points=points, relation=guarantee.relation)
    derivation = applied(
        REPEATED,
        f"the mean profile of {guarantee.describe()} over how often a position is drawn",
        guarantee,
        records=size,
        draws=tuple(counts),
        assumptions=(REPEATED_POSITIONS(records=size), OWN_RANDOMNESS(), FIXED()),
    )
    return rederived(found, derivation)


def _profile(
    mu: float, masses: NDArray[np.float64], beyond: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return epsilons and upper ends of the mean profile."""
    sums = np.flatnonzero(masses > 0)
    sums = sums[sums > 0]
    widest = mu * np.sqrt(60.0)
    reach = min(widest * (widest / 2 + 9.0), 600.0)
    epsilons = np.concatenate([[0.0], np.geomspace(reach * 1e-3, reach, _POINTS - 1)])
    deltas = np.full(len(epsilons), beyond)
    for total in sums:
        upper = gaussian_profile(mu * float(np.sqrt(total)) * (1 + 1e-15), epsilons)[1]
        deltas += masses[total] * np.minimum(upper, 1.0)
    return epsilons, deltas * (1 + _SLACK)
