"""DP-SGD tutorials: the accounting of Poisson samples, printed for shuffled batches."""

from __future__ import annotations

from dpproof.accountant import L2, L2Contribution, Poisson, ShuffledBatches, ZeroOut
from dpproof.mechanisms import Gaussian
from dpproof.rounding import above, below
from experiments.claims.claim import Claim, Verdict


def shuffled() -> str:
    """Compare Poisson samples with the lower end of shuffled batches, at the tutorial's numbers."""
    delta, epochs, batches = 1e-6, 10, 469
    samples = Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=128 / 60_000))
    printed = samples.repeat(epochs * batches).guarantee().epsilon(delta=delta)
    base = Gaussian(sigma=1, sensitivity=L2Contribution(1, ZeroOut()))
    epoch = base.allocate(ShuffledBatches(batches=batches))
    found = epoch.repeat(epochs).guarantee().epsilon(delta=delta)
    assert printed.upper < 0.8541
    assert found.lower > 6.902
    return (
        f"batches of 128 of 60,000, noise 1, {epochs} epochs, delta 1e-6: printed "
        f"{printed.upper:.3g}, proved to be at least {below(found.lower, 4)}, and at most "
        f"{above(found.upper, 4)}"
    )


CLAIMS = (
    Claim(
        title="Shuffled batches cost what Poisson samples of their size cost",
        source="tutorials of Opacus (poisson_sampling=False) and TensorFlow Privacy; the gap was "
        "shown by Chua et al., arXiv:2403.17673",
        printed="the epsilon of Poisson accounting, for DataLoader(shuffle=True) and "
        "fit(shuffle=True)",
        verdict=Verdict.FALSE,
        check=shuffled,
        shipped="`ShuffledBatches`: a bracket of both ends, certified",
    ),
)
