"""Ctrl-C, and what schedulers send instead, as something that long work can end by in its own time."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def ctrl_c_sets(ending: threading.Event) -> Iterator[None]:
    """While it lasts, the first Ctrl-C sets `ending` and interrupts nothing; a second one interrupts as ever."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if ending.is_set():
            signal.default_int_handler(number, frame)
        ending.set()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """While it lasts, SIGTERM, as schedulers send it, is taken as Ctrl-C: what is in flight may come home.

    Further ones are passed over: `timeout` sends two of them, and a second Ctrl-C would leave at once.
    """
    if threading.current_thread() is not threading.main_thread():  # there are no signals elsewhere
        yield
        return
    heard = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        if not heard:
            heard = True
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
