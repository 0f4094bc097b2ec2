"""The record of a pipeline for the Deployments Registry, as far as a pipeline says it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Final

from dpproof.errors import InputError
from dpproof.reports import words
from dpproof.reports.facts import Facts

TODO: Final = "TODO"
_TEXT: Final = str
# The registry's fields, a star for those that it requires; a tuple lists the texts allowed.
SCHEMA: Final[Mapping[str, Any]] = {
    "url_slug*": _TEXT,
    "status*": _TEXT,
    "tier*": (1, 2, 3),
    "deployment*": {
        "basic*": {
            "name*": _TEXT,
            "data_curators": [_TEXT],
            "intended_use": _TEXT,
            "data_product_type": (
                "Summary statistics",
                "Machine learning model",
                "Dataset",
                "Synthetic data",
                "Interactive API",
                "SQL queries",
                TODO,
            ),
            "description": _TEXT,
            "publication_date": _TEXT,
        },
        "dp_variant": {
            "variant_name": (
                "Pure DP",
                "Approximate DP",
                "Zero-concentrated DP",
                "Renyi DP",
                "Custom",
            ),
            "data_domain": _TEXT,
            "unprotected_quantities": _TEXT,
        },
        "privacy_loss": {
            "privacy_unit": _TEXT,
            "privacy_unit_details": _TEXT,
            "privacy_parameters": {"epsilon": float, "delta": float, "rho": float},
            "privacy_parameters_details": _TEXT,
        },
        "accounting": {"post_processing": _TEXT, "composition": _TEXT},
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": _TEXT,
            "mechanisms": _TEXT,
            "justification": _TEXT,
        },
        "administrative": {"sources": _TEXT, "notes": _TEXT, "registry_authors*": [_TEXT]},
    },
}


def record(facts: Facts) -> dict[str, Any]:
    """Return the fields that a pipeline fills; ``TODO`` where only people know.

    Source: the Deployments Registry of OpenDP, schemas/deployments-schema.yaml.
    """
    budget, pipeline = facts.budget, facts.budget.pipeline
    selected = [cost.stage for cost in budget.stages if cost.stage.runs is not None]
    tuned = "; ".join(
        f"{stage.name}: best of {stage.runs.describe()}" for stage in selected if stage.runs
    )
    lines = [f"{cost.stage.name}: {', '.join(words.stage(cost.stage))}" for cost in budget.stages]
    epsilon, delta = budget.epsilon.upper, float(pipeline.delta)
    entry = {
        "url_slug": TODO,
        "status": "draft",
        "tier": 3,
        "deployment": {
            "basic": {"name": TODO, "description": TODO, "data_product_type": TODO},
            "dp_variant": {
                "variant_name": "Approximate DP",
                "data_domain": TODO,
                "unprotected_quantities": TODO,
            },
            "privacy_loss": {
                "privacy_unit": words.NEIGHBOURS[type(pipeline.relation)],
                "privacy_unit_details": f"{pipeline.relation} neighbours",
                "privacy_parameters": {"epsilon": epsilon, "delta": delta},
                "privacy_parameters_details": f"epsilon{budget.epsilon.whose} lies in "
                f"[{budget.epsilon.lower!r}, "
                f"{epsilon!r}]; certificate SHA-256: {facts.proof.digest or 'none'}",
            },
            "accounting": {
                "post_processing": TODO,
                "composition": "; ".join(
                    f"{a} ({b})" for a, b in words.theorems(budget.derivation)
                ),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": tuned or "no selection is accounted for",
                "mechanisms": "; ".join(lines),
                "justification": TODO,
            },
            "administrative": {"notes": "filled by dpproof", "registry_authors": [TODO]},
        },
    }
    validate(entry)
    return entry


def validate(tree: object, schema: Any = SCHEMA, place: str = "record") -> None:  # noqa: ANN401  # a tree
    """Refuse a record that has not the registry's shape.

    Raises:
        InputError: a field is missing, unknown, or of another kind; it says which.
    """
    if isinstance(schema, Mapping):
        _validate_table(tree, schema, place)
    elif isinstance(schema, list):
        if not isinstance(tree, list):
            raise InputError(f"{place}: expected a list")
        for one in tree:
            validate(one, schema[0], place)
    elif isinstance(schema, tuple):
        if tree not in schema:
            raise InputError(f"{place}: expected one of {', '.join(map(str, schema))}")
    elif not isinstance(tree, (schema, int) if schema is float else schema):
        raise InputError(f"{place}: expected {schema.__name__}")


def _validate_table(table: object, schema: Mapping[str, Any], place: str) -> None:
    if not isinstance(table, Mapping):
        raise InputError(f"{place}: expected a table")
    names = {name.rstrip("*"): name for name in schema}
    unknown = [name for name in table if name not in names]
    if unknown:
        raise InputError(f"{place}.{unknown[0]}: no field of the registry")
    for name, key in names.items():
        if name in table:
            validate(table[name], schema[key], f"{place}.{name}")
        elif key.endswith("*"):
            raise InputError(f"{place}.{name}: missing")


def text(entry: Mapping[str, Any]) -> str:
    """Return a record as YAML.

    Raises:
        InputError: the library that writes it is not installed.
    """
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError:
        raise InputError(
            "the registry's file needs PyYAML: pip install 'dpproof[report]'"
        ) from None
    return str(yaml.safe_dump(dict(entry), sort_keys=False, allow_unicode=True, width=100))
