"""The cost of a pipeline: every stage alone, the total, and what an attacker gains."""

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Final, final

from dpproof.accountant.arithmetic.enclosure import float_down
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotCertified, PrivacyError
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.dominating_pair import PairGuarantee, profile_places
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import Relation
from dpproof.accountant.sampling import ShuffledBatches
from dpproof.accountant.theorems.composition import compose
from dpproof.accountant.theorems.conversion import notion_to_profile, notion_to_rdp
from dpproof.accountant.theorems.selection import select
from dpproof.errors import InputError, placed
from dpproof.pipeline.pipeline import Pipeline, Stage
from dpproof.proofs.limits import MAX_LABEL
from dpproof.rounding import above, below
from dpproof.time_limit import QUICK_ORDERS, curves, ended_in_time

FALSE_POSITIVE_RATES = (Fraction(1, 100), Fraction(1, 1000))
SHARE_ORDER = 2
MOST_ALONE, LARGEST = 100, 10  # stages: with more of them, the largest ones alone are asked
EPSILON, ADVANTAGE, MU = "exact ε of everything together", "advantage", "μ"
REST = "the other stages together"

Step = Callable[[str], None]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StageCost:
    """The privacy cost of one stage by itself, and its share of the total."""

    stage: Stage
    guarantee: Guarantee[Relation]
    # Its epsilon at the pipeline's delta, as if it ran alone. Of the smaller ones among more than
    # ``MOST_ALONE`` stages it is not asked: at most that of everything.
    epsilon: Bound
    # Epsilon of one run alone, where the stage selects among several; else None.
    one_run: Bound | None
    # Its part of the total's Renyi divergence at ``SHARE_ORDER``, the one cost that adds up; None
    # where that is not a positive finite number.
    share: float | None
    # Epsilon of as many Poisson samples, which tools print for shuffled batches; None of any
    # other stage, and where nothing is known of it.
    poisson: Bound | None = None
    # The stages inside, by their names from the outermost on, and the epsilon of each as if it
    # ran alone, once.
    inner: tuple[tuple[str, Bound], ...] = ()

    @property
    def factor(self) -> float | None:
        """Return the cost of selecting, in runs' epsilons; None without a run to compare."""
        if self.one_run is None or not 0 < self.one_run.lower < math.inf:
            return None
        return self.epsilon.upper / self.one_run.lower


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The privacy cost of a pipeline: of every stage and of all together."""

    pipeline: Pipeline
    stages: tuple[StageCost, ...]  # the cost of every stage, in the order of the file
    epsilon: Bound  # of everything together, at the pipeline's delta
    # The smallest mu of Gaussian differential privacy that covers the total wherever its delta is
    # at least the pipeline's.
    mu: Bound
    advantage: Bound  # largest advantage of any attack on one record
    # Largest power of any attack at some false-positive rates.
    true_positive_rates: tuple[tuple[Fraction, Bound], ...]
    derivation: Derivation  # the proof of the total
    # Names of what was not computed in time, whose brackets are the widest.
    missing: tuple[str, ...] = ()
    # Names of the attack risks whose upper ends follow from epsilon and delta alone, as nothing
    # better is known.
    implied: tuple[str, ...] = ()
    interrupted: bool = False  # whether that was because somebody interrupted it
    largest: tuple[int, ...] = ()  # positions of the stages that were asked alone
    rest: Bound | None = None  # epsilon of all the others together; None without others

    @property
    def shown(self) -> tuple[StageCost, ...]:
        """Return the costs to show: of all stages, or of the largest among many."""
        return tuple(self.stages[place] for place in self.largest)

    @property
    def within_budget(self) -> bool | None:
        """Return whether the upper end of epsilon is within the budget, None without a budget."""
        allowed = self.pipeline.epsilon
        return None if allowed is None else self.epsilon.upper <= allowed


def spend(
    pipeline: Pipeline,
    step: Step = lambda _: None,  # told what is being computed, before it is
    seconds: float | None = None,
    left_out: Collection[str] = (),  # names of questions that nobody asks, such as ``MU``
) -> Budget:
    """Return the cost of a pipeline, epsilon first; name what seconds or an interrupt left open."""
    answer = _Found(pipeline, step, left_out)
    interrupted, started = False, time.monotonic()
    try:
        if seconds is not None:
            ended_in_time(seconds / 2, answer.quick)
            seconds_left = max(seconds - (time.monotonic() - started), 1e-6)
            ended_in_time(seconds_left, answer.everything)
        else:
            answer.everything()
    except KeyboardInterrupt:
        if answer.epsilon is None:
            raise
        interrupted = True
    if answer.epsilon is None:
        raise InputError(
            f"{pipeline.file}: epsilon of everything together is not known after {seconds:g} "
            "seconds; give more of them, or ask for fewer stages"
        )
    return answer.budget(interrupted=interrupted)


def pieces(pipeline: Pipeline) -> int:
    """Return the number of pieces that ``spend`` names: what holds, its total, what follows."""
    asked = pipeline.stages if len(pipeline.stages) <= MOST_ALONE else pipeline.stages[:LARGEST]
    runs = sum(stage.runs is not None for stage in asked)
    shuffled = sum(isinstance(stage.sampling, ShuffledBatches) for stage in asked)
    inner = sum(len(list(within(stage))) for stage in asked)
    told = len(pipeline.stages) + len(asked)
    return told + inner + runs + shuffled + len(FALSE_POSITIVE_RATES) + 4


@final
class _Found:
    """The known part of a pipeline's cost, while it is computed."""

    def __init__(self, pipeline: Pipeline, step: Step, left_out: Collection[str] = ()) -> None:
        self._pipeline, self._step, self._left_out = pipeline, step, left_out
        self._guarantees: list[Guarantee[Relation]] = []
        self._forms: dict[object, Guarantee[Relation]] = {}  # one for stages of one form
        self._plain: list[Guarantee[Relation]] = []  # of every stage, that of its form
        self._alone: dict[int, Bound] = {}
        self._rows: dict[str, Any] = {}
        self._exact = False
        self._whole: Guarantee[Relation]
        self.epsilon: Bound | None = None

    def quick(self) -> None:
        """Bound epsilon of the total by Renyi divergences, an order at a time."""
        self._state()
        with suppress(PrivacyError):  # What is refused is asked again, exactly.
            relation = self._pipeline.relation
            stages = zip(self._pipeline.stages, self._guarantees, strict=True)
            whole = total([rough(stage, relation, stated) for stage, stated in stages])
            for curve, upper in curves(whole, self._pipeline.delta):
                self._whole, self.epsilon = curve, Bound(0.0, upper)

    def everything(self) -> None:
        """Compute epsilon of the total, and then the rest."""
        self._state()
        self._step("total")
        with placed(self._pipeline.file):
            whole = total(self._guarantees, self._pipeline.delta)
        epsilon = self._total(whole)
        self._whole, self.epsilon, self._exact = whole, epsilon, True
        if len(self._guarantees) > MOST_ALONE:
            self._rows["shares"] = _shares(self._plain)
        cost = f"ε is at most {self.epsilon.upper!r}"
        for name, (place, question, _) in self._questions().items():
            if name in self._left_out or name in self._rows:
                continue
            self._step(f"{cost}; {name}")
            with placed(place):
                self._rows[name] = question()

    def _state(self) -> None:
        """Make the guarantees of all stages that have none yet."""
        for stage in self._pipeline.stages[len(self._guarantees) :]:
            self._step(stage.name)
            form = stage.form()
            if form not in self._forms:
                with placed(stage.place):
                    self._forms[form] = stage.guarantee(self._pipeline.relation)
            self._plain[len(self._guarantees) :] = [self._forms[form]]  # again if time was up here
            self._guarantees.append(self._forms[form].labelled(stage.name[:MAX_LABEL]))

    def _largest(self) -> list[int]:
        """Return the positions of the stages to ask alone: of all, or of the largest shares."""
        places = list(range(len(self._guarantees)))
        if len(places) <= MOST_ALONE:
            return places
        shares = self._rows.get("shares") or [None] * len(places)
        return sorted(sorted(places, key=lambda place: -(shares[place] or 0.0))[:LARGEST])

    def _once(self, place: int) -> Bound:
        """Return epsilon of a stage alone, asked once of all stages of its form."""
        form = id(self._plain[place])
        if form not in self._alone:
            self._alone[form] = self._plain[place].epsilon(delta=self._pipeline.delta)
        return self._alone[form]

    def budget(self, *, interrupted: bool) -> Budget:
        """Return what is known, and the widest brackets of what is not."""
        questions = self._questions()
        rows = {name: self._rows.get(name, nothing) for name, (_, _, nothing) in questions.items()}
        unknown = [name for name in questions if name not in {*self._rows, *self._left_out}]
        implied = self._implied(rows)
        rows |= implied
        stages = zip(self._pipeline.stages, self._guarantees, rows["shares"], strict=True)
        return Budget(
            pipeline=self._pipeline,
            stages=tuple(
                StageCost(
                    stage=stage,
                    guarantee=guarantee,
                    epsilon=rows.get(alone_of(stage), Bound(0.0, self._known().upper)),
                    one_run=rows.get(run_of(stage)),
                    share=share,
                    poisson=rows.get(printed_of(stage)),
                    inner=tuple(
                        (path, rows[f"{path} alone"])
                        for path, _ in within(stage)
                        if f"{path} alone" in rows
                    ),
                )
                for stage, guarantee, share in stages
            ),
            epsilon=self._known(),
            mu=rows[MU],
            advantage=rows[ADVANTAGE],
            true_positive_rates=tuple(
                (rate, rows[detected(rate)]) for rate in FALSE_POSITIVE_RATES
            ),
            derivation=self._whole.derivation,
            missing=tuple(unknown if self._exact else [EPSILON, *unknown]),
            implied=tuple(implied),
            interrupted=interrupted,
            largest=tuple(self._largest()),
            rest=rows.get(REST),
        )

    def _implied(self, rows: dict[str, Any]) -> dict[str, Bound]:
        """Return the attack risks of which epsilon at delta says more than what is known."""
        # With e = e^epsilon the worst pair has advantage (e - 1 + 2 delta)/(e + 1), and power
        # min(e a + delta, 1 - (1 - a - delta)/e).
        epsilon = self._known().upper
        if math.isinf(epsilon):
            return {}
        worst = ApproxDP(epsilon=epsilon, delta=self._pipeline.delta)
        ends = {ADVANTAGE: worst.advantage()} | {
            detected(rate): worst.true_positive_rate(false_positive_rate=rate)
            for rate in FALSE_POSITIVE_RATES
        }
        return {
            name: rows[name].meet(Bound(-math.inf, end.upper))
            for name, end in ends.items()
            if end.upper < rows[name].upper
        }

    def _total(self, whole: Guarantee[Relation]) -> Bound:
        """Return epsilon of everything; what refuses it is the stage that is refused alone."""
        try:
            with placed(self._pipeline.file):
                return whole.epsilon(delta=self._pipeline.delta)
        except InputError:
            for stage, guarantee in zip(self._pipeline.stages, self._guarantees, strict=True):
                with placed(stage.place):
                    guarantee.epsilon(delta=self._pipeline.delta)
            raise

    def _known(self) -> Bound:
        if self.epsilon is None:
            raise ValueError("epsilon is asked for before it is known")
        return self.epsilon

    def _questions(self) -> dict[str, tuple[str, Callable[[], Any], Any]]:
        """Return what follows epsilon: its place, how it is answered, and what holds anyhow."""
        pipeline, whole, single = self._pipeline, self._whole, len(self._guarantees) == 1
        delta, most = pipeline.delta, Bound(0.0, self._known().upper)  # no part costs more
        asked: dict[str, tuple[str, Callable[[], Any], Any]] = {}
        largest = self._largest()
        for position in largest:
            stage, alone = pipeline.stages[position], partial(self._once, position)
            asked[alone_of(stage)] = (stage.place, self._known if single else alone, most)
            unknown = Bound(0.0, math.inf)
            for path, part in within(stage):
                once = partial(_alone, part, pipeline)
                asked[f"{path} alone"] = (stage.place, once, unknown)
            if stage.runs is not None:
                one_run = partial(_alone, replace(stage, runs=None), pipeline)
                asked[run_of(stage)] = (stage.place, one_run, unknown)
            if isinstance(stage.sampling, ShuffledBatches):
                asked[printed_of(stage)] = (stage.place, partial(_printed, stage, delta), None)
        nothing: list[None] = [None] * len(self._guarantees)
        if len(largest) < len(nothing):
            others = [one for k, one in enumerate(self._guarantees) if k not in largest]
            asked[REST] = (pipeline.file, lambda: total(others, delta).epsilon(delta=delta), most)
        asked["shares"] = (pipeline.file, lambda: _shares(self._plain), nothing)
        chance = Bound(0.0, 1.0)
        risks: dict[str, tuple[Callable[[], Bound], Bound]] = {ADVANTAGE: (whole.advantage, chance)}
        for rate in FALSE_POSITIVE_RATES:
            power = partial(whole.true_positive_rate, false_positive_rate=rate)
            risks[detected(rate)] = power, Bound(float_down(rate), 1.0)
        risks[MU] = partial(whole.gdp, smallest_delta=delta), Bound(0.0, math.inf)
        for name, (question, nothing_known) in risks.items():
            ask = partial(_or_nothing, question, nothing_known)
            asked[name] = (pipeline.file, ask, nothing_known)
        return asked


