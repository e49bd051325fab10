"""`readback record`: what a user does with records, and what can be wrong with them."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from readback.records import default_record
from tests.readback.command import Ended, finished, readback
from tests.support import shared


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("records") / "three.record"
    assert readback("record", "build", "--patients", "3", "--out", path).code == 0
    return path


def test_a_record_is_built_under_a_name_that_says_what_it_is(tmp_path: Path) -> None:
    ended = finished("record", "build", "--patients", "2", "--seed", "7", cwd=tmp_path)
    assert ended.code == 0
    assert (tmp_path / "records/synthetic-2-seed7.record").is_file()
    assert ended.out.splitlines()[0] == "record     records/synthetic-2-seed7.record"
    assert "readback run ehr --record records/synthetic-2-seed7.record" in ended.err


def test_info_says_what_it_holds(record: Path) -> None:
    document = readback("record", "info", record, "--check", "--json").document
    assert document["format"] == "readback.record/1"
    assert document["synthetic"] is True
    assert document["clock"] == "2026-01-15T10:15:00+00:00"
    assert document["counts"]["Patient"] == 3
    assert document["resources"] == sum(document["counts"].values())
    assert document["bytes"] == record.stat().st_size
    assert f"hash       {document['hash']}" in readback("record", "info", record).out


def test_the_same_seed_gives_the_same_record_and_another_another(tmp_path: Path, record: Path) -> None:
    hashes = []
    for name, seed in (("same", "1"), ("other", "2")):
        path = tmp_path / f"{name}.record"
        ended = readback("record", "build", "--patients", "3", "--seed", seed, "--out", path, "--json")
        hashes.append(ended.document["hash"])
    assert hashes[0] == readback("record", "info", record, "--json").document["hash"]
    assert hashes[1] != hashes[0]


def test_export_gives_every_resource_as_a_line(tmp_path: Path, record: Path) -> None:
    out = tmp_path / "all.ndjson"
    assert readback("record", "export", record, "--out", out).code == 0
    lines = out.read_bytes().splitlines()
    document = readback("record", "info", record, "--json").document
    assert len(lines) == document["resources"]
    assert {json.loads(line)["resourceType"] for line in lines} == set(document["counts"])
    packed = tmp_path / "all.ndjson.gz"
    assert readback("record", "export", record, "--out", packed).code == 0
    assert gzip.decompress(packed.read_bytes()) == out.read_bytes()
    patients = finished("record", "export", record, "--type", "Patient", cwd=tmp_path).out.splitlines()
    assert [line.encode() for line in patients] == [line for line in lines if b'"resourceType":"Patient"' in line]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["build", "--patients", "0"], "invalid value for '--patients': '0' is not a whole number, 1 or more"),
        (["build", "--patients", "ten"], "invalid value for '--patients': 'ten' is not a whole number, 1 or more"),
        (["build", "--seed", "-1"], "invalid value for '--seed': '-1' is not a whole number, 0 or more"),
        (["build", "--preset", "medagent"], "there is no preset 'medagent'; did you mean 'medagentbench'?"),
        (["build", "--preset", "default", "--patients", "9"], "--preset default fixes the number of patients"),
        (["info", "{tmp}/none.record"], "there is no record at '{tmp}/none.record'; build one with"),
        (["info", "{tmp}"], "'{tmp}' is no record but a folder"),
        (["export", "{record}", "--type", "Patent"], "there is no resource in '{record}' of type 'Patent'; did you"),
        (["export", "{record}", "--out", "{record}"], "'{record}' is there already; name another with --out, or"),
        (["build", "--out", "{record}"], "'{record}' is there already; name another with --out, or replace it"),
        (["build", "--out", "{tmp}"], "'{tmp}' is a folder; name a file with --out"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, record: Path, arguments: list[str], sentence: str) -> None:
    before = record.read_bytes()
    names = {"tmp": tmp_path, "record": record}
    ended = readback("record", *(argument.format(**names) for argument in arguments))
    assert ended.code == 2
    assert ended.out == ""
    assert ended.sentence.startswith(sentence.format(**names))
    assert record.read_bytes() == before


@pytest.mark.parametrize("harm", ["cut", "empty", "text", "version", "body"])
def test_a_record_that_is_none_any_more_is_named(tmp_path: Path, record: Path, harm: str) -> None:
    path = tmp_path / "harmed.record"
    data = bytearray(record.read_bytes())
    path.write_bytes(data)
    if harm == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif harm == "empty":
        path.write_bytes(b"")
    elif harm == "text":
        path.write_text("a record\n" * 50)
    elif harm == "version":
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA user_version = 471147")
        connection.close()
    else:
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE resource SET body = x'7b7d' WHERE row = 1")
        connection.close()
    ended = readback("record", "info", path, "--check")
    assert ended.code == 2
    assert repr(str(path)) in ended.sentence
    assert ("471147" in ended.sentence) is (harm == "version")


def test_force_replaces(tmp_path: Path) -> None:
    path = tmp_path / "a.record"
    path.write_text("precious")
    assert readback("record", "build", "--patients", "1", "--out", path).code == 2
    assert path.read_text() == "precious"
    assert readback("record", "build", "--patients", "1", "--out", path, "--force").code == 0
    assert readback("record", "info", path).code == 0


BUNDLE: dict[str, Any] = {
    "resourceType": "Bundle",
    "type": "transaction",
    "entry": [
        {
            "fullUrl": "urn:uuid:0a",
            "resource": {"resourceType": "Patient", "birthDate": "1980-01-01"},
            "request": {"method": "POST", "url": "Patient"},
        },
        {
            "fullUrl": "urn:uuid:0b",
            "resource": {
                "resourceType": "Observation", "status": "final", "code": {"text": "weight"}, "id": "w",
                "subject": {"reference": "urn:uuid:0a"}, "effectiveDateTime": "2020-05-01T10:00:00+02:00",
            },
            "request": {"method": "PUT", "url": "Observation/w"},
        },
    ],
}  # fmt: skip


def imported(*arguments: object) -> Ended:
    return readback("record", "import", *arguments)


def test_import_takes_bundles_lines_and_folders_packed_or_not(here: Path) -> None:
    (here / "in/deep").mkdir(parents=True)
    (here / "in/bundle.json").write_text(json.dumps(BUNDLE, indent=2))
    with gzip.open(here / "in/deep/lines.ndjson.gz", "wt") as file:
        file.write('{"resourceType":"Patient","id":"p2"}\n\n{"resourceType":"Patient","id":"p3"}\n')
    ended = imported("in", "--json")
    assert ended.code == 0, ended.err
    document = ended.document
    assert document["path"] == "records/in.record"
    assert document["counts"] == {"Observation": 1, "Patient": 3}
    assert document["clock"] == "2020-05-01T08:00:00+00:00"
    assert document["synthetic"] is False
    assert "warning" not in ended.err, "every reference is resolved"
    again = imported("in", "--clock", "2021-01-01T00:00:00Z", "--synthetic", "--force", "--json").document
    assert (again["clock"], again["synthetic"]) == ("2021-01-01T00:00:00Z", True)
    assert "no: it is not sent to a hosted model" in imported("in", "--force").out


def test_a_reference_that_leads_nowhere_is_told(here: Path) -> None:
    (here / "one.json").write_text(
        '{"resourceType":"Observation","id":"o","subject":{"reference":"Patient/x"},"issued":"2020-01-01T00:00:00Z"}'
    )
    ended = imported("one.json")
    assert ended.code == 0
    assert "warning: 1 reference names nothing that was loaded, such as Patient/x; a server like HAPI" in ended.err


def test_what_is_exported_is_imported_to_the_same_record(here: Path, small_record: Path) -> None:
    before = readback("record", "info", small_record, "--json").document
    assert readback("record", "export", small_record, "--out", "all.ndjson.gz").code == 0
    after = imported("all.ndjson.gz", "--clock", before["clock"], "--synthetic", "--json").document
    assert {key: after[key] for key in ("hash", "clock", "synthetic", "counts")} == {
        key: before[key] for key in ("hash", "clock", "synthetic", "counts")
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "broken.json"),
        ("{", "broken.json"),
        ("[]", "broken.json"),
        (json.dumps({**BUNDLE, "entry": [*BUNDLE["entry"], {"resource": {"id": "x"}}]}), "3"),
        (json.dumps({**BUNDLE, "entry": [*BUNDLE["entry"], {"fullUrl": "urn:x"}]}), "entry 3 has no resource, and no"),
        (json.dumps({**BUNDLE, "entry": [*BUNDLE["entry"], BUNDLE["entry"][1]]}), "Observation/w"),
        (
            json.dumps({**BUNDLE, "entry": [{"resource": {"resourceType": "Patient", "id": "not an id!"}}]}),
            "not an id!",
        ),
        (json.dumps({**BUNDLE, "entry": [{"resource": {"resourceType": "Pateint", "id": "x"}}]}), "Pateint"),
        ('{"resourceType":"Patient","id":"a"}\n{"resourceType":"Pat\n', "2"),
    ],
)
def test_a_broken_entry_is_named_and_nothing_is_loaded(here: Path, text: str, words: str) -> None:
    (here / "good.ndjson").write_text(
        '{"resourceType":"Patient","id":"g","meta":{"lastUpdated":"2020-01-01T00:00:00Z"}}'
    )
    (here / "broken.json").write_text(text)
    ended = imported("good.ndjson", "broken.json", "--out", "a.record")
    assert ended.code == 2
    assert ended.out == ""
    assert "broken.json" in ended.sentence
    assert words in ended.sentence
    assert not Path("a.record").exists()
    assert sorted(path.name for path in here.iterdir() if path.is_file()) == ["broken.json", "good.ndjson"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.json"], "there is nothing at 'none.json'; name a Bundle, an NDJSON file or a folder of them"),
        (["empty"], "the folder 'empty' holds no .json, .ndjson or .jsonl file"),
        (["nobody.json", "nothing.ndjson"], "there is no resource in 'nobody.json', 'nothing.ndjson'; name files"),
        (["timeless.json"], "nothing in these files says a time; name the record's present with --clock INSTANT"),
        (["timeless.json", "--clock", "noon"], "'noon'"),
        (["timeless.json", "--clock", "2020-01-01"], "'2020-01-01'"),
        ([], "missing argument"),
    ],
)
def test_a_mistake_at_import_is_one_sentence(here: Path, arguments: list[str], sentence: str) -> None:
    (here / "empty").mkdir()
    (here / "nobody.json").write_text('{"resourceType":"Bundle","type":"collection"}')
    (here / "nothing.ndjson").touch()
    (here / "timeless.json").write_text('{"resourceType":"Patient","id":"p"}')
    ended = imported(*arguments)
    assert ended.code == 2
    assert sentence in ended.sentence
    assert not list(here.rglob("*.record"))


def test_the_synthea_bundles_load_with_every_reference_and_the_suite_runs_on_them(here: Path) -> None:
    ended = imported(shared("data", "synthea"), "--synthetic", "--json")
    assert ended.code == 0
    assert ended.document["resources"] == 12_268
    assert ended.document["counts"]["Patient"] == 39
    assert "warning" not in ended.err
    ended = readback("run", "ehr", "--record", "records/synthea.record", "--per-template", "1", "--json")
    assert ended.code == 0
    rates = {row["agent"]: row["success"]["rate"] for row in ended.document["rows"]}
    assert rates["oracle"] == 1
    assert rates["idle"] == 0


def test_the_default_record_is_built_once_and_again_where_it_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    said: list[str] = []
    with default_record(say=said.append) as record:
        assert record.path is not None
        path, first = record.path, record.hash
    assert path.parent == tmp_path / "readback/records"
    assert len(said) == 1
    with default_record(say=said.append) as record:
        assert record.hash == first
    assert len(said) == 1
    path.write_bytes(path.read_bytes()[:-1])
    with default_record(say=said.append) as record:
        assert record.hash == first
    assert "damaged" in said[1]
    assert len(said) == 3


def test_a_cache_folder_that_cannot_be_made_is_named_with_the_ways_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = finished("run", "ehr", cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "file"))
    assert ended.code == 2
    assert str(tmp_path / "file") in ended.sentence
    assert "XDG_CACHE_HOME" in ended.sentence
    assert "--record" in ended.sentence
