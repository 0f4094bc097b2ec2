"""Make witnesses for mu-GDP and rho-zCDP of a product of pairs.

Heuristic: all constants; the checker repeats every comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.format.serialize import Object, factors
from dpproof.accountant.certificates.hockey_stick.choose import distinct
from dpproof.accountant.certificates.hockey_stick.closed_form import has_closed_profile
from dpproof.accountant.certificates.hockey_stick.curve import facts
from dpproof.accountant.certificates.single_number.renyi import (
    has_tables,
    moment_witness,
    tabulated,
)
from dpproof.accountant.engine.profile import deltas, max_loss
from dpproof.accountant.engine.saddle_point import total_cgf
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import DominatingPair, Points
from dpproof.accountant.pairs.gaussian import GaussianPair, gaussian_tangent
from dpproof.accountant.pairs.opposite_gaussians import OppositeGaussiansPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.subsampling.subsampled import SubsampledPair
from dpproof.proofs import limits
from dpproof.proofs.core.certificate import Json, Step, show_rational

_MOST: Final = 1_900  # Most cells of a grid.
_ROUNDS: Final = 60  # Most refinements.
_CELLS: Final = 16  # Cells of the first grid.
_LEAST_VALUES: Final = 8 * _CELLS  # Values of a profile that a proof takes at least.
_SHARE: Final = 1e-13  # Relative rounding of a comparison.
_SMALLEST: Final = 1e-18  # Range of orders, at either end.


def gdp_witness(pair: DominatingPair[Any], mu: float, squared: Fraction) -> Object:
    """Return the mu_i^2 of the pairs if they add up, else cells on which the profile is below mu's.

    Raises:
        NotCertified: neither shows mu.
    """
    parts = _parts(pair, squared)
    if parts:
        return {"parts": [show_rational(part) for part in parts], "epsilons": []}
    directions = [pair.forward, pair.backward]
    _require_closed(directions, _LEAST_VALUES)
    end = max(max_loss(one) for one in directions) * (1 + 1e-12)
    grid = refined(
        np.linspace(0.0, end, _CELLS),
        lambda points: np.any(
            [above_tangent(deltas(one, points)[1], points, mu) for one in directions], axis=0
        ),
        lambda left, right: 0.5 * (left + right),
    )
    _require_closed(directions, 8 * grid.size)
    return {"parts": [], "epsilons": [show_rational(Fraction(x)) for x in grid.tolist()]}


def needs_points(pair: DominatingPair[Any], squared: Fraction) -> bool:
    """Return whether neither parts nor a closed profile can prove mu."""
    if _parts(pair, squared) or unsampled(pair, squared):
        return False
    both = (pair.forward, pair.backward)
    return not all(has_closed_profile(one, values=_LEAST_VALUES) for one in both)


def unsampled(pair: DominatingPair[Any], squared: Fraction) -> DominatingPair[Any] | None:
    """Return the bases released without samples if their mu_i add up to mu, else None."""
    forward, backward = _bases(pair.forward), _bases(pair.backward)
    bare = DominatingPair(forward=forward, backward=backward, relation=pair.relation)
    return bare if forward != pair.forward and _parts(bare, squared) else None


def _bases(product: Product) -> Product:
    """Return the product with every sampled pair replaced by its base."""
    factors: list[Factor] = []
    for factor in product.factors:
        base = Product.of(factor.pair)
        if isinstance(factor.pair, SubsampledPair):
            base = factor.pair.base
        factors.extend(base.times(factor.count).factors)
    return Product.merge(factors)


def _parts(pair: DominatingPair[Any], squared: Fraction) -> list[Fraction]:
    """Return the pairs' mu_i^2, or an empty list.

    It is empty unless they sum to at most mu^2 in both directions.
    """
    both = [pair.forward, pair.backward]
    lists = [[_part(factor.pair) for factor in one.factors] for one in both]
    sums = [
        sum(factor.count * part for factor, part in zip(one.factors, listed, strict=True))
        for one, listed in zip(both, lists, strict=True)
    ]
    return lists[0] if lists[0] == lists[1] and max(sums) <= squared else []


def zcdp_witness(pair: DominatingPair[Any], rho: float) -> Object:
    """Return orders between which K stays below rho s(s+1), none if the pairs' own bounds add up.

    Raises:
        NotCertified: no orders are enough.
    """
    named = [("forward", pair.forward)]
    if pair.backward != pair.forward:
        named.append(("backward", pair.backward))
    if all(_own(one, 0.0) <= rho for _, one in named):
        return {"orders": []}
    last, first = 2.0, 1.0
    while any(_own(one, last) > rho for _, one in named) and last < 1 / _SMALLEST:
        last *= 2.0
    while any(_cgf(one, first) > rho * first for _, one in named) and first > _SMALLEST:
        first *= 0.5
    grid = refined(
        np.geomspace(first, last, _CELLS),
        lambda points: np.any([_above_line(one, points, rho) for _, one in named], axis=0),
        lambda left, right: np.sqrt(left * right),
    )
    listed: list[Json] = [
        {
            "excess": show_rational(Fraction(s)),
            **{name: moment_witness(*tabulated(one, s), s) for name, one in named},
        }
        for s in grid.tolist()
    ]
    return {"orders": listed}


def _require_closed(products: list[Product], values: int) -> None:
    """Refuse products without bounded losses and a closed profile."""
    bounded = all(np.isfinite(max_loss(one)) for one in products)
    if not bounded or not all(has_closed_profile(one, values=values) for one in products):
        raise NotCertified(
            "certificates show mu-GDP of a product of pairs where the squares of their mu add up, "
            "or where few of them have bounded losses; certify epsilon or delta, or "
            "convert the parts"
        )


def refined(
    grid: Reals, fails: Callable[[Reals], Any], split: Callable[[Reals, Reals], Reals]
) -> Reals:
    """Return the grid with every failing cell split, until none fails."""
    for _ in range(_ROUNDS):
        wrong = np.flatnonzero(fails(grid))
        if not wrong.size:
            return grid
        if grid.size + wrong.size > _MOST:
            break
        middle = split(grid[wrong], grid[wrong + 1])
        grid = np.insert(grid, wrong + 1, middle)
    raise NotCertified(
        "no certificate shows this number as closely as it is stated; certify epsilon at a delta"
    )


def _part(pair: Pair) -> Fraction:
    """Return mu_i^2 of one pair, a huge number if none is known."""
    if isinstance(pair, GaussianPair | SubsampledGaussianPair):
        return pair.mu_squared
    if isinstance(pair, OppositeGaussiansPair):
        return 4 * pair.mu_squared
    bound = pair.gdp_bound
    return Fraction(bound) ** 2 if np.isfinite(bound) else Fraction(10**30)


def above_tangent(high: Reals, grid: Reals, mu: float) -> Any:  # noqa: ANN401  # numpy's
    """Return on which cells an end of the profile's chord is above the tangent in the middle."""
    middle = 0.5 * (grid[:-1] + grid[1:])
    line = gaussian_tangent(mu, middle, np.stack([grid[:-1], grid[1:]]))
    return (np.stack([high[:-1], high[1:]]) > line * (1 - _SHARE)).any(axis=0)


