"""A trapezoid sum along a vertical line as proof, with a bound of what it cuts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from accountant.certify.proof import fact_step
from accountant.certify.quadrature import EXACT, Rule, Sampled
from accountant.guarantees.points import Points
from accountant.numerics.contour import Contour
from accountant.numerics.enclosure import Reals
from accountant.numerics.profile import infinite_mass
from accountant.numerics.saddle import Saddle, alias_step, real_bounds, short, total_cgf
from accountant.pairs.gaussian import GaussianPair
from accountant.pairs.laplace import LaplacePair
from accountant.pairs.logistic import LogisticPair
from accountant.pairs.pair import Pair
from accountant.pairs.product import Product
from accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from proofs.certificate import Json, Step, show_rational

EASY_NODES = 1 << 11
_LOG_CUT = -24.0  # of what is cut, relative to delta
_LENGTHS = 24


@final
@dataclass(frozen=True, slots=True)
class Line:
    """A contour with its witness.

    Attributes:
        product: of pairs with a formula or a quadrature for M.
        contour: the engine's, whose cut is bounded as the checker bounds it.
        tails: shape (factors,), the rule that bounds a subsampled Gaussian's tail, else None.
    """

    product: Product
    contour: Contour
    tails: tuple[Rule | None, ...]

    def log_upper(self, epsilon: Reals) -> Reals:
        """The engine's upper end."""
        finite = self.contour.log_brackets(epsilon)[1]
        with np.errstate(divide="ignore"):
            return np.logaddexp(finite, np.log(infinite_mass(self.product).upper)) + 1e-10

    def fact(self, points: Points) -> Step:
        """The line, its nodes, tau, and the quadrature of every subsampled Gaussian."""
        c = float(self.contour.s[0].real)
        listed = zip(self.product.factors, self.tails, strict=True)
        return fact_step(
            "contour",
            self.product,
            points,
            {
                "c": show_rational(Fraction(c)),
                "step": show_rational(Fraction(self.contour.step)),
                "nodes": self.contour.s.size - 1,
                "tau": show_rational(Fraction(self.contour.tau)),
                "factors": [quadrature(one.pair, c, one.count, tail=tail) for one, tail in listed],
            },
        )


def quadrature(
    pair: Pair, c: float, count: int, *, tail: Rule | None = None, accuracy: float = EXACT
) -> Json:
    """The witness that M of a pair needs at abscissa c."""
    if not isinstance(pair, SubsampledGaussianPair):
        return None
    nodes = Sampled.at(pair, c, count).nodes(accuracy)
    return {"nodes": nodes.witness(), "tail": (tail or nodes).witness()}


def line(product: Product, saddle: Saddle, most: int) -> Line:
    """A contour that suits a saddle, as short as possible, smoothed if it cannot be short."""
    c = short(saddle.c)
    points, upper = real_bounds(product, c, saddle)
    step = alias_step(c, saddle, points, upper)
    log_moment = float(upper[points == c][0])
    needed = log_moment - saddle.c * saddle.epsilon - saddle.log_delta - _LOG_CUT
    decays = [_decay(factor.pair, c, factor.count) for factor in product.factors]
    for nodes in np.unique(np.geomspace(8, EASY_NODES, _LENGTHS).astype(int)).tolist():
        found = [decay(step * nodes) for decay in decays]
        log_decay = sum(one for one, _ in found)
        if needed + log_decay < math.log(math.pi * step * nodes):
            return _line(
                product=product,
                c=c,
                step=step,
                nodes=nodes,
                tau=0.0,
                log_cut=log_moment + log_decay,
                found=found,
            )
    reach = step * most
    found = [decay(reach) for decay in decays]
    left = needed + sum(one for one, _ in found) - math.log(math.pi * reach)
    tau = short(math.sqrt(2 * max(left, 1.0)) / reach * 1.001)
    log_cut = log_moment + sum(one for one, _ in found) - 0.5 * (tau * reach) ** 2
    return _line(product=product, c=c, step=step, nodes=most, tau=tau, log_cut=log_cut, found=found)


def _line(
    *,
    product: Product,
    c: float,
    step: float,
    nodes: int,
    tau: float,
    log_cut: float,
    found: list[tuple[float, Rule | None]],
) -> Line:
    s = c + 1j * step * np.arange(nodes + 1)
    cgf = total_cgf(product, s)
    lift = 0.5 * tau * tau
    contour = Contour(
        s=s,
        log_kernel=cgf.value + lift * s * (s + 1.0) - np.log(s) - np.log(s + 1.0),
        radius=cgf.radius + 1e-13,
        step=step,
        log_cut=log_cut + lift * c * (c + 1.0) - math.log(math.pi * step * nodes) + 1e-9,
        aliases=np.array([[0.0, 0.0], [2 * c, 0.0]]),
        tau=tau,
    )
    return Line(product, contour, tuple(rule for _, rule in found))


def _decay(pair: Pair, c: float, count: int) -> Callable[[float], tuple[float, Rule | None]]:
    """Log of the checker's bound of |M(c+iv)/M(c)|^count for v >= y as a function of y."""
    match pair:
        case GaussianPair():
            variance = count * float(pair.mu_squared)
            return lambda y: (-0.5 * variance * y * y, None)
        case LaplacePair() | LogisticPair():
            moment = float(pair.cgf(np.array([c + 0j])).value.real[0])
            bound = _laplace if isinstance(pair, LaplacePair) else _logistic
            a = float(pair.epsilon)
            return lambda y: (count * min(bound(a, c, y) - moment, 0.0), None)
        case SubsampledGaussianPair():
            sampled = Sampled.at(pair, c, count)
            return lambda y: _best(sampled, y, count)
        case _:
            return lambda _: (0.0, None)


def _best(sampled: Sampled, y: float, count: int) -> tuple[float, Rule | None]:
    found = sampled.tails(y)
    if not found:
        return 0.0, None
    log_ratio, rule = min(found, key=lambda one: one[0])
    return count * log_ratio, rule


def _laplace(a: float, c: float, y: float) -> float:
    share = abs(complex(c + 1, y)) / abs(complex(2 * c + 1, 2 * y))
    return c * a + math.log(share + 0.5 * math.exp(-(2 * c + 1) * a))


def _logistic(a: float, c: float, y: float) -> float:
    top = (c + 0.5) * a + math.log1p(math.exp(-(2 * c + 1) * a))  # of 2 cosh
    bottom = 0.5 * a + math.log(-math.expm1(-a))  # of 2 sinh
    return top - bottom - math.log(2 * abs(complex(c + 0.5, y)))
