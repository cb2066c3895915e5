"""`python -m mmscore`, and what the installed `mmscore` script calls."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line in a process of its own; return the exit code."""
    from mmscore.cli.main import main as run_command_line
    from mmscore.run import interrupts

    interrupts.own_process()
    code = run_command_line(sys.argv[1:])
    interrupts.ignore()
    return code


if __name__ == "__main__":
    sys.exit(main())
