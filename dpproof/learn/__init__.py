"""Private learners with scikit-learn's interface; needs scikit-learn (the extra ``learn``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpproof.accountant import public_names

if TYPE_CHECKING:
    from dpproof.learn.cover_classifier import CoverClassifier as CoverClassifier
    from dpproof.learn.k_means import KMeans as KMeans
    from dpproof.learn.linear_regression import LinearRegression as LinearRegression
    from dpproof.learn.logistic_regression import LogisticRegression as LogisticRegression
    from dpproof.learn.margin_classifier import MarginClassifier as MarginClassifier
    from dpproof.learn.pca import PCA as PCA
    from dpproof.learn.perceptron_classifier import PerceptronClassifier as PerceptronClassifier
    from dpproof.learn.private_estimator import (
        PredictableNoise as PredictableNoise,
        RefitRefused as RefitRefused,
        SecondRelease as SecondRelease,
    )
    from dpproof.learn.robustness import (
        attack as attack,
        certify_radius as certify_radius,
        robust_accuracy as robust_accuracy,
    )
    from dpproof.learn.tuned_classifier import TunedClassifier as TunedClassifier, tune as tune
else:
    _HOMES = public_names.homes_of(__name__)
    __all__ = list(_HOMES)

    def __getattr__(name: str) -> object:
        """Return a public name from the module that defines it, imported on first use."""
        return public_names.fetch(__name__, _HOMES, name)