def _cgf(product: Product, s: float) -> float:
    """Return an upper bound of K, at one s alone, as a small s loses digits beside large ones."""
    if has_tables(product):
        return tabulated(product, s)[1]
    enclosure = total_cgf(product, np.array([s + 0j]))
    return float(enclosure.value.real[0] + enclosure.radius[0])


def _above_line(product: Product, grid: Reals, rho: float) -> Any:  # noqa: ANN401  # numpy's
    """Return on which cells neither of the checker's comparisons holds."""
    high = np.array([_cgf(product, s) for s in grid.tolist()])
    flat = high[1:] > rho * grid[1:] * (grid[:-1] + 1.0) * (1 - _SHARE)
    slope = np.diff(high) / np.diff(grid)
    room = -4.0 * rho * (high[:-1] - slope * grid[:-1])
    return flat & ((slope - rho) ** 2 > room * (1 - 1e-9))


def _own(product: Product, last: float) -> float:
    """Return a bound of rho beyond an order, by the pairs' own bounds."""
    total = 0.0
    for factor in product.factors:
        own, most = factor.pair.zcdp_bound, factor.pair.max_loss
        if isinstance(factor.pair, SubsampledPair) and math.isinf(max_loss(factor.pair.base)):
            own, most = _own(factor.pair.base, last), math.inf
        total += factor.count * min(own, most / (1.0 + last))
    return total


