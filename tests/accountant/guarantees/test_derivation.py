"""Derivations as a DAG."""

from __future__ import annotations

from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.theorem import Theorem


def leaf(name: str) -> Derivation:
    """An assumption."""
    return Derivation(
        theorem=Theorem("state", "caller", Attained.NO), statement=name, assumptions=(name,)
    )


def test_explains_itself_indented() -> None:
    """One line a step, lossy steps marked, premises below."""
    lossy = Theorem("convert", "Lemma 1", Attained.NO, lossless=False)
    top = Derivation(theorem=lossy, statement="b", premises=(leaf("a"),))

    assert top.explain() == ("convert: b (loses information) [Lemma 1]\n  state: a [caller]")


def test_a_shared_step_is_explained_once() -> None:
    """Shared nodes do not multiply the text or the assumptions."""
    node = leaf("a")
    for depth in range(60):
        node = Derivation(
            theorem=Theorem(f"r{depth}", "", Attained.NO), statement="", premises=(node, node)
        )

    assert len(node.explain().splitlines()) < 200
    assert node.all_assumptions() == ("a",)


def test_long_chains_do_not_recurse() -> None:
    """A thousand steps deep."""
    node = leaf("a")
    for depth in range(5000):
        node = Derivation(
            theorem=Theorem(f"r{depth}", "", Attained.NO), statement="", premises=(node,)
        )

    assert len(node.explain().splitlines()) == 5001
    assert node.all_assumptions() == ("a",)


def test_assumptions_keep_their_order() -> None:
    """Each once, in order of appearance."""
    top = Derivation(
        theorem=Theorem("c", "", Attained.NO),
        statement="",
        premises=(leaf("b"), leaf("a"), leaf("b")),
    )

    assert top.all_assumptions() == ("b", "a")
