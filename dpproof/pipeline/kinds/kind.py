"""The meaning of a word of a pipeline file: its parameters, and the mechanism that it builds."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias, final

import attrs

from dpproof.accountant import L1, L2, LInf, Relation
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.pipeline.section import FLAG, PARAMETERS

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
    """The inputs of one mechanism: the numbers of one form, a norm, the relation."""

    values: Mapping[str, Fraction]
    norm: str  # of the sensitivity among them, empty without one
    relation: Relation
    # Arrays of arrays by their names, such as a covariance.
    rows: Mapping[str, Rows] = field(default_factory=dict)
    # Whether it acts on batches, as a sum whose records' contributions are bounded.
    summed: bool = False

    def noise(self) -> dict[str, Any]:
        """Return the scale and the name of the noise: Gaussian with a sigma, else Laplace."""
        if "sigma" in self.values:
            return {"scale": self.values["sigma"], "noise": "gaussian"}
        return {"scale": self.values["scale"], "noise": "laplace"}

    def sensitivity(self) -> L1[Relation] | L2[Relation] | LInf[Relation]:
        """Return the sensitivity among the numbers, in its norm."""
        return NORMS[self.norm](self.values["sensitivity"], self.relation)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A mechanism that a pipeline file can name."""

    words: str
    # Alternative sets of parameters, any one of which says everything.
    forms: tuple[tuple[str, ...], ...]
    # Parameters that may be left out, and what they then are.
    defaults: Mapping[str, Fraction] = field(default_factory=dict)
    # Sets of alternatives beside the form, of each of which one may be given, whole.
    additions: tuple[tuple[tuple[str, ...], ...], ...] = ()
    # Of the sensitivities it can use; a plain number is in the first of them.
    norms: tuple[str, ...] = ()
    # Whether the query's values are whole numbers, and with them its L1 sensitivity.
    whole: bool = False
    # The mechanism, from what one stage gives.
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
    """Return alternative sets of parameters as a person would list them: "x, or y and z"."""
    return ", or ".join(" and ".join(names) for names in alternatives)


def declared(
    words: str,
    mechanism: Callable[..., Mechanism[Relation]],
    *,
    norms: tuple[str, ...] = (),
    whole: bool = False,  # as for ``Kind``
    **free: object,  # arguments that cost nothing, with any value
) -> Kind:
    """Return the word of a mechanism, with the parameters that its class declares.

    Without norms, a sensitivity only scales scores, and costs nothing.

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
