"""Sessions that are over, kept as episodes of a run, with the baselines that play the same tasks beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from ehr.sessions.request import SessionRequest, variant_of
from harness.agent import Briefing, Played
from harness.crew import judged
from harness.faults import traceback_of
from harness.suite import WorldEvidence, episode_of
from harness.trace import Episode, episode_id
from harness.values import canonical, digest
from harness.verdict import Verdict

if TYPE_CHECKING:
    from ehr.tasks.suite import EhrSuite
    from ehr.world import ChartWorld
    from harness.runfolder import RunFolder
    from harness.task import Task

BESIDE = ("idle", "blind")
"""The baselines that play each task beside an outside agent."""


def about_sessions(suite: EhrSuite, *, command: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The `run.json` of a folder that sessions are kept in. How many there will be is not planned."""
    from harness.plan import make_plan

    plan = make_plan(suite, list(BESIDE), conditions=suite.conditions, variants=[variant_of({})])
    return {**plan.about(command=command, options=options), "planned": 0, "sessions": True}


@dataclass(frozen=True, slots=True)
class _By:
    """Who played an episode, in its words, and the settings that its digest is of."""

    agent: str
    kind: Literal["session", "baseline"]

    @property
    def digest(self) -> str:
        return digest({self.kind: self.agent})


class KeptSessions:
    """The run that sessions are kept in: each judged as it ends, tries at one task counted. For all threads."""

    def __init__(
        self, suite: EhrSuite, folder: RunFolder, tools: Sequence[Mapping[str, Any]], now: Callable[[], datetime]
    ) -> None:
        self._suite, self._folder, self._now = suite, folder, now
        self._tools_digest = digest(list(tools))
        self._lock = Lock()
        self._played: Counter[bytes] = Counter()
        self._beside: set[bytes] = set()
        for episode in folder.episodes():
            key = _key(episode.task, episode.agent, episode.condition, episode.variant)
            self._played[key] += episode.sound
            self._beside |= {key} if episode.agent_kind == "baseline" else set()

    def keep(
        self, asked: SessionRequest, world: ChartWorld, played: Played, started: datetime
    ) -> tuple[Episode, list[Verdict]]:
        """The episode that a session was, and its verdicts, stored; beside it the baselines where they are missing."""
        played, evidence = _with_evidence(world, played)
        ended = self._now()
        key = _key(asked.task.id, asked.agent, asked.condition, asked.variant)
        with self._lock:
            by = _By(asked.agent, "session")
            episode = self._episode(asked, by, self._played[key], played, evidence, (started, ended))
            episode, verdicts = self._judged(asked.task, episode)
            self._folder.store([(episode, verdicts), *self._baselines(asked)])
            self._played[key] += episode.sound
            self._beside |= set(_beside(asked))
        return episode, verdicts

    def _baselines(self, asked: SessionRequest) -> Iterator[tuple[Episode, list[Verdict]]]:
        for name, key in zip(BESIDE, _beside(asked), strict=True):
            if key in self._beside:
                continue
            world = self._suite.world(asked.task, asked.variant)
            try:
                started = self._now()
                briefing = Briefing(asked.task.instruction, self._suite.conditions[asked.condition], asked.task.clock)
                played = self._suite.baseline(name, asked.task).play(briefing, world.tools, repeat=0)
                played, evidence = _with_evidence(world, played)
                times = (started, self._now())
                episode = self._episode(asked, _By(name, "baseline"), 0, played, evidence, times)
            finally:
                world.close()
            yield self._judged(asked.task, episode)

    def _judged(self, task: Task, episode: Episode) -> tuple[Episode, list[Verdict]]:
        """The episode as it will be read back from its file, and what the lenses say of that.

        A judge that fails is no verdict: `readback score` judges again.
        """
        stored = Episode.read(episode.line())
        verdicts, _ = judged(self._suite.judge, {task.id: task}, stored)
        return stored, verdicts

    def _episode(
        self, asked: SessionRequest, by: _By, repeat: int, played: Played, evidence: WorldEvidence,
        times: tuple[datetime, datetime],
    ) -> Episode:  # fmt: skip
        started, ended = map(instant, times)
        task, condition, variant = asked.task, asked.condition, dict(asked.variant)
        return episode_of(
            task,
            played,
            evidence,
            id=episode_id(
                task=task.id,
                task_digest=task.digest,
                agent=by.agent,
                agent_digest=by.digest,
                condition=condition,
                prompt_digest=digest(self._suite.conditions[condition]),
                tools_digest=self._tools_digest,
                variant=variant,
                repeat=repeat,
            ),
            agent=by.agent,
            kind=by.kind,
            condition=condition,
            variant=variant,
            repeat=repeat,
            started=started,
            ended=ended,
        )


def instant(moment: datetime) -> str:
    """A moment as traces have it."""
    return moment.isoformat(timespec="microseconds")


def _with_evidence(world: ChartWorld, played: Played) -> tuple[Played, WorldEvidence]:
    """What was played and what the world says of it. A world that fails is a fault of ours, and no reason to stop."""
    try:
        return played, world.evidence()
    except Exception as fault:
        return Played("harness_error", calls=played.calls, error=traceback_of(fault)), WorldEvidence()


def _beside(asked: SessionRequest) -> list[bytes]:
    return [_key(asked.task.id, name, asked.condition, asked.variant) for name in BESIDE]


def _key(task: str, agent: str, condition: str, variant: Mapping[str, Any]) -> bytes:
    return canonical([task, agent, condition, dict(variant)])
