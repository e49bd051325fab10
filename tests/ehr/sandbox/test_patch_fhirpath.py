"""FHIRPath Patch: what each operation does, and what is refused in HAPI's words (measured on HAPI 8.8)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ehr.sandbox.body import compact, tree_of
from ehr.sandbox.outcome import RefusedError
from ehr.sandbox.writing.patch_fhirpath import fhirpath_patch
from ehr.sandbox.writing.places import PathError, find

PATIENT: dict[str, Any] = {
    "resourceType": "Patient",
    "active": True,
    "name": [{"family": "a"}, {"family": "b", "given": ["g"]}],
    "telecom": [{"system": "phone", "value": "1", "use": "home"}, {"system": "phone", "value": "2", "use": "work"}],
    "birthDate": "1980-01-01",
}


def operation(**parts: Any) -> dict[str, Any]:
    keys = {
        "type": "valueCode",
        "path": "valueString",
        "name": "valueString",
        "index": "valueInteger",
        "source": "valueInteger",
        "destination": "valueInteger",
    }
    return {
        "name": "operation",
        "part": [{"name": n, **(v if n == "value" else {keys[n]: v})} for n, v in parts.items()],
    }


def patched(*operations: Any) -> Any:
    apply = fhirpath_patch(tree_of({"resourceType": "Parameters", "parameter": list(operations)}))
    return json.loads(compact(apply(tree_of(PATIENT))))


def changed(**elements: Any) -> Any:
    return {key: value for key, value in (PATIENT | elements).items() if value is not None}


HUMAN = {"valueHumanName": {"family": "c"}}
A, B, C = {"family": "a"}, {"family": "b", "given": ["g"]}, {"family": "c"}
DONE = [
    (operation(type="delete", path="Patient.birthDate"), changed(birthDate=None)),
    (operation(type="delete", path="Patient.gender"), PATIENT),
    (operation(type="delete", path="Patient.name.where(family = 'b')"), changed(name=[A])),
    (operation(type="delete", path="Patient.name[1].given[0]"), changed(name=[A, {"family": "b"}])),
    (operation(type="replace", path="Patient.name[0].family", value={"valueString": "c"}), changed(name=[C, B])),
    (operation(type="replace", path="Patient.name.first()", value=HUMAN), changed(name=[C, B])),
    (
        operation(type="replace", path="Patient.birthDate", value={"valueString": "1999-01-01"}),
        changed(birthDate="1999-01-01"),
    ),
    (
        operation(
            type="replace",
            path="Patient.telecom.where(system = 'phone' and use = 'work').value",
            value={"valueString": "9"},
        ),
        changed(telecom=[PATIENT["telecom"][0], PATIENT["telecom"][1] | {"value": "9"}]),
    ),
    (operation(type="add", path="Patient", name="name", value=HUMAN), changed(name=[A, B, C])),
    (operation(type="add", path="Patient", name="gender", value={"valueCode": "male"}), changed(gender="male")),
    (operation(type="add", path="Patient", name="birthDate", value={"valueDate": "2001"}), changed(birthDate="2001")),
    (
        operation(type="add", path="Patient", name="deceased", value={"valueBoolean": True}),
        changed(deceasedBoolean=True),
    ),
    (
        operation(type="add", path="Patient", name="deceasedDateTime", value={"valueDateTime": "2020"}),
        changed(deceasedDateTime="2020"),
    ),
    (
        operation(type="add", path="Patient.name", name="given", value={"valueString": "z"}),
        changed(name=[{"family": "a", "given": ["z"]}, {"family": "b", "given": ["g", "z"]}]),
    ),
    (operation(type="insert", path="Patient.name", index=1, value=HUMAN), changed(name=[A, C, B])),
    (operation(type="move", path="Patient.name", source=1, destination=0), changed(name=[B, A])),
    (operation(type="move", path="Patient.active", source=0, destination=0), PATIENT),
    (operation(type="insert", path="Patient.active", index=0, value={"valueBoolean": False}), PATIENT),
    (operation(type="insert", path="Patient.active", index=1, value={"valueBoolean": False}), changed(active=False)),
    (operation(type="delete", path="birthDate"), changed(birthDate=None)),
    (operation(type="delete", path="Observation.status"), PATIENT),
    (
        operation(type="replace", path="Patient.name[1]", value={"part": [{"name": "family", "valueString": "c"}]}),
        changed(name=[A, {"family": "c", "given": ["g"]}]),
    ),
    (operation(type="add", path="Patient", name="gender", value={"valueString": "male"}), changed(gender="male")),
    (
        operation(
            type="add", path="Patient", name="extension", value={"valueExtension": {"url": "u", "valueCode": "c"}}
        ),
        changed(extension=[{"url": "u", "valueCode": "c"}]),
    ),
    (
        {
            "name": "operation",
            "part": [
                {"name": "type", "valueCode": "add"},
                {"name": "path", "valueString": "Patient"},
                {"name": "name", "valueString": "contact"},
                {
                    "name": "value",
                    "part": [
                        {"name": "gender", "valueCode": "male"},
                        {"name": "name", "valueHumanName": {"family": "k"}},
                    ],
                },
            ],
        },
        changed(contact=[{"name": {"family": "k"}, "gender": "male"}]),
    ),
]


@pytest.mark.parametrize(("given", "wanted"), DONE)
def test_an_operation_does_what_it_says(given: Any, wanted: Any) -> None:
    assert patched(given) == wanted


def test_operations_follow_each_other() -> None:
    assert patched(
        operation(type="delete", path="Patient.birthDate"),
        operation(type="add", path="Patient", name="birthDate", value={"valueDate": "2001"}),
    ) == changed(birthDate="2001")


REFUSED = [
    (
        operation(type="delete", path="Patient.name"),
        "HAPI-1267: [Multiple elements found at Patient.name when deleting]",
    ),
    (
        operation(type="replace", path="Patient.name", value=HUMAN),
        "HAPI-2704:  FhirPath returns more than 1 element: Patient.name",
    ),
    (
        operation(type="replace", path="Patient.gender", value={"valueCode": "male"}),
        "HAPI-2761: No element matches the specified path: Patient.gender",
    ),
    (
        operation(type="replace", path="Patient.birthDate", value={"valueBoolean": True}),
        'Invalid date/time format: "true"',
    ),
    (
        operation(type="replace", path="Patient.birthDate"),
        "HAPI-1267: [ No valid replacement value for patch operation.]",
    ),
    (
        operation(type="replace", path="birthDate", value={"valueDate": "2001"}),
        "HAPI-2719:  No runtime definition found for patch operation.",
    ),
    (
        operation(type="replace", path="Patient.name[[", value=HUMAN),
        "HAPI-2726:  Patient.name[[ is not a valid fhir path",
    ),
    (
        operation(type="replace", path="Patient.nope()", value=HUMAN),
        "HAPI-2726:  Patient.nope() is not a valid fhir path",
    ),
    (operation(type="replace", value=HUMAN), "HAPI-2726:   is not a valid fhir path"),
    (
        operation(type="add", path="Patient.contact", name="gender", value={"valueCode": "male"}),
        "HAPI-1267: [No content found at Patient.contact when adding]",
    ),
    (
        operation(type="add", path="Patient", name="gender", value={"valueCode": "banana"}),
        "Unknown AdministrativeGender code 'banana'",
    ),
    (
        operation(type="insert", path="Patient.name", index=9, value=HUMAN),
        "HAPI-1267: [Invalid insert index 9 for path Patient.name - Only have 2 existing entries]",
    ),
    (
        operation(type="move", path="Patient.name", source=7, destination=0),
        "HAPI-1268: Invalid move source index 7 for path Patient.name - Only have 2 existing entries",
    ),
    (
        operation(type="move", path="Patient.name", source=0, destination=7),
        "HAPI-1269: Invalid move destination index 7 for path Patient.name - Only have 1 existing entries",
    ),
    (operation(type="insert", path="Patient.name", value=HUMAN), "No index supplied for insert operation"),
    (operation(type="move", path="Patient.name", source=0), "No index supplied for move operation"),
    (
        operation(type="insert", path="Patient", index=0, value=HUMAN),
        "HAPI-1267: [Invalid path for insert operation (must point to a repeatable element): Patient]",
    ),
    (operation(type="delete", path="Patient"), "HAPI-1267: [Patient is the resource itself]"),
    (
        operation(type="replace", path="Patient", value=HUMAN),
        "HAPI-2719:  No runtime definition found for patch operation.",
    ),
    (
        operation(type="replace", path="Observation.status", value={"valueCode": "final"}),
        "HAPI-2761: No element matches the specified path: Observation.status",
    ),
    # A value of another type is refused. If it were only dropped, what stood there would be gone with a 200.
    *(
        (
            operation(type="replace", path=path, value=value),
            "HAPI-2719:  No runtime definition found for patch operation.",
        )
        for path, value in [
            ("Patient.name[0]", {"valueString": "c"}),
            ("Patient.name[0]", {"valueIdentifier": {"value": "c"}}),
            ("Patient.birthDate", HUMAN),
        ]
    ),
    (
        operation(type="add", path="Patient", name="name", value={"valueString": "c"}),
        "HAPI-1831: name has type string but this is not a valid type for this element",
    ),
    (
        operation(type="insert", path="Patient.name", index=0, value={"valueIdentifier": {"value": "c"}}),
        "HAPI-1831: name has type Identifier but this is not a valid type for this element",
    ),
    (
        operation(type="add", path="Patient", name="active", value=HUMAN),
        "HAPI-1831: active has type HumanName but this is not a valid type for this element",
    ),
    (
        operation(type="add", path="Patient", name="deceased", value={"valueString": "true"}),
        "HAPI-1831: deceased has type string but this is not a valid type for this element"
        " - Expected one of: [boolean, dateTime]",
    ),
    ({"name": "operation"}, "HAPI-1267: [Unknown patch operation type: ]"),
    (operation(type="foo", path="Patient"), "HAPI-1267: [Unknown patch operation type: foo]"),
    ({"name": "foo", "valueString": "x"}, "HAPI-1267: [Unknown patch parameter name: foo]"),
]


@pytest.mark.parametrize(("given", "wanted"), REFUSED)
def test_what_cannot_be_done_is_refused(given: Any, wanted: str) -> None:
    with pytest.raises(RefusedError) as refused:
        patched(given)
    assert (refused.value.status, refused.value.diagnostics) == (400, wanted)


PATHS = [
    ("Patient", [PATIENT]),
    ("Patient.telecom.value", ["1", "2"]),
    ("Patient.telecom.where(use = 'work' or value = '1').value", ["1", "2"]),
    ("Patient.telecom.where(use != 'work').value", ["1"]),
    ("Patient.telecom.where(period.exists()).value", []),
    ("Patient.telecom.where(period.empty() and (use = 'home')).value", ["1"]),
    ("Patient.name.where(given.exists().not()).family", ["a"]),
    ("Patient.name.last().given[0]", ["g"]),
    ("Patient.name.given.where($this = 'g')", ["g"]),
    ("Patient.active.ofType(boolean)", [True]),
    ("Patient.nothing.at.all", []),
]


@pytest.mark.parametrize(("path", "wanted"), PATHS)
def test_a_path_names_its_places(path: str, wanted: Any) -> None:
    assert [place.value for place in find(path, tree_of(PATIENT))] == wanted


@pytest.mark.parametrize(
    "path",
    [
        "",
        "name",
        "Patient.",
        "Patient.name.where(",
        "Patient.name.where(family = = 'a')",
        "Patient.name.where(family = 'a'",
        "Patient.name | Patient.telecom",
        "Patient.name.trace('x')",
        "Patient.name.where(now())",
        "Patient.name;",
        "Patient" + ".name.where(" * 300,
    ],
)
def test_what_is_not_understood_is_refused_and_never_guessed(path: str) -> None:
    with pytest.raises(PathError):
        find(path, tree_of(PATIENT))


def test_a_choice_keeps_its_type_or_takes_another_primitive_one() -> None:
    def replaced(value: Any) -> Any:
        patch = operation(type="replace", path="Observation.value", value=value)
        apply = fhirpath_patch(tree_of({"resourceType": "Parameters", "parameter": [patch]}))
        body = {"resourceType": "Observation", "valueQuantity": {"value": 5, "unit": "mg"}}
        return json.loads(compact(apply(tree_of(body))))

    assert replaced({"valueQuantity": {"value": 7}})["valueQuantity"] == {"value": 7}
    for other in ({"valueString": "7 mg"}, {"valuePeriod": {"start": "2020"}}):
        with pytest.raises(RefusedError, match="HAPI-2719"):
            replaced(other)
    assert patched(
        operation(type="add", path="Patient", name="deceased", value={"valueBoolean": True}),
        operation(type="replace", path="Patient.deceased", value={"valueDateTime": "2020"}),
    ) == changed(deceasedDateTime="2020")
