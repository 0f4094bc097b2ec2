"""The report of an audit: one of three outcomes, what was seen, and all to check and replay it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from fractions import Fraction
from html import escape
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import AddRemove, Guarantee, LInf
from dpproof.auditing.counts import Claim, ClaimRefuted, Design, EventCounts, PrefixCounts
from dpproof.auditing.inspection.recorder import FactKind, Recorder
from dpproof.auditing.trials.encoding import FeatureMap, Features, Pair, encode
from dpproof.auditing.trials.sampler import Sampler, Training

# What the words of an event or of a seen fact have in them, and the cause that fits.
_CAUSES: Final = (
    (
        ("scale is smaller", "claim's sensitivity"),
        "noise smaller, or a sensitivity larger, than stated (clipping, units, a factor)",
    ),
    (
        ("one noise", "seed"),
        "noise that is shared by coordinates, steps or calls, or a seed that is set in the code",
    ),
    (
        ("batches may be fixed",),
        "sampling other than stated (a record in every batch, batches in turn or by a shuffle)",
    ),
    (
        ("random factor", "divided by"),
        "a scale, divisor or count that depends on the data (the realised batch size)",
    ),
    (
        ("values that", "no noise"),
        "something released without noise, as lengths, keys, errors, defaults",
    ),
    (("lowest bit",), "floating-point numbers that are not rounded to a public grid"),
)

# What the words of a seen fact have in them, and its name in a headline.
_NAMES: Final = (
    ("divided by", "numbers normalised by the realised batch or other data"),
    ("one noise", "one noise in several numbers"),
    ("claim's sensitivity", "a record that is not clipped to the claim's sensitivity"),
    ("scale is smaller", "less noise than claimed, in its units"),
    ("no noise", "no noise"),
    ("a seed may", "a seed set in the code"),
    ("batches may be fixed", "a record in fixed batches"),
    ("random factor", "numbers with one random factor"),
)


def causes(looked_at: str, seen: Sequence[str] = ()) -> list[str]:
    """Return what a refuted claim may be due to, what fits the facts ``seen`` of outputs first."""

    def unlikely(cause: tuple[tuple[str, ...], str]) -> tuple[bool, bool]:
        signs, _ = cause
        return (
            not any(sign in fact for sign in signs for fact in seen),
            not any(sign in looked_at for sign in signs),
        )

    return [text for _, text in sorted(_CAUSES, key=unlikely)]


_NOT_ALONE: Final = ", which does not refute it by itself"


@final
class Outcome(Enum):
    """The conclusion that the samples allow. There is no outcome "is private"."""

    VIOLATION = "violation"
    NO_EVIDENCE = "no evidence"
    INCONCLUSIVE = "inconclusive"


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """One test that was made, on samples that no one had looked at.

    Its event, the counts and the dataset ("data" or "neighbour") on which it is more likely are
    training's choice. It was given a part of the error probability, ``significance``. It bounds
    epsilon, or tests one tangent of the curve, with a p-value. ``meaning`` is the event in words
    for people; at ``epsilon`` the claim allows the delta ``allowed``.
    """

    what: str
    event: str
    order: str
    counts: EventCounts
    significance: float
    refutes: bool
    epsilon_lower: float | None = None
    p_value: float | None = None
    meaning: str = ""
    epsilon: float = 0.0
    allowed: float = 1.0

    @property
    def difference(self) -> float:
        """Return the delta that the plain frequencies suggest; it decides nothing."""
        counts, odds = self.counts, math.exp(min(self.epsilon, 700.0))
        if counts.design is Design.GUESSES:
            return (counts.hits - odds * counts.other_hits) / counts.total
        mine = counts.hits / max(counts.trials, 1)
        return mine - odds * counts.other_hits / max(counts.other_trials, 1)

    def headline(self) -> str:
        """Return the claimed bound and the counts in one sentence."""
        (mine, other), counts = self._sides(), self.counts
        if counts.design is Design.GUESSES:
            counted = (
                f"{counts.hits:,} right guesses of the dataset against {counts.other_hits:,} wrong "
                f"ones in {counts.total:,} trials"
            )
        else:
            counted = (
                f"{counts.hits:,} of {counts.trials:,} on {mine} against {counts.other_hits:,} of "
                f"{counts.other_trials:,} on {other}"
            )
        facts = [f"delta about {self.difference:.3g}"] if self.difference > self.allowed else []
        if self.p_value is not None:
            facts.append(f"p-value {self.p_value:.2g}")
        if self.epsilon_lower is not None:
            facts.append(
                f"epsilon at least {self.epsilon_lower:.4g}, error {self.significance:.2g}"
            )
        allowed = f"At epsilon {self.epsilon:.4g} the claim allows delta {self.allowed:.3g}"
        return f"{allowed}; counted {counted} ({', '.join(facts)})"

    def _sides(self) -> tuple[str, str]:
        return ("D", "D'") if self.order == "data" else ("D'", "D")

    def __str__(self) -> str:
        mine, other = self._sides()
        counts, that_is = self.counts, f"\n    that is {self.meaning}" if self.meaning else ""
        if counts.design is Design.GUESSES:
            return (
                f"{self.what}\n    {self.event}, guessing {mine} and {other}: {counts.hits} of "
                f"{counts.hits + counts.other_hits} guesses right{that_is}"
            )
        return (
            f"{self.what}\n    S = {{{self.event}}}: {counts.hits} of {counts.trials} on {mine}, "
            f"{counts.other_hits} of {counts.other_trials} on {other}{that_is}"
        )


@final
@dataclass(frozen=True, slots=True)
class Overview:
    """Counts of passing each of a few thresholds of one score, all fixed before the trials."""

    score: str  # the score in words
    order: str  # the dataset that is more likely to pass them ("data" or "neighbour")
    counts: PrefixCounts  # hits on that dataset


@final
@dataclass(frozen=True, slots=True)
class Report:
    """The result of one audit.

    ``epsilon_lower`` is a lower confidence bound of epsilon at ``delta``, 0 when nothing is shown.
    An audit of a true claim ends in a violation, or reports a bound above the truth, with
    probability at most ``significance``. ``detectable_epsilon`` is the smallest that this audit
    would have found with 95 % probability on an event as frequent as those it looked at; inf when
    none, and where the first look ended the audit; ``detectable_mu`` is the same for Gaussian noise
    where a curve is claimed. ``log_evidence`` is the log of an e-value: those of audits with
    independent trials multiply, and Pr(the product ever reaches 1 / a) <= a for a claim that holds.
    The ``overview`` has the score of the last test over all of its range, for ``TradeOffRegion``,
    and decides nothing. No test refutes the claim with fewer samples than ``needed``. Where it is
    refuted, ``seen`` says what the outputs show of the cause. The seed replays the audit, where the
    sampler takes its randomness from the generator.
    """

    outcome: Outcome
    claim: str
    pair: str
    epsilon_claimed: float
    delta: float
    epsilon_lower: float
    significance: float
    detectable_epsilon: float
    detectable_mu: float | None
    trials: int
    planned: int
    seed: int
    log_evidence: float
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    seconds: float
    overview: Overview | None = None
    needed: float = 0
    seen: tuple[str, ...] = ()

    def __str__(self) -> str:
        at = f" at delta = {self.delta:.6g}" if self.delta else ""
        refuted = self.outcome is Outcome.VIOLATION
        alone = refuted and self.epsilon_lower <= self.epsilon_claimed
        lines = [
            self.headline(),
            f"  claim: {self.claim}: epsilon = {self.epsilon_claimed:.6g}{at}",
            f"  measured: epsilon >= {self.epsilon_lower:.6g}{at}{_NOT_ALONE * alone}",
            f"  wrong about a claim that holds with probability at most {self.significance:.3g}",
            f"  pair {self.pair!r}: {self.trials} samples of {self.planned} planned",
            f"  refuting the claim takes at least {self.needed} samples",
            f"  seed {self.seed}, {self.seconds:.1f} s",
            *(f"  {'refuted by' if f.refutes else 'tested'}: {f}" for f in self.findings),
        ]
        if refuted:
            lines += [f"  seen: {fact}" for fact in self.seen]
            fits = ", first what fits the facts above" * bool(self.seen)
            lines += [f"  possible causes, which this audit does not tell apart{fits}:"]
            lines += [f"    - {cause}" for cause in causes(self._refuting().meaning, self.seen)]
        else:
            lines.append(f"  {self.power()}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """Show a notebook the headline, and the page below it."""
        head, page = escape(self.headline()), escape(str(self))
        return f"<details open><summary>{head}</summary><pre>{page}</pre></details>"

    def headline(self) -> str:
        """Return the outcome in one line: of a violation, the fact that refutes the claim."""
        if self.outcome is Outcome.VIOLATION:
            named = [name for sign, name in _NAMES if any(sign in fact for fact in self.seen)]
            seen = f" (seen: {'; '.join(named)})" if named else ""
            return f"VIOLATION{seen}. {self._refuting().headline()}"
        at = f" at delta = {self.delta:.4g}" if self.delta else ""
        return (
            f"{self.outcome.name.replace('_', ' ')}: measured epsilon >= {self.epsilon_lower:.4g} "
            f"of {self.epsilon_claimed:.4g} claimed{at}"
        )

    def _refuting(self) -> Finding:
        """Return the clearest refuting test: that of the claim's curve, if there is one."""
        refuting = [finding for finding in self.findings if finding.refutes]
        return max(refuting, key=lambda finding: finding.p_value is not None)

    def power(self) -> str:
        """Return a sentence with the smallest violation that this audit would have found."""
        found = []
        if math.isfinite(self.detectable_epsilon):
            event = "on this pair, on an event as frequent as those above"
            found.append(f"epsilon >= {self.detectable_epsilon:.4g} {event}")
        if self.detectable_mu is not None and math.isfinite(self.detectable_mu):
            found.append(f"mu >= {self.detectable_mu:.4g}")
        if not found:
            return "no violation of any size would have been found with 95 % probability"
        return f"would have found, with 95 % probability, {'; '.join(found)}"

    def require(self) -> Report:
        """Return the report itself, unless it is a violation.

        Raises:
            ClaimRefuted: the outcome is a violation; the message is the page.
        """
        if self.outcome is Outcome.VIOLATION:
            raise ClaimRefuted(str(self))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values; infinities as null."""
        values = {"headline": self.headline(), **asdict(self)}
        return {key: _plain(value) for key, value in values.items()}

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:  # noqa: ANN401  # whatever a report holds
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


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
    """Say what outputs, two calls (``replay``) and recorded ``runs`` show of a cause."""
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
    """Say what two calls on D with different generators have in common; empty if nothing."""
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
    """Say what runs on both datasets with the same noise show, if it comes from the generator."""
    # Compared are its scale and moves, with a claim of one Gaussian or Laplace mechanism.
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
    """Say which numbers of an output move together, exactly; empty if none do."""
    # Numbers with noise of their own differ by another amount in every output.
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
    """Say whether a record moves numbers without spreading them; empty if not, or not known."""
    # Moving by v in a share q of batches adds q(1 - q)v^2 to the variance, (1 - q)/q of (qv)^2.
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
    """Say whether neighbouring numbers grow and shrink together on both datasets; empty if not."""
    # Squares of normal numbers correlate as the squared correlation; a common factor adds to it.
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
