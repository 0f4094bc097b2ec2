"""From a guarantee to an event of dp-accounting, by its derivation."""

import importlib
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from importlib.metadata import version
from typing import Any, Final, cast

from dpproof import accountant
from dpproof.accountant import Derivation, DominatingPair
from dpproof.accountant.arithmetic.enclosure import float_down, float_up
from dpproof.accountant.errors import MissingDependency, NotImplied
from dpproof.accountant.guarantees.guarantee import require_single
from dpproof.accountant.guarantees.rounding import exp_up, sqrt_up
from dpproof.accountant.pairs import laplace
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair, GaussianPair
from dpproof.accountant.run_counts.law import LAW_ERROR
from dpproof.accountant.sampling import OneStepScheme
from dpproof.errors import InputError
from dpproof.interop.event import MOST_SHIFTS, RATE_ROOM, Event
from dpproof.mechanisms.selection.exponential import MECHANISM_PERMUTE_AND_FLIP

_SUMS: Final = ("subsample/gaussian-sum", "subsample/counted-sum", "allocate/cyclic-poisson")


def to_dp_event(guarantee: accountant.Guarantee[Any]) -> Any:  # noqa: ANN401  # of a library without types
    """Return an event of dp-accounting that stands for a guarantee.

    Numbers are floats there; they are rounded to the weaker side. An event says nothing of
    neighbours: give the accountant those of ``guarantee.relation``. Under replace-one, noise is
    relative to the largest norm of one record's value, half of what the sum moves by: PLD reads it
    so there, but ``RdpAccountant`` does not, and answers too small an epsilon.

    Raises:
        NotImplied: no event stands for it.
        InputError: dp-accounting is not installed, or its version has no such event.
    Example:
        >>> from dpproof.accountant import GDP
        >>> to_dp_event(GDP(mu=0.5))
        GaussianDpEvent(noise_multiplier=2.0)
    """
    return built(exported(guarantee))


def _made(name: str, **fields: object) -> Event:
    return Event(name, fields)


def exported(guarantee: accountant.Guarantee[Any]) -> Event:
    """Return the event of a guarantee, without the library."""
    require_single(guarantee, "an event")
    moves = 2 if isinstance(guarantee.relation, accountant.ReplaceOne) else 1
    return _event(guarantee.derivation, moves)


def built(event: Event) -> Any:  # noqa: ANN401  # of a library without types
    """Return an object of dp-accounting."""
    try:
        library = importlib.import_module("dp_accounting.dp_event")
    except ImportError:
        hint = "this needs dp-accounting: pip install 'dpproof[interop]'"
        raise MissingDependency(hint) from None
    kind = getattr(library, event.name, None)
    if kind is None:
        raise InputError(f"dp-accounting {version('dp-accounting')} has no {event.name}")
    return kind(**{name: _built(value) for name, value in event.fields.items()})


def _built(value: object) -> object:
    if isinstance(value, Event):
        return built(value)
    return [_built(one) for one in value] if isinstance(value, tuple) else value


def _event(node: Derivation, moves: int) -> Event:
    """Return the event of one step of a derivation."""
    rule, parameters = node.rule, dict(node.parameters)
    if rule.startswith("compose/"):
        return _made("ComposedDpEvent", events=tuple(_event(one, moves) for one in node.premises))
    if rule.startswith("repeat/"):
        return _repeated(_event(node.premises[0], moves), parameters["count"])
    if rule.startswith("dominate/") or (rule == "convert/notion-rdp" and len(node.premises) == 1):
        return _event(node.premises[0], moves)
    if rule == "subsample/poisson":
        return _sampled(parameters["sampling_rate"], _event(node.premises[0], moves))
    if rule in _SUMS:
        return _sum(node, parameters)
    if rule == "subsample/without-replacement":
        sizes = (parameters["population_size"], parameters["sample_size"])
        return _sized("SampledWithoutReplacementDpEvent", *sizes, _event(node.premises[0], moves))
    if rule.startswith("allocate/") and "chosen" in parameters:
        (premise,) = node.premises
        stated = premise.premises[0] if premise.rule == "convert/pair-pure" else premise
        inner = _event(stated, moves)
        kept = inner if parameters["epochs"] == 1 else _repeated(inner, parameters["epochs"])
        chosen, rounds = parameters["chosen"], parameters["rounds"]
        return _made("RandomAllocationDpEvent", event=kept, num_selected=chosen, num_steps=rounds)
    if rule.startswith("select/") and node.premises and "runs" in parameters:
        return _selected(parameters["runs"], _event(node.premises[0], moves))
    return _leaf(node, moves)


