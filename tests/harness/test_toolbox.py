"""The record of an episode's calls: what is kept of each, whoever made it and whatever was wrong with it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.finish import FINISH, Finish
from harness.functions import tool
from harness.plain import MAX_DEPTH, PlainError, Written, clean, json_text, plain
from harness.tool import ToolResult
from harness.toolbox import EpisodeOverError, Toolbox, ToolError
from harness.trace import Call, Episode


def ticking() -> Callable[[], str]:
    ticks = iter(range(10_000))
    return lambda: f"2026-01-01T00:00:{next(ticks):02d}+00:00"


def echo(text: str) -> dict[str, Any]:
    """Say it again.

    Args:
        text: What.
    """
    return {"said": text}


def refuse() -> ToolResult:
    """Refuse."""
    return ToolResult("error", {"status": 404}, {"status": 404}, None)


def broken() -> None:
    """Fail."""
    raise RuntimeError("a fault of ours")


def odd() -> Any:
    """Give what a careless client decoded."""
    return {"name": "half \ud800 pair", "size": 10**40}


def toolbox(**options: Any) -> Toolbox:
    tools = [tool(echo), tool(refuse), tool(broken), tool(odd), FINISH]
    return Toolbox(tools, now=ticking(), **options)


def test_an_episode_has_so_many_calls_and_so_many_characters_and_no_more() -> None:
    box = toolbox(most_calls=3)
    for _ in range(3):
        box.call("unknown", {}, step=1)
    assert not box.is_full
    with pytest.raises(EpisodeOverError, match="3 calls"):
        box.call("echo", {"text": "a"}, step=2)
    assert (box.is_full, len(box.calls)) == (True, 3)
    box = toolbox(most_characters=100)
    box.call("echo", {"text": "a" * 100}, step=1)
    with pytest.raises(EpisodeOverError, match="at most 10000 of 100"):
        box.call("echo", {"text": "a"}, step=2)
    assert (box.is_full, len(box.calls)) == (True, 1)


def test_every_call_is_recorded_in_order_with_what_came_of_it() -> None:
    box = toolbox()
    box.call("echo", {"text": "a"}, step=1)
    box.call("refuse", {}, step=1)
    box.call("echo", {"text": 5}, step=2)
    assert box.calls == (
        Call(position=1, step=1, name="echo", arguments={"text": "a"}, status="ok", result={"said": "a"},
             started="2026-01-01T00:00:00+00:00", ended="2026-01-01T00:00:01+00:00"),
        Call(position=2, step=1, name="refuse", arguments={}, status="error", result={"status": 404},
             http={"status": 404}, started="2026-01-01T00:00:02+00:00", ended="2026-01-01T00:00:03+00:00"),
        Call(position=3, step=2, name="echo", arguments={"text": 5}, status="error",
             result={"error": "echo: argument 'text' must be text, not the number 5."},
             started="2026-01-01T00:00:04+00:00", ended="2026-01-01T00:00:05+00:00"),
    )  # fmt: skip


def test_an_unknown_tool_is_an_error_the_agent_sees() -> None:
    call = toolbox().call("fhir_delete_everything", {"a": 1}, step=1)
    assert (call.status, call.arguments) == ("error", {"a": 1})
    assert call.result == {
        "error": "there is no tool 'fhir_delete_everything'; the tools are echo, refuse, broken, odd, finish."
    }


def test_arguments_that_do_not_parse_are_an_error_and_their_text_is_kept() -> None:
    call = toolbox().call("echo", None, step=1, raw_arguments='{"text": "a')
    assert (call.status, call.arguments, call.raw_arguments) == ("error", None, '{"text": "a')
    assert call.result == {"error": """the arguments of 'echo' are not a JSON object: '{"text": "a'."""}


@pytest.mark.parametrize("value", [{1, 2}, object(), b"x", {5: 1}, float("inf"), 10**300])
def test_arguments_that_json_cannot_hold_are_an_error(value: Any) -> None:
    call = toolbox().call("echo", {"text": value}, step=1)
    assert (call.status, call.arguments) == ("error", None)
    assert call.result["error"].startswith("echo: arguments.text")


def test_arguments_without_bound_are_an_error() -> None:
    deep: Any = "x"
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    assert "nested deeper than" in toolbox().call("echo", {"text": deep}, step=1).result["error"]
    assert "at most 1000000" in toolbox().call("echo", {"text": "x" * 1_000_001}, step=1).result["error"]


def test_an_accepted_finish_is_the_claim_and_no_call() -> None:
    box = toolbox()
    box.call("finish", {"outcome": "done", "answer": ["a"], "note": "n"}, step=1)
    assert box.finished == Finish("done", ("a",), "n")
    assert box.calls == ()


def test_a_refused_finish_is_a_call() -> None:
    box = toolbox()
    box.call("finish", {"outcome": "yes"}, step=1)
    assert box.finished is None
    assert [(call.name, call.status) for call in box.calls] == [("finish", "error")]


def test_nothing_is_carried_out_after_finish() -> None:
    box = toolbox()
    box.call("finish", {"outcome": "done"}, step=1)
    box.call("broken", {}, step=1)
    box.call("finish", {"outcome": "not_done"}, step=1)
    assert box.finished == Finish("done")
    assert [(call.name, call.status) for call in box.calls] == [("broken", "error"), ("finish", "error")]
    assert box.calls[0].result == {"error": "broken was not carried out: finish had ended the task."}


def test_a_large_result_is_cut_with_a_mark_that_the_agent_sees() -> None:
    call = toolbox(limit=30).call("echo", {"text": "x" * 100}, step=1)
    assert call.cut_by == "tool"
    assert call.result == {
        "cut": "The result has 111 characters; only the first 30 are shown. Ask for less.",
        "text": '{"said":"' + "x" * 21,
    }
    assert toolbox(limit=111).call("echo", {"text": "x" * 100}, step=1).cut_by is None


def test_a_result_that_utf8_cannot_hold_is_still_a_line_of_the_trace() -> None:
    call = toolbox().call("odd", {}, step=1)
    assert call.result == {"name": "half \ufffd\ufffd\ufffd pair", "size": 10**40}
    assert Call.read(call.line()) == call


def test_a_tool_that_raises_is_a_fault_of_ours_that_nobody_can_swallow() -> None:
    box = toolbox()
    with pytest.raises(ToolError, match="broken"):
        box.call("broken", {}, step=1)
    assert box.fault is not None
    assert "RuntimeError: a fault of ours" in box.fault
    with pytest.raises(EpisodeOverError):
        box.call("echo", {"text": "a"}, step=2)


def test_a_closed_toolbox_refuses_and_records_nothing() -> None:
    box = toolbox()
    box.call("echo", {"text": "a"}, step=1)
    box.close()
    with pytest.raises(EpisodeOverError):
        box.call("echo", {"text": "b"}, step=2)
    assert len(box.calls) == 1


def test_callables_are_the_tools_but_finish() -> None:
    box = toolbox()
    tools = box.callables()
    assert set(tools) == {"echo", "refuse", "broken", "odd"}
    assert tools["echo"](text="a") == {"said": "a"}
    assert tools["refuse"]() == {"status": 404}
    assert [(call.position, call.step) for call in box.calls] == [(1, 1), (2, 2)]
    assert tools["echo"].__doc__ == "Say it again."


def test_an_argument_without_its_name_is_an_error_result_and_raises_nothing() -> None:
    box = toolbox()
    assert box.callables()["echo"]("a") == {"error": """the arguments of 'echo' are not a JSON object: "('a',)"."""}
    assert [(call.status, call.arguments, call.raw_arguments) for call in box.calls] == [("error", None, "('a',)")]


def test_what_a_program_does_to_arguments_and_results_cannot_reach_the_record() -> None:
    box = toolbox()
    text = ["a"]
    result = box.callables(copies=True)["echo"](text=text)
    text.append("b")
    result["error"] = "changed"
    assert box.calls[0].arguments == {"text": ["a"]}
    assert box.calls[0].result["error"].startswith("echo: argument 'text' must be text")


def test_calls_from_many_threads_are_recorded_one_after_another() -> None:
    box = toolbox()
    call = box.callables()["echo"]
    threads = [threading.Thread(target=lambda n=n: [call(text=f"{n}.{i}") for i in range(50)]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [c.position for c in box.calls] == list(range(1, 401))
    assert all(c.result == {"said": c.arguments["text"]} for c in box.calls if c.arguments)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    )
)  # fmt: skip
def test_any_json_is_plain_and_survives_the_file(value: Any) -> None:
    call = Call(position=1, step=1, name="x", arguments={"value": plain(value)}, status="ok")
    assert Call.read(call.line()) == call
    assert plain(plain(value)) == plain(value)


def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    assert clean("a\ud800b") == "a\ufffd\ufffd\ufffdb"
    assert plain({"\udfff": ["\ud800"]})
    assert clean("😀é") == "😀é"


def test_plain_names_the_place() -> None:
    with pytest.raises(PlainError, match=r"resource\.dose\[1\] is nan"):
        plain({"dose": [1, float("nan")]}, "resource")


class Dose(float):
    """A number of somebody else's that says how it was written."""

    digits: Any