def rough(
    stage: Stage, relation: Relation, stated: Guarantee[Relation] | None = None
) -> Guarantee[Relation]:
    """Return a stage's guarantee, of a selection by the Renyi divergences of one run: quickly."""
    if stage.runs is None:
        return stage.guarantee(relation) if stated is None else stated
    once = replace(stage, runs=None).guarantee(relation)
    return select(notion_to_rdp(once, orders=sorted(QUICK_ORDERS)), stage.runs)


def together(
    pipeline: Pipeline, *, roughly: bool = False, everywhere: bool = False
) -> Guarantee[Relation]:
    """Return the guarantee of everything that runs, for epsilon at the pipeline's delta."""
    # Roughly: by one run's Renyi divergences of selections. Everywhere: for all questions.
    guarantees = []
    for stage in pipeline.stages:
        with placed(stage.place):
            make = rough if roughly else Stage.guarantee
            guarantees.append(make(stage, pipeline.relation))
    with placed(pipeline.file):
        return total(guarantees, None if roughly or everywhere else pipeline.delta)


def within(stage: Stage) -> Iterator[tuple[str, Stage]]:
    """Yield the stages inside of a stage, and their names from the outermost on."""
    for part in stage.stages:
        inner = part.protecting(stage.protect)
        yield f"{stage.name}.{part.name}", inner
        yield from ((f"{stage.name}.{path}", deeper) for path, deeper in within(inner))


