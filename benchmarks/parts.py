"""The parts of `make bench`: what is measured of each, against which budget.

    python -m benchmarks.parts loop

A line is a budget of the design: what was measured, the budget, and whether it holds. What is measured around it is
printed as JSON by the part's own module (`python -m benchmarks.records`, ...).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

Line = tuple[str, float, str, float | None]
"""What, measured, its unit, and the most (or, for rates per second, the least) that it may be; None has no budget."""


def starting() -> Iterator[Line]:
    from benchmarks.commands import help_seconds

    cost = help_seconds()
    yield "readback --help", cost["help_s"], "s", 0.3
    yield "  against starting Python alone", cost["ratio"], "times", None


def loop() -> Iterator[Line]:
    from benchmarks.loop import loop_cost, run_rate

    cost = loop_cost()
    yield "loop and storing, per step", cost.total_ms, "ms", 0.5
    yield "  of it the loop", cost.loop_ms, "ms", None
    for jobs in (1, 2):
        yield f"tiny episodes, --jobs {jobs}", run_rate(jobs).per_second, "/s", None


def episodes() -> Iterator[Line]:
    from benchmarks.episodes import large_record, rate

    with tempfile.TemporaryDirectory() as folder, large_record(Path(folder) / "large.record") as record:
        for jobs in (1, 2):
            of = rate(record, jobs)
            yield (
                f"ehr episodes ({of.episodes}) on {of.resources:,} resources, --jobs {jobs}",
                of.per_second,
                "/s",
                None,
            )


def record() -> Iterator[Line]:
    from benchmarks import forks, records, workers
    from ehr.sandbox import Record

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "medagentbench.record"
        built = records.build(path)
        yield "building the record", built["seconds"], "s", 60.0
        yield "  peak memory", built["peak_mib"], "MiB", 500.0
        seen = records.measure(path)
        opening = seen["opening"]["first_query"]
        yield f"opening {seen['resources']:,} resources, first query included", opening, "ms", 500.0
        yield "patient + code + date, sorted, first page, exact total: p50", seen["main_query"]["p50"], "ms", 1.0
        yield "  p99", seen["main_query"]["p99"], "ms", 5.0
        yield "1,000 random searches of every kind: p50", seen["random_searches"]["p50"], "ms", None
        yield "  the slowest", seen["random_searches"]["worst"], "ms", 50.0
        yield "  the slowest, asked again", seen["random_searches_again"]["worst"], "ms", 50.0
        yield "  through 2,000 writes: p50", seen["after_2000_writes"]["p50"], "ms", None
        yield "  through 2,000 writes: the slowest", seen["after_2000_writes"]["worst"], "ms", 50.0
        with Record.open(path) as opened:
            cost = forks.measure(opened)
        yield "fork", cost.fork, "ms", 0.1
        yield "changes() after 20 writes", cost.changes_after_20, "ms", None
        yield "changes() after 2,000 writes", cost.changes_after_2000, "ms", None
        yield "  per write, against 20", cost.changes_after_2000 / cost.changes_after_20 / 100, "times", None
        shared = workers.memory(path)
        yield f"{shared['workers']} workers over one record, each", shared["pss_mib"], "MiB", None
        yield "  of it private", shared["private_mib"], "MiB", None


def serve() -> Iterator[Line]:
    from benchmarks.serve import measure

    for one in measure():
        of = asdict(one)
        yield f"serve: {of['what']}, {of['clients']} clients", of["per_second"], "/s", None


def grounding() -> Iterator[Line]:
    from benchmarks.grounding import corpus, measure

    speed, agreement, _ = measure(corpus())
    yield "kappa_ground, evidence kept", speed.cached, "/s", 500.0
    yield "  nothing kept", speed.uncached, "/s", 500.0
    yield "  against a plain implementation", speed.cached_times_plain, "times", 10.0
    yield "  traces that ast can parse", float(agreement.parsed), "", None
    yield "  of them with the same outcome", float(agreement.same_outcome), "", None


def repoqa() -> Iterator[Line]:
    from benchmarks.repoqa import here, index_all, seconds

    repositories = here()
    yield f"indexing {len(repositories)} repositories", seconds(lambda: index_all(repositories)), "s", 20.0


def judges() -> Iterator[Line]:
    from benchmarks.judges import judging_cost

    cost = judging_cost()
    what = f"judging {cost.episodes:,} episodes with {cost.calls:,} calls of 50 ms"
    yield f"{what}: lost to overhead", 100 * cost.loss, "%", 10.0
    yield "  an answer, as the stub counts it", cost.took_ms, "ms", None
    yield "  in flight, mean (of 32)", cost.in_flight, "", None
    yield "  of the client's time, per call", cost.client_cpu_ms, "ms", None
    yield "  the same from the cache", cost.from_cache_s, "s", 5.0
    yield "  again, with nothing missing", cost.nothing_missing_s, "s", None


def comparison() -> Iterator[Line]:
    from benchmarks.comparison import make_run, measure

    with tempfile.TemporaryDirectory() as folder:
        cost = measure(make_run(Path(folder) / "run"))
    yield f"comparing {cost.episodes:,} episodes, {cost.draws:,} draws, {cost.pairs} pairs", cost.seconds, "s", 10.0


def report() -> Iterator[Line]:
    from benchmarks.comparison import make_run
    from benchmarks.report import measure, use
    from tests.readback.browser import NAMES

    with tempfile.TemporaryDirectory() as folder:
        run, page = make_run(Path(folder) / "run"), Path(folder) / "report.html"
        written = measure(run, page)
        yield f"a report of {written.episodes:,} episodes", written.seconds, "s", 15.0
        yield "  its size", written.megabytes, "MB", 10.0
        if any(shutil.which(name) for name in NAMES):
            used = use(page)
            yield "  loading it in a browser", used.load, "ms", None
            yield "  filtering it by a choice", used.facet, "ms", None
            yield "  searching it", used.search, "ms", None


PARTS: dict[str, Callable[[], Iterator[Line]]] = {
    part.__name__: part
    for part in (starting, loop, episodes, record, serve, grounding, repoqa, judges, comparison, report)
}


def measured(name: str) -> int:
    """Measure one part and print its lines; how many budgets it misses."""
    missed = 0
    for what, measured, unit, budget in PARTS[name]():
        said = _holds(measured, unit, budget)
        missed += "MISSED" in said
        print(f"{what:<74} {_number(measured):>10} {unit:<6} {said}".rstrip(), flush=True)
    return missed


def _holds(measured: float, unit: str, budget: float | None) -> str:
    if budget is None:
        return ""
    most = unit not in ("/s", "times")
    fits = measured <= budget if most else measured >= budget
    return f"{'at most' if most else 'at least'} {budget:g} {unit}: {'holds' if fits else 'MISSED'}"


def _number(value: Any) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(min(measured(sys.argv[1]), 1))