def _sum(node: Derivation, parameters: Mapping[str, Any]) -> Event:
    """Return the event of Gaussian sums over samples, whose noise is relative to one norm."""
    if node.rule == "allocate/cyclic-poisson":  # as many samples as a part has rounds
        (one,) = cast("DominatingPair[Any]", node.conclusion).forward.factors
        squared: Fraction = cast("Any", one.pair).mu_squared
        noise, count = float_down(1 / sqrt_up(squared)), one.count
    else:
        noise = float_down(Fraction(parameters["sigma"]) / Fraction(parameters["contribution"]))
        count = 1
    if node.rule == "subsample/counted-sum":
        return _sample_sum(parameters["scheme"], noise)
    inner = _made("GaussianDpEvent", noise_multiplier=noise)
    sampled = _sampled(parameters["sampling_rate"], inner)
    return sampled if count == 1 else _repeated(sampled, count)


def _repeated(event: Event, count: object) -> Event:
    return _made("SelfComposedDpEvent", event=event, count=count)


def _sampled(rate: object, inner: Event) -> Event:
    probability = float_up(Fraction(str(rate)))
    return _made("PoissonSampledDpEvent", sampling_probability=probability, event=inner)


def _sized(name: str, records: object, size: object, inner: Event) -> Event:
    return _made(name, source_dataset_size=records, sample_size=size, event=inner)


def _sample_sum(scheme: OneStepScheme, noise: float) -> Event:
    """Return the event of a Gaussian sum over a sample."""
    if isinstance(scheme, accountant.TruncatedPoisson):
        return _made(
            "TruncatedSubsampledGaussianDpEvent",
            dataset_size=scheme.population_size,
            sampling_probability=float_up(scheme.sampling_rate),
            truncated_batch_size=scheme.largest,
            noise_multiplier=noise,
        )
    if isinstance(scheme, accountant.UserPoisson):
        return _mixture(scheme, noise)
    out = "" if isinstance(scheme, accountant.WithReplacement) else "out"
    inner = _made("GaussianDpEvent", noise_multiplier=noise)
    name = f"SampledWith{out}ReplacementDpEvent"
    return _sized(name, scheme.population_size, scheme.sample_size, inner)


def _mixture(scheme: accountant.UserPoisson, noise: float) -> Event:
    """Return a mixture of as many shifts, at a rate that is raised by more than its roundings."""
    most, rate = scheme.contributions, scheme.sampling_rate * (1 + RATE_ROOM)
    if most > MOST_SHIFTS or rate >= 1:
        raise NotImplied(f"no event of dp-accounting is written for {scheme!r}")
    chances = (math.comb(most, j) * rate**j * (1 - rate) ** (most - j) for j in range(most + 1))
    return _made(
        "MixtureOfGaussiansDpEvent",
        standard_deviation=noise,
        sensitivities=tuple(map(float, range(most + 1))),
        sampling_probs=tuple(map(float, chances)),
    )


def _selected(runs: object, inner: Event) -> Event:
    """Return a selection that costs no less: its bound grows with the shape and with the mean."""
    if isinstance(runs, accountant.PoissonRuns):
        mean, shape = float_up(runs.rate), math.inf
    elif isinstance(runs, accountant.TruncatedNegativeBinomial) and runs.eta >= 0:
        shape = float_up(runs.eta)
        law = accountant.TruncatedNegativeBinomial(eta=shape, gamma=runs.gamma)
        mean = float_up(1 / runs.gamma if runs.eta == 1 else Fraction(law.mean * (1 + LAW_ERROR)))
    else:
        raise NotImplied(f"no event of dp-accounting stands for a selection from {runs}")
    return Event("RepeatAndSelectDpEvent", {"event": inner, "mean": mean, "shape": shape})


