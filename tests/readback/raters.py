"""Runs written by hand of which is known what every rater says: on disk, as `readback compare` finds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.runfolder import RunFolder
from harness.task import Task
from harness.trace import Episode
from harness.verdict import Clause, Verdict
from tests.readback.hand import ABOUT

REPOQA = {"suite": "repoqa", "suite_digest": "sha256:5u1te", "seed": 1, "times": {"created": "2026-01-20T08:00:00Z"}}


def question(name: str, *, bucket: str = "high", unknown: bool = False) -> Task:
    """The question `repository/01`."""
    repository = name.partition("/")[0]
    return Task.make(
        id=f"repoqa/{name}",
        suite="repoqa",
        template="definition",
        cluster=repository,
        kind="read",
        requires=("answer",),
        needs_write=False,
        needs_chart=True,
        instruction=f"In the {repository} repository, where is {name}?",
        tools=("read_file", "finish"),
        clock="2026-01-15T10:15:00+00:00",
        parameters={"bucket": bucket, "unknown": unknown},
    )


@dataclass
class Rated:
    """A run that grows by `say`. A rater is a lens, or `judge` with a name: `judge:NAME`."""

    tasks: list[Task]
    about: Mapping[str, Any] = field(default_factory=lambda: dict(REPOQA))
    episodes: list[Episode] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)

    def say(
        self,
        task: str,
        *,
        agent: str = "m",
        kind: str = "model",
        condition: str = "default",
        repeat: int = 0,
        ending: str = "finished",
        notes: Mapping[str, tuple[str, ...]] | None = None,
        clauses: Mapping[str, Sequence[Clause]] | None = None,
        key: str | None = None,
        fields: Mapping[str, Any] | None = None,
        **said: str,
    ) -> Episode:
        """One episode. `said`: lens -> outcome and labels; `judge_x="fail ppfff"` adds votes (p, f, v, u)."""
        number = len(self.episodes)
        episode = Episode(
            id=f"sha256:{key or format(number, '04x')}", task=task, task_digest="sha256:0", agent=agent,
            agent_kind=kind, condition=condition, variant={"protocol": "tools", "counterfactual": None},
            repeat=repeat, ending=ending, claim="done", answer=("src/a.py",), **dict(fields or {}),
        )  # type: ignore[arg-type]  # fmt: skip
        self.episodes.append(episode)
        for name, words in said.items():
            lens, _, which = name.partition("_")
            outcome, *more = words.split()
            votes = more.pop() if lens == "judge" and more else ""
            self.verdicts.append(
                Verdict(
                    episode=episode.id,
                    lens=lens,
                    config=f"sha256:{which or lens}",
                    outcome=outcome,  # type: ignore[arg-type]
                    label=more[0] if more else None,
                    labels=tuple(more),
                    notes=(notes or {}).get(name, ()),
                    reason="not judged" if outcome == "unscored" else None,
                    clauses=tuple((clauses or {}).get(name, ())) or _votes(votes),
                )
            )
        return episode

    def write(self, path: Path) -> Path:
        with RunFolder.create(path, self.about, self.tasks) as folder:
            folder.store([(one, [v for v in self.verdicts if v.episode == one.id]) for one in self.episodes])
        return path


def _votes(letters: str) -> tuple[Clause, ...]:
    words = {"p": "pass", "f": "fail", "v": "vacuous", "u": "unscored"}
    return tuple(
        Clause(name=f"vote {number}", outcome=words[letter], why=f"reason {number}")  # type: ignore[arg-type]
        for number, letter in enumerate(letters, 1)
    )


def with_cells(cells: Mapping[tuple[str, str], int], *, repositories: int = 4, correct: bool = True) -> Rated:
    """A run in which `grounding` and `judge` say these pairs of outcomes so often, spread over the repositories."""
    run = Rated([question(f"r{i}/01") for i in range(repositories)])
    outcomes = [pair for pair, times in cells.items() for _ in range(times)]
    for number, (a, b) in enumerate(outcomes):
        more = {"answer": "pass"} if correct else {}
        run.say(f"repoqa/r{number % repositories}/01", repeat=number, grounding=a, judge=b, **more)
    return run


__all__ = ["ABOUT", "REPOQA", "Rated", "question", "with_cells"]
