"""The meaning of a word of a pipeline file: its parameters, and the mechanism that it builds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias, final

import attrs

from dpproof.accountant.relation import Relation
from dpproof.accountant.sensitivity import L1, L2, LInf
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.pipeline.parameters import PARAMETERS
from dpproof.pipeline.section import FLAG

Rows: TypeAlias = tuple[tuple[Fraction, ...], ...]

NORMS: Mapping[str, type[L1[Any] | L2[Any] | LInf[Any]]] = {"l1": L1, "l2": L2, "linf": LInf}
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

    def sensitivity(self) -> L1[Relation] | L2[Relation] | LInf[Relation]:
        """Return the sensitivity among the numbers, in its norm."""
        return NORMS[self.norm](self.values["sensitivity"], self.relation)


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


def declared(
    words: str,
    mechanism: Callable[..., Mechanism[Relation]],
    *,
    norms: tuple[str, ...] = (),
    whole: bool = False,
    **free: object,
) -> Kind:
    """Return the word of a mechanism, with the parameters that its class declares.

    Args:
        words: its name for people.
        mechanism: the class.
        norms: as for ``Kind``; none for a sensitivity that only scales scores, and costs nothing.
        whole: as for ``Kind``.
        free: arguments that cost nothing, with any value.
    Example:
        >>> from dpproof.mechanisms import Skellam
        >>> declared("Skellam noise", Skellam, norms=("l1", "l2")).usage
        'variance and sensitivity'
    """
    kind: Any = mechanism
    fields = {one.name: one.default for one in attrs.fields(kind) if one.name not in free}
    scales = "sensitivity" in fields and not norms
    stated = {name: fields[name] for name in fields if name in PARAMETERS}
    if scales:
        del stated["sensitivity"]

    def build(release: ReleaseParameters) -> Mechanism[Relation]:
        values = {name: _typed(name, value) for name, value in release.values.items()}
        if norms:
            values["sensitivity"] = release.sensitivity()
        elif scales:
            values["sensitivity"] = LInf(1, release.relation)
        else:
            values["relation"] = release.relation
        return mechanism(**values, **free)

    return Kind(
        words=words,
        forms=(tuple(name for name, default in stated.items() if default is attrs.NOTHING),),
        defaults={name: Fraction(x) for name, x in stated.items() if isinstance(x, int)},
        norms=norms,
        whole=whole,
        build=build,
    )


def _typed(name: str, value: Fraction) -> Any:  # noqa: ANN401  # a parameter of any constructor
    """Return a number of a file as a constructor takes it."""
    parameter = PARAMETERS[name]
    if parameter.rule is FLAG:
        return bool(value)
    return int(value) if parameter.whole else value
