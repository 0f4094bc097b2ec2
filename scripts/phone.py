"""Find what scrolls sideways on a phone: ``python scripts/phone.py SITE`` for the built site.

Chromium loads every page in a frame of 390 pixels, and measures pages, blocks and tables.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

WIDTH, SECONDS = 390, 300
MEASURED: Final = ".md-content pre > code, .md-content .md-typeset__scrollwrap, .md-content table"
SCRIPT: Final = """<iframe id=frame width=WIDTH height=800></iframe><script>
(async () => {
  const wide = [], frame = document.getElementById("frame")
  for (const page of PAGES) {
    await new Promise(done => { frame.onload = done; frame.src = page })
    await new Promise(done => setTimeout(done, 100))
    const root = frame.contentDocument.documentElement
    const parts = [...root.querySelectorAll(MEASURED)].filter(p => p.scrollWidth > p.clientWidth+1)
    if (root.scrollWidth > WIDTH + 1) parts.push(root)
    if (parts.length) wide.push(page + ": " + parts.map(p => p.textContent.trim().slice(0, 40)))
  }
  await fetch("/", { method: "POST", body: JSON.stringify([PAGES.length, wide]) })
})()</script>"""


def measured(site: Path) -> tuple[int, list[str]] | None:
    """Return how many pages were measured, and those that are too wide; None in want of time."""
    pages = sorted(str(p.relative_to(site)) for p in site.rglob("*.html") if p.name != "404.html")
    script = SCRIPT.replace("PAGES", json.dumps(pages)).replace("MEASURED", json.dumps(MEASURED))
    answer: list[tuple[int, list[str]]] = []
    done = threading.Event()

    class Server(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/phone":
                return super().do_GET()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(script.replace("WIDTH", str(WIDTH)).encode())
            return None

        def do_POST(self) -> None:
            answer.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()
            done.set()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}")
        quiet = ("background-networking", "component-update", "sync")
        browser = subprocess.Popen(
            [
                "chromium",
                *options,
                "--no-first-run",
                *(f"--disable-{one}" for one in quiet),
                f"http://127.0.0.1:{server.server_port}/phone",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        done.wait(SECONDS)
        browser.terminate()
        browser.wait()
    server.shutdown()
    return answer[0] if answer else None


if __name__ == "__main__":
    found = measured(Path(sys.argv[1]))
    if found is None:
        print(f"not measured in {SECONDS} seconds")
    else:
        print(f"{found[0]} pages", *found[1], sep="\n")
        sys.exit(bool(found[1]))
