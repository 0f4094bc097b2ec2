"""After a refutation: what the outputs show of its cause."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sensitivity import LInf
from dpproof.auditing.counts import Claim
from dpproof.auditing.inspection.recorder import FactKind, Recorder
from dpproof.auditing.trials.encoding import FeatureMap, Features, Pair, encode
from dpproof.auditing.trials.sampler import Sampler, Training

REPLAYED: Final = 8  # outputs of each of two calls
_FEWEST = 30  # outputs on a dataset, to look at their coordinates
_MOST_ROWS, _MOST_COORDINATES = 2_000, 256
_DIGITS = 9  # Differences that agree so far are taken for equal. Heuristic.
_FAR = 5.0  # Standard errors that are no chance. Heuristic.
_COMMON = 0.03  # Mean correlation of sizes that a common factor has at least. Heuristic.
_SHOWN = 4  # numbers of an output that are named


@final
class _Rows(NamedTuple):
    """Some outputs on both datasets, with those of their first numbers that vary."""

    data: Features
    neighbour: Features
    places: NDArray[np.intp]  # of these numbers in an output

    @staticmethod
    def of(training: Training) -> _Rows:
        """Take them from trials; no numbers where there are too few outputs."""
        first = training.features[:, :_MOST_COORDINATES]
        data, neighbour = first[training.labels], first[~training.labels]
        data, neighbour = data[:_MOST_ROWS], neighbour[:_MOST_ROWS]
        both = np.concatenate([data, neighbour])
        varies = np.isfinite(both).all(axis=0) & (both != both[:1]).any(axis=0)
        enough = min(len(data), len(neighbour)) >= _FEWEST
        places = np.flatnonzero(varies & enough)
        return _Rows(data[:, places], neighbour[:, places], places)


def symptoms(
    training: Training, claim: Claim, replay: str, runs: Sequence[str] = ()
) -> tuple[str, ...]:
    """Say what the outputs show of the cause of a violation; facts of the run, no tests.

    ``replay`` is what two calls have in common, and ``runs`` what recorded runs show.
    """
    rows, sides = _Rows.of(training), (training.labels, ~training.labels)
    equal = all(
        np.array_equal(one, np.broadcast_to(one[:1], one.shape), equal_nan=True)
        for one in (training.features[side] for side in sides)
    )
    facts = [
        *runs,
        replay if equal or not replay.startswith("all ") else "",  # a rare release is no constant
        shared_noise(rows),
        fixed_batches(rows, claim.guarantee),
        common_factor(rows),
    ]
    return tuple(fact for fact in facts if fact)


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


_RECORDED: Final = {
    FactKind.DIVISOR: "released numbers are multiplied or divided by what depends on the data, as "
    "the size of a batch",
    FactKind.REUSED: "one noise is added twice",
    FactKind.SENSITIVITY: "the record moves a number that noise is added to by more than the "
    "claim's sensitivity",
    FactKind.SCALE: "noise is added whose scale is smaller than the claim's, in its units",
}
_RECORDINGS: Final = 4  # As many runs show a record that is in few batches.
_UNROUNDED: Final = 1 + Fraction(1, 10**6)  # Clipping in floats may be so much too large.


def recorded(sampler: Sampler, pair: Pair, claim: Guarantee[Any], seed: int) -> list[str]:
    """Say what runs on both datasets with the same noise show, if it comes from the generator.

    Scale, and the movement of any one number, are compared with the claim's where it is of one
    Gaussian or Laplace mechanism; several steps may be one array. An error says nothing.
    """
    methods = {
        "mechanism/gaussian": ("normal", "standard_normal"),
        "mechanism/laplace": ("laplace",),
    }
    stated = {
        (methods[node.rule], of.get("sigma", of.get("scale")), of.get("sensitivity"))
        for node in claim.derivation.everything()
        if node.rule in methods and (of := dict(node.parameters))
    }
    declared: dict[str, Any] = {}
    for names, scale, sensitivity in stated if len(stated) == 1 else ():
        if isinstance(scale, Fraction) and isinstance(sensitivity, Fraction):
            declared["sensitivity"] = dict.fromkeys(names, LInf(sensitivity * _UNROUNDED))
            declared["scale"] = dict.fromkeys(names, scale)
    kinds: set[FactKind] = set()
    for place in range(_RECORDINGS):
        try:
            kinds |= Recorder(**declared).inspect(sampler, [pair], seed=seed + place).kinds
        except Exception:  # noqa: BLE001  # whatever it raises
            return []
    return [text for kind, text in _RECORDED.items() if kind in kinds]


def shared_noise(rows: _Rows) -> str:
    """Say which numbers of an output move together, exactly; empty if none do.

    Two numbers with noise of their own differ by another amount in every output. Compared on D are
    neighbouring numbers, as of one step, and the first with all others, as of all steps.
    """
    data, places = rows.data, rows.places
    count = len(places)
    for first, other in [
        *((0, j) for j in range(1, count)),
        *((j, j + 1) for j in range(count - 1)),
    ]:
        scale = float(np.max(np.abs(data[:, first]))) or 1.0
        apart = _distinct((data[:, first] - data[:, other]) / scale)
        if _distinct(data[:, first] / scale) > len(data) / 2 > 4 * apart:
            return (
                f"numbers {places[first]} and {places[other]} of an output differ by the same few "
                f"amounts in {len(data)} outputs on D, and vary: one noise may be in both"
            )
    return ""


def sampling_rates(claim: Guarantee[Any]) -> set[float]:
    """Return the rates of the Poisson samples that a claim speaks of."""
    sampled = (node for node in claim.derivation.everything() if node.rule == "subsample/poisson")
    return {float(Fraction(str(dict(node.parameters)["sampling_rate"]))) for node in sampled}


def fixed_batches(rows: _Rows, claim: Guarantee[Any]) -> str:
    """Say whether a record moves numbers without spreading them; empty if not, or not known.

    A record that moves a number by v, in a share q of the batches by chance, moves its mean by qv
    and adds q(1 - q)v^2 to its variance: (1 - q)/q times the square of the former.
    """
    rates = sampling_rates(claim)
    if len(rates) != 1 or not isinstance(claim.relation, AddRemove) or not len(rows.places):
        return ""
    rate = rates.pop()
    moved = rows.data.mean(axis=0) - rows.neighbour.mean(axis=0)
    larger, smaller = rows.data.var(axis=0), rows.neighbour.var(axis=0)
    n, m = len(rows.data), len(rows.neighbour)
    far = np.abs(moved) > _FAR * np.sqrt(larger / n + smaller / m)
    missing = ((1 - rate) / rate * moved**2 / 2 - np.abs(larger - smaller))[far]
    error = np.sqrt(2 * larger**2 / n + 2 * smaller**2 / m)[far]
    if not far.any() or missing.sum() < _FAR * np.sqrt(np.sum(error**2)):
        return ""
    places = rows.places[far]
    more = f" and {len(places) - _SHOWN} others" if len(places) > _SHOWN else ""
    return (
        f"the record moves numbers {', '.join(map(str, places[:_SHOWN]))}{more} of an output in "
        f"every run alike; one in a random {rate:.3g} of the batches would also spread them: its "
        "batches may be fixed"
    )


def common_factor(rows: _Rows) -> str:
    """Say whether neighbouring numbers grow and shrink together on both datasets; empty if not.

    Squares of numbers with noise of their own, or of normal ones, correlate as the squared
    correlation of the numbers; a factor that both are multiplied by adds to that.
    """
    for side in (rows.data, rows.neighbour):
        if side.shape[1] < 2:
            return ""
        centred = side - side.mean(axis=0)
        sizes = centred**2 - np.mean(centred**2, axis=0)
        common = np.mean(_correlations(sizes) - _correlations(centred) ** 2)
        if common < max(_COMMON, _FAR / np.sqrt(side[:, 1:].size)):
            return ""
    return (
        "neighbouring numbers of an output are large together and small together, whatever their "
        "signs: one random factor may scale them"
    )


def _correlations(centred: Features) -> NDArray[np.float64]:
    """Return the correlation of every column with the next one, 0 for a constant."""
    scaled = centred / np.maximum(np.sqrt(np.mean(centred**2, axis=0)), np.finfo(float).tiny)
    return np.asarray(np.mean(scaled[:, 1:] * scaled[:, :-1], axis=0))


def _distinct(values: NDArray[np.float64]) -> int:
    return len(np.unique(np.round(values, _DIGITS)))
