"""What records an episode's calls: the tools of a world, wrapped for whoever plays.

Rules of the record:
- Every call is recorded, in order, also one of an unknown tool or with arguments that do not parse: both are `error`
  results that the agent sees. An accepted `finish` is no call: it is the episode's claim. A refused one is a call.
- Calls after an accepted `finish` (the rest of the same turn) are recorded as errors and not carried out.
- The result recorded is the result the agent saw. One of more than `RESULT_LIMIT` characters is cut, with a mark that
  the agent sees, and says `cut_by: tool`.
- A tool that raises is a fault of ours, whatever the agent does with the exception: `fault` keeps it.
- Once closed, nothing is recorded and nothing is carried out. It closes itself (`is_full`) when it holds `MOST_CALLS`
  calls or `MOST_CHARACTERS` of arguments and results: an agent that goes round in circles may not fill the memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from harness.claim import FINISH_NAME, Finish, accepted
from harness.clock import Clock, wall_clock
from harness.faults import traceback_of
from harness.plain import PlainError, clean, copied, json_bytes, json_text, plain, shown
from harness.tool import Tool, ToolResult
from harness.trace import Call

RESULT_LIMIT = 200_000
"""Characters of a result, as JSON, that an agent is shown at most."""

ARGUMENT_LIMIT = 1_000_000
"""Bytes of a call's arguments, as JSON, at most."""

MOST_CALLS = 10_000
"""Calls of one episode, at most."""

MOST_CHARACTERS = 64_000_000
"""Characters of arguments and results of one episode, as JSON, after which no further call is made."""

CLOSING_SECONDS = 5.0
"""How long `close` waits for a call that is under way."""


class EpisodeOverError(Exception):
    """A call after the end of the episode, or beyond what one may have; it was neither carried out nor recorded."""


class ToolError(Exception):
    """A tool raised instead of giving a result: a fault of ours, never the agent's."""


class Toolbox:
    """The tools of one episode, and the record of what was called. Safe to call from several threads, one at a time.

    `calls` is the record; `finished` what the agent said at the end, once it has; `fault` the traceback of a tool that
    raised; `is_full` whether a call was refused because there had been too many.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        *,
        now: Clock = wall_clock,
        limit: int = RESULT_LIMIT,
        most_calls: int = MOST_CALLS,
        most_characters: int = MOST_CHARACTERS,
    ) -> None:
        self.finished: Finish | None = None
        self.fault: str | None = None
        self.is_full = False
        self._tools = {tool.name: tool for tool in tools}
        self._now = now
        self._limit, self._most_calls, self._most_characters = limit, most_calls, most_characters
        self._size = 0
        self._calls: list[Call] = []
        self._closed = False
        self._lock = threading.Lock()

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls so far, in order."""
        return tuple(self._calls)

    def call(self, name: str, arguments: Any, *, step: int, raw_arguments: str | None = None) -> Call:
        """Carry out one call of the agent and record it.

        `arguments` is None where the text the model gave (`raw_arguments`) is no JSON object. Raises `EpisodeOverError`
        after `close`, and `ToolError` where the tool raised.
        """
        with self._lock:
            if self._closed:
                raise EpisodeOverError(f"{name} was called after the episode had ended")
            if len(self._calls) >= self._most_calls or self._size >= self._most_characters:
                self.is_full = True
                raise EpisodeOverError(
                    f"{name} was not called: the episode has had {len(self._calls)} calls of {self._size} characters;"
                    f" at most {self._most_calls} of {self._most_characters}"
                )
            started = self._now()
            values, result = self._checked(name, arguments, raw_arguments)
            if result is None:
                result = self._run(name, values)
            if self._closed:
                raise EpisodeOverError(f"the episode ended while {name} was under way")
            if name == FINISH_NAME and result.status == "ok" and self.finished is None:
                self.finished = accepted(result)
            call = Call(
                position=len(self._calls) + 1,
                step=step,
                name=clean(name),
                arguments=values,
                raw_arguments=raw_arguments if values is None else None,
                status=result.status,
                result=result.result,
                http=result.http,
                cut_by=result.cut_by,
                started=started,
                ended=self._now(),
            )
            if not (self.finished and name == FINISH_NAME and result.status == "ok"):
                self._calls.append(call)
            return call

    def callables(self, *, copies: bool = False) -> dict[str, Callable[..., Any]]:
        """The tools but `finish`, by name, as functions of keyword arguments that give the result: for programs.

        Each call is a step of its own. A result that is no object comes as `{"result": ...}`. With `copies`, what the
        caller does to a result cannot reach the record.
        """

        def callable_of(name: str) -> Callable[..., Any]:
            def call(*unnamed: Any, **arguments: Any) -> Any:
                step = len(self._calls) + 1
                if unnamed:  # an argument without its name is the caller's slip, and an error like any other
                    recorded = self.call(name, None, step=step, raw_arguments=shown(unnamed, 200))
                else:
                    recorded = self.call(name, arguments, step=step)
                result = recorded.result if isinstance(recorded.result, dict) else {"result": recorded.result}
                return copied(result) if copies else result

            call.__name__ = name
            call.__doc__ = self._tools[name].description
            return call

        return {name: callable_of(name) for name in self._tools if name != FINISH_NAME}

    def close(self) -> None:
        """End the record. A call that is under way has `CLOSING_SECONDS` to end; later ones are refused."""
        waited = self._lock.acquire(timeout=CLOSING_SECONDS)
        self._closed = True
        if waited:
            self._lock.release()

    def _checked(self, name: str, arguments: Any, raw: str | None) -> tuple[dict[str, Any] | None, ToolResult | None]:
        """The arguments as plain JSON (None where they are not), and the error result where there is one already."""
        if not isinstance(arguments, dict):
            self._size += len(raw or "")
            return None, _refused(f"the arguments of {shown(name)} are not a JSON object: {shown(raw, 200)}")
        try:
            values = plain(arguments, "arguments")
        except PlainError as problem:
            return None, _refused(f"{name}: {problem}")
        size = len(json_bytes(values))
        self._size += min(size, ARGUMENT_LIMIT)
        if size > ARGUMENT_LIMIT:
            return None, _refused(f"{name}: the arguments have {size} characters; at most {ARGUMENT_LIMIT}")
        if self.finished is not None:
            return values, _refused(f"{name} was not carried out: finish had ended the task")
        if name not in self._tools:
            return values, _refused(f"there is no tool {shown(name)}; the tools are {', '.join(self._tools)}")
        return values, None

    def _run(self, name: str, values: dict[str, Any] | None) -> ToolResult:
        try:
            return self._bounded(self._tools[name].run(values or {}))
        except Exception as exception:
            self.fault = self.fault or traceback_of(exception)
            self._closed = True
            raise ToolError(f"the tool {name!r} failed: {exception!r}") from exception

    def _bounded(self, result: ToolResult) -> ToolResult:
        try:
            text = json_text(result.result)
        except ValueError:  # half a surrogate pair that an agent wrote and the server gave back
            result = replace(result, result=plain(result.result, "the result"))
            text = json_text(result.result)
        self._size += min(len(text), self._limit)
        if len(text) <= self._limit:
            return result
        cut = {
            "cut": f"The result has {len(text)} characters; only the first {self._limit} are shown. Ask for less.",
            "text": text[: self._limit],
        }
        return replace(result, result=cut, cut_by="tool")


def _refused(sentence: str) -> ToolResult:
    return ToolResult("error", {"error": f"{sentence}."})
