"""Disagreements with other libraries that their threads know, or that are sound, reproduced.

Each test asserts the peer's number as well as ours: when the peer is mended, the test fails, and
docs/DIVERGENCES.md, which explains every one of them under the test's name, is to be changed.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from dpproof.accountant.errors import NotImplied
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.sampling import Poisson
from dpproof.accountant.sensitivity import L1, L2, L2Contribution
from dpproof.interop import from_dp_event
from dpproof.mechanisms import (
    FixedEpochs,
    Gaussian,
    Laplace,
    LowerTriangular,
    MatrixMechanism,
    MinSeparation,
)
from dpproof.mechanisms.correlated.factors import Participation
from tests.peers.support import (
    ADD_REMOVE,
    REPLACE_ONE,
    dp_accounting,
    gaussian_event,
    replaced_gaussian,
    sampled_gaussian,
)

pld = pytest.importorskip("dp_accounting.pld")
rdp = pytest.importorskip("dp_accounting.rdp")

pytestmark = pytest.mark.peer

LEDGER = Path(__file__).resolve().parents[2] / "docs" / "DIVERGENCES.md"


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """The peer logs where it should refuse."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def test_every_divergence_is_explained() -> None:
    """The ledger has one heading for each test of this file, and no other."""
    tests = {name for name in globals() if name.startswith("test_")}
    tests.remove("test_every_divergence_is_explained")
    explained = re.findall(r"^### `(test_\w+)`", LEDGER.read_text(), flags=re.MULTILINE)

    assert len(explained) == len(set(explained))
    assert set(explained) == tests


def test_rdp_sensitivity_not_doubled_under_replace_one() -> None:
    """The Renyi accountant answers for add/remove where the other one of the package does not."""
    event = gaussian_event(1.0)
    wrong = rdp.RdpAccountant(neighboring_relation=REPLACE_ONE).compose(event).get_epsilon(1e-6)
    right = pld.PLDAccountant(REPLACE_ONE, 1e-2).compose(event).get_epsilon(1e-6)
    ours = replaced_gaussian(1.0).guarantee().epsilon(delta=1e-6)

    assert wrong == rdp.RdpAccountant().compose(event).get_epsilon(1e-6)
    assert wrong == pytest.approx(5.2215, abs=1e-4)
    assert right == pytest.approx(10.997, abs=1e-2)
    assert wrong < ours.lower <= ours.upper <= right


def test_rdp_laplace_not_doubled_under_replace_one() -> None:
    """The same for Laplace noise, which the other accountant refuses under replace-one."""
    event = dp_accounting.LaplaceDpEvent(1.0)
    wrong = rdp.RdpAccountant(neighboring_relation=REPLACE_ONE).compose(event).get_epsilon(1e-9)
    ours = Laplace(scale=1, sensitivity=L1(2, ReplaceOne())).guarantee()

    assert wrong == pytest.approx(1.0118, abs=1e-3)
    assert wrong < 1.99 < ours.epsilon(delta=1e-9).lower
    with pytest.raises(dp_accounting.UnsupportedEventError):
        pld.PLDAccountant(REPLACE_ONE).compose(event)


def test_rdp_sign_of_binomials_lost_at_fractional_orders() -> None:
    """The alternating series is added with all signs positive: sound, 30 times too large here."""
    sigma, rate, order = 20.0, 0.1, 1.1
    (theirs,) = rdp.RdpAccountant(orders=[order]).compose(gaussian_event(sigma, rate)).rdp
    ours = sampled_gaussian(sigma, rate, 1).guarantee().rdp(order=order)
    with mpmath.workdps(30):

        def integrand(x: mpmath.mpf) -> mpmath.mpf:
            ratio = 1 - mpmath.mpf(rate) + rate * mpmath.exp((2 * x - 1) / (2 * sigma**2))
            return mpmath.npdf(x, 0, sigma) * ratio**order

        moment = mpmath.quad(integrand, [-300, -100, 0, 100, 300])
        truth = float(mpmath.log(moment) / (order - 1))

    assert ours.lower * (1 - 1e-6) <= truth <= ours.upper * (1 + 1e-6)
    assert theirs > 30 * truth


def test_rdp_series_gives_up_at_fractional_orders() -> None:
    """With all signs positive the series often diverges: infinity, and the order is lost."""
    (theirs,) = rdp.RdpAccountant(orders=[1.5]).compose(gaussian_event(1.0, 0.1)).rdp
    ours = sampled_gaussian(1.0, 0.1, 1).guarantee().rdp(order=1.5)

    assert theirs == math.inf
    assert ours.upper < 0.0118


