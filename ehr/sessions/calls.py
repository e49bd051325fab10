"""The calls of an outside agent: its requests, each with what came back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ehr.client import parsed
from harness.plain import json_bytes
from harness.trace import Call, CallStatus

if TYPE_CHECKING:
    from ehr.sandbox.http import Exchange

LONGEST_RESULT = 200_000
"""Bytes of an answer that its call keeps."""


def calls_of(exchanges: Sequence[Exchange], times: Sequence[tuple[str, str]]) -> Iterator[Call]:
    """Each of the agent's requests as a call; `times` says of each when it began and ended."""
    own = [exchange for exchange in exchanges if exchange.by == "agent"]
    for number, (exchange, (started, ended)) in enumerate(zip(own, times, strict=True), start=1):
        status: CallStatus = "ok" if exchange.status < 400 else "error"
        arguments = {"path": exchange.path}
        if exchange.body:
            arguments["body"] = _value(exchange.body[:LONGEST_RESULT])
        result, is_cut = _result(exchange)
        yield Call(
            position=number,
            step=number,
            name=exchange.method,
            arguments=arguments,
            status=status,
            result=result,
            http={"status": exchange.status},
            cut_by="recorder" if is_cut else None,
            started=started,
            ended=ended,
        )


def _result(exchange: Exchange) -> tuple[dict[str, Any], bool]:
    from ehr.tools import SHOWN_HEADERS

    wanted = {name.lower() for name in SHOWN_HEADERS}
    headers = {name: value for name, value in exchange.response_headers.items() if name.lower() in wanted}
    result: dict[str, Any] = {"status": exchange.status, "headers": headers}
    if len(exchange.response) <= LONGEST_RESULT:
        return {**result, "body": _value(exchange.response)}, False
    text = exchange.response[:LONGEST_RESULT].decode("utf-8", "replace")
    cut = f"The answer has {len(exchange.response)} bytes; the first {LONGEST_RESULT} are kept."
    return {**result, "body": None, "cut": cut, "text": text}, True


def _value(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        value = parsed(raw)
        json_bytes(value)
        return value
    except (ValueError, TypeError):
        return raw.decode("utf-8", "replace")
