"""Gaussian, Laplace and logistic noise, alone, together and on one sample, against formulas."""

from __future__ import annotations

from fractions import Fraction

from tests.hunt.case import Case
from tests.hunt.closed import Laplacian, Logistic, Normal, PoissonSample
from tests.hunt.draw import Draw, text
from tests.hunt.questions import Pipeline, ask
from tests.hunt.truth import MP, real

MORE = ("delta", "epsilon", "advantage")


def _gaussian(draw: Draw) -> Pipeline:
    sigma, sensitivity = draw.positive(), draw.positive()
    source = f"mechanisms.Gaussian(sigma={text(sigma)}, sensitivity=L2({text(sensitivity)}))"
    mu = real(sensitivity / sigma)
    return Pipeline(f"{source}.guarantee()", Normal(mu), attained=True)


def _gaussians(draw: Draw) -> Pipeline:
    """Several, repeated, for a group."""
    squared = [draw.positive() for _ in range(draw.integer(1, 3))]
    count, size = draw.integer(1, 10**4), draw.integer(1, 3)
    parts = ", ".join(f"GDP(mu_squared={text(one)})" for one in squared)
    source = f"group(self_compose(compose({parts}), {count}), size={size})"
    mu = size * MP.sqrt(real(sum(squared, Fraction(0)) * count))
    return Pipeline(source, Normal(mu), attained=True)


def _laplace(draw: Draw) -> Pipeline:
    scale, sensitivity = draw.positive(), draw.positive()
    source = f"mechanisms.Laplace(scale={text(scale)}, sensitivity=L1({text(sensitivity)}))"
    shift = real(sensitivity / scale)
    return Pipeline(f"{source}.guarantee()", Laplacian(shift), attained=True)


def _range(draw: Draw) -> Pipeline:
    epsilon = draw.positive()
    truth = Logistic(real(epsilon))
    return Pipeline(f"BoundedRange(epsilon={text(epsilon)})", truth, attained=True)


def one(draw: Draw) -> Pipeline:
    """One of them."""
    return draw.choose((_gaussian, _laplace, _gaussians, _range))(draw)


def sample(draw: Draw) -> Pipeline:
    """A Poisson sample of one, at any rate."""
    made = draw.choose((_gaussian, _laplace, _range))(draw)
    rate = draw.fraction_below_one()
    if draw.rarely(10):
        rate = Fraction(1, 10 ** draw.integer(15, 320))
    scheme = f"Poisson(sampling_rate={text(rate)})"
    truth = PoissonSample(made.truth.delta, real(rate))
    return Pipeline(f"subsample_poisson({made.source}, {scheme})", truth, attained=True)


def draw(source: Draw) -> Case:
    """A question about one."""
    made = one(source)
    if isinstance(made.truth, Normal):
        return ask(source, made, (*MORE, "renyi", "power", "miss", "mu"), ("rho",))
    if isinstance(made.truth, Laplacian):
        return ask(source, made, (*MORE, "renyi"), ("power", "miss", "rho"))
    return ask(source, made, MORE, ("power", "miss"))


def draw_sampled(source: Draw) -> Case:
    """A question about a sample of one."""
    return ask(source, sample(source), MORE)
