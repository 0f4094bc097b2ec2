"""Sample small changes of the source and see which ones the tests notice.

    python scripts/mutate.py --mutants 100 --seed 1 > mutants.jsonl

Works on a copy of the project. Every change is as likely as any other, so that files are drawn by
how much they do. Every line of the output is one mutant: where, what, and what became of it. A file
is tested by the one at the same path under tests/, else by the shortest that import it, else by
those of the modules that import it, else by the shortest in the nearest folder. That misses a third
of what the suite notices. With pytest-cov installed,

    pytest -n 0 --cov=accountant --cov=proofs --cov=auditing --cov-context=test --cov-report=

lists in ``.coverage`` the tests that run each line; ``--contexts .coverage`` asks those instead,
the narrow ones first.

Places that the source itself calls heuristic are not drawn: a module's constant with ``Heuristic``
in its comment, or in a module whose docstring says "Heuristic: all constants", unless its comment
speaks of soundness or error bounds; a function whose docstring has the sentence "Heuristic." or
"Heuristic: used to"; a module that says "Heuristic: used only to". Other reasons after the word
do not count, as such functions also build what they choose. ``--all`` draws these places too,
``--count`` counts the changes. Messages, in ``raise`` and formatted strings, are never drawn.
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
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("accountant", "proofs", "auditing")
FOLDERS = (*PACKAGES, "mechanisms", "dpproof")  # whose modules may import a mutated one
MOST_TESTS = 3  # files
MOST_CASES = 60  # tests of those that run the line
LIKE_IT = 3  # tests of them that differ in their parameters only, before all others
LONGEST = 60  # seconds of the processor for the tests of one mutant
DECLARED = re.compile(r"\bHeuristic[.:]")
ALL_CONSTANTS = re.compile(r"\bHeuristic: all constants")
WHOLE = re.compile(r"\bHeuristic(\.$|: used (only )?to\b)", re.MULTILINE)
BOUNDS = re.compile(r"soundness|error bound", re.IGNORECASE)  # said of what is never left out

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
    """Yield the mutations of one node."""
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


def mutants(text: str, *, heuristics: bool = False) -> list[tuple[int, int, int, str, str]]:
    """Start, end and line of a piece of source, what it says and what it could say."""
    starts = [0]
    for row in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(row.encode()))
    tree, found, source = ast.parse(text), [], text.encode()
    declared = set() if heuristics else _heuristic(tree, text)
    for node in _code(tree):
        if node in declared:
            continue
        place = node.test if isinstance(node, ast.If | ast.IfExp | ast.While) else node
        begin = starts[place.lineno - 1] + place.col_offset
        end = starts[(place.end_lineno or place.lineno) - 1] + (place.end_col_offset or 0)
        for changed in changes(node):
            new = f"({ast.unparse(changed)})"
            found.append((begin, end, node.lineno, source[begin:end].decode(), new))
    return found


def _heuristic(tree: ast.Module, text: str) -> set[ast.AST]:
    """Return every node of the places that the source itself calls heuristic."""
    about, rows = ast.get_docstring(tree) or "", text.splitlines()
    roots: list[ast.AST] = [tree] if WHOLE.search(about) else []
    for one in tree.body:
        if isinstance(one, ast.Assign | ast.AnnAssign):
            said = _comment(rows, one)
            if not BOUNDS.search(said) and (DECLARED.search(said) or ALL_CONSTANTS.search(about)):
                roots.append(one)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            sentences, *_ = (ast.get_docstring(node) or "").partition("\nArgs:")
            if WHOLE.search(sentences):
                roots.append(node)
    return {node for root in roots for node in ast.walk(root)}


def _comment(rows: Sequence[str], node: ast.stmt) -> str:
    """Return the comment directly above a statement, and the one beside its end."""
    above = node.lineno - 1
    while above and rows[above - 1].startswith("#"):
        above -= 1
    beside = rows[(node.end_lineno or node.lineno) - 1].partition("#")[2]
    return " ".join([*rows[above : node.lineno - 1], beside])


def _code(tree: ast.Module) -> Iterator[ast.expr | ast.stmt]:
    """Yield every node but annotations, decorators, imports, texts, and arguments of raise."""
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
    """Return the mirrored test file, else the shortest ones that import the module."""
    mirrored = root / "tests" / path.relative_to(root).parent / f"test_{path.stem}.py"
    if mirrored.exists():
        return [mirrored]
    module = ".".join(("dpproof", *path.relative_to(root).with_suffix("").parts))
    module = module.replace("dpproof.dpproof", "dpproof", 1)
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


class Contexts:
    """The tests that run each line, by coverage's data."""

    def __init__(self, path: str | None) -> None:
        """Open the data; without a path nothing is known."""
        self._data = sqlite3.connect(path or ":memory:")
        if path is None:
            self._data.executescript(
                "CREATE TABLE file (id, path); CREATE TABLE context (id, context);"
                "CREATE TABLE line_bits (file_id, context_id, numbits)"
            )

    @cached_property
    def _width(self) -> dict[str, int]:
        """Return the amount of source that each test runs."""
        rows = self._data.execute(
            "SELECT context, SUM(LENGTH(numbits)) FROM line_bits"
            " JOIN context ON context.id = context_id GROUP BY context_id"
        )
        return dict(rows.fetchall())

    def tests(self, file: str, line: int) -> list[str]:
        """Return tests that run a line, narrow ones first.

        If imports run the line, these are the tests of the file.
        """
        rows = self._data.execute(
            "SELECT context, numbits FROM line_bits JOIN context ON context.id = context_id"
            " JOIN file ON file.id = file_id WHERE path LIKE ? AND context LIKE '%|run'",
            (f"%/{file}",),
        ).fetchall()
        found = [
            one for one, bits in rows if bits[line // 8 :][:1] and bits[line // 8] >> line % 8 & 1
        ]
        chosen: list[str] = []
        others: list[str] = []
        alike: Counter[str] = Counter()
        for one in sorted(
            found or [one for one, _ in rows], key=lambda test: (self._width[test], test)
        ):
            name = one.removesuffix("|run")
            alike[name.partition("[")[0]] += 1
            (chosen if alike[name.partition("[")[0]] <= LIKE_IT else others).append(name)
        return [*chosen, *others][:MOST_CASES]


def passes(root: Path, tests: Sequence[Path | str], limit: int) -> tuple[str, float]:
    """Return whether the tests pass, fail or time out, and the seconds taken."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    settings = {**os.environ, "PYTHONPATH": str(root), "CI": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    before = os.times().children_user
    done = subprocess.run(
        ["prlimit", f"--cpu={limit}", *command, *map(str, tests)],
        cwd=root,
        env=settings,
        capture_output=True,
        check=False,
    )
    ends = {0: "passed", 1: "failed", 2: "failed", -signal.SIGKILL: "too long"}
    return ends.get(done.returncode, f"{done.returncode}"), os.times().children_user - before


def main() -> None:
    """Print one line of JSON a mutant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--package", action="append", help="a folder; several may be given")
    parser.add_argument("--contexts", help="data of coverage: which tests run which lines")
    parser.add_argument("--all", action="store_true", help="draw what is called heuristic too")
    parser.add_argument("--count", action="store_true", help="count changes and end")
    arguments = parser.parse_args()
    contexts = Contexts(arguments.contexts)
    source = random.Random(arguments.seed)  # noqa: S311  # not secret
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        ignored = shutil.ignore_patterns(".git", ".mypy_cache", "*.pyc")
        shutil.copytree(ROOT, root, symlinks=True, ignore=ignored)
        packages = arguments.package or PACKAGES
        files = [path for name in packages for path in sorted((root / name).rglob("*.py"))]
        texts = {path: path.read_text(encoding="utf-8") for path in files}
        every = [
            (path, mutant)
            for path, text in texts.items()
            for mutant in mutants(text, heuristics=arguments.all)
        ]
        if arguments.count:
            total = sum(len(mutants(text, heuristics=True)) for text in texts.values())
            _say(drawn_from=len(every), changes=total)
            return
        for path, mutant in source.sample(every, arguments.mutants):
            _try(path, mutant, root, contexts)


def _try(path: Path, mutant: tuple[int, int, int, str, str], root: Path, known: Contexts) -> None:
    """Run the tests of one mutant; if they take too long or do not start, try them without it."""
    begin, end, line, old, new = mutant
    name, raw = str(path.relative_to(root)), path.read_bytes()
    tests: Sequence[Path | str] = known.tests(name, line) or tests_of(path, root)
    path.write_bytes(raw[:begin] + new.encode() + raw[end:])
    try:
        outcome, seconds = passes(root, tests, LONGEST)
    finally:
        path.write_bytes(raw)
    if outcome not in {"passed", "failed"} and passes(root, tests, LONGEST // 3)[0] == "passed":
        outcome = "failed"
    outcome = {"passed": "survived", "failed": "killed"}.get(outcome, outcome)
    _say(
        file=name,
        line=line,
        old=old,
        new=new,
        outcome=outcome,
        seconds=round(seconds),
        tests=len(tests),
    )


def _say(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    main()
