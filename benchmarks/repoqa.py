"""What the repositories cost: indexing all that are here (budget: 20 s for the 16), renaming them, opening the suite.

    readback repos sync
    python -m benchmarks.repoqa            # --rename to rename them all as well

Medians of three in seconds. Nothing is fetched: repositories that are not here are named and left out.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from readback.records import cache_folder
from repoqa.counterfactual import renamed
from repoqa.fetch import Repository, present_all, shipped_repository
from repoqa.layout import Layout
from repoqa.lockfile import default_lock_path, read_lock
from repoqa.suite import draw_suite, open_repository
from repoqa.symbols import Index

BUDGET = 20.0
RUNS = 3


def index_all(repositories: list[Repository]) -> list[Index]:
    """Read and index every repository, nothing kept from before."""
    return [Index(Layout.read(one.root)) for one in repositories]


def seconds(work: Callable[[], object], runs: int = RUNS) -> float:
    """The median time that it takes."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def here() -> list[Repository]:
    """The pinned repositories that are here, else the shipped one; what is missing is named on standard error."""
    found, missing = present_all(read_lock(default_lock_path()), cache_folder())
    if missing:
        print(f"not here: {', '.join(pin.name for pin in missing)}; readback repos sync brings them", file=sys.stderr)
    return list(found) or [shipped_repository()]


def main() -> None:
    lock = read_lock(default_lock_path())
    repositories = here()
    indexes = index_all(repositories)
    lines = sum(
        content.count(b"\n")
        for one in indexes
        for path, content in one.layout.files.items()
        if path in one.layout.python
    )
    took = seconds(lambda: index_all(repositories))
    print({"repositories": len(repositories), "python_lines": lines, "index_s": round(took, 2), "budget_s": BUDGET})
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)

        def suite() -> object:
            return draw_suite([open_repository(one, cache) for one in repositories], lock=lock.digest)

        cold, warm = seconds(suite, 1), seconds(suite)
        print({"open_suite_cold_s": round(cold, 2), "open_suite_warm_s": round(warm, 3)})
    if "--rename" in sys.argv:
        for one, index in zip(repositories, indexes, strict=True):
            print({"rename": one.name, "s": round(seconds(lambda one=one, index=index: renamed(one, index, 1), 1), 2)})  # type: ignore[misc]


if __name__ == "__main__":
    main()
