"""What the runner asks of a suite: tasks, a world for each episode, prompts, baselines, and the lenses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from harness.agent import Agent, Played
from harness.task import Task
from harness.tool import Tool
from harness.trace import Change, Episode, HttpRequest, Read, SelfCheck
from harness.verdict import Verdict


@dataclass(frozen=True, slots=True)
class WorldEvidence:
    """What the world can say after an episode: the requests it saw, what changed, and the self-check."""

    base: str | None = None
    requests: tuple[HttpRequest, ...] = ()
    changes: tuple[Change, ...] = ()
    reads: tuple[Read, ...] = ()
    self_check: SelfCheck | None = None


class World(Protocol):
    """One episode's private world."""

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools that act on this world, `finish` among them."""
        ...

    def evidence(self) -> WorldEvidence:
        """What happened to the world, read after the agent has ended. Raises only for faults of ours."""
        ...

    def close(self) -> None:
        """Let the world go."""
        ...


class Suite(Protocol):
    """A named collection of tasks, ready to be played."""

    @property
    def name(self) -> str:
        """`ehr`, `repoqa`, ..."""
        ...

    @property
    def digest(self) -> str:
        """The digest over all tasks: two results with one digest were asked the same questions."""
        ...

    @property
    def tasks(self) -> Sequence[Task]:
        """The tasks, in order."""
        ...

    @property
    def conditions(self) -> Mapping[str, str]:
        """The suite's own conditions: name -> system prompt (`default`, `grounded`)."""
        ...

    @property
    def about(self) -> Mapping[str, Any]:
        """What `run.json` keeps of it: record hash, clock, whether it is synthetic, seed, lock digest."""
        ...

    def world(self, task: Task, variant: Mapping[str, Any]) -> World:
        """A fresh world for one episode."""
        ...

    def baseline(self, name: str, task: Task) -> Agent:
        """The named scripted baseline, ready for this task. Raises `KeyError` for an unknown name."""
        ...

    def judge(self, task: Task, episode: Episode) -> list[Verdict]:
        """Every lens that applies, from the episode alone."""
        ...


@runtime_checkable
class Rewords(Protocol):
    """A suite whose variants ask the same task in other words (another tree, other names)."""

    def instruction(self, task: Task, variant: Mapping[str, Any]) -> str:
        """What the agent is told under this variant."""
        ...


def instruction_of(suite: Suite, task: Task, variant: Mapping[str, Any]) -> str:
    """What an agent is told: the task's own instruction, unless the suite has other words for this variant."""
    return suite.instruction(task, variant) if isinstance(suite, Rewords) else task.instruction


def episode_of(
    task: Task,
    played: Played,
    evidence: WorldEvidence,
    *,
    id: str,
    agent: str,
    kind: Literal["model", "program", "baseline", "session"],
    variant: Mapping[str, Any],
    condition: str = "default",
    repeat: int = 0,
    started: str | None = None,
    ended: str | None = None,
) -> Episode:
    """The episode in which an agent `played` a task and the world gave `evidence`, as it is stored and judged."""
    return Episode(
        id=id,
        task=task.id,
        task_digest=task.digest,
        agent=agent,
        agent_kind=kind,
        condition=condition,
        variant=dict(variant),
        repeat=repeat,
        ending=played.ending,
        claim=played.claim,
        answer=played.answer,
        note=played.note,
        calls=played.calls,
        texts=played.texts,
        base=evidence.base,
        requests=evidence.requests,
        changes=evidence.changes,
        reads=evidence.reads,
        self_check=evidence.self_check,
        usage=played.usage,
        error=played.error,
        started=started,
        ended=ended,
    )
