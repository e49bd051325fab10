"""The user's own agent: any callable of Python, named `python:module:callable`.

    def agent(instruction, tools, *, system, clock):
        found = tools["fhir_search"](type="Patient", parameters={"name": "..."})
        return {"outcome": "done", "answer": [], "note": ""}

It runs in a thread of its own, so that one that never returns costs its own time limit and no more: the episode ends
as `wall_time`, whatever it calls from then on is refused and not recorded, and if it is computing, `SystemExit` is
raised in it, so that it takes no time from the episodes after it.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.agent import AgentKind, Briefing, Played
from harness.clock import Clock, wall_clock
from harness.faults import traceback_of
from harness.finish import Finish, read_finish
from harness.functions import ArgumentsError
from harness.plain import shown
from harness.tool import Tool
from harness.toolbox import Toolbox
from harness.trace import Ending
from harness.values import digest

SECONDS = 900.0
"""How long a program may take for one episode, where nothing else is said."""


_LOOK_SECONDS = 0.05
"""How long a program that is over its time is looked at, to tell computing from waiting."""


class ProgramError(ValueError):
    """The callable that was named cannot be had; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class ProgramAgent:
    """Calls `function(instruction, tools, system=..., clock=...)` for each episode; it returns what finish takes.

    `seconds` is the time one episode may take; it is no part of the digest, as it decides no score.
    """

    name: str
    function: Callable[..., Any]
    seconds: float = SECONDS
    now: Clock = wall_clock
    kind: AgentKind = "program"

    @property
    def digest(self) -> str:
        """Of its name: what stands behind it is the user's."""
        return digest({"program": self.name})

    def play(self, briefing: Briefing, tools: Sequence[Tool], *, repeat: int) -> Played:
        """Run the program to its end or to its time limit."""
        toolbox = Toolbox(tools, now=self.now)
        outcome: list[tuple[Ending, Finish | None, str | None]] = []

        def run() -> None:
            try:
                returned = self.function(
                    briefing.instruction,
                    toolbox.callables(copies=True),
                    system=briefing.system,
                    clock=briefing.clock,
                )
                outcome.append(("finished", read_finish(returned), None))
            except ArgumentsError as problem:
                outcome.append(("bad_format", None, str(problem)))
            except BaseException as exception:  # also sys.exit(): the program ends, the run does not
                frames = exception.__traceback__  # the first is this function's, and nothing to the program's author
                own = exception.with_traceback(frames and frames.tb_next)
                outcome.append(("harness_error", None, traceback_of(own)))

        thread = threading.Thread(target=run, name=f"{self.name} playing", daemon=True)
        thread.start()
        thread.join(self.seconds)
        toolbox.close()
        ending, said, error = outcome[0] if outcome else ("wall_time", None, self._too_long())
        if thread.is_alive():
            _stop(thread)
        if toolbox.fault:
            ending, said, error = "harness_error", None, toolbox.fault
        elif toolbox.is_full:
            ending, said, error = "max_turns", None, f"{self.name} made more calls than an episode may have"
        if said is None:
            return Played(ending, calls=toolbox.calls, error=error)
        return Played(ending, said.outcome, said.answer, said.note, toolbox.calls)

    def _too_long(self) -> str:
        return f"{self.name} had not returned after {self.seconds:g} seconds"


def load_program(name: str, *, seconds: float = SECONDS) -> ProgramAgent:
    """The agent `python:module:callable` (the first part may be left out).

    The folder the command was started in is searched first, as `python -m` does. Raises `ProgramError`.
    """
    parts = name.removeprefix("python:").split(":")
    if len(parts) != 2 or not all(parts):
        raise ProgramError(
            f"{name!r} does not name a program; expected python:MODULE:CALLABLE, such as python:mine:agent"
        )
    module_name, path = parts
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as missing:
        raise ProgramError(f"{name!r}: {_missing(module_name, missing.name or module_name, here)}") from None
    except (Exception, SystemExit) as exception:  # a script without a guard may end the interpreter
        said = " ".join(f"{type(exception).__name__}: {exception}".split())
        raise ProgramError(f"{name!r}: importing {module_name!r} failed: {said}") from exception
    for part in path.split("."):
        if not hasattr(found, part):
            raise ProgramError(f"{name!r}: {module_name!r} has no {path!r}; it has {_public(found)}")
        found = getattr(found, part)
    if not callable(found):
        raise ProgramError(f"{name!r}: {path!r} is {shown(found)}, which cannot be called")
    if inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(type(found).__call__):
        raise ProgramError(f"{name!r}: {path!r} is async; name a function that runs it, as by asyncio.run(...)")
    try:
        inspect.signature(found).bind("", {}, system="", clock="")
    except TypeError as problem:
        raise ProgramError(
            f"{name!r}: {path!r} cannot be called as {path}(instruction, tools, system=..., clock=...): {problem}"
        ) from None
    except ValueError:  # something built in that does not say what it takes
        pass
    return ProgramAgent(f"python:{module_name}:{path}", found, seconds)


def _missing(module: str, missing: str, here: str) -> str:
    if module != missing and not module.startswith(f"{missing}."):
        return f"{module!r} imports {missing!r}, which is not installed"
    if module.endswith(".py"):
        return f"there is no module {module!r}; name the module, not its file: {module.removesuffix('.py')!r}"
    return f"there is no module {missing!r}; it is looked for in {here} and among what is installed"


def _stop(thread: threading.Thread) -> None:
    """Raise `SystemExit` in a thread that computes. One that only waits takes no time from others and is left alone.

    An exception that waits to be raised would keep a traced main thread (coverage, debuggers) of Python 3.11 spinning.
    """
    import ctypes

    before = _seconds_of(thread)
    time.sleep(_LOOK_SECONDS)
    if thread.is_alive() and thread.ident is not None and _seconds_of(thread) - before > _LOOK_SECONDS / 10:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))


def _seconds_of(thread: threading.Thread) -> float:
    """The processor's time that a thread has had; where nobody tells (not on Linux), that of the whole process."""
    try:
        return int(Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        return time.process_time()


def _public(module: Any) -> str:
    names = [name for name in dir(module) if not name.startswith("_") and callable(getattr(module, name))]
    return ", ".join(sorted(names)[:10]) or "no callable"
