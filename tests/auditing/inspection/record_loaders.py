"""``python -m tests.auditing.inspection.record_loaders``: what batches real loaders make.

It writes ``recorded.json``, which ``test_loader.py`` reads, so that no test needs the libraries.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

RECORDS, SIZE, EPOCHS = 80, 8, 6
STEPS = RECORDS // SIZE
FILE = Path(__file__).with_name("recorded.json")
Epoch = list[list[int]]


def _torch() -> Iterator[tuple[str, Callable[[int], Any]]]:
    """PyTorch's loaders and samplers, each a function from the number of an epoch to batches."""
    data, opacus = import_module("torch.utils.data"), import_module("opacus.utils.uniform_sampler")
    numbers = range(RECORDS)

    def loader(**options: Any) -> Callable[[int], Any]:  # noqa: ANN401
        made = data.DataLoader(numbers, batch_size=SIZE, **options)
        return lambda _: made

    def batches(sampler: Any) -> Callable[[int], Any]:  # noqa: ANN401
        return lambda _: data.BatchSampler(sampler, SIZE, drop_last=False)

    def ranks(count: int, *, told: bool, seen: int) -> Callable[[int], Any]:
        each = [
            data.DistributedSampler(range(RECORDS - 1), num_replicas=count, rank=rank)
            for rank in range(seen)
        ]

        def epoch(number: int) -> Any:  # noqa: ANN401
            for sampler in each if told else []:
                sampler.set_epoch(number)
            parts = [data.BatchSampler(one, SIZE // count, drop_last=False) for one in each]
            return (list(itertools.chain(*step)) for step in zip(*parts, strict=True))

        return epoch

    yield "DataLoader(shuffle=True)", loader(shuffle=True)
    yield "DataLoader(shuffle=False)", loader()
    yield "BatchSampler(RandomSampler)", batches(data.RandomSampler(numbers))
    yield "RandomSampler(replacement=True)", batches(data.RandomSampler(numbers, replacement=True))
    weights = [1.0 + 9 * (place % 2) for place in numbers]
    yield "WeightedRandomSampler", batches(data.WeightedRandomSampler(weights, RECORDS))
    yield "SubsetRandomSampler of all", batches(data.SubsetRandomSampler(numbers))
    yield "SubsetRandomSampler of half", batches(data.SubsetRandomSampler(range(0, RECORDS, 2)))
    yield "DistributedSampler, one of 2 ranks", ranks(2, told=True, seen=1)
    yield "DistributedSampler, both ranks, padded", ranks(2, told=True, seen=2)
    yield "DistributedSampler without set_epoch", ranks(1, told=False, seen=1)
    sampler = opacus.UniformWithReplacementSampler(
        num_samples=RECORDS, sample_rate=SIZE / RECORDS, steps=STEPS
    )
    yield "UniformWithReplacementSampler of Opacus", lambda _: sampler


def _jax() -> Iterator[tuple[str, Callable[[int], Any]]]:
    """Strategies of jax-privacy, whose steps are cut into epochs."""
    made = import_module("jax_privacy.batch_selection")
    steps, rate = EPOCHS * STEPS, SIZE / RECORDS
    strategies = {
        "CyclicPoissonSampling, cycle 1": made.CyclicPoissonSampling(
            sampling_prob=rate, iterations=steps
        ),
        "CyclicPoissonSampling, cycle 5": made.CyclicPoissonSampling(
            sampling_prob=5 * rate, iterations=steps, cycle_length=5
        ),
        "FixedBatchSampling": made.FixedBatchSampling(batch_size=SIZE, iterations=steps),
        "FixedBatchSampling(replace=True)": made.FixedBatchSampling(
            batch_size=SIZE, iterations=steps, replace=True
        ),
        "BallsInBinsSampling": made.BallsInBinsSampling(iterations=steps, cycle_length=STEPS),
    }
    for number, (name, strategy) in enumerate(strategies.items()):
        yield f"{name} of jax-privacy", _cut(strategy.batch_iterator(RECORDS, rng=number))


def _cut(drawn: Any) -> Callable[[int], Any]:  # noqa: ANN401  # an iterator of arrays
    return lambda _: itertools.islice(drawn, STEPS)


def _plain(batch: Any) -> list[int]:  # noqa: ANN401  # a tensor, an array or a list
    return [int(one) for one in batch]


def main() -> None:
    """Record all loaders."""
    import_module("torch").manual_seed(20261126)
    lines = []
    for name, epoch in itertools.chain(_torch(), _jax()):
        epochs = [[_plain(batch) for batch in epoch(number)] for number in range(EPOCHS)]
        listed = ",\n".join(json.dumps(one, separators=(",", ":")) for one in epochs)
        lines.append(f"{json.dumps(name)}: [\n{listed}\n]")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
