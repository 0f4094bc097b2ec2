"""Private learners with scikit-learn's interface; needs scikit-learn (the extra ``learn``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpproof.accountant import errors, public_names

if TYPE_CHECKING:
    from dpproof.learn.cover_classifier import CoverClassifier as CoverClassifier
    from dpproof.learn.fitted_data import (
        UnpaidTransformer as UnpaidTransformer,
        public_data as public_data,
    )
    from dpproof.learn.k_means import KMeans as KMeans
    from dpproof.learn.linear_regression import LinearRegression as LinearRegression
    from dpproof.learn.logistic_regression import LogisticRegression as LogisticRegression
    from dpproof.learn.margin_classifier import MarginClassifier as MarginClassifier
    from dpproof.learn.pca import PCA as PCA
    from dpproof.learn.perceptron_classifier import PerceptronClassifier as PerceptronClassifier
    from dpproof.learn.pipelines import (
        pipeline_guarantee as pipeline_guarantee,
        private_pipeline as private_pipeline,
    )
    from dpproof.learn.price_of_tuning import (
        TuningPrice as TuningPrice,
        tuning_price as tuning_price,
    )
    from dpproof.learn.private_estimator import (
        PredictableNoise as PredictableNoise,
        RefitRefused as RefitRefused,
        SecondRelease as SecondRelease,
    )
    from dpproof.learn.private_scaler import PrivateScaler as PrivateScaler
    from dpproof.learn.robustness import (
        attack as attack,
        certify_radius as certify_radius,
        robust_accuracy as robust_accuracy,
    )
    from dpproof.learn.select_k_best import SelectKBest as SelectKBest
    from dpproof.learn.tuned_classifier import TunedClassifier as TunedClassifier, tune as tune
else:
    _HOMES = public_names.homes_of(__name__)
    __all__ = list(_HOMES)

    def __getattr__(name: str) -> object:
        """Return a public name from the module that defines it, imported on first use.

        Raises:
            MissingDependency: scikit-learn is not installed.
        """
        try:
            return public_names.fetch(__name__, _HOMES, name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "sklearn":
                raise
            hint = f"{name} needs scikit-learn: pip install 'dpproof[learn]'"
            raise errors.MissingDependency(hint) from None
