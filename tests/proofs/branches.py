"""Which branches of some source files were taken: a small stand-in for a coverage tool."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

Arc = tuple[str, int, int]
LEFT = -1  # where an arc ends that leaves the function


def traced(files: set[str], run: Callable[[], None]) -> set[Arc]:
    """The steps from line to line inside the files' functions while something runs."""
    arcs: set[Arc] = set()

    def start(frame: FrameType, event: str, _: Any) -> Any:  # noqa: ANN401  # sys.settrace's
        name = frame.f_code.co_filename
        if event != "call" or name not in files:
            return None
        before = frame.f_lineno

        def line(frame: FrameType, event: str, _: Any) -> Any:  # noqa: ANN401
            nonlocal before
            if event in {"line", "return"}:
                arcs.add((name, before, frame.f_lineno if event == "line" else LEFT))
                before = frame.f_lineno
            return line

        return line

    previous = sys.gettrace()
    sys.settrace(start)
    try:
        run()
    finally:
        sys.settrace(previous)
    return arcs


def untaken(path: Path, arcs: set[Arc]) -> list[str]:
    """Statements of functions that never ran, and conditions that went one way only."""
    own = {(start, end) for name, start, end in arcs if name == str(path)}
    ran = {end for _, end in own}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [f"{path.name}:{line} never ran" for line in _statements(tree) if line not in ran]
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While | ast.For):
            head = node.iter if isinstance(node, ast.For) else node.test
            lines = set(range(node.lineno, (head.end_lineno or node.lineno) + 1))
            first = node.body[0]
            body = set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
            after = {end for start, end in own if start in lines and end not in lines}
            if not after & body:
                found.append(f"{path.name}:{node.lineno} never entered")
            if not after - body:
                found.append(f"{path.name}:{node.lineno} never passed")
    return sorted(found)


def _statements(tree: ast.Module) -> Iterator[int]:
    """First lines of the statements inside functions, docstrings and the unreachable left out."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.stmt) and node is not function and not _idle(node):
                    yield node.lineno


def _idle(node: ast.stmt) -> bool:
    """Whether a statement has nothing to run, or says that it never does."""
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    never = isinstance(node, ast.Raise) and "AssertionError" in ast.dump(node)
    return text or never or isinstance(node, ast.Match | ast.Nonlocal)
