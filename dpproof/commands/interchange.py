"""``dpproof import`` and ``dpproof compare``: files of other tools."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpproof import interop
from dpproof.accountant import Bound, Guarantee
from dpproof.accountant.guarantees.guarantee import in_words
from dpproof.accountant.relation import RELATIONS, AddRemove, Relation
from dpproof.commands.budget import as_json, beside_poisson, together, total
from dpproof.errors import InputError, placed
from dpproof.files import content, shown_path
from dpproof.interop.histories import from_training
from dpproof.interop.peers import compared
from dpproof.interop.to_event import exported
from dpproof.pipeline import parse
from dpproof.pipeline.kinds.kind import Kind
from dpproof.pipeline.pipeline import Pipeline, Release, Stage
from dpproof.pipeline.vocabulary import Stated
from dpproof.time_limit import ROUGH, known_in

KNOWN = (
    'JSON with "class_name" (dp-accounting, jax-privacy), "history" (Opacus), '
    '"spent_budget" (diffprivlib), "mechanism_specs" (PipelineDP), or n, batch_size, epochs and '
    "noise_multiplier of a training run"
)
ENDS = ("lower", "upper")
_IMPORTED, _DELTA = "imported run", Fraction(1, 10**6)
SILENT = ("class_name", "spent_budget", "mechanism_specs")  # of neighbours


def document(text: str, file: str) -> Mapping[str, Any]:
    """Return the JSON object of a text."""
    try:
        record = json.loads(text, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        own = file.endswith(".toml")  # a pipeline of ours needs no import
        reason = f"; what a pipeline file costs says dpproof budget {file}" if own else f": {error}"
        raise InputError(f"{file}: expected {KNOWN}{reason}") from None
    if not isinstance(record, Mapping):
        raise InputError(f"{file}: expected {KNOWN}")
    return record


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object each of whose names is there once."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("an object has a name twice")
    return record


def imported(
    path: str, relation: str | None, *, poisson: bool
) -> tuple[Guarantee[Relation], Guarantee[Relation] | None]:
    """Return a file's guarantee, of shuffled batches beside that of as many Poisson samples."""
    file = shown_path(path)
    record = document(content(path, KNOWN), file)
    whole = _guarantee(record, file, relation, poisson=poisson)
    return whole, _printed(record, file, poisson=poisson)


def _printed(record: Mapping[str, Any], file: str, *, poisson: bool) -> Guarantee[Relation] | None:
    """Return what tools print for shuffled batches; None for anything else."""
    training = "history" in record or ("noise_multiplier" in record and "class_name" not in record)
    shuffled = training and not poisson
    return _guarantee(record, file, None, poisson=True) if shuffled else None


def _guarantee(
    record: Mapping[str, Any], file: str, relation: str | None, *, poisson: bool
) -> Guarantee[Relation]:
    """Return the guarantee that a document of another tool describes."""
    stated = next((one for one in RELATIONS if one.name == relation), None)
    if stated is None and any(name in record for name in SILENT):
        raise InputError(
            f"{file}: it does not say which datasets are neighbours, and the answer depends on "
            "it; say it with --relation, as --relation add-remove"
        )
    tools = [name for name in ("history", *SILENT) if name in record]
    if len(tools) > 1:
        raise InputError(f"{file}: expected one of {' and '.join(tools)}, which are of many tools")
    try:
        with placed(file):
            if "class_name" in record:
                return interop.from_dp_event(record, relation=stated)
            if "history" in record:
                return interop.from_opacus_history(record, poisson, stated)
            if "noise_multiplier" in record:
                return from_training(record, stated, poisson=poisson)
            if "spent_budget" in record:
                return interop.from_diffprivlib(record, stated)
            if "mechanism_specs" in record:
                return interop.from_pipeline_dp(record, stated)
    except InputError as refusal:  # readers of other tools do not know the file
        raise InputError(f"{file}: {str(refusal).removeprefix(f'{file}: ')}") from None
    raise InputError(f"{file}: expected {KNOWN}")


def _read(path: str) -> tuple[str, str, bool]:
    """Return a file's text, its name, and whether it is JSON of another tool."""
    text = content(path, f"a pipeline file, or {KNOWN}")
    return text, shown_path(path), path.endswith(".json") or text.lstrip().startswith("{")


def pipeline_of(
    path: str, relation: str | None, *, poisson: bool, delta: Fraction | None = None
) -> Pipeline:
    """Return the pipeline of a file, or one that runs what a file of another tool describes."""
    # A delta, in place of the pipeline's or of 1e-6, is a float, as certificates state it.
    text, file, is_foreign = _read(path)
    at = None if delta is None else Fraction(float(delta))
    if not is_foreign:
        if relation is not None or poisson:
            raise InputError(f"{file}: a pipeline file; leave out --relation and --poisson")
        pipeline = parse.loaded(text, file)
        return pipeline if at is None else replace(pipeline, delta=at)
    stated = Stated(_guarantee(document(text, file), file, relation, poisson=poisson))
    release = Release(
        name="1",
        mechanism=_IMPORTED,
        values={},
        norm="",
        kind=Kind(words="what another tool ran", forms=((),), build=lambda _: stated),
    )
    return Pipeline(
        file=file,
        relation=stated.relation,
        delta=_DELTA if at is None else at,
        epsilon=None,
        stages=(Stage(place=file, name=_IMPORTED, releases=(release,)),),
        digest=parse.digest(text),
    )


