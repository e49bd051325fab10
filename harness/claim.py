"""What an agent claims at the end of an episode."""

from __future__ import annotations

from dataclasses import dataclass

from harness.tool import ToolResult
from harness.trace import Claim

FINISH_NAME = "finish"
"""The tool that ends every episode (see `finish`)."""


@dataclass(frozen=True, slots=True)
class Finish:
    """What an agent says at the end. Only `done` claims that the task was carried out."""

    outcome: Claim
    answer: tuple[str | int | float, ...] = ()
    note: str = ""


def accepted(result: ToolResult) -> Finish:
    """The claim in an `ok` result of `finish`."""
    said = result.result
    return Finish(said["outcome"], tuple(said["answer"]), said["note"])
