"""Reading and writing files of resources."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ehr.sandbox.files import sources
from ehr.sandbox.files.export import export_ndjson
from ehr.sandbox.files.load import load
from ehr.sandbox.record import Record
from ehr.sandbox.store.storage import RecordError
from tests.support import shared

CLOCK = "2026-01-15T10:15:00+00:00"
Json = dict[str, Any]


def put(path: Path, content: Any) -> Path:
    data = content if isinstance(content, bytes) else json.dumps(content, indent=2).encode()
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return path


def bundle(*resources: Json, type: str = "transaction", method: str = "POST") -> Json:
    entries = [
        {
            "fullUrl": f"urn:uuid:{n}",
            "resource": resource,
            "request": {"method": method, "url": resource.get("resourceType")},
        }
        for n, resource in enumerate(resources)
    ]
    return {"resourceType": "Bundle", "type": type, "entry": entries}


def loaded(*paths: Path) -> list[Json]:
    return [json.loads(body) for body in load(paths).resources()]


def test_progress_is_told_every_thousand_resources(tmp_path: Path):
    path = put(tmp_path / "x.ndjson", b"\n".join(b'{"resourceType":"Patient","id":"p%d"}' % n for n in range(2500)))
    told: list[tuple[str, int, int | None]] = []
    assert load([path], progress=lambda *said: told.append(said)).count == 2500
    assert told == [("checking", 1000, None), ("checking", 2000, None)]


# ---- what is kept and what is changed


def test_a_line_is_kept_byte_for_byte(tmp_path: Path):
    line = b'{ "resourceType":"Observation","id":"o", "valueQuantity":{"value":1.00},"note":[{"text":"a  b"}]}'
    path = put(tmp_path / "x.ndjson.gz", line + b"\n\n" + b'{"resourceType":"Patient","id":"p"}')
    assert list(load([path]).resources()) == [line, b'{"resourceType":"Patient","id":"p"}']


def test_a_resource_of_many_lines_is_put_on_one_and_nothing_else_changes(tmp_path: Path):
    text = b'{"resourceType": "Bundle", "type": "collection", "entry": [\n {"resource": {\n  "resourceType": "Patient",'
    text += b'\n\t"id": "p",\r\n "name": [ {"text": "a  \\n \\" b : c"} ], "multipleBirthInteger": 1.00e0 }}]}'
    path = put(tmp_path / "x.json", text)
    expected = b'{"resourceType":"Patient","id":"p","name":[{"text":"a  \\n \\" b : c"}],"multipleBirthInteger":1.00e0}'
    assert list(load([path]).resources()) == [expected]


def test_references_to_entries_are_rewritten(tmp_path: Path):
    patient = {"resourceType": "Patient", "id": "p"}
    observation = {
        "resourceType": "Observation",
        "id": "o",
        "subject": {"reference": "urn:uuid:0"},
        "note": [{"text": 'see "reference": "urn:uuid:0"'}],
        "identifier": [{"system": "urn:ietf:rfc:3986", "value": "urn:uuid:0"}],
        "extension": [{"url": "http://x", "valueUri": "urn:uuid:0"}],
    }
    found = loaded(put(tmp_path / "x.json", bundle(patient, observation)))[1]
    assert found["subject"] == {"reference": "Patient/p"}
    assert found["extension"][0]["valueUri"] == "Patient/p"
    assert found["note"] == observation["note"] and found["identifier"] == observation["identifier"]


def test_an_absolute_full_url_is_rewritten_to_a_relative_reference(tmp_path: Path):
    entries = [
        {"fullUrl": "http://ward.example/fhir/Patient/7", "resource": {"resourceType": "Patient", "id": "7"}},
        {
            "resource": {
                "resourceType": "Observation",
                "id": "o",
                "subject": {"reference": "http://ward.example/fhir/Patient/7"},
            }
        },
    ]
    path = put(tmp_path / "x.json", {"resourceType": "Bundle", "type": "searchset", "entry": entries})
    assert loaded(path)[1]["subject"] == {"reference": "Patient/7"}


def test_a_conditional_reference_finds_its_resource_in_any_file(tmp_path: Path):
    def doctor(id: str, value: str) -> Json:
        return {"resourceType": "Practitioner", "id": id, "identifier": [{"system": "http://npi", "value": value}]}

    visit = {
        "resourceType": "Encounter",
        "id": "e",
        "participant": [
            {"individual": {"reference": "Practitioner?identifier=http://npi|1"}},
            {"individual": {"reference": "Practitioner?identifier=http://npi|2"}},
            {"individual": {"reference": "Practitioner?identifier=http://npi|3"}},
        ],
    }
    put(tmp_path / "a.json", bundle(visit))
    put(tmp_path / "b.json", bundle(doctor("d1", "1"), doctor("d3", "3"), doctor("d4", "3")))
    files = load([tmp_path])
    found = json.loads(next(files.resources()))
    references = [p["individual"]["reference"] for p in found["participant"]]
    assert references[0] == "Practitioner/d1"
    assert references[1:] == ["Practitioner?identifier=http://npi|2", "Practitioner?identifier=http://npi|3"]


def test_references_that_name_nothing_are_counted(tmp_path: Path):
    observation = {"resourceType": "Observation", "id": "o", "subject": {"reference": "Patient/gone"}}
    contained = {"resourceType": "Observation", "id": "o2", "subject": {"reference": "#p"}}
    files = load([put(tmp_path / "x.json", bundle(observation, contained))])
    assert len(list(files.resources())) == 2
    assert files.unresolved == {"Patient/gone": 1}


# ---- ids


def test_an_entry_without_an_id_gets_one_from_its_content(tmp_path: Path):
    entries = [
        {"fullUrl": "urn:uuid:9b0f2ac8-0000-4000-8000-000000000001", "resource": {"resourceType": "Patient"}},
        {"fullUrl": "http://x/fhir/Patient/77", "resource": {"resourceType": "Patient"}},
        {"resource": {"resourceType": "Patient", "active": True}},
        {
            "resource": {
                "resourceType": "Observation",
                "status": "final",
                "subject": {"reference": "http://x/fhir/Patient/77"},
            }
        },
    ]
    path = put(tmp_path / "x.json", {"resourceType": "Bundle", "type": "collection", "entry": entries})
    first, again = loaded(path), loaded(path)
    assert first == again
    assert [r["id"] for r in first[:2]] == ["9b0f2ac8-0000-4000-8000-000000000001", "77"]
    assert first[2]["id"].startswith("r") and len(first[2]["id"]) == 20
    assert list(first[2])[:2] == ["resourceType", "id"]
    assert first[3]["subject"] == {"reference": "Patient/77"}


def test_a_post_whose_id_is_taken_creates_another_and_its_references_follow(tmp_path: Path):
    hospital = {"resourceType": "Organization", "id": "h", "name": "H"}
    visit = {"resourceType": "Encounter", "serviceProvider": {"reference": "urn:uuid:0"}}
    put(tmp_path / "1.json", bundle(hospital, {**visit, "id": "e1"}))
    put(tmp_path / "2.json", bundle(hospital, {**visit, "id": "e2"}))
    found = loaded(tmp_path)
    assert [r["resourceType"] for r in found] == ["Organization", "Encounter"] * 2
    assert found[0]["id"] == "h" and found[2]["id"] != "h"
    assert found[1]["serviceProvider"] == {"reference": "Organization/h"}
    assert found[3]["serviceProvider"] == {"reference": f"Organization/{found[2]['id']}"}


def test_a_put_goes_where_its_url_says(tmp_path: Path):
    entry = {"resource": {"resourceType": "Patient"}, "request": {"method": "PUT", "url": "Patient/seven"}}
    path = put(tmp_path / "x.json", {"resourceType": "Bundle", "type": "transaction", "entry": [entry]})
    assert loaded(path) == [{"resourceType": "Patient", "id": "seven"}]


# ---- kinds of files


def test_every_type_of_bundle_is_read(tmp_path: Path):
    patient = {"resourceType": "Patient", "id": "p"}
    for number, type in enumerate(("collection", "searchset", "batch", "transaction", "document", "message")):
        path = put(tmp_path / f"{number}.json", bundle(patient, type=type))
        assert [r["id"] for r in loaded(path)] == ["p"], type


def test_of_a_history_the_newest_version_counts_and_deleted_ones_are_gone(tmp_path: Path):
    def version(number: str, id: str = "p") -> Json:
        resource = {"resourceType": "Patient", "id": id, "meta": {"versionId": number}}
        return {"resource": resource, "request": {"method": "PUT", "url": f"Patient/{id}"}}

    deleted = {"fullUrl": "http://x/Patient/q", "request": {"method": "DELETE", "url": "Patient/q"}}
    entries = [version("2"), deleted, version("1"), version("1", "q")]
    path = put(tmp_path / "x.json", {"resourceType": "Bundle", "type": "history", "entry": entries})
    assert [(r["id"], r["meta"]["versionId"]) for r in loaded(path)] == [("p", "2")]


def test_outcomes_and_entries_without_a_resource_are_passed_over(tmp_path: Path):
    entries = [
        {"resource": {"resourceType": "OperationOutcome"}, "search": {"mode": "outcome"}},
        {"request": {"method": "DELETE", "url": "Patient/1"}},
        {"resource": {"resourceType": "Patient", "id": "p"}},
    ]
    path = put(tmp_path / "x.json", {"resourceType": "Bundle", "type": "searchset", "entry": entries})
    assert [r["id"] for r in loaded(path)] == ["p"]


def test_one_resource_and_lines_in_a_json_file(tmp_path: Path):
    assert loaded(put(tmp_path / "one.json", {"resourceType": "Patient", "id": "p"}))[0]["id"] == "p"
    lines = b'{"resourceType":"Patient","id":"a"}\n{"resourceType":"Patient","id":"b"}\n'
    assert [r["id"] for r in loaded(put(tmp_path / "lines.json", lines))] == ["a", "b"]


def test_a_document_stays_whole_in_a_file_of_lines_and_a_transaction_is_taken_apart(tmp_path: Path):
    document = {"resourceType": "Bundle", "id": "d", "type": "document", "entry": []}
    lines = [document, bundle({"resourceType": "Patient", "id": "p"})]
    path = put(tmp_path / "x.ndjson", "\n".join(map(json.dumps, lines)).encode())
    assert [(r["resourceType"], r["id"]) for r in loaded(path)] == [("Bundle", "d"), ("Patient", "p")]


def test_a_folder_is_read_with_all_below_and_other_files_left_alone(tmp_path: Path):
    (tmp_path / "deep").mkdir()
    put(tmp_path / "b.ndjson", b'{"resourceType":"Patient","id":"b"}')
    put(tmp_path / "deep" / "a.json.gz", bundle({"resourceType": "Patient", "id": "a"}))
    put(tmp_path / "LICENSE", b"text")
    assert [r["id"] for r in loaded(tmp_path)] == ["b", "a"]


def test_a_byte_order_mark_is_no_matter(tmp_path: Path):
    assert loaded(put(tmp_path / "x.json", b'\xef\xbb\xbf{"resourceType":"Patient","id":"p"}'))[0]["id"] == "p"


# ---- what is refused


def lines(*texts: bytes) -> bytes:
    return b"\n".join(texts)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.ndjson", lines(b'{"resourceType":"Patient","id":"p"}', b"{"), r"x.ndjson', line 2 is no JSON"),
        ("x.ndjson", lines(b'{"resourceType":"Patient","id":"p"}', b'{"resourceType":"Patient","id":"p"}'),
         r"x.ndjson', line 2: Patient/p is there a second time"),
        ("x.ndjson", b'{"resourceType":"Patient","id":"\xff"}', r"line 1 is not UTF-8"),
        ("x.ndjson", b'{"resourceType":"Observation","id":"o","valueInteger":NaN}', r"line 1 is no JSON"),
        ("x.json", bundle({"resourceType": "Patient", "id": "p"}, {"resourceType": "Patiant", "id": "q"}),
         r"x.json', entry 2 is no FHIR R4 resource: resourceType is 'Patiant'"),
        ("x.json", bundle({"resourceType": "Patient", "id": "a b"}), r"entry 1 \(Patient\) has no valid id: 'a b'"),
        ("x.json", {"resourceType": "Bundle", "type": "batch", "entry": [{"request": {"method": "POST"}}]},
         r"entry 1 has no resource, but its request is POST"),
        ("x.json", {"resourceType": "Bundle", "type": "batch", "entry": ["x"]}, r"entry 1 is no entry: 'x'"),
        ("x.json", {"resourceType": "Bundle", "type": "batch", "entry": {}}, r"x.json'"),
        ("x.json", b'{"resourceType":"Bundle","entry":[{"resource":{"resourceType":"Patient","id":"p"}},{"resource":',
         r"x.json'? is no JSON"),
        ("x.json", b'{"resourceType":"Patient","id":"p"', r"is no JSON"),
        ("x.json", b"[1, 2]", r"is no Bundle and no resource: it begins with '\[1, 2\]'"),
        ("x.json", b"", r"is no Bundle and no resource"),
        ("x.json", {"name": "a package"}, r"x.json' is no FHIR R4 resource: it has no resourceType"),
        ("x.json", b"SQLite format 3\0\xff", r"x.json' is a record already, or another database"),
        ("x.json", b'{"resourceType":"Patient","id":"p","contact":' + b"[" * 100_000, r"x.json"),
    ],
)  # fmt: skip
def test_a_broken_entry_is_named_and_nothing_is_loaded(tmp_path: Path, name: str, content: Any, says: str):
    put(tmp_path / "a.ndjson", b'{"resourceType":"Patient","id":"good"}')
    put(tmp_path / name, content)
    with pytest.raises(RecordError, match=says):
        load([tmp_path])


def test_two_files_with_the_same_resource(tmp_path: Path):
    put(tmp_path / "a.ndjson", b'{"resourceType":"Patient","id":"p"}')
    put(tmp_path / "b.json", bundle({"resourceType": "Patient", "id": "p"}, type="collection"))
    with pytest.raises(RecordError, match=r"b.json', entry 1: Patient/p is there a second time"):
        load([tmp_path])


def test_paths_that_lead_nowhere(tmp_path: Path):
    with pytest.raises(RecordError, match="There is nothing at"):
        load([tmp_path / "none"])
    with pytest.raises(RecordError, match="holds no"):
        load([tmp_path])


def test_an_archive_that_is_none_or_cut(tmp_path: Path):
    path = tmp_path / "x.json.gz"
    path.write_bytes(b'{"resourceType":"Patient","id":"p"}')
    with pytest.raises(RecordError, match="cannot be unpacked"):
        load([path])
    path.write_bytes(gzip.compress(json.dumps(bundle({"resourceType": "Patient", "id": "p"})).encode())[:-12])
    with pytest.raises(RecordError, match="cannot be unpacked"):
        load([path])


@pytest.mark.parametrize("name", ["x.json.gz", "x.ndjson.gz"])
def test_an_archive_that_unpacks_to_too_much(tmp_path: Path, name: str):
    path = put(tmp_path / name, b'{"resourceType":"Patient","id":"' + b"p" * (sources.LONGEST_LINE + 100))
    assert path.stat().st_size < sources.LONGEST_LINE / 100
    with pytest.raises(RecordError, match=r"too large|is no JSON"):
        load([path])


# ---- the clock


def test_the_clock_is_the_latest_time_in_the_data(tmp_path: Path):
    resources = [
        {"resourceType": "Observation", "id": "a", "effectiveDateTime": "2020-03-01T10:00:00-05:00"},
        {"resourceType": "Observation", "id": "b", "effectivePeriod": {"start": "2019", "end": "2020-02-28"}},
        {"resourceType": "CarePlan", "id": "c", "period": {"end": "2031"}},
        {"resourceType": "Patient", "id": "d", "meta": {"lastUpdated": "2020-03-01T14:00:00Z"}},
    ]
    assert load([put(tmp_path / "x.json", bundle(*resources))]).clock == "2020-03-01T15:00:00+00:00"
    assert load([put(tmp_path / "y.ndjson", b'{"resourceType":"Patient","id":"p"}')]).clock is None


# ---- there and back


def test_export_and_import_give_the_same_record(tmp_path: Path):
    odd = b'{"resourceType":"Observation", "id":"o","valueQuantity":{"value":1.00},"note":[{"text":"\\u00e9"}]}'
    with Record.build([odd, b'{"resourceType":"Patient","id":"p"}'], clock=CLOCK, synthetic=True) as record:
        for name in ("x.ndjson", "x.ndjson.gz"):
            path = tmp_path / name
            assert export_ndjson(record, path) == 2
            first = path.read_bytes()
            export_ndjson(record, path)
            assert path.read_bytes() == first, "the same record gives the same file"
            with Record.build(load([path]).resources(), clock=CLOCK, synthetic=True) as again:
                assert again.hash == record.hash, name
        assert export_ndjson(record, tmp_path / "o.ndjson", "Observation") == 1
        assert (tmp_path / "o.ndjson").read_bytes() == odd + b"\n"


def test_a_resource_of_several_lines_is_exported_as_one(tmp_path: Path):
    with Record.build([b'{\n  "resourceType": "Patient",\n  "id": "7"\n}'], clock=CLOCK, synthetic=True) as record:
        export_ndjson(record, tmp_path / "p.ndjson")
    assert (tmp_path / "p.ndjson").read_bytes() == b'{"resourceType":"Patient","id":"7"}\n'


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with (
        Record.build([b'{"resourceType":"Patient","id":"p"}'], clock=CLOCK, synthetic=True) as record,
        pytest.raises(RecordError, match="cannot be written"),
    ):
        export_ndjson(record, tmp_path / "file" / "x.ndjson")


# ---- the real data


def test_all_of_synthea_loads_with_every_reference_resolved(tmp_path: Path):
    files = load([shared("data", "synthea")])
    assert files.count == 12_268
    with Record.build(files.resources(), tmp_path / "s.record", clock=files.clock or CLOCK, synthetic=True) as record:
        assert files.unresolved == {}
        assert sum(record.counts.values()) == 12_268
        assert record.counts["Observation"] == 5_417 and record.counts["Patient"] == 39
        assert not any(b"urn:uuid:" in body for body in record.iterate("Observation"))
        text = gzip.decompress(shared("data", "synthea", "bundle-001.json.gz").read_bytes()).decode()
        first = next(e["resource"] for e in json.loads(text)["entry"] if e["resource"]["resourceType"] == "Observation")
        body = record.body("Observation", first["id"])
        assert body is not None
        stored = json.loads(body)
        assert {k: v for k, v in stored.items() if k not in ("subject", "encounter")} == {
            k: v for k, v in first.items() if k not in ("subject", "encounter")
        }
        assert stored["subject"]["reference"] == first["subject"]["reference"].replace("urn:uuid:", "Patient/")
