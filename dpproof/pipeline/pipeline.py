"""The contents of a pipeline file, as frozen values, and the mechanisms that it describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Final, final

from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import AddRemove, Relation
from dpproof.accountant.run_counts.law import RunLaw, TruncatedNegativeBinomial
from dpproof.accountant.sampling import (
    CountedScheme,
    CyclicPoisson,
    EpochScheme,
    OneStepScheme,
    Poisson,
    SamplingScheme,
    Shuffle,
    ShuffledBatches,
)
from dpproof.accountant.theorems.composition import compose as compose_guarantees, self_compose
from dpproof.accountant.theorems.group import group
from dpproof.accountant.theorems.selection import select
from dpproof.mechanisms import Mechanism, compose
from dpproof.pipeline.kinds.kind import Kind, ReleaseParameters, Rows
from dpproof.pipeline.section import Section, quoted
from dpproof.proofs.limits import MAX_LABEL

LONGEST: Final = 1000  # characters
_LINE: Final = f"a text on one line of at most {LONGEST} characters"
_DAY: Final = "a date such as 2026-03-01"
_LISTS: Final = ("approvers", "authors")
PRODUCTS: Final = (
    *("Summary statistics", "Machine learning model", "Dataset"),
    *("Synthetic data", "Interactive API", "SQL queries"),
)
MODELS: Final = ("Local", "Central", "Shuffle", "Federated")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The texts of ``[about]``, as docs/PIPELINES.md lists them; what is left out is empty."""

    title: str = ""
    purpose: str = ""
    description: str = ""
    owner: str = ""
    unit: str = ""  # whose data one record is
    data: str = ""
    version: str = ""
    date: str = ""  # of publication, as 2026-03-01
    approvers: tuple[str, ...] = ()
    product: str = ""
    region: str = ""
    model: str = ""  # of trust
    unprotected: str = ""  # what is published beside it without noise
    authors: tuple[str, ...] = ()  # of the registry's record


def read(section: Section) -> About:
    """Return the texts of the table."""
    section.only(About.__dataclass_fields__)
    values: dict[str, str | tuple[str, ...]] = {}
    for key in section.values:
        if key in _LISTS:
            values[key] = _names(section, key)
        elif key == "date":
            values[key] = _day(section)
        elif key in ("product", "model"):
            values[key] = section.choice(key, PRODUCTS if key == "product" else MODELS)
        else:
            values[key] = section.text(key, _LINE, LONGEST)
    return About(**values)  # type: ignore[arg-type]  # each by its key


def _names(section: Section, key: str) -> tuple[str, ...]:
    value = section.values[key]
    names = value if isinstance(value, list) else []
    if not names:
        raise section.refuse(key, f'expected names, such as ["A. Person"], got {quoted(value)}')
    return tuple(Section(section.place, {key: one}).text(key, _LINE, LONGEST) for one in names)


def _day(section: Section) -> str:
    value = section.values["date"]
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    try:
        return date.fromisoformat(str(value) if isinstance(value, str) else "").isoformat()
    except ValueError:
        raise section.refuse("date", f"expected {_DAY}, got {quoted(value)}") from None


