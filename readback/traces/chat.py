"""OpenAI chat messages as traces.

Rules:

- The answer is what the last message of the assistant says, or what a call of a finishing tool (`FINISHING`) gives. A
  trace that ends in other calls has no answer: it is unscored, not judged as saying nothing.
- What stands beside the messages as a completion (a response of the API, a message, several, or where the messages do
  not end in an answer a text) follows them.
- Calls are all calls of the assistant, in order; a step is one message. A result belongs to the call whose id it names,
  in the newest message that has it; to the next call without a result where it names none.
- The format gives results no status. One that is a JSON object saying it failed, or reads like the message of an error
  (`failed.looks_failed`), is an error.
- A call without a result, a result with parts that are no text, and one that may be a file's content or some message
  (`failed.is_unclear`) were cut by the recorder: nobody knows what the agent saw.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic_core import from_json

from grounding.answer import Answer
from grounding.loss import NO_STATUS, of_call
from grounding.shown import says_failed, shown_by
from harness.plain import clean, json_text, plain
from harness.trace import Call, CallStatus
from readback.traces.failed import is_unclear, looks_failed
from readback.traces.trace import RecordedTrace, TraceError

FINISHING = ("finish", "final_answer", "submit", "submit_answer", "finish_task", "complete_task", "attempt_completion")
"""Tools that end a trace with the answer in their arguments."""

MESSAGE_KEYS = ("messages", "conversation", "trajectory", "history", "transcript", "chat", "trace", "prompt")
"""Where an object holds the messages of a trace, the first that is there."""

WRAPPERS = ("request", "body", "trace", "input", "data", "example", "sample", "record", "inputs")
"""Where an object holds the object that holds the messages."""

_REPLIES = ("response", "completion", "output", "reply", "result")
_SAID = ("completion", "response")
"""Where what the model said may stand by itself: a message, several, or a text."""
_IDS = ("id", "trace_id", "task_id", "instance_id", "episode_id", "conversation_id", "custom_id", "name")
_GROUPS = ("repository", "repo", "repo_id", "repo_name", "group", "template")
_ANSWERS = ("answer", "final_answer", "result", "response", "output", "text", "message", "content")
_REPOSITORY = re.compile(r"^\s*Repository:[ \t]*(\S+)", re.MULTILINE)
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_TEXT_PARTS = ("text", "output_text", "input_text", "refusal")
_OF_ANTHROPIC = ("tool_use", "tool_result")
_OF_RESPONSES = ("function_call", "function_call_output")


def is_message(value: Any) -> bool:
    """Whether this is one message of a chat."""
    return isinstance(value, dict) and value.get("role") in _ROLES


def read_chat(value: Any, name: str) -> RecordedTrace:
    """A list of messages, or an object with one inside, as a trace; `name` is its id where it has none.

    Raises `TraceError` where there are no messages or one is none.
    """
    outer = value if isinstance(value, dict) else {}
    messages = [_checked(message, at) for at, message in enumerate(_messages_of(value))]
    return _Reading(messages).trace(outer, name)


def _messages_of(value: Any) -> list[Any]:
    """The messages in a document, the reply of a response after those of its request."""
    if isinstance(value, list):
        if value and all(isinstance(item, dict) for item in value):
            return value
        raise TraceError("is a list, and not of messages; expected objects with a role")
    if not isinstance(value, dict):
        raise TraceError(f"is {json_text(value)[:40]}, and a trace is an object or a list of messages")
    for key in MESSAGE_KEYS:
        if isinstance(value.get(key), list):
            return [*value[key], *_reply(value, value[key])]
    for key in WRAPPERS:
        if isinstance(value.get(key), dict | list):
            try:
                found = _messages_of(value[key])
            except TraceError:
                continue
            return [*found, *_reply(value, found)]
    keys = ", ".join(repr(key) for key in list(value)[:6])
    raise TraceError(f"has no messages (its keys are {keys}); expected an episode of ours, or 'messages' with roles")


def _reply(value: dict[str, Any], before: Sequence[Any]) -> Iterator[Any]:
    """The message of a completion that stands beside its request, unless it is the last message already."""
    for source in (value, *(value[key] for key in _REPLIES if isinstance(value.get(key), dict))):
        inner = source.get("body") if isinstance(source.get("body"), dict) else source
        choices = inner.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            message = choices[0].get("message")
            if isinstance(message, dict) and not (before and before[-1] == message):
                yield {"role": "assistant", **message}
            return
    for said in (value[key] for key in _SAID if value.get(key)):
        messages = said if isinstance(said, list) else [said]
        if all(map(is_message, messages)):
            yield from [] if list(before[-len(messages) :]) == messages else messages
            return
        if isinstance(said, str) and said.strip() and not (before and _is_answer(before[-1])):
            yield {"role": "assistant", "content": said}
            return


def _is_answer(message: Any) -> bool:
    """Whether a message is what the assistant said at the end; a text beside it is then something else."""
    return is_message(message) and message["role"] == "assistant" and not list(_asked(message))


def _checked(message: Any, at: int) -> dict[str, Any]:
    if not isinstance(message, dict):
        raise TraceError(f"message {at + 1} is {json_text(message)[:40]}; expected an object with a role")
    if message.get("type") in _OF_RESPONSES:
        raise TraceError("is in the format of OpenAI's Responses, which is not read; expected chat messages")
    if message.get("role") not in _ROLES:
        raise TraceError(f"message {at + 1} has the role {message.get('role')!r}; expected one of {', '.join(_ROLES)}")
    content, is_result = message.get("content"), message["role"] in ("tool", "function")
    if not (is_result or content is None or isinstance(content, str | list)):
        raise TraceError(f"message {at + 1} has {json_text(content)[:40]} as content; expected text or parts")
    parts = content if isinstance(content, list) else []
    if any(isinstance(part, dict) and part.get("type") in _OF_ANTHROPIC for part in parts):
        raise TraceError("is in Anthropic's format of messages, which is not read; expected OpenAI's chat messages")
    return message


class _Reading:
    """The messages of one trace, read in order."""

    def __init__(self, messages: Sequence[dict[str, Any]]) -> None:
        self._calls: list[dict[str, Any]] = []
        self._ids: dict[str, list[int]] = {}
        self._loss: list[str] = [NO_STATUS]
        self._finish: Any = None
        self._last: dict[str, Any] | None = None
        self._first_user = ""
        step = 0
        for message in messages:
            role = message["role"]
            if role == "assistant":
                step += 1
                self._assistant(message, step)
            elif role in ("tool", "function"):
                self._result(message)
            elif role == "user" and not self._first_user:
                self._first_user = _text(message)[0]

    def trace(self, outer: dict[str, Any], name: str) -> RecordedTrace:
        """All of it as a trace."""
        calls = tuple(self._call(at, fields) for at, fields in enumerate(self._calls))
        answer, why = self._answer()
        group = next((str(outer[key]) for key in _GROUPS if isinstance(outer.get(key), str)), None)
        stated = _REPOSITORY.search(self._first_user)
        group = group or (stated[1] if stated else None)
        given = (group, group.rpartition("/")[2]) if group else ()
        return RecordedTrace(
            id=next((str(outer[key]) for key in _IDS if isinstance(outer.get(key), str | int)), name),
            calls=calls,
            answer=answer,
            loss=tuple(self._loss),
            question=self._first_user or None,
            group=group,
            given=given,
            why=why,
        )

    def _assistant(self, message: dict[str, Any], step: int) -> None:
        self._last = message
        for asked in _asked(message):
            tool = asked.get("function") or asked.get("custom") or {}
            if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
                raise TraceError(f"a call of the assistant has no name: {json_text(asked)[:80]}")
            arguments = tool.get("arguments", tool.get("input"))
            if tool["name"] in FINISHING:
                self._finish = arguments
                continue
            if isinstance(asked.get("id"), str):
                self._ids.setdefault(asked["id"], []).append(len(self._calls))
            self._calls.append({"name": clean(tool["name"]), "arguments": arguments, "step": step})

    def _result(self, message: dict[str, Any]) -> None:
        of = self._call_of(message)
        if of is None:
            return
        if message.get("content") is None:  # nobody kept it
            return
        text, is_whole = _text(message)
        self._calls[of] |= {"result": text, "message": message, "whole": is_whole}

    def _call_of(self, message: dict[str, Any]) -> int | None:
        named = message.get("tool_call_id")
        if isinstance(named, str) and named in self._ids:
            return self._newest(self._ids[named])
        open_calls = [at for at, call in enumerate(self._calls) if "result" not in call]
        if isinstance(message.get("name"), str) and message["role"] == "function":
            open_calls = [at for at in open_calls if self._calls[at]["name"] == message["name"]]
        if named is None and open_calls:
            return open_calls[0]
        if self._finish is None:
            self._loss.append(f"a result belongs to no call ({named!r}) and was passed over")
        return None

    def _newest(self, same: Sequence[int]) -> int:
        """Of calls with one id: the first without a result in the newest message that has the id, else its last."""
        newest = [at for at in same if self._calls[at]["step"] == self._calls[same[-1]]["step"]]
        return next((at for at in newest if "result" not in self._calls[at]), newest[-1])

    def _call(self, at: int, fields: dict[str, Any]) -> Call:
        arguments = fields["arguments"]
        parsed, raw = _object_of(arguments)
        cut: dict[str, Any] = {}
        if "result" not in fields:
            self._loss.append(of_call(at + 1, f"there is no result of {fields['name']}"))
            cut = {"cut_by": "recorder"}
        elif not fields["whole"]:
            self._loss.append(of_call(at + 1, f"parts of the result of {fields['name']} are no text"))
            cut = {"cut_by": "recorder"}
        return self._told_from_its_text(
            Call(
                position=at + 1,
                step=fields["step"],
                name=fields["name"],
                arguments=parsed,
                raw_arguments=raw,
                status=_status(fields),
                result=fields.get("result"),
                **cut,
            )
        )

    def _told_from_its_text(self, call: Call) -> Call:
        """The call as an error where what it shows reads like one, and without a result where nobody can tell."""
        shown = shown_by(call).files if call.status == "ok" else ()
        if any(looks_failed(file.text) for file in shown):
            return call.model_copy(update={"status": "error"})
        if any(is_unclear(file) for file in shown):
            self._loss.append(of_call(call.position, f"nobody can tell whether {call.name} showed a file or a message"))
            return call.model_copy(update={"result": None, "cut_by": "recorder"})
        return call

    def _answer(self) -> tuple[Answer | None, str | None]:
        if self._finish is not None:
            return _finished(self._finish), None
        if self._last is None:
            return None, "the trace has no message of the assistant"
        asked = list(_asked(self._last))
        if asked:
            return None, f"the trace ends in a call of {self._calls[-1]['name']}, without an answer"
        text = _text(self._last)[0]
        refusal = self._last.get("refusal")
        return Answer.of(text or (refusal if isinstance(refusal, str) else "")), None


def _asked(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    several = message.get("tool_calls")
    if isinstance(several, str):
        try:
            several = from_json(several)
        except ValueError:
            raise TraceError(f"has {several[:40]!r} as calls; expected a list of them") from None
    if isinstance(several, list):
        yield from (asked for asked in several if isinstance(asked, dict))
    if isinstance(message.get("function_call"), dict):
        yield {"function": message["function_call"]}


def _text(message: dict[str, Any]) -> tuple[str, bool]:
    """The text of a message, and whether it is all of it."""
    content = message.get("content")
    if not isinstance(content, list):
        return clean(content if isinstance(content, str) else "" if content is None else json_text(content)), True
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("type", "text") in _TEXT_PARTS:
            text = part.get("text", part.get("refusal"))
            texts += [text] if isinstance(text, str) else []
    return clean("\n".join(texts)), len(texts) == len(content)


def _object_of(arguments: Any) -> tuple[dict[str, Any] | None, str | None]:
    """The arguments as an object, or their text where they are none."""
    if arguments is None or arguments == "":
        return {}, None
    raw = clean(arguments) if isinstance(arguments, str) else None
    try:
        value = arguments if raw is None else from_json(raw)
        if isinstance(value, str):  # JSON in JSON
            value = from_json(value)
        if isinstance(value, dict):
            return plain(value), None
    except ValueError:  # no JSON, or not a number in it
        value = None
    return None, json_text(value) if raw is None else raw


def _status(fields: dict[str, Any]) -> CallStatus:
    message, text = fields.get("message", {}), fields.get("result", "")
    if says_failed({key: message[key] for key in ("status", "is_error", "isError", "error") if key in message}):
        return "error"
    if text.lstrip()[:1] == "{":
        try:
            value = from_json(text)
        except ValueError:
            value = None
        if isinstance(value, dict) and says_failed(value) and len(value) <= 6 and "content" not in value:
            return "error"
    return "ok"


def _finished(arguments: Any) -> Answer:
    """What the arguments of a finishing tool say; of our own `finish`, the answer and the note."""
    value, raw = _object_of(arguments)
    if value is None:
        return Answer.of(raw or "")
    given = next((value[key] for key in _ANSWERS if value.get(key) not in (None, "", [])), "")
    said = "\n".join(map(json_text, given)) if isinstance(given, list) else json_text(given)
    note = value.get("note")
    parts = [part for part in (said, note if isinstance(note, str) else "") if part.strip()]
    return Answer("\n".join(parts), parts[0] if parts else "")
