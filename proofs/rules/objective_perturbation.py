"""Axioms: minima of objectives with a random linear term."""

from __future__ import annotations

from typing import Final

from proofs.balls.arithmetic import exact
from proofs.errors import RefusedError
from proofs.logic.rule import Application
from proofs.logic.statement import GDP

_DRAWN: Final = "drawn anew for every coordinate and independent of the data and all other noise"


def logistic(step: Application) -> tuple[str, ...]:
    """Logistic losses of rows of norm R, lambda >= 2 sigma^2: mu-GDP, mu = R/sigma, 2R/sigma.

    The latter under replace-one, where the vectors of both records can be any.
    Source: proofs/theory/logistic.md, Theorem 1.
    """
    step.axiom()
    norm, sigma = step.witness.positive("norm"), step.witness.positive("sigma")
    regulariser = step.witness.positive("regulariser")
    if regulariser < 2 * sigma**2:
        raise RefusedError("the rule wants a regulariser of at least 2 sigma^2")
    replaced = 2 if step.conclusion.relation == "replace-one" else 1
    step.expect(GDP((replaced * norm / sigma) ** 2))
    labels = ", of which the label decides no more than the sign, or that it is 0"
    signs = labels if step.conclusion.relation == "replace-label" else ""
    losses = (
        "the sum over the records of log(1 + e^(-<a, w>)), a vector a of norm at most "
        f"{exact(norm)} that depends on its record alone and is 0 for a blank one{signs}"
    )
    noise = f"b of ideal Gaussian noise of mean 0 and standard deviation {exact(sigma)}, {_DRAWN}"
    released = (
        f"computes the exact minimum over all w of {losses}, plus {exact(regulariser)} ||w||^2/2 "
        f"plus <b, w>, {noise}, and releases a function of that minimum that is the same for all "
        "datasets, and nothing else"
    )
    return (released,)
