"""Runs, subjects and votes in few words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from harness.models.model import Reply
from harness.models.scripted import ScriptedModel
from harness.runfolder import RunFolder
from harness.task import Task
from harness.trace import Call, Episode
from harness.verdict import Verdict
from judges.judge import Judge
from judges.rubric import Rubric
from judges.subject import Subject
from judges.vote import Vote

KEY = b"k" * 32
ABOUT = {
    "suite": "toy", "suite_digest": "sha256:toy", "agents": [], "conditions": {}, "variants": [{}], "repeats": 1,
    "tools": {}, "planned": 0, "options": {}, "command": ["readback"], "python": "3.11", "packages": {}, "times": {},
}  # fmt: skip


def task(number: int = 1, instruction: str = "Where is Parser defined?") -> Task:
    return Task.make(
        id=f"toy/where/{number:04}", suite="toy", template="where", kind="read", requires=("answer",),
        needs_write=False, needs_chart=True, instruction=instruction, tools=("read_file", "finish"),
        clock="2026-01-15T10:15:00+00:00",
    )  # fmt: skip


def call(position: int = 1, name: str = "read_file", result: Any = "class Parser: ...", **more: Any) -> Call:
    given: dict[str, Any] = {"arguments": {"path": "src/parser.py"}, "status": "ok", "step": position, **more}
    return Call(position=position, name=name, result=result, **given)


def episode(number: int = 1, answer: Sequence[Any] = ("src/parser.py",), **more: Any) -> Episode:
    given: dict[str, Any] = {
        "task": task(number).id, "task_digest": task(number).digest, "agent": "m", "condition": "default",
        "variant": {}, "ending": "finished", "claim": "done", "calls": (call(),), **more,
    }  # fmt: skip
    return Episode(id=f"sha256:{number:04x}", answer=tuple(answer), **given)


def subject(answer: Sequence[Any] = ("src/parser.py",), **more: Any) -> Subject:
    return Subject.of(task(), episode(answer=answer, **more))


def run(path: Path, episodes: Sequence[Episode], verdicts: Iterable[Verdict] = (), **about: Any) -> RunFolder:
    """A run folder that is open to be written on."""
    numbers = sorted({int(one.task.rpartition("/")[2]) for one in episodes})
    folder = RunFolder.create(path, {**ABOUT, "planned": len(episodes), **about}, [task(n) for n in numbers])
    of: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        of.setdefault(verdict.episode, []).append(verdict)
    folder.store([(one, of.get(one.id, [])) for one in episodes])
    return folder


def said(verdict: str = "supported", reason: str = "It is there.", failed: Sequence[str] = (), **more: Any) -> str:
    """A judge's reply."""
    return json.dumps({"reason": reason, "failed": list(failed), "calls": [1], "verdict": verdict, **more})


NO = said("not_supported", "No call shows the path.", ["src/parser.py"])


def judge_saying(*texts: str, **settings: Any) -> Judge:
    """A judge whose nth vote is the nth of these texts."""
    replies = iter([Reply(texts=(text,)) for text in texts])
    return Judge(ScriptedModel(lambda history: next(replies)), settings.pop("rubric", Rubric("facts")), **settings)


def vote(judge: Judge, number: int = 1, subject_: Subject | None = None, **more: Any) -> Vote:
    case = judge.case(subject() if subject_ is None else subject_, KEY)
    assert case is not None
    return judge.vote(case, number, **more)
