"""What is known of the data of a fit: declared public, or looked at before by a transformer."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar, final

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from dpproof.accountant import Guarantee

_SAID: Final = "fitted on data declared public"
# What is set is emptied at the end of the block: a task started inside keeps a copy of the context.
_PUBLIC: Final[ContextVar[Sequence[bool]]] = ContextVar("dpproof_public_data", default=())
N = TypeVar("N", bound=Guarantee)  # type: ignore[type-arg]  # of any relation


@final
class UnpaidTransformer(UserWarning):
    """A step beside a private estimator learns from the rows, and nothing pays for it."""


@contextmanager
def public_data() -> Iterator[None]:
    """Declare that all rows fitted in the block are public, so that searches may refit on them.

    ``GridSearchCV``, ``cross_val_score`` and their like run as for any estimator. A model that is
    fitted in the block says so in its ``repr``, in ``public_data_`` and as a label of its
    guarantee, which certificates carry. Other threads and worker processes are not in the block,
    nor is a task that goes on after its end. In a generator, do not ``yield`` inside the block.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.model_selection import cross_val_score
        >>> from dpproof.learn import PerceptronClassifier
        >>> model = PerceptronClassifier(sigma=1, classes=range(3), steps=5)
        >>> with public_data():
        ...     len(cross_val_score(model, *load_iris(return_X_y=True)))
        5
    """
    block = [True]
    token = _PUBLIC.set(block)
    try:
        yield
    finally:
        block.clear()
        _PUBLIC.reset(token)


def data_are_public() -> bool:
    """Return whether the caller is in a block of ``public_data``."""
    return any(_PUBLIC.get())


def marked(guarantee: N) -> N:
    """Return the guarantee, with a label if the data are declared public."""
    return guarantee.labelled(_SAID) if data_are_public() else guarantee


def said_public(model: object) -> str:
    """Return what the ``repr`` of a model adds: that its data were declared public, or nothing."""
    return f" {_SAID}" if getattr(model, "public_data_", False) else ""


def warn_of_transformers() -> None:
    """Warn of every pipeline among the callers that has a transformer that learns from rows.

    It learns if scikit-learn's tag ``requires_fit`` says so; of compound ones the parts are asked.
    """
    frame = inspect.currentframe()
    while frame is not None:
        pipeline = frame.f_locals.get("self") if frame.f_code.co_name.startswith("fit") else None
        if isinstance(pipeline, Pipeline):
            learning = sorted({type(one).__name__ for _, s in pipeline.steps for one in _leaves(s)})
            if learning:
                warnings.warn(
                    f"{', '.join(learning)} of this pipeline learns from rows, and no guarantee "
                    "covers that: take a transformer of public constants, or PrivateScaler with "
                    "pipeline_guarantee",
                    UnpaidTransformer,
                    stacklevel=2,
                )
        frame = frame.f_back


def _leaves(step: Any) -> list[BaseEstimator]:  # noqa: ANN401  # any transformer, or "passthrough"
    """Return what learns from rows without paying, of a transformer's parts or of itself."""
    if not isinstance(step, BaseEstimator) or hasattr(step, "guarantee"):
        return []
    inner = [one for one in step.get_params().values() if isinstance(one, BaseEstimator)]
    if inner:
        return [leaf for one in inner for leaf in _leaves(one)]
    return [step] if get_tags(step).requires_fit else []
