"""The reasons for not accepting a certificate; all of them become the verdict ``Rejected``."""

from __future__ import annotations


class CheckError(Exception):
    """Base class of everything the checker objects to."""


class CertificateError(CheckError):
    """The text is not a certificate of this format."""


class RefusedError(CheckError):
    """A step does not follow from its premises by its rule."""


class UndecidedError(RefusedError):
    """Enclosures overlap at this precision; a higher one may decide."""


class BeyondError(RefusedError):
    """The core does not know a rule, a notion, a pair or a case; an extension may."""
