"""Records: what goes in comes out byte for byte, whatever is wrong is said in one sentence."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehr.sandbox import Record, RecordError
from ehr.sandbox.store.storage import VERSION
from tests.ehr.sandbox.randomfhir import random_resource

CLOCK = "2026-01-15T10:15:00+00:00"
ODD = (
    b'{ "resourceType":"Observation", "id":"o1","status":"final","valueQuantity":{"value":1.00,"unit":"g"},'
    b'"effectiveDateTime":"2020-01-01T00:00:00.100+00:00","extension":[{"url":"http://unknown","valueDecimal":1E2}],'
    b'"subject":{"reference":"Patient/p1"},"code":{"text":"\xc3\xa9 \\u00e9"} }'
)
PATIENT = b'{"resourceType":"Patient","id":"p1","gender":"male"}'


def build(resources: Any, path: Path | None = None, **more: Any) -> Record:
    return Record.build(resources, path, **{"clock": CLOCK, "synthetic": True, **more})


def test_bodies_survive_byte_for_byte(tmp_path: Path):
    with build([ODD, PATIENT], tmp_path / "r.record") as record:
        assert record.body("Observation", "o1") == ODD
        assert sorted(record.iterate()) == sorted([ODD, PATIENT])
        assert list(record.iterate("Patient")) == [PATIENT]
    with Record.open(tmp_path / "r.record") as record:
        assert record.body("Observation", "o1") == ODD
        assert record.body("Observation", "p1") is None
        assert record.body("Nope", "p1") is None


def test_a_record_knows_its_clock_counts_and_where_it_is(tmp_path: Path):
    path = tmp_path / "r.record"
    with build([ODD, PATIENT, {"resourceType": "Patient", "id": "41"}], path, synthetic=False) as record:
        assert record.clock == CLOCK
        assert record.synthetic is False
        assert record.path == path
        assert record.counts == {"Observation": 1, "Patient": 2}
        assert record.ids("Patient") == ["41", "p1"]
        assert record.ids("Group") == []
        assert record.largest_id == 41


def test_dictionaries_are_taken_too_with_decimals_as_written():
    from decimal import Decimal

    with build([{"resourceType": "Observation", "id": "1", "valueQuantity": {"value": Decimal("1.00")}}]) as record:
        assert (
            record.body("Observation", "1") == b'{"resourceType":"Observation","id":"1","valueQuantity":{"value":1.00}}'
        )


def test_an_empty_record_is_a_record():
    with build([]) as record:
        assert record.counts == {}
        assert list(record.iterate()) == []
        assert record.hash.startswith("sha256:")


def test_the_hash_depends_on_content_and_clock_not_on_order():
    def hash_of(resources: list[bytes], clock: str = CLOCK) -> str:
        with build(resources, clock=clock) as record:
            return record.hash

    assert hash_of([ODD, PATIENT]) == hash_of([PATIENT, ODD])
    assert hash_of([ODD, PATIENT]) != hash_of([ODD])
    assert hash_of([ODD]) != hash_of([ODD.replace(b"1.00", b"1.0")])
    assert hash_of([ODD]) != hash_of([ODD], "2026-01-15T10:15:01+00:00")


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**9))
def test_the_same_resources_give_the_same_bytes_whatever_their_order(seed: int):
    random = Random(seed)
    resources = [
        random_resource(random, type, str(n)) for n, type in enumerate(["Patient", "Observation", "Encounter"] * 4)
    ]
    with build(resources) as first:
        once = list(first.iterate())
        shuffled = resources[:]
        random.shuffle(shuffled)
        with build(shuffled) as second:
            assert list(second.iterate()) == once
            assert second.hash == first.hash
            assert second.file.all("SELECT * FROM posting") == first.file.all("SELECT * FROM posting")
            assert second.file.all("SELECT * FROM column") == first.file.all("SELECT * FROM column")


def test_the_resources_of_a_patient():
    ours = b'{"resourceType":"Observation","id":"o2","subject":{"reference":"Patient/p1"}}'
    other = b'{"resourceType":"Observation","id":"o3","subject":{"reference":"Patient/p2"}}'
    group = b'{"resourceType":"Observation","id":"o4","subject":{"reference":"Group/p1"}}'
    with build([PATIENT, ours, other, group]) as record:
        assert record.of_patient("p1", "Observation") == [ours]
        assert record.of_patient("p1", "Patient") == [PATIENT]
        assert record.of_patient("p9", "Observation") == record.of_patient("p1", "Condition") == []


def test_progress_is_told():
    seen: list[tuple[str, int, int | None]] = []
    resources = ({"resourceType": "Patient", "id": str(n)} for n in range(2500))
    with build(resources, progress=lambda stage, done, total: seen.append((stage, done, total))):
        assert seen == [
            ("reading", 1000, None),
            ("reading", 2000, None),
            ("writing", 1000, 2500),
            ("writing", 2000, 2500),
        ]


# ---- what is refused


@pytest.mark.parametrize(
    ("resources", "says"),
    [
        ([b"{"], r"Resource 1 is no JSON"),
        ([PATIENT, b"[]"], r"Resource 2 is no resource: it is not a JSON object"),
        ([{"resourceType": "Patiant", "id": "1"}], r"Resource 1 is no FHIR R4 resource: resourceType is 'Patiant'"),
        ([{"id": "1"}], r"Resource 1 is no FHIR R4 resource: it has no resourceType"),
        ([{"resourceType": "Patient"}], r"Resource 1 \(Patient\) has no valid id: None"),
        ([{"resourceType": "Patient", "id": "a b"}], r"has no valid id: 'a b'"),
        ([{"resourceType": "Patient", "id": "x" * 65}], r"has no valid id"),
        ([{"resourceType": "Patient", "id": 5}], r"has no valid id: 5"),
        ([PATIENT, ODD, PATIENT], r"Two resources are Patient/p1"),
    ],
)
def test_a_broken_resource_is_named_and_nothing_is_left(tmp_path: Path, resources: list[Any], says: str):
    with pytest.raises(RecordError, match=says):
        build(resources, tmp_path / "r.record")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("clock", ["yesterday", "2026-01-15", "2026-01-15T10:15:00"])
def test_a_clock_is_an_instant_with_a_zone(clock: str):
    with pytest.raises(RecordError, match="is no instant with a zone"):
        build([PATIENT], clock=clock)


def test_a_record_in_place_stays_when_its_successor_is_broken(tmp_path: Path):
    path = tmp_path / "r.record"
    build([PATIENT], path).close()
    with pytest.raises(RecordError):
        build([b"{"], path)
    with Record.open(path) as record:
        assert record.counts == {"Patient": 1}


def test_a_folder_that_is_not_there(tmp_path: Path):
    with pytest.raises(RecordError, match="cannot be written"):
        build([PATIENT], tmp_path / "no" / "r.record")


def test_files_that_are_no_records(tmp_path: Path):
    path = tmp_path / "x"
    with pytest.raises(RecordError, match=r"There is no record at .*; build one with `readback record build`"):
        Record.open(path)
    with pytest.raises(RecordError, match="but a folder"):
        Record.open(tmp_path)
    path.write_bytes(b"")
    with pytest.raises(RecordError, match="does not begin as one"):
        Record.open(path)
    path.write_text("{" * 500)
    with pytest.raises(RecordError, match="does not begin as one"):
        Record.open(path)
    sqlite3.connect(path.with_name("other")).execute("CREATE TABLE t(x)").connection.close()
    with pytest.raises(RecordError, match="does not begin as one"):
        Record.open(path.with_name("other"))


def test_what_is_neither_a_file_nor_a_folder():
    with pytest.raises(RecordError, match="'/dev/null' is no record: it is no ordinary file"):
        Record.open("/dev/null")


def test_a_header_that_lacks_something_is_told(tmp_path: Path):
    path = tmp_path / "r.record"
    build([PATIENT], path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM header WHERE key = 'clock'")
    connection.close()
    with pytest.raises(RecordError, match=r"is damaged \(its header lacks clock\); build or import it again"):
        Record.open(path)


def test_a_record_is_read_wherever_the_process_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    build([PATIENT], tmp_path / "r.record").close()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with Record.open("r.record") as record:
        monkeypatch.chdir(tmp_path / "elsewhere")
        found: list[bytes | None] = []
        threads = [threading.Thread(target=lambda: found.append(record.body("Patient", "p1"))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4 and None not in found


def test_another_format_version_is_told(tmp_path: Path):
    path = tmp_path / "r.record"
    build([PATIENT], path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    with pytest.raises(RecordError, match=rf"has format version {VERSION + 1}, this program reads {VERSION};"):
        Record.open(path)


def test_a_cut_record_is_told(tmp_path: Path):
    path = tmp_path / "r.record"
    build([PATIENT, ODD], path).close()
    whole = path.read_bytes()
    for size in (150, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(RecordError, match="is damaged: it has"):
            Record.open(path)


def test_damage_inside_is_told_where_it_is_met_and_by_verify(tmp_path: Path):
    path = tmp_path / "r.record"
    resources = [{"resourceType": "Patient", "id": f"p{n}", "name": [{"text": "x" * 200}]} for n in range(200)]
    with build(resources, path) as record:
        record.verify()
    whole = path.read_bytes()
    place = whole.index(b'"id":"p77"')
    path.write_bytes(whole[:place] + b'"id":"p99"' + whole[place + 10 :])
    with Record.open(path) as record, pytest.raises(RecordError, match="its content does not have its hash"):
        record.verify()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    with pytest.raises(RecordError, match="is damaged"), Record.open(path) as record:
        record.verify()


# ---- where it may be used


def test_a_record_without_a_path_is_gone_when_closed():
    record = build([PATIENT])
    path = record.file.path
    assert record.path is None and path.exists()
    record.close()
    record.close()
    assert not path.exists()


def test_many_threads_read_one_record(tmp_path: Path):
    resources = [
        {"resourceType": "Patient", "id": f"p{n}", "gender": "male" if n % 2 else "female"} for n in range(500)
    ]
    with build(resources, tmp_path / "r.record") as record:
        wrong: list[str] = []

        def read() -> None:
            for n in range(500):
                body = record.body("Patient", f"p{n}")
                if body is None or json.loads(body)["id"] != f"p{n}":
                    wrong.append(f"p{n}")
            space = record.index.space("Patient", "gender")
            if len(space.exact("male", None)) != 250:
                wrong.append("gender")

        threads = [threading.Thread(target=read) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


def test_a_name_with_odd_characters(tmp_path: Path):
    path = tmp_path / "a b?c#d%20.record"
    build([PATIENT], path).close()
    with Record.open(path) as record:
        assert record.body("Patient", "p1") == PATIENT


def test_importing_the_sandbox_loads_no_numpy():
    code = "import ehr.sandbox, sys; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path):
    code = f"""
import resource
from ehr.sandbox import Record, RecordError
many = ({{"resourceType": "Patient", "id": f"p{{n}}", "name": [{{"text": "x" * 500}}]}} for n in range(2000))
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    Record.build(many, {str(tmp_path / "r.record")!r}, clock={CLOCK!r}, synthetic=True)
except RecordError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "cannot be written" in done.stdout
    assert list(tmp_path.iterdir()) == []
