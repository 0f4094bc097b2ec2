"""Files and functions stay small enough to be read in one sitting."""

from __future__ import annotations

from tests.architecture.tree import ROOT, functions, parsed, place, sources

LONGEST_FILE = 700
LONGEST_FUNCTION = 50


def test_no_file_is_too_long() -> None:
    """No source or test file is longer than 700 lines."""
    files = [*sources(), *sources("tests", "benchmarks", "scripts", "experiments")]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}

    assert [
        f"{path.relative_to(ROOT)}: {length} lines"
        for path, length in lengths.items()
        if length > LONGEST_FILE
    ] == []


def test_no_function_is_too_long() -> None:
    """No function is longer than 50 lines, its docstring not counted."""
    found = []
    for path in sources():
        for function in functions(parsed(path)):
            first = function.body[0]
            end = function.end_lineno or first.lineno
            documented = _is_text(first) and first.end_lineno
            length = end - (documented or function.lineno - 1)
            if length > LONGEST_FUNCTION:
                found.append(f"{place(path, function)} {function.name}: {length} lines")

    assert found == []


def _is_text(statement: object) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(getattr(value, "value", None), str)