def test_decimals_keep_their_digits_for_the_agent_and_in_the_file() -> None:
    def dose() -> Any:
        """Give a dose."""
        return {"value": Written("1.00"), "low": Written("1e2"), "odd": Written("2.5"), "plain": 1.5, "whole": 3}

    box = Toolbox([tool(dose)], now=ticking())
    call = box.call("dose", {}, step=1)
    text = '{"value":1.00,"low":1e2,"odd":2.5,"plain":1.5,"whole":3}'
    assert json_text(call.result) == text
    episode = Episode(
        id="e", task="t", task_digest="d", agent="a", condition="c", variant={}, ending="finished", calls=box.calls
    )
    assert f'"result":{text},' in episode.line()
    assert Episode.read(episode.line()) == episode
    assert episode.line().replace("1.00", "1.0").replace("1e2", "100.0") == episode.model_dump_json()
    assert box.callables(copies=True)["dose"]()["value"].digits == "1.00"


@pytest.mark.parametrize("digits", ["1, 2", '"x"', "", "01", "1.", "NaN", None])
def test_digits_that_are_no_number_are_not_believed(digits: Any) -> None:
    number = Dose("1.5")
    number.digits = digits
    assert json_text([number]) == "[1.5]"
    assert type(plain([number])[0]) is float


def test_what_is_plain_keeps_the_digits_of_a_number() -> None:
    given = Dose("1.5")
    given.digits = "1.50"
    (number,) = plain([given])
    assert type(number) is Written and number.digits == "1.50"
    given.digits = "2.0"
    assert number.digits == "1.50"  # a copy: who made it can change nothing any more
    with pytest.raises(PlainError, match="which JSON cannot hold"):
        plain([Written("1e999")])


def test_what_json_has_no_word_for_is_written_as_what_it_is() -> None:
    class Code(str):
        __slots__ = ()

    assert json_text({"a": Code("x"), "b": True, "c": 10**30, "d": float("nan"), "e": (1, None)}) == (
        '{"a":"x","b":true,"c":1000000000000000000000000000000,"d":null,"e":[1,null]}'
    )
    for value in (object(), {"a": "\ud800"}):
        with pytest.raises(ValueError, match="serializ"):
            json_text(value)
