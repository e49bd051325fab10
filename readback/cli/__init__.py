"""The command line. `main` is the command `readback`; commands import what they need when they are called."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code. Never raises."""
    try:
        from readback.cli.app import main as run
    except KeyboardInterrupt:  # somebody changed their mind before there was anything to end
        sys.stderr.write("readback: interrupted\n")
        return 3

    return run(arguments)


__all__ = ["main"]
