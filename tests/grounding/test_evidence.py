"""Which calls count as evidence, and what is in doubt."""

from __future__ import annotations

import json

import pytest

from grounding import MENTION, PAPER
from grounding.loss import NO_STATUS, NO_STEPS, NO_TIMES, of_call
from tests.grounding.build import ADAPTERS, call, entity, judged, read

PATH = "It is in src/requests/adapters.py"
NAME = "It is HTTPAdapter"


def test_a_read_file_supports_its_path_and_what_its_text_defines() -> None:
    calls = (call("list_directory", {"path": "."}, "src"), read("src/requests/adapters.py", ADAPTERS))
    path, name = judged(f"{PATH}: HTTPAdapter", *calls).entities
    assert (path.outcome, path.support[0].call, path.support[0].how, path.support[0].span) == (
        "pass",
        2,
        "read",
        (0, 24),
    )
    assert (name.outcome, name.support[0].call, name.support[0].how) == ("pass", 2, "defined")
    assert name.support[0].span is not None
    assert ADAPTERS[slice(*name.support[0].span)] == "HTTPAdapter"


@pytest.mark.parametrize("name", ["list_directory", "search", "grep", "bash", "write_file", "read_files"])
def test_no_other_tool_supports_anything(name: str) -> None:
    other = call(name, {"path": "src/requests/adapters.py"}, ADAPTERS)
    assert entity(PATH, other).outcome == "fail"
    assert entity(NAME, other).outcome == "fail"
    assert entity(NAME, other, policy=MENTION).outcome == "fail"


@pytest.mark.parametrize("name", ["mcp__files__read_file", "files.read_file", "files/read_file", "files:read_file"])
def test_a_namespace_before_the_tools_name_does_not_matter(name: str) -> None:
    assert entity(PATH, call(name, {"path": "src/requests/adapters.py"}, ADAPTERS)).outcome == "pass"


def test_other_tools_count_where_the_policy_says_so() -> None:
    view = call("view", {"path": "src/requests/adapters.py"}, ADAPTERS)
    varied = PAPER.varied(reads=("view",))
    assert entity(PATH, view, policy=varied).outcome == "pass"
    assert entity(PATH, read("src/requests/adapters.py", ADAPTERS), policy=varied).outcome == "fail"
    assert varied.digest != PAPER.digest


@pytest.mark.parametrize("status", ["error", "timeout"])
def test_a_failed_read_supports_nothing_not_even_its_path(status: str) -> None:
    failed = read("src/requests/adapters.py", ADAPTERS, status=status)
    assert entity(PATH, failed).outcome == "fail"
    assert entity(NAME, failed).outcome == "fail"


def test_a_result_that_says_it_failed_supports_nothing_whatever_its_status() -> None:
    assert entity(PATH, read("src/requests/adapters.py", {"error": "no such file"})).outcome == "fail"


def test_a_retry_after_a_failed_read_counts() -> None:
    failed = read("src/requests/adapters.py", {"error": "busy"}, status="error")
    support = entity(PATH, failed, read("src/requests/adapters.py", ADAPTERS)).support
    assert [each.call for each in support] == [2]


def test_each_read_that_supports_is_named() -> None:
    twice = [read("src/requests/adapters.py", ADAPTERS)] * 2
    assert [each.call for each in entity(PATH, *twice).support] == [1, 2]


def test_what_a_tool_cut_was_not_seen_and_supports_nothing() -> None:
    part = read("src/requests/adapters.py", ADAPTERS[:120], cut_by="tool")
    assert entity("BaseAdapter", part).outcome == "pass"
    assert entity("get_adapter", part).outcome == "fail"


def test_what_a_recorder_cut_may_have_been_seen() -> None:
    part = read("src/requests/adapters.py", ADAPTERS[:120], cut_by="recorder")
    assert entity("BaseAdapter", part).outcome == "pass"
    name = entity("get_adapter", part)
    assert name.outcome == "unscored"
    assert name.why == "call 1 (read_file) was cut by the recorder; no definition in any read_file result"
    assert entity("other/path.py", part).outcome == "unscored"


def test_a_recorder_that_cut_something_else_casts_no_doubt() -> None:
    listing = call("list_directory", {"path": "."}, "src", cut_by="recorder")
    failed = read("b.py", {"error": "no"}, status="error", cut_by="recorder")
    assert entity("get_adapter", listing, failed, read("a.py", ADAPTERS[:120])).outcome == "fail"