def test_rdp_fixed_size_sampling_below_an_instance() -> None:
    """1,000 records, 100 of them drawn, 10 steps: below what one pair of datasets already costs.

    All other records are -1 and the replaced one becomes 1: the sum has the laws of a Gaussian
    at 0, or with the rate at 2, up to a known shift.
    """
    event = dp_accounting.SampledWithoutReplacementDpEvent(1000, 100, gaussian_event(1.0))
    peer = rdp.RdpAccountant(orders=[1.5, *range(2, 33)], neighboring_relation=REPLACE_ONE)
    theirs = peer.compose(event, 10).get_epsilon(1e-5)
    instance = sampled_gaussian(0.5, 0.1, 10).guarantee().epsilon(delta=1e-5)
    by_the_other = pld.PLDAccountant(value_discretization_interval=1e-3)
    again = by_the_other.compose(gaussian_event(0.5, 0.1), 10).get_epsilon(1e-5)

    assert theirs == pytest.approx(4.586, abs=1e-2)
    assert instance.lower > 12.26
    assert again == pytest.approx(12.261, abs=1e-2)


def test_pld_infinite_where_renyi_is_finite() -> None:
    """A delta below the mass that the accountant cuts off has no epsilon."""
    event = gaussian_event(4.0, 1 / 3000)
    theirs = pld.PLDAccountant().compose(event, 10_000).get_epsilon(1.13e-18)
    ours = sampled_gaussian(4.0, 1 / 3000, 10_000).guarantee().epsilon(delta=1.13e-18)

    assert theirs == math.inf
    assert ours.upper < 0.1484
    assert ours.upper < rdp.RdpAccountant().compose(event, 10_000).get_epsilon(1.13e-18)


def test_poisson_sampling_under_replace_one_is_refused() -> None:
    """The peer answers for every query with a formula that is true of sums of contributions."""
    theirs = pld.PLDAccountant(REPLACE_ONE, 1e-2).compose(gaussian_event(1.0, 0.2), 10)

    scheme = Poisson(sampling_rate=0.2)
    summed = Gaussian(sigma=1, sensitivity=L2Contribution(1, ReplaceOne()))

    ours = summed.subsample(scheme).repeat(10).guarantee().epsilon(delta=1e-5)
    assert theirs.get_epsilon(1e-5) == pytest.approx(ours.upper, rel=0.01)
    with pytest.raises(NotImplied, match="replace-one"):
        replaced_gaussian(1.0).subsample(scheme).guarantee()


def test_truncated_sample_counted_as_replaced() -> None:
    """Cut samples cost it what a replaced record would, also under add/remove."""
    event = dp_accounting.TruncatedSubsampledGaussianDpEvent(1000, 0.01, 15, 1.0)
    theirs = pld.PLDAccountant(ADD_REMOVE, 1e-3).compose(event)
    ours = from_dp_event(event, relation=AddRemove())

    for epsilon, more in ((0.1, 1.034), (1.0, 1.009)):
        assert theirs.get_delta(epsilon) > more * ours.delta(epsilon=epsilon).upper


def _gram(rows: list[list[float]]) -> Any:  # noqa: ANN401  # untyped library
    """Products of columns in the peer's arrays, and the module of its sensitivities."""
    sensitivity = pytest.importorskip("jax_privacy.matrix_factorization.sensitivity")
    factor = np.array(rows, dtype=np.float32)
    return sensitivity, sensitivity.jnp.asarray(factor.T @ factor)


def _squared(rows: list[list[float]], participation: Participation) -> float:
    """The square of the sensitivity that a matrix mechanism of ours states."""
    noise = MatrixMechanism(
        factor=LowerTriangular(rows), sigma=1, sensitivity=L2(1), participation=participation
    )
    return float(noise.guarantee().mu_squared)


@pytest.mark.slow
def test_jax_row_maxima_of_banded_factors() -> None:
    """Its bound for any factor is not that for banded ones, which its docstring says it is."""
    rows = [[0.4, 0, 0, 0, 0, 0], [1.4, 3, 0, 0, 0, 0], [0, 0.4, 1.3, 0, 0, 0],
            [0, 0, 3, 0.2, 0, 0], [0, 0, 0, 2.7, 1.8, 0], [0, 0, 0, 0, 0.6, 0.6]]  # fmt: skip
    sensitivity, gram = _gram(rows)
    banded = sensitivity.get_sensitivity_banded_for_X(gram, 2)
    bound = sensitivity.get_min_sep_sensitivity_upper_bound_for_X(gram, 2)
    ours = math.sqrt(_squared(rows, MinSeparation(2)))

    assert ours == pytest.approx(banded, rel=1e-6)
    assert bound > 1.09 * banded


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Explicitly requested dtype")
def test_jax_absolute_values_of_negative_products() -> None:
    """Columns that point apart cost less than the sum of absolute values."""
    half = 0.75**0.5
    rows = [[0.05, 0, 0], [-half, half, 0], [-0.5, -0.5, 1]]
    sensitivity, gram = _gram(rows)
    theirs = sensitivity.fixed_epoch_sensitivity_for_X(gram, epochs=3)
    ours = math.sqrt(_squared(rows, FixedEpochs(3)))

    assert theirs == pytest.approx(6**0.5, rel=1e-3)
    assert ours == pytest.approx(4.5**0.5, rel=1e-3)
