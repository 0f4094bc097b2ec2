"""Private learners with scikit-learn's interface; needs scikit-learn (the extra ``learn``)."""

from typing import TYPE_CHECKING

from dpproof.accountant import errors, public_names

if TYPE_CHECKING:
    from dpproof.learn.linear_classifier import (
        CoverClassifier as CoverClassifier,
        LogisticRegression as LogisticRegression,
        MarginClassifier as MarginClassifier,
        PerceptronClassifier as PerceptronClassifier,
    )
    from dpproof.learn.pipelines import (
        pipeline_guarantee as pipeline_guarantee,
        private_pipeline as private_pipeline,
    )
    from dpproof.learn.private_estimator import (
        PredictableNoise as PredictableNoise,
        RefitRefused as RefitRefused,
        SecondRelease as SecondRelease,
        UnpaidTransformer as UnpaidTransformer,
        public_data as public_data,
    )
    from dpproof.learn.robustness import (
        attack as attack,
        certify_radius as certify_radius,
        robust_accuracy as robust_accuracy,
    )
    from dpproof.learn.transformers import (
        PCA as PCA,
        KMeans as KMeans,
        LinearRegression as LinearRegression,
        PrivateScaler as PrivateScaler,
        SelectKBest as SelectKBest,
    )
    from dpproof.learn.tuned_classifier import (
        TunedClassifier as TunedClassifier,
        TuningPrice as TuningPrice,
        tune as tune,
        tuning_price as tuning_price,
    )
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
