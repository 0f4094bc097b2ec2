"""What private estimators with scikit-learn's interface share."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from dpproof.accountant import Guarantee, calibrate
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import Relation
from dpproof.learn.refits import refuse_search
from dpproof.learn.spending import LedgerPlace, paid
from dpproof.learn.warnings import PredictableNoise, SecondRelease
from dpproof.ledger.places import hidden
from dpproof.mechanisms import Mechanism
from dpproof.proofs.certificate import Certificate


class PrivateEstimator(BaseEstimator, ABC):  # type: ignore[misc]  # untyped library
    """An estimator by what a mechanism releases: the budget, and one paid fit.

    A subclass says which mechanism runs at a given sigma, and what of its release it keeps.
    """

    epsilon: Number | None
    delta: Number | None
    sigma: Number | None
    random_state: int | None
    ledger: LedgerPlace | None
    ledger_key: str | None

    def __setattr__(self, name: str, value: object) -> None:
        """Keep an attribute, of a ledger's URL as one that does not show its password."""
        super().__setattr__(name, hidden(value) if name == "ledger" else value)

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
        """The mechanism that ``fit`` releases from, its noise calibrated to the budget.

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
        found = calibrate(self._at, epsilon=self.epsilon, delta=self.delta, increasing=False)
        return self._at(found.value)

    def guarantee(self) -> Guarantee[Relation]:
        """What one fit satisfies; it is known before there is any data.

        Raises:
            ParameterError: as for ``learner``.
        """
        return self.learner().guarantee()

    def certificate(self, *, delta: Number | None = None) -> Certificate:
        """A certificate of the fit's (epsilon, delta), for ``dpproof check``.

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
        """Where the noise comes from: None is the operating system; a seed warns."""
        if self.random_state is None:
            return None
        warnings.warn(
            "random_state makes the noise predictable, and the fit protects nobody: tests only",
            PredictableNoise,
            stacklevel=4,
        )
        return np.random.default_rng(self.random_state)
