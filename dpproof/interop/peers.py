"""The same event in other accountants, and why the numbers differ."""

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Final, final

from dpproof.accountant import AddRemove, Bound, Guarantee, PrivacyError, Relation
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.errors import InputError
from dpproof.interop.event import Event, from_dp_event
from dpproof.interop.to_event import built
from dpproof.time_limit import NotInTime, curves, in_time, known_in, shares

NOISE: Final = ("noise_multiplier", "standard_deviation", "sigma")
SHARED: Final = 1e-9  # relative difference of numbers that are called the same. Heuristic.
_LONGEST: Final = 90  # characters of a reason; what an event holds is left out of a longer one
_HALVINGS: Final = 14  # of the noise that is saved: to four digits


@final
@dataclass(frozen=True, slots=True)
class Peer:
    """The answer of one accountant."""

    name: str  # RDP, PLD or PRV; Poisson, of shuffled batches, is our own number for samples
    epsilon: float | None  # its number; None if it has none
    why: str  # in a line, why it differs from the bracket, or why there is no number
    # The part of the noise that is spared at its epsilon, by the bracket's upper end; None if it
    # is not above the bracket, or no noise can be scaled.
    saved: float | None = None
    # Whether the lower end of the bracket contradicts it, as some instance of the mechanism
    # attains that.
    refuted: bool = False


def compared(
    event: Event,  # what they are given
    relation: Relation,
    delta: float,  # at which epsilon is asked for
    stated: Guarantee[Any] | None = None,
    *,
    printed: Guarantee[Any] | None = None,
    seconds: float | None = None,
) -> tuple[Bound, tuple[Peer, ...], bool]:
    """Return our bracket of epsilon, the other accountants' answers, and if it is not exact."""
    whole = from_dp_event(event, relation=relation) if stated is None else stated
    asked = (event, relation, delta)
    others: list[tuple[str, Callable[[], float], str]] = [
        (name, partial(ask, *asked), why) for name, (ask, why) in _PEERS.items()
    ]
    if printed is not None:
        others.insert(0, ("Poisson", lambda: printed.epsilon(delta=delta).upper, "of samples"))
    parts = shares(seconds, len(others) + 1)
    ours, is_rough = known_in(
        next(parts), lambda **_: whole, lambda one: one.epsilon(delta=delta), Fraction(delta), "ε"
    )
    if is_rough:  # a lower end of divergences is none of what runs
        ours = Bound(0.0, ours.upper)
    peers = []
    for (name, ask, why), part in zip(others, parts, strict=True):
        try:
            answer = partial(_answer, name, ask, why, ours, asked, whole=whole)
            peers.append(in_time(part, "its answer", answer))
        except NotInTime as late:
            peers.append(Peer(name, None, str(late)))
    if printed is not None:
        peers = [replace(one, why=_SHUFFLED) if one.refuted else one for one in peers]
    return ours, tuple(peers), is_rough


def _answer(
    name: str,
    ask: Callable[[], float],
    why: str,
    ours: Bound,
    asked: tuple[Event, Relation, float],
    *,
    whole: Guarantee[Any],
) -> Peer:
    """Return one accountant's answer, or why it has none; RDP by our curve where it has none."""
    try:
        return _judged(name, ask(), why, ours, asked)
    except ImportError:
        reason = none = f"{_PACKAGES[name]} is not installed"
    except Exception as error:  # noqa: BLE001  # as the docstring says
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        reason = line if len(line) <= _LONGEST else line.partition("(")[0][:_LONGEST]
        none = f"no answer: {reason}"
    uppers = [upper for _, upper in curves(whole, Fraction(asked[-1]))] if name == "RDP" else []
    if not uppers:
        return Peer(name, None, none)
    return _judged(name, uppers[-1], f"our own divergences at a few orders; {reason}", ours, asked)


def _judged(
    name: str, theirs: float, why: str, ours: Bound, asked: tuple[Event, Relation, float]
) -> Peer:
    if theirs < ours.lower - SHARED * abs(ours.lower):
        if not ours.attained:
            return Peer(name, theirs, "below the bracket, which is that of a pair nothing attains")
        words = "too small: the lower end of the bracket contradicts it"
        return Peer(name, theirs, words, refuted=True)
    if theirs <= ours.upper * (1 + SHARED):
        return Peer(name, theirs, "in the bracket")
    return Peer(name, theirs, why, saved=_saved(*asked, theirs))


