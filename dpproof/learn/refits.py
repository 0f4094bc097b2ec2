"""Functions that fit an estimator again and again: refused, as every fit is a release."""

from __future__ import annotations

import inspect
from typing import Final, final

from dpproof.accountant.errors import PrivacyError

# Parts of scikit-learn that fit clones of an estimator, on the same records or on parts of them.
_REFITTING: Final = frozenset(
    {
        "calibration",
        "ensemble",
        "feature_selection",
        "model_selection",
        "multiclass",
        "multioutput",
        "semi_supervised",
    }
)
_SEARCH: Final = "model_selection"


@final
class RefitRefused(PrivacyError, RuntimeError):
    """A private estimator is fitted by what releases many fits and pays for one or none."""


def refuse_search() -> None:
    """Refuse to go on if a part of scikit-learn calls that fits an estimator several times.

    ``GridSearchCV``, ``cross_val_score``, ``learning_curve`` and their like fit clones of an
    estimator on the same records, and look at scores without noise. All of these are releases.
    So are the members of ``BaggingClassifier`` and of other ensembles, and the parts of
    ``OneVsRestClassifier`` and ``CalibratedClassifierCV``.

    Raises:
        RefitRefused: a function of such a part is among the callers. Searches report it as the
            reason why all fits failed.
    Example:
        >>> refuse_search()
    """
    frame = inspect.currentframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        top, _, rest = module.partition(".")
        part = rest.partition(".")[0]
        if top == "sklearn" and part == _SEARCH:
            raise RefitRefused(
                f"{module} fits a private estimator several times on the same records and scores "
                "them without noise, and every fit and score is a release; dpproof.learn.tune("
                "estimator, grid) selects privately, within one budget"
            )
        if top == "sklearn" and part in _REFITTING:
            raise RefitRefused(
                f"{module} fits a private estimator several times, and every fit is a release; fit "
                "each model yourself and state accountant.compose(...) of their guarantees, or let "
                "a ledger pay for each"
            )
        frame = frame.f_back
