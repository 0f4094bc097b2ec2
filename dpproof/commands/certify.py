"""The certificate of a whole pipeline, verified before it is written."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from dpproof.accountant import Guarantee, NotCertified, Relation
from dpproof.accountant.certificates.certify import unchecked
from dpproof.commands.budget import together
from dpproof.errors import placed
from dpproof.files import save
from dpproof.pipeline.pipeline import Pipeline
from dpproof.proofs import Certificate, Rejected, Verified, VerifiedUnder, check
from dpproof.proofs.limits import MAX_LABEL
from dpproof.time_limit import known_in


def write(
    pipeline: Pipeline,
    out: str,
    *,
    seconds: float | None = None,
    **question: Any,  # noqa: ANN401  # as of certified
) -> tuple[Verified | VerifiedUnder, bool]:
    """Certify epsilon at delta, check and write it; return the verdict, and if by divergences."""
    with placed(pipeline.file):
        (certificate, verdict), is_rough = known_in(
            seconds,
            partial(together, pipeline),
            partial(certified, pipeline, **question),
            pipeline.delta,
            f"{pipeline.file}: a certificate",
        )
    save(out, certificate.to_json())
    return verdict, is_rough


def certified(
    pipeline: Pipeline,
    whole: Guarantee[Relation] | None = None,  # its guarantee, if it is known
    *,
    lower: bool = False,  # certify the lower end
    false_positive_rate: float | Fraction | None = None,
    advantage: bool = False,  # certify the advantage of attacks instead
) -> tuple[Certificate, Verified | VerifiedUnder]:
    """Return the certificate of one question, which carries the file's digest, and its verdict."""
    with placed(pipeline.file):
        attacks = advantage or false_positive_rate is not None
        unnamed = unchecked(
            together(pipeline) if whole is None else whole,
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
