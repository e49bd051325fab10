"""A provider of models on the loopback address that speaks both wire formats and says what it was told to say.

It is as strict as the real ones about what it is sent: a request that they would refuse is answered with 400.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import httpx2

Wire = Literal["openai", "anthropic"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True)
class Say:
    """A reply: text, calls as (name, arguments; text goes out as it is), why it stopped, and the tokens."""

    text: str | None = None
    calls: Sequence[tuple[str, Any]] = ()
    stop: Literal["ended", "cut_off", "refused", "context_full"] = "ended"
    input: int = 100
    cached: int = 0
    written: int = 0
    output: int = 10
    thinking: str | None = None


@dataclass(frozen=True)
class Fail:
    """An error of the provider: its status, its message and code, and headers."""

    status: int
    message: str = "no luck"
    code: str = "some_error"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """Bytes instead of a reply."""

    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


Cut = object()
"""The connection is closed in the middle of the reply."""

Hang = object()
"""No reply comes until the provider is closed."""

Drip = object()
"""A reply that never ends: a blank now and then until the provider is closed."""

Flood = object()
"""A reply that never ends, as fast as it is read."""


def plain_client() -> httpx2.Client:
    """A client that reads no certificates, which takes longer than all the rest of a short test."""
    return httpx2.Client(verify=False)


Step = Say | Fail | Raw | object


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


class Provider:
    """Answers the nth request with the nth step, the last one over and over; a context manager. Keeps the requests."""

    def __init__(self, wire: Wire, *steps: Step | Callable[[dict[str, Any]], Step], key: str = "right") -> None:
        self.wire = wire
        self.key = key
        self.requests: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self._steps = steps
        self._closing = threading.Event()
        self._lock = threading.Lock()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                provider._answer(self, json.loads(body))

            def log_message(self, *args: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def base_url(self) -> str:
        path = "/v1" if self.wire == "openai" else ""
        return f"http://127.0.0.1:{self._server.server_port}{path}"

    def __enter__(self) -> Provider:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler, request: dict[str, Any]) -> None:
        with self._lock:
            step = self._steps[min(len(self.requests), len(self._steps) - 1)]
            self.requests.append(request)
        given = handler.headers["authorization"] or handler.headers["x-api-key"] or ""
        path = "/v1/chat/completions" if self.wire == "openai" else "/v1/messages"
        wrong = _openai_mistake(request) if self.wire == "openai" else _anthropic_mistake(request)
        if handler.path != path:
            step = Fail(404, f"no such path {handler.path}")
        elif handler.headers["content-type"] != "application/json":
            step = Fail(415, f"no JSON: {handler.headers['content-type']}")
        elif given.removeprefix("Bearer ") not in (self.key, "none"):
            step = Fail(401, f"Incorrect API key provided: {given}", "invalid_api_key")
        elif wrong:
            self.refused.append(wrong)
            step = Fail(400, wrong, "invalid_request_error")
        elif callable(step):
            step = step(request)
        if step is Hang:
            self._closing.wait(30)
            return
        if step is Drip or step is Flood:
            self._never_end(handler, b" " * (1 << 20) if step is Flood else b" ", 0 if step is Flood else 0.02)
            return
        status, headers, body = self._encoded(step, request)
        handler.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        if step is Cut:
            handler.wfile.write(body[: len(body) // 2])
            handler.close_connection = True
            return
        handler.wfile.write(body)

    def _never_end(self, handler: BaseHTTPRequestHandler, part: bytes, pause: float) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.end_headers()
        handler.close_connection = True
        with contextlib.suppress(OSError):  # the client has had enough
            while not self._closing.wait(pause):
                handler.wfile.write(part)

    def _encoded(self, step: Step, request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        match step:
            case Fail():
                error = {"message": step.message, "type": step.code, "code": step.code}
                body = {"error": error} if self.wire == "openai" else {"type": "error", "error": error}
                return step.status, step.headers, json.dumps(body).encode()
            case Raw():
                return 200, step.headers, step.body
            case Say():
                said = step
            case _:
                said = Say("half of this is lost")
        number = len(self.requests)
        encode = _openai_reply if self.wire == "openai" else _anthropic_reply
        return 200, {}, json.dumps(encode(said, number)).encode()


def _openai_reply(say: Say, number: int) -> dict[str, Any]:
    calls = [
        {
            "id": f"call_{number}_{place}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for place, (name, given) in enumerate(say.calls)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": say.text, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    if say.stop == "refused":
        message |= {"content": None, "refusal": say.text}
    if say.thinking:
        message["reasoning_content"] = say.thinking
    reason = {"cut_off": "length", "ended": "tool_calls" if calls else "stop"}.get(say.stop, "stop")
    return {
        "id": f"c{number}", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {
            "prompt_tokens": say.input, "completion_tokens": say.output, "total_tokens": say.input + say.output,
            "prompt_tokens_details": {"cached_tokens": say.cached, "cache_write_tokens": say.written},
        },
    }  # fmt: skip


def _anthropic_reply(say: Say, number: int) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if say.thinking:
        content.append({"type": "thinking", "thinking": say.thinking, "signature": "sealed"})
    if say.text is not None:
        content.append({"type": "text", "text": say.text})
    content += [
        {"type": "tool_use", "id": f"toolu_{number}_{place}", "name": name, "input": given}
        for place, (name, given) in enumerate(say.calls)
    ]
    reasons = {"cut_off": "max_tokens", "refused": "refusal", "context_full": "model_context_window_exceeded"}
    return {
        "id": f"msg{number}", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": reasons.get(say.stop, "tool_use" if say.calls else "end_turn"), "stop_sequence": None,
        "usage": {
            "input_tokens": say.input - say.cached - say.written, "output_tokens": say.output,
            "cache_read_input_tokens": say.cached, "cache_creation_input_tokens": say.written,
        },
    }  # fmt: skip


def _openai_mistake(request: dict[str, Any]) -> str | None:
    open_ids: list[str] = []
    for tool in request.get("tools", []):
        if tool["type"] != "function" or not _NAME.fullmatch(tool["function"]["name"]):
            return f"tools: {tool}"
    for message in request["messages"]:
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in open_ids or not isinstance(message["content"], str):
                return f"a tool message that answers nothing: {message}"
            open_ids.remove(message["tool_call_id"])
            continue
        if open_ids:
            return f"tool calls without an answer: {open_ids}"
        calls = message.get("tool_calls")
        if calls is not None and (not calls or role != "assistant"):
            return "tool_calls must not be empty"
        if not isinstance(message.get("content"), str) and not calls:
            return f"content is missing: {message}"
        for call in calls or []:
            if not _NAME.fullmatch(call["function"]["name"]):
                return f"a call's name: {call}"
            if not isinstance(_json(call["function"]["arguments"]), dict):
                return f"a call's arguments: {call}"
            if call["id"] in open_ids:
                return f"an id twice: {call['id']}"
            open_ids.append(call["id"])
    return f"tool calls without an answer: {open_ids}" if open_ids else None


def _anthropic_mistake(request: dict[str, Any]) -> str | None:
    for key in ("temperature", "top_p", "top_k"):
        if key in request:
            return f"{key} is not supported"
    if not isinstance(request.get("max_tokens"), int):
        return "max_tokens: Field required"
    uses: list[str] = []
    for place, message in enumerate(request["messages"]):
        if message["role"] != ("assistant" if place % 2 else "user"):
            return f"messages.{place}: roles must alternate"
        content = message["content"]
        if not content:
            return f"messages.{place}: content must not be empty"
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if answered != uses:
            return f"messages.{place}: tool_use ids {uses} answered by {answered}"
        uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for block in blocks:
            if block["type"] == "text" and not block["text"].strip():
                return f"messages.{place}: text content blocks must be non-empty"
            if block["type"] == "tool_use" and not (
                isinstance(block["input"], dict) and _NAME.fullmatch(block["name"])
            ):
                return f"messages.{place}: tool_use {block}"
            if block["type"] == "thinking" and block.get("signature") != "sealed":
                return f"messages.{place}: thinking {block}"
    return None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
