"""What goes wrong on our side of a session: the episode is kept, nobody is blamed, and the server goes on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ehr.sandbox import Record, Request
from ehr.sessions import Sessions, about_sessions
from ehr.tasks import synthetic
from ehr.tasks.suite import EhrSuite, draw_suite
from ehr.world import ChartWorld
from harness.runfolder import RunFolder
from harness.suite import WorldEvidence
from harness.task import Task
from harness.trace import Episode
from harness.verdict import Verdict
from tests.ehr.test_sessions import Time

WEIGHT = "ehr/record-weight/0001"


@pytest.fixture(scope="module")
def drawn() -> Iterator[EhrSuite]:
    rows = synthetic.generate(patients=40, seed=5)
    with Record.build(rows, clock=synthetic.CLOCK, synthetic=True) as built:
        yield draw_suite(built, seed=1, templates=["record-weight"], per_template=2)


class NoJudge(EhrSuite):
    """A suite whose judge fails for sessions."""

    def judge(self, task: Task, episode: Episode) -> list[Verdict]:
        if episode.agent_kind == "session":
            raise RuntimeError("a fault of the judge")
        return super().judge(task, episode)


class NoEvidence(EhrSuite):
    """A suite whose worlds fail at the end of a session."""

    def world(self, task: Task, variant: Any, *, base: str | None = None) -> ChartWorld:
        world = super().world(task, variant, base=base)
        if base is not None:
            world.evidence = _failing  # type: ignore[method-assign]
        return world


def _failing() -> WorldEvidence:
    raise RuntimeError("a fault of the world")


def sessions_of(kind: type[EhrSuite], drawn: EhrSuite, path: Path) -> tuple[Sessions, RunFolder, Time]:
    suite = kind(drawn.record, drawn.tasks, seed=drawn.seed, undrawn={})
    folder = RunFolder.create(path, about_sessions(suite, command=["x"], options={}), suite.tasks)
    time = Time()
    return Sessions(suite, folder, "http://127.0.0.1:8080", now=time), folder, time


def test_a_judge_that_fails_costs_no_episode(drawn: EhrSuite, tmp_path: Path) -> None:
    sessions, folder, _ = sessions_of(NoJudge, drawn, tmp_path / "run")
    opened = sessions.open({"task": WEIGHT})
    told = sessions.finish(opened.session, {"outcome": "done"})
    assert (told.success, told.verdicts) == (None, ())
    assert [e.ending for e in folder.episodes() if e.agent_kind == "session"] == ["finished"]
    folder.close()


def test_a_world_that_fails_at_the_end_is_a_harness_error_and_stops_nobody_else(
    drawn: EhrSuite, tmp_path: Path
) -> None:
    sessions, folder, time = sessions_of(NoEvidence, drawn, tmp_path / "run")
    finished, late = sessions.open({"task": WEIGHT}), sessions.open({"task": WEIGHT, "agent": "late"})
    assert sessions.finish(finished.session, {"outcome": "done"}).success is None
    sessions.fhir(late.token, Request("GET", "/Patient"))
    time.now += timedelta(hours=2)
    assert sessions.open({"task": WEIGHT}).task == WEIGHT  # ends the late one first
    own = [episode for episode in folder.episodes() if episode.agent_kind == "session"]
    assert [(e.agent, e.ending, len(e.calls)) for e in own] == [
        ("session", "harness_error", 0), ("late", "harness_error", 1),
    ]  # fmt: skip
    assert all("a fault of the world" in (e.error or "") for e in own)
    assert {v.outcome for e in own for v in folder.verdicts_of(e.id)} == {"unscored"}
    folder.close()
