"""Sample small changes of the source and see which ones the tests mirrored for that file notice.

    python scripts/mutate.py --mutants 150 --seed 1 > mutants.jsonl

Works on a copy of the project. Every line of the output is one mutant: where, what, and what became
of it. A file is tested by the one at the same path under tests/, else by the shortest that import
it, else by those of the modules that import it, else by the shortest in the nearest folder. That
misses a third of what the suite notices. With coverage installed,

    coverage run --contexts=test_function -m pytest -n 0
    coverage json --show-contexts -o contexts.json

lists the tests that run each line; ``--contexts contexts.json`` asks those as well, the narrow ones
first.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import final

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("accountant", "proofs", "auditing")
FOLDERS = (*PACKAGES, "mechanisms", "dpproof")  # whose modules may import a mutated one
A_FILE = 4  # mutants of one file at most
MOST_TESTS = 3
MOST_FUNCTIONS = 40  # of those that run the line
LONGEST = 60.0  # seconds for the tests of one mutant; files whose tests take longer are left out

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
    "up": "down",
    "down": "up",
    "floor": "ceil",
    "ceil": "floor",
    "lower": "upper",
    "upper": "lower",
    "forward": "backward",
    "backward": "forward",
    "exp": "expm1",
    "expm1": "exp",
    "log1p": "log",
}


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What one node could be instead."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        yield _with(node, ops=[COMPARISONS[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield _with(node, op=OPERATORS[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant):
        yield from _other_constant(node.value)
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield _with(node, id=NAMES[node.id])
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield _with(node, attr=NAMES[node.attr])
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield ast.Constant(value=False)  # its condition


def _other_constant(value: object) -> Iterator[ast.AST]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
    elif isinstance(value, float):
        yield ast.Constant(value * 2 or 1.0)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def mutants(text: str) -> list[tuple[int, int, int, str, str]]:
    """Start, end and line of a piece of source, what it says and what it could say."""
    starts = [0]
    for row in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(row.encode()))
    found, source = [], text.encode()
    for node in _code(ast.parse(text)):
        place = node.test if isinstance(node, ast.If | ast.IfExp | ast.While) else node
        begin = starts[place.lineno - 1] + place.col_offset
        end = starts[(place.end_lineno or place.lineno) - 1] + (place.end_col_offset or 0)
        for changed in changes(node):
            new = f"({ast.unparse(changed)})"
            found.append((begin, end, node.lineno, source[begin:end].decode(), new))
    return found


def _code(tree: ast.Module) -> Iterator[ast.expr | ast.stmt]:
    """Every node but annotations, decorators, imports, texts, and the arguments of raise."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        hidden: list[ast.AST | None] = []
        if isinstance(node, ast.Raise):
            hidden = [node.exc]
        elif isinstance(node, ast.AnnAssign):
            hidden = [node.annotation]
        elif isinstance(node, ast.FunctionDef):
            hidden = [node.returns, *node.decorator_list]
            hidden += [arg.annotation for arg in (*node.args.args, *node.args.kwonlyargs)]
        elif isinstance(node, ast.ClassDef):
            hidden = [*node.decorator_list, *node.bases]
        elif isinstance(node, ast.JoinedStr) or _is_type_checking(node):
            hidden = [node]
        for root in filter(None, hidden):
            skipped.update(ast.walk(root))
    for node in ast.walk(tree):
        if node not in skipped and isinstance(node, ast.expr | ast.stmt):
            yield node


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def tests_of(path: Path, root: Path) -> list[Path]:
    """The mirrored test file, else the shortest ones that import the module."""
    mirrored = root / "tests" / path.relative_to(root).parent / f"test_{path.stem}.py"
    if mirrored.exists():
        return [mirrored]
    module = ".".join(path.relative_to(root).with_suffix("").parts)
    package, _, name = module.rpartition(".")
    used = re.compile(
        rf"(from {re.escape(module)} import|from {re.escape(package)} import .*\b{name}\b)"
    )
    found = [
        test
        for test in (root / "tests").rglob("test_*.py")
        if used.search(test.read_text(encoding="utf-8"))
    ]
    if not found:  # then those mirrored for the modules that import it
        importers = (one for name in FOLDERS for one in (root / name).rglob("*.py"))
        users = [one for one in importers if used.search(one.read_text(encoding="utf-8"))]
        tests = [
            root / "tests" / one.relative_to(root).parent / f"test_{one.stem}.py" for one in users
        ]
        found = [test for test in tests if test.exists()]
    folder = mirrored.parent
    while not found:
        found, folder = list(folder.glob("test_*.py")), folder.parent
    return sorted(found, key=lambda test: test.stat().st_size)[:MOST_TESTS]


