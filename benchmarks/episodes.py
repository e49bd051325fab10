"""Episodes per second of the real suite: every baseline on every task, judged, checked and stored.

    python -m benchmarks.episodes

The record has at least 100,000 resources; 2,000 episodes are played with one job and with two.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from ehr.sandbox import Record
from ehr.tasks.baselines import BASELINES
from ehr.tasks.suite import draw_suite
from ehr.tasks.synthetic import CLOCK, generate
from harness.plan import make_plan
from harness.runfolder import RunFolder
from harness.runner import execute

RESOURCES = 100_000
EPISODES = 2_000


@dataclass(frozen=True)
class Rate:
    """Episodes per second with this number of jobs, on a record of so many resources."""

    jobs: int
    resources: int
    episodes: int
    seconds: float
    per_second: float


def large_record(path: Path) -> Record:
    """A synthetic record of at least `RESOURCES` resources."""
    return Record.build(generate(patients=500, seed=1), path, clock=CLOCK, synthetic=True)


def rate(record: Record, jobs: int) -> Rate:
    """Play, judge, check and store the episodes."""
    suite = draw_suite(record, seed=1)
    plan = make_plan(suite, list(BASELINES), repeats=-(-EPISODES // (len(suite.tasks) * len(BASELINES))))
    with (
        tempfile.TemporaryDirectory() as folder,
        RunFolder.create(Path(folder) / "run", plan.about(), plan.tasks) as run,
    ):
        start = time.perf_counter()
        report = execute(plan, run, jobs=jobs)
        seconds = time.perf_counter() - start
    assert report.is_complete
    played = len(plan.episodes)
    return Rate(jobs, sum(record.counts.values()), played, seconds, played / seconds)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, large_record(Path(folder) / "large.record") as record:
        assert sum(record.counts.values()) >= RESOURCES
        for jobs in (1, 2):
            print(asdict(rate(record, jobs)))


if __name__ == "__main__":
    main()
