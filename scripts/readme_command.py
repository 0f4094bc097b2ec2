"""Print one of the README's commands, so that CI runs what the README says.

A command stands in a bash block right after the comment ``<!-- command: NAME -->``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def command(name: str) -> str:
    """Return the command of one name; fail when there is not exactly one."""
    pattern = rf"^<!-- command: {re.escape(name)} -->\n```bash\n(.+?)\n```$"
    found = re.findall(pattern, README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        raise SystemExit(f"README.md has {len(found)} commands named {name}, expected 1")
    return str(found[0])


if __name__ == "__main__":
    print(command(sys.argv[1]))