def test_a_lost_result_is_in_doubt() -> None:
    lost = call("read_file", {"path": "src/requests/adapters.py"}, None, cut_by="recorder")
    assert entity(PATH, lost).outcome == "unscored"


def test_a_result_in_no_known_form_is_in_doubt() -> None:
    odd = read("src/requests/adapters.py", {"pages": 3})
    assert entity(NAME, odd).outcome == "unscored"


def test_a_mark_of_something_left_out_is_in_doubt_unless_the_tool_says_it_cut() -> None:
    text = f"{ADAPTERS[:120]}\n... [truncated]"
    assert entity("get_adapter", read("a.py", text)).outcome == "unscored"
    assert entity("BaseAdapter", read("a.py", text)).outcome == "pass"
    assert entity("get_adapter", read("a.py", text, cut_by="tool")).outcome == "fail"


def test_line_numbers_hide_no_definition() -> None:
    numbered = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(ADAPTERS.split("\n"), 1))
    found = entity("HTTPAdapter.send(", read("a.py", numbered))
    assert found.outcome == "pass"
    assert found.support[0].span is not None
    assert numbered[slice(*found.support[0].span)] == "send"


@pytest.mark.parametrize("form", ["[{}] {}", "{} - {}", "+{1}", "> {1}", "\x1b[32m{}\x1b[0m {}"])
def test_prefixes_of_no_known_form_make_a_definition_uncertain_or_are_read_but_never_refute_it(form: str) -> None:
    shown = "\n".join(form.format(number, line) for number, line in enumerate(ADAPTERS.split("\n"), 1))
    for name in ("HTTPAdapter", "get_adapter(", "HTTPAdapter.send("):
        assert entity(name, read("a.py", shown)).outcome in ("pass", "unscored"), name
    assert entity("OtherThing", read("a.py", shown)).outcome == "fail"


def test_places_count_in_characters_of_what_was_shown() -> None:
    text = "# Größe ✓\nclass Müller:\n    def größe_x(self): pass\n"
    found = entity("größe_x", read("a.py", text))
    assert found.support[0].span is not None
    assert text[slice(*found.support[0].span)] == "größe_x"


def test_lost_evidence_is_in_doubt_and_harmless_losses_are_not() -> None:
    assert judged(NAME, read("a.py", "x = 1"), loss=["results of server-side tools"]).outcome == "unscored"
    for harmless in (NO_STATUS, NO_TIMES, NO_STEPS, of_call(3, "no times")):
        assert judged(NAME, read("a.py", "x = 1"), loss=[harmless]).outcome == "fail", harmless


def test_results_as_json_text_are_read() -> None:
    result = json.dumps({"path": "src/requests/adapters.py", "content": ADAPTERS})
    assert entity(NAME, call("read_file", {"path": "src/requests/adapters.py"}, result)).outcome == "pass"


def test_a_script_without_an_extension_is_python_if_its_first_line_says_so() -> None:
    assert entity("run_all(", read("bin/tool", "#!/usr/bin/env python3\ndef run_all(): pass\n")).outcome == "pass"
    assert entity("run_all(", read("bin/tool", "def run_all(): pass\n")).outcome == "fail"


def test_a_name_in_a_language_that_is_not_known_is_unscored_if_it_stands_there() -> None:
    code = "int run_all(void) { return 1; }"
    found = entity("run_all(", read("src/x.c", code))
    assert found.outcome == "unscored"
    assert found.why == "it stands in what call 1 read, and what is defined is known for Python only"
    assert entity("other_name(", read("src/x.c", code)).outcome == "fail"
    assert entity("src/x.c", read("src/x.c", code)).outcome == "pass"


def test_a_text_of_no_known_file_is_in_doubt_if_the_name_stands_in_it() -> None:
    nameless = call("read_file", {"lines": 3}, "def run_all(): pass")
    assert entity("run_all(", nameless).outcome == "unscored"


def test_a_path_is_in_doubt_where_nobody_knows_which_file_was_read() -> None:
    nameless = call("read_file", None, "x = 1", raw_arguments="{'path': 'src/a.py'}")
    found = entity("src/a.py", nameless)
    assert (found.outcome, found.why) == ("unscored", "nobody knows which file call 1 read")
    assert entity("src/a.py", nameless, read("src/a.py", "x = 1")).outcome == "pass"


def test_a_document_defines_nothing() -> None:
    assert entity("HTTPAdapter", read("README.md", "The HTTPAdapter is great.")).outcome == "fail"
    assert entity("HTTPAdapter", read("README.md", "The HTTPAdapter is great."), policy=MENTION).outcome == "pass"