def _alone(stage: Stage, pipeline: Pipeline) -> Bound:
    return stage.guarantee(pipeline.relation).epsilon(delta=pipeline.delta)


# The names of questions about a stage: what it costs alone, what one run of it costs, and what
# tools print for its shuffled batches.
alone_of: Final = "{0.name} alone".format
run_of: Final = "one run of {0.name}".format
printed_of: Final = "Poisson accounting of {0.name}".format


def beside_poisson(epsilon: Bound, printed: Bound | None) -> str:
    """Return what a bracket of shuffled batches means, beside what tools print for them."""
    ends = f"the truth lies between {below(epsilon.lower, 3)} and {above(epsilon.upper, 4)}"
    if printed is None:
        return ends
    return f"Poisson accounting would print {printed.upper:.2g}; {ends}"


def detected(rate: Fraction) -> str:
    """Return the name of what attacks detect at a rate of false alarms."""
    return f"detection at {float(100 * rate):g} % false alarms"


def _printed(stage: Stage, delta: Fraction) -> Bound | None:
    poisson = stage.as_poisson()
    return None if poisson is None else poisson.epsilon(delta=delta)


def total(
    guarantees: Sequence[Guarantee[Relation]], delta: Fraction | None = None
) -> Guarantee[Relation]:
    """Return the composition of the guarantees of all stages; one stage is its own total."""
    # Beside pairs, Renyi curves are added up, or made a pair: at ``delta`` the smaller decides.
    if len(guarantees) == 1:
        return guarantees[0]
    whole = compose(*guarantees)
    curves = [one for one in guarantees if not isinstance(one, PairGuarantee)]
    if delta is None or not 0 < len(curves) < len(guarantees):
        return whole
    pairs = [one for one in guarantees if isinstance(one, PairGuarantee)]
    composed = total(curves)
    profile = notion_to_profile(composed, epsilons=profile_places(composed))
    return min((whole, compose(*pairs, profile)), key=lambda one: one.epsilon(delta=delta).upper)


