"""What a call that reads files showed, in every form a tool may give it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grounding.shown import shown_by
from tests.grounding.build import call

TEXT = "def run(): pass\n"


def shown(result: Any, arguments: dict[str, Any] | None = None, **fields: Any) -> list[tuple[tuple[str, ...], str]]:
    found = shown_by(call("read_file", arguments if arguments is not None else {"path": "a.py"}, result, **fields))
    return [(file.paths, file.text) for file in found.files]


@pytest.mark.parametrize(
    "result",
    [
        TEXT,
        {"content": TEXT},
        {"text": TEXT, "path": "a.py"},
        {"status": 200, "body": TEXT},
        {"status": "ok", "result": {"content": TEXT}},
        {"content": [{"type": "text", "text": TEXT}], "isError": False},
        [{"type": "text", "text": TEXT}],
        {"a.py": TEXT},
        {"a.py": {"content": TEXT}},
        json.dumps({"path": "a.py", "content": TEXT}),
        json.dumps({"a.py": TEXT}),
        json.dumps([{"type": "text", "text": TEXT}]),
    ],
)
def test_every_known_form_shows_the_path_and_the_text(result: Any) -> None:
    assert shown(result) == [(("a.py",), TEXT)]


def test_an_object_of_texts_by_path_shows_each() -> None:
    assert shown({"a.py": "A", "src/b.py": "B"}, {"paths": ["a.py", "src/b.py"]}) == [
        (("a.py",), "A"),
        (("src/b.py",), "B"),
    ]


def test_a_path_that_the_result_names_was_read_as_well_as_the_one_asked_for() -> None:
    assert shown({"path": "src/a.py", "content": TEXT}, {"path": "/work/src/a.py"}) == [
        (("/work/src/a.py", "src/a.py"), TEXT)
    ]


@pytest.mark.parametrize("key", ["path", "file_path", "filename", "target_file", "uri"])
def test_arguments_may_name_the_path_in_many_ways(key: str) -> None:
    assert shown(TEXT, {key: "a.py"}) == [(("a.py",), TEXT)]


def test_an_empty_file_was_read() -> None:
    assert shown("") == [(("a.py",), "")]
    assert shown({"content": ""}) == [(("a.py",), "")]


@pytest.mark.parametrize(
    "result",
    [
        {"error": "no such file"},
        {"error": "no such file", "content": ""},
        {"isError": True, "content": [{"type": "text", "text": "no"}]},
        {"success": False, "content": "no"},
        {"ok": False, "text": "no"},
        {"status": "error", "text": "no"},
        {"status": 404, "body": "no"},
        json.dumps({"error": "no such file"}),
    ],
)
def test_a_result_that_says_it_failed_shows_nothing(result: Any) -> None:
    found = shown_by(call("read_file", {"path": "a.py"}, result))
    assert (found.files, found.unknown) == ((), False)


@pytest.mark.parametrize("result", [None, 3, True, [], [1, 2], {"lines_read": 3}, {}])
def test_a_result_in_no_known_form_is_unknown(result: Any) -> None:
    assert shown_by(call("read_file", {"path": "a.py"}, result)).unknown


def test_a_json_file_that_a_tool_gives_as_plain_text_is_its_own_text() -> None:
    text = json.dumps({"name": "x", "source": "y", "error": {"code": 1}})
    assert shown(text, {"path": "package.json"}) == [(("package.json",), text)]
    for content in ({"error": "x", "name": "y"}, {"error": {"code": 1}}, {"text": "x"}):
        text = json.dumps(content)
        assert shown(text, {"path": "a.JSON"}) == [(("a.JSON",), text)]
    assert shown(json.dumps({"error": "no such file"}), {"path": "a.json"}) == []
    assert shown(json.dumps({"content": "{}"}), {"path": "a.json"}) == [(("a.json",), "{}")]


def test_a_result_that_the_harness_cut_is_read_as_far_as_it_goes() -> None:
    whole = json.dumps({"path": "a.py", "content": "def first(): pass\ndef second(): pass\n"})
    cut = {"cut": "The result has ... characters", "text": whole[:50]}
    ((paths, text),) = shown(cut, cut_by="tool")
    assert paths == ("a.py",)
    assert text.startswith("def first(): pass\nde")


@pytest.mark.parametrize(
    ("result", "arguments", "first"),
    [
        ({"content": TEXT, "start_line": 7}, {"path": "a.py"}, 7),
        (TEXT, {"path": "a.py", "start_line": 7, "end_line": 9}, 7),
        (TEXT, {"path": "a.py", "offset": 7, "limit": 2}, 7),
        (TEXT, {"path": "a.py", "view_range": [7, 9]}, 7),
        (TEXT, {"path": "a.py", "start_line": None}, 1),
        (TEXT, {"path": "a.py"}, 1),
        (TEXT, {"path": "a.py", "somewhere": 7}, None),
    ],
)
def test_the_first_line_is_what_result_or_arguments_say(
    result: Any, arguments: dict[str, Any], first: int | None
) -> None:
    (file,) = shown_by(call("read_file", arguments, result)).files
    assert file.first_line == first


def test_arguments_that_did_not_parse_name_no_path() -> None:
    assert shown_by(call("read_file", None, TEXT, raw_arguments="{")).files[0].paths == ()
