"""Priced studies of Optuna."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpproof as dp
from dpproof.errors import InputError
from dpproof.interop import optimize_priced

optuna = pytest.importorskip("optuna")
ONCE, LAW = dp.GDP(mu=0.5), dp.FixedRuns(count=5)


def study(**given: Any) -> Any:  # noqa: ANN401  # of a library without types
    """A study that draws every trial alike."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    alike = {"sampler": optuna.samplers.RandomSampler(), "pruner": optuna.pruners.NopPruner()}
    towards = {} if "directions" in given else {"direction": "maximize"}
    return optuna.create_study(**{**alike, **towards, **given})


def objective(trial: Any) -> float:  # noqa: ANN401  # of a library without types
    """The larger the parameter the better."""
    return float(trial.suggest_float("rate", 0, 1))


@pytest.mark.peer
def test_runs_as_often_as_drawn_and_goes_on(tmp_path: Path) -> None:
    """A study that failed half-way makes the trials that are left; the best one is returned."""
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    first = study(storage=storage, study_name="s")

    def failing(trial: Any) -> float:  # noqa: ANN401  # as above
        if trial.number == 2:
            raise RuntimeError("the machine stopped")
        return objective(trial)

    with pytest.raises(RuntimeError):
        optimize_priced(first, failing, once=ONCE, runs=LAW)
    again = study(storage=storage, study_name="s", load_if_exists=True)
    best, guarantee = optimize_priced(again, objective, once=ONCE, runs=LAW)
    complete = [one for one in again.trials if one.state.name == "COMPLETE"]
    assert len(complete) == 5
    assert best.value == max(one.value for one in complete)
    assert guarantee == dp.select(ONCE, LAW)
    assert optimize_priced(study(), objective, once=ONCE, runs=dp.PoissonRuns(rate=1e-9))[0] is None


@pytest.mark.peer
def test_refuses_what_is_not_alike() -> None:
    """Samplers that learn, pruners, several directions, trials of before, and no study."""
    told = {
        "TPESampler": study(sampler=optuna.samplers.TPESampler()),
        "MedianPruner": study(pruner=optuna.pruners.MedianPruner()),
        "one direction": study(directions=["maximize", "minimize"]),
        "expected a study": object(),
    }
    used = study()
    used.optimize(objective, n_trials=1)
    told["without trials"] = used
    for reason, one in told.items():
        with pytest.raises(InputError, match=reason):
            optimize_priced(one, objective, once=ONCE, runs=LAW)

    def pruned(_: object) -> float:
        raise optuna.TrialPruned

    with pytest.raises(InputError, match="pruned"):
        optimize_priced(study(), pruned, once=ONCE, runs=LAW)


@pytest.mark.peer
def test_a_study_keeps_its_price() -> None:
    """Another guarantee or law, whether before or after the trials, is refused, and none too."""
    begun, other = study(), dp.GDP(mu=Fraction(10**20 + 1, 2 * 10**20))
    optimize_priced(begun, objective, once=ONCE, runs=LAW)
    assert optimize_priced(begun, objective, once=ONCE, runs=LAW)[1] == dp.select(ONCE, LAW)
    given: tuple[dict[str, Any], ...] = ({"once": other}, {"runs": dp.FixedRuns(count=4)})
    for one in given:
        with pytest.raises(InputError, match="another guarantee or law"):
            optimize_priced(begun, objective, **{"once": ONCE, "runs": LAW, **one})
    with pytest.raises(dp.ParameterError, match="once"):
        optimize_priced(study(), objective, once=None, runs=LAW)  # type: ignore[arg-type]  # bad on purpose


@pytest.mark.peer
def test_enqueued_trials_are_refused() -> None:
    """One that the objective enqueues meanwhile is not drawn alike."""
    begun = study()

    def enqueues(trial: Any) -> float:  # noqa: ANN401  # of a library without types
        if trial.number == 1:
            begun.enqueue_trial({"rate": 0.5})
        return objective(trial)

    with pytest.raises(InputError, match="enqueued, not drawn"):
        optimize_priced(begun, enqueues, once=ONCE, runs=LAW)
