"""A report of 2,000 judged episodes: under 15 s, under 10 MB, and how long a browser takes to open and filter it.

python -m benchmarks.report
"""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.comparison import EPISODES, make_run
from harness.runfolder import RunFolder
from readback.report import write_report
from readback.summary import summary_of


@dataclass(frozen=True)
class Written:
    """A report with the summary and comparison that are in it: seconds (median), and its size."""

    episodes: int
    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Used:
    """Milliseconds in headless Chromium (medians): until it is loaded, and to filter by a facet and by words."""

    load: float
    facet: float
    first_search: float
    search: float


def measure(run: Path, out: Path, runs: int = 3) -> Written:
    """Write the report, reading the run each time."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        folder = RunFolder.open(run)
        write_report(folder, out, run="runs/bench", summary=summary_of(folder))
        seconds.append(time.perf_counter() - start)
    return Written(EPISODES, round(statistics.median(seconds), 2), round(out.stat().st_size / 1e6, 2))


_FACET = """(() => { const choice = document.querySelector('select[data-letter="o"]');
  const start = performance.now(); choice.value = choice.value ? "" : "fail";
  choice.dispatchEvent(new Event("change")); document.body.offsetHeight; return performance.now() - start; })()"""
_SEARCH = """new Promise((done) => { const text = document.getElementById("find-text"); text.value = WORDS;
  const count = document.getElementById("find-count"); const start = performance.now();
  new MutationObserver(() => { document.body.offsetHeight; done(performance.now() - start - 150); })
    .observe(count, {childList: true}); text.dispatchEvent(new Event("input")); })"""


def use(page: Path) -> Used:
    """Open the page and filter it, as a reader would."""
    from tests.readback.browser import browser

    loads, facets, searches = [], [], []
    with browser() as tab:
        tab.look(width=1280)
        for _ in range(3):
            tab.open(page)
            loads.append(tab.run("performance.timing.loadEventEnd - performance.timing.navigationStart"))
        facets = [tab.run(_FACET) for _ in range(6)]
        searches = [tab.run(_SEARCH.replace("WORDS", repr(words))) for words in ("tide", "cursor", "frame", "shard")]
    return Used(
        round(statistics.median(loads)), round(statistics.median(facets)), round(searches[0]),
        round(statistics.median(searches[1:])),
    )  # fmt: skip


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run, page = make_run(Path(folder) / "run"), Path(folder) / "report.html"
        print(asdict(measure(run, page)))
        print(asdict(use(page)))


if __name__ == "__main__":
    main()
