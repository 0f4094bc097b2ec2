"""Axioms: minima of objectives with a random linear term."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from flint import arb

from dpproof.proofs.core.arithmetic import ball, exact, require_at_most
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.rule import ALONE, FRESH, Application
from dpproof.proofs.core.statements import GDP, ApproxDP, Pairs, PureDP
from dpproof.proofs.pairs.gaussian_above_floor import FlooredGaussianPair, FoldedGaussianPair

_LAWS: Final = {
    "laplace": "of mass proportional to e^(-(|k_1| + ... + |k_m|)/scale)",
    "linf": "of mass proportional to e^(-max |k_i|/scale)",
    "sphere": "that is the rounding of a vector of density proportional to e^(-||x||_2/scale)",
}
_DRAWN: Final = "independent in every coordinate"
_TIES: Final = "of several minimal candidates it takes the first, in an order that never changes"
_TOGETHER: Final = "one vector, its coordinates drawn together"


def logistic(step: Application) -> tuple[str, ...]:
    """Check logistic losses of rows of norm R, lambda >= 2 sigma^2 or R sigma/2.

    They are mu-GDP, mu = R/sigma. mu = 2R/sigma under replace-one, where the vectors of both
    records can be any. For smaller lambda, if a record is added or removed: floored Gaussian pairs,
    with the floor R^2 (1/lambda - 1/(2 sigma^2)) where P has the record and 0 where it has not.
    Source: proofs/theory/logistic.md, Theorem 1.
    """
    step.axiom()
    norm, sigma = step.witness.positive("norm"), step.witness.positive("sigma")
    regulariser = step.witness.positive("regulariser")
    mu_squared = (norm / sigma) ** 2
    if regulariser >= min(2 * sigma**2, norm * sigma / 2):
        step.expect(GDP(mu_squared * (4 if step.conclusion.relation == "replace-one" else 1)))
    elif step.conclusion.relation in ("add-remove", "zero-out"):
        floor = norm**2 / regulariser - mu_squared / 2
        pairs = [FlooredGaussianPair(mu_squared, least) for least in (floor, Fraction(0))]
        step.expect(Pairs(*(((pair, 1),) for pair in pairs)))
    else:
        raise RefusedError("the rule wants a regulariser of at least 2 sigma^2 or norm sigma/2")
    labels = "; of a the label decides no more than the sign, or that it is 0"
    signs = labels if step.conclusion.relation == "replace-label" else ""
    noise = f"ideal Gaussian noise of mean 0 and standard deviation {exact(sigma)}, {_DRAWN}"
    return _minimum(norm, signs, regulariser, noise), FRESH, ALONE


def logistic_pure(step: Application) -> tuple[str, ...]:
    """Check (norm/scale)-DP of noise b of density proportional to e^(-||b||/scale).

    The rule wants norm^2/lambda <= norm/scale. Epsilon is twice that if a record or label is
    replaced. Source: proofs/theory/logistic.md, Theorem 3.
    """
    step.axiom()
    norm, scale = step.witness.positive("norm"), step.witness.positive("scale")
    regulariser = step.witness.positive("regulariser")
    epsilon = norm / scale
    if norm**2 > epsilon * regulariser:
        raise RefusedError("the rule wants a regulariser of at least norm times scale")
    replaced = step.conclusion.relation in ("replace-one", "replace-label")
    step.expect(PureDP(epsilon * (2 if replaced else 1)))
    law = f"of density proportional to e^(-||b||_2/{exact(scale)}), {_TOGETHER}"
    return _minimum(norm, "", regulariser, f"ideal spherical noise {law}"), FRESH, ALONE


def _minimum(norm: Fraction, signs: str, regulariser: Fraction, noise: str) -> str:
    return (
        "computes the exact minimum over all w of the sum over the records of "
        f"log(1 + e^(-<a, w>)), plus {exact(regulariser)} ||w||^2/2 plus <b, w>; a is a vector of "
        f"L2 norm at most {exact(norm)} that depends on its record alone and is 0 for a blank "
        f"one{signs}; b is {noise}; its result is that minimum"
    )


def separator(step: Application) -> tuple[str, ...]:
    """Check epsilon-DP of noise on the m places of patterns, hiding shifts by s.

    laplace: epsilon scale = m s. linf: epsilon scale = s. sphere: (epsilon scale)^2 >= m s^2. If
    the minimum is missed by at most u units: (epsilon, delta)-DP, delta >= (1 + e^epsilon) p, p as
    in ``_near_tie``. Source: proofs/theory/separators.md, Theorems 1 and 2.
    """
    step.axiom()
    noise, scale = step.witness.words("noise"), step.witness.positive("scale")
    places, shift = step.witness.whole("places"), step.witness.whole("shift")
    if noise not in _LAWS:
        raise RefusedError(f"no noise is called {noise:.20}")
    tolerant = step.witness.has("units")
    claim = step.concludes(ApproxDP) if tolerant else step.concludes(PureDP)
    epsilon = claim.epsilon
    if noise == "sphere":
        if (epsilon * scale) ** 2 < places * shift**2:
            raise RefusedError("the conclusion is not the one that follows")
    elif epsilon * scale != (places * shift if noise == "laplace" else shift):
        raise RefusedError("the conclusion is not the one that follows")
    drawn = _DRAWN if noise == "laplace" else _TOGETHER
    law = f"integer noise {_LAWS[noise]}, scale {exact(scale)}, {drawn}"
    moved = _moved(step, places, shift, law)
    if not tolerant:
        return moved, _TIES, FRESH, ALONE
    units = step.witness.whole("units", least=0)
    chance = _near_tie(noise, places, scale, units)
    delta = step.concludes(ApproxDP).delta
    if delta < 1:
        require_at_most(
            lambda: (1 + ball(epsilon).exp()) * ball(chance), lambda: ball(delta), "delta"
        )
    missed = (
        f"misses the minimum of that sum, the noise in it, by at most {units}, whatever the data "
        "and the noise"
    )
    return moved, missed, FRESH, ALONE


def _moved(step: Application, places: int, shift: int, law: str) -> str:
    """Say what a minimiser of an objective with noise on patterns does."""
    return (
        "releases a candidate w of a list that is the same for all datasets; w minimises an "
        "integer objective of the data plus the sum over i of k_i e_i(w); e(w) is a pattern of "
        f"{places} zeros and ones, no two candidates of one pattern; between "
        f"{step.conclusion.relation} neighbours the difference of two candidates' objectives "
        f"moves by at most {shift} times the number of places in which their patterns differ; k is "
        f"{law}"
    )


def gaussian_separator(step: Application) -> tuple[str, ...]:
    """Check m folded Gaussians for rounded Gaussian noise on m places, hiding shifts by s.

    Each has mu = s / sigma, in both directions. Source: proofs/theory/separators.md, Theorem 3.
    """
    step.axiom()
    places, shift = step.witness.whole("places"), step.witness.whole("shift")
    sigma = step.witness.positive("sigma")
    product = ((FoldedGaussianPair((shift / sigma) ** 2), places),)
    step.expect(Pairs(product, product))
    law = f"the rounding to integers of Gaussian noise of mean 0, standard deviation {exact(sigma)}"
    return _moved(step, places, shift, f"{law}, {_DRAWN}"), _TIES, FRESH, ALONE


def sphere_lift(step: Application) -> tuple[str, ...]:
    """Check epsilon-DP of spherical noise on whole vectors psi(w), hiding s psi(w).

    Here ||psi||^2 <= l. (epsilon scale)^2 >= s^2 l. Source: proofs/theory/separators.md, Theorem 4.
    """
    step.axiom()
    shift, length = step.witness.whole("shift"), step.witness.whole("length")
    scale = step.witness.positive("scale")
    if (step.concludes(PureDP).epsilon * scale) ** 2 < shift**2 * length:
        raise RefusedError("the conclusion is not the one that follows")
    chooses = (
        "releases a candidate w of a list that is the same for all datasets; w minimises an "
        "integer objective of the data minus <k, psi(w)>; psi(w) is a vector of integers of "
        f"squared length at most {length}; between {step.conclusion.relation} neighbours the "
        f"difference of the objectives of w and u moves by at most {shift} <psi(w), psi(w) - "
        f"psi(u)>; k is integer noise {_LAWS['sphere']}, scale {exact(scale)}, {_TOGETHER}"
    )
    return chooses, _TIES, FRESH, ALONE


def averaged_perturbation(step: Application) -> tuple[str, ...]:
    """Check (epsilon, delta)-DP of sums of perturbed minima plus Laplace noise of scale b.

    For r >= calls box share, r whole or rounded down, epsilon b >= r. Unless the share is 1:
    calls kl(share || p) >= log(1/delta), p <= share, z = e^(-c/noise), and p = (1 - z)/(1 - z d
    slope/c) for c > d slope, or p = 1 - z for d = 1 and c >= slope.
    Source: proofs/theory/separators.md, Theorem 5.
    """
    step.axiom()
    claim = step.concludes(ApproxDP)
    whole, positive = step.witness.whole, step.witness.positive
    calls, box, share = whole("calls"), whole("box"), positive("share")
    slope, scale, noise = positive("slope"), positive("scale"), positive("noise")
    coordinates, reach = whole("coordinates"), whole("reach")
    if share > 1 or claim.epsilon * scale < math.floor(calls * box * share):
        raise RefusedError("the conclusion is not the one that follows")
    if share < 1:
        alone = coordinates == 1 and reach >= slope
        ratio = Fraction(0) if alone else coordinates * slope / reach
        if ratio >= 1 or claim.delta <= 0:
            raise RefusedError("the rule wants a reach above coordinates times slope, and a delta")

        def moved() -> arb:
            left = (-ball(reach / noise)).exp()
            return (1 - left) / (1 - left * ball(ratio))

        def enough() -> arb:
            q, p = ball(share), moved()
            return calls * (q * (q / p).log() + (1 - q) * ((1 - q) / (1 - p)).log())

        require_at_most(moved, lambda: ball(share), "the mean share")
        require_at_most(lambda: -ball(claim.delta).log(), enough, "log 1/delta")
    minima = (
        f"adds up {calls} vectors of {coordinates} integers from a box whose sides add up to "
        f"{box}; each of them minimises an integer objective of the data minus <k, w>; of several "
        "minima it takes the first, in an order that never changes; k is geometric noise of scale "
        f"{exact(noise)}, of mass proportional to e^(-x/scale) at x = 0, 1, 2, ..., one k for each "
        f"of the vectors, {_DRAWN}; between {step.conclusion.relation} neighbours the difference "
        f"of the objectives of w and u moves by at most {exact(slope)} ||w - u||_1; its result is "
        f"that sum plus discrete Laplace noise of scale {exact(scale)}, independent of k and in "
        "every coordinate; it has mass proportional to e^(-|x|/scale) at every whole number x"
    )
    return minima, FRESH, ALONE


def _near_tie(noise: str, places: int, scale: Fraction, units: int) -> Fraction:
    """Bound the probability that a second candidate is within some units of the minimum.

    m (2 u + 1) rho, rho <= 1/(2 scale) for laplace, <= (1 + 4/scale)/(2 m scale) for linf from
    scale 2 on, <= 1/(scale sqrt(pi (2 m - 1))) for sphere, with 3.14 for pi.
    """
    if noise == "sphere":
        root = math.isqrt((157 * (2 * places - 1) << 40) // 50)
        return places * (2 * units + 1) * 2**20 / (scale * root)
    if noise == "laplace":
        return places * (2 * units + 1) / (2 * scale)
    if noise == "linf" and scale >= 2:
        return (2 * units + 1) * (1 + 4 / scale) / (2 * scale)
    raise RefusedError("the rule knows no bound of near ties for this noise")
