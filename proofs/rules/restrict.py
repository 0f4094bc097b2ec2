"""The same guarantee for fewer neighbours."""

from __future__ import annotations

from dpproof.proofs.errors import RefusedError
from dpproof.proofs.logic.rule import Application


def relation(step: Application) -> tuple[str, ...]:
    """Neighbours under replace-label are neighbours under replace-one. The statement is the same.

    Source: proofs/theory/margins.md, section 1.
    """
    (claim,) = step.every(object, most=1)
    (premise,) = step.premises
    if (premise.relation, step.conclusion.relation) != ("replace-one", "replace-label"):
        raise RefusedError("the rule leads from replace-one to replace-label")
    if step.conclusion.claim != claim:
        raise RefusedError("the conclusion is not the premise")
    return ()
