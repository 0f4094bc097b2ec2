"""What errors say is a sentence: "X must be ALLOWED", so that ALLOWED begins with no "must"."""

from __future__ import annotations

import ast

from tests.architecture.tree import ROOT, parsed, sources


def test_nothing_must_be_must_be() -> None:
    """No allowed value of a ``ParameterError`` begins with "must"."""
    found = []
    for path in sources():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("ParameterError"):
                allowed = ast.unparse(node.args[2]) if len(node.args) > 2 else ""
                if allowed.lstrip("f").strip("'\"").startswith("must"):
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}")

    assert found == []
