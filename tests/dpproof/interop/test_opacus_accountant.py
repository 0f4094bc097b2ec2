"""Our brackets behind the accountant of Opacus, and in its engine."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import pytest

import dpproof as dp
from dpproof.errors import InputError
from dpproof.interop import OpacusAccountant, from_opacus_history

DELTA = 1e-5


def trained(*, poisson: bool = True) -> OpacusAccountant:
    """An accountant after three steps at one noise and two at another."""
    found = OpacusAccountant(poisson=poisson)
    for noise in (1.1, 1.1, 1.1, 0.9, 0.9):
        found.step(noise_multiplier=noise, sample_rate=0.02)
    return found


@pytest.mark.parametrize("poisson", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_epsilon_is_the_upper_end_of_the_history(poisson: bool) -> None:  # noqa: FBT001  # a parameter
    """Equal steps are one entry; both ends are those of the history as it is read."""
    found = trained(poisson=poisson)
    assert found.history == [(1.1, 0.02, 3), (0.9, 0.02, 2)]
    assert len(found) == 5
    expected = from_opacus_history(found.history, poisson=poisson).epsilon(delta=DELTA)
    assert found.get_epsilon(DELTA, alphas=[2.0]) == expected.upper
    assert found.guarantee().epsilon(delta=DELTA) == expected


def test_nothing_recorded_costs_nothing() -> None:
    """Before the first step epsilon is 0, of the neighbours that the history would speak of."""
    assert OpacusAccountant(poisson=True).get_epsilon(delta=0) == 0
    assert OpacusAccountant(poisson=True).guarantee().relation == dp.AddRemove()
    assert OpacusAccountant(poisson=False).guarantee().relation == dp.ZeroOut()


def test_state_goes_through_a_checkpoint() -> None:
    """A state is loaded whole, of Opacus' accountants too, but not of batches drawn otherwise."""
    state = trained().state_dict({"kept": 1})
    assert state["kept"] == 1
    fresh = OpacusAccountant(poisson=True)
    fresh.load_state_dict(state)
    fresh.step(noise_multiplier=0.9, sample_rate=0.02)
    assert fresh.history[-1] == (0.9, 0.02, 3)
    assert state["history"][-1] == (0.9, 0.02, 2)
    fresh.load_state_dict({"history": [(1.1, 0.01, 7)], "mechanism": "rdp"})
    assert len(fresh) == 7
    with pytest.raises(InputError, match="dpproof-poisson, not of dpproof-shuffled"):
        OpacusAccountant(poisson=False).load_state_dict(state)
    bad: tuple[Any, ...] = ({}, None, [1], "history", {"history": 3}, {"history": [(1.1, 0.01)]})
    for one in bad:
        with pytest.raises(InputError):
            fresh.load_state_dict(one)
    assert len(fresh) == 7


def test_refuses_what_it_cannot_account_for() -> None:
    """Neither word about batches, and steps without noise, are answered."""
    with pytest.raises(dp.ParameterError, match="True or False"):
        OpacusAccountant(poisson=None)  # type: ignore[arg-type]  # bad on purpose
    for poisson, relation in ((True, dp.ReplaceOne()), (True, "add-remove"), (False, "zero-out")):
        with pytest.raises(dp.ParameterError, match="relation"):
            OpacusAccountant(poisson=poisson, relation=relation)  # type: ignore[arg-type]  # as above
    silent = OpacusAccountant(poisson=True)
    silent.step(noise_multiplier=0.0, sample_rate=0.02)
    with pytest.raises(dp.ParameterError, match="no privacy without"):
        silent.get_epsilon(delta=DELTA)


def test_hook_counts_accumulated_batches() -> None:
    """A step on k shuffled batches is one larger batch; k Poisson samples are not one, but k."""
    found, sampled = OpacusAccountant(poisson=False), OpacusAccountant(poisson=True)
    two, one = (SimpleNamespace(noise_multiplier=1.1, accumulated_iterations=n) for n in (2, 1))
    found.get_optimizer_hook_fn(sample_rate=0.01)(two)
    assert found.history == [(1.1, 0.02, 1)]
    hook = sampled.get_optimizer_hook_fn(sample_rate=0.01)
    with pytest.raises(InputError, match="price them by UserPoisson"):
        hook(two)
    hook(one)
    assert sampled.history == [(1.1, 0.01, 1)]


@pytest.mark.peer
@pytest.mark.slow
def test_serves_opacus() -> None:
    """The engine trains with it by its name, calibrates with it, and resumes from a checkpoint."""
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opacus = pytest.importorskip("opacus")
        engine = opacus.PrivacyEngine(accountant="dpproof-poisson")
        model = torch.nn.Linear(4, 2)
        data = torch.utils.data.TensorDataset(torch.zeros(200, 4), torch.zeros(200).long())
        loader = torch.utils.data.DataLoader(data, batch_size=20)
        model, optimiser, loader = engine.make_private_with_epsilon(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data_loader=loader,
            target_epsilon=3.0,
            target_delta=DELTA,
            epochs=2,
            max_grad_norm=1.0,
        )
        for _ in range(2):
            for records, labels in loader:
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(model(records), labels).backward()
                optimiser.step()
    assert isinstance(engine.accountant, opacus.accountants.IAccountant)
    assert len(engine.accountant) == 20
    assert 2.98 < engine.get_epsilon(DELTA) <= 3.0
    theirs = opacus.accountants.RDPAccountant()
    theirs.history = engine.accountant.history
    assert engine.get_epsilon(DELTA) < theirs.get_epsilon(DELTA)
