"""The abstract ``Guarantee``, where guarantees come from, and their words."""

from __future__ import annotations

import copy
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, Self, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from dpproof import accountant
from dpproof.accountant import arguments, relation as relations
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.enclosure import Reals, down, up
from dpproof.accountant.bound import Bound, Bounds
from dpproof.accountant.errors import NotCertified, NotImplied, ParameterError, RelationMismatch
from dpproof.accountant.guarantees import derivation as derivations, rounding
from dpproof.accountant.guarantees.derivation import Attained, Derivation, Parameter, Theorem
from dpproof.accountant.readable import Readable, declared, table
from dpproof.accountant.relation import AddRemove, R, Relation

if TYPE_CHECKING:
    from dpproof.accountant import DominatingPair
    from dpproof.proofs.certificate import Certificate


_NARROW = 1e-6  # Relative width of an answer that is not asked alone. Heuristic.
_SMALL_DELTAS = "deltas near 0 decide: give smallest_delta, such as 1e-6, to leave them out"
_LARGE_ORDERS = "orders without end decide: ask epsilon(delta=...) or rdp(order=...)"
_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")


def within_floats(question: Callable[_Asked, _Answer]) -> Callable[_Asked, _Answer]:
    """Make a question raise NotCertified if a number on the way to its answer overflows.

    An overflow that code provides for is handled where it occurs. Any other would go on as an
    infinity, or as no number, behind a warning: here it ends the computation. Other errors pass,
    as they are mistakes of ours.
    """

    @wraps(question)
    def answered(*arguments: _Asked.args, **named: _Asked.kwargs) -> _Answer:
        """Answer the question, or refuse."""
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                return question(*arguments, **named)
        except (FloatingPointError, OverflowError) as error:
            raise NotCertified(
                f"a number on the way to this answer is not representable as a float ({error}); "
                "ask with parameters, counts or epsilons that are less extreme"
            ) from error

    return answered


DEFAULT_RELATION: Relation = AddRemove()


