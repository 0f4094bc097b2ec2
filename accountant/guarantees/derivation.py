"""The derivation of a guarantee, a DAG of theorem applications, and which answers are attained."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, final

from dpproof.accountant.readable import shortened
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.sampling import OneStepScheme


@final
class Attained(IntEnum):
    """The extent to which an instance of the described mechanism attains the answers; NO is falsy.

    An instance is a mechanism that meets every word of the derivation, on two neighbours of its
    relation. Every answer's claim holds for all instances. The other end of its bracket speaks
    of the mechanism only if some instance attains the pair.

    Attributes:
        NO: no instance is known that does; the pair is an upper bound alone.
        POINTS: for every epsilon from 0 some instance has delta there, not one for all of them.
        WHOLE: for each direction one instance has the pair, at every epsilon. Then the pair of
            either direction has the profile of the other one's swap (``Theorem``).

    Theorem: if (P, Q) is attained forwards and (P', Q') backwards, H(P'||Q') = H(Q||P) everywhere.
    Proof: the instance that attains (P, Q) has (Q, P) in the other order, which (P', Q')
        dominates: H(Q||P) <= H(P'||Q'). Likewise H(Q'||P') <= H(P||Q), which says
        H(P'||Q') <= H(Q||P), as H_e(P||Q) = 1 - t + t H_-e(Q||P), t the power of the number e.

    Example:
        >>> bool(Attained.NO), Attained.POINTS < Attained.WHOLE
        (False, True)
    """

    NO = 0
    POINTS = 1
    WHOLE = 2

    def of_premises(self, premises: Iterable[Attained], *, pointwise: bool) -> Attained:
        """Return the level of a conclusion whose theorem keeps at most this one.

        Args:
            premises: their levels.
            pointwise: whether an instance that attains the premise at an epsilon is enough.
        Example:
            >>> Attained.WHOLE.of_premises([Attained.POINTS], pointwise=False).name
            'NO'
        """
        least = min(premises, default=Attained.WHOLE)
        if least is Attained.POINTS and not pointwise:
            return Attained.NO
        return min(self, least)


Premises: TypeAlias = Sequence[Any]
"""The guarantees that a theorem is applied to."""
Parameters: TypeAlias = Mapping[str, Any]
"""What it was applied with: the parameters of its derivation by name."""


@final
@dataclass(frozen=True, slots=True)
class Theorem:
    """One theorem; ``theorem`` declares that of a function."""

    rule: str  # the identifier, ``verb/notion`` ("compose/gdp")
    source: str  # the numbered item that it comes from, or where its proof is
    attained: Attained  # the most that its conclusion attains, whatever its premises do
    # Applies it to other premises with the parameters that it had; None if it has no premises, or
    # if certificates raise its conclusion by other means.
    again: Callable[[Premises, Parameters], Any] | None = field(
        default=None, compare=False, repr=False
    )
    lossless: bool = True  # whether the conclusion says as much as the premises
    pointwise: bool = False  # whether premises attained at points alone give such a conclusion
    written: str = "plain"  # its producer in accountant/certificates/steps.py; empty if none
    function: Callable[..., Any] | None = field(default=None, compare=False, repr=False)

    def __reduce__(self) -> tuple[Callable[..., Theorem], tuple[object, ...]]:
        """Pickle a theorem by the function that concludes by it, if there is one."""
        if self.function is not None:
            return theorem_of, (self.function,)
        fields = (self.rule, self.source, self.attained, self.again)
        return Theorem, (*fields, self.lossless, self.pointwise, self.written)


F = TypeVar("F", bound=Callable[..., Any])
DECLARED: Final[dict[Callable[..., Any], Theorem]] = {}


def _applied_again(function: Callable[..., Any], premises: Premises, given: Parameters) -> object:
    """Call a theorem's function with other premises: all of them if it takes ``parts``."""
    taken = inspect.signature(function).parameters
    named = {name: given[name] for name in taken if name in given}
    first = next(iter(taken.values()))
    if first.kind is first.VAR_POSITIONAL:
        return function(*premises, **named)
    return function(premises if first.name == "parts" else premises[0], **named)


def theorem(
    *,
    rule: str,
    source: str,
    attained: Attained,
    again: Callable[[Callable[..., Any], Premises, Parameters], Any] | None = _applied_again,
    lossless: bool = True,
    pointwise: bool = False,
    written: str = "plain",
) -> Callable[[F], F]:
    """Declare the theorem by which a function concludes; calling the function applies it again."""

    def declare(function: F) -> F:
        how = None if again is None else partial(again, function)
        fields = rule, source, attained, how, lossless, pointwise, written
        DECLARED[function] = Theorem(*fields, function)
        return function

    return declare


