"""The record of a pipeline for the Deployments Registry: what the file says, nothing made up."""

from __future__ import annotations

import importlib
import json
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any, Final

from dpproof.accountant.errors import MissingDependency, PrivacyError
from dpproof.accountant.sampling import Shuffle
from dpproof.commands.budget import total
from dpproof.errors import InputError
from dpproof.pipeline.pipeline import About
from dpproof.reports import words
from dpproof.reports.facts import Facts

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
