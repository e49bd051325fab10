"""What it costs to start the command: `readback --help`, against starting Python alone.

python -m benchmarks.commands
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 11


def help_seconds() -> dict[str, float]:
    """Medians in seconds, the two commands in turn."""
    ours, python = [], []
    for _ in range(RUNS):
        ours.append(_seconds([str(Path(sys.executable).with_name("readback")), "--help"]))
        python.append(_seconds([sys.executable, "-c", "pass"]))
    help_, bare = statistics.median(ours[1:]), statistics.median(python[1:])
    return {"help_s": help_, "python_s": bare, "ratio": help_ / bare}


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    print(help_seconds())
