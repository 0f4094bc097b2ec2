"""Budget accountants of diffprivlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpproof.accountant import ApproxDP, Guarantee, PureDP, compose
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import Relation
from dpproof.errors import InputError


def from_diffprivlib(accountant: Any, relation: Relation | None = None) -> Guarantee[Relation]:  # noqa: ANN401  # of a library that need not be there
    """Return the composition of what a budget accountant has recorded, as it states it.

    The parts are assumptions: nothing here says that a model of diffprivlib keeps its epsilon.

    Args:
        accountant: a ``BudgetAccountant``, its ``spent_budget``, or a mapping with that key.
        relation: which datasets are neighbours, which the accountant does not say.
    Raises:
        ParameterError: no relation, or numbers outside their domain.
        InputError: it has no list of spent budgets.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> total = from_diffprivlib([(1.0, 0.0), (0.5, 1e-6)], AddRemove())
        >>> total.epsilon(delta=2e-6).upper <= 1.5
        True
    """
    if not isinstance(relation, Relation):
        raise ParameterError("relation", relation, "AddRemove(), ReplaceOne() or ZeroOut()")
    spent = accountant
    if isinstance(accountant, Mapping):
        spent = accountant.get("spent_budget")
    elif not isinstance(accountant, Sequence):
        spent = getattr(accountant, "spent_budget", None)
    if not isinstance(spent, Sequence) or isinstance(spent, str):
        raise InputError(
            "expected a budget accountant with spent_budget, a list of (epsilon, delta)"
        )
    if not spent:
        return PureDP(epsilon=0, relation=relation)
    return compose(*(_part(part, relation) for part in spent))


def _part(part: object, relation: Relation) -> Guarantee[Relation]:
    if not isinstance(part, Sequence) or isinstance(part, str) or len(part) != 2:
        raise InputError(f"expected (epsilon, delta), got {part!r:.60}")
    epsilon, delta = part
    if delta == 0:
        return PureDP(epsilon=epsilon, relation=relation)
    return ApproxDP(epsilon=epsilon, delta=delta, relation=relation)
