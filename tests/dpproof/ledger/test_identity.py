"""The lasting form in which a ledger compares guarantees."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dpproof as dp
from dpproof.accountant.arithmetic.atoms import Atoms
from dpproof.accountant.guarantees.guarantee import rederived
from dpproof.accountant.pairs.finite import LatticePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.ledger.errors import LedgerError
from dpproof.ledger.spending import identity

SGD = dp.Gaussian(sigma=2, sensitivity=dp.L2(1)).subsample(dp.Poisson(sampling_rate=0.01))


def test_a_key_is_compared_by_a_lasting_form() -> None:
    """Rules, parameters and stated numbers tell guarantees apart; their wording does not."""
    training = SGD.repeat(100).guarantee()
    for other in (SGD.repeat(101), SGD.repeat(10).repeat(10), dp.compose(SGD.repeat(100), SGD)):
        assert identity(other.guarantee()) != identity(training)

    reworded = replace(training.derivation, statement="the same in other words")
    assert identity(rederived(training, reworded)) == identity(training)


def test_the_form_is_that_of_certificates() -> None:
    """What a ledger has kept is compared with what later versions write."""
    assert identity(dp.ZCDP(rho=Fraction(1, 3))) == (
        '[2,{"notion":"zcdp","relation":"add-remove","rho":"1/3","steps":1},'
        '[["state/zcdp",{},[],{"notion":"zcdp","relation":"add-remove","rho":"1/3","steps":1}]]]'
    )


def test_what_has_no_lasting_form_is_refused() -> None:
    """Long arrays are written with an ellipsis, and two that differ inside it would be one key."""
    log_p = np.full(2000, -np.log(2000.0))
    pair = LatticePair(Atoms(log_p, np.zeros(2000), 0.0, 0.0), np.arange(2000.0), 2.0**-10)
    tabulated = dp.accountant.DominatingPair(forward=Product((Factor(pair, 1),)))

    with pytest.raises(LedgerError, match="ndarray cannot be told from others"):
        identity(tabulated)
