"""What the loop and the runner cost by themselves: per step of an episode, and per episode of a run.

The model is a script in this process, so its time is nearly nothing, and what it takes is taken off all the same. Each
episode is stored, with its sync to disk. The tool gives a page of about 4 kB, as a search of a record does.

    python -m benchmarks.loop
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.agent import Briefing
from harness.finish import FINISH
from harness.functions import tool
from harness.limits import Limits
from harness.loop import ModelAgent
from harness.models.model import Asked, Reply, Turn
from harness.models.scripted import ScriptedModel
from harness.plan import make_plan
from harness.runfolder import RunFolder
from harness.runner import execute
from harness.scripted import ScriptedAgent
from harness.suite import WorldEvidence
from harness.task import Task
from harness.tool import Tool
from harness.trace import Episode
from harness.values import digest
from harness.verdict import Verdict

STEPS = 10
"""Model turns of an episode, the finishing one included."""

PAGE: dict[str, Any] = {
    "status": 200,
    "headers": {"content-type": "application/fhir+json"},
    "body": {
        "resourceType": "Bundle",
        "total": 12,
        "entry": [
            {
                "fullUrl": f"http://fhir.hospital.example/fhir/Observation/{number}",
                "resource": {
                    "resourceType": "Observation", "id": str(number), "status": "final",
                    "code": {"coding": [{"system": "http://loinc.org", "code": "2601-3", "display": "Magnesium"}]},
                    "subject": {"reference": "Patient/p17"}, "effectiveDateTime": "2026-01-15T10:15:00+00:00",
                    "valueQuantity": {"value": 1.5 + number / 10, "unit": "mg/dL", "code": "mg/dL"},
                },
            }
            for number in range(12)
        ],
    },
}  # fmt: skip


@dataclass(frozen=True)
class LoopCost:
    """Milliseconds per step, medians over episodes: the loop alone, storing alone, both; and of the model taken off."""

    steps: int
    episodes: int
    loop_ms: float
    store_ms: float
    total_ms: float
    model_ms: float


@dataclass(frozen=True)
class RunRate:
    """Episodes per second of a run of tiny episodes by a baseline, judged and stored, with this number of jobs."""

    jobs: int
    episodes: int
    seconds: float
    per_second: float


def search(type: str, parameters: dict[str, str]) -> dict[str, Any]:
    """Search.

    Args:
        type: The type.
        parameters: What to look for.
    """
    return PAGE


def loop_cost(episodes: int = 100, steps: int = STEPS) -> LoopCost:
    """Play and store episodes of so many steps, one after another."""
    tools: list[Tool] = [tool(search), FINISH]
    task = _task(1)
    model_seconds = [0.0]
    agent = ModelAgent(ScriptedModel(_replies(steps, model_seconds)), Limits(turns=steps + 1))
    looped, stored, modelled = [], [], []
    with tempfile.TemporaryDirectory() as folder, RunFolder.create(Path(folder) / "run", {}, [task]) as run:
        for number in range(episodes):
            model_seconds[0] = 0.0
            began = time.perf_counter()
            played = agent.play(Briefing("Look.", "Be careful.", task.clock), tools, repeat=0)
            ended = time.perf_counter()
            assert played.ending == "finished"
            episode = Episode(
                id=f"e{number}", task=task.id, task_digest=task.digest, agent="scripted", condition="default",
                variant={}, ending=played.ending, claim=played.claim, calls=played.calls, texts=played.texts,
                usage=played.usage,
            )  # fmt: skip
            run.store([(episode, [])])
            done = time.perf_counter()
            looped.append((ended - began - model_seconds[0]) / steps * 1000)
            stored.append((done - ended) / steps * 1000)
            modelled.append(model_seconds[0] / steps * 1000)
    loop_ms, store_ms, model_ms = map(statistics.median, (looped, stored, modelled))
    total_ms = statistics.median(map(sum, zip(looped, stored, strict=True)))
    return LoopCost(steps, episodes, loop_ms, store_ms, total_ms, model_ms)


def run_rate(jobs: int, episodes: int = 2_000) -> RunRate:
    """Plan, play, judge and store that many tiny episodes."""
    suite = _Tiny(episodes)
    began = time.perf_counter()
    plan = make_plan(suite, ["oracle"])
    with (
        tempfile.TemporaryDirectory() as folder,
        RunFolder.create(Path(folder) / "run", plan.about(), plan.tasks) as run,
    ):
        report = execute(plan, run, jobs=jobs)
    seconds = time.perf_counter() - began
    assert report.is_complete
    return RunRate(jobs, episodes, seconds, episodes / seconds)


def _replies(steps: int, model_seconds: list[float]) -> Any:
    looking = Asked("c", "search", {"type": "Observation", "parameters": {"patient": "p17", "code": "2601-3"}})
    finishing = Asked("c", "finish", {"outcome": "done", "answer": ["1.8 mg/dL"]})

    def reply(history: Sequence[Turn]) -> Reply:
        began = time.perf_counter()
        done = Reply(texts=("I look.",), calls=(looking if len(history) < 2 * steps - 1 else finishing,))
        model_seconds[0] += time.perf_counter() - began
        return done

    return reply


def _task(number: int) -> Task:
    return Task.make(
        id=f"tiny/{number}", suite="tiny", template="tiny", kind="read", requires=("answer",), needs_write=False,
        needs_chart=True, instruction="Look.", tools=("search", "finish"), clock="2026-01-15T10:15:00+00:00",
    )  # fmt: skip


class _World:
    tools: Sequence[Tool] = (tool(search), FINISH)

    def evidence(self) -> WorldEvidence:
        return WorldEvidence()

    def close(self) -> None:
        pass


class _Tiny:
    """A suite whose worlds cost nothing: what is left is the harness."""

    name = "tiny"
    conditions = {"default": "Be careful."}  # noqa: RUF012
    about: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, size: int) -> None:
        self.tasks = [_task(number) for number in range(size)]
        self.digest = digest(size)

    def world(self, task: Task, variant: Any) -> _World:
        return _World()

    def baseline(self, name: str, task: Task) -> ScriptedAgent:
        def script(tools: Any) -> dict[str, Any]:
            tools["search"](type="Observation", parameters={"patient": "p17"})
            return {"outcome": "done", "answer": ["1.8 mg/dL"]}

        return ScriptedAgent(name, script)

    def judge(self, task: Task, episode: Episode) -> list[Verdict]:
        return [Verdict(episode=episode.id, lens="answer", config="c", outcome="pass")]


if __name__ == "__main__":
    for measured in (loop_cost(), run_rate(1), run_rate(2)):
        print(type(measured).__name__, {key: round(value, 4) for key, value in asdict(measured).items()})