def _or_nothing(question: Callable[[], Bound], nothing: Bound) -> Bound:
    """Return the answer, or the trivial bracket if there is none. Not used for epsilon."""
    try:
        return question()
    except NotCertified:
        return nothing


def _shares(guarantees: Sequence[Guarantee[Relation]]) -> list[float | None]:
    """Return each guarantee's part of the sum of Renyi divergences at one order. Heuristic."""
    if len(guarantees) == 1:
        return [1.0]
    different = {id(one): one for one in guarantees}
    prices = {name: one.rdp(order=SHARE_ORDER).lower for name, one in different.items()}
    costs = [prices[id(one)] for one in guarantees]
    whole = math.fsum(costs)
    if not 0 < whole < math.inf:
        return [None] * len(costs)
    return [cost / whole for cost in costs]


Json = dict[str, object]


def as_json(value: Bound | Fraction | float | None) -> Any:  # noqa: ANN401  # JSON is anything
    """Return a number, or both ends of a bracket, as JSON; an infinite one is the text "inf"."""
    if isinstance(value, Bound):
        ends = {"lower": as_json(value.lower), "upper": as_json(value.upper)}
        return {**ends, "attained": value.attained}
    number = None if value is None else float(value)
    return number if number is None or math.isfinite(number) else str(number)


def answer(spent: Budget) -> Json:
    """Return the answer of ``dpproof budget --json``."""
    pipeline = spent.pipeline
    return {
        "epsilon": as_json(spent.epsilon),
        "delta": float(pipeline.delta),
        "relation": pipeline.relation.name,
        "protect": pipeline.protect,
        "budget": as_json(pipeline.epsilon),
        "within_budget": spent.within_budget,
        "stages": [
            {
                "name": cost.stage.name,
                "epsilon": as_json(cost.epsilon),
                "one_run": as_json(cost.one_run),
                "factor": as_json(cost.factor),
                "share": cost.share,
                "stages": [{"name": name, "epsilon": as_json(one)} for name, one in cost.inner],
                "poisson_accounting": as_json(cost.poisson),
            }
            for cost in spent.stages
        ],
        "others": None
        if spent.rest is None
        else {"count": len(spent.stages) - len(spent.largest), "epsilon": as_json(spent.rest)},
        "mu": as_json(spent.mu),
        "advantage": as_json(spent.advantage),
        "true_positive_rate": [
            {"false_positive_rate": float(rate), **as_json(power)}
            for rate, power in spent.true_positive_rates
        ],
        "missing": list(spent.missing),
        "implied": list(spent.implied),
    }
