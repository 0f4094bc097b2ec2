"""The whole checker: the core's kernel with every rule and every word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dpproof.proofs.abbreviations import expanded
from dpproof.proofs.certificate import Certificate
from dpproof.proofs.core import kernel
from dpproof.proofs.core.errors import CertificateError
from dpproof.proofs.core.rule import Rule
from dpproof.proofs.core.verdict import Rejected, Verdict
from dpproof.proofs.rules import RULES, SYSTEM


def check(certificate: Certificate, rules: Mapping[str, Rule] = RULES) -> Verdict:
    """Verify a certificate by rules of these names."""
    return kernel.check(certificate.steps, replace(SYSTEM, rules=rules))


def check_text(text: str) -> Verdict:
    """Verify a certificate from its JSON."""
    return at_length(text, SYSTEM)


def at_length(text: str, system: kernel.System = kernel.CORE) -> Verdict:
    """Verify a certificate from its JSON, which may leave out what follows."""
    try:
        return kernel.check_text(expanded(text), system)
    except CertificateError as error:
        return Rejected(None, "format", str(error))
