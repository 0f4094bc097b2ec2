"""Write the conformance vectors: ``python -m tests.proofs.second.vectors`` (proofs/conformance)."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dpproof.proofs import Certificate, Rejected, check_text
from dpproof.proofs.abbreviations import expanded
from tests.accountant.certificates.pipelines import natural
from tests.proofs.second.agreement import disagreement, opened
from tests.proofs.second.cases import Case, cases
from tests.proofs.second.chains import chain
from tests.proofs.second.checker import check
from tests.proofs.second.mutate import mutant
from tests.proofs.second.outside import tries

FOLDER: Final = Path(__file__).parents[3] / "proofs" / "conformance" / "v1"
SHORT: Final = FOLDER.parent / "v3"
FILES: Final = ("accepted", "rejected")
CHAINS: Final = range(100)
SEEDS: Final = (
    *(2, 3, 8, 9, 10, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 30, 34, 40, 41, 42),
    *(45, 47, 48, 51, 54, 55, 56, 59, 60, 61, 63, 64, 68, 71, 76, 77, 79, 80, 83, 85, 86, 87, 88),
    *(89, 92, 95, 96, 99, 102, 103, 104, 109, 114, 116, 118, 119, 120, 122, 124, 126, 127, 128),
    *(129, 130, 133, 134, 136, 138, 140, 143, 144, 146, 149),
)
"""Natural pipelines whose certificates have at most 6,000 characters."""


def made_here() -> Iterator[Case]:
    """Return the cases that need nothing but this folder: edges, other rules, random chains."""
    yield from cases()
    yield from ((name, text) for name, text, _ in tries())
    for seed in CHAINS:
        yield f"chain {seed}", chain(random.Random(seed))  # noqa: S311  # no secret


def _of_pipelines() -> Iterator[Case]:
    """Certificates of natural pipelines, and each damaged where only an extension sees it.

    What is published stays as it is: today the library writes other certificates, or none.
    """
    published = {one["name"]: one["text"] for file in FILES for one in stored(file)}
    for seed in SEEDS:
        names = (f"pipeline {seed}", f"pipeline {seed}, damaged")
        if names[0] in published:
            yield from ((name, published[name]) for name in names if name in published)
            continue
        guarantee, asked = natural(seed)
        text = guarantee.certify(**asked).to_json()
        yield names[0], text
        rng = random.Random(seed)  # noqa: S311
        tried = [mutant(text, rng) for _ in range(40)]
        damaged = [one for one in tried if _is_for_an_extension(one)]
        if damaged:
            yield names[1], max(damaged, key=_misses_a_number)


def _is_for_an_extension(text: str) -> bool:
    verdict = check(text)
    return bool(verdict.open) and verdict.fault in ("", "open") and not check_text(text).ok


def _misses_a_number(text: str) -> bool:
    return "is at least" in getattr(check_text(text), "reason", "")


def vector(name: str, text: str) -> dict[str, Any]:
    """Return what the checkers say of a text, which has to be the same."""
    wrong = disagreement(text)
    if wrong is not None:
        raise AssertionError(f"{name}: {wrong}")
    full, core, own = check_text(text), check_text(text, core=True), check(text)
    made: dict[str, Any] = {"name": name, "accepted": full.ok}
    if isinstance(full, Rejected):
        made |= {"step": full.step, "reason": full.reason}
    else:
        made["extensions"] = sorted(set(full.extensions))
    made["core"] = {"accepted": core.ok, "open": sorted(opened(core) if core.ok else own.open)}
    if own.outcome != "accept":
        made["core"] |= {"step": own.step, "fault": own.fault}
    return {**made, "text": text}


def shortened() -> Iterator[Case]:
    """Accepted vectors as texts of version 3, where these are much shorter, and each damaged."""
    for one in stored("accepted"):
        text = Certificate.from_json(one["text"]).to_json()
        if len(text) < 0.6 * len(one["text"]) < 10_000:
            rng = random.Random(one["name"])  # noqa: S311
            yield one["name"], text
            yield from ((f"{one['name']}, damaged {k}", mutant(text, rng)) for k in (1, 2))


def short_vector(name: str, text: str) -> dict[str, Any]:
    """Return a text of version 3 with its document at length, null if the text is refused."""
    made = {key: one for key, one in vector(name, text).items() if key != "core"}
    try:
        document = json.loads(expanded(text))
    except ValueError:
        document = None
    return {**made, "length": document}


def packed(vectors: list[dict[str, Any]]) -> bytes:
    """Return vectors as they are stored, the same bytes for the same vectors."""
    lines = "".join(json.dumps(one) + "\n" for one in vectors)
    return gzip.compress(lines.encode(), mtime=0)


def stored(name: str, folder: Path = FOLDER) -> list[dict[str, Any]]:
    """Return the vectors of a file, ``"accepted"`` or ``"rejected"``, or those of version 3."""
    lines = gzip.decompress((folder / f"{name}.jsonl.gz").read_bytes()).decode().splitlines()
    return [json.loads(line) for line in lines]


def main() -> None:
    """Write both files."""
    made = [vector(*one) for one in (*made_here(), *_of_pipelines())]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, wanted in zip(FILES, (True, False), strict=True):
        chosen = [one for one in made if one["accepted"] is wanted]
        (FOLDER / f"{name}.jsonl.gz").write_bytes(packed(chosen))
    write_short()


def write_short() -> None:
    """Write the file of version 3."""
    SHORT.mkdir(parents=True, exist_ok=True)
    made = [short_vector(*one) for one in shortened()]
    (SHORT / "short.jsonl.gz").write_bytes(packed(made))


if __name__ == "__main__":
    main()
