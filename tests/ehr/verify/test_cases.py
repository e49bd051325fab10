"""The case law: 129 worked cases, played on real forks; and the reader and player of such files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ehr.verify import Answer, AnswerValue, Expected
from ehr.verify.cases import Case, CaseError, Refusal, StatedMessage, StatedState, play, read
from tests.ehr.verify.build import ADA, BEN, CLOCK, ORDER, Body, order

FILE = Path(__file__).with_name("cases.jsonl")
CASES = {case.id: case for case in read(FILE)}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_verdict_is_the_one_that_the_case_states(case: Case) -> None:
    played = play(case)
    assert played.differences == ()
    assert played.agrees
    state = played.verdicts[0]
    failed = {clause.label for clause in state.clauses if clause.outcome == "fail"}
    assert failed == set(state.labels)  # every label has its finding, and every finding its label


def test_every_case_is_there_and_states_a_verdict() -> None:
    assert len(CASES) == 129
    assert all(case.state is not None and case.refused is not None for case in CASES.values())


def test_every_label_comes_out_of_some_case() -> None:
    from ehr.verify.labels import SEVERITY

    stated = {label for case in CASES.values() if case.state for label in case.state.labels}
    assert stated == set(SEVERITY)


def _case(**fields: Any) -> Case:
    given: dict[str, Any] = {
        "id": "c",
        "clock": CLOCK,
        "patient": "Patient/p1",
        "before": (ADA, BEN),
        "expected": ORDER,
    }
    return Case.model_validate(given | fields)


POST: Body = {"method": "POST", "path": "/MedicationRequest", "body": order()}


def test_a_case_that_states_nothing_neither_agrees_nor_disagrees() -> None:
    played = play(_case(requests=(POST,)))
    assert (played.agrees, played.differences) == (None, ())
    assert [v.outcome for v in played.verdicts] == ["pass", "pass"]
    assert play(_case(message=StatedMessage())).agrees is None
    assert play(_case(requests=(POST,), refused=())).agrees is None


def test_a_case_that_states_other_refusals_than_there_were_does_not_agree() -> None:
    played = play(_case(requests=(POST,), refused=(Refusal(request=1, status=400),)))
    assert played.agrees is False
    assert played.differences == ("refused: stated request 1 with 400, the server refused nothing",)


@pytest.mark.parametrize(
    ("fields", "sentences"),
    [
        ({"state": StatedState(outcome="pass")}, ()),
        ({"state": StatedState(outcome="pass"), "message": StatedMessage(outcome="pass")}, ()),
        ({"state": StatedState(outcome="pass"), "refused": ()}, ()),
        (
            {"state": StatedState(outcome="fail", labels=("PARTIAL",), notes=("UNDONE_WRITE",))},
            (
                "state: stated fail, judged pass",
                "labels: stated ['PARTIAL'], judged []",
                "notes: stated UNDONE_WRITE, judged ['NO_READBACK']",
            ),
        ),
        ({"message": StatedMessage(outcome="fail")}, ("message: stated fail, judged pass",)),
        (
            {"state": StatedState(outcome="pass"), "refused": (Refusal(request=1, status=400),)},
            ("refused: stated request 1 with 400, the server refused nothing",),
        ),
    ],
)
def test_where_it_disagrees_it_says_in_what(fields: dict[str, Any], sentences: tuple[str, ...]) -> None:
    played = play(_case(requests=(POST,), **fields))
    assert (played.agrees, played.differences) == (not sentences, sentences)


def test_a_refusal_is_counted_from_one() -> None:
    bad = {**POST, "body": order(subject={"reference": "Patient/p9"})}
    assert play(_case(requests=(POST, bad))).refused == (Refusal(request=2, status=400),)


def test_placeholders_stand_for_what_was_created_and_for_the_server() -> None:
    requests = (
        POST,
        {"method": "PUT", "path": "/MedicationRequest/$1", "body": order(id="$1", authoredOn="2026-01-14")},
        {"method": "PUT", "path": "/MedicationRequest/$1", "body": order(id="$1", note=[{"text": "at $base"}])},
    )
    played = play(_case(requests=requests))
    assert (played.refused, [v.outcome for v in played.verdicts]) == ((), ["pass", "pass"])


def test_a_placeholder_of_nothing_is_named() -> None:
    for request in (
        {"method": "DELETE", "path": "/MedicationRequest/$1", "body": None},
        {**POST, "body": order(id="$1")},
    ):
        first = {**POST, "body": order(subject={"reference": "Patient/p9"})}
        with pytest.raises(CaseError, match=r"case 'c': \$1 stands for what request 1 created, and it created noth"):
            play(_case(requests=(first, request)))


def test_an_answer_may_be_expected_and_given() -> None:
    expected = Answer(values=(AnswerValue(text="1.8"),))
    for given, outcome in ((["1.8"], "pass"), (["2"], "fail"), ([], "fail")):
        played = play(_case(expected=Expected(), expected_answer=expected, answer=tuple(given)))
        assert [(v.lens, v.outcome) for v in played.verdicts] == [
            ("state", "pass"), ("answer", outcome), ("message", "pass"),
        ]  # fmt: skip


@pytest.mark.parametrize(("digits", "outcome"), [("2.0000000000000000000000001", "pass"), ("2.50", "fail")])
def test_numbers_are_sent_and_kept_as_they_are_written(tmp_path: Path, digits: str, outcome: str) -> None:
    path = tmp_path / "cases.jsonl"
    line = _case(requests=(POST,)).model_dump_json(exclude_none=True)
    path.write_text(line.replace('"value":2,', f'"value":{digits},'), encoding="utf-8")
    state = play(next(read(path))).verdicts[0]
    assert state.outcome == outcome
    assert next(c.actual for c in state.clauses if c.name == "creates[0].dose") == f"{digits} g"


GOOD = {"id": "c", "clock": CLOCK, "expected": {}}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is no case: the line: it must be a JSON object"),
        ("5", "is no case: the line:"),
        (json.dumps({**GOOD, "id": {}}), "is no case: id:"),
        (json.dumps({k: v for k, v in GOOD.items() if k != "clock"}), "is no case: clock: Field required"),
        (json.dumps({**GOOD, "expected": {"creates": [{"type": "X", "clauses": [{"name": "n", "label": "l"}]}]}}),
         "is no case: expected.creates.0.clauses.0: clause 'n' needs exactly one of"),
        (json.dumps({**GOOD, "claim": "maybe"}), "is no case: claim:"),
        (json.dumps({**GOOD, "requests": [{"path": "/"}]}), "is no case: requests.0.method: Field required"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_case_is_named_with_its_number_and_fault(tmp_path: Path, line: str, sentence: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(GOOD) + "\n\n" + line + "\n", encoding="utf-8")
    found = read(path)
    assert next(found).id == "c"
    with pytest.raises(CaseError, match=r"cases\.jsonl, line 3 is n") as raised:
        next(found)
    assert sentence in str(raised.value)


def test_unknown_keys_and_empty_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text("\n" + json.dumps({**GOOD, "later": 1}) + "\n   \n", encoding="utf-8")
    assert [case.id for case in read(path)] == ["c"]


@pytest.mark.parametrize(
    "before", [[{"resourceType": "Patient"}], [{"id": "p1"}], [{"resourceType": "Drug", "id": "d"}], [{}]]
)
def test_a_record_that_cannot_be_built_is_said(before: list[Body]) -> None:
    with pytest.raises(CaseError, match=r"case 'c': its record cannot be built: "):
        play(_case(before=before))


def test_a_clock_that_is_none_is_said() -> None:
    with pytest.raises(CaseError):
        play(_case(clock="yesterday"))


def test_a_text_with_a_price_or_a_broken_letter_is_sent_as_it_is() -> None:
    note = [{"text": "costs $20, or $99; \ud800"}]
    played = play(_case(requests=({**POST, "body": order(note=note)},)))
    assert len(played.verdicts) == 2


def test_half_a_surrogate_pair_in_a_file_is_what_a_java_server_makes_of_it(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    body = order(note=[{"text": "a\ud800b"}])
    path.write_text(
        json.dumps({**GOOD, "id": "half \ud800", "patient": "\udfff", "requests": [{**POST, "body": body}]})
    )
    (case,) = read(path)
    assert (case.id, case.patient, case.requests[0].body["note"]) == ("half ?", "?", [{"text": "a?b"}])
    assert len(play(case).verdicts) == 2


def test_a_line_without_end_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(" " * 20_000_001 + "\n" + "x" * 20_000_001, encoding="utf-8")
    with pytest.raises(CaseError, match=r"line 2: longer than 20000000 characters"):
        next(read(path))
