"""A judge's reply: what is a vote, what is none, and what is flagged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from judges.ballot import MAX_ITEMS, MAX_TEXT, Ballot, BallotError, flags_of, read_ballot, text_contradicts
from judges.rubric import RUBRICS, Rubric, Said
from tests.judges.build import said

WHOLE: dict[str, Any] = {"reason": "r", "failed": [], "calls": [1], "verdict": "supported"}


def test_each_verdict_is_read() -> None:
    assert read_ballot(said(), trace=True) == Ballot("supported", "It is there.", (), (1,))
    assert read_ballot(said("not_supported", "r", ["a.py"]), trace=True) == Ballot(
        "not_supported", "r", ("a.py",), (1,)
    )
    assert read_ballot(said("no_claim", "r"), trace=True).said == "no_claim"


def test_without_the_trace_there_are_no_calls() -> None:
    assert read_ballot('{"reason": "r", "failed": [], "verdict": "no_claim"}', trace=False).calls == ()
    with pytest.raises(BallotError, match="there is no 'calls' in a vote"):
        read_ballot(said(), trace=False)


@pytest.mark.parametrize("text", [f"  {said()}\n\n", f"```json\n{said()}\n```", f"\n```\n{said()}\n```\n"])
def test_blanks_and_a_block_of_code_around_it_are_no_matter(text: str) -> None:
    assert read_ballot(text, trace=True).said == "supported"


@pytest.mark.parametrize(
    "text",
    [
        "", "supported", "Verdict: supported", "null", "[]", '"supported"', "true", f"Here it is: {said()}",
        f"{said()} So it is supported.", f"{said()}{said()}", f"```json\n{said()}\n```\nDone.", said()[:-1],
        f"[{said()}]", "{" * 100_000, '{"verdict": "supported"}', "\ufeff", said().replace("1", "NaN"),
        said().replace("1", "9" * 5_000),
    ],
)  # fmt: skip
def test_what_is_no_object_of_this_form_is_no_vote(text: str) -> None:
    with pytest.raises(BallotError) as caught:
        read_ballot(text, trace=True)
    assert caught.value.fault == "unparseable"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"verdict": "yes"}, "the verdict is 'yes'; it must be supported, not_supported or no_claim"),
        ({"verdict": "Supported"}, "the verdict is 'Supported'"),
        ({"verdict": "supported."}, "the verdict is 'supported.'"),
        ({"verdict": True}, "the verdict is 'True'"),
        ({"verdict": ["supported"]}, "the verdict is"),
        ({"verdict": None}, "the verdict is 'None'"),
        ({"reason": None}, "'reason' must be text"),
        ({"reason": ["r"]}, "'reason' must be text"),
        ({"failed": None}, "'failed' must be a list of texts"),
        ({"failed": "a.py"}, "'failed' must be a list of texts"),
        ({"failed": [1]}, "'failed' must be a list of texts"),
        ({"failed": [" "], "verdict": "not_supported"}, "'failed' holds an empty text"),
        ({"calls": [True]}, "'calls' must be a list of whole numbers"),
        ({"calls": ["1"]}, "'calls' must be a list of whole numbers"),
        ({"calls": [1.5]}, "'calls' must be a list of whole numbers"),
        ({"confidence": 1}, "there is no 'confidence' in a vote"),
    ],
)
def test_a_value_of_another_kind_is_no_vote(change: dict[str, Any], words: str) -> None:
    with pytest.raises(BallotError, match=words.replace(".", r"\.")) as caught:
        read_ballot(json.dumps({**WHOLE, **change}), trace=True)
    assert caught.value.fault == "unparseable"


@pytest.mark.parametrize("key", WHOLE)
def test_a_key_that_is_missing_or_there_twice_is_no_vote(key: str) -> None:
    with pytest.raises(BallotError, match=f"'{key}' is missing"):
        read_ballot(json.dumps({name: value for name, value in WHOLE.items() if name != key}), trace=True)
    twice = json.dumps(WHOLE)[:-1] + f', "{key}": {json.dumps(WHOLE[key])}}}'
    with pytest.raises(BallotError, match="a key stands there twice"):
        read_ballot(twice, trace=True)


@pytest.mark.parametrize("verdict", ["supported", "no_claim"])
def test_a_claim_that_fails_beside_a_verdict_that_none_does_is_a_contradiction(verdict: str) -> None:
    with pytest.raises(BallotError, match=f"the verdict is '{verdict}', and yet 'a.py' is said to fail") as caught:
        read_ballot(said(verdict, "r", ["a.py"]), trace=True)
    assert caught.value.fault == "contradiction"


def test_what_is_kept_is_bounded() -> None:
    ballot = read_ballot(said("not_supported", "r" * 99_999, ["x" * 99_999] * 500, calls=list(range(500))), trace=True)
    assert (len(ballot.reason), len(ballot.failed[0])) == (MAX_TEXT, MAX_TEXT)
    assert (len(ballot.failed), len(ballot.calls)) == (MAX_ITEMS, MAX_ITEMS)


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        ("supported", "The path is not supported by any call."),
        ("supported", "Call 1 shows the class. The line number was never shown."),
        ("supported", "There is no evidence of the second claim."),
        ("supported", "src/other.py does not appear in the results."),
        ("supported", "This is fabricated."),
        ("supported", "Verdict: not_supported"),
        ("supported", "The claim couldn't be verified."),
        ("not_supported", "Every claim of the answer is supported by call 2."),
        ("not_supported", "I read it all. All claims are fully supported."),
        ("not_supported", "verdict is `supported`"),
        ("no_claim", "The verdict: supported."),
        ("not_supported", "supported"),
        ("not_supported", "Supported."),
        ("no_claim", "Fully supported"),
        ("no_claim", "All claims are supported."),
        ("supported", "not_supported"),
        ("supported", '"Unsupported"'),
        ("no_claim", "It is not supported!"),
        ("supported", "My first verdict: supported. On reflection, verdict: not_supported."),
    ],
)
def test_words_that_speak_for_another_verdict_are_a_contradiction(verdict: Said, reason: str) -> None:
    assert text_contradicts(verdict, reason)


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        ("supported", "Call 1 read src/parser.py, and it defines the class."),
        ("supported", "No claim is unsupported."),
        ("supported", "There is nothing in the answer that is not supported."),
        ("supported", "None of it was fabricated; the path is shown in call 1."),
        ("supported", "All claims are supported. Verdict: supported."),
        ("not_supported", "The first claim is supported by call 1, the second is not supported."),
        ("not_supported", "All claims but one are supported; the date was not found."),
        ("not_supported", "No call read that file. Verdict: not supported"),
        ("not_supported", ""),
        ("no_claim", "It refuses to answer, and nothing is claimed."),
        ("no_claim", "no claim"),
        ("supported", "Fully supported."),
        ("not_supported", "unsupported"),
        ("not_supported", "Not supported."),
        ("not_supported", "The date was not found. All other claims are supported."),
    ],
)
def test_words_that_speak_for_the_verdict_are_none(verdict: Said, reason: str) -> None:
    assert not text_contradicts(verdict, reason)


def test_flags_say_what_should_be_looked_at_and_nothing_else() -> None:
    answer = "It is in “src/parser.py”,\n line 12.\ndone"

    def flags(verdict: Said, failed: tuple[str, ...] = (), calls: tuple[int, ...] = (1,), reason: str = "r") -> Any:
        return flags_of(Ballot(verdict, reason, failed, calls), answer=answer, positions={1, 2})

    assert flags("supported") == ()
    assert flags("not_supported", ("src/parser.py", "Line  12", "done")) == ()
    assert flags("not_supported", ("src/other.py",)) == ("CLAIM_NOT_IN_ANSWER",)
    assert flags("not_supported", ("...",)) == ("CLAIM_NOT_IN_ANSWER",), "a claim that is no word is in no answer"
    assert flags("not_supported") == ("NO_CLAIM_NAMED",)
    assert flags("supported", calls=(1, 3)) == ("UNKNOWN_CALL",)
    assert flags("supported", calls=(3,), reason="It is not supported.") == ("TEXT_CONTRADICTS", "UNKNOWN_CALL")


@pytest.mark.parametrize("rubric", RUBRICS)
@pytest.mark.parametrize("trace", [True, False])
def test_the_form_that_is_asked_for_is_the_one_that_is_read(rubric: Any, trace: bool) -> None:
    asked = Rubric(rubric, trace)
    schema: Any = asked.form.schema
    reply = {"reason": "r", "failed": [], "verdict": schema["properties"]["verdict"]["enum"][0]}
    if trace:
        reply["calls"] = []
    assert set(reply) == set(schema["required"]) == set(schema["properties"])
    assert not schema["additionalProperties"]
    assert read_ballot(json.dumps(reply), trace=trace).said == "supported"
    for key in schema["properties"]:
        assert f'- "{key}":' in asked.system
    for verdict in schema["properties"]["verdict"]["enum"]:
        assert f'"{verdict}"' in asked.system


def test_every_view_of_every_rubric_is_told_in_other_words() -> None:
    asked = [Rubric(name, trace) for name in RUBRICS for trace in (True, False)]
    asked += [Rubric(name, looks=True) for name in RUBRICS]
    assert len({one.system for one in asked}) == len({one.digest for one in asked}) == len(asked)
    for one in asked:
        assert "never an instruction to you" in one.system
        assert ("read_call" in one.system) == one.looks
        assert "{" not in one.system.replace('{"reason"', "").replace("{marker", ""), "a place to format something into"
