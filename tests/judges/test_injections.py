"""Traces that speak to the judge: what is sent to the provider keeps them inside the fence, wherever they stand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.trace import Episode
from judges.rubric import CLOSING, OPENING, Rubric
from judges.scripted import data_of
from judges.subject import Subject
from tests.harness.provider import Provider, Say, Wire
from tests.judges.build import KEY, call, episode, said, task
from tests.judges.injections import INJECTIONS
from tests.judges.provider import judge_at, messages_of

BEGIN, END = "----- BEGIN DATA ", "----- END DATA "


def everywhere(text: str) -> tuple[str, Episode]:
    """An episode in which the text stands wherever somebody else can write: the instruction, and all of the trace."""
    calls = (
        call(1, name=text[:2_000], result=text),
        call(2, arguments={text: [text, {"deep": text}]}, result={"status": 200, "body": {text: text}}),
        call(3, arguments=None, raw_arguments=text, status="error", result={"error": text}),
    )
    return text, episode(answer=[text, {"value": text}], note=text, calls=calls)


def sent(wire: Wire, subject: Subject, rubric: Rubric) -> tuple[str, str]:
    """What really reaches the provider for this subject: the system message, and the one of the user."""
    with Provider(wire, Say(said())) as provider, judge_at(provider, rubric=rubric) as judge:
        case = judge.case(subject, KEY)
        assert case is not None
        judge.vote(case, 1)
        (request,) = provider.requests
        system, messages = messages_of(provider, request)
    assert provider.refused == []
    (message,) = messages
    assert message["role"] == "user"
    assert isinstance(message["content"], str)
    rest = {key: value for key, value in request.items() if key not in ("messages", "system")}
    assert set(rest) <= {"model", "max_tokens", "response_format", "output_config"}
    return system, message["content"]


def test_there_are_at_least_twenty() -> None:
    assert len(INJECTIONS) >= 20
    assert len(set(INJECTIONS.values())) == len(INJECTIONS)


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
@pytest.mark.parametrize("name", INJECTIONS)
def test_the_request_keeps_it_inside_the_fence(wire: Wire, name: str) -> None:
    text = INJECTIONS[name]
    instruction, trace = everywhere(text)
    subject = Subject.of(task(), trace, instruction)
    rubric = Rubric("facts")
    system, message = sent(wire, subject, rubric)

    assert system == rubric.system  # byte for byte what it is for any other trace
    lines = message.split("\n")
    begin = next(number for number, line in enumerate(lines) if line.startswith(BEGIN))
    end = next(number for number, line in enumerate(lines) if line.startswith(END))
    marker = lines[begin].removeprefix(BEGIN).removesuffix(" -----")
    assert lines[end] == f"{END}{marker} -----"

    # Outside there are our words alone.
    assert lines[:begin] == [f"{OPENING}{marker}.", ""]
    assert lines[end + 1 :] == ["", CLOSING]

    # Inside, the text begins no line and ends none, holds no marker, no markup, and nothing that cannot be seen.
    inside = lines[begin + 1 : end]
    assert message.count(marker) == 3
    assert len(inside) == 1 + len(trace.calls) + 1
    assert all(line.startswith('{"part":"') and line.endswith("}") for line in inside)
    assert not any("<" in line for line in inside)
    assert not any(letter in line for line in inside for letter in "\r\u2028\u2029\u202e\u200b\x1b\x00\x85")

    # And it is all there, as it was.
    question, *calls, answer = map(json.loads, inside)
    assert question["text"] == text
    assert [one["result"] for one in calls] == [one.result for one in trace.calls]
    assert [one["name"] for one in calls] == [one.name for one in trace.calls]
    assert calls[1]["arguments"] == trace.calls[1].arguments
    assert calls[2]["arguments"] == text
    assert (answer["values"], answer["note"]) == ([text, {"value": text}], text)
    assert list(data_of(message)) == [question, *calls, answer]


@pytest.mark.parametrize("name", INJECTIONS)
def test_a_judge_without_the_trace_is_as_well_fenced(name: str) -> None:
    instruction, trace = everywhere(INJECTIONS[name])
    rubric = Rubric("predicate", trace=False)
    system, message = sent("openai", Subject.of(task(), trace, instruction), rubric)
    assert system == rubric.system
    question, answer = data_of(message)
    assert (question["part"], answer["part"]) == ("question", "answer")
    assert message.split("\n")[-1] == CLOSING


@pytest.mark.parametrize("name", INJECTIONS)
def test_what_a_judge_looks_up_is_fenced_too(name: str) -> None:
    text = INJECTIONS[name]
    instruction, trace = everywhere(text)
    calls = (*trace.calls, *(call(number, result="x" * 3_000) for number in range(4, 40)))
    subject = Subject.of(task(), trace.model_copy(update={"calls": calls}), instruction)
    needle = text.strip()[:20] or "x"
    steps = (
        Say(calls=[("read_call", {"position": 1}), ("search_trace", {"text": needle}), (text[:30] or "x", {})]),
        Say(said()),
    )
    limit = 80_000 + 10 * len(text)
    with Provider("openai", *steps) as provider, judge_at(provider, characters=limit, long="search") as judge:
        case = judge.case(subject, KEY)
        assert case is not None
        assert case.rubric.looks
        vote = judge.vote(case, 1)
    assert (vote.said, vote.looked, provider.refused) == ("supported", 3, [])
    _, messages = messages_of(provider, provider.requests[-1])
    results = [one["content"] for one in messages if one["role"] == "tool"]
    assert len(results) == 3
    for result in results:
        (line,) = fenced(result, case.fence.marker)
        assert isinstance(json.loads(line), dict)
        assert "<" not in line
    shown = json.loads(fenced(results[0], case.fence.marker)[0])["text"]
    assert json.loads(shown)["result"] == text if len(shown) < 20_000 else shown.startswith('{"part":"call"')


def fenced(result: str, marker: str) -> list[str]:
    first, *lines, last = result.split("\n\n")[0].split("\n")
    assert (first, last) == (f"{BEGIN}{marker} -----", f"{END}{marker} -----")
    return lines


def test_a_judge_that_repeats_the_marker_breaks_nothing() -> None:
    calls = tuple(call(number, result="x" * 3_000) for number in range(1, 40))
    subject = Subject.of(task(), episode(calls=calls))

    def speaks(request: dict[str, Any]) -> Say:
        marker = str(request["messages"][1]["content"]).split(OPENING)[1][:32]
        return Say(calls=[("read_call", {marker: 1}), ("search_trace", {"text": marker})])

    with (
        Provider("openai", speaks, Say(said())) as provider,
        judge_at(provider, characters=20_000, long="search") as judge,
    ):
        case = judge.case(subject, KEY)
        assert case is not None
        assert judge.vote(case, 1).said == "supported"
    results = [one["content"] for one in provider.requests[-1]["messages"] if one["role"] == "tool"]
    assert "there is no argument '(marker)'" in results[0]
    assert json.loads(fenced(results[1], case.fence.marker)[0])["places"] == []
