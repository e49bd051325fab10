"""A clinical claim is marked in the answer, and in the resource of the call that supports it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.trace import Call
from readback.report.allowance import Allowance
from readback.report.found import take_found
from readback.report.marks import Entity, Piece
from tests.readback import page
from tests.readback.command import readback


def weight(key: str, value: float, **more: Any) -> dict[str, Any]:
    quantity = {"value": value, "unit": "kg"}
    return {
        "resourceType": "Observation", "id": key, "meta": {"versionId": "1"}, "status": "final",
        "subject": {"reference": "Patient/p1"}, "effectiveDateTime": "2026-01-15T08:28:00Z", "valueQuantity": quantity,
        **more,
    }  # fmt: skip


def searched(*resources: dict[str, Any], position: int = 2) -> Call:
    body = {"resourceType": "Bundle", "type": "searchset", "entry": [{"resource": one} for one in resources]}
    return Call(
        position=position, step=1, name="fhir_search", arguments={}, status="ok", result={"status": 200, "body": body}
    )


def seen(resource: str | None, path: str | None, *, call: int = 2) -> Entity:
    return Entity("52.5 kg", "pass", call, None, resource, path)


def test_the_supporting_resource_is_shown_with_its_element_marked() -> None:
    call = searched(weight("w1", 50.0), weight("w2", 52.5))
    found = take_found(Allowance(10_000), call, [seen("Observation/w2", "valueQuantity")], 2_000)
    assert found is not None
    assert found.pieces == (
        Piece("Observation/w2\n"), Piece('  status: "final"\n'),
        Piece('  effectiveDateTime: "2026-01-15T08:28:00Z"\n'),
        Piece("  valueQuantity: "), Piece('{"value": 52.5, "unit": "kg"}', "pass"), Piece("\n"),
    )  # fmt: skip


def test_of_a_component_only_its_value_is_marked() -> None:
    parts = [{"code": {"text": "systolic"}, "valueQuantity": {"value": v}} for v in (120, 80)]
    call = searched(weight("bp", 1, component=parts))
    found = take_found(Allowance(10_000), call, [seen("Observation/bp", "component[1].valueQuantity")], 2_000)
    assert found is not None
    assert [piece.text for piece in found.pieces if piece.mark] == ['{"value": 80}']


def test_a_read_and_a_text_of_json_are_looked_into_too() -> None:
    for result in ({"status": 200, "body": weight("w2", 52.5)}, json.dumps(weight("w2", 52.5))):
        call = Call(position=2, step=1, name="fhir_read", arguments={}, status="ok", result=result)
        found = take_found(Allowance(10_000), call, [seen("Observation/w2", "valueQuantity")], 2_000)
        assert found is not None and found.text.startswith("Observation/w2\n")


@pytest.mark.parametrize(
    "entity",
    [
        seen(None, None), seen("Observation/none", "valueQuantity"), seen("Observation/w2", "valueQuantity", call=1),
    ],
)  # fmt: skip
def test_what_is_not_in_this_call_is_not_shown(entity: Entity) -> None:
    assert take_found(Allowance(10_000), searched(weight("w2", 52.5)), [entity], 2_000) is None


@pytest.mark.parametrize(
    "path", ["", None, "nothing", "valueQuantity.value.deeper", "component[7]", "a..b", "[0]", "é"]
)
def test_a_path_that_leads_nowhere_marks_nothing(path: str | None) -> None:
    found = take_found(Allowance(10_000), searched(weight("w2", 52.5)), [seen("Observation/w2", path)], 2_000)
    assert found is not None
    assert not any(piece.mark for piece in found.pieces)


OTHERS: list[Any] = [
    None, "no JSON", 7, {"status": 404, "body": {"resourceType": "Bundle"}}, {"body": []},
    {"resourceType": "Bundle", "entry": [None, {"resource": 3}, 4]},
]  # fmt: skip


@pytest.mark.parametrize("result", OTHERS)
def test_a_result_of_another_form_shows_nothing(result: Any) -> None:
    call = Call(position=2, step=1, name="x", arguments={}, status="ok", result=result)
    assert take_found(Allowance(10_000), call, [seen("Observation/w2", "valueQuantity")], 2_000) is None


def test_it_keeps_to_its_bytes() -> None:
    long = weight("w2", 52.5, note=[{"text": "x" * 5_000}])
    purse = Allowance(10_000)
    found = take_found(purse, searched(long), [seen("Observation/w2", "valueQuantity")], 300)
    assert found is not None and len(found.text) <= 300 and purse.left >= 9_600


def test_in_the_page_of_a_real_run(here: Path, small_record: Path) -> None:
    run = ["run", "ehr", "--record", small_record, "--task", "latest-lab", "--limit", 1, "--out", "a"]
    assert readback(*run, "--agent", "oracle", "--agent", "idle", "--agent", "blind").code == 0
    source = (here / "a/report.html").read_text()
    assert page.read(here / "a/report.html").problems == []
    (found,) = [part.partition("</pre>")[0] for part in source.split('<pre class="found">')[1:]]
    assert found.startswith("Observation/")
    assert '  valueQuantity: <mark class="m pass">{"value": ' in found