def _leaf(node: Derivation, moves: int) -> Event:
    """Return the event of a notion that follows from nothing that an event stands for."""
    conclusion = node.conclusion
    match conclusion:
        case accountant.GDP(mu_squared=squared):
            return _gaussian(squared, moves)
        case accountant.PureDP(stated_epsilon=epsilon):
            return _response(epsilon, 2, moves)
        case accountant.ApproxDP(stated_epsilon=epsilon, stated_delta=delta):
            return _approximate(epsilon, delta) if delta < 1 else Event("NonPrivateDpEvent", {})
        case accountant.ZCDP(rho=rho):
            return Event("ZCDpEvent", {"rho": float_up(rho), "xi": 0.0})
        case accountant.BoundedRange(stated_epsilon=epsilon):
            return Event("ExponentialMechanismDpEvent", {"epsilon": float_up(epsilon)})
        case accountant.MetricDP(stated_epsilon=epsilon):
            if node.rule == MECHANISM_PERMUTE_AND_FLIP.rule:
                return Event("PermuteAndFlipDpEvent", {"epsilon": float_up(epsilon)})
            return _laplace(epsilon, moves)  # other mechanisms of the notion may compose to more
        case accountant.RDP():
            raise NotImplied(
                "no event of dp-accounting stands for a Renyi curve at some orders: xi + rho a "
                "says something of every order, and the curve nothing beyond its last"
            )
        case DominatingPair():
            return _product(conclusion, moves)
    raise NotImplied(f"no event of dp-accounting stands for {node.rule}: {node.statement}")


def _product(pair: DominatingPair[Any], moves: int) -> Event:
    """Return the event of a product of pairs that mechanisms have."""
    events = []
    for factor in pair.forward.factors:
        read = _PAIRS.get(type(factor.pair))
        if read is None:
            raise NotImplied(f"no event of dp-accounting stands for {factor.pair!r:.80}")
        one = read(factor.pair, moves)
        events.append(_repeated(one, factor.count) if factor.count > 1 else one)
    if not events:
        return Event("NoOpDpEvent", {})
    return events[0] if len(events) == 1 else _made("ComposedDpEvent", events=tuple(events))


def _gaussian(squared: Fraction, moves: int) -> Event:
    if squared == 0:
        return Event("NoOpDpEvent", {})
    return _made("GaussianDpEvent", noise_multiplier=float_down(moves * (1 / sqrt_up(squared))))


def _laplace(epsilon: Fraction, moves: int) -> Event:
    if epsilon == 0:
        return Event("NoOpDpEvent", {})
    return Event("LaplaceDpEvent", {"noise_multiplier": float_down(moves / epsilon)})


def _discrete_laplace(pair: laplace.DiscreteLaplacePair, moves: int) -> Event:
    rate, moved = float_up(1 / pair.scale), _halved(pair.shift, moves)
    return _made("DiscreteLaplaceDpEvent", noise_parameter=rate, sensitivity=moved)


def _discrete_gaussian(pair: DiscreteGaussianPair, moves: int) -> Event:
    sigma, moved = float_down(1 / sqrt_up(1 / pair.sigma_squared)), _halved(pair.shift, moves)
    return _made("DiscreteGaussianDpEvent", sigma=sigma, sensitivity=float(moved), dimension=1)


def _halved(shift: int, moves: int) -> int:
    """Return the largest value of one record: a shift of an odd number is rounded up."""
    return -(-shift // moves)


def _approximate(epsilon: Fraction, delta: Fraction) -> Event:
    return Event("EpsilonDeltaDpEvent", {"epsilon": float_up(epsilon), "delta": float_up(delta)})


def _response(epsilon: Fraction, categories: int, moves: int) -> Event:
    """Return randomised response that answers uniformly with chance k / (e^epsilon + k - 1)."""
    # Only under replace-one: zero-out compares an answer with a uniform one, which costs less.
    if epsilon == 0:
        return Event("NoOpDpEvent", {})
    if moves == 1:
        return _approximate(epsilon, Fraction(0))
    noise = float_down(categories / (exp_up(epsilon) + categories - 1))
    return Event("RandomizedResponseDpEvent", {"noise_parameter": noise, "num_buckets": categories})


def _response_pair(pair: laplace.RandomizedResponsePair, moves: int) -> Event:
    if pair.infinite:
        raise NotImplied("no event of dp-accounting stands for a response that fails")
    return _response(pair.epsilon, pair.categories, moves)


_PAIRS: Final[Mapping[type, Callable[[Any, int], Event]]] = {
    GaussianPair: lambda pair, moves: _gaussian(pair.mu_squared, moves),
    laplace.LaplacePair: lambda pair, moves: _laplace(pair.epsilon, moves),
    laplace.DiscreteLaplacePair: _discrete_laplace,
    DiscreteGaussianPair: _discrete_gaussian,
    laplace.RandomizedResponsePair: _response_pair,
}
