"""Certificates and their checker, which shares no code with what produced them.

>>> from dpproof import proofs
>>> proofs.check_text("{}").rule
'format'
"""

from __future__ import annotations

from dpproof.proofs.certificate import Certificate, Step
from dpproof.proofs.core.errors import CertificateError, CheckError
from dpproof.proofs.core.verdict import Rejected, Verdict, Verified, VerifiedUnder

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


def check(certificate: Certificate, *, core: bool = False) -> Verdict:
    """Verify every step of a certificate, in ball arithmetic where it has to be computed.

    Args:
        certificate: what is to be verified.
        core: let the core alone check (docs/CERTIFICATE.md): the conclusions of extensions are
            assumptions, which the verdict names.
    Raises:
        TypeError: what is given is no ``Certificate``.
    """
    _require_certificate(certificate)
    try:
        text = certificate.to_json()
    except CertificateError as error:
        return Rejected(None, "format", str(error))
    return check_text(text, core=core)


def check_text(text: str, *, core: bool = False) -> Verdict:
    """Read a certificate and verify it; whatever text is not a certificate is ``Rejected``.

    Raises:
        TypeError: what is given is no text.
    """
    from dpproof.proofs import kernel  # noqa: PLC0415  # writing a certificate does not need flint

    return kernel.at_length(text) if core else kernel.check_text(text)


def _require_certificate(certificate: object) -> None:
    """Refuse an argument of another type."""
    if not isinstance(certificate, Certificate):
        kind = type(certificate).__name__
        raise TypeError(
            f"certificate must be of the type Certificate, got {kind}; check_text takes its text"
        )


if __name__ != "dpproof.proofs":
    raise ImportError(f"{__name__} is a part of dpproof: import dpproof.proofs")
