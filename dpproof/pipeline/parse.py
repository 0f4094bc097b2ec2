"""From the bytes of a pipeline file to a checked ``Pipeline``."""

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from typing import Final, final

from dpproof import files
from dpproof.accountant import sampling as schemes
from dpproof.accountant.relation import RELATIONS, AddRemove, Relation, ReplaceLabel, ReplaceOne
from dpproof.errors import InputError, placed
from dpproof.pipeline import pipeline
from dpproof.pipeline.kinds.kind import Kind, Rows, in_words
from dpproof.pipeline.pipeline import Pipeline, Release, Stage
from dpproof.pipeline.section import (
    COUNT,
    INSIDE,
    LONGEST_NAME,
    PARAMETERS,
    POSITIVE,
    ROWS,
    WHOLE,
    Section,
    listed,
    quoted,
)
from dpproof.pipeline.vocabulary import KINDS, selection

STAGE_KEYS = ("name", "sampling", "count", "epochs", "select")
DEEPEST = 8
BARE_RATIO = re.compile(
    r"^[^#\"\n]*(?:\"[^\"\n]*\"[^#\"\n]*)*=\s*(\d{1,12}/\d{1,12})\b", re.MULTILINE
)
POWER_OF_N = re.compile(r"1/n(?:\^(\d{1,2}(?:\.\d{1,6})?))?")
SCHEMES = {
    "poisson": ("rate",),
    "without-replacement": ("sample_size", "population_size"),
    "shuffled": ("batches",),
    "with-replacement": ("sample_size", "population_size"),
    "truncated-poisson": ("rate", "largest", "population_size"),
    "user-poisson": ("rate", "contributions"),
    "allocation": ("steps",),
    "balls-in-bins": ("steps", "epochs"),
    "cyclic-poisson": ("rate", "cycle"),
    "shuffled-reports": ("records",),
}
COUNTED = ("with-replacement", "truncated-poisson", "user-poisson")
EPOCHS = ("epochs", "order")  # beside the batches of an epoch
OPTIONAL = {"shuffled": EPOCHS, "allocation": ("chosen",)}
ORDERS = ("fresh", "kept")
BATCHES = ("batch", "population")
NAME = "a name on one line"
A_TABLE = "an [about] table with texts such as title and owner"
A_STAGE = "at least one [[stage]] table"
A_SCHEME = 'a table such as { scheme = "poisson", rate = 0.01 }'

_OTHER_SCHEME: Final = {
    "poisson": (
        "Poisson samples under relation = {relation} work for one gaussian release alone, which "
        "states its clipping norm; write sigma = 1.0 and contribution = 1 instead of "
        'noise_multiplier, scheme = "without-replacement", or relation = "add-remove"'
    ),
    "without-replacement": (
        "samples of a fixed size work under relation = {relation} for one gaussian release alone, "
        "which states its clipping norm; write sigma = 1.0 and contribution = 1 instead of "
        'noise_multiplier, scheme = "poisson" with a rate, or relation = "replace-one"'
    ),
    "shuffled": (
        "shuffled batches have no guarantee under relation = {relation}: one record less moves "
        'another into the last batch; write relation = "zero-out" or relation = "replace-one", '
        "where the number of records is public"
    ),
    "allocation": (
        "random allocation works under relation = {relation} for one gaussian release alone, "
        "which states its clipping norm; write sigma = 1.0 and contribution = 1, or relation = "
        '"add-remove" or relation = "zero-out"'
    ),
}
_REPORTS: Final = (
    "shuffled reports work for one local mechanism alone, such as randomized-response, under "
    'relation = "replace-one", where the number of records is public'
)
_A_SUM: Final = (
    "shuffled batches work for one gaussian release alone, which states its clipping norm; write "
    'sigma = 1.0 and contribution = 1, or noise_multiplier = 1.0 under relation = "zero-out"'
)
_PARTS: Final = (
    "cyclic-poisson works for one release with correlated noise, such as square-root-factor, in "
    "which a record of a part takes part once in a cycle; write separation = {cycle} there, "
    "without participations"
)
_A_NORM: Final = (
    "{scheme} works for one gaussian release alone, which states its clipping norm; write sigma = "
    '1.0 and contribution = 1, or, but for relation = "replace-one", noise_multiplier = 1.0'
)

Document = Mapping[str, object]
AnyScheme = schemes.SamplingScheme | schemes.EpochScheme | schemes.CyclicPoisson | schemes.Shuffle


