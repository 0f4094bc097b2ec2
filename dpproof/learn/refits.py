"""Searches that fit an estimator again and again: refused, as every fit is a release."""

from __future__ import annotations

import inspect
from typing import final

from accountant.errors import PrivacyError

_SEARCHES = "sklearn.model_selection"


@final
class RefitRefused(PrivacyError, RuntimeError):
    """A private estimator is fitted by a search that releases many fits and pays for none."""


def refuse_search() -> None:
    """Refuse to go on if scikit-learn's model selection is what calls.

    ``GridSearchCV``, ``cross_val_score``, ``learning_curve`` and their like fit clones of an
    estimator on the same records, and look at scores without noise. All of these are releases.

    Raises:
        RefitRefused: a function of ``sklearn.model_selection`` is among the callers. The searches
            report it as the reason why all fits failed.
    Example:
        >>> refuse_search()
    """
    frame = inspect.currentframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module.split(".")[:2] == _SEARCHES.split("."):
            raise RefitRefused(
                f"{module} fits a private estimator several times on the same records and scores "
                "them without noise, and every fit and score is a release; dpproof.learn.tune("
                "estimator, grid) selects privately, within one budget"
            )
        frame = frame.f_back