class Guarantee(Readable, ABC, Generic[R]):
    """A statement about a mechanism's outputs on neighbouring datasets.

    Every question is about the worst pair of neighbours in the worse direction, and every
    answer is a ``Bound`` of the largest value that the statement leaves possible: ``upper``
    is what may be claimed (for ``type_ii_error`` the claim is ``lower``). The other end speaks of
    the mechanism only where the bracket is ``attained``.

    Attributes:
        relation: the neighbouring relation.
        derivation: the proof of the statement; equality and hashing ignore it.
    """

    __slots__ = ()

    relation: R
    derivation: Derivation

    @final
    def _repr_html_(self) -> str:
        """Show a notebook the statement, its neighbours and the theorem that it follows from."""
        rows = [
            ("statement", self.describe()),
            ("neighbours", str(self.relation)),
            ("from", self.derivation.rule),
            ("ask", "epsilon(delta=...), delta(epsilon=...), certify(delta=...)"),
        ]
        return table("Guarantee", rows)

    @property
    @final
    def attained(self) -> Attained:
        """Return the extent to which some instance of the mechanism attains the answers."""
        return self.derivation.attained

    @abstractmethod
    def describe(self) -> str:
        """Return the statement in words and numbers, without the relation."""

    @abstractmethod
    def to_pair(self) -> DominatingPair[R]:
        """Return a pair for each direction that dominates the mechanism.

        Raises:
            NotImplied: only a Renyi curve is known.
        """

    @abstractmethod
    def _zcdp(self) -> Bound:
        """Return the smallest rho such that the mechanism is rho-zCDP, +inf if there is none."""

    @abstractmethod
    def _epsilon_at(self, delta: Bound) -> Bound:
        """Return epsilon(delta) for a delta known by its bracket in [0, 1)."""

    @abstractmethod
    def _delta_at(self, epsilon: float) -> Bound:
        """Return delta(epsilon) for a finite or infinite real epsilon."""

    def _epsilons_at(self, delta: Reals) -> tuple[Reals, Reals]:
        """Return both ends of epsilon at many deltas, nan where each is to be asked alone."""
        return np.full(delta.shape, np.nan), np.full(delta.shape, np.nan)

    def _deltas_at(self, epsilon: Reals) -> tuple[Reals, Reals]:
        """Return both ends of delta at many epsilons, nan where each is to be asked alone."""
        return np.full(epsilon.shape, np.nan), np.full(epsilon.shape, np.nan)

    @abstractmethod
    def _rdp_at(self, order: float) -> Bound:
        """Return the Renyi divergence at a finite order above 1."""

    @abstractmethod
    def _gdp_at(self, smallest_delta: float) -> Bound:
        """Return the smallest mu for all deltas at or above ``smallest_delta``."""

    def _sampled_tail(self) -> float:
        """Return mu^2 of the Gaussian tail of the losses if the noise is sampled, else 0."""
        return 0.0

    @abstractmethod
    def _true_positive_rate_at(self, false_positive_rate: float) -> Bound:
        """Return the largest P(S) over events with Q(S) equal to the rate, a rate in [0, 1)."""

    @final
    @within_floats
    def epsilon(self, *, delta: Number) -> Bound:
        """Return the smallest epsilon >= 0, in nats, with the mechanism (epsilon, delta)-DP."""
        below, above = rounding.floats_around(arguments.probability(delta=delta))
        if below == 1.0:
            return Bound.exactly(0.0)
        if above == 1.0:
            return Bound(0.0, self._epsilon_at(Bound.exactly(below)).upper)
        return self._marked(self._epsilon_at(Bound(below, above)))

    @final
    @within_floats
    def delta(self, *, epsilon: Number) -> Bound:
        """Return the privacy profile: smallest delta with the mechanism (epsilon, delta)-DP.

        Any real epsilon, in nats; below 0 it is the hockey-stick divergence there.
        """
        exact = arguments.real(epsilon=epsilon)
        level = Attained.POINTS if exact >= 0 else Attained.WHOLE
        return self._marked(rounding.ask_decreasing(self._delta_at, exact), level)

    @final
    def epsilons(self, *, deltas: ArrayLike) -> Bounds:
        """Return ``epsilon`` at every one of many deltas, an array of any shape.

        Questions about one pair share its sums, so that hundreds take little longer than one.

        Args:
            deltas: in [0, 1], floats.
        Raises:
            ParameterError: a delta is outside, or no float.
            NotCertified: one has no answer.
        Example:
            >>> from dpproof.accountant import GDP
            >>> found = GDP(mu=1).epsilons(deltas=[1e-3, 1e-6])
            >>> found.upper.round(3).tolist(), found[1].relative_width < 1e-9
            ([3.139, 4.887], True)
        """
        within = arguments.array("in [0, 1]", lambda x: (x >= 0.0) & (x <= 1.0), deltas=deltas)
        return self._at_many(within, self._epsilons_at, lambda one: self.epsilon(delta=one))

    @final
    def deltas(self, *, epsilons: ArrayLike) -> Bounds:
        """Return ``delta`` at every one of many real epsilons, an array of any shape.

        Raises:
            ParameterError: an epsilon is no finite float.
            NotCertified: one has no answer.
        Example:
            >>> from dpproof.accountant import GDP
            >>> GDP(mu=1).deltas(epsilons=[0, 1]).upper.round(4).tolist()
            [0.3829, 0.1269]
        """
        within = arguments.array("a finite number", np.isfinite, epsilons=epsilons)
        return self._at_many(within, self._deltas_at, lambda one: self.delta(epsilon=one))

    def _at_many(
        self,
        asked: Reals,
        together: Callable[[Reals], tuple[Reals, Reals]],
        alone: Callable[[float], Bound],
    ) -> Bounds:
        """Return the answers at many points, each alone where they are not narrow together."""
        points = asked.ravel()
        lower, upper = together(points)
        attained = np.full(points.shape, self.attained >= Attained.POINTS) | (lower <= 0.0)
        single = ~(upper - lower <= _NARROW * upper)
        for place in np.flatnonzero(single).tolist():
            answer = alone(float(points[place]))
            lower[place], upper[place], attained[place] = (
                answer.lower,
                answer.upper,
                answer.attained,
            )
        shape = asked.shape
        ends = lower.reshape(shape), upper.reshape(shape)
        return Bounds(*ends, attained.reshape(shape), single.reshape(shape))

    @final
    @within_floats
    def rdp(self, *, order: Number) -> Bound:
        """Return the largest Renyi divergence, in nats, at a finite order above 1."""
        exact = renyi_order(order=order)
        answer = rounding.ask_increasing(
            lambda one: self._rdp_at(one) if one > 1.0 else Bound.exactly(0.0), exact
        )
        return self._marked(Bound(max(answer.lower, 0.0), answer.upper), Attained.WHOLE)

    @final
    @within_floats
    def zcdp(self) -> Bound:
        """Return the smallest rho such that the mechanism is rho-zCDP, +inf if there is none.

        Sampled Gaussian noise has the rho that it has without sampling, as orders without end
        decide. ``epsilon(delta=...)`` and ``rdp(order=...)`` show what sampling gains.
        """
        answer = self._marked(self._zcdp(), Attained.WHOLE)
        return _advised(answer, self._sampled_tail() / 2, _LARGE_ORDERS)

    @final
    @within_floats
    def gdp(self, *, smallest_delta: Number = 0) -> Bound:
        """Return the smallest mu such that the mechanism is mu-GDP, +inf when there is none.

        Args:
            smallest_delta: compare the profiles only where delta is at least this; 0 compares
                all of them, which is what mu-GDP means. Sampled Gaussian noise then has the mu
                that it has without sampling, as deltas near 0 decide.
        """
        exact = arguments.probability(smallest_delta=smallest_delta)
        answer = self._marked(rounding.ask_decreasing(self._gdp_at, exact))
        return answer if exact else _advised(answer, math.sqrt(self._sampled_tail()), _SMALL_DELTAS)

    @final
    @within_floats
    def advantage(self) -> Bound:
        """Return the largest total variation; an attacker's accuracy is at most (1 + it)/2."""
        return self._marked(self._delta_at(0.0))

    @final
    @within_floats
    def true_positive_rate(self, *, false_positive_rate: Number) -> Bound:
        """Return the largest power of any attack with this false-positive rate."""
        return self._power(arguments.probability(false_positive_rate=false_positive_rate))

    def _power(self, rate: Fraction) -> Bound:
        """Return the largest power at an exact rate."""
        power = rounding.ask_power(
            lambda at: Bound.exactly(1.0) if at >= 1.0 else self._true_positive_rate_at(at), rate
        )
        return self._marked(power, Attained.WHOLE)

    @final
    @within_floats
    def type_ii_error(self, *, type_i_error: Number) -> Bound:
        """Return the trade-off curve: least miss rate of any attack with this false-alarm rate.

        Here a small value is bad, so the claim is the ``lower`` end.
        """
        power = self._power(arguments.probability(type_i_error=type_i_error))
        ends = _one_minus(power.upper, down), _one_minus(power.lower, up)
        return Bound(*ends, power.attained)

    def _marked(self, answer: Bound, level: Attained = Attained.POINTS) -> Bound:
        """Return an answer that says whether an instance attains it, from a level on."""
        return replace(answer, attained=self.attained >= level or answer.lower <= 0.0)

    @final
    def labelled(self, label: str) -> Self:
        """Return the same guarantee with a name for the mechanism, which certificates carry.

        Verdicts quote it as the words of the certificate's author; nothing follows from it.

        Args:
            label: on one line, at most 200 characters.
        Raises:
            ParameterError: a label of several lines, or a longer one.
        Example:
            >>> from dpproof import proofs
            >>> from dpproof.accountant import PureDP
            >>> certificate = PureDP(epsilon=1).labelled("counts").certify()
            >>> proofs.check(certificate).labels
            ('M1 is called "counts"',)
        """
        twin = copy.copy(self)
        text = arguments.line(label=label)
        derivation = replace(self.derivation, label=text, conclusion=twin)
        object.__setattr__(twin, "derivation", derivation)
        return twin

    @final
    def certify(
        self,
        *,
        delta: Number | None = None,
        epsilon: Number | None = None,
        order: Number | None = None,
        false_positive_rate: Number | None = None,
        advantage: bool = False,
        lower: bool = False,
    ) -> Certificate:
        """Certify this guarantee by ``accountant.certify``; ``proofs.check`` verifies the proof.

        Args:
            delta: where epsilon is asked for, or else
            epsilon: where delta is asked for, or else
            order: where the Renyi divergence is asked for, or else
            false_positive_rate: where the true-positive rate is asked for, or else
            advantage: whether that is asked for. What is proved is at most a relative 1e-6 above
                the upper end that is asked for, unless the losses are non-smooth.
            lower: prove the lower end of the same number instead, as a fact about the dominating
                pair: two outputs with exactly its laws differ by at least so much. It is one
                about the mechanism only where that is ``attained``.
        Raises:
            NotCertified: no rule of the checker covers a theorem in the derivation.
        """
        return accountant.certify(
            self,
            delta=delta,
            epsilon=epsilon,
            order=order,
            false_positive_rate=false_positive_rate,
            advantage=advantage,
            lower=lower,
        )


