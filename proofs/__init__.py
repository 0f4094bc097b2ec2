"""Certificates and their checker, which shares no code with what produced them.

>>> from dpproof import proofs
>>> proofs.check_text("{}").rule
'format'
"""

from __future__ import annotations

from dpproof.proofs.certificate import Certificate, Step
from dpproof.proofs.errors import CertificateError, CheckError
from dpproof.proofs.verdict import Rejected, Verdict, Verified, VerifiedUnder

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
    Raises:
        TypeError: what is given is no ``Certificate``.
        ValueError: there are no such rules.
    """
    _require_certificate(certificate)
    try:
        text = certificate.to_json()
    except CertificateError as error:
        return Rejected(None, "format", str(error))
    return check_text(text, rules=rules)


def check_text(text: str, *, rules: str = "") -> Verdict:
    """Read a certificate and verify it; whatever text is not a certificate is ``Rejected``.

    Raises:
        TypeError: what is given is no text.
        ValueError: there are no such rules.
    """
    if rules not in ("", "core"):
        raise ValueError(f'rules must be "core", or "" for all of them, got {rules!r:.80}')
    from dpproof.proofs import kernel  # noqa: PLC0415  # writing a certificate does not need flint

    return kernel.check_text(text, (rules,)) if rules else kernel.check_text(text)


def _require_certificate(given: object) -> None:
    """Refuse an argument of another type."""
    if not isinstance(given, Certificate):
        kind = type(given).__name__
        raise TypeError(
            f"certificate must be of the type Certificate, got {kind}; check_text takes its text"
        )


if __name__ != "dpproof.proofs":
    raise ImportError(f"{__name__} is a part of dpproof: import dpproof.proofs")