def _saved(event: Event, relation: Relation, delta: float, allowed: float) -> float | None:
    """Return the part of all noise that can be spared if epsilon may be as large as allowed."""
    if not math.isfinite(allowed) or scaled(event, 2.0) == event:
        return None

    def exceeds(part: float) -> bool:
        try:
            cost = from_dp_event(scaled(event, part), relation=relation).epsilon(delta=delta)
        except PrivacyError:
            return True
        return cost.upper > allowed

    return 1 - bisect(exceeds, 0.0, 1.0, rounds=_HALVINGS)[1]


def scaled(event: Event, factor: float) -> Event:
    """Return an event with all its noise multiplied by a factor."""

    def changed(name: str, value: Any) -> Any:  # noqa: ANN401  # a field of any event
        if isinstance(value, Event):
            return scaled(value, factor)
        if name == "events":
            return tuple(scaled(one, factor) for one in value)
        if (event.name, name) == ("DiscreteLaplaceDpEvent", "noise_parameter"):
            return value / factor
        return value * factor if name in NOISE else value

    return Event(event.name, {name: changed(name, one) for name, one in event.fields.items()})


def _neighbours(relation: Relation) -> Any:  # noqa: ANN401  # of a library without types
    library = importlib.import_module("dp_accounting").NeighboringRelation
    names = {
        "add-remove": "ADD_OR_REMOVE_ONE",
        "replace-one": "REPLACE_ONE",
        "zero-out": "REPLACE_SPECIAL",
    }
    if relation.name not in names:
        raise InputError(f"dp-accounting does not know {relation} neighbours")
    return getattr(library, names[relation.name])


def _google(name: str, event: Event, relation: Relation, delta: float) -> float:
    """Ask an accountant of dp-accounting."""
    library = importlib.import_module(f"dp_accounting.{name[:3].lower()}")
    accountant = getattr(library, name)(neighboring_relation=_neighbours(relation))
    return float(accountant.compose(built(event)).get_epsilon(delta))


def _prv(event: Event, relation: Relation, delta: float) -> float:
    """Ask the library of Gopi, Lee & Wutschitz: compositions of sampled Gaussians only."""
    library = importlib.import_module("prv_accountant")
    if not isinstance(relation, AddRemove):
        raise InputError("add-remove neighbours only")
    parts, sampled = _sampled_gaussians(event, 1), library.PoissonSubsampledGaussianMechanism
    prvs = [sampled(sampling_probability=q, noise_multiplier=noise) for (q, noise), _ in parts]
    counts, room = [count for _, count in parts], {"eps_error": 0.01, "delta_error": delta / 1000}
    accountant = library.PRVAccountant(prvs=prvs, max_self_compositions=counts, **room)
    return float(accountant.compute_epsilon(delta=delta, num_self_compositions=counts)[2])


def _sampled_gaussians(event: Event, count: int) -> list[tuple[tuple[float, float], int]]:
    """Return rate, noise and count of every part, if all of them are sampled Gaussians."""
    fields = event.fields
    if event.name == "SelfComposedDpEvent":
        return _sampled_gaussians(fields["event"], count * int(fields["count"]))
    if event.name == "ComposedDpEvent":
        return [found for one in fields["events"] for found in _sampled_gaussians(one, count)]
    if event.name == "GaussianDpEvent":
        return [((1.0, float(fields["noise_multiplier"])), count)]
    if event.name == "PoissonSampledDpEvent" and fields["event"].name == "GaussianDpEvent":
        noise = float(fields["event"].fields["noise_multiplier"])
        return [((float(fields["sampling_probability"]), noise), count)]
    raise InputError("sampled Gaussians only")


_SHUFFLED: Final = "refuted for this loader: batches are shuffled, and cost at least the lower end"
_PACKAGES: Final = {"RDP": "dp-accounting", "PLD": "dp-accounting", "PRV": "prv-accountant"}
_PEERS: Final[dict[str, tuple[Callable[[Event, Relation, float], float], str]]] = {
    "RDP": (
        partial(_google, "RdpAccountant"),
        "Rényi divergences at a few orders, which lose in the conversion to delta",
    ),
    "PLD": (
        partial(_google, "PLDAccountant"),
        "losses rounded up to a grid, once for every composition",
    ),
    "PRV": (_prv, "losses on a grid, with an error bound of the Fourier transform added"),
}
