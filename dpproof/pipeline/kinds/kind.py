"""The meaning of a word of a pipeline file: its parameters, and the mechanism that it builds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias, final

from dpproof.accountant.relation import Relation
from dpproof.mechanisms.mechanism import Mechanism

Rows: TypeAlias = tuple[tuple[Fraction, ...], ...]

NORM_WORDS: Mapping[str, str] = {
    "l1": "L1 sensitivity",
    "l2": "L2 sensitivity",
    "linf": "largest change of a query",
}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseParameters:
    """The inputs from which a stage builds one mechanism: one form's numbers, a norm, the relation.

    Attributes:
        values: the numbers by their names.
        norm: of the sensitivity among them, empty without one.
        relation: the neighbouring relation.
        rows: arrays of arrays by their names, such as a covariance.
        summed: whether it acts on batches, as a sum whose records' contributions are bounded.
    """

    values: Mapping[str, Fraction]
    norm: str
    relation: Relation
    rows: Mapping[str, Rows] = field(default_factory=dict)
    summed: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A mechanism that a pipeline file can name.

    Attributes:
        words: its name for people.
        forms: alternative sets of parameters, any one of which says everything.
        defaults: parameters that may be left out, and what they then are.
        additions: sets of alternatives beside the form, of each of which one may be given, whole.
        norms: of the sensitivities it can use; a plain number is in the first of them.
        whole: whether the query's values are whole numbers, and with them its L1 sensitivity.
        build: the mechanism, from what one stage gives.
    """

    words: str
    forms: tuple[tuple[str, ...], ...]
    defaults: Mapping[str, Fraction] = field(default_factory=dict)
    additions: tuple[tuple[tuple[str, ...], ...], ...] = ()
    norms: tuple[str, ...] = ()
    whole: bool = False
    build: Callable[[ReleaseParameters], Mechanism[Relation]]

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return every parameter of every form, each once."""
        names = [name for form in self.forms for name in form]
        return tuple(dict.fromkeys([*names, *self.defaults, *self.added]))

    @property
    def added(self) -> tuple[str, ...]:
        """Return every parameter of every addition."""
        return tuple(name for either in self.additions for group in either for name in group)

    def complete(self, names: Collection[str]) -> bool:
        """Return whether names, none of them with a default, are a form and whole additions."""
        whole = [group for either in self.additions for group in either if set(group) <= set(names)]
        rest = set(names) - {name for group in whole for name in group}
        return any(rest == set(form) for form in self.forms)

    @property
    def usage(self) -> str:
        """Return the forms as a person would list them."""
        return in_words(self.forms)


def in_words(alternatives: Iterable[tuple[str, ...]]) -> str:
    """Return alternative sets of parameters as a person would list them.

    Example:
        >>> in_words([("sigma",), ("scale", "sensitivity")])
        'sigma, or scale and sensitivity'
    """
    return ", or ".join(" and ".join(names) for names in alternatives)