@final
@dataclass(frozen=True, slots=True)
class _Sampled:
    """The sampling of a stage: its table, and what runs on the samples."""

    section: Section  # of the stage
    table: Section
    relation: Relation
    releases: tuple[Release, ...]

    def has(self, name: str) -> bool:
        """Return whether a stage makes one release, with a parameter of this name."""
        return len(self.releases) == 1 and name in self.releases[0].values

    @property
    def is_summed(self) -> bool:
        """Return whether it is one sum whose noise is relative to contributions."""
        relative = self.has("noise_multiplier") and not self.relation.symmetric
        return self.has("contribution") or relative

    def count(self, name: str) -> int:
        """Return a count of the table."""
        return int(self.table.number(name, COUNT))


def read(path: str) -> Document:
    """Read a file, or standard input for ``-``, and return its TOML document."""
    return from_text(files.content(path, "a pipeline file"), files.shown_path(path))


def from_text(text: str, file: str) -> Document:
    """Return the TOML document of a text."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        ratio = BARE_RATIO.search(text)
        hint = f'; write {ratio[1]} as the text "{ratio[1]}"' if ratio else ""
        if text.lstrip().startswith("{"):
            hint = "; for JSON of another tool take dpproof import, certify or ledger"
        raise InputError(f"{file}: expected TOML: {reason}{hint}") from None


def parse(document: Document, file: str) -> Pipeline:
    """Check a TOML document and return the pipeline that it describes."""
    top = Section(file, document)
    top.only(["about", "pipeline", "stage"])
    section = top.table("pipeline", "a [pipeline] table with relation and delta")
    section = Section(f"{file}: [pipeline]", section.values)
    table = top.table("about", A_TABLE).values if "about" in document else {}
    section.only(["relation", "delta", "epsilon", "n", "protect"])
    relations = {relation.name: relation for relation in RELATIONS}
    relation = relations[section.choice("relation", relations)]
    delta = _delta(section)
    protect = int(section.number("protect", COUNT)) if "protect" in section.values else 1
    epsilon = section.number("epsilon", POSITIVE) if "epsilon" in section.values else None
    stages = _stages(top, f"{file}: ", relation, depth=1)
    if protect > 1:
        stages = tuple(stage.protecting(protect) for stage in stages)
        for stage in stages:
            with placed(stage.place):
                stage.guarantee(relation)
    return Pipeline(
        file=file,
        relation=relation,
        delta=delta,
        epsilon=epsilon,
        stages=stages,
        protect=protect,
        about=pipeline.read(Section(f"{file}: [about]", table)),
    )


def _delta(section: Section) -> Fraction:
    """Read delta: a number, or "1/n^1.1" with the public number of records n, rounded down."""
    value = section.values.get("delta")
    power = POWER_OF_N.fullmatch(value) if isinstance(value, str) else None
    if power is None:
        if "n" in section.values:
            raise section.refuse("n", 'left out unless delta is a text such as "1/n^1.1"')
        return section.number("delta", INSIDE)
    n, exponent = int(section.number("n", COUNT)), Fraction(power[1] or 1)
    if n < 2 or not 0 < exponent <= 10:
        raise section.refuse("delta", "expected n of at least 2 and an exponent from 0 to 10")
    if exponent.denominator == 1:
        return Fraction(1, n**exponent.numerator)
    return Fraction(float(n) ** -float(exponent)) * (1 - Fraction(1, 10**12))


def load(path: str) -> Pipeline:
    """Read and parse one pipeline file."""
    return loaded(files.content(path, "a pipeline file"), files.shown_path(path))


def loaded(text: str, file: str) -> Pipeline:
    """Return the pipeline of a file's text."""
    return replace(parse(from_text(text, file), file), digest=digest(text))


def digest(text: str) -> str:
    """Return the SHA-256 of a file's text, in hexadecimal."""
    return sha256(text.encode("utf-8")).hexdigest()


def _stages(outer: Section, prefix: str, relation: Relation, *, depth: int) -> tuple[Stage, ...]:
    """Read the [[stage]] tables of the file or of a stage. Errors begin with the prefix."""
    stages: dict[str, Stage] = {}
    for position, table in enumerate(outer.tables("stage", A_STAGE), start=1):
        stage = _stage(prefix, position, table, relation, depth=depth)
        if stage.name in stages:
            earlier = list(stages).index(stage.name) + 1
            problem = f"expected a name of its own, got {quoted(stage.name)} as in stage {earlier}"
            raise Section(f"{prefix}stage {position}", table).refuse("name", problem)
        stages[stage.name] = stage
    return tuple(stages.values())


