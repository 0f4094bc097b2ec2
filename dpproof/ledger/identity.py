"""The identity of guarantees at one key: their numbers, exactly, in a form that lasts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpproof.accountant import Guarantee
from dpproof.accountant.certificates import serialize
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.readable import declared
from dpproof.ledger.chain import canonical
from dpproof.ledger.errors import LedgerError
from dpproof.proofs.core.certificate import show_rational

VERSION = 2  # 1 was made of texts for people, which are free to change


def identity(guarantee: Guarantee[Any]) -> str:
    """Return a text that is equal for equal guarantees that follow in the same way.

    It has the rules and exact parameters of the derivation, and the conclusion as certificates
    write it (by its fields where they do not know it), but no wording and no rounded number.

    Raises:
        LedgerError: it holds what has no such text, as an array of floats.
    """
    nodes = list(guarantee.derivation.everything())
    place = {id(node): number for number, node in enumerate(nodes)}
    steps = [
        [
            node.rule,
            {name: _exact(value) for name, value in node.parameters},
            [place[id(premise)] for premise in node.premises],
            None if node.premises or node.parameters else _concluded(node),
        ]
        for node in nodes
    ]
    return canonical([VERSION, _concluded(guarantee.derivation), steps])


def _concluded(node: Derivation) -> Any:  # noqa: ANN401  # JSON is anything
    """Return the conclusion of one application, as certificates write it if they know it."""
    guarantee: Any = node.conclusion
    try:
        return serialize.conclusion(guarantee, node.apart)
    except NotCertified:
        return _exact(guarantee)


def _exact(value: object) -> Any:  # noqa: ANN401  # JSON is anything
    """Return an exact value as JSON."""
    match value:
        case None | bool() | str():
            return value
        case float():
            return repr(value)
        case int() | Fraction():
            return show_rational(Fraction(value))
        case tuple():
            return [_exact(one) for one in value]
    stated = declared(value)
    if stated is not None:
        return [type(value).__name__, {name: _exact(getattr(value, name)) for name in stated}]
    raise LedgerError(
        f"{type(value).__name__} cannot be told from others of its type, so that no key could "
        "stand for it alone; nothing was spent: reserve what it implies, as "
        "convert(guarantee, to=ApproxDP, delta=...)"
    )
