"""`python -m mmscore`, and what the installed `mmscore` script calls."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; return the exit code."""
    from mmscore.cli import main as run_command_line

    return run_command_line(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
