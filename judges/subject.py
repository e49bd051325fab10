"""What a judge is asked about: the question, the calls with what came back, and the answer, as lines of data.

Shown is what the agent was asked and told, what it called, and what it said at the end: its outcome, its answer and its
note. What it wrote beside its calls is its own word and no evidence, so it is left out; nothing tells which agent,
model or condition it was.

A trace that is too long is shortened by whole calls, from the middle; that is said, and then a judge cannot know that
something is *not* supported. The same holds for what a recorder cut, and for what a trace's source could not tell.
What a tool cut is no such doubt: the agent saw no more either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grounding.answer import answer_of
from grounding.loss import lost_evidence
from harness.plain import json_text
from harness.task import Task
from harness.trace import Call, Episode
from harness.values import digest
from judges.fence import one_line


@dataclass(frozen=True)
class Subject:
    """One episode as a judge sees it. `instruction` is what the agent was told, in the words of its variant."""

    episode: str
    instruction: str
    clock: str
    outcome: str | None
    answer: tuple[Any, ...]
    note: str
    calls: tuple[Call, ...]
    loss: tuple[str, ...]
    text: str

    @classmethod
    def of(cls, task: Task, episode: Episode, instruction: str | None = None) -> Subject:
        """What is judged of this episode."""
        return cls(
            episode=episode.id,
            instruction=task.instruction if instruction is None else instruction,
            clock=task.clock,
            outcome=episode.claim,
            answer=episode.answer,
            note=episode.note,
            calls=episode.calls,
            loss=episode.loss,
            text=answer_of(episode).text,
        )

    @property
    def says_nothing(self) -> bool:
        """Whether there are no words to be judged."""
        return not self.text.strip()

    @property
    def claims_nothing(self) -> bool:
        """Whether there is neither a word nor the claim that the task is done."""
        return self.says_nothing and self.outcome != "done"

    @cached_property
    def question_line(self) -> str:
        """What the agent was asked."""
        return one_line({"part": "question", "time": self.clock, "text": self.instruction})

    @cached_property
    def answer_line(self) -> str:
        """What the agent said at the end."""
        said = {"part": "answer", "outcome": self.outcome, "values": list(self.answer), "note": self.note}
        return one_line(said)

    @cached_property
    def call_lines(self) -> tuple[str, ...]:
        """The calls, a line each, in their order."""
        return tuple(one_line(_call(call)) for call in self.calls)

    @cached_property
    def seen(self) -> str:
        """The digest of everything that there is to see: a vote belongs to just this."""
        return digest([self.question_line, *self.call_lines, self.answer_line])

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why something may have been there that nobody can see any more: a sentence each."""
        cut = [call.position for call in self.calls if call.cut_by == "recorder"]
        of_calls = (f"the recorder cut the result of {_named(cut)}",) if cut else ()
        return of_calls + lost_evidence(self.loss)


@dataclass(frozen=True, slots=True)
class Extract:
    """The lines that a judge is shown. `left_out` says which calls are not among them, in our words."""

    lines: tuple[str, ...]
    left_out: str | None = None


def without_trace(subject: Subject) -> Extract:
    """Question and answer alone."""
    return Extract((subject.question_line, subject.answer_line))


def with_trace(subject: Subject, characters: int) -> Extract | None:
    """Question, calls and answer in at most so many characters; calls from the middle are left out where they must be.

    None where even question and answer are longer.
    """
    calls = subject.call_lines
    room = characters - len(subject.question_line) - len(subject.answer_line)
    if room < 0:
        return None
    if sum(map(len, calls)) <= room:
        return Extract((subject.question_line, *calls, subject.answer_line))
    head, tail = _ends(calls, room)
    gone = subject.calls[head : len(calls) - tail]
    were = "was" if len(gone) == 1 else "were"
    left_out = f"{_named([call.position for call in gone])} of {len(calls)} {were} left out, the whole being too long"
    mark = one_line({"part": "left_out", "calls": len(gone)})
    lines = (subject.question_line, *calls[:head], mark, *calls[len(calls) - tail :], subject.answer_line)
    return Extract(lines, left_out)


def by_index(subject: Subject, characters: int) -> Extract | None:
    """Question, a short line about each call, and answer; the calls are looked up. None where that is too long."""
    index = tuple(
        one_line(
            {
                "part": "call_index",
                "position": call.position,
                "name": call.name,
                "arguments": _beginning(call),
                "status": call.status,
                "characters": len(line),
            }
        )
        for call, line in zip(subject.calls, subject.call_lines, strict=True)
    )
    lines = (subject.question_line, *index, subject.answer_line)
    return Extract(lines) if sum(map(len, lines)) <= characters else None


_INDEXED = 200
"""Characters of a call's arguments that an index shows."""


def _call(call: Call) -> dict[str, Any]:
    line: dict[str, Any] = {"part": "call", "position": call.position, "name": call.name}
    line["arguments"] = call.raw_arguments if call.arguments is None else call.arguments
    line["status"] = call.status
    if call.cut_by:
        line["cut_by"] = call.cut_by
    line["result"] = call.result
    return line


def _beginning(call: Call) -> str:
    text = json_text(call.raw_arguments or "" if call.arguments is None else call.arguments)
    return text if len(text) <= _INDEXED else f"{text[:_INDEXED]}…"


def _ends(calls: Sequence[str], room: int) -> tuple[int, int]:
    """How many calls from the start and from the end fit, taken in turn; the first that does not fit ends its side."""
    taken = [0, 0]
    is_open = [True, True]
    side = 0
    while any(is_open):
        place = taken[0] if side == 0 else len(calls) - 1 - taken[1]
        if is_open[side] and len(calls[place]) <= room and sum(taken) < len(calls) - 1:
            room -= len(calls[place])
            taken[side] += 1
        else:
            is_open[side] = False
        side = 1 - side
    return taken[0], taken[1]


def _named(positions: Sequence[int]) -> str:
    if len(positions) == 1:
        return f"call {positions[0]}"
    if list(positions) == list(range(positions[0], positions[-1] + 1)):
        return f"calls {positions[0]} to {positions[-1]}"
    return f"calls {', '.join(map(str, positions))}"