@final
@dataclass(frozen=True)
class Contexts:
    """Which test functions run which lines, as coverage reports it."""

    lines: Mapping[str, Mapping[str, Sequence[str]]]

    @staticmethod
    def read(path: str | None) -> Contexts:
        """Read the report of ``coverage json --show-contexts``; without one nothing is known."""
        if path is None:
            return Contexts({})
        report = json.loads(Path(path).read_text(encoding="utf-8"))
        return Contexts({name: one["contexts"] for name, one in report["files"].items()})

    @cached_property
    def width(self) -> Counter[str]:
        """How many lines a test runs."""
        return Counter(
            test for file in self.lines.values() for tests in file.values() for test in tests
        )

    def functions(self, file: str, line: int, root: Path) -> list[str]:
        """Functions that run a line, narrow ones first; inherited tests are left out."""
        found = sorted(self.lines.get(file, {}).get(str(line), ()), key=self.width.__getitem__)
        named = (_function(context, root) for context in found)
        return [name for name in named if name][:MOST_FUNCTIONS]


def _function(context: str, root: Path) -> str:
    """Return what pytest calls a function in a test file, an empty text for anything else."""
    module, _, name = context.rpartition(".")
    path = Path(*module.split(".")).with_suffix(".py") if module.startswith("tests.") else Path()
    known = path.name.startswith("test_") and (root / path).exists()
    return f"{path}::{name}" if known and f"def {name}(" in (root / path).read_text() else ""


def passes(root: Path, tests: Sequence[Path | str], limit: float) -> tuple[str, float]:
    """Whether the tests pass, fail, or take too long."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    settings = {**os.environ, "PYTHONPATH": str(root), "CI": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    start = time.monotonic()
    try:
        done = subprocess.run(
            [*command, *map(str, tests)],
            cwd=root,
            env=settings,
            capture_output=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "too long", time.monotonic() - start
    outcome = {0: "passed", 1: "failed", 2: "failed"}.get(done.returncode, f"{done.returncode}")
    return outcome, time.monotonic() - start


def main() -> None:
    """Print one line of JSON a mutant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--package", action="append", help="a folder; several may be given")
    parser.add_argument("--contexts", help="which tests run which lines")
    arguments = parser.parse_args()
    contexts = Contexts.read(arguments.contexts)
    source = random.Random(arguments.seed)  # noqa: S311  # not secret
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(".git", ".mypy_cache", "*.pyc"))
        packages = arguments.package or PACKAGES
        files = [path for name in packages for path in sorted((root / name).rglob("*.py"))]
        weights = [len(mutants(path.read_text(encoding="utf-8"))) for path in files]
        done = 0
        while done < arguments.mutants:
            path = source.choices(files, weights)[0]
            weights[files.index(path)] = 0
            done += _try_file(path, root, source, contexts)


def _try_file(path: Path, root: Path, source: random.Random, contexts: Contexts) -> int:
    """Some mutants of one file; how many."""
    text, tests = path.read_text(encoding="utf-8"), tests_of(path, root)
    name = str(path.relative_to(root))
    before, seconds = passes(root, tests, LONGEST)
    if before != "passed":
        _say(file=name, outcome=f"left out: its tests {before}", seconds=round(seconds))
        return 0
    chosen = mutants(text)
    chosen = source.sample(chosen, min(A_FILE, len(chosen)))
    for begin, end, line, old, new in chosen:
        raw = text.encode()
        path.write_bytes(raw[:begin] + new.encode() + raw[end:])
        after, taken = passes(root, tests, max(3 * seconds, 20.0))
        others = contexts.functions(name, line, root)
        if after == "passed" and others:
            again, more = passes(root, others, 2 * LONGEST)
            after = again if again in ("failed", "too long") else after  # else nothing was run
            taken += more
        path.write_text(text, encoding="utf-8")
        outcome = "survived" if after == "passed" else "killed"
        _say(file=name, line=line, old=old, new=new, outcome=outcome, seconds=round(taken))
    return len(chosen)


def _say(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    main()
