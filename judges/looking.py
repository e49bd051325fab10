"""The tools of a judge whose trace is too long to be shown: it reads calls, and searches all of them.

What they give is data like the trace itself: lines of JSON inside the same fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from harness.functions import tool
from harness.models.model import Asked, Result
from harness.tool import Tool, ToolResult
from judges.fence import Fence, one_line
from judges.subject import Subject

MOST_READ = 20_000
"""Characters that one look at a call gives at most."""
MOST_FOUND = 20
"""Places that one search gives at most."""

_AROUND = 150
_LONGEST_SOUGHT = 200


class Looking:
    """The tools over one subject, their results fenced."""

    def __init__(self, subject: Subject, fence: Fence) -> None:
        self._lines = {call.position: line for call, line in zip(subject.calls, subject.call_lines, strict=True)}
        self._fence = fence
        self.tools: Sequence[Tool] = (tool(self.read_call), tool(self.search_trace))
        self._by_name = {one.name: one for one in self.tools}

    def read_call(self, position: int, start: int = 0) -> ToolResult:
        """Read one call with its arguments and result, as JSON text; of a long one, 20,000 characters from `start`.

        Args:
            position: The position of the call.
            start: The first character to show, from 0.
        """
        line = self._lines.get(position)
        if line is None:
            return ToolResult("error", {"error": f"there is no call {position}; see the index"})
        start = max(0, min(start, len(line)))
        text = line[start : start + MOST_READ]
        return ToolResult(
            "ok",
            {"part": "call_text", "position": position, "from": start, "to": start + len(text), "of": len(line)}
            | {"text": text},
        )

    def search_trace(self, text: str) -> ToolResult:
        """Find every place where a text stands in the calls; upper and lower case are the same.

        Args:
            text: What to look for, word for word.
        """
        sought = one_line(text[:_LONGEST_SOUGHT])[1:-1]
        if not sought:
            return ToolResult("error", {"error": "there is nothing to look for"})
        pattern = re.compile(re.escape(sought), re.I)
        places = list(self._places(pattern))
        found = {"part": "found", "places": places[:MOST_FOUND], "more": max(0, len(places) - MOST_FOUND)}
        return ToolResult("ok", found)

    def result(self, asked: Asked) -> Result:
        """What a call of the judge comes back with, fenced. What the judge did wrong is a result that it sees."""
        one = self._by_name.get(asked.name)
        if one is None:
            given = ToolResult("error", {"error": f"there is no such tool; there are {', '.join(self._by_name)}"})
        elif asked.arguments is None:
            given = ToolResult("error", {"error": "the arguments are no JSON object"})
        else:
            given = one.run(asked.arguments)
        # A judge knows the marker, and may have written it into its arguments, which an error repeats.
        line = one_line(given.result).replace(self._fence.marker, "(marker)")
        return Result(asked.id, asked.name, self._fence.around([line]), given.status != "ok")

    def _places(self, pattern: re.Pattern[str]) -> Iterator[dict[str, Any]]:
        for position, line in self._lines.items():
            for found in pattern.finditer(line):
                start, end = max(0, found.start() - _AROUND), found.end() + _AROUND
                yield {"position": position, "at": found.start(), "text": line[start:end]}
