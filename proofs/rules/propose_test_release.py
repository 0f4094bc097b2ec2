"""A noisy value that is released after a test that its query is stable."""

from __future__ import annotations

from functools import partial

from flint import arb

from dpproof.proofs.balls.arithmetic import ball, exact, require_at_most
from dpproof.proofs.errors import RefusedError
from dpproof.proofs.logic.rule import Application
from dpproof.proofs.logic.statement import Pairs
from dpproof.proofs.pairs.finite import FinitePair
from dpproof.proofs.pairs.gaussian import GaussianPair
from dpproof.proofs.pairs.laplace import LaplacePair
from dpproof.proofs.pairs.pair import Pair


def propose_test_release(step: Application) -> tuple[str, ...]:
    """The noise's pair, the test's Laplace pair, and that of (0, delta)-DP, e^-margin/2 <= delta.

    Proof: proofs/theory/propose_test_release.md.
    """
    step.axiom()
    noise, scale = step.witness.words("noise"), step.witness.positive("scale")
    sensitivity, epsilon = step.witness.positive("sensitivity"), step.witness.positive("epsilon")
    delta = step.witness.rational("delta", least=0, most=1)
    margin = step.witness.rational("margin", least=0)
    if noise not in {"gaussian", "laplace"}:
        raise RefusedError("the rule knows gaussian and laplace noise")
    size = sensitivity / scale
    base: Pair = GaussianPair(size**2) if noise == "gaussian" else LaplacePair(size)
    missed = FinitePair((delta, 1 - delta, delta * 0), (delta * 0, 1 - delta, delta))
    counts: dict[Pair, int] = {}
    for pair in (base, LaplacePair(epsilon), missed):
        counts[pair] = counts.get(pair, 0) + 1
    product = tuple(counts.items())
    step.expect(Pairs(product, product))

    def passes() -> arb:
        return (-ball(margin)).exp() / 2

    require_at_most(passes, partial(ball, delta), "the probability to pass at distance 0")
    relation, norm = step.conclusion.relation, "L2" if noise == "gaussian" else "L1"
    law = f"Gaussian noise of mean 0 and standard deviation {exact(scale)}"
    if noise == "laplace":
        law = f"Laplace noise of scale {exact(scale)}"
    runs = (
        f"adds to the value of a query, a list of numbers, as long for every dataset, {law}, drawn "
        "anew for every coordinate and independent of the data and of all other noise, and Laplace "
        f"noise of scale 1/{exact(epsilon)}, drawn anew and independent of the data and of all "
        "other noise, to a distance, a whole number at or above 0, at most 1 "
        f"apart for {relation} neighbours and 0 where the value moves by more than "
        f"{exact(sensitivity)} in {norm} norm to a neighbour, and releases a function of the sum "
        "alone that is the same for all datasets if the noisy distance is above "
        f"{exact(margin)}/{exact(epsilon)}, else that it is "
        "not, and nothing else"
    )
    return (runs,)
