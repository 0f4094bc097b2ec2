"""A search for the pair that looks worst."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import withholding
from dpproof.auditing.audit import audit
from dpproof.auditing.trials.pair import Pair
from dpproof.auditing.trials.sampler import Sampler


def search_pairs(
    sampler: Sampler,
    pairs: Iterable[Pair | tuple[Any, Any]],
    claim: object,
    *,
    samples: int = 250,
    keep: int = 1,
    seconds: Number = 60,
    seed: int | None = None,
) -> list[Pair]:
    """Return the pairs that look worst for a claim, worst first; nothing is tested with them.

    Rounds of small audits: the better half of the pairs by their evidence against the claim goes
    on, with twice the samples, until ``keep`` are left or the time ends. All trials are drawn for
    the search and by seeds of their own. So an audit of the pair that is returned is exact.

    Args:
        sampler: as for ``audit``.
        pairs: of ``neighbours``, say.
        claim: as for ``audit``.
        samples: per dataset in the first round.
        keep: how many are returned, at most.
        seconds: no audit begins after them, and none takes longer.
        seed: None draws a fresh one.
    Example:
        >>> def total(records, size, rng):  # nan is not clipped
        ...     return np.clip(records, 0, 1).sum() + rng.laplace(size=size).round(6)
        >>> tried = [([0.5, x], [0.5]) for x in (0.0, 0.5, np.nan)]
        >>> len(search_pairs(total, tried, (1.1, 0), seed=1)[0].data)
        2
    """
    end = time.monotonic() + float(arguments.positive(seconds=seconds))
    fresh = np.random.SeedSequence(None if seed is None else arguments.whole(seed=seed))
    most, size = arguments.count(keep=keep), arguments.count(samples=samples)
    left: Sequence[Pair] = [Pair.of(pair) for pair in withholding(list)(pairs)]
    if not left:
        raise ParameterError("pairs", pairs, "at least one pair")
    while True:
        ranked = []
        for place, pair in enumerate(left):
            remaining = end - time.monotonic()
            evidence = -math.inf
            if remaining > 0:
                drawn = int(fresh.spawn(1)[0].generate_state(1, np.uint64)[0] >> 1)
                evidence = audit(
                    sampler, pair, claim, samples=size, seed=drawn, seconds=remaining
                ).log_evidence
            ranked.append((-evidence, place))
        left = [left[place] for _, place in sorted(ranked)][: max(most, len(left) // 2)]
        if len(left) <= most or end <= time.monotonic():
            return list(left[:most])
        size *= 2
