"""Everything that a report for a review board says, computed, and the registry's record."""

import hashlib
import importlib
import json
import math
import re
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, final

from dpproof.accountant import Bound, Guarantee, PrivacyError, Relation
from dpproof.accountant.certificates.certify import unchecked
from dpproof.accountant.engine.profile import infinite_mass, max_loss
from dpproof.accountant.errors import MissingDependency
from dpproof.accountant.guarantees.dominating_pair import PairGuarantee
from dpproof.accountant.sampling import Shuffle
from dpproof.commands.budget import MU, Budget, StageCost, spend, total
from dpproof.errors import InputError
from dpproof.pipeline.pipeline import About, Pipeline, Stage
from dpproof.proofs import Rejected, check_text
from dpproof.reports import words
from dpproof.time_limit import ended_in_time

DELTAS: Final = tuple(10.0**-k for k in (2, 4, 6, 8, 10))
SMALL: Final = 4  # epsilons below that of the largest delta, for the middle of the trade-off
NOISES: Final = ("noise_multiplier", "sigma", "scale")
MORE: Final = Fraction(11, 10)
MOST_STAGES: Final = 40  # of the what-if table: each of its lines is a total of its own


@final
@dataclass(frozen=True, slots=True)
class WhatIf:
    """The gain of more noise in one stage."""

    stage: str  # its name
    changed: tuple[str, ...]  # the numbers that were raised by a tenth
    epsilon: float  # of everything together then


@final
@dataclass(frozen=True, slots=True)
class Proof:
    """The certificate of the total."""

    digest: str  # SHA-256 of its text; empty if there is none
    claim: str  # in the checker's words, or why there is no certificate
    assumptions: tuple[str, ...]  # everything that the claim takes for granted
    labels: tuple[str, ...] = ()  # the stage of each mechanism of the assumptions


@final
@dataclass(frozen=True, slots=True)
class Delta:
    """The meaning of delta for what runs."""

    betrayed: float  # probability, at most, of an output that only one of two neighbours has
    largest: float  # upper bound of the loss of every other output; infinite where there is none


