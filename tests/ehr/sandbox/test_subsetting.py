"""`_elements`, `_summary` and `$lastn`, as HAPI answers (but for `$lastn`, which there passes over its filters)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ehr.sandbox.overlay import Overlay
from ehr.sandbox.searching.latest import lastn
from ehr.sandbox.searching.search import SearchError
from ehr.sandbox.searching.subsetting import SUBSETTED, subsetted
from tests.ehr.sandbox.test_search import both

EXTENSION = [{"url": "http://e", "valueString": "x"}]
PATIENT: dict[str, Any] = {
    "resourceType": "Patient",
    "id": "el",
    "meta": {"versionId": "1", "tag": [{"system": "t", "code": "c"}]},
    "implicitRules": "http://r",
    "language": "en",
    "text": {"status": "generated", "div": "<div>x</div>"},
    "contained": [{"resourceType": "Organization", "id": "c1", "name": "N"}],
    "extension": EXTENSION,
    "modifierExtension": EXTENSION,
    "identifier": [{"system": "s", "value": "el", "extension": EXTENSION}],
    "name": [{"family": "F", "given": ["G"], "_family": {"extension": EXTENSION}}],
    "birthDate": "2000-01-01",
    "_birthDate": {"extension": EXTENSION},
    "maritalStatus": {"text": "m"},
    "contact": [{"name": {"family": "C"}, "gender": "male"}],
    "link": [{"other": {"reference": "Patient/pa"}, "type": "seealso"}],
}
OBSERVATION: dict[str, Any] = {
    "resourceType": "Observation",
    "id": "eo",
    "text": {"status": "generated", "div": "<div>x</div>"},
    "status": "final",
    "category": [{"text": "c"}],
    "code": {"coding": [{"system": "s", "code": "c"}], "text": "t"},
    "valueQuantity": {"value": 1, "unit": "u"},
    "note": [{"text": "n"}],
    "component": [{"code": {"text": "k"}, "valueString": "s", "interpretation": [{"text": "i"}]}],
}


def keys(tree: dict[str, Any]) -> str:
    return " ".join(key for key in tree if key not in ("resourceType", "id", "meta"))


@pytest.mark.parametrize(
    ("elements", "expected"),
    [
        ("name", "name"),
        ("name,birthDate", "name birthDate _birthDate"),
        ("Patient.name", "name"),
        ("nope", ""),
        ("id", ""),
        ("extension", "extension modifierExtension"),
        ("Patient.name,Observation.code", "name"),
    ],
)
def test_elements_of_a_resource(elements: str, expected: str):
    part = subsetted(PATIENT, elements=[elements])
    assert keys(part) == expected
    assert list(part)[:3] == ["resourceType", "id", "meta"]
    assert part["meta"] == {"versionId": "1", "tag": [{"system": "t", "code": "c"}, SUBSETTED]}
    assert PATIENT["meta"]["tag"] == [{"system": "t", "code": "c"}], "what was given is left alone"


def test_elements_at_a_depth_and_choices():
    assert subsetted(PATIENT, elements=["name.family"])["name"] == [
        {"family": "F", "_family": {"extension": EXTENSION}}
    ]
    assert subsetted(PATIENT, elements=["Patient.contact.name", "gender"])["contact"] == [{"name": {"family": "C"}}]
    for asked in ("value", "valueQuantity"):
        assert keys(subsetted(OBSERVATION, elements=[asked])) == "valueQuantity"
    assert subsetted(OBSERVATION, elements=["code.coding.code"])["code"] == {"coding": [{"code": "c"}]}
    assert subsetted(OBSERVATION, elements=["component", "component.code"])["component"] == OBSERVATION["component"]


def test_what_is_sent_along_is_cut_by_its_own_type_only():
    assert subsetted(PATIENT, elements=["Observation.code"]) is PATIENT
    assert subsetted(PATIENT, elements=["name"], matched=False) is PATIENT
    assert keys(subsetted(PATIENT, elements=["status,Patient.name"], matched=False)) == "name"
    assert subsetted(PATIENT, elements=[""]) is PATIENT


def test_a_summary_keeps_what_is_marked_as_summary_at_every_depth():
    part = subsetted(PATIENT, summary="true")
    assert keys(part) == "implicitRules identifier name birthDate link"
    assert part["identifier"] == [{"system": "s", "value": "el"}]
    assert part["name"] == [{"family": "F", "given": ["G"]}]
    part = subsetted(OBSERVATION, summary="true")
    assert keys(part) == "status code valueQuantity component"
    assert part["component"] == [{"code": {"text": "k"}, "valueString": "s"}]


def test_text_has_what_is_required_beside_it_and_data_all_but_it():
    assert keys(subsetted(PATIENT, summary="text")) == "text"
    assert keys(subsetted(OBSERVATION, summary="text")) == "text status code"
    data = subsetted(PATIENT, summary="data")
    assert keys(data) == keys({key: value for key, value in PATIENT.items() if key != "text"})
    assert data["contained"] == [
        {"resourceType": "Organization", "id": "c1", "meta": {"tag": [SUBSETTED]}, "name": "N"}
    ]


@pytest.mark.parametrize("summary", ["", "false", "count", "xx"])
def test_other_summaries_change_nothing(summary: str):
    assert subsetted(PATIENT, summary=summary) is PATIENT


def test_a_cut_resource_is_marked_once():
    twice = subsetted(subsetted(PATIENT, elements=["name"]), elements=["name"])
    assert twice["meta"]["tag"].count(SUBSETTED) == 1


# ---- $lastn


def observation(id: str, patient: str, date: str | None, *codes: str, text: str | None = None) -> dict[str, Any]:
    concept: dict[str, Any] = {"coding": [{"system": "s", "code": code} for code in codes]} if codes else {}
    if text:
        concept["text"] = text
    made = {"resourceType": "Observation", "id": id, "code": concept, "subject": {"reference": f"Patient/{patient}"}}
    return {**made, "effectiveDateTime": date} if date else made


MEASURED = [
    observation("a1", "p", "2020-01-01", "a"),
    observation("a2", "p", "2020-01-03", "a"),
    observation("a3", "p", "2020-01-02", "a", "b"),
    observation("b1", "p", "2019-01-01", "b"),
    observation("c1", "p", None, "c"),
    observation("t1", "p", "2018-01-01", text="Weight"),
    observation("t2", "p", "2018-01-02", text="weight"),
    observation("x1", "other", "2021-01-01", "a"),
]


def test_the_latest_of_each_code_of_one_patient():
    for overlay in both(MEASURED):
        names = [id for _, id in lastn(overlay, [("patient", "p")])]
        assert names == ["a2", "a3", "t2", "c1"]
        assert [id for _, id in lastn(overlay, [("patient", "p")], 2)] == ["a2", "a3", "b1", "t2", "t1", "c1"]
        assert [id for _, id in lastn(overlay, [("subject", "other")])] == ["x1"]
        assert [id for _, id in lastn(overlay, [("patient", "p"), ("code", "a")])] == ["a2", "a3"]
        assert lastn(overlay, [("patient", "nobody")]) == []
        with pytest.raises(SearchError):
            lastn(overlay, [("nope", "1")])


def test_the_latest_may_be_a_write():
    overlay: Overlay = both(MEASURED)[0]
    overlay.put("Observation", "new", json.dumps(observation("new", "p", "2022", "a")).encode())
    assert [id for _, id in lastn(overlay, [("patient", "p"), ("code", "a")])] == ["new", "a3"]
