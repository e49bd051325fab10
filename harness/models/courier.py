"""A second interpreter that carries requests to providers, so that this one has time for what is done with replies.

A provider's library takes more than half a millisecond of an interpreter for each request, and an interpreter runs one
thread at a time: with dozens of requests in flight to a quick server, replies wait for each other's turn. The other
interpreter makes the same models from their names, base URLs and the environment, and sends what is written here. It
decides nothing: patience, cache, budget and the reading of replies stay with the caller. Until it is up, and once it
is gone, the caller sends by itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from harness.cache import Question
from harness.models.anthropic import AnthropicModel, anthropic_model
from harness.models.model import Model, NoReplyError
from harness.models.openai import OpenAIModel, openai_model

_MAKE: Mapping[str, Callable[..., OpenAIModel | AnthropicModel]] = {
    "openai": openai_model, "anthropic": anthropic_model,
}  # fmt: skip
_UP, _REPLY, _NO_REPLY, _FAULT = b"u", b"r", b"n", b"f"

WORTH = 200
"""Requests after which it is worth another interpreter, which takes a second to start."""

Address = tuple[str, str, str]
"""Provider, base URL and model: of these, with the environment, a model is made."""


class CourierError(RuntimeError):
    """A fault of ours in the other interpreter; the message is its traceback."""


class Courier:
    """The other interpreter, with as many lanes as requests may be carried at once.

    It is started once it has been asked for the `worth`th request, and ends when it is closed or this one ends.
    """

    def __init__(self, models: Iterable[Model], lanes: int, *, worth: int = WORTH) -> None:
        """Models that cannot be made again in the other interpreter are not carried."""
        self._addresses = list(dict.fromkeys(filter(None, map(_address, models))))
        self._places = {address: place for place, address in enumerate(self._addresses)}
        self._worth, self._asked = worth, 0
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self.is_closed = False
        self.lanes = [Lane(self) for _ in range(lanes)]

    @property
    def pid(self) -> int | None:
        """The process of the other interpreter; None where there is none."""
        return self._process.pid if self._process else None

    def place(self, question: Question) -> int | None:
        """The number of the model that this asks; None where it is not carried, or not yet worth it."""
        place = self._places.get((question.provider, question.base_url, question.model))
        if place is None:
            return None
        if self._process is None:
            self._count()
        return place

    def close(self) -> None:
        """End it, with whatever it carries."""
        with self._lock:
            self.is_closed = True
            if self._process is not None:
                self._process.kill()
                self._process.communicate()

    def _count(self) -> None:
        with self._lock:
            self._asked += 1
            if self._asked == self._worth and not self.is_closed:
                self._start()

    def _start(self) -> None:
        """Start it, and wait for nothing."""
        pairs = [Pipe() for _ in self.lanes]
        theirs = [there.fileno() for _, there in pairs]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "harness.models.courier", json.dumps(self._addresses), *map(str, theirs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=theirs,
            start_new_session=True,  # Ctrl-C is for this interpreter, which ends the other
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
        )
        for lane, (ours, there) in zip(self.lanes, pairs, strict=True):
            there.close()
            lane.connection = ours


class Lane:
    """A way to the other interpreter, for one request at a time: each thread has its own."""

    def __init__(self, courier: Courier) -> None:
        self.connection: Connection | None = None
        self.carried = 0
        self._courier = courier
        self._is_up = False

    def carry(self, question: Question, written: bytes, timeout: float) -> bytes | None:
        """The body of the reply to this request; None where it must be sent from here.

        Raises `NoReplyError` as the model itself would, and `CourierError`.
        """
        place = self._courier.place(question)
        try:
            if place is None or self.connection is None or not self._up(self.connection):
                return None
            self.connection.send_bytes(b"%d %r\n" % (place, timeout) + written)
            came = self.connection.recv_bytes()
        except (OSError, EOFError):
            self.connection = None
            if self._courier.is_closed:
                raise NoReplyError("provider_error", "nobody waits for the reply any more") from None
            return None
        kind, body = came[:1], came[1:]
        if kind == _NO_REPLY:
            ending, message, more = json.loads(body)
            raise NoReplyError(ending, message, **more)
        if kind == _FAULT:
            raise CourierError(body.decode())
        self.carried += 1
        return body

    def _up(self, connection: Connection) -> bool:
        if not self._is_up and connection.poll():
            self._is_up = connection.recv_bytes() == _UP
        return self._is_up


def _address(model: Model) -> Address | None:
    if isinstance(model, (OpenAIModel, AnthropicModel)) and model.is_plain:
        return model.name.partition(":")[0], model.base_url, model.model
    return None


def _serve(connection: Connection, models: list[OpenAIModel | AnthropicModel]) -> None:
    """Carry one request after the other, until the lane is closed."""
    with contextlib.suppress(OSError, EOFError):
        connection.send_bytes(_UP)
        while True:
            head, _, written = connection.recv_bytes().partition(b"\n")
            place, timeout = head.split()
            connection.send_bytes(carried(models[int(place)], written, float(timeout)))


def carried(model: OpenAIModel | AnthropicModel, written: bytes, timeout: float) -> bytes:
    """What goes back of one request: the reply's body, or why there is none."""
    try:
        return _REPLY + model.send(written, timeout)
    except NoReplyError as fault:
        more: dict[str, Any] = {"retryable": fault.retryable, "wait": fault.wait, "timed_out": fault.timed_out}
        return _NO_REPLY + json.dumps([fault.ending, str(fault), more]).encode()
    except Exception:
        return _FAULT + traceback.format_exc().encode(errors="replace")


def main(addresses: str, *lanes: str) -> None:
    """The other interpreter: make the models, serve the lanes, and end once nobody holds the other end of stdin."""
    models = [_MAKE[provider](model, base_url=base_url) for provider, base_url, model in json.loads(addresses)]
    for lane in lanes:
        threading.Thread(target=_serve, args=(Connection(int(lane)), models), daemon=True).start()
    sys.stdin.buffer.read()
    os._exit(0)  # requests may be in flight, and nobody waits for them


if __name__ == "__main__":
    main(*sys.argv[1:])
