"""Walk pages as a stranger: ``python scripts/walk.py venv/bin/python docs/tutorials/*.md``.

Types every block of each page in an empty folder with an empty home, by an interpreter into which
somebody installed the project, and prints the seconds and what the page shows otherwise.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.docs.blocks import Block, blocks, same_output

TYPIST = """
import contextlib, io, json, sys
names = {"__name__": "__main__"}
for line in sys.stdin:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(json.loads(line), "page", "exec"), names)
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    print(json.dumps(printed.getvalue()), flush=True)
"""


def walk(page: Path, python: Path) -> tuple[float, list[str]]:
    """Return the seconds of a page, and its stumbles."""
    stumbles: list[str] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as folder:
        search = f"{python.absolute().parent}:/usr/bin:/bin"
        new = {"HOME": home, "PATH": search, "COLUMNS": "80", "PYTHONUTF8": "1"}
        typist = subprocess.Popen(
            [python.absolute(), "-W", "error::UserWarning", "-c", TYPIST],
            cwd=folder,
            env=new,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        typed, printed_there = typist.stdin, typist.stdout
        if typed is None or printed_there is None:
            raise RuntimeError("no pipes")

        def said(block: Block) -> str:
            typed.write(json.dumps(block.content) + "\n")
            typed.flush()
            return str(json.loads(printed_there.readline()))

        for block in blocks(page):
            if block.title:
                (Path(folder) / block.title).write_text(block.content, encoding="utf-8")
            elif block.language == "python":
                shown = block.output or ""
                if not same_output(shown, printed := said(block)):
                    stumbles.append(f"{page}:{block.line}: {printed.strip()}")
            elif block.language == "console":
                for session in ("\n" + block.content).split("\n$ ")[1:]:
                    command, _, shown = session.partition("\n")
                    ran = subprocess.run(
                        shlex.split(command),
                        cwd=folder,
                        env=new,
                        text=True,
                        check=False,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                    )
                    if not same_output(shown, ran.stdout):
                        stumbles.append(f"{page}:{block.line}: {command}\n{ran.stdout.strip()}")
        typed.close()
        typist.wait()
    return time.monotonic() - began, stumbles


if __name__ == "__main__":
    for name in sys.argv[2:]:
        seconds, found = walk(Path(name), Path(sys.argv[1]))
        print(f"{seconds:6.1f} s  {name}  {len(found)} stumbles")
        print("".join(f"{one}\n" for one in found), end="")
