"""Questions about a table of rows by users: counts, sums, means and quantiles by public keys.

A frame (pandas, polars, Arrow, DuckDB) is read through Narwhals. Every user's rows are bounded
first; what follows are mechanisms of this package. Proofs: proofs/theory/tables.md.
"""

from __future__ import annotations

import decimal
import importlib
import itertools
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import ModuleType
from typing import Any, Final, TypeAlias, cast, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import L2, AddRemove, Guarantee, JointSensitivity, arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.calibration.calibrate import calibrate
from dpproof.accountant.errors import MissingDependency, ParameterError
from dpproof.accountant.theorems.parallel import parallel_compose
from dpproof.mechanisms import Composed, Gaussian, Histogram, Mechanism, Quantile, compose
from dpproof.mechanisms.mechanism import Outputs
from dpproof.mechanisms.queries import Query
from dpproof.mechanisms.samplers import Rng, as_rng
from dpproof.pipeline.parse import from_text, parse
from dpproof.pipeline.pipeline import Pipeline

_USER: Final = AddRemove()  # A user more or less, with all rows.
_DIGITS: Final = 20  # Binary digits that a sum keeps of its bound. Heuristic.
_MOST_GROUPS: Final = 1 << 20  # Heuristic: answers for more do not fit a page.
_LARGEST: Final = 2.0**250  # Size of a bound, so that no product of two leaves the floats.
_MOST_ROWS: Final = 1 << 32  # Sums of as many values are exact floats. Soundness depends on it.

Answers: TypeAlias = NDArray[np.float64]
Frame: TypeAlias = Any  # Whatever Narwhals reads; its types would ask for all those libraries.


