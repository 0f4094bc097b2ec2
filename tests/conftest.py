"""Settings that every test shares."""

from __future__ import annotations

import os
import time
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import settings

# Workers have a core each: threads of numpy's libraries would only wait for one another. Set before
# numpy is imported, and inherited by the workers.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

BEGAN = pytest.StashKey[float]()

# What ``pytest -m smoke`` runs: some of every package, in under two minutes on two cores.
SMOKE = (
    "accountant/adaptive",
    "accountant/test_",
    "accountant/theorems/composition",
    "architecture",
    "auditing/counts",
    "dpproof/commands/test_budget",
    "dpproof/commands/test_ledger",
    "dpproof/ledger/test_ledger",
    "dpproof/test_bad_input",
    "mechanisms/noise",
    "proofs/rules",
    "proofs/test_kernel",
    "reference",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run say how long it may take, and in which order."""
    parser.addoption("--minutes", type=float, help="start no test later than this; skip the rest")
    parser.addoption("--order", type=int, help="seed of the order of the files")


def pytest_configure(config: pytest.Config) -> None:
    """Note when the run began."""
    config.stash[BEGAN] = time.monotonic()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what the time does not reach."""
    minutes = item.config.getoption("minutes")
    if minutes is not None and time.monotonic() - item.config.stash[BEGAN] > 60 * minutes:
        pytest.skip(f"not reached within {minutes:g} minutes")


def mark_slow_cases(items: list[pytest.Item]) -> None:
    """Leave tests marked ``some(n)`` n evenly spaced cases; the others are slow."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("some") and not item.get_closest_marker("slow"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for group in cases.values():
        marker = group[0].get_closest_marker("some")
        count = marker.args[0] if marker else len(group)
        last = len(group) - 1
        quick = {round(i * last / max(count - 1, 1)) for i in range(count)}
        for place, item in enumerate(group):
            if place not in quick:
                item.add_marker("slow")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark slow cases and what ``-m smoke`` runs, before they are chosen, and order the files."""
    mark_slow_cases(items)
    order = config.getoption("order")
    if order is not None:
        items.sort(key=lambda item: sha256(f"{order} {item.location[0]}".encode()).digest())
    folder = Path(__file__).parent
    for item in items:
        place = item.path.relative_to(folder).as_posix() if folder in item.path.parents else ""
        if place.startswith(SMOKE) and item.get_closest_marker("slow") is None:
            item.add_marker("smoke")
