"""`python -m manual.check SITE`: every link of the built site leads somewhere, every public name has its anchor, and no
text shows a backslash that was meant for Markdown.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import re
import subprocess
import sys
import threading
from pathlib import Path

from manual import names


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass

    def handle(self) -> None:
        # Of pictures the head alone is read.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            super().handle()


def missing_anchors(site: Path) -> list[str]:
    """Public names without an element of their name in the pages of the reference."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in (site / "reference").rglob("*.html"))
    there = set(re.findall(r'id="(qd[\w.]*)"', text))
    wanted = [n.path for page in names.pages() for name in page.names for n in (name, *name.members)]
    return [path for path in wanted if path not in there]


def shown_backslashes(site: Path) -> list[str]:
    """Where text, not code, has a backslash in front of what it should have hidden."""
    found = []
    for page in site.rglob("*.html"):
        text = re.sub(r"<(pre|code|script|style)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        shown = re.finditer(r".{0,20}\\(&\w+;|[*_|<>\[\]]).{0,20}", text)
        found += [f"{page.relative_to(site)}: {m[0]}" for m in shown]
    return found


def check_links(site: Path) -> int:
    """The exit status of linkchecker, on a server of this process."""
    server = http.server.ThreadingHTTPServer(("localhost", 0), functools.partial(_Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://localhost:{server.server_address[1]}/"
    command = [sys.executable, "-m", "linkcheck", "--no-status", "--no-robots", "--no-warnings", "-t", "4", address]
    try:
        return subprocess.run(command).returncode
    finally:
        server.shutdown()


def main(site: Path) -> int:
    missing = missing_anchors(site)
    if missing:
        print(f"without an anchor: {', '.join(missing)}")
    shown = shown_backslashes(site)
    for place in shown:
        print(f"a backslash is shown: {place}")
    return check_links(site) or bool(missing or shown)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