def _stage(prefix: str, position: int, table: Document, relation: Relation, *, depth: int) -> Stage:
    section = Section(f"{prefix}stage {position}", table)
    if "name" not in table:
        section.only(["release", "stage", *_release_keys(), *STAGE_KEYS])
    name = section.text("name", NAME, LONGEST_NAME)
    section = Section(f"{prefix}stage {quoted(name)}", table)
    runs = selection(section) if "select" in table else None
    if "stage" in table:
        stage = Stage(
            place=section.place,
            name=name,
            releases=(),
            stages=_wrapped(section, relation, depth=depth),
            count=int(section.number("count", COUNT)) if "count" in table else 1,
            runs=runs,
        )
    else:
        grouped = "release" in table
        releases = _group(section) if grouped else (_release(section, name, STAGE_KEYS),)
        stage = Stage(
            place=section.place,
            name=name,
            releases=releases,
            sampling=_sampling(section, relation, releases) if "sampling" in table else None,
            count=_count(section),
            runs=runs,
        )
    with placed(section.place):
        stage.build(relation)
    return stage


def _count(section: Section) -> int:
    """Read how often a stage runs: ``count``, or ``epochs`` over a population, rounded up."""
    if "epochs" not in section.values:
        count = int(section.number("count", COUNT)) if "count" in section.values else 1
        return count * _epochs(section)["fresh"]
    if "count" in section.values:
        raise section.refuse("epochs", "expected either count or epochs, not both")
    epochs, table = section.number("epochs", POSITIVE), section.values.get("sampling")
    for batch, population in (("batch", "population"), ("sample_size", "population_size")):
        if isinstance(table, Mapping) and batch in table and population in table:
            sampling = section.table("sampling", A_SCHEME)
            size, total = (sampling.number(key, COUNT) for key in (batch, population))
            return math.ceil(epochs * total / size)
    problem = "expected sampling with batch and population, or sample_size and population_size"
    raise section.refuse("epochs", problem)


def _wrapped(section: Section, relation: Relation, *, depth: int) -> tuple[Stage, ...]:
    """Read nested [[stage.stage]] tables: stages that run together, repeated or selected from."""
    section.only(["name", "select", "count", "stage"])
    if depth == DEEPEST:
        raise section.refuse("stage", f"expected stages at most {DEEPEST} deep")
    return _stages(section, f"{section.place}, ", relation, depth=depth + 1)


def _group(section: Section) -> tuple[Release, ...]:
    """Read nested [[stage.release]] tables: several releases on one sample."""
    if "mechanism" in section.values:
        problem = "expected either mechanism, or [[stage.release]] tables, not both"
        raise section.refuse("mechanism", problem)
    section.only(["release", *STAGE_KEYS])
    releases: dict[str, Release] = {}
    for position, table in enumerate(section.tables("release", "[[stage.release]] tables"), 1):
        inner = Section(f"{section.place}, release {position}", table)
        name = inner.text("name", NAME, LONGEST_NAME) if "name" in table else str(position)
        if name in releases:
            problem = f"expected a name of its own, got {quoted(name)} twice"
            raise inner.refuse("name", problem)
        releases[name] = _release(inner, name, ("name",))
    return tuple(releases.values())


def _release_keys() -> list[str]:
    names = [name for kind in KINDS.values() for name in kind.parameters]
    return list(dict.fromkeys(["mechanism", *names]))


def _release(section: Section, name: str, others: tuple[str, ...]) -> Release:
    """Read the mechanism and its parameters from a table that may hold other keys."""
    mechanism = str(section.values.get("mechanism"))
    entry = KINDS.get(mechanism)
    if entry is None or not {"mechanism", *entry.parameters, *others}.issuperset(section.values):
        nested = ["release", "stage"] if "count" in others else []
        section.only([*_release_keys(), *others, *nested])
    if entry is None:  # what is refused names all words, and imports what they build
        mechanism = section.choice("mechanism", KINDS)
    kind = KINDS[mechanism]
    takes = f"{mechanism} takes {kind.usage}"
    for key in section.values:
        if key not in (*others, "mechanism", *kind.parameters):
            raise section.refuse(key, f"not a parameter here: {takes}")
    values = dict(kind.defaults)
    norm = ""
    rows: dict[str, Rows] = {}
    for key in _form(section, kind, takes):
        if key == "sensitivity":
            norm, values[key] = _sensitivity(section, kind)
        elif key in ROWS:
            rows[key] = section.rows(key, ROWS[key])
        else:
            values[key] = section.number(key, PARAMETERS[key].rule)
    return Release(name=name, mechanism=mechanism, kind=kind, values=values, norm=norm, rows=rows)


