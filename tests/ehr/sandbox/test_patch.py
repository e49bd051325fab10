# ruff: noqa: E501 - one case a line
"""JSON Patch on a fork: what is changed, and what is refused in which words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ehr.sandbox.body import compact, parse_object, tree_of
from ehr.sandbox.outcome import RefusedError
from ehr.sandbox.record import Record
from ehr.sandbox.writing.patch import json_patch
from tests.ehr.sandbox.talk import ADA, CLOCK, WARD, Talk


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    with Record.build(WARD, clock=CLOCK, synthetic=True) as record:
        yield record


@pytest.fixture
def talk(record: Record) -> Talk:
    return Talk(record.fork())


def patched(*operations: Any, of: Any = ADA) -> Any:
    apply = json_patch(json.dumps(operations).encode())
    return json.loads(compact(apply(tree_of(of))))


DONE = [
    ({"op": "add", "path": "/active", "value": True}, {"active": True}),
    ({"op": "replace", "path": "/telecom/0/value", "value": "555"}, {"telecom": [{"system": "phone", "value": "555"}]}),
    (
        {"op": "add", "path": "/telecom/-", "value": {"value": "2"}},
        {"telecom": [{"system": "phone", "value": "555-0101"}, {"value": "2"}]},
    ),
    (
        {"op": "add", "path": "/telecom/0", "value": {"value": "2"}},
        {"telecom": [{"value": "2"}, {"system": "phone", "value": "555-0101"}]},
    ),
    ({"op": "remove", "path": "/telecom/0/system"}, {"telecom": [{"value": "555-0101"}]}),
    (
        {"op": "copy", "from": "/name/0/family", "path": "/name/0/text"},
        {"name": [{"text": "Okafor", "family": "Okafor", "given": ["Ada"]}]},
    ),
    (
        {"op": "move", "from": "/name/0/family", "path": "/name/0/text"},
        {"name": [{"text": "Okafor", "given": ["Ada"]}]},
    ),
    ({"op": "test", "path": "/name/0/family", "value": "Okafor"}, {}),
    ({"op": "add", "path": "/birthDate", "value": 1980}, {"birthDate": "1980"}),
    ({"op": "add", "path": "/birthDate", "value": None}, {}),
    ({"op": "add", "path": "/active", "value": True, "more": 1}, {"active": True}),
]


@pytest.mark.parametrize(("operation", "changed"), DONE)
def test_an_operation_changes_what_it_names(operation: Any, changed: Any) -> None:
    assert patched(operation) == ADA | changed


def test_operations_follow_each_other_and_escapes_are_read() -> None:
    extension = [{"url": "http://x", "valueString": "a"}]
    assert patched(
        {"op": "add", "path": "/extension", "value": extension},
        {"op": "replace", "path": "/extension/0/valueString", "value": "b~1"},
        {"op": "test", "path": "/extension/0/valueString", "value": "b~1"},
    )["extension"] == [{"url": "http://x", "valueString": "b~1"}]


REFUSED = [
    ({"op": "test", "path": "/active", "value": True}, "HAPI-1272: no such path in target JSON document"),
    ({"op": "test", "path": "/name/0/family", "value": "x"}, "HAPI-1272: value differs from expectations"),
    ({"op": "remove", "path": "/foo"}, "HAPI-1272: no such path in target JSON document"),
    ({"op": "replace", "path": "/gender", "value": "male"}, "HAPI-1272: no such path in target JSON document"),
    ({"op": "replace", "path": "/name/-", "value": {}}, "HAPI-1272: no such path in target JSON document"),
    ({"op": "move", "from": "/foo", "path": "/bar"}, "HAPI-1272: no such path in target JSON document"),
    ({"op": "add", "path": "/address/-", "value": {}}, "HAPI-1272: parent of node to add does not exist"),
    ({"op": "add", "path": "/name/5", "value": {}}, "HAPI-1272: no such index in target array"),
    (
        {"op": "add", "path": "/name/0/family/x", "value": 1},
        "HAPI-1272: parent of path to add to is not a container",
    ),
    ({"op": "add", "path": "active", "value": 1}, "HAPI-1272: illegal pointer: expected a slash to separate tokens (operation 0)"),
    ({"path": "/active", "value": 1}, "HAPI-1272: missing type id property 'op' (operation 0)"),
    (
        {"op": "add", "path": "/foo", "value": 1},
        "HAPI-1271: Failed to apply JSON patch to Patient/ada: HAPI-1825: Unknown element 'foo' found during parse",
    ),
    (
        {"op": "add", "path": "/gender", "value": "banana"},
        'HAPI-1271: Failed to apply JSON patch to Patient/ada: HAPI-1821: [element="gender"] '
        "Invalid attribute value \"banana\": Unknown AdministrativeGender code 'banana'",
    ),
    (
        {"op": "replace", "path": "", "value": {"resourceType": "Observation"}},
        "HAPI-1271: Failed to apply JSON patch to Patient/ada: HAPI-1814: Incorrect resource type found, "
        'expected "Patient" but found "Observation"',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "wanted"), REFUSED)
def test_what_cannot_be_done_is_refused(operation: Any, wanted: str) -> None:
    with pytest.raises(RefusedError) as refused:
        patched(operation)
    assert (refused.value.status, refused.value.diagnostics) == (400, wanted)


@pytest.mark.parametrize("body", [b"", b"xx", b'{"op":"add"}', b"[5]", b"[" * 50_000, b'[{"op":"x","path":""}]'])
def test_what_is_no_patch_is_refused(talk: Talk, body: bytes) -> None:
    said = talk.patch("/Patient/ada", body)
    assert said.status == 400 and said.diagnostics.startswith("HAPI-1272: ")
    assert talk.fork.changes() == []


def test_copies_of_copies_are_bounded() -> None:
    double = {"op": "copy", "from": "/name", "path": "/name/0/extension"}
    with pytest.raises(RefusedError, match=r"too large|HAPI"):
        patched(*[double] * 40)
    inward = {"op": "copy", "from": "/name/0", "path": "/name/0/extension/-"}
    with pytest.raises(RefusedError, match="too large"):
        patched({"op": "add", "path": "/name/0/extension", "value": []}, *[inward] * 40)


def test_a_patch_is_whole_or_nothing(talk: Talk) -> None:
    said = talk.patch(
        "/Patient/ada",
        [{"op": "remove", "path": "/telecom"}, {"op": "test", "path": "/name/0/family", "value": "nobody"}],
    )
    assert said.status == 400
    assert talk.fork.changes() == []


def test_decimals_that_are_not_named_keep_their_digits(talk: Talk) -> None:
    said = talk.patch("/Observation/k1", [{"op": "add", "path": "/note", "value": [{"text": "x"}]}])
    assert said.status == 200 and b'"value": 4.10,' in said.raw


def test_id_and_version_cannot_be_patched(talk: Talk) -> None:
    for path in ("/id", "/meta/versionId"):
        said = talk.patch("/Patient/ada", [{"op": "replace", "path": path, "value": "x"}])
        assert (said.status, said.body["id"], said.body["meta"]["versionId"]) == (200, "ada", "1")


def test_a_reference_is_checked(talk: Talk) -> None:
    said = talk.patch("/Observation/k1", [{"op": "replace", "path": "/subject/reference", "value": "Patient/none"}])
    assert said.diagnostics == "HAPI-1094: Resource Patient/none not found, specified in path: Observation.subject"


def test_what_is_not_there_cannot_be_patched(talk: Talk) -> None:
    operations = [{"op": "add", "path": "/active", "value": True}]
    assert talk.patch("/Patient/none", operations).status == 404
    talk.delete("/Patient/ben")
    assert talk.patch("/Patient/ben", operations).status == 410


tokens = st.sampled_from(["", "name", "0", "1", "-", "given", "family", "telecom", "x", "~", "00"])
pointers = st.lists(tokens, max_size=4).map(lambda parts: "".join("/" + part for part in parts))
values = st.sampled_from([None, True, "x", 5, [], {}, {"family": "y"}, [{"given": ["z"]}]])


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": pointers},
            optional={"value": values, "from": pointers},
        ),
        max_size=5,
    )
)
def test_any_patch_gives_a_resource_or_a_refusal_and_leaves_its_source_alone(operations: list[Any]) -> None:
    source = tree_of(ADA)
    before = compact(source)
    try:
        result = json_patch(json.dumps(operations).encode())(source)
    except RefusedError as refused:
        assert refused.status == 400
    else:
        assert parse_object(compact(result))["resourceType"] == "Patient"
    assert compact(source) == before
