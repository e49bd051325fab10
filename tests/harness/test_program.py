"""The user's own agents, and the scripts that baselines are made of: how each of their ends is recorded."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.agent import Briefing, Played
from harness.finish import FINISH
from harness.functions import tool
from harness.plan import make_plan
from harness.program import ProgramAgent, ProgramError, load_program
from harness.runfolder import RunFolder
from harness.runner import execute
from harness.scripted import ScriptedAgent
from harness.tool import ToolResult
from harness.toolbox import MOST_CALLS, EpisodeOverError
from tests.harness.tally import TallySuite

BRIEFING = Briefing("Raise the tally to 3.", "Count well.", "2026-01-15T10:15:00+00:00")


def add(number: int) -> ToolResult:
    """Add.

    Args:
        number: What.
    """
    return ToolResult("ok", {"status": 200, "body": {"tally": number}})


def names() -> list[str]:
    """List."""
    return ["a", "b"]


def broken() -> None:
    """Fail."""
    raise RuntimeError("a fault of ours")


TOOLS = [tool(add), tool(names), tool(broken), FINISH]


def play(function: Any, seconds: float = 10.0) -> Played:
    return ProgramAgent("python:mine:agent", function, seconds).play(BRIEFING, TOOLS, repeat=0)


def test_a_program_is_told_everything_and_its_calls_are_the_trace() -> None:
    told: list[Any] = []

    def agent(instruction: str, tools: Any, *, system: str, clock: str) -> dict[str, Any]:
        told.extend([instruction, sorted(tools), system, clock])
        tally = tools["add"](number=3)["body"]["tally"]
        bad = tools["add"](amount=3)
        assert bad["error"].endswith("argument 'number' is missing (a whole number).")
        assert tools["names"]() == {"result": ["a", "b"]}
        return {"outcome": "done", "answer": [tally, "x"], "note": "n"}

    played = play(agent)
    assert told == [BRIEFING.instruction, ["add", "broken", "names"], BRIEFING.system, BRIEFING.clock]
    assert (played.ending, played.claim, played.answer, played.note) == ("finished", "done", (3, "x"), "n")
    assert [(c.position, c.step, c.name, c.status) for c in played.calls] == [
        (1, 1, "add", "ok"), (2, 2, "add", "error"), (3, 3, "names", "ok"),
    ]  # fmt: skip


def test_an_exception_is_a_harness_error_with_its_traceback_and_trace() -> None:
    def agent(instruction: str, tools: Any, **rest: Any) -> None:
        tools["add"](number=1)
        raise LookupError("nobody of that name")

    played = play(agent)
    assert played.ending == "harness_error"
    assert len(played.calls) == 1
    assert played.error is not None
    assert played.error.startswith("Traceback")
    assert played.error.count("  File ") == 1, "the frames are the program's own"
    assert played.error.rstrip().endswith("LookupError: nobody of that name")


def test_an_exception_that_quotes_what_no_file_can_hold_is_kept() -> None:
    def agent(*args: Any, **rest: Any) -> None:
        raise LookupError("half \ud800 pair")

    assert (play(agent).error or "").rstrip().endswith("LookupError: half ? pair")


def test_a_program_that_calls_on_and_on_has_had_its_turns() -> None:
    def agent(instruction: str, tools: Any, **rest: Any) -> dict[str, Any]:
        with contextlib.suppress(EpisodeOverError):
            while True:
                tools["add"](number=1)
        return {"outcome": "done"}

    played = play(agent, seconds=60)
    assert (played.ending, played.claim, len(played.calls)) == ("max_turns", None, MOST_CALLS)
    assert "more calls than an episode may have" in (played.error or "")


def test_leaving_python_ends_the_episode_and_not_the_run() -> None:
    def agent(*args: Any, **rest: Any) -> None:
        sys.exit("enough")

    assert play(agent).ending == "harness_error"


@pytest.mark.parametrize(
    "returned",
    [None, "done", 5, {}, {"outcome": "success"}, {"outcome": "done", "answer": "x"}, {"outcome": "done", "extra": 1}],
)
def test_what_finish_would_not_take_is_bad_format(returned: Any) -> None:
    played = play(lambda *args, **rest: returned)
    assert (played.ending, played.claim) == ("bad_format", None)
    assert played.error is not None
    assert "\n" not in played.error


def test_one_that_never_returns_ends_as_wall_time_and_its_later_calls_are_refused() -> None:
    let_go, refused = threading.Event(), threading.Event()

    def agent(instruction: str, tools: Any, **rest: Any) -> None:
        tools["add"](number=1)
        with contextlib.suppress(SystemExit):
            let_go.wait(30)
        try:
            tools["add"](number=2)
        except Exception:
            refused.set()

    began = time.monotonic()
    played = play(agent, seconds=0.1)
    assert time.monotonic() - began < 10
    assert (played.ending, played.error) == ("wall_time", "python:mine:agent had not returned after 0.1 seconds")
    assert [call.arguments for call in played.calls] == [{"number": 1}]
    let_go.set()
    assert refused.wait(10)
    assert len(played.calls) == 1


def test_one_that_only_computes_takes_no_time_from_those_after_it() -> None:
    threads: list[threading.Thread] = []

    def agent(instruction: str, tools: Any, **rest: Any) -> None:
        threads.append(threading.current_thread())
        while True:
            pass

    assert play(agent, seconds=0.1).ending == "wall_time"
    threads[0].join(10)
    assert not threads[0].is_alive()


def test_a_run_with_one_that_never_returns_comes_to_its_end(tmp_path: Path) -> None:
    agent = ProgramAgent("python:mine:agent", lambda *args, **rest: threading.Event().wait(30), seconds=0.05)
    plan = make_plan(TallySuite(4), [agent, "oracle"])
    with RunFolder.create(tmp_path / "run", plan.about(), plan.tasks) as folder:
        report = execute(plan, folder, jobs=2)
        assert (report.played, report.unscored) == (8, 4)
        assert sorted(folder.endings().values()) == ["finished"] * 4 + ["wall_time"] * 4


def test_a_fault_of_ours_cannot_be_swallowed() -> None:
    def agent(instruction: str, tools: Any, **rest: Any) -> dict[str, Any]:
        try:
            tools["broken"]()
        except Exception:
            return {"outcome": "done"}
        raise AssertionError

    played = play(agent)
    assert (played.ending, played.claim) == ("harness_error", None)
    assert "a fault of ours" in (played.error or "")
    scripted = ScriptedAgent("oracle", lambda tools: agent("", tools)).play(BRIEFING, TOOLS, repeat=0)
    assert (scripted.ending, scripted.claim) == ("harness_error", None)


def test_secrets_of_the_environment_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "correct-horse-battery")

    def agent(*args: Any, **rest: Any) -> None:
        raise ValueError("401 for correct-horse-battery, sk-ant-abcdef0123456789")

    assert (play(agent).error or "").rstrip().endswith("ValueError: 401 for [MY_API_KEY], [key]")


def test_a_script_plays_like_any_agent() -> None:
    def script(tools: Any) -> dict[str, Any]:
        return {"outcome": "done", "answer": [tools["add"](number=3)["body"]["tally"]]}

    agent = ScriptedAgent("oracle", script)
    played = agent.play(BRIEFING, TOOLS, repeat=0)
    assert (played.ending, played.claim, played.answer) == ("finished", "done", (3,))
    assert [(c.name, c.status) for c in played.calls] == [("add", "ok")]
    assert agent.kind == "baseline"
    assert agent.digest == ScriptedAgent("oracle", len).digest  # type: ignore[arg-type]
    assert agent.digest != ScriptedAgent("oracle", script, version="2").digest


def test_a_script_that_fails_says_how() -> None:
    failing = ScriptedAgent("oracle", lambda tools: tools["subtract"](number=1)).play(BRIEFING, TOOLS, repeat=0)
    assert failing.ending == "harness_error"
    assert "KeyError: 'subtract'" in (failing.error or "")
    nonsense = ScriptedAgent("oracle", lambda tools: {"outcome": "yes"}).play(BRIEFING, TOOLS, repeat=0)
    assert nonsense.ending == "bad_format"


def test_a_script_that_makes_nonsense_of_a_fault_of_ours_is_not_to_blame() -> None:
    def script(tools: Any) -> dict[str, Any]:
        with contextlib.suppress(Exception):
            tools["broken"]()
        return {"outcome": "yes"}

    played = ScriptedAgent("oracle", script).play(BRIEFING, TOOLS, repeat=0)
    assert played.ending == "harness_error"
    assert "a fault of ours" in (played.error or "")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("own_agents", "own_broken"):
        sys.modules.pop(name, None)


def test_a_program_is_loaded_by_name_from_where_the_command_was_started(here: Path) -> None:
    (here / "own_agents.py").write_text(
        "def agent(instruction, tools, *, system, clock):\n    return {'outcome': 'unclear'}\n"
        "class Team:\n    lead = agent\nNUMBER = 5\n"
    )
    agent = load_program("python:own_agents:agent", seconds=5)
    assert (agent.name, agent.kind, agent.seconds) == ("python:own_agents:agent", "program", 5)
    assert agent.play(BRIEFING, TOOLS, repeat=0).claim == "unclear"
    assert load_program("own_agents:Team.lead").name == "python:own_agents:Team.lead"
    assert agent.digest == load_program("python:own_agents:agent").digest


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("python:own_agents", "does not name a program; expected python:MODULE:CALLABLE"),
        ("python::agent", "does not name a program"),
        ("python:own_agents:", "does not name a program"),
        ("python:own_missing:agent", "there is no module 'own_missing'; it is looked for in"),
        ("python:own_agents.py:agent", "no module 'own_agents.py'; name the module, not its file: 'own_agents'"),
        ("python:own_needing:agent", "'own_needing' imports 'own_missing', which is not installed"),
        ("python:own_agents:agnet", "'own_agents' has no 'agnet'; it has LATER, Later, agent, later"),
        ("python:own_agents:NUMBER", "'NUMBER' is 5, which cannot be called"),
        ("python:own_broken:agent", r"importing 'own_broken' failed: ZeroDivisionError"),
        ("python:own_unclosed:agent", r"failed: SyntaxError: '\(' was never closed \(own_unclosed\.py, line 1\)$"),
        ("python:own_ending:agent", r"importing 'own_ending' failed: SystemExit"),
        ("python:own_agents:later", "'later' is async; name a function that runs it"),
        ("python:own_agents:LATER", "'LATER' is async; name a function that runs it"),
        (
            "python:own_agents:agent",
            r"'agent' cannot be called as agent\(instruction, tools, system=..., clock=...\): too many positional",
        ),
        ("python:own_agents:Later", "'Later' cannot be called as Later"),
    ],
)
def test_a_program_that_cannot_be_had_is_one_sentence(here: Path, name: str, sentence: str) -> None:
    (here / "own_agents.py").write_text(
        "def agent():\n    pass\nNUMBER = 5\nasync def later():\n    pass\n"
        "class Later:\n    async def __call__(self, instruction, tools, *, system, clock):\n        pass\n"
        "LATER = Later()\n"
    )
    (here / "own_broken.py").write_text("1 / 0\n")
    (here / "own_unclosed.py").write_text("x = (\n")
    (here / "own_needing.py").write_text("import own_missing\n")
    (here / "own_ending.py").write_text("raise SystemExit(3)\n")
    with pytest.raises(ProgramError, match=sentence) as error:
        load_program(name)
    assert "\n" not in str(error.value)
