"""`python -m mmscore`, and what the installed `mmscore` script calls."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line in a process of its own; return the exit code."""
    from mmscore import interrupts
    from mmscore.cli import main as run_command_line

    interrupts.own_process()
    code = run_command_line(sys.argv[1:])
    interrupts.ignore()
    return code


if __name__ == "__main__":
    sys.exit(main())