def is_imported(pipeline: Pipeline) -> bool:
    """Return whether a pipeline is of a file of another tool."""
    return any(one.mechanism == _IMPORTED for one in pipeline.stages[0].releases)


def answer(
    guarantee: Guarantee[Relation],  # what was imported
    printed: Guarantee[Relation] | None,  # that of Poisson samples, of shuffled batches
    delta: Fraction | None,  # at which epsilon is asked for, 1e-6 by default
    seconds: float | None = None,
) -> dict[str, Any]:
    """Return what an imported guarantee costs, as JSON; of shuffled batches in a sentence, too."""
    delta = _DELTA if delta is None else delta

    def ask(whole: Guarantee[Relation]) -> tuple[Bound, str]:
        epsilon = whole.epsilon(delta=delta)
        if whole is not guarantee:  # a lower end of it is none of what runs
            return Bound(0.0, epsilon.upper), ""
        if printed is None:
            return epsilon, ""
        return epsilon, beside_poisson(epsilon, printed.epsilon(delta=delta))

    found, is_rough = known_in(seconds, lambda **_: guarantee, ask, delta, "ε")
    return {
        "statement": in_words(guarantee),
        "relation": str(guarantee.relation),
        "delta": float(delta),
        "epsilon": as_json(found[0]),
        "exact": not is_rough,
        "meaning": found[1],
        "assumptions": list(guarantee.derivation.all_assumptions()),
    }


def comparison(
    path: str,
    relation: str | None,
    delta: Fraction | None,
    *,
    poisson: bool,
    seconds: float | None = None,  # for all numbers; None for as long as they take
) -> dict[str, Any]:
    """Return our bracket beside others' numbers, as JSON; of shuffled batches, as of Poisson."""
    text, file, is_foreign = _read(path)
    printed, event = None, None
    if is_foreign:
        record = document(text, file)
        whole = _guarantee(record, file, relation, poisson=poisson)
        printed = _printed(record, file, poisson=poisson)
        event = interop.event_from_json(record) if "class_name" in record else None
    else:
        pipeline = parse.loaded(text, file)
        delta = pipeline.delta if delta is None else delta
        if relation not in (None, pipeline.relation.name):
            raise InputError(f"{file}: states {pipeline.relation} neighbours, not {relation}")
        with placed(file):
            whole = together(pipeline)
            as_printed = [stage.as_poisson() for stage in pipeline.stages]
            if any(as_printed):
                pairs = zip(as_printed, pipeline.stages, strict=True)
                printed = total([one or stage.guarantee(AddRemove()) for one, stage in pairs])
    asked = whole if printed is None else printed
    at = float(_DELTA if delta is None else delta)
    with placed(file):
        ours, peers, is_rough = compared(
            event or exported(asked), asked.relation, at, whole, printed=printed, seconds=seconds
        )
    return {
        "relation": str(whole.relation),
        "delta": at,
        "epsilon": as_json(ours),
        "exact": not is_rough,
        "peers": [
            {
                "name": peer.name,
                "epsilon": peer.epsilon if math.isfinite(peer.epsilon or 0.0) else None,
                "why": peer.why,
                "noise_saved": peer.saved,
                "refuted": peer.refuted,
            }
            for peer in peers
        ],
    }


def bracket(ends: Mapping[str, Any]) -> str:
    """Return both ends of a bracket in JSON as text."""
    return f"[{', '.join('∞' if ends[end] == 'inf' else repr(ends[end]) for end in ENDS)}]"


def lines(answer: Mapping[str, Any]) -> list[str]:
    """Return a comparison as lines of text."""
    ends = answer["epsilon"]
    late = "" if answer["exact"] else f"; {ROUGH}"
    told = f"ours   in {bracket(ends)} at δ = {answer['delta']:g}{late}"
    shown = [f"{_shown(ends['upper']):>10}  {told}"]
    for peer in answer["peers"]:
        saved = peer["noise_saved"]
        more = (
            f"; our epsilon allows {100 * saved:.2g} % less noise"
            if saved and saved >= 1e-3
            else ""
        )
        number = "–" if peer["epsilon"] is None else _shown(peer["epsilon"])
        shown.append(f"{number:>10}  {peer['name']:5}  {peer['why']}{more}")
    return shown


def _shown(value: float | str | None) -> str:
    return f"{value:.6f}" if isinstance(value, float) else "∞"
