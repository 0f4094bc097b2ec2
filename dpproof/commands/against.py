"""Whether a certificate speaks of a pipeline file: what it assumes is what the file says."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpproof import files
from dpproof.commands.certify import certified, digest_label
from dpproof.errors import InputError
from dpproof.pipeline import parse
from dpproof.pipeline.pipeline import Pipeline
from proofs import Certificate, Rejected, Verified, VerifiedUnder, check_text
from proofs.__main__ import lines
from proofs.certificate import Json


def compare(
    certificate: str, file: str, *, rules: str | None = None, show: str | None = None
) -> tuple[list[str], bool]:
    """Check a certificate, and compare it with what certify writes of a pipeline file.

    Args:
        certificate: path of the certificate.
        file: path of the pipeline file.
        rules: as of the checker.
        show: refused, as it prints one content alone.
    Returns:
        The verdict and the comparison in lines, and whether it is verified and of this file.
    Raises:
        InputError: a file cannot be read, or the pipeline has no such certificate.
    """
    if show is not None:
        raise InputError("--show prints one content alone; leave out --against")
    if certificate == file == files.STANDARD_INPUT:
        raise InputError("standard input is one file; give the path of the other")
    text = files.content(certificate, "a certificate")
    verdict = check_text(text, rules=rules or "")
    if isinstance(verdict, Rejected):
        return lines(verdict), False
    pipeline = parse.load(file)
    found, told = _differences(Certificate.from_json(text), verdict, pipeline)
    answer = "no" if found else "yes"
    listed = [f"  - {one}" for one in found]
    return [*lines(verdict), f"Speaks of {pipeline.file}: {answer}", *listed, *told], not found


def _differences(
    given: Certificate, verdict: Verified | VerifiedUnder, pipeline: Pipeline
) -> tuple[list[str], list[str]]:
    """Return what keeps a certificate from speaking of a file, and what else there is to say."""
    question = _question(given.claim)
    if question is None:
        what = (
            "epsilon at its delta, the true-positive rate or advantage of attacks, and lower ends"
        )
        return [f"its claim is of another kind than what is certified of files: {what}"], []
    own, expected = certified(pipeline, **question)
    found = [
        f"{name}: {given.claim[name]} in the certificate, {own.claim[name]} by the file"
        for name in ("relation", "steps", "delta")
        if given.claim.get(name) != own.claim.get(name) and "relation" in given.claim
    ]
    if isinstance(verdict, VerifiedUnder) and isinstance(expected, VerifiedUnder):
        found += _unequal(verdict.assumptions, expected.assumptions)
    elif given.claim["product"] != own.claim["product"]:
        found.append("its pair of laws is another than the one that dominates the file's pipeline")
    told = [] if verdict.claim == expected.claim else [f"of the file is proved: {expected.claim}"]
    return found, [*told, *_digests(verdict, pipeline)]


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


def _unequal(assumed: tuple[str, ...], said: tuple[str, ...]) -> list[str]:
    """Return the sentences of one side alone."""
    return [
        *(f"the certificate alone assumes: {text}" for text in assumed if text not in said),
        *(f"the file alone says: {text}" for text in said if text not in assumed),
    ]


def _digests(verdict: Verified | VerifiedUnder, pipeline: Pipeline) -> list[str]:
    """Say whose digest a certificate carries, if it carries one."""
    if any(digest_label(pipeline) in label for label in verdict.labels):
        return ["it carries the digest of this file"]
    if any("file sha256 " in label for label in verdict.labels):
        return ["it carries the digest of another file, or of this one before a change"]
    return []
