"""Memory of several worker processes over one record: what each has for itself, and what they share.

    python -m benchmarks.workers ward.record

Each worker opens the record, makes a fork and answers 200 searches; then all are measured at once. `pss` divides what
is shared among those who share it, `private` is what a further worker costs. MiB, from the kernel's own accounting
(Linux).
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

WORKERS, SEARCHES = 8, 200


def memory(record: Path, workers: int = WORKERS) -> dict[str, float]:
    """Medians over the workers, and the sum of `pss`: what all of them take together."""
    command = [sys.executable, "-m", "benchmarks.workers", str(record), "--worker"]
    started = [
        subprocess.Popen([*command, str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for seed in range(workers)
    ]
    for worker in started:
        assert worker.stdout is not None
        worker.stdout.readline()
    seen = []
    for worker in started:
        assert worker.stdin is not None and worker.stdout is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
        seen.append(json.loads(worker.stdout.readline()))
    for worker in started:
        worker.communicate("\n")
    return {
        "workers": workers,
        "pss_mib": statistics.median(s["pss"] for s in seen),
        "private_mib": statistics.median(s["private"] for s in seen),
        "all_mib": sum(s["pss"] for s in seen),
    }


def _work(path: str, seed: int) -> None:
    """One worker: search, say so, wait until all have, measure, wait until all have."""
    from benchmarks.records import main_queries
    from ehr.sandbox import Record
    from ehr.sandbox.overlay import Overlay
    from ehr.sandbox.searching.search import search

    with Record.open(path) as record:
        overlay = Overlay(record)
        for type_name, parameters in main_queries(record, SEARCHES, seed):
            found = search(overlay, type_name, parameters)
            _ = found.matches[:20]
        print("ready", flush=True)
        sys.stdin.readline()
        print(json.dumps(_own_memory()), flush=True)
        sys.stdin.readline()


def _own_memory() -> dict[str, float]:
    text = Path("/proc/self/smaps_rollup").read_text()
    kib = {name: int(size) for name, size in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE)}
    return {"pss": kib["Pss"] / 1024, "private": (kib["Private_Clean"] + kib["Private_Dirty"]) / 1024}


if __name__ == "__main__":
    if "--worker" in sys.argv:
        _work(sys.argv[1], int(sys.argv[3]))
    else:
        print(memory(Path(sys.argv[1])))
