"""`readback verify`: write logs recorded elsewhere, judged and compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import validator_for

from readback.schemas import schema
from tests.readback.command import readback
from tests.support import ROOT

CASES = ROOT / "tests/ehr/verify/cases.jsonl"
PATIENT = {"resourceType": "Patient", "id": "p1", "telecom": [{"system": "phone", "value": "555"}]}
GET = {"method": "GET", "path": "/Patient/p1"}
CASE: dict[str, Any] = {
    "id": "phone",
    "clock": "2026-01-15T10:15:00+00:00",
    "patient": "Patient/p1",
    "before": [PATIENT],
    "expected": {
        "updates": [
            {
                "reference": "Patient/p1",
                "may_change": ["telecom"],
                "clauses": [{"name": "number", "label": "WRONG_VALUE", "fhirpath": "telecom.value = '777'"}],
            }
        ]
    },
    "requests": [
        {"method": "PUT", "path": "/Patient/p1", "body": {**PATIENT, "telecom": [{"system": "phone", "value": "777"}]}}
    ],
    "claim": "done",
}


def write(path: Path, *cases: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))
    return path


def test_a_case_is_played_and_judged_and_says_whether_it_agrees(tmp_path: Path) -> None:
    right = {**CASE, "id": "right", "state": {"outcome": "pass"}}
    wrong = {**CASE, "id": "wrong", "state": {"outcome": "fail", "labels": ["WRONG_VALUE"]}, "requests": []}
    ended = readback("verify", write(tmp_path / "cases.jsonl", CASE, right, wrong))
    assert ended.code == 1
    lines = ended.out.splitlines()
    assert lines[0].startswith("phone  states nothing  state pass")
    assert lines[1].startswith("right  agrees  state pass")
    assert lines[2].startswith("wrong  DISAGREES  state fail PHANTOM_SUCCESS")
    assert lines[3].startswith("    ")
    assert "PHANTOM_SUCCESS" in lines[3]
    assert ended.err == "3 cases: 1 agrees, 1 disagrees, 1 states no verdict\n"


def test_json_is_one_document(tmp_path: Path) -> None:
    ended = readback("verify", write(tmp_path / "cases.jsonl", {**CASE, "state": {"outcome": "pass"}}), "--json")
    assert ended.code == 0
    validator_for(schema("verification")).validate(ended.document)
    assert (ended.document["agree"], ended.document["disagree"], ended.document["unstated"]) == (1, 0, 0)
    (case,) = ended.document["cases"]
    assert (case["id"], case["agrees"], case["differences"], case["refused"]) == ("phone", True, [], [])
    assert [verdict["lens"] for verdict in case["verdicts"]] == ["state", "message"]
    assert ended.err == ""


def test_a_refused_request_is_told(tmp_path: Path) -> None:
    case = {**CASE, "requests": [{"method": "DELETE", "path": "/Nonsense/1"}]}
    document = readback("verify", write(tmp_path / "cases.jsonl", case), "--json").document
    assert [refused["request"] for refused in document["cases"][0]["refused"]] == [1]


def test_a_case_that_does_not_agree_says_why(tmp_path: Path) -> None:
    stated = {**CASE, "state": {"outcome": "pass"}}
    other = {**PATIENT, "telecom": [{"system": "phone", "value": "778"}]}
    wrong = {**stated, "requests": [{"method": "PUT", "path": "/Patient/p1", "body": other}]}
    refused = {**stated, "requests": [{"method": "DELETE", "path": "/Nonsense/1"}]}
    update = {**CASE["expected"]["updates"][0], "clauses": [{"name": "n", "label": "WRONG_VALUE", "fhirpath": "="}]}
    unscored = {**CASE, "expected": {"updates": [update]}}
    ended = readback("verify", write(tmp_path / "cases.jsonl", wrong, refused, unscored))
    assert ended.code == 3
    assert "    updates[0].number: expected telecom.value = '777', found false" in ended.out, ended.out
    assert "    request 1 was refused with 404: HAPI-0302: Unknown resource type 'Nonsense'" in ended.out
    assert "    state is unscored: " in ended.out


def test_what_nobody_can_judge_ends_in_3_unless_the_case_says_so(tmp_path: Path) -> None:
    update = {**CASE["expected"]["updates"][0], "clauses": [{"name": "n", "label": "WRONG_VALUE", "fhirpath": "= ="}]}
    unscored = {**CASE, "expected": {"updates": [update]}}
    foreseen = {**unscored, "state": {"outcome": "unscored"}, "message": {"outcome": None}}
    wrong = {**CASE, "state": {"outcome": "fail", "labels": ["PARTIAL"]}}
    assert readback("verify", write(tmp_path / "cases.jsonl", CASE, foreseen)).code == 0
    ended = readback("verify", write(tmp_path / "cases.jsonl", CASE, unscored, foreseen))
    assert ended.code == 3
    assert "phone  states nothing  state unscored" in ended.out
    assert readback("verify", write(tmp_path / "cases.jsonl", unscored, wrong)).code == 3, "3 comes before 1"


def test_a_misspelled_key_is_told_and_others_are_passed_over(tmp_path: Path) -> None:
    case = {"expcted" if key == "expected" else key: value for key, value in CASE.items()} | {"rules": [7]}
    ended = readback("verify", write(tmp_path / "cases.jsonl", case))
    assert ended.code == 0
    (warning, _) = ended.err.splitlines()
    assert warning.endswith("cases.jsonl, line 1: a case has no 'expcted'; did you mean 'expected'?")


def test_the_projects_own_cases_all_agree() -> None:
    ended = readback("verify", CASES)
    assert ended.code == 0
    assert "0 disagree" in ended.err


def test_a_case_written_by_the_schema_is_a_case(tmp_path: Path) -> None:
    validator_for(schema("case")).validate(CASE)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "holds no case; write one JSON object a line"),
        ("\n\n", "holds no case"),
        ("{", "line 1 is not JSON"),
        ("[]", "line 1 is no case"),
        (json.dumps(CASE)[:-20], "line 1 is not JSON"),
        (json.dumps(CASE) + "\n\n" + '{"id": "x"}', "line 3 is no case: clock"),
        (json.dumps({**CASE, "claim": "perhaps"}), "line 1 is no case: claim"),
        (json.dumps({**CASE, "clock": "yesterday"}), "yesterday"),
        (json.dumps({**CASE, "before": [{"resourceType": "Patient"}]}), "case 'phone': its record cannot be built"),
        (json.dumps({**CASE, "requests": [GET, {**GET, "path": "/Patient/$1"}]}), "$1 stands for what request 1"),
    ],
)
def test_what_is_no_case_is_named(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(text)
    ended = readback("verify", path)
    assert ended.code == 2
    assert sentence in ended.sentence


@pytest.mark.parametrize("name", ["none.jsonl", "."])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    ended = readback("verify", tmp_path / name)
    assert ended.code == 2
    assert ended.sentence.startswith(repr(str(tmp_path / name)) + " is no file; name a file of cases")


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    ended = readback("verify", path)
    assert ended.code == 2
    assert str(path) in ended.sentence
