"""Ctrl-C and SIGTERM: the first ends long work in its own time, a second Ctrl-C at once."""

from __future__ import annotations

import signal
import threading

import pytest

from harness.interrupts import ctrl_c_sets, sigterm_as_ctrl_c


def test_the_first_ctrl_c_is_only_told_and_the_second_interrupts() -> None:
    ending = threading.Event()
    with ctrl_c_sets(ending):
        signal.raise_signal(signal.SIGINT)
        assert ending.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_sigterm_is_as_ctrl_c_however_often_it_is_sent() -> None:
    ending = threading.Event()
    before = signal.getsignal(signal.SIGTERM)
    with sigterm_as_ctrl_c(), ctrl_c_sets(ending):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert ending.is_set()
    assert signal.getsignal(signal.SIGTERM) == before


def test_beside_the_main_thread_nothing_is_changed() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    seen: list[object] = []

    def work() -> None:
        with sigterm_as_ctrl_c(), ctrl_c_sets(threading.Event()):
            seen.append((signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