def theorem_of(applied: Theorem | Callable[..., Any]) -> Theorem:
    """Return a theorem, or that by which a function concludes."""
    return applied if isinstance(applied, Theorem) else DECLARED[applied]


def dominate_again(premises: Premises, _: Parameters) -> Any:  # noqa: ANN401  # a DominatingPair
    """Return the dominating pair of the one premise."""
    return premises[0].to_pair()


Rows: TypeAlias = tuple[tuple[Fraction | int, ...], ...]
Parameter: TypeAlias = (
    Fraction | int | str | bool | RunLaw | OneStepScheme | Rows | tuple[Fraction | int, ...]
)

_BY_PREMISES: Any = None  # stands for the level that follows from the theorem and the premises


@final
@dataclass(frozen=True, slots=True)
class Derivation:
    """One application of one theorem.

    Attributes:
        theorem: the applied theorem.
        statement: the conclusion in words and numbers.
        premises: the guarantees it was applied to.
        assumptions: the side conditions of the theorem here (a sensitivity, a sampler).
        parameters: the theorem's exact arguments (a count, a sampling rate,
            the law of a number of runs).
        conclusion: the guarantee that follows, set by its constructor; None before.
        apart: the number of relation steps between the datasets that it covers.
        label: the author's name of the mechanism, which proves nothing.
        attained: the part of the conclusion some instance attains; by default what the theorem
            keeps of its premises.
    """

    theorem: Theorem
    statement: str
    premises: tuple[Derivation, ...] = ()
    assumptions: tuple[str, ...] = ()
    parameters: tuple[tuple[str, Parameter], ...] = ()
    conclusion: object = field(default=None, compare=False)
    apart: int = field(init=False, compare=False)
    label: str = field(default="", compare=False)
    attained: Attained = field(default=_BY_PREMISES, compare=False)

    def __repr__(self) -> str:
        """Return the rule and the statement; ``explain`` has everything that it rests on."""
        return shortened(f"Derivation({self.rule}: {self.statement})")

    def __post_init__(self) -> None:
        """Set ``apart`` to that of the premises, times a group's size, and ``attained``."""
        if self.attained is _BY_PREMISES:
            levels = [premise.attained for premise in self.premises]
            level = self.theorem.attained.of_premises(levels, pointwise=self.theorem.pointwise)
            object.__setattr__(self, "attained", level)
        apart = max((premise.apart for premise in self.premises), default=1)
        if self.rule.startswith("group/"):
            apart *= int(str(dict(self.parameters).get("size", 1)))
        elif self.rule == "restrict/relation":
            apart //= int(str(dict(self.parameters).get("size", 1)))
        object.__setattr__(self, "apart", apart)

    @property
    def rule(self) -> str:
        """Return the theorem's identifier, ``verb/notion``."""
        return self.theorem.rule

    @property
    def source(self) -> str:
        """Return the numbered item that the theorem comes from, or the place of its proof."""
        return self.theorem.source

    @property
    def lossless(self) -> bool:
        """Return whether the conclusion implies the premises' answers."""
        return self.theorem.lossless

    def explain(self) -> str:
        """Return the derivation as indented text, one line a step, a shared step printed once."""
        lines: list[str] = []
        seen: set[int] = set()
        stack = [(self, 0)]
        while stack:
            node, depth = stack.pop()
            mark = "" if node.lossless else " (loses information)"
            lines.append(f"{'  ' * depth}{node.rule}: {node.statement}{mark} [{node.source}]")
            if id(node) in seen and node.premises:
                lines[-1] += " (see above)"
                continue
            seen.add(id(node))
            stack.extend((premise, depth + 1) for premise in reversed(node.premises))
        return "\n".join(lines)

    def all_assumptions(self) -> tuple[str, ...]:
        """Return every assumption in the tree, each once, in order of appearance."""
        assumptions: dict[str, None] = {}
        for node in self.everything():
            assumptions.update(dict.fromkeys(node.assumptions))
        return tuple(assumptions)

    def everything(self) -> Iterator[Derivation]:
        """Yield this application and all that it rests on, each once, in order of appearance."""
        seen: set[int] = set()
        stack = [self]
        while stack:
            node = stack.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            yield node
            stack.extend(reversed(node.premises))


Proof: TypeAlias = Derivation | None
"""What a guarantee follows from; without one it is an assumption."""
