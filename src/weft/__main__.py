"""``python -m weft`` and the command ``weft``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is imported or prepared ends it without a traceback, as it does later."""
    try:
        from weft.cli import main as run

        run()
    except KeyboardInterrupt:
        print("weft: stopped", file=sys.stderr)  # noqa: T201
        sys.exit(130)


if __name__ == "__main__":
    main()
