"""One request to a provider: from the cache, or over the network with patience, in the time that is left.

One policy for all providers, in place of those of their libraries: so many attempts, waiting twice as long each time,
or as long as the server asks for (`Retry-After`), but never beyond the time of the episode.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from harness.cache import Cache, Question
from harness.models.model import NoReplyError
from harness.plain import plain

Send = Callable[[bytes, float], bytes]
"""Sends a request, written as JSON, with a time-out in seconds and gives the reply's body. Raises `NoReplyError`."""

GATE: ContextVar[AbstractContextManager[Any]] = ContextVar("GATE")
"""What each request of a thread passes through, from sending it to the whole reply: a caller with more threads than
requests that may be in flight sets a semaphore, and no request waits for what another thread does with its reply."""

Carry = Callable[[Question, bytes, float], bytes | None]
"""Does the same for the model that a question names; None where it does not carry this one."""

CARRY: ContextVar[Carry] = ContextVar("CARRY")
"""What is asked first to send the requests of a thread (see `courier`)."""

_OPEN = nullcontext()

R = TypeVar("R")

Read = Callable[[dict[str, Any], bool], R]
"""Makes what is wanted of a reply as JSON and whether the cache gave it. Raises `NoReplyError` where it is no reply."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often to try, how long to wait between tries, and how long for one reply; all in seconds."""

    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 30.0
    longest_asked: float = 120.0
    timeout: float = 300.0


@dataclass(frozen=True, slots=True)
class Exchange:
    """What all providers need to ask: the cache, the patience, and the clock they wait by."""

    cache: Cache | None = None
    patience: Patience = Patience()
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random

    def ask(self, question: Question, send: Send, read: Read[R], *, seconds: float) -> R:
        """What `read` makes of the reply; only of what it could read is anything kept.

        Raises `NoReplyError`, or `CacheMissError`.
        """
        if self.cache is not None and (kept := self.cache.get(question)) is not None:
            return read(kept, True)
        reply, made = self._send(question, send, read, self.monotonic() + seconds)
        kept = reply if self.cache is None else self.cache.put(question, reply)
        return made if kept is reply else read(kept, False)

    def _send(self, question: Question, send: Send, read: Read[R], until: float) -> tuple[dict[str, Any], R]:
        # In the order in which it was made: a model reads a form's keys as they come.
        written = json.dumps(question.request, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        attempt = 0
        while True:
            attempt += 1
            left = until - self.monotonic()
            try:
                with GATE.get(_OPEN):
                    body = _sent(question, written, send, max(0.001, min(self.patience.timeout, left)))
                reply = _object(body)
                return reply, read(reply, False)
            except NoReplyError as fault:
                if fault.timed_out and self.monotonic() >= until:
                    raise NoReplyError(
                        "wall_time", "the time of the episode ended while waiting for the model"
                    ) from None
                wait = self._wait(attempt, fault)
                if wait is None:
                    raise
                if self.monotonic() + wait >= until:
                    raise NoReplyError(fault.ending, f"{fault}; there is no time left to try again") from None
                self.sleep(wait)

    def _wait(self, attempt: int, fault: NoReplyError) -> float | None:
        """How long to wait before the next attempt, or None where there is to be none."""
        if not fault.retryable or attempt >= self.patience.attempts:
            return None
        if fault.wait is not None:
            return fault.wait if fault.wait <= self.patience.longest_asked else None
        wait: float = min(self.patience.first_wait * 2 ** (attempt - 1), self.patience.longest_wait)
        return wait * (1 - 0.25 * self.chance())


def _sent(question: Question, written: bytes, send: Send, timeout: float) -> bytes:
    carry = CARRY.get(None)
    body = carry(question, written, timeout) if carry else None
    return send(written, timeout) if body is None else body


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = plain(json.loads(body), "the reply")
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise NoReplyError("provider_error", f"the reply is no JSON object: {body[:200]!r}", retryable=True)
    return value
