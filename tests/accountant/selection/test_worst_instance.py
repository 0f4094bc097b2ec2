"""The orders that lower ends come from can be realised."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.accountant.selection import worst_instance as module
from dpproof.accountant.selection.finite_base import Outcomes
from tests.proofs.builders import drawn_masses, drawn_runs, outcomes


def test_others_stand_above_in_order_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Further down never fewer others are above, and no outcome is event and other at once."""
    seen: list[tuple[Outcomes, Reals, Reals]] = []
    original = module._selected

    def spy(rows: Outcomes, others_p: Reals, others_q: Reals, law: RunLaw) -> module.Instance:
        seen.append((rows, others_p, others_q))
        return original(rows, others_p, others_q, law)

    monkeypatch.setattr(module, "_selected", spy)
    for seed in range(80):
        rng = np.random.default_rng(seed)
        runs = drawn_runs(rng)
        p, q = (np.array([float(x) for x in one]) for one in drawn_masses(rng, 5))
        base = outcomes(p, q)
        for epsilon in (0.0, 0.5, 1.5):
            module.instance(base, runs.law, epsilon, -math.inf, 0.2)

    assert len(seen) > 200
    for rows, others_p, others_q in seen:
        assert (np.diff(others_p) >= 0).all()
        assert (np.diff(others_q) >= 0).all()
        assert rows.p.sum() + others_p[-1] <= 1 + 1e-9
        assert rows.unseen + rows.q.sum() + others_q[-1] <= 1 + 1e-9
