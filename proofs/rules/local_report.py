"""Local reports of one category: bits, hashed cells and subsets. Proof: proofs/theory/local.md."""

from __future__ import annotations

from fractions import Fraction

from dpproof.proofs.core.arithmetic import exact
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.pairs import FinitePair
from dpproof.proofs.core.rule import ALONE, FRESH, Application
from dpproof.proofs.core.statements import Pairs


def local_report(step: Application) -> tuple[str, ...]:
    """Return what is assumed of a report that tells two categories apart by three outcomes."""
    step.axiom()
    kind, categories = step.witness.words("kind"), step.witness.whole("categories", least=2)
    keep = step.witness.rational("keep", least=0, most=1)
    if kind == "bits":
        up, down, how = _bits(step, keep, categories)
    elif kind == "hash":
        up, down, how = _hash(step, keep)
    elif kind == "subset":
        up, down, how = _subset(step, keep, categories)
    else:
        raise RefusedError("the rule knows reports by bits, hash and subset")
    rest = 1 - up - down
    product = ((FinitePair((up, down, rest), (down, up, rest)), 1),)
    step.expect(Pairs(product, product))
    computed = f"one of {categories} categories, the same list for all datasets"
    return f"computes from the data {computed}; its result is {how}", FRESH, ALONE


def _bits(step: Application, keep: Fraction, categories: int) -> tuple[Fraction, Fraction, str]:
    flip = step.witness.rational("flip", least=0, most=1)
    how = (
        f"{categories} independent bits: that of the category is 1 with probability "
        f"{exact(keep)}, each other one is 1 with probability {exact(flip)}"
    )
    return keep * (1 - flip), flip * (1 - keep), how


def _hash(step: Application, keep: Fraction) -> tuple[Fraction, Fraction, str]:
    cells = step.witness.whole("cells", least=2)
    how = (
        f"a function into {cells} cells, drawn so that any two categories share a cell with "
        f"probability 1/{cells}, and a cell; that is the category's with probability "
        f"{exact(keep)}, else one of the others, all equally likely"
    )
    apart = 1 - Fraction(1, cells)
    return apart * keep, apart * (1 - keep) / (cells - 1), how


def _subset(step: Application, keep: Fraction, categories: int) -> tuple[Fraction, Fraction, str]:
    size = step.witness.whole("size")
    if size >= categories:
        raise RefusedError("a set holds fewer than all categories")
    how = (
        f"a set of {size} of them that holds the category with probability {exact(keep)}; all sets "
        "of this size that hold it are equally likely, and so are all that do not"
    )
    others = categories - 1
    return keep * (categories - size) / others, (1 - keep) * size / others, how
