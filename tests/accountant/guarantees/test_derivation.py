"""Derivations as a DAG."""

from __future__ import annotations

import importlib
import pickle
import pkgutil

from dpproof import accountant
from dpproof.accountant import GDP, ZCDP, compose, convert, self_compose
from dpproof.accountant.guarantees.derivation import DECLARED, Attained, Derivation, Theorem


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


def test_every_theorem_and_every_guarantee_survives_pickling() -> None:
    """With how it is applied again, so that fitted estimators can be kept and sent."""
    modules = [m.name for m in pkgutil.walk_packages(accountant.__path__, "dpproof.accountant.")]
    found = {
        id(value): value
        for name in modules
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, Theorem)
    }
    for theorem in (*found.values(), *DECLARED.values()):
        copy = pickle.loads(pickle.dumps(theorem))  # noqa: S301 - our own bytes

        assert copy == theorem
        assert copy.again is theorem.again
    composed = compose(GDP(mu=1), GDP(mu=2))
    for guarantee in (composed, self_compose(composed, 3), convert(composed, to=ZCDP)):
        assert pickle.loads(pickle.dumps(guarantee)) == guarantee  # noqa: S301 - our own bytes
    assert len(found) + len(DECLARED) > 60
