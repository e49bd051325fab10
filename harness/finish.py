"""The tool that ends every episode, and what a program must return in its place."""

from __future__ import annotations

from typing import Any

from harness.claim import Finish, accepted
from harness.functions import ArgumentsError, tool
from harness.plain import PlainError, plain, shown
from harness.tool import ToolResult
from harness.trace import Claim

__all__ = ["FINISH", "MAX_ANSWER", "MAX_ANSWERS", "MAX_NOTE", "Finish", "read_finish"]

MAX_ANSWERS = 1_000
MAX_ANSWER = 200_000
MAX_NOTE = 200_000


def finish(outcome: Claim, answer: list[str | float] = [], note: str = "") -> ToolResult:  # noqa: B006
    """End the task. Call this exactly once, when there is nothing more to do; nothing can be done afterwards.

    Args:
        outcome: done if the task was carried out (or the question answered), not_done if you decided that it must not
            or cannot be carried out, unclear if you cannot tell.
        answer: The values that were asked for, one item for each, numbers with their unit ("1.2 mg/dL"), dates and
            times in ISO 8601. Empty if nothing was asked.
        note: Anything to add in your own words.
    """
    if len(answer) > MAX_ANSWERS:
        return ToolResult("error", {"error": f"finish: the answer has {len(answer)} items; at most {MAX_ANSWERS}."})
    length = sum(len(item) for item in answer if isinstance(item, str))
    if length > MAX_ANSWER:
        return ToolResult("error", {"error": f"finish: the answer has {length} characters; at most {MAX_ANSWER}."})
    if len(note) > MAX_NOTE:
        return ToolResult("error", {"error": f"finish: the note has {len(note)} characters; at most {MAX_NOTE}."})
    return ToolResult("ok", {"outcome": outcome, "answer": answer, "note": note})


FINISH = tool(finish)
"""The tool itself: a world puts it among its tools."""


def read_finish(value: Any) -> Finish:
    """What a program returned, as `finish` would take it. Raises `ArgumentsError`, one sentence, where it would not."""
    if not isinstance(value, dict):
        raise ArgumentsError(
            f"the agent returned {shown(value)}; expected a dict with 'outcome' (done, not_done or unclear) and,"
            " where needed, 'answer' (a list) and 'note' (text)"
        )
    try:
        result = FINISH.run(plain(value, "the returned value"))
    except PlainError as problem:
        raise ArgumentsError(f"the agent returned what finish does not take: {problem}") from None
    if result.status != "ok":
        raise ArgumentsError(f"the agent returned what finish does not take: {result.result['error']}")
    return accepted(result)
