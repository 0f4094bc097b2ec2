"""After a refutation: what the outputs show of its cause."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auditing.trials.encoding import FeatureMap, Features, encode
from auditing.trials.pair import Pair
from auditing.trials.sampler import Sampler
from auditing.trials.training import Training

REPLAYED: Final = 8  # outputs of each of two calls
_FEWEST = 30  # outputs on D, to look at their coordinates
_MOST_ROWS, _MOST_COORDINATES = 500, 256
_DIGITS = 9  # Differences that agree so far are taken for equal. Heuristic.


def symptoms(
    sampler: Sampler | None,
    pair: Pair,
    features: FeatureMap | None,
    seed: int,
    training: Training,
) -> tuple[str, ...]:
    """Say what the outputs show of the cause of a violation; facts of the run, no tests.

    Args:
        sampler: called twice more; None where that takes too long.
        pair: whose D is looked at.
        features: as in the audit.
        seed: of the audit.
        training: outputs that the audit looked at.
    """
    replay = "" if sampler is None else replayed(sampler, pair, features, seed)
    return tuple(fact for fact in (shared_noise(training), replay) if fact)


def replayed(sampler: Sampler, pair: Pair, features: FeatureMap | None, seed: int) -> str:
    """Say what two calls on D with different generators have in common; empty if nothing.

    An error of the sampler says nothing: the refutation stands without it.
    """
    rows = []
    for child in np.random.SeedSequence(entropy=seed, spawn_key=(2**32 - 1,)).spawn(2):
        try:
            outputs: Any = sampler(pair.data, REPLAYED, np.random.default_rng(child))
            rows.append(encode(outputs, REPLAYED, features))
        except Exception:  # noqa: BLE001  # whatever it raises
            return ""
    first, second = rows
    if not np.array_equal(first, second, equal_nan=True):
        return ""
    if len(np.unique(first, axis=0)) == 1:
        return (
            f"all {2 * REPLAYED} outputs of two calls on D were equal: no noise is added, or its "
            "seed is set for every output"
        )
    return (
        f"two calls on D with different generators gave the same {REPLAYED} outputs: a seed may "
        "be set in the code"
    )


def shared_noise(training: Training) -> str:
    """Say which numbers of an output move together, exactly; empty if none do.

    Two numbers with noise of their own differ by another amount in every output. Compared are
    neighbouring numbers on D.
    """
    rows = _continuous(training)
    for index in range(rows.shape[1] - 1):
        first, second = rows[:, index], rows[:, index + 1]
        scale = float(np.max(np.abs(first)))
        if _distinct(first / scale) > len(rows) / 2 > 4 * _distinct((first - second) / scale):
            return (
                f"numbers {index} and {index + 1} of an output differ by the same few amounts in "
                f"{len(rows)} outputs on D, and vary: one noise may be in both"
            )
    return ""


def _continuous(training: Training) -> Features:
    """Return some outputs on D with their first numbers; none where there are too few."""
    rows = training.features[training.labels][:_MOST_ROWS, :_MOST_COORDINATES]
    rows = rows[:, np.isfinite(rows).all(axis=0) & (rows != 0).any(axis=0)]
    return rows if len(rows) >= _FEWEST else rows[:, :0]


def _distinct(values: NDArray[np.float64]) -> int:
    return len(np.unique(np.round(values, _DIGITS)))
