"""Normal tail functions, imported from scipy when first used: its import takes longer than ours."""

from __future__ import annotations

import numpy as np

from accountant.numerics.enclosure import Reals


def ndtr(x: Reals) -> Reals:
    """Return Phi(x)."""
    from scipy import special  # noqa: PLC0415 -- start-up time

    return np.asarray(special.ndtr(x))


def erfcx(x: Reals) -> Reals:
    """Return e^{x^2} erfc(x)."""
    from scipy import special  # noqa: PLC0415 -- start-up time

    return np.asarray(special.erfcx(x))


def ndtri_exp(log_p: float) -> float:
    """Return the normal quantile of e^log_p."""
    from scipy import special  # noqa: PLC0415 -- start-up time

    return float(special.ndtri_exp(log_p))


def erfinv(x: float) -> float:
    """Return the inverse of the error function."""
    from scipy import special  # noqa: PLC0415 -- start-up time

    return float(special.erfinv(x))
