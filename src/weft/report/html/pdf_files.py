"""A PDF of an HTML file, printed by a Chromium browser of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from weft.errors import CorpusError
from weft.io.atomic_files import write_atomically

VARIABLE = "WEFT_CHROMIUM"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
MOST_SECONDS = 300


def find_chromium() -> str:
    """Return the path of a browser: the one that `WEFT_CHROMIUM` names, else the first found on the search path.

    Raises:
        CorpusError: There is none.
    """
    named = os.environ.get(VARIABLE)
    for name in (named,) if named else BROWSERS:
        if found := shutil.which(name):
            return found
    raise CorpusError(
        "a PDF is printed by Chromium, which was not found",
        seen=f"{VARIABLE}={named}" if named else f"none of {', '.join(BROWSERS)}",
        allowed=f"Chromium, Chrome or Edge on the search path, or its path in {VARIABLE}",
        next_step="install chromium, or omit --pdf and print the HTML file from a browser",
    )


def write_pdf(page: Path, out: Path) -> Path:
    """Print an HTML file to a PDF file and return its path.

    Args:
        page: The HTML file.
        out: The PDF file to write; it appears when it is complete.

    Raises:
        CorpusError: There is no Chromium, it fails, or the file cannot be written.
    """
    browser = find_chromium()
    with tempfile.TemporaryDirectory(prefix="weft-pdf-") as folder:
        printed = Path(folder, "report.pdf")
        command = [
            browser, "--headless", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-dev-shm-usage",
            f"--user-data-dir={folder}/profile", "--no-pdf-header-footer", f"--print-to-pdf={printed}",
            # Its sandbox does not run for root. The page is our own and may load nothing.
            *(["--no-sandbox"] if _is_root() else []),
            page.resolve().as_uri(),
        ]  # fmt: skip
        problem = _run(command)
        if not printed.is_file():
            raise CorpusError(
                "Chromium did not print the report",
                seen=problem or "no file",
                allowed="a browser that runs without a display (chromium --headless)",
                next_step=f"run {browser} --version, or omit --pdf and print the HTML file from a browser",
            )
        with write_atomically(out) as handle, printed.open("rb") as source:
            shutil.copyfileobj(source, handle)
    return out


def _is_root() -> bool:
    return os.name == "posix" and os.geteuid() == 0


def _run(command: list[str]) -> str:
    """Run the browser; return what it says in case it prints nothing."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=MOST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {MOST_SECONDS} seconds"
    except OSError as error:
        return str(error)
    return done.stderr.decode(errors="replace").strip()[-200:]
