"""The certificate as its author writes it; docs/CERTIFICATE.md describes its text.

Nothing here says whether a certificate is right; ``proofs.check`` does.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping
from fractions import Fraction

from dpproof.proofs.abbreviations import abbreviated, expanded
from dpproof.proofs.core.certificate import FORMAT, VERSION, Json, Step, read_rational, read_steps
from dpproof.proofs.core.errors import CertificateError
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.limits import MAX_DIGITS

__all__ = ["Certificate", "Json", "Step", "read_rational", "show_rational"]


@frozen
class Certificate:
    """Steps in an order in which each cites earlier ones only; the last one is the claim."""

    steps: tuple[Step, ...]

    def __repr__(self) -> str:
        """Return one line: how many steps there are, and the claim, long numbers cut."""
        claim = reprlib.repr(dict(self.claim)) if self.steps else "nothing"
        return f"<Certificate of {len(self.steps)} steps, claims {claim}>"

    @property
    def claim(self) -> Mapping[str, Json]:
        """Return the conclusion of the last step; refuse if there is none."""
        if not self.steps:
            raise CertificateError("a certificate has at least one step")
        return self.steps[-1].conclusion

    def to_json(self, *, full: bool = False) -> str:
        """Return the certificate as text: one step a line, the claim first; refuse other values.

        Args:
            full: write what follows from earlier steps, too, as readers of version 1 need it.
        """
        try:
            return self._full() if full or not self.steps else abbreviated(self.steps)
        except (TypeError, ValueError, RecursionError) as error:
            raise CertificateError(f"not JSON: {error}") from None

    def _full(self) -> str:
        lines = [
            json.dumps(
                {
                    "rule": step.rule,
                    "premises": list(step.premises),
                    "witness": step.witness,
                    "conclusion": step.conclusion,
                    **({"label": step.label} if step.label else {}),
                }
            )
            for step in self.steps
        ]
        head = f'"format": "{FORMAT}",\n"version": {VERSION},\n"claim": {json.dumps(self.claim)}'
        return f'{{{head},\n"steps": [\n' + ",\n".join(lines) + "\n]}\n"

    @staticmethod
    def from_json(text: str) -> Certificate:
        """Read a certificate; anything unusual but a byte-order mark before it is refused."""
        return Certificate(read_steps(expanded(text)))


def show_rational(value: Fraction | int) -> str:
    """Return an exact rational in lowest terms as text, such as ``"-3/4"`` or ``"5"``."""
    text = str(Fraction(value))
    if len(text) > MAX_DIGITS:
        raise CertificateError(f"a rational of {len(text)} characters is too long")
    return text
