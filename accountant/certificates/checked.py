"""Ask the checker about a certificate that was just written, before anybody relies on it.

This is the only place of the library that calls the checker. Nothing is computed from its verdict.
"""

from __future__ import annotations

from dpproof.accountant.certificates.format.serialize import UNCERTIFIED
from dpproof.accountant.errors import NotCertified
from dpproof.proofs.certificate import Certificate


def checked(certificate: Certificate) -> Certificate:
    """Return a certificate that the checker verifies.

    Raises:
        NotCertified: the checker rejects it, with its reason.
    """
    from dpproof.proofs import kernel, verdict  # noqa: PLC0415  # flint loads when a certificate is made

    answer = kernel.check_text(certificate.to_json())
    if isinstance(answer, verdict.Rejected):
        raise NotCertified(
            f"the checker rejects the certificate that was written ({answer.rule}: "
            f"{answer.reason}), so there is none; {UNCERTIFIED}"
        )
    return certificate