def _advised(answer: Bound, in_the_tail: float, advice: str) -> Bound:
    """Return an answer, with advice if it is infinite or what the tail alone needs."""
    helps = answer.upper == 0.0 or in_the_tail * (1 + _NARROW) < answer.upper < math.inf
    return answer if helps else replace(answer, advice=advice)


def _one_minus(value: float, outwards: Callable[[float], float]) -> float:
    """Return 1 - value, rounded outwards in the stated direction unless it is exact."""
    difference = 1.0 - value
    if Fraction(difference) == 1 - Fraction(value):
        return difference
    return min(1.0, max(0.0, outwards(difference)))


def renyi_order(*, order: Number) -> Fraction:
    """Return a Renyi order exactly; refuse anything but a finite number above 1."""
    exact = arguments.real(order=order)
    if not exact > 1:
        raise ParameterError("order", order, "a finite number > 1")
    return exact


N = TypeVar("N", bound=Guarantee[Any])


def stated(notion: str, guarantee: Guarantee[Any], attained: Attained) -> Derivation:
    """Return a derivation without premises: the guarantee itself is the assumption.

    The mechanisms that it describes are all that meet it. Of pairs one is the pair itself, on two
    datasets; of Renyi curves a Gaussian mechanism has the lower ends that are computed.
    """
    statement = f"{guarantee.describe()} under {guarantee.relation}"
    return Derivation(
        theorem=Theorem(f"state/{notion}", "stated by the caller", attained),
        statement=statement,
        assumptions=(f"the mechanism is {statement}",),
    )