_TRIES: Final = ((20, 512), (17, 256), (14, 128), (12, 128), (10, 64), (8, 32))
"""Bits of the slack in mu and in the facts, and how fine their tables are."""
_MOST_WORK: Final = limits.MAX_WORK * 3 // 4  # Most work of the checker. Heuristic.
_GDP_FROM_PROFILE_SHARE: Final = (
    1e-12  # Relative rounding of a comparison. Heuristic: the checker decides.
)
_MENDED, _PARTS = 3, 4  # Rounds in which failing cells are cut, and the parts of each. Heuristic.


def smallest_mu(pair: DominatingPair[Any], mu: float) -> tuple[float, Points, list[Step]]:
    """Return a mu slightly above a valid one, points of the profile that prove it, and facts.

    Raises:
        NotCertified: a loss has no bound, or no points show any such mu.
    """
    products = distinct(pair)
    end = max(max_loss(one) for one in products) * (1 + 1e-9)
    for one in products:
        factors(one)  # refuse what certificates do not know
    if not np.isfinite(end):
        raise NotCertified(
            "certificates show mu-GDP of unbounded losses only where the pairs' own mu add up in "
            "squares; certify epsilon or delta, or convert the parts"
        )
    for bits, fine in _TRIES:
        raised = mu * (1 + 2.0**-bits)
        try:
            grid = refined(
                np.linspace(0.0, end, _CELLS),
                lambda points, at=raised: np.any(  # type: ignore[misc]
                    [above_tangent(deltas(one, points)[1], points, at) for one in products], axis=0
                ),
                lambda left, right: 0.5 * (left + right),
            )
        except NotCertified:
            continue
        listed = _points_below(products, [Fraction(x) for x in grid.tolist()], raised, bits, fine)
        if listed:
            return raised, *listed
    raise NotCertified(
        "no certificate shows this mu as closely as it is stated; certify epsilon at a delta"
    )


def _points_below(
    products: list[Product], places: list[Fraction], mu: float, bits: int, fine: int
) -> tuple[Points, list[Step]] | None:
    """Return points that prove mu with facts about them, or None.

    Cells that are too wide are cut a few times.
    """
    profiles: list[dict[Fraction, Fraction]] = [{} for _ in products]
    steps: list[Step] = []
    left = _MOST_WORK
    for _ in range(_MENDED):
        for product, heights in zip(products, profiles, strict=True):
            try:
                points, shown, work = facts(product, places, fine=fine, slack=2.0**-bits, most=left)
            except NotCertified:
                return None
            heights.update(points)
            steps.extend(shown)
            left -= work
        points = _larger(profiles)
        places = _wide(points, mu)
        if not places:
            return points, steps
    return None


def _larger(tables: list[dict[Fraction, Fraction]]) -> Points:
    """Return the largest delta at the epsilons that all tables list."""
    shared = set.intersection(*(set(table) for table in tables))
    return tuple((x, max(table[x] for table in tables)) for x in sorted(shared))


def _wide(points: Points, mu: float) -> list[Fraction]:
    """Return more places inside the cells on which the checker's comparison fails."""
    if points[0][0] or points[-1][1]:
        raise NotCertified(
            "the losses have no proved largest one, or none at epsilon 0, so that no mu is shown; "
            "certify epsilon at a delta"
        )
    cuts: list[Fraction] = []
    for (left, high), (right, low) in pairwise(points):
        ends, middle = np.array([float(left), float(right)]), float((left + right) / 2)
        line = gaussian_tangent(mu, np.array([middle]), ends) * (1 - _GDP_FROM_PROFILE_SHARE)
        if not (float(high) <= line[0] and float(low) <= line[1]):
            cuts.extend(left + (right - left) * part / _PARTS for part in range(1, _PARTS))
    return cuts
