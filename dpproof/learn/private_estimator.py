"""The common part of private estimators with scikit-learn's interface."""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self, TypeAlias, final

import numpy as np
from sklearn.base import BaseEstimator

from dpproof.accountant import Guarantee, calibrate
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError, PrivacyError
from dpproof.accountant.relation import AddRemove, Relation
from dpproof.ledger.ledger import Ledger
from dpproof.ledger.places import hidden
from dpproof.mechanisms import Mechanism
from dpproof.proofs.core.certificate import Certificate

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


LedgerPlace: TypeAlias = Ledger | str
"""A ledger, or where it is: a path or a database URL."""


@contextmanager
def paid(
    ledger: LedgerPlace | None, key: str | None, guarantee: Guarantee[Any], label: str
) -> Iterator[None]:
    """Reserve a guarantee for the block and commit it at its end; do nothing without a ledger.

    Nothing of the fit may be kept before the block has ended.

    Raises:
        ParameterError: a ledger without a key, or a key without a ledger.
        BudgetExceeded: the ledger has less left; the block does not run.
        AlreadySpent: the key paid for a fit before: another fit is another release.
        LedgerError: the ledger is out of reach; the block does not run.
    """
    if (ledger is None) != (key is None):
        raise ParameterError(
            "ledger and ledger_key",
            "one of them",
            "given together, or neither",
            "the key names this fit in the ledger, which pays for it once",
        )
    if ledger is None or key is None:
        yield
        return
    opened = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    try:
        with opened.reserve(guarantee, key=key, label=label):
            yield
    finally:
        if opened is not ledger:
            opened.close()


@final
class PredictableNoise(UserWarning):
    """The noise follows from a seed: whoever knows the seed knows the data. Tests only."""


@final
class SecondRelease(UserWarning):
    """An estimator was fitted again: on the same records, both fits cost, and their costs add."""


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateEstimator(BaseEstimator, ABC):  # type: ignore[misc]  # untyped library
    """An estimator by what a mechanism releases: the budget, and one paid fit.

    A subclass says which mechanism runs at a given sigma, and what of its release it keeps. Its
    arguments are fields, of which the constructor and scikit-learn's ``get_params`` are made.
    """

    epsilon: Number | None = None
    delta: Number | None = None
    sigma: Number | None = None
    relation: Relation | None = None
    random_state: int | None = None
    ledger: LedgerPlace | None = None
    ledger_key: str | None = None

    def __setattr__(self, name: str, value: object) -> None:
        """Keep an attribute, of a ledger's URL as one that does not show its password."""
        super().__setattr__(name, hidden(value) if name == "ledger" else value)

    @property
    def neighbours(self) -> Relation:
        """Return the neighbouring relation, add-remove unless another is stated."""
        return AddRemove() if self.relation is None else self.relation

    @abstractmethod
    def _at(self, sigma: Number) -> Mechanism[Relation]:
        """Return the mechanism with noise of this standard deviation."""

    @abstractmethod
    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:  # noqa: ANN401
        """Keep a model that the learner released, with what its release satisfies.

        Args:
            released: an output of ``learner()``.
            guarantee: of the mechanism that released it, which may have been one of many runs.
        """

    def learner(self) -> Mechanism[Relation]:
        """Return the mechanism that ``fit`` releases from, its noise calibrated to the budget.

        Raises:
            ParameterError: an argument outside its domain, or not one of a budget and sigma.
        """
        if (self.sigma is None) == (self.epsilon is None):
            both = "neither" if self.sigma is None else "both"
            name = type(self).__name__
            raise ParameterError(
                "a budget or the noise",
                both,
                "given, and not both",
                f"write {name}(epsilon=1, delta=1e-5, ...) or {name}(sigma=4, ...)",
            )
        if self.sigma is not None:
            return self._at(self.sigma)
        self._at(1)  # refuses every other bad argument by its name
        calibrated = calibrate(self._at, epsilon=self.epsilon, delta=self.delta, increasing=False)
        return self._at(calibrated.value)

    def guarantee(self) -> Guarantee[Relation]:
        """Return the guarantee of one fit; it is known before there is any data.

        Raises:
            ParameterError: as for ``learner``.
        """
        return self.learner().guarantee()

    def certificate(self, *, delta: Number | None = None) -> Certificate:
        """Return a certificate of the fit's (epsilon, delta), for ``dpproof check``.

        After a fit it is about that fit, whatever arguments were set since; before, about the next.

        Args:
            delta: where epsilon is certified; by default that of the budget.
        Raises:
            ParameterError: no delta here and none in the budget.
        """
        at = self.delta if delta is None else delta
        if at is None:
            raise ParameterError("delta", None, "given, here or as part of the budget")
        fitted = hasattr(self, "guarantee_")
        return (self.guarantee_ if fitted else self.guarantee()).certify(delta=at)

    def _released(self, read: Callable[[], object]) -> Self:
        """Pay for one release from the records that ``read`` returns, and keep it.

        Raises:
            ParameterError: as for ``learner``.
            BudgetExceeded, LedgerError: the ledger does not pay; nothing is released.
        """
        refuse_search()
        learner = self.learner()
        guarantee = learner.guarantee()
        if hasattr(self, "guarantee_"):
            warnings.warn(
                "this estimator was fitted before; on the same records the guarantee of both fits "
                "is their composition",
                SecondRelease,
                stacklevel=3,
            )
        records = read()
        with paid(self.ledger, self.ledger_key, guarantee, type(self).__name__):
            released = learner.release(records, rng=self.rng())
        return self.adopt(released, guarantee)

    def rng(self) -> np.random.Generator | None:
        """Return the source of the noise.

        None is the operating system; a seed warns.
        """
        if self.random_state is None:
            return None
        warnings.warn(
            "random_state makes the noise predictable, and the fit protects nobody: tests only",
            PredictableNoise,
            stacklevel=4,
        )
        return np.random.default_rng(self.random_state)