def state(
    guarantee: Guarantee[Any],
    notion: str,
    relation: Relation,
    derivation: Derivation | None,
    *,
    attained: Attained = Attained.WHOLE,
    **fields: object,
) -> None:
    """Set the fields of a new guarantee; without a derivation it is an assumption."""
    for name, value in {**fields, "relation": relations.require_relation(relation)}.items():
        object.__setattr__(guarantee, name, value)
    proof = derivation or stated(notion, guarantee, attained)
    object.__setattr__(guarantee, "derivation", derived(guarantee, proof))


def applied(
    theorem: Theorem | Callable[..., Any],
    statement: str,
    *premises: Guarantee[Any],
    assumptions: tuple[str, ...] = (),
    attained: Attained | None = None,
    **parameters: Parameter,
) -> Derivation:
    """Return one application of a theorem, or of a function's, with its parameters by name."""
    before, given = tuple(one.derivation for one in premises), tuple(parameters.items())
    node = Derivation(derivations.theorem_of(theorem), statement, before, assumptions, given)
    return node if attained is None else replace(node, attained=attained)


def rederived(guarantee: N, derivation: Derivation) -> N:
    """Return the same statement with another derivation."""
    twin = copy.copy(guarantee)
    object.__setattr__(twin, "derivation", derived(twin, derivation))
    return twin


def concluded(
    result: N,
    theorem: Theorem | Callable[..., Any],
    statement: str,
    *premises: Guarantee[Any],
    assumptions: tuple[str, ...] = (),
    attained: Attained | None = None,
    **parameters: Parameter,
) -> N:
    """Return what ``applied`` concludes, with its derivation."""
    node = applied(
        theorem, statement, *premises, assumptions=assumptions, attained=attained, **parameters
    )
    return rederived(result, node)


