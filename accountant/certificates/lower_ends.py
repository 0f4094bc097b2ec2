"""Prove lower ends of the power of attacks and of Renyi divergences of the dominating pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from dpproof.accountant.certificates.format.serialize import UNCERTIFIED, Object, factors
from dpproof.accountant.certificates.hockey_stick.choose import Point, prove
from dpproof.accountant.certificates.hockey_stick.contour import quadratures
from dpproof.accountant.certificates.hockey_stick.lower_bound import lower_fact
from dpproof.accountant.certificates.hockey_stick.sampling_tables import subject_below
from dpproof.accountant.certificates.hockey_stick.table import Subject, Tabled
from dpproof.accountant.certificates.single_number.renyi import FINE, ROOM
from dpproof.accountant.engine.profile import deltas
from dpproof.accountant.engine.saddle_point import total_cgf
from dpproof.accountant.engine.trade_off import best_threshold
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.proofs.core.certificate import Step, show_rational

_GAPS: Final = tuple(1e-6 * 4.0**k for k in range(10))
"""Distances in nats between the three points. A kink of the profile needs them close, and else the
square of the distance has to exceed what the checker's sums give away. Heuristic: the checker
compares what the facts say.
"""
# Approximate relative slack of the checker's bounds, without and with tables. Heuristic.
_NOISE, _NOISE_OF_TABLES = 3e-8, 1e-6
# Relative rounding of sums and differences in floats. Heuristic: the checker decides.
_SLIP: Final = 1e-12
_ULP: Final = 4e-16  # Rounding of numbers up to 1. Heuristic likewise.
# Points of a table from below, and the mass it may leave out. Heuristic.
_FINENESS, _NEGLIGIBLE = 1024, 1e-30
_BLUR: Final = 2.0**-52  # Error of M of a table that is made of floats.
_CLOSE: Final = 1e-6  # Largest share of K that such errors may be.
# Three points leave a proof this share of the work: a third of it from above, all from below.
_AMONG: Final = 5
_DIGITS: Final = 60.0  # Log of the accuracy of a quadrature, relative to K. Heuristic.
# Most of it that 512 bits carry, found by trials; what needs more is refused. Heuristic.
_DEEPEST: Final = 295.0
_LARGEST: Final = 700.0  # Largest epsilon whose e^epsilon is computed in floats.


@final
@dataclass(frozen=True, slots=True)
class _Facts:
    """Bounds of H_t at three ratios t = e^epsilon, and the steps that prove them.

    Attributes:
        places: epsilon, increasing.
        low: H is at least these.
        high: H is at most these.
        steps: in any order.
    """

    places: list[float]
    low: list[float]
    high: list[float]
    steps: list[Step]

    def power(self, rate: float) -> float | None:
        """Return the power that these bounds prove at a false-positive rate.

        See conversions.md, section 12. It returns None if they do not prove between which ratios
        H_t + rate t is least, or these are beyond floats.
        """
        if self.places[-1] > _LARGEST:
            return None
        (t1, t2, t3), low, high = (math.exp(one) for one in self.places), self.low, self.high
        before, after = t2 - t1, t3 - t2
        if low[0] - high[1] < rate * before * (1 + _SLIP):
            return None
        if high[1] - low[2] > rate * after * (1 - _SLIP):
            return None
        first = low[1] - (high[2] - low[1]) * before / after + rate * t1
        last = low[1] - (high[0] - low[1]) * after / before + rate * t3
        height = min(first, low[1] + rate * t2, max(last, low[2] + rate * t2))
        return height * (1 - _SLIP) - _ULP


def power_facts(product: Product, rate: float, power: float) -> tuple[Step, ...]:
    """Return the steps that prove approximately the power of some test at a false-positive rate.

    Args:
        product: one direction.
        rate: of false positives, above 0 and below 1.
        power: what the engine finds, from below.
    Raises:
        NotCertified: no three bounds of the checker come near it.
    """
    for places in _places(product, best_threshold(product, rate), rate):
        bounds = _bounds_at(product, places)
        best_power = bounds.power(rate)
        if best_power is None or best_power <= rate:
            continue
        said: Object = {
            "notion": "true-positive-rate-at-least",
            "product": factors(product),
            "false_positive_rate": show_rational(Fraction(rate)),
            "true_positive_rate": show_rational(Fraction(min(best_power, power))),
        }
        last = Step(
            rule="at-least/true-positive-rate",
            premises=tuple(range(len(bounds.steps))),
            witness={"places": [show_rational(Fraction(one)) for one in bounds.places]},
            conclusion=said,
        )
        return (*bounds.steps, last)
    raise NotCertified(
        f"no lower bound of the true-positive rate at {rate:.6g} was found: the checker's sums are "
        f"not close enough to each other there; {UNCERTIFIED}"
    )


def _places(product: Product, threshold: float, rate: float) -> list[list[float]]:
    """Return triples of epsilons around a threshold, those that prove most first.

    Heuristic.
    """
    sampled = any(isinstance(one.pair, Tabled) for one in product.factors)
    noise = _NOISE_OF_TABLES if sampled else _NOISE
    places_tried = []
    for gap in _GAPS:
        places = [threshold + gap * side for side in (-1.0, 0.0, 1.0)]
        low, high = deltas(product, np.array(places))
        bounds = _Facts(places, (low * (1 - noise)).tolist(), (high * (1 + noise)).tolist(), [])
        places_tried.append((bounds.power(rate) or 0.0, places))
    return [places for shown, places in sorted(places_tried, reverse=True) if shown > rate]


def _bounds_at(product: Product, places: list[float]) -> _Facts:
    """Return the bounds at three epsilons, as the checker proves them."""
    bounds = _Facts(places, [], [], [])
    for place in places:
        used, x, t = (product if place >= 0 else product.swapped()), abs(place), math.exp(place)
        least, most = (float(one[0]) for one in deltas(used, np.array([x])))
        below = [lower_fact(used, x, least, moves=False, among=_AMONG)] if least > 0.0 else []
        shown = Fraction(str(below[0].conclusion["delta"])) if below else Fraction(0)
        _, delta, above = prove([used], Point(x, most, moves=False, among=_AMONG))
        for ends, height in ((bounds.low, float(shown)), (bounds.high, float(delta))):
            ends.append(height if place >= 0 else 1.0 - t + t * height)
        bounds.steps.extend([*below, *above])
    return bounds


def renyi_fact(product: Product, order: Fraction) -> Step:
    """Return the fact that the Renyi divergence of an order is approximately at least its value.

    Args:
        product: one direction.
        order: above 1.
    Raises:
        NotCertified: the checker has no M that is close from below, or the order is too large.
    """
    said, excess = factors(product), order - 1
    used = Subject.plain(product)
    if any(isinstance(one.pair, Tabled) for one in product.factors):
        used = subject_below(product, fine=_FINENESS, negligible=_NEGLIGIBLE)
    moment = _moment_below(used, float(excess))
    value = Fraction(moment) / excess * (1 - ROOM)
    accuracy = max(FINE, _DIGITS - math.log(moment)) if moment > 0 else math.inf
    if accuracy > _DEEPEST:
        raise NotCertified(
            f"the Renyi divergence of order {float(order):.6g} has no lower end above 0 that a "
            "certificate can show; try a larger order"
        )
    claim: Object = {
        "notion": "renyi-at-least",
        "product": said,
        "order": show_rational(order),
        "value": show_rational(Fraction(float(value))),
    }
    witness: Object = {"factors": quadratures(used, float(excess), accuracy=accuracy)}
    return Step(rule="at-least/renyi", premises=(), witness=witness, conclusion=claim)


def _moment_below(used: Subject, excess: float) -> float:
    """Return K at an order less 1, or less; 0 if too little of it is known.

    The checker makes tables itself: what a float says of one is known to an absolute error only.
    """
    both = zip(used.named.factors, used.tables, strict=True)
    parts = [
        Factor(one.pair.below(one.count) if table is None else table.finite_pair, one.count)
        for one, table in both
    ]
    enclosure = total_cgf(Product(tuple(parts)), np.array([excess + 0j]))
    lower = float(enclosure.value.real[0] - enclosure.radius[0])
    blur = _BLUR * sum(one.count for one, table in zip(parts, used.tables, strict=True) if table)
    return lower - blur if blur < _CLOSE * lower else 0.0
