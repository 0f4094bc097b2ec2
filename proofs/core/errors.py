"""The reasons for not accepting a certificate; all of them become the verdict ``Rejected``.

CheckError
├─ CertificateError   the text is not a certificate of this format
└─ RefusedError       a step does not follow by its rule
   ├─ UndecidedError  enclosures overlap at this precision; a higher one may decide
   └─ BeyondError     the core alone does not know: an extension may
"""

from __future__ import annotations


class CheckError(Exception):
    """Base class of everything the checker objects to."""


class CertificateError(CheckError):
    """The text is not a certificate of this format."""


class RefusedError(CheckError):
    """A step does not follow from its premises by its rule."""


class UndecidedError(RefusedError):
    """Two numbers are too close to be told apart at the current precision."""


class BeyondError(RefusedError):
    """A rule, a notion, a pair or a case of a rule is unknown here."""
