"""What a judge is shown: all of it, or without whole calls from the middle, and what that leaves in doubt."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.trace import Text
from judges.judge import Judge
from judges.rubric import Rubric
from judges.scripted import data_of, rule_model
from judges.subject import Subject, by_index, with_trace, without_trace
from tests.judges.build import KEY, call, episode, subject, task


def calls_of(*lengths: int) -> Subject:
    return subject(calls=tuple(call(place, result="x" * length) for place, length in enumerate(lengths, 1)))


def shown(lines: tuple[str, ...]) -> list[Any]:
    return [part.get("position", part["part"]) for part in map(json.loads, lines)]


def test_a_judge_sees_question_calls_and_answer_in_this_order() -> None:
    one = subject(
        answer=["src/parser.py", {"line": 12}], note="I read it.", claim="done",
        calls=(call(1), call(2, status="error", result={"error": "no"}), call(3, result="part", cut_by="tool")),
    )  # fmt: skip
    extract = with_trace(one, 10_000)
    assert extract is not None
    assert extract.left_out is None
    question, first, second, third, answer = map(json.loads, extract.lines)
    assert question == {"part": "question", "time": "2026-01-15T10:15:00+00:00", "text": "Where is Parser defined?"}
    assert first == {
        "part": "call", "position": 1, "name": "read_file", "arguments": {"path": "src/parser.py"}, "status": "ok",
        "result": "class Parser: ...",
    }  # fmt: skip
    assert (second["status"], second["result"]) == ("error", {"error": "no"})
    assert third["cut_by"] == "tool"
    assert answer == {
        "part": "answer", "outcome": "done", "values": ["src/parser.py", {"line": 12}], "note": "I read it.",
    }  # fmt: skip


def test_arguments_that_did_not_parse_are_shown_as_they_were_written() -> None:
    one = subject(calls=(call(1, arguments=None, raw_arguments='{"path": ', status="error", result="no JSON"),))
    extract, index = with_trace(one, 10_000), by_index(one, 10_000)
    assert extract is not None and index is not None
    assert json.loads(extract.lines[1])["arguments"] == '{"path": '
    assert json.loads(index.lines[1])["arguments"] == '{"path": '


def test_nothing_tells_who_it_was_and_what_it_wrote_beside_its_calls_is_no_evidence() -> None:
    one = subject(agent="openai:gpt-x", condition="grounded", texts=(Text(step=1, text="SECRET THOUGHT"),), repeat=7)
    extract = with_trace(one, 10_000)
    assert extract is not None
    everything = "\n".join(extract.lines)
    for word in ("gpt-x", "grounded", "SECRET", "toy/where", "sha256"):
        assert word not in everything


def test_the_instruction_is_that_of_the_variant() -> None:
    one = Subject.of(task(), episode(), "Where is Zarser defined?")
    assert json.loads(one.question_line)["text"] == "Where is Zarser defined?"


def test_without_the_trace_there_are_two_lines() -> None:
    assert shown(without_trace(calls_of(10, 10)).lines) == ["question", "answer"]


def test_a_long_trace_loses_whole_calls_from_the_middle_and_says_which() -> None:
    one = calls_of(*[1_000] * 9)
    line = len(one.call_lines[0])
    rest = len(one.question_line) + len(one.answer_line)
    extract = with_trace(one, rest + 4 * line + 50)
    assert extract is not None
    assert shown(extract.lines) == ["question", 1, 2, "left_out", 8, 9, "answer"]
    assert json.loads(extract.lines[3]) == {"part": "left_out", "calls": 5}
    assert extract.left_out == "calls 3 to 7 of 9 were left out, the whole being too long"
    assert with_trace(one, rest + 9 * line).left_out is None  # type: ignore[union-attr]
    assert with_trace(one, rest + 9 * line - 1).left_out == (  # type: ignore[union-attr]
        "call 5 of 9 was left out, the whole being too long"
    )


def test_one_call_that_is_too_long_is_left_out_whole() -> None:
    extract = with_trace(calls_of(10, 50_000, 10), 2_000)
    assert extract is not None
    assert shown(extract.lines) == ["question", 1, "left_out", 3, "answer"]
    only = with_trace(calls_of(50_000), 2_000)
    assert only is not None
    assert shown(only.lines) == ["question", "left_out", "answer"]


def test_an_answer_that_is_too_long_is_not_shown_at_all() -> None:
    assert with_trace(subject(answer=["x" * 5_000]), 2_000) is None
    assert by_index(subject(answer=["x" * 5_000]), 2_000) is None


def test_what_just_fits_is_shown_and_a_character_less_is_not_enough() -> None:
    silent, two, three = subject(calls=()), calls_of(10, 10), calls_of(1_000, 1_000, 1_000)
    whole = len(silent.question_line) + len(silent.answer_line)
    assert with_trace(silent, whole) == without_trace(silent)
    assert with_trace(silent, whole - 1) is None
    blind = [Judge(rule_model("overlap"), Rubric("facts", trace=False), characters=whole - less) for less in (0, 1)]
    assert [judge.view(silent) is None for judge in blind] == [False, True]
    index = by_index(two, 2_000)
    assert index is not None
    length = sum(map(len, index.lines))
    assert (by_index(two, length), by_index(two, length - 1)) == (index, None)
    rest = len(three.question_line) + len(three.answer_line)
    first_and_last = with_trace(three, rest + 2 * len(three.call_lines[0]))
    assert first_and_last is not None
    assert shown(first_and_last.lines) == ["question", 1, "left_out", 3, "answer"]


@given(st.lists(st.integers(0, 3_000), max_size=12), st.integers(400, 20_000))
def test_what_is_shown_fits_and_no_call_is_left_out_that_need_not_be(lengths: list[int], room: int) -> None:
    one = calls_of(*lengths)
    extract = with_trace(one, room)
    assert extract is not None
    calls = [line for line in extract.lines if line in one.call_lines]
    assert sum(map(len, calls)) + len(one.question_line) + len(one.answer_line) <= room
    if extract.left_out is None:
        assert list(extract.lines) == [one.question_line, *one.call_lines, one.answer_line]
        return
    mark = next(place for place, line in enumerate(extract.lines) if '"left_out"' in line)
    gone = json.loads(extract.lines[mark])["calls"]
    head, tail = extract.lines[1:mark], extract.lines[mark + 1 : -1]
    assert (*head, *one.call_lines[len(head) : len(head) + gone], *tail) == one.call_lines
    assert gone > 0
    assert sum(map(len, one.call_lines)) + len(one.question_line) + len(one.answer_line) > room


def test_an_index_has_a_line_for_each_call() -> None:
    one = calls_of(50_000, 10)
    extract = by_index(one, 2_000)
    assert extract is not None
    first = json.loads(extract.lines[1])
    assert first == {
        "part": "call_index", "position": 1, "name": "read_file", "arguments": '{"path":"src/parser.py"}',
        "status": "ok", "characters": len(one.call_lines[0]),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "doubts"),
    [
        ({}, ()),
        ({"calls": (call(1, cut_by="tool"),)}, ()),
        ({"calls": (call(1), call(2, cut_by="recorder"))}, ("the recorder cut the result of call 2",)),
        ({"loss": ("the format has no times of calls",)}, ()),
        ({"loss": ("results of calls are not in the file",)}, ("results of calls are not in the file",)),
    ],
)
def test_what_a_recorder_cut_or_a_source_lost_is_in_doubt(more: dict[str, Any], doubts: tuple[str, ...]) -> None:
    one = subject(**more)
    assert one.doubts == doubts
    judge = Judge(rule_model("overlap"), Rubric("facts"))
    blind = Judge(rule_model("overlap"), Rubric("facts", trace=False))
    case, unseeing = judge.case(one, KEY), blind.case(one, KEY)
    assert case is not None
    assert unseeing is not None
    assert case.doubt == ("; ".join(doubts) or None)
    assert unseeing.doubt is None


def test_a_cut_is_said_in_our_words_outside_of_the_data() -> None:
    judge = Judge(rule_model("overlap"), Rubric("facts"), characters=3_000)
    case = judge.case(calls_of(1_000, 1_000, 1_000, 1_000), KEY)
    assert case is not None
    sentence = "Of the trace, calls 2 to 3 of 4 were left out, the whole being too long; a line with the part left_out"
    before = case.message.split(case.fence.begin)[0]
    assert sentence in before
    assert case.doubt == case.left_out == "calls 2 to 3 of 4 were left out, the whole being too long"
    assert [part["part"] for part in data_of(case.message)] == ["question", "call", "left_out", "call", "answer"]


@pytest.mark.parametrize(
    ("answer", "note", "claim", "says_nothing", "claims_nothing"),
    [
        (["a"], "", "done", False, False), ([], "n", "unclear", False, False), ([], "", "done", True, False),
        ([], "", "not_done", True, True), ([], " \n", "unclear", True, True), ([], "", None, True, True),
        ([""], "", None, True, True),
    ],
)  # fmt: skip
def test_what_says_nothing_and_what_claims_nothing(
    answer: list[str], note: str, claim: str | None, says_nothing: bool, claims_nothing: bool
) -> None:
    one = subject(answer=answer, note=note, claim=claim)
    assert (one.says_nothing, one.claims_nothing) == (says_nothing, claims_nothing)


def test_what_a_vote_belongs_to_is_all_that_a_judge_may_see_whether_shown_or_not() -> None:
    one, other = (subject(calls=(call(1), call(2, result=letter * 50_000), call(3)), note="n") for letter in ("x", "y"))

    def seen(subject_: Subject, trace: bool) -> str:
        judge = Judge(rule_model("overlap"), Rubric("facts", trace=trace), characters=2_000)
        view = judge.view(subject_)
        assert view is not None
        assert trace or view.extract == without_trace(subject_)
        return view.seen(subject_, trace=trace)

    shown_of = [with_trace(each, 2_000) for each in (one, other)]
    assert shown_of[0] == shown_of[1], "what differs is left out"
    assert seen(one, True) != seen(other, True), "and yet it is another trace"
    assert seen(one, False) == seen(other, False), "who sees no call does not see another one"
    assert len({seen(subject(note=note), trace) for note in "ab" for trace in (True, False)}) == 4


def test_how_a_long_trace_is_shown_is_no_setting_of_who_sees_none() -> None:
    def setting(trace: bool, long: Any) -> tuple[str, str | None]:
        made = Judge(rule_model("overlap"), Rubric("facts", trace=trace), long=long).setting
        return made.config, made.long

    assert setting(False, "search") == setting(False, "cut")
    assert (setting(False, "cut")[1], setting(True, "cut")[1], setting(True, "search")[1]) == (None, "cut", "search")
    assert setting(True, "cut")[0] != setting(True, "search")[0]


def test_what_there_is_to_see_has_a_digest_of_its_own() -> None:
    seen = {
        one.seen
        for one in (subject(), subject(["b"]), subject(calls=()), subject(note="n"), subject(calls=(call(1, "x"),)))
    }
    assert len(seen) == 5
    assert subject().seen == subject(agent="other", condition="other").seen
