"""Certificates and their checker, which shares no code with what produced them.

>>> import proofs
>>> proofs.check_text("{}").rule
'format'
"""

from __future__ import annotations

from proofs.certificate import Certificate, Step
from proofs.errors import CertificateError, CheckError
from proofs.verdict import Rejected, Verdict, Verified, VerifiedUnder

__all__ = [
    "Certificate",
    "CertificateError",
    "CheckError",
    "Rejected",
    "Step",
    "Verdict",
    "Verified",
    "VerifiedUnder",
    "check",
    "check_text",
]


def check(certificate: Certificate, *, rules: str = "") -> Verdict:
    """Verify every step of a certificate, in ball arithmetic where it has to be computed.

    Args:
        certificate: what is to be verified.
        rules: "core" to accept the plain rules only (docs/CERTIFICATE.md); all by default.
    """
    try:
        text = certificate.to_json()
    except CertificateError as error:
        return Rejected(None, "format", str(error))
    return check_text(text, rules=rules)


def check_text(text: str, *, rules: str = "") -> Verdict:
    """Read a certificate and verify it; whatever is not a certificate is ``Rejected``."""
    from proofs import kernel  # noqa: PLC0415  # writing a certificate does not need flint

    return kernel.check_text(text, (rules,)) if rules else kernel.check_text(text)
