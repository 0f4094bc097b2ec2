"""Ghazi, Kumar, Manurangsi & Nguyen: the batch perceptron and its use."""

from __future__ import annotations

import math
from fractions import Fraction

from dpproof.accountant import GDP, AddRemove
from dpproof.mechanisms import BatchPerceptron, Featured, FourierFeatures, LaplaceStop
from experiments.claims.claim import Claim, Verdict
from experiments.claims.ranges import widest_range

PAPER = "Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580"


def boosting() -> str:
    """Check that one fresh record decides between runs.

    Each run is wrong on it with probability 1/2.
    """
    runs = 10
    all_wrong = 0.5**runs
    epsilon = math.log((1 - all_wrong) / all_wrong)
    assert abs(epsilon - math.log(2**runs - 1)) < 1e-9
    assert epsilon > 1
    return f"the best of {runs} runs by one fresh record has ε at least {epsilon:.2f}"


def lemma19() -> str:
    """Account for the printed noise exactly."""
    steps, delta = 100, 1e-5
    log = math.log(steps / delta)
    learner = BatchPerceptron(
        margin=0,
        steps=steps,
        sigma=100 * log,
        rate=Fraction(1, 10),
        stop=LaplaceStop(scale=100 * math.sqrt(log), below=1),
        relation=AddRemove(),
    )
    found = learner.guarantee().epsilon(delta=delta)
    assert 0.0058 < found.lower <= found.upper < 0.0059
    return f"at T = 100 the noise printed for (1, 1e-5) costs ε = {found.upper:.6f}"


def one_vs_rest() -> str:
    """Account for ten classifiers at the noise of one."""
    one = BatchPerceptron(
        margin=0, steps=120, sigma=0.871199, rate=Fraction(1, 120), relation=AddRemove()
    )
    single = one.guarantee().epsilon(delta=1e-5)
    ten = one.repeat(10).guarantee().epsilon(delta=1e-5)
    assert 0.999 < single.upper < 1.001
    assert 2.24 < ten.lower <= ten.upper < 2.26
    return f"noise that costs one classifier ε = {single.upper:.3f} costs ten {ten.upper:.3f}"


def threshold() -> str:
    """Follow a record that is in no sample: it moves the threshold, and so the law of the stop."""
    alpha, rate, scale, records = 0.1, 0.001, 1.0, 10_000
    before = 0.3 * alpha * rate * records
    after = 0.3 * alpha * rate * (records + 1)
    # No mistakes among the sampled: a run goes on if Laplace noise is at least the threshold.
    stays = [0.5 * math.exp(-theta / scale) for theta in (before, after)]
    loss = math.log(stays[0] / stays[1])
    assert abs(loss - 0.3 * alpha * rate / scale) < 1e-9
    return f"a record outside the sample costs {loss:.0e} a step, where amplification says 0"


def copies() -> str:
    """Compare what the printed delta leaves of the proof's 0.001, at many copies of a bit."""
    epsilon = 0.1
    share = -math.expm1(-epsilon)
    printed, needed = (0.001 / share) / share, (0.001 * share) / share
    assert printed > 0.1 > 0.001 * (1 + 1e-9) > needed
    return (
        f"at ε = {epsilon} the printed δ = 0.001/(1 − e^-ε) adds up to {printed:.3f} over the "
        "copies, where the proof has room for 0.001: δ = 0.001 (1 − e^-ε) is meant"
    )


def every_delta() -> str:
    """Account for the printed noise at T = 1 and a delta near 1: hardly any noise."""
    gap = 1e-9
    sigma = 100 * -math.log1p(-gap)
    true = GDP(mu=1 / sigma).delta(epsilon=1)
    assert true.lower > 1 - gap
    return (
        f"T = 1, δ = 1 − {gap:g}: the noise printed for ε = 1 has σ = {sigma:.1g}, whose δ(1) is "
        "above that δ"
    )


