"""A small suite to run things with: the world is one number, and each task wants it raised to another.

`python -m tests.harness.tally FOLDER [JOBS]` starts or resumes a run of it in a process of its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from harness.agent import Agent
from harness.finish import FINISH
from harness.functions import tool
from harness.plan import make_plan, resume_plan
from harness.runfolder import RunFolder
from harness.runner import execute
from harness.scripted import ScriptedAgent
from harness.suite import WorldEvidence
from harness.task import Task
from harness.tool import Tool, ToolResult
from harness.trace import Change, Episode
from harness.values import digest
from harness.verdict import Verdict

AGENTS = ("oracle", "idle", "half")


def task(number: int) -> Task:
    return Task.make(
        id=f"tally/raise/{number:04d}", suite="tally", template="raise", kind="write", requires=("state",),
        needs_write=True, needs_chart=False, instruction=f"Raise the tally to {number}.",
        tools=("add", "look", "finish"), clock="2026-01-15T10:15:00+00:00", parameters={"goal": number},
    )  # fmt: skip


class TallyWorld:
    """One number, from 0."""

    def __init__(self, suite: TallySuite) -> None:
        self._suite = suite
        self._number = 0
        self.closed = False

    @property
    def tools(self) -> Sequence[Tool]:
        return [tool(self.add), tool(self.look), FINISH]

    def add(self, number: int) -> ToolResult:
        """Add to the tally.

        Args:
            number: What to add, 0 or more.
        """
        if number < 0:
            return ToolResult("error", {"status": 400, "body": "a tally only rises"}, {"status": 400})
        time.sleep(self._suite.pause)
        self._number += number
        return ToolResult("ok", {"status": 200, "body": {"tally": self._number}}, {"status": 200})

    def look(self) -> dict[str, Any]:
        """Look at the tally."""
        return {"status": 200, "body": {"tally": self._number}}

    def evidence(self) -> WorldEvidence:
        after = str(self._number)
        changes = (Change(verb="update", reference="Tally/1", before="0", after=after),) if self._number else ()
        return WorldEvidence(changes=changes)

    def close(self) -> None:
        self.closed = True


class TallySuite:
    """Tasks 1 to `size`. `log` is a file in which each world that is made for an episode leaves a line."""

    name = "tally"
    conditions: Mapping[str, str] = {"default": "Count well.", "grounded": "Count only what you saw."}

    def __init__(self, size: int = 10, *, log: Path | None = None, pause: float = 0.0) -> None:
        self.tasks: Sequence[Task] = [task(number) for number in range(1, size + 1)]
        self.digest = digest([each.digest for each in self.tasks])
        self.about: Mapping[str, Any] = {"seed": 1, "record": None}
        self.pause = pause
        self.worlds: list[TallyWorld] = []
        self._log = log

    def world(self, task: Task, variant: Mapping[str, Any]) -> TallyWorld:
        if variant.get("fault") == "no_world":
            raise RuntimeError("the world cannot be made")
        self.worlds.append(TallyWorld(self))
        return self.worlds[-1]

    def tools(self, task: Task, variant: Mapping[str, Any]) -> Sequence[Tool]:
        return TallyWorld(self).tools

    def baseline(self, name: str, task: Task) -> Agent:
        if self._log is not None:
            with self._log.open("a") as file:
                file.write(f"{task.id} {name}\n")
        return ScriptedAgent(name, partial(getattr(self, f"_{name}"), task.parameters["goal"]))

    def _oracle(self, goal: int, tools: Any) -> dict[str, Any]:
        tools["add"](number=goal)
        return {"outcome": "done", "note": f"the tally is {tools['look']()['body']['tally']}"}

    def _idle(self, goal: int, tools: Any) -> dict[str, Any]:
        return {"outcome": "unclear"}

    def _half(self, goal: int, tools: Any) -> dict[str, Any]:
        tools["add"](number=-1)
        tools["add"](number=goal // 2)
        return {"outcome": "done"}

    def _broken(self, goal: int, tools: Any) -> dict[str, Any]:
        raise KeyError("a fault in the script")

    def judge(self, task: Task, episode: Episode) -> list[Verdict]:
        return judge(task, episode)


def judge(task: Task, episode: Episode) -> list[Verdict]:
    """`state`: is the tally what the task wants? `message`: does the agent say that it is done?"""
    if not episode.scored:
        return [
            Verdict(episode=episode.id, lens=lens, config="sha256:1", outcome="unscored", reason=episode.ending)
            for lens in ("state", "message")
        ]
    right = bool(episode.changes) and episode.changes[0].after == str(task.parameters["goal"])
    label = None if right else "MISSING_WRITE" if not episode.changes else "WRONG_VALUE"
    return [
        Verdict(episode=episode.id, lens="state", config="sha256:1", outcome="pass" if right else "fail", label=label,
                labels=(label,) if label else ()),
        Verdict(episode=episode.id, lens="message", config="sha256:1",
                outcome="pass" if episode.claim == "done" else "fail"),
    ]  # fmt: skip


def main() -> None:
    """Start or resume, in a process of its own."""
    folder, jobs = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    suite = TallySuite(200, log=folder.with_suffix(".log"), pause=0.01)
    if folder.exists():
        with RunFolder.append(folder, warn=lambda message: None) as run:
            report = execute(resume_plan(suite, AGENTS, run), run, jobs=jobs)
    else:
        plan = make_plan(suite, AGENTS)
        with RunFolder.create(folder, plan.about(), plan.tasks) as run:
            report = execute(plan, run, jobs=jobs)
    sys.stdout.write(f"{report.stored_before} {report.played} {report.left}\n")


if __name__ == "__main__":
    main()