# The schemes whose numbers can be asked for and replaced.
_NUMBERED: Final = (Poisson, OneStepScheme, CyclicPoisson, ShuffledBatches, Shuffle)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One mechanism with its parameters."""

    name: str  # its name in the file, or its position in the stage, from 1
    mechanism: str  # its name in pipeline files
    kind: Kind  # the meaning of that name
    values: Mapping[str, Fraction]  # the parameters of one of the kind's forms, exact
    norm: str  # of the sensitivity among them, empty without one
    # Arrays of arrays by their names, such as a covariance.
    rows: Mapping[str, Rows] = field(default_factory=dict)

    def build(self, relation: Relation, *, summed: bool = False) -> Mechanism[Relation]:
        """Return the mechanism; its sensitivity is stated under the given relation."""
        parameters = ReleaseParameters(
            values=self.values, norm=self.norm, relation=relation, rows=self.rows, summed=summed
        )
        return self.kind.build(parameters)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Some releases on one sample, repeated; or other stages together; the best of some runs."""

    place: str  # file and stage, as they begin a refusal
    name: str  # unique in the pipeline
    releases: tuple[Release, ...]  # all of them see the same sample; none where there are stages
    # The scheme that draws the sample, or allocates all records to batches; None when every
    # release sees all records.
    sampling: SamplingScheme | EpochScheme | CyclicPoisson | Shuffle | None = None
    count: int = 1  # the number of fresh samples, or allocations, that are drawn and released on
    stages: tuple[Stage, ...] = ()  # the stages that run together instead, with different names
    # The number of runs of all this, the best released; None to release it as it is.
    runs: RunLaw | None = None
    protect: int = 1  # the number of records that its guarantee covers

    def form(self) -> tuple[object, ...]:
        """Return everything but name and place: stages of one form have one guarantee."""
        releases = tuple(
            (one.mechanism, tuple(one.values.items()), one.norm, tuple(one.rows.items()))
            for one in self.releases
        )
        inner = tuple((stage.name, stage.form()) for stage in self.stages)  # names stand in labels
        return (releases, inner, self.sampling, self.count, self.runs, self.protect)

    def build(self, relation: Relation) -> Mechanism[Relation]:
        """Return the mechanism of the stage, all its runs included."""
        summed = isinstance(self.sampling, EpochScheme | CountedScheme)
        releases = [release.build(relation, summed=summed) for release in self.releases]
        parts = [*releases, *(stage.build(relation) for stage in self.stages)]
        joint = parts[0] if len(parts) == 1 else compose(*parts)
        if isinstance(self.sampling, EpochScheme | CyclicPoisson):
            sampled: Mechanism[Relation] = joint.allocate(self.sampling)
        elif isinstance(self.sampling, Shuffle):
            sampled = joint.shuffle(self.sampling)
        else:
            sampled = joint if self.sampling is None else joint.subsample(self.sampling)
        once = sampled if self.count == 1 else sampled.repeat(self.count)
        return once if self.runs is None else once.select(self.runs)

    def as_poisson(self) -> Guarantee[Relation] | None:
        """Return what tools print for shuffled batches: as many add-remove Poisson samples."""
        if not isinstance(self.sampling, ShuffledBatches):
            return None
        scheme, steps = self.sampling, self.sampling.batches * self.sampling.epochs
        rate = Poisson(sampling_rate=Fraction(1, scheme.batches))
        return replace(self, sampling=rate, count=self.count * steps).guarantee(AddRemove())

    def guarantee(self, relation: Relation) -> Guarantee[Relation]:
        """Return the guarantee of the stage, all its runs included, labelled with its name."""
        return self._guarantee(relation).labelled(self.name[:MAX_LABEL])

    def _guarantee(self, relation: Relation) -> Guarantee[Relation]:
        if self.protect == 1:
            return self._named(relation) if self.stages else self.build(relation).guarantee()
        if self.sampling is not None or self.runs is not None:
            return group(self.build(relation).guarantee(), size=self.protect)
        alone = [group(one.build(relation).guarantee(), size=self.protect) for one in self.releases]
        inner = [stage.protecting(self.protect).guarantee(relation) for stage in self.stages]
        return self_compose(compose_guarantees(*alone, *inner), self.count)

    def _named(self, relation: Relation) -> Guarantee[Relation]:
        """Return the guarantee of ``build``, of inner stages that keep their names."""
        parts = [stage.guarantee(relation) for stage in self.stages]
        joint = parts[0] if len(parts) == 1 else compose_guarantees(*parts)
        once = joint if self.count == 1 else self_compose(joint, self.count)
        return once if self.runs is None else select(once, self.runs)

    def protecting(self, size: int) -> Stage:
        """Return the same stage with a guarantee about groups of so many records."""
        return replace(self, protect=size)

    def numbers(self) -> Mapping[str, Fraction]:
        """Return every number of the stage by its address, such as ``count`` or ``2.scale``."""
        # A plain name is there where one release has it, a dotted one where there are several.
        runs = self.runs
        law = {"gamma": runs.gamma} if isinstance(runs, TruncatedNegativeBinomial) else {}
        if self.stages:
            return {**law, **self._inner_numbers()}
        values = {"count": Fraction(self.count), **law}
        if isinstance(self.sampling, _NUMBERED):
            for one in fields(self.sampling):
                name = "rate" if one.name == "sampling_rate" else one.name
                values[name] = Fraction(getattr(self.sampling, one.name))
        names = [name for release in self.releases for name in release.values]
        for release in self.releases:
            for name, value in release.values.items():
                if names.count(name) == 1:
                    values[name] = value
                if len(self.releases) > 1:
                    values[f"{release.name}.{name}"] = value
        return values

    def _inner_numbers(self) -> Mapping[str, Fraction]:
        """Return the numbers of the inner stages, named "stage.parameter"."""
        inner = {
            f"{stage.name}.{address}": value
            for stage in self.stages
            for address, value in stage.numbers().items()
        }
        return inner if self.count == 1 else {"count": Fraction(self.count), **inner}

    def replaced(self, address: str, value: Fraction) -> Stage:
        """Return the same stage with one of its ``numbers`` replaced."""
        if address == "count":
            return replace(self, count=int(value))
        if address == "gamma" and isinstance(self.runs, TruncatedNegativeBinomial):
            return replace(self, runs=replace(self.runs, gamma=value))
        if self.stages:
            stages = tuple(
                stage.replaced(address.removeprefix(f"{stage.name}."), value)
                if address.startswith(f"{stage.name}.")
                and address.removeprefix(f"{stage.name}.") in stage.numbers()
                else stage
                for stage in self.stages
            )
            return replace(self, stages=stages)
        if isinstance(self.sampling, _NUMBERED):
            own = {one.name: getattr(self.sampling, one.name) for one in fields(self.sampling)}
            name = "sampling_rate" if address == "rate" else address
            if name in own:
                own[name] = value if name == "sampling_rate" else int(value)
                return replace(self, sampling=type(self.sampling)(**own))
        *owner, name = address.rsplit(".", 1)
        releases = tuple(
            replace(release, values={**release.values, name: value})
            if name in release.values and owner in ([], [release.name])
            else release
            for release in self.releases
        )
        return replace(self, releases=releases)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The content of a pipeline file."""

    file: str  # its name, as it begins a refusal
    relation: Relation  # the neighbouring relation of every sensitivity and rate in it
    delta: Fraction  # where epsilon is asked for
    epsilon: Fraction | None  # the budget, None when the file states none
    stages: tuple[Stage, ...]  # at least one, with different names
    protect: int = 1  # the number of records protected together
    digest: str = ""  # SHA-256 of the file's text, empty without a file
    about: About = field(default_factory=About)  # what people know of it, for reports
