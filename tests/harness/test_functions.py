"""A tool from a function: the schema it declares, and what becomes of the arguments that an agent gives."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.finish import FINISH, Finish, read_finish
from harness.functions import ArgumentsError, tool
from harness.plain import Written
from harness.tool import ToolResult

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


class Ward:
    """Something that tools are bound to."""

    def __init__(self, name: str) -> None:
        self.name = name

    def look_up(
        self,
        type: str,
        parameters: dict[str, str | list[str]],
        count: int = 10,
        exact: bool = False,
        within: float | None = None,
        order: Literal["up", "down"] = "up",
        tags: list[str] = [],  # noqa: B006
        body: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Look something up.

        It may take a while.

        Args:
            type: The type.
            parameters: What to look for;
                a list repeats it.
            count: How many.
            exact: Whether exactly.
            within: How near.
            order: Which way.
            tags: Any tags.
            body: Anything.

        Returns:
            Not part of what an agent reads about arguments.
        """
        return {"ward": self.name, "type": type, "parameters": parameters, "count": count, "tags": tags, "body": body}


def call(**arguments: Any) -> ToolResult:
    return tool(Ward("A").look_up).run(arguments)


def test_the_schema_comes_from_the_signature_and_the_docstring() -> None:
    declared = tool(Ward("A").look_up)
    assert declared.name == "look_up"
    assert declared.description == "Look something up.\n\nIt may take a while."
    assert declared.parameters["required"] == ["type", "parameters"]
    assert declared.parameters["additionalProperties"] is False
    properties = declared.parameters["properties"]
    assert properties["type"] == {"type": "string", "description": "The type."}
    assert properties["parameters"] == {
        "type": "object",
        "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        "description": "What to look for; a list repeats it.",
    }
    assert properties["count"] == {"type": "integer", "description": "How many.", "default": 10}
    assert properties["within"]["anyOf"] == [{"type": "number"}, {"type": "null"}]
    assert properties["order"]["enum"] == ["up", "down"]
    assert properties["body"]["anyOf"][0] == {"type": "object", "additionalProperties": True}


def test_good_arguments_reach_the_function_and_defaults_fill_the_rest() -> None:
    result = call(type="Observation", parameters={"code": ["a", "b"], "patient": "p1"}, tags=["x"])
    assert result == ToolResult(
        "ok",
        {
            "ward": "A", "type": "Observation", "parameters": {"code": ["a", "b"], "patient": "p1"}, "count": 10,
            "tags": ["x"], "body": None,
        },
    )  # fmt: skip


def test_one_declaration_serves_every_object_a_method_is_bound_to() -> None:
    first, second = tool(Ward("A").look_up), tool(Ward("B").look_up)
    assert first.declaration is second.declaration
    assert second.run({"type": "T", "parameters": {}}).result["ward"] == "B"


def test_a_number_with_its_digits_is_a_number() -> None:
    def dose(value: float, times: int, rest: Any) -> list[Any]:
        """Give a dose.

        Args:
            value: How much.
            times: How often.
            rest: Anything.
        """
        return [value, times, rest]

    given = {"value": Written("1.50"), "times": Written("2.0"), "rest": Written("1.00")}
    result = tool(dose).run(given).result
    assert [type(item) for item in result] == [float, int, Written]
    assert result == [1.5, 2, 1.0]
    assert tool(dose).run({**given, "times": Written("2.5")}).result == {
        "error": "dose: argument 'times' must be a whole number, not the number 2.5."
    }
    assert FINISH.run({"outcome": "done", "answer": [Written("1.80")]}).result["answer"] == [1.8]


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert call(type="T", parameters={}, count=5.0).result["count"] == 5


LOOK_UP = "type, parameters, count, exact, within, order, tags, body"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"type": 5}, "argument 'type' must be text, not the number 5"),
        ({"type": None}, "argument 'type' must be text, not null"),
        ({"parameters": "code=a"}, "argument 'parameters' must be an object, not the text 'code=a'"),
        ({"parameters": {"code": 5}}, "argument 'parameters.code' must be text or a list of text, not the number 5"),
        (
            {"parameters": {"code": ["a", 5]}},
            "argument 'parameters.code' must be text or a list of text, not the list ['a', 5]",
        ),
        ({"count": "5"}, "argument 'count' must be a whole number, not the text '5'"),
        ({"count": True}, "argument 'count' must be a whole number, not true"),
        ({"count": 5.5}, "argument 'count' must be a whole number, not the number 5.5"),
        ({"exact": "yes"}, "argument 'exact' must be true or false, not the text 'yes'"),
        ({"within": float("nan")}, "argument 'within' must be a number or null, not the number nan"),
        ({"order": "left"}, "argument 'order' must be one of up, down, not the text 'left'"),
        ({"order": []}, "argument 'order' must be one of up, down, not the list []"),
        ({"tags": "x"}, "argument 'tags' must be a list (text each), not the text 'x'"),
        ({"body": []}, "argument 'body' must be an object or null, not the list []"),
        ({"patient": "p"}, f"there is no argument 'patient' (it takes {LOOK_UP})"),
    ],
)
def test_bad_arguments_are_one_sentence_for_the_agent(arguments: dict[str, Any], problem: str) -> None:
    result = call(**{"type": "T", "parameters": {}, **arguments})
    assert result == ToolResult("error", {"error": f"look_up: {problem}."})


