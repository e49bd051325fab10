"""Runs written by hand: tasks, episodes and verdicts in few words, with every count known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.task import Task
from harness.trace import Change, Episode, HttpRequest, Usage
from harness.verdict import Clause, Verdict

VARIANT = {"validation": "hapi", "fault": None, "protocol": "tools"}
ABOUT = {
    "suite": "ehr",
    "suite_digest": "sha256:5u1te",
    "record": {"hash": "sha256:4ec04d", "clock": "2026-01-15T10:15:00+00:00", "synthetic": True},
    "seed": 1,
}
WROTE = HttpRequest(method="POST", path="/Observation", status=201, response_headers={"Location": "/Observation/1000"})
READ = HttpRequest(method="GET", path="/Observation/1000", status=200)


def task(name: str, *, kind: str = "write", requires: tuple[str, ...] = ("state",), twin: str | None = None) -> Task:
    """The task `template/0001a`, whose template is the part before the slash."""
    template = name.partition("/")[0]
    return Task.make(
        id=f"ehr/{name}",
        suite="ehr",
        template=template,
        twin=f"ehr/{twin}" if twin else None,
        kind=kind,
        requires=requires,
        needs_write=kind == "write",
        needs_chart=True,
        instruction=f"Do {name}.",
        tools=("fhir_search", "finish"),
        clock="2026-01-15T10:15:00+00:00",
    )


@dataclass
class Run:
    """A run that grows by `play`."""

    tasks: list[Task]
    episodes: list[Episode] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)

    def play(
        self,
        name: str,
        agent: str = "m",
        *,
        says: dict[str, str] | None = None,
        notes: tuple[str, ...] = (),
        condition: str = "default",
        repeat: int = 0,
        kind: str = "model",
        variant: dict[str, Any] | None = None,
        ending: str = "finished",
        claim: str | None = "done",
        requests: Sequence[HttpRequest] = (),
        changes: Sequence[Change] = (),
        usage: Usage | None = None,
        seconds: float | None = None,
        clauses: Sequence[Clause] = (),
        **more: Any,
    ) -> Episode:
        """One episode. `says`: lens -> `pass`, `vacuous`, `unscored`, or `fail LABEL LABEL`. Notes are of state."""
        number = len(self.episodes)
        episode = Episode(
            id=f"sha256:{number:04x}",
            task=f"ehr/{name}",
            task_digest="sha256:0",
            agent=agent,
            agent_kind=kind,  # type: ignore[arg-type]
            condition=condition,
            variant=VARIANT if variant is None else variant,
            repeat=repeat,
            ending=ending,  # type: ignore[arg-type]
            claim=claim,  # type: ignore[arg-type]
            requests=tuple(requests),
            changes=tuple(changes),
            usage=usage or Usage(),
            started="2026-01-15T10:15:00+00:00" if seconds is not None else None,
            ended=f"2026-01-15T10:15:{seconds:09.6f}+00:00" if seconds is not None else None,
            **more,
        )
        self.episodes.append(episode)
        for lens, words in (says or {}).items():
            outcome, *labels = words.split()
            self.verdicts.append(
                Verdict(
                    episode=episode.id,
                    lens=lens,
                    config=f"sha256:{lens}",
                    outcome=outcome,  # type: ignore[arg-type]
                    label=labels[0] if labels else None,
                    labels=tuple(labels),
                    notes=notes if lens == "state" else (),
                    reason="not judged" if outcome == "unscored" else None,
                    clauses=tuple(clauses) if lens == "state" else (),
                )
            )
        return episode
