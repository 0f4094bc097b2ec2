"""The certificate of a whole pipeline, verified before it is written."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpproof.accountant.errors import NotCertified
from dpproof.commands.budget import total
from dpproof.errors import placed
from dpproof.files import save
from dpproof.pipeline.pipeline import Pipeline
from dpproof.proofs import Certificate, Rejected, Verified, VerifiedUnder, check
from dpproof.proofs.limits import MAX_LABEL


def write(
    pipeline: Pipeline,
    out: str,
    *,
    lower: bool = False,
    false_positive_rate: float | None = None,
    advantage: bool = False,
) -> Verified | VerifiedUnder:
    """Certify epsilon of the pipeline at its delta, check the certificate, write it.

    Args:
        pipeline: what runs.
        out: the certificate's file.
        lower: certify the lower end, a fact about the pair that dominates the pipeline.
        false_positive_rate: certify what attacks detect at so many false alarms instead.
        advantage: certify the advantage of attacks instead.
    Raises:
        InputError: a stage is refused, no rule covers a step of it, or the file cannot be written.
    """
    certificate, verdict = certified(
        pipeline, lower=lower, false_positive_rate=false_positive_rate, advantage=advantage
    )
    save(out, certificate.to_json())
    return verdict


def certified(
    pipeline: Pipeline,
    *,
    lower: bool = False,
    false_positive_rate: float | Fraction | None = None,
    advantage: bool = False,
) -> tuple[Certificate, Verified | VerifiedUnder]:
    """Return the certificate of one question, which carries the file's digest, and its verdict.

    Args:
        pipeline: what runs.
        lower: certify the lower end.
        false_positive_rate: certify what attacks detect at so many false alarms instead.
        advantage: certify the advantage of attacks instead.
    Raises:
        InputError: a stage is refused, or no rule covers a step of it.
    """
    with placed(pipeline.file):
        guarantees = []
        for stage in pipeline.stages:
            with placed(stage.place):
                guarantees.append(stage.guarantee(pipeline.relation))
        attacks = advantage or false_positive_rate is not None
        unnamed = total(guarantees, pipeline.delta).certify(
            delta=None if attacks else pipeline.delta,
            false_positive_rate=false_positive_rate,
            advantage=advantage,
            lower=lower,
        )
        certificate = _with_digest(unnamed, pipeline)
        verdict = check(certificate)
        if isinstance(verdict, Rejected):
            raise NotCertified(
                f"the checker rejects the certificate ({verdict.rule}: {verdict.reason}), so it is "
                "not written; this is a failure inside dpproof, please report it with the file"
            )
    return certificate, verdict


def digest_label(pipeline: Pipeline) -> str:
    """Return what a certificate calls the mechanism of a file: its digest."""
    return f"file sha256 {pipeline.digest}"


def _with_digest(certificate: Certificate, pipeline: Pipeline) -> Certificate:
    """Return the certificate with the file's digest as a label; facts are about no mechanism."""
    *before, last = certificate.steps
    if "relation" not in last.conclusion or not pipeline.digest:
        return certificate
    words = digest_label(pipeline)
    both = f"{words}; {last.label}" if last.label else words
    return Certificate((*before, replace(last, label=both[:MAX_LABEL])))
