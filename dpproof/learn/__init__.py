"""Private learners with scikit-learn's interface; needs scikit-learn (the extra ``learn``)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpproof.learn.certified_radius import certify_radius
    from dpproof.learn.logistic_regression import LogisticRegression
    from dpproof.learn.perceptron_classifier import PerceptronClassifier
    from dpproof.learn.refits import RefitRefused
    from dpproof.learn.robustness import attack, robust_accuracy
    from dpproof.learn.tuned_classifier import TunedClassifier, tune
    from dpproof.learn.warnings import PredictableNoise, SecondRelease

_HOMES = {
    "LogisticRegression": "dpproof.learn.logistic_regression",
    "PerceptronClassifier": "dpproof.learn.perceptron_classifier",
    "PredictableNoise": "dpproof.learn.warnings",
    "RefitRefused": "dpproof.learn.refits",
    "SecondRelease": "dpproof.learn.warnings",
    "TunedClassifier": "dpproof.learn.tuned_classifier",
    "attack": "dpproof.learn.robustness",
    "certify_radius": "dpproof.learn.certified_radius",
    "robust_accuracy": "dpproof.learn.robustness",
    "tune": "dpproof.learn.tuned_classifier",
}

__all__ = [
    "LogisticRegression",
    "PerceptronClassifier",
    "PredictableNoise",
    "RefitRefused",
    "SecondRelease",
    "TunedClassifier",
    "attack",
    "certify_radius",
    "robust_accuracy",
    "tune",
]


def __getattr__(name: str) -> object:
    """A public name, from where it is defined, when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value
