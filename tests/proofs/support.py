"""Small certificates for the checker's tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpproof.proofs import Certificate, Rejected, Step, Verdict, check

Object = Mapping[str, Any]


def said(notion: str, *, relation: str = "add-remove", steps: int = 1, **fields: object) -> Object:
    """A conclusion about neighbours."""
    return {"notion": notion, **fields, "relation": relation, "steps": steps}


def fact(product: Sequence[Object], epsilon: str, delta: str) -> Object:
    """A conclusion about a product of pairs."""
    return {"notion": "hockey-stick", "product": product, "epsilon": epsilon, "delta": delta}


def factor(kind: str, count: int = 1, **fields: object) -> Object:
    """One pair with its count."""
    return {"count": count, "pair": {"kind": kind, **fields}}


def gaussian(mu_squared: str, count: int = 1) -> Object:
    """A Gaussian factor."""
    return factor("gaussian", count, mu_squared=mu_squared)


def pairs(
    forward: Sequence[Object], backward: Sequence[Object] | None = None, *, steps: int = 1
) -> Object:
    """A conclusion that two products dominate, the same one by default."""
    other = forward if backward is None else backward
    return said("dominating-pair", steps=steps, forward=forward, backward=other)


def certificate(*steps: Step) -> Certificate:
    """A certificate of these steps."""
    return Certificate(steps)


def facts(product: Sequence[Object], *points: tuple[str, str]) -> Object:
    """A conclusion about a product at several epsilons."""
    return {"notion": "hockey-sticks", "product": product, "points": [list(one) for one in points]}


def stated(conclusion: Object) -> Step:
    """A premise that is taken for granted, or a fact about a product with a closed profile."""
    notion = str(conclusion["notion"])
    rule = "hockey-stick/closed" if notion.startswith("hockey") else f"state/{notion}"
    return Step(rule=rule, premises=(), witness={}, conclusion=conclusion)


@dataclass(frozen=True)
class Case:
    """One application of one rule to premises that are taken for granted.

    Attributes:
        rule: its name.
        conclusion: what is claimed.
        premises: what it is claimed from.
        witness: parameters and hints.
        why: words of the refusal; empty when the step is to be accepted.
        twice: whether the first premise is cited twice.
    """

    rule: str
    conclusion: Object
    premises: Sequence[Object] = ()
    witness: Object = field(default_factory=dict)
    why: str = ""
    twice: bool = False

    def verdict(self) -> Verdict:
        """What the checker says."""
        given = [stated(premise) for premise in self.premises]
        step = Step(
            rule=self.rule,
            premises=(0,) * self.twice + tuple(range(len(given))),
            witness=self.witness,
            conclusion=self.conclusion,
        )
        return check(certificate(*given, step))

    def holds(self) -> None:
        """Assert that the checker accepts the step, or refuses it for the reason given."""
        verdict = self.verdict()
        if self.why:
            assert isinstance(verdict, Rejected), verdict
            assert verdict.rule == self.rule
            assert self.why in verdict.reason, verdict.reason
        else:
            assert not isinstance(verdict, Rejected), verdict

    def __str__(self) -> str:
        """The rule, and why it refuses."""
        return f"{self.rule}-{self.why or 'accepted'}"