def kernels() -> str:
    """Account for ten classes on Fourier features, at noise for one."""
    one = BatchPerceptron(
        margin=0, steps=60, sigma=1.0057, rate=Fraction(1, 60), relation=AddRemove()
    )
    plan = FourierFeatures(features=4, frequencies=8, width=1, seed=1)
    single = Featured(base=one, map=plan).guarantee().epsilon(delta=1e-5)
    ten = Featured(base=one, map=plan).repeat(10).guarantee().epsilon(delta=1e-5)
    assert 0.999 < single.upper < 1.001
    assert 2.45 < ten.lower <= ten.upper < 2.47
    return f"noise that costs one mapped class ε = {single.upper:.3f} costs ten {ten.upper:.3f}"


def sphere() -> str:
    """Enumerate how five counts can move, at the printed factor ε/2."""
    added, replaced = widest_range(0.5, (0, 1)), widest_range(0.5, (-1, 0, 1))
    assert abs(added - 0.5) < 1e-12
    assert abs(replaced - 1) < 1e-12
    return (
        f"at the factor printed for ε = 1 log-ratios have a range of {added:.4f} if a record is "
        f"added, the paper's relation, and of {replaced:.4f} if one is replaced"
    )


CLAIMS = (
    Claim(
        title="The best of several runs by fresh samples is as private as one",
        source=f"{PAPER}, Observation 8",
        printed="output the candidate of least error on fresh samples, at no cost in ε",
        verdict=Verdict.FALSE,
        check=boosting,
        shipped="`ChooseIterate`, `ExponentialHalfspaces`, or `.select` with a private score",
    ),
    Claim(
        title="The batch perceptron needs σ = 100 ln(T/δ)/ε",
        source=f"{PAPER}, Lemma 19",
        printed="(ε, δ)-DP with that σ, and Laplace noise of scale 100√ln(T/δ)/ε in the test",
        verdict=Verdict.LOOSE,
        check=lemma19,
        shipped="`BatchPerceptron`, accounted for exactly: a noise about 200 times smaller",
    ),
    Claim(
        title="Training every class costs what training one does",
        source=f"{PAPER}, section 5",
        printed="a fixed (ε, δ) budget, no factor for the ten classes that see every record",
        verdict=Verdict.UNPROVED,
        check=one_vs_rest,
        shipped="`.repeat` pays for every class; `KeslerPerceptron` learns all in one run for √2",
    ),
    Claim(
        title="A step of the batch perceptron is a function of its sample",
        source=f"{PAPER}, Algorithm 1 with Lemma 20",
        printed="stop if the noisy number of mistakes is below 0.3 α p n; amplification by "
        "sampling",
        verdict=Verdict.UNPROVED,
        check=threshold,
        shipped="`LaplaceStop` and `GaussianStop` with a constant threshold",
    ),
    Claim(
        title="A learner of n copies of one bit is wrong with constant probability",
        source=f"{PAPER}, Lemma 15 and Theorem 3",
        printed="for every (ε, 0.001/(1 − e^-ε))-DP algorithm and few copies",
        verdict=Verdict.UNPROVED,
        check=copies,
        shipped="`group` with the exact trade-off function; the theorem's asymptotics stand",
    ),
    Claim(
        title="The batch perceptron is (ε, δ)-DP for every δ in (0, 1)",
        source=f"{PAPER}, Lemma 19",
        printed="no condition on δ",
        verdict=Verdict.FALSE,
        check=every_delta,
        shipped="`BatchPerceptron`, whose σ is stated and accounted for; the lemma is right for "
        "δ ≤ 1/2",
    ),
    Claim(
        title="With a kernel the guarantee of all classes is that of one",
        source=f"{PAPER}, section 5, on random Fourier features",
        printed="the privacy guarantee is exactly the same",
        verdict=Verdict.UNPROVED,
        check=kernels,
        shipped="`Featured`: a map is free, and classes cost what they cost without it",
    ),
    Claim(
        title="The pure learner on the sphere is ε-DP",
        source=f"{PAPER}, Theorem 5",
        printed="ε-DP by the exponential mechanism with factor ε/2",
        verdict=Verdict.LOOSE,
        check=sphere,
        shipped="`ExponentialHalfspaces`: factor ε under add-remove, half the mistakes",
    ),
)