def _sensitivity(section: Section, kind: Kind) -> tuple[str, Fraction]:
    """Read a sensitivity: a number in the mechanism's first norm, or a table with a norm."""
    norm, table, key = kind.norms[0], section, "sensitivity"
    if isinstance(section.values[key], Mapping):
        table = section.table(key, "a number or a table")
        table.only(kind.norms)
        if len(table.values) != 1:
            raise section.refuse(key, f"expected one norm, {listed(kind.norms)}")
        norm = key = next(iter(table.values))
    return norm, table.number(key, WHOLE if kind.whole and norm == "l1" else POSITIVE)


def _form(section: Section, kind: Kind, takes: str) -> tuple[str, ...]:
    """Return the names to read: of the form that the table uses, and of defaults it sets."""
    present = [key for key in kind.parameters if key in section.values]
    keys = [key for key in present if key not in kind.defaults]
    stated = [key for key in keys if key not in kind.added]
    forms = [form for form in kind.forms if set(stated) <= set(form)]
    if not forms:
        raise section.refuse(stated[0], f"expected either {kind.usage}, not both")
    form, takes = _whole(section, forms[0], takes), f"{takes}; beside it, it takes "
    for either in kind.additions:
        used = [group for group in either if set(group) & set(keys)]
        if len(used) > 1:
            problem = f"expected either {in_words(either)}, not both"
            raise section.refuse(next(key for key in used[1] if key in keys), problem)
        if used:
            form += _whole(section, used[0], f"{takes}{in_words(either)}")
    return (*form, *(key for key in present if key in kind.defaults))


def _whole(section: Section, names: tuple[str, ...], takes: str) -> tuple[str, ...]:
    """Return the names of some parameters, all of which the table has to give."""
    for name in names:
        if name not in section.values:
            expected = (ROWS.get(name) or PARAMETERS[name].rule).expected
            raise section.refuse(name, f"missing; expected {expected} ({takes})")
    return names


def _epochs(section: Section) -> Mapping[str, int]:
    """Read the epochs of shuffled batches by their order; 1 of any other sampling."""
    orders = dict.fromkeys(ORDERS, 1)
    sampling = section.values.get("sampling")
    if isinstance(sampling, Mapping) and sampling.get("scheme") == "shuffled":
        table = section.table("sampling", A_SCHEME)
        order = table.choice("order", ORDERS) if "order" in sampling else "fresh"
        orders[order] = int(table.number("epochs", COUNT)) if "epochs" in sampling else 1
    return orders


def _sampling(section: Section, relation: Relation, releases: tuple[Release, ...]) -> AnyScheme:
    """Read the sampling scheme of a ``sampling = { … }`` table."""
    table = section.table("sampling", A_SCHEME)
    named = (key for keys in SCHEMES.values() for key in keys)
    optional = (key for keys in OPTIONAL.values() for key in keys)
    table.only(["scheme", *named, *BATCHES, *optional])
    scheme = table.choice("scheme", SCHEMES)
    keys = BATCHES if scheme == "poisson" and "batch" in table.values else SCHEMES[scheme]
    for key in table.values:
        if key not in ("scheme", *keys, *OPTIONAL.get(scheme, ())):
            problem = f"not a parameter here: {scheme} takes {' and '.join(keys)}"
            raise table.refuse(key, problem)
    if isinstance(relation, ReplaceLabel):
        problem = f"left out under {relation}, where sampling has no amplification"
        raise section.refuse("sampling", f"expected it {problem}: what is public may be released")
    return _BY_WORD[scheme](_Sampled(section, table, relation, releases))


def _sample(stage: _Sampled) -> schemes.SamplingScheme:
    """Read a Poisson sample or a uniform subset."""
    table, relation = stage.table, stage.relation
    scheme = table.choice("scheme", SCHEMES)
    covered = "without-replacement" if relation.symmetric else "poisson"
    if scheme != covered and not stage.has("contribution"):
        raise table.refuse("scheme", _OTHER_SCHEME[scheme].format(relation=quoted(relation.name)))
    if scheme == "without-replacement":
        return _subset(stage)
    if "batch" in table.values:
        batch, total = (table.number(key, COUNT) for key in BATCHES)
        if batch > total:
            raise table.refuse("batch", f"expected at most population = {total}, got {batch}")
        return schemes.Poisson(sampling_rate=batch / total)
    return schemes.Poisson(sampling_rate=table.number("rate", PARAMETERS["rate"].rule))


