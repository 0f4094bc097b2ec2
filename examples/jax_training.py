"""JAX with a loop of one's own, from the price to the report: digits, searched over two rates.

    pip install '.[plots,report]' jax scikit-learn
    python examples/jax_training.py digits  # both in the folder of dpproof

1. Price: the noise at which the best of a random number of trainings costs (3, 1e-5).
2. Ledger: the whole search is paid for before it runs.
3. Search: as many trainings as the law says; run it again after a crash, and it goes on.
4. Audit: the noisy step of this file, on two neighbours, against its claim.
5. Report: a page for the board, the curve and the audit, in the folder.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

import dpproof as dp

EPSILON, DELTA = 3, 1e-5
RATE, STEPS, CLIP = 0.1, 100, 1.0
LEARNING_RATES = (0.02, 0.05)
RUNS = dp.TruncatedNegativeBinomial(eta=1, gamma=0.5)  # two runs on average
GRID = 2.0**-10
PIPELINE = """[about]
title = "A model that reads digits"
unit = "one image"

[pipeline]
relation = "add-remove"
delta = {delta}
epsilon = {epsilon}

[[stage]]
name = "search"
select = {{ runs = "geometric", gamma = {gamma} }}

[[stage.stage]]
name = "training"
mechanism = "gaussian"
noise_multiplier = {noise!r}
sampling = {{ scheme = "poisson", rate = {rate} }}
count = {steps}

[[stage.stage]]
name = "right answers"
mechanism = "gaussian"
sigma = 20
sensitivity = 1
"""


def training(noise: float) -> dp.Mechanism[dp.AddRemove]:
    """Return one run: every step a Poisson sample, and then a noisy count of right answers."""
    step = dp.Gaussian(sigma=noise, sensitivity=dp.L2(1)).subsample(dp.Poisson(sampling_rate=RATE))
    return dp.compose(step.repeat(STEPS), right_answers())


def right_answers() -> dp.Mechanism[dp.AddRemove]:
    """Return the private score of a model: one record changes the count by 1."""
    return dp.Gaussian(sigma=20, sensitivity=dp.L2(1))


def loss(weights: jax.Array, image: jax.Array, digit: jax.Array) -> jax.Array:
    """Return the cross-entropy of a linear model on one record."""
    return -jax.nn.log_softmax(image @ weights)[digit]


@jax.jit
def noisy_sum(
    key: jax.Array, weights: jax.Array, images: jax.Array, digits: jax.Array, noise: float
) -> jax.Array:
    """Return the sum of clipped gradients plus noise, on a public grid."""
    gradients = jax.vmap(jax.grad(loss), (None, 0, 0))(weights, images, digits)
    norms = jnp.sqrt((gradients**2).sum(axis=(1, 2), keepdims=True))
    clipped = gradients * jnp.minimum(1.0, CLIP / jnp.maximum(norms, 1e-12)) * (1 - 1e-6)
    total = clipped.sum(axis=0) + noise * CLIP * jax.random.normal(key, weights.shape)
    return jnp.round(total / GRID) * GRID


def run(images: np.ndarray, digits: np.ndarray, noise: float, rate: float) -> tuple[Any, float]:
    """Train once, with fresh randomness, and return the model and its private score."""
    # A fresh key of the system's randomness; JAX's generator behind it is no cipher.
    key = jax.random.wrap_key_data(jnp.frombuffer(secrets.token_bytes(8), dtype=jnp.uint32))
    weights = jnp.zeros((images.shape[1], 10))
    for key_of_step in jax.random.split(key, STEPS):
        coins = np.random.default_rng(secrets.randbits(128)).random(len(images))
        chosen = np.flatnonzero(coins < RATE)
        # Blank records fill the batch to a public size: their clipped gradients are exactly 0.
        padded = np.zeros((2 * int(RATE * len(images)), images.shape[1]), images.dtype)
        padded[: len(chosen)] = images[chosen]
        answers = np.zeros(len(padded), digits.dtype)
        answers[: len(chosen)] = digits[chosen]
        weights = weights - rate * noisy_sum(key_of_step, weights, padded, answers, noise)
    right = float((jnp.argmax(images @ weights, axis=1) == digits).sum())
    return weights, right_answers().release(right)


def one_step(records: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return one coordinate of the noisy sum of some records, so many times."""
    keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), size)
    step = partial(noisy_sum, weights=jnp.zeros((1, 10)), images=records, noise=1.0)
    digits = jnp.zeros(len(records), dtype=int)
    found = jax.vmap(lambda key: step(key, digits=digits)[0, 0])(keys)
    return np.asarray(found, dtype=float)


def main(folder: str, samples: int = 20_000) -> None:
    """Run everything, and leave ledger, search, audit, curve and report behind."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    data = load_digits()
    images, digits = (data.data / 16).astype(np.float32), data.target
    shown, truth = images[1500:], digits[1500:]  # public: what they say costs nothing
    images, digits = images[:1500], digits[:1500]

    noise = dp.calibrate(
        lambda sigma: training(sigma).select(RUNS), epsilon=EPSILON, delta=DELTA, tolerance=1e-3
    ).value
    whole = training(noise).select(RUNS).guarantee()
    print(f"noise multiplier {noise:.3f}, {RUNS.mean:.0f} runs on average")

    place = out / "budget.ledger"
    year = dp.ApproxDP(epsilon=4, delta=2 * DELTA)  # of which this search is a part
    ledger = dp.Ledger.open(place) if place.exists() else dp.Ledger.create(place, budget=year)
    with ledger.reserve(whole, key="digits 1", label="digits"):
        search = dp.PricedSearch(
            training(noise), runs=RUNS, candidates=LEARNING_RATES, place=out / "search.json"
        )
        for one in search:
            weights, score = run(images, digits, noise, one.candidate)
            one.finish(score, result=np.asarray(weights).tolist())
        found = search.best()
    if found is None:
        sys.exit("no run was drawn, which this law never does")
    best, weights = found
    accuracy = (np.argmax(shown @ np.array(weights), axis=1) == truth).mean()
    spent = whole.epsilon(delta=DELTA)
    print(f"epsilon in [{spent.lower:.4f}, {spent.upper:.4f}], learning rate {best}")
    print(f"{accuracy:.3f} of digits are right")

    claim = dp.Gaussian(sigma=1, sensitivity=dp.L2(1)).guarantee()
    pair = dp.Pair(np.full((2, 1), 10.0), np.full((1, 1), 10.0))
    report = dp.audit(one_step, pair, claim, samples=samples, significance=1e-8)
    print(report.headline())
    (out / "audit.json").write_text(report.to_json(), encoding="utf-8")
    dp.plot.trade_off(whole).figure.savefig(out / "trade-off.png")

    stated = PIPELINE.format(
        delta=DELTA, epsilon=EPSILON, gamma=float(RUNS.gamma), noise=noise, rate=RATE, steps=STEPS
    )
    (out / "training.toml").write_text(stated, encoding="utf-8")
    page = ("report", "training.toml", "-o", "report.html", "--ledger", "budget.ledger")
    subprocess.run([sys.executable, "-m", "dpproof", *page], cwd=out, check=True)  # noqa: S603  # constants


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "digits")
