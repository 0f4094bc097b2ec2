"""The claim that a certificate proves, and its match with a pipeline file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpproof import files, streams
from dpproof.commands.certify import certified, digest_label
from dpproof.commands.sentences import differences
from dpproof.errors import InputError
from dpproof.pipeline.pipeline import Pipeline
from dpproof.proofs import Certificate, Rejected, Verdict, Verified, VerifiedUnder, check_text
from dpproof.proofs.__main__ import REJECTED, VERIFIED, lines, main
from dpproof.proofs.core.certificate import Json


def answer(
    certificate: str,  # path of the certificate
    *,
    against: str | None,  # path of a pipeline file, or None to compare with nothing
    as_json: bool,
    core: bool,
    show: str | None,
    **of_others: Any,  # noqa: ANN401  # of the file, as of ``pipeline_of``
) -> int:
    """Check a certificate, compare it with what certify writes of a file, and print both."""
    if against is None and not as_json:
        return main([certificate, *["--core"] * core, *(["--show", show] if show else [])])
    if show is not None:
        raise InputError("--show prints one content alone; leave out --against and --json")
    if certificate == against == files.STANDARD_INPUT:
        raise InputError("standard input is one file; give the path of the other")
    text = files.content(certificate, "a certificate")
    verdict = check_text(text, core=core)
    said, told, same = lines(verdict), _as_json(verdict), verdict.ok
    if against is not None and not isinstance(verdict, Rejected):
        from dpproof.commands.interchange import is_imported, pipeline_of  # noqa: PLC0415  # for other files only

        claimed = Certificate.from_json(text)
        pipeline = pipeline_of(against, **of_others)
        if is_imported(pipeline) and "delta" in claimed.claim:  # a file of others states none
            pipeline = replace(pipeline, delta=Fraction(str(claimed.claim["delta"])))
        found, others = _differences(claimed, verdict, pipeline)
        same = not found
        listed = [f"  - {one}" for one in found]
        said += [f"Speaks of {pipeline.file}: {'yes' if same else 'no'}", *listed, *others]
        told |= {"file": pipeline.file, "speaks_of_file": same, "differences": found}
        told |= {"remarks": others}
    if as_json:
        streams.say_json("check", told)
    else:
        streams.say("\n".join(said))
    return VERIFIED if same else REJECTED


def _as_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as a JSON object."""
    if isinstance(verdict, Rejected):
        return {
            "verified": False,
            "step": verdict.step,
            "rule": verdict.rule,
            "reason": verdict.reason,
        }
    return {
        "verified": True,
        "claim": verdict.claim,
        "assumptions": list(getattr(verdict, "assumptions", ())),
        "labels": list(verdict.labels),
        "extensions": list(verdict.extensions),
        "details": dict(verdict.details),
    }


def _differences(
    certificate: Certificate, verdict: Verified | VerifiedUnder, pipeline: Pipeline
) -> tuple[list[str], list[str]]:
    """Return what keeps a certificate from speaking of a file, and what else there is to say."""
    question = _question(certificate.claim)
    if question is None:
        what = (
            "epsilon at its delta, the true-positive rate or advantage of attacks, and lower ends"
        )
        return [f"its claim is of another kind than what is certified of files: {what}"], []
    own, expected = certified(pipeline, **question)
    changes = [
        f"{name}: {_shown(certificate.claim[name])} in the certificate, "
        f"{_shown(own.claim[name])} by the file"
        for name in ("relation", "steps", "delta")
        if certificate.claim.get(name) != own.claim.get(name) and "relation" in certificate.claim
    ]
    if isinstance(verdict, VerifiedUnder) and isinstance(expected, VerifiedUnder):
        changes += differences(verdict, expected)
    elif certificate.claim["product"] != own.claim["product"]:
        changes.append(
            "its pair of laws is another than the one that dominates the file's pipeline"
        )
    remarks = (
        [] if verdict.claim == expected.claim else [f"of the file is proved: {expected.claim}"]
    )
    return changes, [*remarks, *_digests(verdict, pipeline)]


def _shown(value: Json) -> str:
    """Return a relation, a number of steps or a delta, which is a float, as people write it."""
    text = str(value)
    return repr(float(Fraction(text))) if "/" in text else text


def _question(claim: Mapping[str, Json]) -> dict[str, Any] | None:
    """Return the question that a claim answers, or None if certify asks no such of files."""
    rate = {"false_positive_rate": Fraction(str(claim.get("false_positive_rate", 0)))}
    questions: Mapping[str, dict[str, Any]] = {
        "approx-dp": {},
        "true-positive-rate": rate,
        "advantage": {"advantage": True},
        "hockey-stick-at-least": {"lower": True, "advantage": claim.get("epsilon") == "0"},
        "true-positive-rate-at-least": {"lower": True, **rate},
    }
    return questions.get(str(claim["notion"]))


def _digests(verdict: Verified | VerifiedUnder, pipeline: Pipeline) -> list[str]:
    """Say whose digest a certificate carries, if it carries one."""
    if any(digest_label(pipeline) in label for label in verdict.labels):
        return ["it carries the digest of this file"]
    if any("file sha256 " in label for label in verdict.labels):
        return ["it carries the digest of another file, or of this one before a change"]
    return []