def derived(guarantee: Guarantee[Any], derivation: Derivation) -> Derivation:
    """Return the derivation with its conclusion set to the guarantee."""
    return replace(derivation, conclusion=guarantee)


def required(parts: Sequence[Guarantee[R]], what: str) -> R:
    """Return the relation of the parts; refuse an empty list, other objects, or mixed relations.

    Guarantees about groups of different sizes do not mix either.
    """
    if not parts:
        raise ParameterError("parts", tuple(parts), f"one guarantee or more to {what}")
    for part in parts:
        required_guarantee(part)
    sizes = [part.derivation.apart for part in parts]
    for position, size in enumerate(sizes):
        if size != sizes[0]:
            raise RelationMismatch(
                f"cannot {what} guarantees about groups of different sizes: part 0 is about "
                f"{_neighbours(sizes[0])}, part {position} about {_neighbours(size)}; group every "
                "part alike, or the total"
            )
    return relations.require_same_relation([part.relation for part in parts], what)


def require_single(guarantee: Guarantee[Any], theorem: str) -> None:
    """Refuse a guarantee about groups if the theorem is about neighbours one step apart."""
    size = guarantee.derivation.apart
    if size != 1:
        raise NotImplied(
            f"{theorem} is about one record, and this guarantee about {_neighbours(size)}; apply "
            "it to the guarantee about one record and group what follows"
        )


def _neighbours(size: int) -> str:
    """Return the name of datasets so many steps apart."""
    return "neighbours" if size == 1 else f"groups of {size}"


def required_guarantee(part: Guarantee[Any]) -> None:
    """Refuse anything but a guarantee."""
    if not isinstance(part, Guarantee):
        raise ParameterError("guarantee", part, "a guarantee", "call .guarantee() on a mechanism")


_NAMES: Final = {"Gaussian", "Gaussians", "Laplace", "Poisson"}
_MOST_PARTS: Final = 3  # that are named one by one
_BREAK: Final = re.compile("(?<=[a-z])(?=[A-Z])")


def pair_in_words(value: object) -> str:
    """Return the kind of a pair or law, and its parameters that are numbers.

    What it is made of stays unsaid, as a list of masses or the product that is sampled.
    """
    kind = " ".join(
        one if one in _NAMES else one.lower() for one in _BREAK.split(type(value).__name__)
    )
    shown = [name for name in declared(value) or () if not name.startswith("_")]
    fields = ((name, getattr(value, name)) for name in shown)
    numbers = [
        f"{name.replace('_', ' ')} = {rounding.show(Fraction(number))}"
        for name, number in fields
        if isinstance(number, int | Fraction) and not isinstance(number, bool)
    ]
    article = "" if kind.endswith("runs") else "an " if kind[0] in "aeio" else "a "
    return f"{article}{kind}" + (f" with {', '.join(numbers)}" if numbers else "")


def in_words(guarantee: Guarantee[Any]) -> str:
    """Return a guarantee's label, or the mechanism that it is of; a stated notion is itself."""
    return _words(guarantee.derivation) or guarantee.describe()


def _words(step: Derivation) -> str:
    """Return the words of one step, with those of its premises; empty for a stated notion."""
    parts = [_words(premise) or premise.statement for premise in step.premises]
    if step.label:
        return step.label
    match step.rule.partition("/")[0]:
        case "mechanism":
            return step.statement.partition(" is ")[0].partition(" (")[0]
        case "repeat":
            return f"{parts[0]}, {int(str(dict(step.parameters)['count'])):,} times"
        case "group":
            return f"{parts[0]}, groups of {dict(step.parameters)['size']}"
        case "subsample" | "select":
            return f"{parts[0]}, {step.statement}"
        case "compose" if len(parts) > _MOST_PARTS:
            return f"{len(parts)} releases together"
        case "compose":
            return "; ".join(parts)
        case "state":
            return ""
        case _:
            return "; ".join(map(_words, step.premises)) if parts else step.statement
