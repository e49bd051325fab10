"""`readback record`: what a user does with records, and what can be wrong with them."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

from readback.records import default_record
from tests.readback.command import finished, readback


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
        (["info", "{tmp}/none.record"], "There is no record at '{tmp}/none.record'; build one with"),
        (["info", "{tmp}"], "'{tmp}' is no record but a folder"),
        (["export", "{record}", "--type", "Patent"], "there is no resource type 'Patent'; did you mean 'Patient'"),
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
