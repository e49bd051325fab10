"""`make bench`: every budget in one run, as medians and ratios, with the machine named.

python -m benchmarks                 # all of it, about four minutes on two cores
python -m benchmarks loop grounding  # these parts only
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

from benchmarks.parts import PARTS


def machine() -> str:
    """The machine in one line: what a reader of the numbers needs to know."""
    cores = os.cpu_count()
    model = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    busy = os.getloadavg()[0]
    return f"{model}, {cores} cores, {platform.system()}, Python {platform.python_version()}, load {busy:.1f} at start"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def main(names: list[str]) -> int:
    """Measure the parts; 1 where a budget is missed, 2 for an unknown part."""
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"no part is called {unknown[0]!r}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    print(machine(), flush=True)
    # Each in a process of its own, as a command is: what one leaves in memory is not the next one's to look through.
    ends = [subprocess.run([sys.executable, "-m", "benchmarks.parts", name]).returncode for name in names or PARTS]
    return 1 if any(ends) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
