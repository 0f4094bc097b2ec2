"""PyTorch with Opacus, from the price to the report: digits, ten epochs.

    pip install '.[plots,report]' torch opacus scikit-learn
    python examples/opacus_training.py digits  # both in the folder of dpproof

1. Price: the noise at which the training costs (3, 1e-5), with a certificate.
2. Ledger: the training is paid for before it runs.
3. Training: Opacus, with dpproof's accountant in place of its own.
4. Audit: two outputs of the same step, with and without one record, against the claim.
5. Report: a page for the board, the curve and the audit, in the folder.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from opacus import PrivacyEngine
from sklearn.datasets import load_digits

import dpproof as dp
from dpproof.auditing import Report
from dpproof.interop import OpacusAccountant

EPSILON, DELTA = 3, 1e-5
BATCH, EPOCHS, CLIP = 64, 10, 1.0
PIPELINE = """[about]
title = "A model that reads digits"
unit = "one image"

[pipeline]
relation = "add-remove"
delta = {delta}
epsilon = {epsilon}

[[stage]]
name = "training"
mechanism = "gaussian"
noise_multiplier = {noise!r}
sampling = {{ scheme = "poisson", rate = "1/{batches}" }}
count = {steps}
"""


def priced(batches: int) -> tuple[float, dp.Mechanism[dp.AddRemove]]:
    """Return the least noise multiplier that keeps the budget, and the training as a mechanism."""

    def training(noise: float) -> dp.Mechanism[dp.AddRemove]:
        step = dp.Gaussian(sigma=noise, sensitivity=dp.L2(1))
        return step.subsample(dp.Poisson(sampling_rate=1 / batches)).repeat(batches * EPOCHS)

    noise = dp.calibrate(training, epsilon=EPSILON, delta=DELTA).value
    return noise, training(noise)


def private(
    model: torch.nn.Module, data: torch.utils.data.TensorDataset, noise: float, rate: float
) -> tuple[PrivacyEngine, Any, Any, Any]:
    """Return Opacus' engine, model, optimiser and loader; one line is ours."""
    engine = PrivacyEngine()
    engine.accountant = OpacusAccountant(poisson=True)
    made = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=rate),
        data_loader=torch.utils.data.DataLoader(data, batch_size=min(BATCH, len(data))),
        noise_multiplier=noise,
        max_grad_norm=CLIP,
    )
    return engine, *made


def trained(records: np.ndarray, labels: np.ndarray, noise: float) -> tuple[Any, PrivacyEngine]:
    """Train a linear model on all records."""
    data = torch.utils.data.TensorDataset(torch.tensor(records), torch.tensor(labels))
    engine, model, optimiser, loader = private(torch.nn.Linear(64, 10), data, noise, rate=2.0)
    for _ in range(EPOCHS):
        for images, digits in loader:
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(images), digits).backward()
            optimiser.step()
    return model, engine


def one_step(records: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a parameter after one step on all records of a tiny dataset, so many times.

    What ``make_private`` returns is what is tested: its clipping and its noise, on a public grid.
    """
    torch.manual_seed(int(rng.integers(2**31)))
    data = torch.utils.data.TensorDataset(torch.tensor(records, dtype=torch.float32))
    model = torch.nn.Linear(1, 1, bias=False)
    _, model, optimiser, _ = private(model, data, noise=1.0, rate=1.0)
    (weight,) = model.parameters()
    found = np.empty(size)
    for place in range(size):
        with torch.no_grad():
            weight.zero_()
        optimiser.zero_grad()
        (10 * model(data.tensors[0])).sum().backward()  # a gradient of 10 a record, clipped to 1
        optimiser.step()
        found[place] = weight.item() * optimiser.expected_batch_size
    # Without this line the audit finds the last bits of floating-point noise, in a second or two.
    return np.round(found * 1024) / 1024


def audited(samples: int) -> Report:
    """Test the claim of one step, sensitivity 1 at noise 1, on datasets of one record and none."""
    claim = dp.Gaussian(sigma=1, sensitivity=dp.L2(1)).guarantee()
    pair = dp.Pair(np.ones((2, 1)), np.ones((1, 1)))
    return dp.audit(one_step, pair, claim, samples=samples, significance=1e-8)


def main(folder: str, samples: int = 4000) -> None:
    """Run everything, and leave certificate, ledger, curve and report behind."""
    warnings.filterwarnings("ignore")  # Opacus advises its secure mode: do take it for releases
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    digits = load_digits()
    records, labels = (digits.data / 16).astype(np.float32), digits.target.astype(np.int64)
    shown, truth = records[1500:], labels[1500:]  # public: what they say costs nothing
    records, labels = records[:1500], labels[:1500]

    batches = -(-len(records) // BATCH)
    noise, training = priced(batches)
    certificate = training.guarantee().labelled("digits").certify(delta=DELTA)
    (out / "certificate.json").write_text(certificate.to_json(), encoding="utf-8")
    print(f"noise multiplier {noise:.4f}: {type(dp.check(certificate)).__name__}")

    place = out / "budget.ledger"
    year = dp.ApproxDP(epsilon=4, delta=2 * DELTA)  # of which this training is a part
    ledger = dp.Ledger.open(place) if place.exists() else dp.Ledger.create(place, budget=year)
    with ledger.reserve(training.guarantee(), key="digits 1", label="digits"):
        model, engine = trained(records, labels, noise)

    spent = engine.accountant.guarantee().epsilon(delta=DELTA)
    accuracy = (model(torch.tensor(shown)).argmax(1).numpy() == truth).mean()
    print(f"epsilon in [{spent.lower:.6f}, {spent.upper:.6f}]; {accuracy:.3f} of digits are right")

    report = audited(samples)
    print(report.headline())
    (out / "audit.json").write_text(report.to_json(), encoding="utf-8")
    dp.plot.profile(training, delta=DELTA, epsilon=EPSILON).figure.savefig(out / "profile.png")

    stated = PIPELINE.format(
        delta=DELTA, epsilon=EPSILON, noise=noise, batches=batches, steps=batches * EPOCHS
    )
    (out / "training.toml").write_text(stated, encoding="utf-8")
    page = ("report", "training.toml", "-o", "report.html", "--ledger", "budget.ledger")
    subprocess.run([sys.executable, "-m", "dpproof", *page], cwd=out, check=True)  # noqa: S603  # constants


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "digits")