def _subset(stage: _Sampled) -> schemes.WithoutReplacement:
    """Read a uniform subset; it leaves a record out, but for relations that replace one."""
    size, population = map(stage.count, SCHEMES["without-replacement"])
    problem = f"expected at most population_size = {population}, got {size}"
    if size == population and not stage.relation.symmetric:
        problem = f"expected less than population_size = {population}: a sample leaves records out"
    elif size <= population:
        return schemes.WithoutReplacement(sample_size=size, population_size=population)
    raise stage.table.refuse("sample_size", problem)


def _counted(stage: _Sampled) -> schemes.SamplingScheme:
    """Read a sample in which a record counts several times, or pushes another one out."""
    table, scheme = stage.table, stage.table.choice("scheme", COUNTED)
    if scheme == "user-poisson" and stage.relation.symmetric:
        needed = f"{quoted('add-remove')} or {quoted('zero-out')}"
        given = quoted(stage.relation.name)
        problem = f"{scheme} has a guarantee under relation = {needed}, got {given}"
        raise table.refuse("scheme", problem)
    if not stage.is_summed:
        raise table.refuse("scheme", _A_NORM.format(scheme=scheme))
    counts = {key: stage.count(key) for key in SCHEMES[scheme] if key != "rate"}
    if "rate" in SCHEMES[scheme]:
        rate = table.number("rate", PARAMETERS["rate"].rule)
        if rate == 1:
            raise table.refuse("rate", "expected a rate below 1, got 1: all records take part")
        cut = scheme == "truncated-poisson"
        made = schemes.TruncatedPoisson if cut else schemes.UserPoisson
        return made(sampling_rate=rate, **counts)
    if counts["population_size"] == 1:
        raise table.refuse("population_size", "expected at least 2 records, got 1")
    return schemes.WithReplacement(**counts)


def _shuffle(stage: _Sampled) -> schemes.Shuffle:
    """Read how many records are reported in a random order."""
    if not (stage.has("categories") and isinstance(stage.relation, ReplaceOne)):
        raise stage.table.refuse("scheme", _REPORTS)
    records, most = stage.count("records"), schemes.MOST_RECORDS
    if records > most:
        raise stage.table.refuse("records", f"expected at most {most}, got {records}")
    return schemes.Shuffle(records=records)


def _shuffled(stage: _Sampled) -> schemes.ShuffledBatches:
    """Read how all records are shuffled into batches."""
    table, relation = stage.table, stage.relation
    if isinstance(relation, AddRemove):
        reason = _OTHER_SCHEME["shuffled"].format(relation=quoted(relation.name))
        raise table.refuse("scheme", reason)
    if not stage.is_summed:
        raise table.refuse("scheme", _A_SUM)
    epochs = _epochs(stage.section)["kept"]
    return schemes.ShuffledBatches(batches=stage.count("batches"), epochs=epochs)


def _allocated(stage: _Sampled) -> schemes.RandomAllocation | schemes.BallsInBins:
    """Read into how many rounds records are allocated, each by itself."""
    table, relation = stage.table, stage.relation
    if relation.symmetric and not stage.has("contribution"):
        reason = _OTHER_SCHEME["allocation"].format(relation=quoted(relation.name))
        raise table.refuse("scheme", reason)
    steps = stage.count("steps")
    if table.choice("scheme", SCHEMES) == "balls-in-bins":
        return schemes.BallsInBins(steps=steps, epochs=stage.count("epochs"))
    chosen = stage.count("chosen") if "chosen" in table.values else 1
    if chosen > steps:
        raise table.refuse("chosen", f"expected at most steps = {steps}, got {chosen}")
    return schemes.RandomAllocation(steps=steps, chosen=chosen)


def _in_turn(stage: _Sampled) -> schemes.CyclicPoisson:
    """Read the rate within each of the parts that rounds with correlated noise draw from."""
    table, releases = stage.table, stage.releases
    values = releases[0].values if len(releases) == 1 else {}
    cycle, rate = stage.count("cycle"), table.number("rate", PARAMETERS["rate"].rule)
    if values.get("separation") != cycle or "participations" in values:
        raise table.refuse("scheme", _PARTS.format(cycle=cycle))
    if rate == 1:
        raise table.refuse("rate", "expected a rate below 1, got 1: leave sampling out")
    return schemes.CyclicPoisson(sampling_rate=rate, cycle=cycle)


_BY_WORD: Final[Mapping[str, Callable[[_Sampled], AnyScheme]]] = {
    "poisson": _sample,
    "without-replacement": _sample,
    "shuffled": _shuffled,
    "shuffled-reports": _shuffle,
    "allocation": _allocated,
    "balls-in-bins": _allocated,
    "cyclic-poisson": _in_turn,
    **dict.fromkeys(COUNTED, _counted),
}
