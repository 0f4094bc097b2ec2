"""A priced search by Optuna: a random number of trials, the best one released."""

from collections.abc import Callable
from typing import Any, Final

from dpproof.accountant import Guarantee, RunLaw, select
from dpproof.accountant.calibration.calibrate import HasGuarantee, guarantee_of
from dpproof.errors import InputError
from dpproof.search import identified, sample_runs

_COUNT: Final = "dpproof: number of trials"
_PRICED: Final = "dpproof: digest of the guarantee and the law"
_ALIKE: Final = {"sampler": "RandomSampler", "pruner": "NopPruner"}


def optimize_priced(
    study: Any,  # noqa: ANN401  # of a library that need not be there
    objective: Callable[[Any], float],
    *,
    once: Guarantee[Any] | HasGuarantee,
    runs: RunLaw,
) -> tuple[Any, Guarantee[Any]]:
    """Run a study of Optuna as often as a law says, and return its best trial and what that costs.

    The theorem asks for runs that are alike: parameters drawn independently of all other trials,
    which Optuna's ``RandomSampler`` does and its default does not, and no pruning. A study in a
    storage is continued: it keeps the number of trials, and a digest of the guarantee and the law.
    The storage is as private as the data: release the best trial alone, not the study. Whether a
    trial fails, and is made again, must not depend on the data.

    Args:
        study: ``optuna.create_study(direction=..., sampler=RandomSampler(), pruner=NopPruner())``,
            without a seed.
        objective: from a trial to its value, which looks at the private output of a run alone.
        once: the guarantee of one trial whatever its parameters, or a mechanism that states it.
        runs: the law of the number of trials.
    Returns:
        The best trial, None if none was drawn; and its guarantee.
    Raises:
        InputError: the study draws parameters by what it saw, prunes, has several directions, has
            trials that were not drawn here, or was priced for another guarantee or law.
        ParameterError: ``once`` is no guarantee, or ``runs`` no law.
    Example:
        >>> optimize_priced(None, len, once=None, runs=None)
        Traceback (most recent call last):
        dpproof.errors.InputError: expected a study of Optuna, got NoneType
    """
    for part, allowed in _ALIKE.items():
        value = getattr(study, part, None)
        if value is None:
            raise InputError(f"expected a study of Optuna, got {type(study).__name__}")
        if type(value).__name__ != allowed:
            raise InputError(
                f"a priced study needs {part}={allowed}(), got {type(value).__name__}: every trial "
                "has to be drawn alike, whatever the others showed"
            )
    if len(study.directions) != 1:
        raise InputError("a priced study has one direction: the best trial is the one released")
    stated = guarantee_of(once, "once")
    guarantee, count = select(stated, runs), _number(study, stated, runs)
    left = count - _complete(study)
    if left > 0:
        study.optimize(objective, n_trials=left)
    if _complete(study) != count:
        raise InputError("trials are left: the best is known, and priced, after all of them")
    return (study.best_trial if count else None), guarantee


def _number(study: Any, once: Guarantee[Any], runs: RunLaw) -> int:  # noqa: ANN401  # as above
    """Return the number of trials that a study keeps, drawn and kept if it is new."""
    digest = identified(once, runs)
    if not {_COUNT, _PRICED} & study.user_attrs.keys():
        if study.trials:
            raise InputError("a priced study begins without trials: they were not drawn by the law")
        study.set_user_attr(_PRICED, digest)
    if study.user_attrs.get(_PRICED) != digest:
        raise InputError("this study was priced for another guarantee or law")
    if _COUNT not in study.user_attrs:
        study.set_user_attr(_COUNT, sample_runs(runs))
    return int(study.user_attrs[_COUNT])


def _complete(study: Any) -> int:  # noqa: ANN401  # of a library that need not be there
    """Return the number of complete trials."""
    if any("fixed_params" in trial.system_attrs for trial in study.trials):
        raise InputError("a trial was enqueued, not drawn")
    states = [trial.state.name for trial in study.trials]
    if "PRUNED" in states:
        raise InputError("a trial was pruned: that looks at the data, and is not priced")
    return states.count("COMPLETE")
