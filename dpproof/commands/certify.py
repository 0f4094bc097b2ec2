"""The certificate of a whole pipeline, verified before it is written."""

from __future__ import annotations

from pathlib import Path

from accountant.errors import NotCertified
from dpproof.commands.budget import total
from dpproof.errors import InputError, placed
from dpproof.pipeline.pipeline import Pipeline
from proofs import Rejected, Verified, VerifiedUnder, check


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
    with placed(pipeline.file):
        guarantees = []
        for stage in pipeline.stages:
            with placed(stage.place):
                guarantees.append(stage.guarantee(pipeline.relation))
        attacks = advantage or false_positive_rate is not None
        certificate = total(guarantees, pipeline.delta).certify(
            delta=None if attacks else pipeline.delta,
            false_positive_rate=false_positive_rate,
            advantage=advantage,
            lower=lower,
        )
        verdict = check(certificate)
        if isinstance(verdict, Rejected):
            raise NotCertified(
                f"the checker rejects the certificate ({verdict.rule}: {verdict.reason}), so it is "
                "not written; this is a failure inside dpproof, please report it with the file"
            )
    try:
        Path(out).write_text(certificate.to_json(), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: {error.strerror}") from error
    return verdict