@final
@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that a report states."""

    budget: Budget  # costs, attack risk and theorems
    delta: Delta  # what it means here
    curve: tuple[tuple[float, float], ...]  # delta and the upper end of epsilon there
    # Upper ends of delta at smaller epsilons, and these, to draw with the curve.
    middle: tuple[tuple[float, float], ...]
    # False-alarm rate, and a lower bound of every attack's miss rate.
    trade_off: tuple[tuple[float, float], ...]
    what_if: tuple[WhatIf, ...]  # a line for each stage that has noise
    proof: Proof  # of the total


def collect(
    pipeline: Pipeline, step: Callable[[str], None] = lambda _: None, seconds: float | None = None
) -> Facts:
    """Compute everything that a report says of a pipeline."""
    until = None if seconds is None else time.monotonic() + seconds
    budget = spend(pipeline, step, None if seconds is None else seconds / 2, left_out=(MU,))
    guarantees = [cost.guarantee for cost in budget.stages]
    whole: list[Guarantee[Relation]] = []
    facts: dict[str, Any] = {
        "curve": (),
        "middle": (),
        "what_if": (),
        "proof": Proof("", f"no certificate: not made within {seconds or 0:g} seconds", ()),
    }

    def rest() -> None:
        whole.append(total(guarantees, pipeline.delta))
        step("curves")
        facts["curve"] = epsilons(whole[0], {pipeline.delta: budget.epsilon})
        largest = facts["curve"][0][1]
        facts["middle"] = small_epsilons(whole[0], largest, budget.advantage.upper)
        step("certificate")
        facts["proof"] = _proof(whole[0], pipeline.delta)
        step("what if")
        facts["what_if"] = tuple(_what_ifs(budget))

    ended_in_time(None if until is None else max(until - time.monotonic(), 1e-3), rest)
    here = (float(pipeline.delta), budget.epsilon.upper)
    trade_off = missed((*facts["curve"], *facts["middle"], here))
    meaning = meaning_of_delta(whole[0]) if whole else Delta(1.0, math.inf)
    return Facts(budget=budget, delta=meaning, trade_off=trade_off, **facts)


def meaning_of_delta(whole: Guarantee[Any]) -> Delta:
    """Return how likely an output is that gives a record away, and how large other losses are."""
    # A finite Renyi divergence leaves no such output.
    if not isinstance(whole, PairGuarantee):
        return Delta(0.0, math.inf)
    pair = whole.to_pair()
    ways = (pair.forward, pair.backward)
    betrayed = max(infinite_mass(one).upper for one in ways)
    return Delta(betrayed, max(max_loss(one) for one in ways))


def epsilons(
    whole: Guarantee[Any], answers: Mapping[Fraction, Bound]
) -> tuple[tuple[float, float], ...]:
    """Return delta and the upper end of epsilon there, asked where there is no answer yet."""
    exact = ((at, Fraction(repr(at))) for at in DELTAS)  # so few are quicker alone
    return tuple((at, (answers.get(d) or whole.epsilon(delta=d)).upper) for at, d in exact)


def small_epsilons(
    whole: Guarantee[Any], largest: float, advantage: float
) -> tuple[tuple[float, float], ...]:
    """Return the upper end of delta, and epsilon, for epsilons from 0 up to a largest one."""
    if not math.isfinite(largest):
        largest = 0.0
    points = [largest * k / SMALL for k in range(1, SMALL)]
    return ((advantage, 0.0), *((min(whole.delta(epsilon=at).upper, 1.0), at) for at in points))


def missed(
    curve: Sequence[tuple[float, float]], rates: Sequence[float] = ()
) -> tuple[tuple[float, float], ...]:
    """Return a lower bound of the miss rate at every false-alarm rate, or at its corners."""
    # (epsilon, delta) gives miss >= max(1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)).
    lines = [(0.0, 0.0)]
    for delta, epsilon in curve:
        if epsilon < math.log(1e300):
            odds = math.exp(epsilon)
            lines += [(-odds, 1 - delta), (-1 / odds, (1 - delta) / odds)]
    return tuple(
        (at, max(height + slope * at for slope, height in lines) * (1 - 1e-12))
        for at in rates or _corners(sorted(lines))
    )


def _corners(lines: Sequence[tuple[float, float]]) -> list[float]:
    """Return where the largest of lines bends from 0 to 1, and both ends; slopes must rise."""
    parts: list[tuple[float, float, float]] = []
    for slope, height in lines:
        start = 0.0
        while parts:
            before, fall, top = parts[-1]
            start = (top - height) / (slope - fall) if slope > fall else 0.0
            if start > before:
                break
            parts.pop()
            start = 0.0
        parts.append((start, slope, height))
    return [*(start for start, _, _ in parts if start < 1.0), 1.0]


def _what_ifs(budget: Budget) -> list[WhatIf]:
    guarantees = [cost.guarantee for cost in budget.stages]
    listed = []
    places = budget.largest[:MOST_STAGES]
    for position, cost in ((place, budget.stages[place]) for place in places):
        changed = _noisier(cost, budget.pipeline.relation)
        if changed is None:
            continue
        names, guarantee = changed
        others = [*guarantees[:position], guarantee, *guarantees[position + 1 :]]
        epsilon = total(others, budget.pipeline.delta).epsilon(delta=budget.pipeline.delta).upper
        listed.append(WhatIf(cost.stage.name, names, epsilon))
    return listed


def _noisier(
    cost: StageCost, relation: Relation
) -> tuple[tuple[str, ...], Guarantee[Relation]] | None:
    """Return which numbers of a stage are its noise, and its guarantee with a tenth more of it."""
    stage, numbers = cost.stage, cost.stage.numbers()
    names = noise_addresses(stage)
    if not names:
        return None
    for name in names:
        stage = stage.replaced(name, numbers[name] * MORE)
    try:
        return tuple(names), stage.guarantee(relation)
    except PrivacyError:  # integers alone are allowed there, or the noise ends what is computed
        return None


def noise_addresses(stage: Stage) -> list[str]:
    """Return the addresses of the noise of a stage, each number by one of them."""
    names = [name for name in stage.numbers() if name.rpartition(".")[2] in NOISES]
    dotted = {name.rpartition(".")[2] for name in names if "." in name}
    return [name for name in names if name not in dotted]


def _proof(whole: Guarantee[Relation], delta: Fraction) -> Proof:
    try:
        certificate = unchecked(whole, delta=delta)
    except PrivacyError as refusal:
        reason = " ".join(str(refusal).split())
        return Proof("", f"no certificate: {reason}", whole.derivation.all_assumptions())
    text = certificate.to_json()
    verdict = check_text(text)
    if isinstance(verdict, Rejected):
        return Proof("", f"no certificate: {verdict.reason}", whole.derivation.all_assumptions())
    digest = hashlib.sha256(text.encode()).hexdigest()
    assumptions = tuple(getattr(verdict, "assumptions", ()))
    return Proof(digest, verdict.claim, assumptions, verdict.labels)


SCHEMA: Final = Path(__file__).with_name("registry_schema.json")  # its first field says of when
REQUIRED: Final = ("title", "owner", "purpose", "description", "product", "region", "date")
_TYPES: Final[Mapping[str, Any]] = {
    "object": Mapping,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
}
_NOISE: Final = {"sigma", "noise_multiplier"}


def require(about: About) -> None:
    """Refuse a file that lacks what the registry requires."""
    missing = [name for name in REQUIRED if not getattr(about, name)]
    if missing:
        raise InputError(f"--registry: the registry requires [about] with {', '.join(missing)}")


def record(facts: Facts) -> dict[str, Any]:
    """Return the fields that a pipeline fills; the others are left out."""
    # Of the Deployments Registry of OpenDP, schemas/deployments-schema.yaml.
    budget, pipeline = facts.budget, facts.budget.pipeline
    about = pipeline.about
    require(about)
    selected = (cost.stage for cost in budget.stages)
    tuned = "; ".join(f"{one.name}: best of {one.runs.describe()}" for one in selected if one.runs)
    lines = [f"{cost.stage.name}: {', '.join(words.stage(cost.stage))}" for cost in budget.shown]
    shuffled = any(isinstance(cost.stage.sampling, Shuffle) for cost in budget.stages)
    model = about.model or ("Shuffle" if shuffled else "")
    signing = ", ".join(about.approvers) or "none named"
    variant, parameters = _variant(facts)
    entry: dict[str, Any] = {
        "url_slug": _slug(f"{about.title}-{about.owner}-{about.date[:4]}"),
        "status": "Draft",
        "tier": 2 if model else 1,
        "deployment": {
            "basic": {
                "name": about.title,
                "data_curators": [about.owner],
                "intended_use": about.purpose,
                "data_product_type": about.product,
                "data_product_region": about.region,
                "description": about.description,
                "publication_date": about.date,
            },
            "dp_variant": {
                "variant_name": variant,
                "data_domain": ", version ".join(one for one in (about.data, about.version) if one),
                "unprotected_quantities": about.unprotected,
            },
            "privacy_loss": _privacy_loss(facts, parameters),
            "deployment_model": {"model_name": model, "access_type": "Non-interactive"},
            "accounting": {
                "composition": "; ".join(f"{a} ({b})" for a, b in words.theorems(budget.derivation))
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": tuned or "no selection is accounted for",
                "mechanisms": "; ".join(lines),
            },
            "administrative": {
                "notes": f"filled by dpproof from {pipeline.file}; approvers: {signing}",
                "registry_authors": list(about.authors or (about.owner,)),
            },
        },
    }
    parts = entry["deployment"]
    for name, table in parts.items():
        parts[name] = {key: value for key, value in table.items() if value != ""}
    validate(entry)
    return entry


def _privacy_loss(facts: Facts, parameters: dict[str, float]) -> dict[str, Any]:
    pipeline, epsilon = facts.budget.pipeline, facts.budget.epsilon
    unit = pipeline.about.unit or "a record of the data"
    return {
        "privacy_unit": unit,
        "privacy_unit_details": f"{words.NEIGHBOURS[type(pipeline.relation)]}, a record being "
        f"{unit} ({pipeline.relation} neighbours, {pipeline.protect} together)",
        "privacy_parameters": parameters,
        "privacy_parameters_details": f"epsilon{epsilon.whose} lies in [{epsilon.lower!r}, "
        f"{epsilon.upper!r}] at delta = {float(pipeline.delta)!r}; certificate SHA-256: "
        f"{facts.proof.digest or 'none'}",
    }


def _variant(facts: Facts) -> tuple[str, dict[str, float]]:
    """Return the variant that the release has of itself, and its numbers."""
    budget = facts.budget
    point = {"epsilon": budget.epsilon.upper, "delta": float(budget.pipeline.delta)}
    released = [one for cost in budget.stages for one in cost.stage.releases]
    plain = all(cost.stage.sampling is None and not cost.stage.runs for cost in budget.stages)
    if plain and released and all(_NOISE & set(one.values) for one in released):
        with suppress(PrivacyError):
            whole = total([cost.guarantee for cost in budget.stages])
            return "Zero-concentrated DP", {**point, "rho": whole.zcdp().upper}
    return "Approximate DP", point


def _slug(text: str) -> str:
    base = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", base).strip("-") or "record"


def validate(tree: object, schema: Mapping[str, Any] | None = None, place: str = "record") -> None:
    """Refuse a record that has not the registry's shape: the part of JSON Schema that it uses."""
    if schema is None:
        schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    fits = isinstance(tree, tuple(_TYPES[kind] for kind in kinds)) if kinds else True
    if isinstance(tree, bool) or not fits:
        raise InputError(f"{place}: expected {' or '.join(kinds)}")
    if "enum" in schema and tree not in schema["enum"]:
        raise InputError(f"{place}: expected one of {', '.join(map(str, schema['enum']))}")
    if schema.get("format") == "date" and not _is_date(str(tree)):
        raise InputError(f"{place}: expected a date such as 2026-03-01")
    if isinstance(tree, Mapping):
        _validate_table(tree, schema, place)
    elif isinstance(tree, list):
        if len(tree) < schema.get("minItems", 0):
            raise InputError(f"{place}: expected at least {schema['minItems']}")
        for one in tree:
            validate(one, schema["items"], place)


def _is_date(value: str) -> bool:
    with suppress(ValueError):
        return date.fromisoformat(value).isoformat() == value
    return False


def _validate_table(table: Mapping[str, Any], schema: Mapping[str, Any], place: str) -> None:
    properties = schema["properties"]
    for name in schema.get("required", []):
        if name not in table:
            raise InputError(f"{place}.{name}: missing")
    for name, value in table.items():
        if name not in properties:
            raise InputError(f"{place}.{name}: no field of the registry")
        validate(value, properties[name], f"{place}.{name}")


def text(entry: Mapping[str, Any]) -> str:
    """Return a record as YAML."""
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError:
        raise MissingDependency(
            "the registry's file needs PyYAML: pip install 'dpproof[report]'"
        ) from None
    return str(yaml.safe_dump(dict(entry), sort_keys=False, allow_unicode=True, width=100))
