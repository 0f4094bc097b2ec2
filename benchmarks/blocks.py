"""Fit rows in memory-mapped blocks: ``python -m benchmarks.blocks FOLDER [--rows N]``.

Processor time and peak memory of fits on a file of float32 that is never in memory at once, here
and on two Dask workers, which have to release the same bits; and fits in memory beside
scikit-learn's logistic regression. The file is made if it is not there; it takes 400 bytes a row.
"""

from __future__ import annotations

import importlib
import time
import tracemalloc
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
from numpy.typing import NDArray

from dpproof.learn import PCA, KMeans, LogisticRegression, PerceptronClassifier, PrivateScaler
from dpproof.mechanisms import Blocks

_WIDTH: Final = 100
_AT_ONCE: Final = 100_000
_BLOCK_BYTES: Final = 2**22 * 4  # of float32
NOISE: Final[dict[str, Any]] = {"sigma": 100, "random_state": 1}


def made(path: Path, rows: int) -> NDArray[np.int8]:
    """Write rows of normal numbers to a file, and return labels of which 9 of 10 are linear."""
    direction = np.random.default_rng(1).normal(size=_WIDTH)
    write = not path.exists() or np.load(path, mmap_mode="r").shape[0] != rows
    shape = (rows, _WIDTH)
    file = (
        np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
        if write
        else np.load(path, mmap_mode="r")
    )
    labels = np.empty(rows, dtype=np.int8)
    for start in range(0, rows, _AT_ONCE):
        rng = np.random.default_rng(start)
        size = min(_AT_ONCE, rows - start)
        some = rng.standard_normal((size, _WIDTH), dtype=np.float32)
        if write:
            file[start : start + size] = some
        labels[start : start + size] = some @ direction + 3 * rng.normal(size=size) > 0
    return labels


def models() -> dict[str, Callable[[], Any]]:
    """Return what is fitted to the file."""
    return {
        "PrivateScaler": lambda: PrivateScaler(**NOISE),
        "PCA": lambda: PCA(**NOISE, norm=20),
        "KMeans, 8 clusters, 2 steps": lambda: KMeans(8, **NOISE, norm=20, steps=2),
        "PerceptronClassifier, 5 steps": lambda: PerceptronClassifier(
            **NOISE, classes=[0, 1], steps=5
        ),
    }


def weights(model: Any) -> NDArray[np.float64]:  # noqa: ANN401
    """Return what a fit kept."""
    names = ("coef_", "components_", "cluster_centers_", "mean_")
    return np.asarray(next(getattr(model, one) for one in names if hasattr(model, one)))


def slices(path: Path, labels: NDArray[np.int8], start: int) -> tuple[Any, Any]:
    """Return a block of the file, read by whoever adds it up."""
    part = slice(start, start + _AT_ONCE)
    return np.load(path, mmap_mode="r")[part], labels


def on_dask(path: Path, labels: NDArray[np.int8], model: Any) -> Any:  # noqa: ANN401
    """Fit on two worker processes, each of which reads its blocks from the file."""
    distributed: Any = importlib.import_module("distributed")  # an optional library

    blocks = [
        partial(slices, path, labels[start : start + _AT_ONCE], start)
        for start in range(0, len(labels), _AT_ONCE)
    ]
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        return model.fit_blocks(Blocks(blocks, client.get_executor(pure=False)))


def in_memory(rows: int) -> None:
    """Print processor times beside scikit-learn's logistic regression, and memory beyond the data.

    Labels are linear but for some noise, so that scikit-learn classifies nine of ten rows right.
    """
    from sklearn.linear_model import LogisticRegression as Plain  # noqa: PLC0415

    rng = np.random.default_rng(1)
    x = rng.normal(size=(rows, _WIDTH))
    y = (x @ rng.normal(size=_WIDTH) + 3 * rng.normal(size=rows) > 0).astype(int)
    budget: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "classes": [0, 1]}
    plain = min(_processor(lambda: Plain().fit(x, y)) for _ in range(3))
    click.echo(f"\n{rows:,} x {_WIDTH} float64 in memory; scikit-learn: {plain:.2f} s\n")
    click.echo("| model | processor time | times scikit-learn | memory beyond the data |")
    click.echo("|---|---|---|---|")
    for model in (PerceptronClassifier(**budget), LogisticRegression(**budget)):
        model.learner()
        seconds = _processor(partial(model.fit, x, y))
        tracemalloc.start()
        model.fit(x[: rows // 10], y[: rows // 10])
        share = tracemalloc.get_traced_memory()[1] / (x.nbytes // 10)
        tracemalloc.stop()
        name = type(model).__name__
        click.echo(f"| {name} | {seconds:.2f} s | {seconds / plain:.1f} | {share:.2f} of it |")


def _processor(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--rows", default=10_000_000, show_default=True, help="Rows of the file.")
@click.option("--memory-rows", default=300_000, show_default=True, help="Rows in memory.")
@click.option("--dask/--no-dask", default=True, show_default=True, help="Fit on Dask, too.")
def main(folder: Path, rows: int, memory_rows: int, *, dask: bool) -> None:
    """Print tables of times and memory."""
    warnings.simplefilter("ignore")
    path = folder / "rows.npy"
    labels = made(path, rows)
    click.echo(f"{rows:,} x {_WIDTH} float32 in blocks of {_BLOCK_BYTES / 1e6:.1f} MB\n")
    click.echo("| model | processor time | peak memory | of a block | two Dask workers |")
    click.echo("|---|---|---|---|---|")
    for name, model in models().items():
        mapped = np.load(path, mmap_mode="r")
        tracemalloc.start()
        start = time.process_time()
        fitted = model().fit(mapped, labels)
        seconds, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        other = "-"
        if dask and name.startswith(("Perceptron", "PCA")):
            begun = time.monotonic()
            same = bool((weights(on_dask(path, labels, model())) == weights(fitted)).all())
            other = f"{'the same' if same else 'OTHER'} bits, {time.monotonic() - begun:.0f} s wall"
        share = peak / _BLOCK_BYTES
        click.echo(f"| {name} | {seconds:.0f} s | {peak / 1e6:.1f} MB | {share:.2f} | {other} |")
    in_memory(memory_rows)


if __name__ == "__main__":
    main()
