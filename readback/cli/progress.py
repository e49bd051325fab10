"""Progress on stderr: a bar where somebody is looking, and a plain line now and then where not."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from readback.cli.output import is_terminal, note

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_LINES = 10
"""So many plain lines at the most, one for each tenth of the work."""
_QUIET, _LONGEST = 2.0, 30.0
"""Seconds between two plain lines, at least and at most."""


class Meter:
    """How far one piece of work has come. A context manager; `of` is the number of steps, where it is known."""

    def __init__(
        self, label: str, of: int | None = None, *, unit: str = "", now: Callable[[], float] = time.monotonic
    ) -> None:
        self._label = label
        self._of = of
        self._unit = f" {unit}" if unit else ""
        self._bar: Progress | None = None
        self._row: TaskID | None = None
        self._said = 0
        self._now = now
        self._began = self._spoke = now()

    def __enter__(self) -> Self:
        if is_terminal(sys.stderr):
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            columns = (
                TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
                TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("{task.fields[last]}", markup=False),
            )  # fmt: skip
            self._bar = Progress(*columns, console=Console(file=sys.stderr), transient=True)
            self._bar.start()
            self._row = self._bar.add_task(self._label, total=self._of, last="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def at(self, done: int, of: int | None = None, last: str = "") -> None:
        """So many steps are done (of so many). `last` is what was done last, in a few words."""
        self._of = of if of is not None else self._of
        if self._bar is not None and self._row is not None:
            self._bar.update(self._row, completed=done, total=self._of, last=last)
            return
        tenth = done * _LINES // self._of if self._of else 0
        now = self._now()
        since = now - self._spoke
        if (tenth > self._said and since >= _QUIET) or since >= _LONGEST:
            self._said, self._spoke = tenth, now
            come = f"{done} of {self._of}{self._unit}" if self._of else f"{done}{self._unit} so far"
            note(f"{self._label}: {come} ({now - self._began:.0f} s)")


@contextmanager
def stages() -> Iterator[Callable[[str, int, int | None], None]]:
    """Progress of work in stages, one meter after the other: is told the stage, what is done, and of how many."""
    with ExitStack() as stack:
        current: tuple[str, Meter] | None = None

        def at(stage: str, done: int, of: int | None) -> None:
            nonlocal current
            if current is None or current[0] != stage:
                stack.close()
                current = stage, stack.enter_context(Meter(stage, of))
            current[1].at(done, of)

        yield at
