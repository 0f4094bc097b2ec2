"""Axioms: the guarantee of each mechanism that runs as stated."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpproof.proofs.core.arithmetic import exact
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.pairs import LaplacePair
from dpproof.proofs.core.rule import ALONE, FRESH, Application
from dpproof.proofs.core.rules import adds, both
from dpproof.proofs.core.statements import SYMMETRIC, Pairs
from dpproof.proofs.limits import MAX_COUNT
from dpproof.proofs.logic.statement import ZCDP, BoundedRange, MetricDP
from dpproof.proofs.pairs.discrete_gaussian import DiscreteGaussianPair
from dpproof.proofs.pairs.laplace import DiscreteLaplacePair

_DENSITIES: Final = {
    "laplace": "of density proportional to e^(-|x|/scale)",
    "exponential": "of density proportional to e^(-x/scale) on x > 0",
}
_LAPLACE: Final = "of mass proportional to e^(-|x|/scale) at every whole number x"


def laplace_joint(step: Application) -> tuple[str, ...]:
    """Check Laplace noise if every coordinate moves by at most m, and all by Delta together.

    Dominated by as many shifts of m/scale as Delta has room for, and one of what is left.
    Proof: proofs/theory/joint_sensitivity.md.
    """
    step.axiom()
    sensitivity, scale = step.witness.positive("sensitivity"), step.witness.positive("scale")
    largest = step.witness.positive("largest")
    full = sensitivity // largest
    if not 1 <= full <= MAX_COUNT:
        raise RefusedError("the largest change of a coordinate is out of range")
    rest = sensitivity - full * largest
    parts = (LaplacePair(largest / scale), full), (LaplacePair(rest / scale), 1)
    product = parts if rest else parts[:1]
    step.expect(Pairs(product, product))
    noise = f"Laplace noise of scale {exact(scale)}, of density proportional to e^(-|x|/scale)"
    moved = f"{exact(sensitivity)} in L1 norm and by at most {exact(largest)} in each coordinate"
    return adds(step, noise, moved)


def discrete_laplace(step: Application) -> tuple[str, ...]:
    """Check discrete Laplace noise on an integer query.

    It is dominated by a shift by the L1 sensitivity.

    Source: docs/shift-lemma.md, Corollary 1.
    """
    step.axiom()
    scale, shift = step.witness.positive("scale"), step.witness.whole("shift")
    step.expect(both(DiscreteLaplacePair(scale, shift)))
    noise = f"discrete Laplace noise of scale {exact(scale)}, {_LAPLACE}"
    return adds(step, noise, f"{shift} in L1 norm", "whole ")


def discrete_gaussian(step: Application) -> tuple[str, ...]:
    """Check discrete Gaussian noise on an integer query of L1 sensitivity k, or squared L2 k <= 3.

    Dominated by one shift by k, or by k shifts by 1.
    Source: docs/shift-lemma.md, Corollaries 1 and 2.
    """
    step.axiom()
    variance = step.witness.positive("sigma") ** 2
    units, norm = step.witness.whole("units"), step.witness.words("norm")
    if norm == "L1":
        step.expect(both(DiscreteGaussianPair(variance, units)))
    elif norm == "L2" and units <= 3:
        step.expect(both(DiscreteGaussianPair(variance, 1), units))
    else:
        raise RefusedError("the rule wants norm L1, or L2 with a squared sensitivity of at most 3")
    noise = _discrete_gaussian(variance)
    moved = f"{units} in squared L2 norm" if norm == "L2" else f"{units} in L1 norm"
    return adds(step, noise, moved, "whole ")


def discrete_gaussian_zcdp(step: Application) -> tuple[str, ...]:
    """Check k/(2 sigma^2)-zCDP of discrete Gaussian noise on an integer query.

    Its squared L2 sensitivity is k.

    Source: Canonne, Kamath & Steinke (arXiv:2004.00010), Theorem 14.
    """
    step.axiom()
    variance = step.witness.positive("sigma") ** 2
    units = step.witness.whole("units")
    step.expect(ZCDP(units / (2 * variance)))
    noise = _discrete_gaussian(variance)
    return adds(step, noise, f"{units} in squared L2 norm", "whole ")


def histogram(step: Application) -> tuple[str, ...]:
    """Check integer noise on counts, few of which move: independent shifts of those.

    Source: docs/shift-lemma.md, Corollary 4.
    """
    step.axiom()
    scale, noise = step.witness.positive("scale"), step.witness.words("noise")
    cells, largest = step.witness.whole("cells"), step.witness.whole("largest")
    if noise == "gaussian":
        step.expect(both(DiscreteGaussianPair(scale**2, largest), cells))
        added = _discrete_gaussian(scale**2)
    elif noise == "laplace":
        step.expect(both(DiscreteLaplacePair(scale, largest), cells))
        added = f"discrete Laplace noise of scale {exact(scale)}, {_LAPLACE}"
    else:
        raise RefusedError("the rule knows gaussian and laplace noise")
    moves = f"at most {cells} of which move, each by at most {largest},"
    return adds(step, added, moves, "whole ")


def exponential(step: Application) -> tuple[str, ...]:
    """Check the exponential mechanism: bounded range 2 factor Delta, or half if monotone.

    Source: Dong, Durfee & Rogers (arXiv:1909.13830), Section 3; the log ratio of two outputs'
    probabilities moves by at most the range of the scores' moves, times the factor.
    """
    step.axiom()
    factor, sensitivity = step.witness.positive("factor"), step.witness.positive("sensitivity")
    monotone = step.witness.flag("monotone")
    if monotone and step.conclusion.relation in SYMMETRIC:
        raise RefusedError(f"scores are not monotone under {step.conclusion.relation}")
    step.expect(BoundedRange(factor * sensitivity * (1 if monotone else 2)))
    between = f"between {step.conclusion.relation} neighbours"
    draws = (
        f"draws one candidate, of score u with probability proportional to e^({exact(factor)} u), "
        "from a list of candidates that is the same for all datasets; each score moves by at most "
        f"{exact(sensitivity)} {between}; its result is that candidate"
    )
    together = "has no two scores that move in opposite directions between two neighbours"
    return draws, *[together] * monotone, FRESH, ALONE


def report_noisy_max(step: Application) -> tuple[str, ...]:
    """Report noisy max, Laplace or exponential noise: 2 Delta/scale along paths, half if monotone.

    Proof: proofs/theory/path.md, Theorem 2.
    """
    noise = step.witness.words("noise")
    if noise not in _DENSITIES:
        raise RefusedError("the rule knows Laplace and exponential noise")
    scale, scores, together = _noisy_scores(step)
    adds = (
        f"adds {noise} noise of scale {exact(scale)}, {_DENSITIES[noise]}, independent for every "
        f"candidate, to the score of every candidate, {scores}; its result is the candidate of the "
        "largest sum"
    )
    return adds, *together, FRESH, ALONE


def permute_and_flip(step: Application) -> tuple[str, ...]:
    """Check permute-and-flip: 2 Delta/scale along paths of scores, half if monotone.

    Proof: proofs/theory/path.md, Theorem 2.
    """
    scale, scores, together = _noisy_scores(step)
    goes = (
        f"goes through candidates {scores}; every order of the candidates is equally likely, it "
        "ends at the first whose coin is heads; every candidate has a coin of its own, for score u "
        f"heads with probability e^((u - the largest score)/{exact(scale)}); order and coins "
        "are independent of each other; its result is the candidate at which it ends"
    )
    return goes, *together, FRESH, ALONE


def _noisy_scores(step: Application) -> tuple[Fraction, str, tuple[str, ...]]:
    """Check the step of a choice among noisy scores; return the scale and what it assumes."""
    step.axiom()
    scale, sensitivity = step.witness.positive("scale"), step.witness.positive("sensitivity")
    monotone = step.witness.flag("monotone")
    if monotone and step.conclusion.relation in SYMMETRIC:
        raise RefusedError("scores are not monotone under replace-one")
    step.expect(MetricDP(sensitivity / scale * (1 if monotone else 2)))
    scores = (
        "from a list of candidates that is the same for all datasets; each score moves by at "
        f"most {exact(sensitivity)} between {step.conclusion.relation} neighbours"
    )
    together = "has no two scores that move in opposite directions between two neighbours"
    return scale, scores, (together,) if monotone else ()


def _discrete_gaussian(variance: Fraction) -> str:
    law = "of mass proportional to e^(-x^2/(2 sigma^2)) at every whole number x"
    return f"discrete Gaussian noise of sigma^2 = {exact(variance)}, {law}"
