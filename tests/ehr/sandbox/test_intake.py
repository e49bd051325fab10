# ruff: noqa: E501 - one case a line
"""What a HAPI server makes of a body, as measured on HAPI 8.8: refused, dropped, wrapped, mended, put into order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ehr.sandbox.body import compact, parse_object
from ehr.sandbox.definitions import fields, resource_types
from ehr.sandbox.intake.body import mend, receive
from ehr.sandbox.outcome import RefusedError

PARSE = "HAPI-0450: Failed to parse request body as JSON resource. Error was: "


def stored(type: str, elements: str) -> str:
    """The elements of a body after it was received, as JSON without blanks."""
    tree = receive(f'{{"resourceType":"{type}",{elements}}}'.encode(), type)
    tree.pop("resourceType")
    return compact(tree).decode()[1:-1]


KEPT = [
    ("Patient", '"active":true'),
    ("Patient", '"name":[{"id":"n1","family":"x"}]'),
    ("Patient", '"name":[{"family":"  x \\ud83d\\ude00\\ny "}]'),
    ("Patient", '"implicitRules":"http://r","language":"de-CH"'),
    ("Patient", '"birthDate":"2020-05"'),
    ("Patient", '"birthDate":"2020-05-01T10:00:00Z"'),
    ("Patient", '"birthDate":"1980-01-01","_birthDate":{"id":"b","extension":[{"url":"http://x","valueCode":"q"}]}'),
    ("Patient", '"_birthDate":{"extension":[{"url":"http://x","valueCode":"q"}]}'),
    ("Patient", '"contained":[{"resourceType":"Organization","id":"o","name":"n"}],"active":true'),
    ("Patient", '"modifierExtension":[{"url":"http://x","valueBoolean":true}]'),
    ("Patient", '"identifier":[{"system":" urn:x y ","value":"v"}]'),
    ("Observation", '"status":"final","effectiveDateTime":"2020-03-01T10:00:00+00:00"'),
    ("Observation", '"effectiveDateTime":"2020-01-01T10:00:00"'),
    ("Observation", '"effectiveDateTime":"2020-05-01T23:59:60Z"'),
    ("Observation", '"effectiveDateTime":"2020-05-01T10:00:00.1234567Z"'),
    ("Observation", '"effectiveDateTime":"2020-05-01T10:00Z"'),
    ("Observation", '"issued":"2020-05-01"'),
    ("Observation", '"valueTime":"abc"'),
    ("Observation", '"valueQuantity":{"value":1.00}'),
    ("Observation", '"valueQuantity":{"value":12345678901234567890.12345678901234567890}'),
    ("Observation", '"code":{"coding":[{"system":" http://x ","code":" a b "}]}'),
    ("Observation", '"valueInteger":-1'),
    ("Observation", '"_valueString":{"extension":[{"url":"http://x","valueString":"y"}]}'),
]

MENDED = [
    # dropped
    ("Patient", '"foo":1,"active":true', '"active":true'),
    ("Patient", '"fhir_comments":["c"],"active":true', '"active":true'),
    ("Patient", '"name":[{"family":"x","foo":{"a":[1]}}]', '"name":[{"family":"x"}]'),
    ("Patient", '"birthDate":null,"active":true', '"active":true'),
    ("Patient", '"birthDate":"","name":[{"family":"   "}],"active":true', '"active":true'),
    ("Patient", '"name":[{}],"contact":[{"name":{}}],"active":true', '"active":true'),
    ("Patient", '"name":[],"active":true', '"active":true'),
    ("Patient", '"name":"x","active":true', '"active":true'),
    ("Patient", '"birthDate":{"a":1},"active":true', '"active":true'),
    ("Patient", '"extension":[{"url":"http://x"}],"active":true', '"active":true'),
    ("Patient", '"extension":[{"url":"http://x","valueFoo":"a"}],"active":true', '"active":true'),
    ("Observation", '"status":"final","valueDecimal":1.5', '"status":"final"'),
    ("Observation", '"status":"final","value":{"unit":"x"},"valuestring":"z"', '"status":"final"'),
    ("Observation", '"status":" "', ""),
    # wrapped, unwrapped, flattened
    ("Patient", '"name":{"family":"x"}', '"name":[{"family":"x"}]'),
    ("Patient", '"name":[{"given":"a"}]', '"name":[{"given":["a"]}]'),
    ("Patient", '"birthDate":["1980-01-01","1981-01-01"]', '"birthDate":"1980-01-01"'),
    ("Patient", '"name":[{"given":[["a","b"],"c"]}]', '"name":[{"given":["a","b","c"]}]'),
    ("Patient", '"name":[{"given":["a",null,"c"]}]', '"name":[{"given":["a","c"]}]'),
    ("Patient", '"contained":{"resourceType":"Organization","id":"#o","name":"n"}', '"contained":[{"resourceType":"Organization","id":"o","name":"n"}]'),
    ("Observation", '"code":[{"text":"x"},{"text":"y"}]', '"code":{"text":"x"}'),
    # types
    ("Patient", '"active":"true"', '"active":true'),
    ("Patient", '"active":" true "', '"active":true'),
    ("Patient", '"name":[{"family":5}]', '"name":[{"family":"5"}]'),
    ("Patient", '"name":[{"family":1e2,"given":[1.50,-0,true]}]', '"name":[{"family":"100","given":["1.50","0","true"]}]'),
    ("Patient", '"photo":[{"data":"aG k=\\n"}]', '"photo":[{"data":"aGk="}]'),
    ("Observation", '"valueQuantity":{"value":"12"}', '"valueQuantity":{"value":12}'),
    ("Observation", '"valueQuantity":{"value":"1e3"}', '"valueQuantity":{"value":1e3}'),
    ("Observation", '"valueQuantity":{"value":1E2}', '"valueQuantity":{"value":100}'),
    ("Observation", '"valueQuantity":{"value":1E-10}', '"valueQuantity":{"value":0.0000000001}'),
    ("Observation", '"valueQuantity":{"value":-0.0}', '"valueQuantity":{"value":0.0}'),
    ("Observation", '"valueQuantity":{"value":".5"}', '"valueQuantity":{"value":0.5}'),
    ("Observation", '"valueInteger":1e3', '"valueInteger":1000'),
    ("Observation", '"valueInteger":""', ""),
    # the first of two values, the last in an extension, the last of a key twice
    ("Observation", '"valueString":"a","valueQuantity":{"value":3.1}', '"valueString":"a"'),
    ("Observation", '"valueQuantity":{"value":3.1},"valueString":"a"', '"valueQuantity":{"value":3.1}'),
    ("Patient", '"extension":[{"url":"http://x","valueString":"a","valueInteger":4}]', '"extension":[{"url":"http://x","valueInteger":4}]'),
    ("Patient", '"gender":"male","gender":"female"', '"gender":"female"'),
    # order
    ("Patient", '"name":[{"family":"f","id":"i"}],"text":{"div":"<div xmlns=\\"http://www.w3.org/1999/xhtml\\">x</div>","status":"generated"},"id":"p"', '"id":"p","text":{"status":"generated","div":"<div xmlns=\\"http://www.w3.org/1999/xhtml\\">x</div>"},"name":[{"id":"i","family":"f"}]'),
    ("Patient", '"_gender":{"id":"g"},"active":true,"gender":"male"', '"active":true,"gender":"male","_gender":{"id":"g"}'),
    # narrative
    ("Patient", '"text":{"status":"generated","div":"hello"}', '"text":{"status":"generated","div":"<div xmlns=\\"http://www.w3.org/1999/xhtml\\">hello</div>"}'),
    ("Patient", '"text":{"status":"generated","div":"<div>a<br/>&copy; &amp; d</div>"}', '"text":{"status":"generated","div":"<div xmlns=\\"http://www.w3.org/1999/xhtml\\">a<br/>© &amp; d</div>"}'),
    # inside others
    ("Bundle", '"type":"collection","entry":[{"resource":{"foo":1,"gender":"male","resourceType":"Patient"}}]', '"type":"collection","entry":[{"resource":{"resourceType":"Patient","gender":"male"}}]'),
    ("Patient", '"extension":[{"valueQuantity":{"unit":"g","value":1.0,"foo":3},"url":"http://x"}]', '"extension":[{"url":"http://x","valueQuantity":{"value":1.0,"unit":"g"}}]'),
]  # fmt: skip

REFUSED = [
    ("Patient", '"gender":"banana"', 'HAPI-1821: [element="gender"] Invalid attribute value "banana": Unknown AdministrativeGender code \'banana\''),
    ("Patient", '"gender":" male "', 'HAPI-1821: [element="gender"] Invalid attribute value " male ": Unknown AdministrativeGender code \' male \''),
    ("Patient", '"active":"yes"', 'HAPI-1821: [element="active"] Invalid attribute value "yes": Invalid boolean string: \'yes\''),
    ("Patient", '"active":1', 'HAPI-1821: [element="active"] Invalid attribute value "1": Invalid boolean string: \'1\''),
    ("Patient", '"birthDate":"1980-02-30"', 'HAPI-1821: [element="birthDate"] Invalid attribute value "1980-02-30": Invalid date/time format: "1980-02-30"'),
    ("Patient", '"birthDate":"2020/05/01"', 'HAPI-1821: [element="birthDate"] Invalid attribute value "2020/05/01": Invalid date/time format: "2020/05/01": Expected character \'-\' at index 4 but found /'),
    ("Observation", '"effectiveDateTime":"2020-05-01T10:00"', 'HAPI-1821: [element="effectiveDateTime"] Invalid attribute value "2020-05-01T10:00": Invalid date/time format: "2020-05-01T10:00"'),
    ("Observation", '"effectiveDateTime":"2020-05-01T10:00:00+0200"', 'HAPI-1821: [element="effectiveDateTime"] Invalid attribute value "2020-05-01T10:00:00+0200": Invalid date/time format: "2020-05-01T10:00:00+0200": Timezone offset must be in the form "Z", "-HH:mm", or "+HH:mm"'),
    ("Observation", '"effectiveDateTime":"2026-01-15T10:15 or so"', 'HAPI-1821: [element="effectiveDateTime"] Invalid attribute value "2026-01-15T10:15 or so": Invalid date/time format: "2026-01-15T10:15 or so": Expected character \':\' at index 16 but found  '),
    ("Observation", '"valueInteger":1.5', 'HAPI-1821: [element="valueInteger"] Invalid attribute value "1.5": java.lang.NumberFormatException: For input string: "1.5"'),
    ("Observation", '"valueInteger":99999999999', 'HAPI-1821: [element="valueInteger"] Invalid attribute value "99999999999": java.lang.NumberFormatException: For input string: "99999999999"'),
    ("Observation", '"valueQuantity":{"value":"5mg"}', 'HAPI-1821: [element="value"] Invalid attribute value "5mg": Character m is neither a decimal digit number, decimal point, nor "e" notation exponential mark.'),
    ("Patient", '"photo":[{"data":"@@@"}]', 'HAPI-1821: [element="data"] Invalid attribute value "@@@": '),
    ("Patient", '"meta":{"lastUpdated":"yesterday"}', 'HAPI-1821: [element="lastUpdated"] Invalid attribute value "yesterday": Invalid date/time format: "yesterday"'),
    ("Patient", '"extension":{"url":"http://x"}', "HAPI-1841: Syntax error parsing JSON FHIR structure: Expected ARRAY at element 'extension', found 'OBJECT'"),
    ("Patient", '"extension":[{"url":"http://x","valueString":"a","extension":[{"url":"y","valueCode":"z"}]}]', "HAPI-1811: Extension (URL='http://x') must not have both a value and other contained extensions"),
    ("Patient", '"contained":[{"resourceType":"Foo"}]', 'HAPI-1684: Unknown resource name "Foo" (this name is not known in FHIR version "R4")'),
    ("Patient", '"contained":[{"id":"o"}]', "HAPI-1843: Missing required element 'resourceType' from JSON resource object, unable to parse"),
    ("Patient", '"contained":[{"resourceType":"Patient","gender":"x"}]', 'HAPI-1821: [element="gender"] Invalid attribute value "x": Unknown AdministrativeGender code \'x\''),
]  # fmt: skip


@pytest.mark.parametrize(("type", "elements"), KEPT)
def test_what_is_well_formed_is_kept_as_it_was_sent(type: str, elements: str) -> None:
    assert "{" + stored(type, elements) + "}" == compact(parse_object("{" + elements + "}")).decode()


@pytest.mark.parametrize(("type", "elements", "wanted"), MENDED)
def test_what_is_careless_is_mended_in_silence(type: str, elements: str, wanted: str) -> None:
    assert stored(type, elements) == wanted


@pytest.mark.parametrize(("type", "elements", "wanted"), REFUSED)
def test_what_no_type_can_read_is_refused_in_the_words_of_hapi(type: str, elements: str, wanted: str) -> None:
    with pytest.raises(RefusedError) as refused:
        stored(type, elements)
    assert (refused.value.status, refused.value.diagnostics) == (400, PARSE + wanted)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b"", "HAPI-1861: Failed to parse JSON encoded FHIR content: HAPI-1857: Did not find any content to parse"),
        (b"<html>", "HAPI-1861: Failed to parse JSON encoded FHIR content: HAPI-1859: Content does not appear to be FHIR JSON, first non-whitespace character was: '<' (must be '{')"),
        (b'{"active":true}', "HAPI-1838: Invalid JSON content detected, missing required element: 'resourceType'"),
        (b'{"resourceType":"Observation"}', 'HAPI-1814: Incorrect resource type found, expected "Patient" but found "Observation"'),
        (b'{"resourceType":"Patient"} x', "HAPI-1861: Failed to parse JSON encoded FHIR content: Unrecognized token 'x': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')\n at [line: 1, column: 29]"),
    ],
)  # fmt: skip
def test_what_is_no_resource_is_refused(body: bytes, wanted: str) -> None:
    with pytest.raises(RefusedError) as refused:
        receive(body, "Patient")
    assert refused.value.diagnostics == PARSE + wanted


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe",
        b'{"resourceType":"Patient","birthDate":"\xff"}',
        b'{"resourceType":"Patient","multipleBirthInteger":NaN}',
        b'{"resourceType":"Patient",' + b'"name":[{"period":' * 40 + b"1",
        b'{"resourceType":"Patient","contact":' + b"[" * 100_000,
        b'{"resourceType":"Patient"' + b',"extension":[{"url":"x"' * 300 + b"}]" * 300 + b"}",
        b'{"resourceType":"Observation","valueQuantity":{"value":1e999999999}}',
        b'{"resourceType":"Observation","valueQuantity":{"value":' + b"9" * 5000 + b"}}",
        b'{"resourceType":"Patient","text":{"div":"<!DOCTYPE div [<!ENTITY a \\"b\\">]><div>&a;</div>"}}',
        b'{"resourceType":"Patient","text":{"div":"<div>a <b>unclosed</div>"}}',
        b'{"resourceType":"Patient","text":{"div":"<p>x</p>"}}',
    ],
)
def test_what_could_hurt_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        receive(body, "Observation" if b"Observation" in body else "Patient")
    assert refused.value.status == 400


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    assert stored("Patient", '"name":[{"family":"a\\ud800b"}]').encode() == b'"name":[{"family":"a?b"}]'


def test_a_contained_resource_without_an_id_gets_one_and_nested_ones_move_up() -> None:
    body = '"contained":[{"resourceType":"Organization","contained":[{"resourceType":"Organization","id":"p"}]}]'
    inner, outer = json.loads("{" + stored("Patient", body) + "}")["contained"]
    assert inner == {"resourceType": "Organization", "id": "p"}
    assert len(outer.pop("id")) == 36 and outer == {"resourceType": "Organization"}
    assert stored("Patient", body) == stored("Patient", body)


STRICT = [
    ('"foo":1', "HAPI-1825: Unknown element 'foo' found during parse"),
    ('"name":{"family":"x"}', "HAPI-1820: Found incorrect type for element name - Expected ARRAY and found OBJECT"),
    ('"name":"x"', "HAPI-1820: Found incorrect type for element name - Expected OBJECT and found SCALAR (STRING)"),
    ('"birthDate":["1980","1981"]', "HAPI-1823: Multiple repetitions of non-repeatable element 'birthDate' found during parse"),
    ('"deceasedBoolean":true,"deceasedDateTime":"2020"', "HAPI-1823: Multiple repetitions of non-repeatable element 'deceased' found during parse"),
]  # fmt: skip


@pytest.mark.parametrize(("elements", "wanted"), STRICT)
def test_read_strictly_what_would_be_mended_is_refused(elements: str, wanted: str) -> None:
    with pytest.raises(RefusedError) as refused:
        mend(parse_object(f'{{"resourceType":"Patient",{elements}}}'), "Patient", strict=True)
    assert refused.value.diagnostics == PARSE + wanted


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5) | st.sampled_from(["2020-01-01", "final"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "url", "value", "extension", "text", "_id"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data())
def test_a_mended_body_is_mended_no_further(data: st.DataObject) -> None:
    type = data.draw(st.sampled_from(["Patient", "Observation", "MedicationRequest", "Bundle", "Questionnaire"]))
    keys = st.sampled_from([*fields(type), *("_" + key for key in fields(type)), "foo"])
    tree = data.draw(st.dictionaries(keys, json_values, max_size=6))
    body = json.dumps({"resourceType": type} | {k: v for k, v in tree.items() if k != "resourceType"}).encode()
    try:
        once = receive(body, type)
    except RefusedError:
        return
    assert receive(compact(once), type) == once
    places = list(fields(type))
    order = [places.index(key.removeprefix("_")) for key in once if key != "resourceType"]
    assert order == sorted(order)


@pytest.mark.parametrize("type", resource_types())
def test_every_type_is_received_with_nothing_but_its_name(type: str) -> None:
    assert receive(f'{{"resourceType":"{type}"}}'.encode(), type) == {"resourceType": type}
