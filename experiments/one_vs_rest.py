"""Several classes by one halfspace each, every one of them paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final, get_args, get_origin

import numpy as np

from dpproof.accountant import arguments as check
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R
from dpproof.accountant.theorems.composition import map_records
from dpproof.mechanisms.learning.bounded_updates import learned
from dpproof.mechanisms.learning.descent import MarginDescent, PhasedHinge
from dpproof.mechanisms.learning.logistic_objective import LogisticObjective
from dpproof.mechanisms.learning.perceptron import BatchPerceptron, MeanHalfspace
from dpproof.mechanisms.learning.records import MOST_CLASSES, Records, as_records
from dpproof.mechanisms.mechanism import Mechanism, Outputs
from dpproof.mechanisms.samplers.rng import Rng
from experiments.noisy_hinge import NoisyHinge, SubsampledHinge

Halfspace = (
    BatchPerceptron[R]
    | SubsampledHinge[R]
    | NoisyHinge[R]
    | MeanHalfspace[R]
    | LogisticObjective[R]
    | MarginDescent[R]
    | PhasedHinge[R]
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OneVsRest(Mechanism[R]):
    """Learn one halfspace per class, its records against all others, with samples of its own.

    Every record takes part in all of them: k classes cost k runs. ``KeslerPerceptron`` learns all
    classes in one run.

    Statement: k independent runs of the base on the same records, relabelled one record at a time,
        so the guarantee is that of ``base.repeat(k)``. One shared sample for all classes would
        multiply the sensitivity of a step by sqrt(k), which costs far more.
    Source: composition; the budget of Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580,
        section 5, is stated for one class.

    Args:
        base: ``BatchPerceptron``, ``SubsampledHinge``, ``NoisyHinge``, ``MeanHalfspace``,
            ``LogisticObjective``, ``MarginDescent`` or ``PhasedHinge``.
        classes: k, from 2; labels are the class numbers 0 to k - 1.
    Outputs:
        A record with fields ``stopped`` (whether all runs were), ``steps`` (of the longest run) and
        ``weights`` of shape (k, features).
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows.
            A record that is not finite, or of an unknown class, contributes nothing.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> base = BatchPerceptron(margin=0.1, steps=10, sigma=40, relation=AddRemove())
        >>> OneVsRest(base=base, classes=10).guarantee().mu
        Fraction(1, 4)
    """

    base: Halfspace[R]
    classes: int

    def __post_init__(self) -> None:
        """Refuse other bases, and fewer than two classes."""
        kinds = tuple(get_origin(kind) for kind in get_args(Halfspace))
        base: object = self.base
        if not isinstance(base, kinds):
            names = ", ".join(kind.__name__ for kind in kinds)
            raise ParameterError("base", base, f"a learner of two classes: {names}")
        number = check.count(classes=self.classes)
        if not 2 <= number <= MOST_CLASSES:
            raise ParameterError("classes", number, f"at least 2 and at most {MOST_CLASSES}")
        object.__setattr__(self, "classes", number)

    @property
    def relation(self) -> R:
        """Return the neighbouring relation of the base learner."""
        return self.base.relation

    @property
    def features(self) -> int | None:
        """Return the width of a row; None takes it from the array."""
        return self.base.features

    def guarantee(self) -> Guarantee[R]:
        """Return the base's guarantee, composed with itself once per class.

        Raises:
            NotImplied: as for the base.
        """
        runs = self.base.repeat(self.classes).guarantee()
        return map_records(runs, description="labelling each record by whether it is of a class")

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Run the base on every relabelled dataset: records of shape (len(datasets), count)."""
        runs = [
            self.base.draw([self._relabelled(c, data) for data in datasets], count, rng)
            for c in range(self.classes)
        ]
        stopped = np.all([run["stopped"] for run in runs], axis=0)
        steps = np.max([run["steps"] for run in runs], axis=0)
        weights = np.stack([run["weights"] for run in runs], axis=2)
        fields = [stopped, steps, weights]
        if "iterates" in (runs[0].dtype.names or ()):
            fields.append(np.stack([run["iterates"] for run in runs], axis=3))
        return np.stack([learned(*one) for one in zip(*fields, strict=True)])

    def _relabelled(self, chosen: int, data: object) -> Records:
        """Relabel records: 1 for the chosen class, -1 for the others, 0 for an unknown class."""
        read = as_records(data, self.features)
        named = np.isin(read.labels, np.arange(self.classes))
        return Records(read.rows, np.where(named, np.where(read.labels == chosen, 1.0, -1.0), 0.0))