@final
@dataclass(frozen=True, slots=True)
class BoundedRows:
    """The rows that are left of every user, without the users."""

    groups: NDArray[np.int64] = field(repr=False)  # shape (rows,), the place of each row's group
    size: int  # how many groups there are, public
    # Shape (rows,) each; nan is no value.
    columns: Mapping[str, NDArray[np.float64]] = field(repr=False)
    # Shape (rows,), whether a row is the first of its user in its group.
    first: NDArray[np.bool_] = field(repr=False)

    def totals(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the exact sum of whole numbers over the rows of each group."""
        sums = np.zeros(self.size, dtype=np.int64)
        np.add.at(sums, self.groups, weights)
        return sums


@final
@dataclass(frozen=True, slots=True)
class Release:
    """A mechanism that answers for all groups at once, and its stage in a pipeline file."""

    mechanism: Mechanism[AddRemove]
    stage: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Question(ABC):
    """What is asked of every group.

    Attributes:
        noise: the standard deviation over the sensitivity, above 0; quantiles have epsilon = 2 /
            noise, which costs about as much.
    """

    noise: Number = 1

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the name of the answers' column."""

    @abstractmethod
    def releases(self, plan: Plan) -> tuple[Release, ...]:
        """Return what is released to answer."""

    def answers(self, released: Sequence[Answers]) -> Answers:
        """Return one number a group, from what was released: by default, all of it."""
        return released[0]

    def _scale(self, sensitivity: Fraction) -> Fraction:
        return _float_up(arguments.positive(noise=self.noise) * sensitivity)


@final
@dataclass(frozen=True, kw_only=True)
class Count(Question):
    """The number of rows that are left, or of users who have one."""

    users: bool = False

    @property
    def name(self) -> str:
        """Return ``users`` or ``rows``."""
        return "users" if self.users else "rows"

    def releases(self, plan: Plan) -> tuple[Release, ...]:
        """Return a histogram."""
        largest = 1 if self.users else plan.rows_per_group

        def counted(rows: BoundedRows) -> NDArray[np.int64]:
            first = rows.first.astype(np.int64)
            return rows.totals(first if self.users else np.ones_like(rows.groups))

        return (_histogram(self._scale(plan.moved(largest)), plan, largest, counted),)


@dataclass(frozen=True, kw_only=True)
class _OfColumn(Question, ABC):
    """A question about a column of numbers between public bounds."""

    column: str
    lower: float
    upper: float

    def __post_init__(self) -> None:
        """Keep the bounds as floats; refuse those that are too far apart, or in the wrong order."""
        for name in ("lower", "upper"):
            bound = arguments.real(**{name: getattr(self, name)})
            if abs(bound) > _LARGEST:
                raise ParameterError(name, bound, "from -2^250 to 2^250")
            object.__setattr__(self, name, float(bound))
        if self.upper - self.lower < 1 / _LARGEST:
            raise ParameterError("upper", self.upper, "at least 2^-250 above lower")

    def _sum(self, plan: Plan, centre: float) -> Release:
        """Return the sum of the clipped values, less a centre each."""
        bound = max(self.upper - centre, centre - self.lower)
        step = 2.0 ** (math.frexp(bound)[1] - _DIGITS)

        def summed(rows: BoundedRows) -> NDArray[np.float64]:
            values = np.clip(rows.columns[self.column], self.lower, self.upper) - centre
            steps = np.trunc(np.nan_to_num(np.clip(values, -bound, bound)) / step)
            return np.asarray(rows.totals(steps.astype(np.int64)) * step, dtype=np.float64)

        largest = _float_up(plan.moved(Fraction(bound) * plan.rows_per_group))
        noise = Gaussian(sigma=self._scale(largest), sensitivity=L2(largest, _USER), query=summed)
        stage = {"mechanism": "gaussian", "sigma": noise.sigma, "sensitivity": largest}
        return Release(noise, stage)


@final
class Sum(_OfColumn):
    """The sum of a column; a missing value adds nothing."""

    @property
    def name(self) -> str:
        """Return ``sum of`` the column."""
        return f"sum of {self.column}"

    def releases(self, plan: Plan) -> tuple[Release, ...]:
        """Return a sum with Gaussian noise."""
        return (self._sum(plan, 0.0),)


@final
class Mean(_OfColumn):
    """The mean of a column's values; it costs a sum and a count."""

    @property
    def name(self) -> str:
        """Return ``mean of`` the column."""
        return f"mean of {self.column}"

    @property
    def _centre(self) -> float:
        return self.lower + 0.5 * (self.upper - self.lower)

    def releases(self, plan: Plan) -> tuple[Release, ...]:
        """Return the sum of distances from the middle of the bounds, and the number of values."""

        def counted(rows: BoundedRows) -> NDArray[np.int64]:
            return rows.totals((~np.isnan(rows.columns[self.column])).astype(np.int64))

        largest = plan.rows_per_group
        count = _histogram(self._scale(plan.moved(largest)), plan, largest, counted)
        return self._sum(plan, self._centre), count

    def answers(self, released: Sequence[Answers]) -> Answers:
        """Return the ratio, within the bounds; a count below 1 is taken for 1."""
        total, count = released
        means = self._centre + total / np.maximum(count, 1.0)
        return np.asarray(np.clip(means, self.lower, self.upper))


@final
@dataclass(frozen=True, kw_only=True)
class QuantileOf(Question):
    """A quantile of a column, one of public candidates; every user is in one group, with one row.

    Attributes:
        column: its name.
        q: from 0 to 1.
        candidates: increasing numbers.
    """

    column: str
    q: Number
    candidates: Sequence[float]

    @property
    def name(self) -> str:
        """Return the quantile and the column."""
        return f"{float(self.q):g}-quantile of {self.column}"

    def releases(self, plan: Plan) -> tuple[Release, ...]:
        """Return a quantile for each group: users are in one group, so that the worst one counts.

        Raises:
            ParameterError: a user may have several rows.
        """
        if plan.rows_per_group * plan.groups_per_user > 1:
            stated = plan.rows_per_group, plan.groups_per_user
            allowed = "1 and 1 where a quantile is asked for"
            raise ParameterError("rows_per_group, groups_per_user", stated, allowed)
        epsilon = _float_up(2 / arguments.positive(noise=self.noise))
        one = Quantile(epsilon=epsilon, q=self.q, candidates=self.candidates, relation=_USER)
        mechanism = _EveryGroup(one=one, column=self.column, groups=plan.size)
        return (Release(mechanism, {"mechanism": "quantile", "epsilon": epsilon}),)


@final
@dataclass(frozen=True, kw_only=True)
class _EveryGroup(Mechanism[AddRemove]):
    """One quantile for each group; what a user has is in one of them."""

    one: Quantile[AddRemove]
    column: str
    groups: int

    relation = _USER  # a user more or less

    def guarantee(self) -> Guarantee[AddRemove]:
        """Return what one quantile satisfies: the groups are disjoint."""
        return parallel_compose(self.one.guarantee(), self.one.guarantee())

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw a quantile a group: float64 of shape (datasets, count, groups)."""
        parts = []
        for rows in cast("Sequence[BoundedRows]", datasets):
            values = rows.columns[self.column]
            split = [values[rows.groups == place] for place in range(self.groups)]
            parts.append(np.stack([self.one.draw([v], count, rng)[0] for v in split], axis=-1))
        return np.stack(parts)


@final
@dataclass(frozen=True, kw_only=True)
class Plan:
    """Questions about the groups of a table, in which a user has many rows; fixed before the data.

    Of every user at most ``rows_per_group`` rows are kept in each of at most ``groups_per_user``
    groups, drawn at random; rows of no group are left out before that. Neighbours have one user
    more or less, with all rows.

    Statement: a user's rows that are kept add to at most ``groups_per_user`` groups,
        ``rows_per_group`` rows each. The answers compose; quantiles of groups are disjoint.
    Source: proofs/theory/tables.md.

    Args:
        user: the column that says whose a row is; rows without a user are left out.
        questions: at least one, with different names.
        keys: from columns to their public values; groups are their combinations. Empty for one
            group of all rows.
        groups_per_user: from 1.
        rows_per_group: from 1.
    Raises:
        ParameterError: a parameter outside its domain.
    Example:
        >>> plan = Plan(
        ...     user="name",
        ...     keys={"town": ["Ulm", "Aue"]},
        ...     questions=[Count(), Mean(column="age", lower=0, upper=100)],
        ... ).within(epsilon=1, delta=1e-6)
        >>> plan.guarantee().epsilon(delta=1e-6).upper <= 1
        True
    """

    user: str
    questions: Sequence[Question]
    keys: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    groups_per_user: int = 1
    rows_per_group: int = 1

    def __post_init__(self) -> None:
        """Refuse names twice, no questions, and groups without a value or with one twice."""
        for name in ("groups_per_user", "rows_per_group"):
            object.__setattr__(self, name, arguments.count(**{name: getattr(self, name)}))
        for question in self.questions:
            if not isinstance(question, Question):
                raise ParameterError("questions", question, "Count, Sum, Mean or QuantileOf")
        names = [question.name for question in self.questions] + list(self.keys)
        if not self.questions or len(set(names)) < len(names):
            raise ParameterError("questions", names, "at least one, with different names")
        for column, values in self.keys.items():
            if not values or len(set(values)) < len(values):
                raise ParameterError("keys", column, "columns with different public values")
        if self.size > _MOST_GROUPS:
            raise ParameterError("keys", self.size, f"at most {_MOST_GROUPS} groups")
        self.mechanism()

    @property
    def groups(self) -> list[tuple[Any, ...]]:
        """Return the public values of every group, in the order of the answers."""
        return list(itertools.product(*self.keys.values()))

    @property
    def size(self) -> int:
        """Return how many groups there are."""
        return math.prod(map(len, self.keys.values()))

    def moved(self, each: Number) -> Fraction:
        """Return how far a user moves a vector of groups in Euclidean norm, each by so much."""
        some = min(self.groups_per_user, self.size)
        return JointSensitivity.few(coordinates=some, each=each).as_l2().value

    def mechanism(self) -> Composed[AddRemove]:
        """Return the mechanism that answers all questions, on ``BoundedRows``."""
        return compose(*(release.mechanism for release in self._releases()))

    def guarantee(self) -> Guarantee[AddRemove]:
        """Return what all answers together satisfy, about a user more or less."""
        return self.mechanism().guarantee()

    def within(self, *, epsilon: Number, delta: Number) -> Plan:
        """Return the plan with all noise multiplied by one number, so that a budget is met.

        Raises:
            CalibrationError: no noise meets it.
        """

        def build(times: float) -> Composed[AddRemove]:
            return self._louder(times).mechanism()

        return self._louder(calibrate(build, epsilon=epsilon, delta=delta).value)

    def pipeline(self, *, delta: Number = Fraction(1, 10**6)) -> str:
        """Return the plan as the text of a pipeline file, for ``dpproof budget`` and reviewers.

        Args:
            delta: where epsilon is asked for.
        """
        lines = ["[pipeline]", 'relation = "add-remove"  # a user more or less, with all rows']
        lines.append(f"delta = {float(arguments.open_probability(delta=delta))!r}")
        for question in self.questions:
            releases = question.releases(self)
            for place, release in enumerate(releases):
                part = f" ({place + 1} of {len(releases)})" if len(releases) > 1 else ""
                lines += ["", "[[stage]]", f"name = {_text(question.name + part)}"]
                lines += [f"{key} = {_text(value)}" for key, value in release.stage.items()]
        return "\n".join([*lines, ""])

    def priced(self, *, delta: Number = Fraction(1, 10**6)) -> Pipeline:
        """Return the pipeline that the text says, for ledgers and reports."""
        return parse(from_text(self.pipeline(delta=delta), "tables.toml"), "tables.toml")

    def bounded(self, frame: Frame, *, rng: np.random.Generator | None = None) -> BoundedRows:
        """Return the rows of a frame that are left of every user.

        Args:
            frame: anything that Narwhals reads; a lazy one is collected.
            rng: draws which rows are left; None draws from the operating system's generator.
        Raises:
            ParameterError: a column that is not there, or not of plain values or numbers.
            MissingDependency: Narwhals is not installed.
        """
        table = _read(frame)
        columns = {q.column for q in self.questions if isinstance(q, _OfColumn | QuantileOf)}
        for name in (self.user, *self.keys, *columns):
            if name not in table.columns:
                raise ParameterError("frame", table.columns, f"with a column {name!r}")
            dtype = table[name].dtype
            timed = dtype.is_temporal() if name == self.user else dtype == _narwhals().Duration
            if dtype.is_nested() or timed or (name in columns and not dtype.is_numeric()):
                kind = "numbers" if name in columns else "plain values"
                raise ParameterError(f"column {name}", str(dtype), f"of {kind}")
        places: dict[Any, int] = {group: place for place, group in enumerate(self.groups)}
        named = zip(*(_values(table[name]) for name in self.keys), strict=True)
        rows = named if self.keys else [()] * len(table)
        group = np.array([places.get(one, -1) for one in rows], dtype=np.int64)
        users: dict[Any, int] = {None: -1}
        owner = np.array(
            [users.setdefault(one, len(users)) for one in _values(table[self.user])], dtype=np.int64
        )
        kept = np.flatnonzero((group >= 0) & (owner >= 0))
        left, first = self._left(owner[kept], group[kept], rng)
        chosen = kept[left]
        if len(chosen) > _MOST_ROWS:
            raise ParameterError("frame", len(chosen), f"at most {_MOST_ROWS} rows")
        values = {name: np.array(_values(table[name]), dtype=np.float64) for name in columns}
        numbers = {name: one[chosen] for name, one in values.items()}
        return BoundedRows(group[chosen], self.size, numbers, first)

    def release(self, frame: Frame, *, rng: np.random.Generator | None = None) -> Frame:
        """Answer all questions about a frame once; a frame of the same kind, one row a group.

        Args:
            frame: as for ``bounded``.
            rng: the only source of randomness; None is the operating system's generator. A seed
                protects nobody.
        Raises:
            ParameterError: as for ``bounded``.
        """
        rows = self.bounded(frame, rng=rng)
        outputs = [np.asarray(one) for one in self.mechanism().release(rows, rng=rng)]
        groups = self.groups
        columns = {name: [one[k] for one in groups] for k, name in enumerate(self.keys)}
        for question in self.questions:
            count = len(question.releases(self))
            released, outputs = outputs[:count], outputs[count:]
            columns[question.name] = question.answers(released).tolist()
        implementation = _read(frame).implementation
        return _narwhals().from_dict(columns, backend=implementation).to_native()

    def _releases(self) -> list[Release]:
        return [release for question in self.questions for release in question.releases(self)]

    def _louder(self, times: float) -> Plan:
        """Return the plan with all noise multiplied by a number."""
        factor = Fraction(times)
        questions = [
            replace(question, noise=arguments.positive(noise=question.noise) * factor)
            for question in self.questions
        ]
        return replace(self, questions=questions)

    def _left(
        self,
        owner: NDArray[np.int64],
        group: NDArray[np.int64],
        rng: Rng | np.random.Generator | None,
    ) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Draw the rows that are left; return their places, and which are first in a group."""
        # Every row and every group of a user has a coin of its own, so that what is left of one
        # user depends on that user's rows alone.
        coins = as_rng(rng).numpy()
        order = np.lexsort((coins.random(owner.size), group, owner))
        place, starts = _ranks(owner[order], group[order])
        whose = owner[order][starts]
        by_coin = np.lexsort((coins.random(starts.size), whose))
        rank = np.empty(starts.size, dtype=np.int64)
        rank[by_coin] = _ranks(whose[by_coin])[0]
        pair = np.cumsum(place == 0) - 1
        left = (place < self.rows_per_group) & (rank[pair] < self.groups_per_user)
        return order[left], place[left] == 0


def _ranks(*sorted_columns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return every row's place among its equals, which stand together, and where each begin."""
    size = sorted_columns[0].size
    begins = np.ones(size, dtype=np.bool_)
    begins[1:] = np.any([column[1:] != column[:-1] for column in sorted_columns], axis=0)
    starts = np.flatnonzero(begins)
    return np.arange(size) - np.repeat(starts, np.diff(np.append(starts, size))), starts


def _histogram(scale: Fraction, plan: Plan, largest: int, query: Query) -> Release:
    """Return counts with discrete Gaussian noise."""
    cells = min(plan.groups_per_user, plan.size)
    table = Histogram(
        scale=scale, contributions=cells, largest=largest, relation=_USER, query=query
    )
    stage = {"mechanism": "histogram", "sigma": scale, "contributions": cells, "largest": largest}
    return Release(table, stage)


def _float_up(value: Fraction) -> Fraction:
    """Return a float at or above the value, of twelve digits where that is one: a file reads it."""
    with decimal.localcontext(prec=12, rounding=decimal.ROUND_CEILING):
        number = float(decimal.Decimal(value.numerator) / decimal.Decimal(value.denominator))
    number = number if number >= value else math.nextafter(number, math.inf)
    if math.isinf(number):
        raise ParameterError("noise", value, "such that noise and sensitivity are floats")
    return Fraction(number)


def _text(value: object) -> str:
    """Return a value as a TOML file says it."""
    if isinstance(value, Fraction):
        return repr(float(value))
    return json.dumps(value, ensure_ascii=False)


def _values(column: Frame) -> list[Any]:
    """Return the values of a column; None where there is none, or one that cannot be compared."""
    if column.dtype.is_temporal() and column.dtype != _narwhals().Time:
        years = column.dt.year().to_list()  # Python's end at 9999
        held = np.flatnonzero([_compares(year) and 1 < (year or 0) < 9999 for year in years])
        values = np.full(len(column), None, dtype=np.object_)
        values[held] = column[held].to_list()
        return values.tolist()
    return [one if _compares(one) else None for one in column.to_list()]


def _compares(value: object) -> bool:
    """Return whether a value has a hash and equals itself; a tuple of lists, say, does not."""
    try:
        hash(value)
        return bool(value == value)  # noqa: PLR0124  # nan is not
    except (TypeError, ValueError):
        return False


def _narwhals() -> ModuleType:
    """Return the module."""
    try:
        return importlib.import_module("narwhals")
    except ImportError as error:
        raise MissingDependency("tables need Narwhals: pip install 'dpproof[tables]'") from error


def _read(frame: Frame) -> Frame:
    """Return a frame for Narwhals, collected."""
    try:
        table = _narwhals().from_native(frame)
    except TypeError:
        allowed = "a pandas, polars, Arrow or DuckDB frame"
        raise ParameterError("frame", type(frame).__name__, allowed) from None
    return table.collect() if hasattr(table, "collect") else table
