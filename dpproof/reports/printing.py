"""Pages printed to PDF by an installed browser, without a window."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from dpproof.errors import InputError
from dpproof.files import save

BROWSERS: Final = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge"),
)


def browser() -> str:
    """Return the path of a browser that prints pages."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise InputError(
            f"--pdf needs a browser on PATH, one of {', '.join(BROWSERS)}; "
            "write the page with -o, open it and print it"
        )
    return path


def print_page(page: str, out: str) -> None:
    """Print a page to a PDF file by an installed browser, which loads nothing else."""
    with tempfile.TemporaryDirectory(prefix="dpproof-") as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.pdf")
        save(str(source), page)
        asked = [browser(), "--headless", "--disable-gpu", "--no-pdf-header-footer"]
        if getattr(os, "geteuid", lambda: 1)() == 0:
            asked.append("--no-sandbox")  # which root has to do without
        asked += [f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}", source.as_uri()]
        try:
            subprocess.run(asked, check=True, capture_output=True, timeout=60)  # noqa: S603  # a browser of PATH
            Path(out).write_bytes(target.read_bytes())
        except (subprocess.SubprocessError, OSError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise InputError(f"{out}: {asked[0]} did not print it ({reason})") from None
