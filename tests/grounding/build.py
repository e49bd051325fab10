"""Traces for tests, in few words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grounding import PAPER, Cache, CodePolicy, Grounding, Judged, kappa_ground
from harness.trace import Call


@dataclass(frozen=True)
class Trace:
    """A trace as the predicate takes it."""

    calls: Sequence[Call]
    loss: Sequence[str] = ()


def read(path: str, text: Any = "", **fields: Any) -> Call:
    """A `read_file` that showed this text (or has this result, where it is no text)."""
    result = {"path": path, "content": text} if isinstance(text, str) else text
    return call("read_file", {"path": path}, result, **fields)


def call(name: str, arguments: dict[str, Any] | None, result: Any, **fields: Any) -> Call:
    """Any call; `trace` numbers it."""
    return Call(
        **{"position": 1, "step": 1, "name": name, "arguments": arguments, "status": "ok", "result": result} | fields
    )


def trace(*calls: Call, loss: Sequence[str] = ()) -> Trace:
    """The calls in order, numbered from 1."""
    numbered = [each.model_copy(update={"position": at, "step": at}) for at, each in enumerate(calls, 1)]
    return Trace(numbered, loss)


def judged(answer: str, *calls: Call, policy: CodePolicy = PAPER, loss: Sequence[str] = (), **how: Any) -> Grounding:
    """What the predicate says, with a cache of its own."""
    return kappa_ground(trace(*calls, loss=loss), answer, policy, cache=Cache(), **how)


def entity(answer: str, *calls: Call, policy: CodePolicy = PAPER, **how: Any) -> Judged:
    """The one entity of the answer, judged."""
    (only,) = judged(answer, *calls, policy=policy, **how).entities
    return only


ADAPTERS = '''\
"""Transport adapters."""

from .models import Response

DEFAULT_POOLSIZE = 10


class BaseAdapter:
    """The base."""

    def send(self, request, stream=False):
        raise NotImplementedError


class HTTPAdapter(BaseAdapter):
    """The built-in adapter."""

    pool_size: int = 10

    def __init__(self, max_retries=3):
        self.max_retries = max_retries

    def send(self, request, stream=False):
        local_value = 1

        def inner_helper():
            return local_value

        return inner_helper()

    @property
    def proxy_manager(self):
        return None


def get_adapter(url):
    return HTTPAdapter()
'''