def test_everything_that_is_wrong_is_named_at_once() -> None:
    assert call(type=5).result["error"] == (
        "look_up: argument 'type' must be text, not the number 5; argument 'parameters' is missing (an object)."
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(["type", "parameters", "count", "exact", "within", "order", "x"]), JSON))
def test_no_arguments_crash_a_tool(arguments: dict[str, Any]) -> None:
    result = tool(Ward("A").look_up).run(arguments)
    assert result.status in ("ok", "error")
    if result.status == "ok":
        assert isinstance(arguments["type"], str)
        assert isinstance(arguments["parameters"], dict)
        assert "x" not in arguments


def test_what_a_function_raises_is_not_hidden() -> None:
    def broken() -> None:
        """Fail."""
        raise RuntimeError("ours")

    with pytest.raises(RuntimeError, match="ours"):
        tool(broken).run({})


def test_a_function_may_give_a_whole_tool_result() -> None:
    def refuse() -> ToolResult:
        """Refuse."""
        return ToolResult("error", {"status": 404}, {"status": 404})

    assert tool(refuse).run({}) == ToolResult("error", {"status": 404}, {"status": 404})


def undocumented(a: int) -> None:
    pass


def no_line(a: int) -> None:
    """Do it."""


def no_type(a) -> None:  # type: ignore[no-untyped-def]
    """Do it.

    Args:
        a: One.
    """


def odd_type(a: set[str]) -> None:
    """Do it.

    Args:
        a: One.
    """


def stale_line(a: int) -> None:
    """Do it.

    Args:
        a: One.
        b: Gone.
    """


def starred(*a: int) -> None:
    """Do it.

    Args:
        a: One.
    """


@pytest.mark.parametrize("function", [undocumented, no_line, no_type, odd_type, stale_line, starred])
def test_a_function_that_does_not_say_what_it_takes_is_no_tool(function: Any) -> None:
    with pytest.raises(TypeError, match=function.__name__):
        tool(function)


def test_finish_takes_an_outcome_a_list_and_a_note() -> None:
    assert FINISH.name == "finish"
    assert FINISH.parameters["required"] == ["outcome"]
    assert FINISH.run({"outcome": "done", "answer": ["1.2 mg/dL", 5, 1.5], "note": "n"}) == ToolResult(
        "ok", {"outcome": "done", "answer": ["1.2 mg/dL", 5, 1.5], "note": "n"}
    )
    assert FINISH.run({"outcome": "unclear"}).result == {"outcome": "unclear", "answer": [], "note": ""}


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"outcome": "success"},
        {"outcome": "done", "answer": "1.2"},
        {"outcome": "done", "answer": None},
        {"outcome": "done", "answer": [True]},
        {"outcome": "done", "answer": [{}]},
        {"outcome": "done", "answer": [None]},
        {"outcome": "done", "note": 5},
        {"outcome": "done", "reason": "x"},
        {"outcome": "done", "answer": ["x"] * 1001},
        {"outcome": "done", "answer": ["x" * 100_000, "y" * 100_001]},
        {"outcome": "done", "note": "x" * 200_001},
    ],
)
def test_finish_refuses_anything_else(arguments: dict[str, Any]) -> None:
    assert FINISH.run(arguments).status == "error"
    with pytest.raises(ArgumentsError, match="finish"):
        read_finish(arguments)


def test_what_a_program_returns_is_read_as_finish_would() -> None:
    assert read_finish({"outcome": "done", "answer": ("a", 1)}) == Finish("done", ("a", 1), "")
    for nonsense in (
        None,
        "done",
        ["done"],
        5,
        {"outcome": {"a"}},
        {1: 2},
        {"outcome": "done", "answer": [float("inf")]},
    ):
        with pytest.raises(ArgumentsError):
            read_finish(nonsense)
