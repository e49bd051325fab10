"""The command line. `main` is the command `readback`; commands import what they need when they are called."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code. Never raises."""
    from readback.cli.app import main as run

    return run(arguments)


__all__ = ["main"]
