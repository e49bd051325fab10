"""The run folder: what was stored stays, whatever is torn, locked, foreign or full."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from harness.lines import write_whole
from harness.runfolder import RunFolder, RunFolderError, RunFolderWarning
from harness.task import Task
from harness.trace import Episode
from harness.verdict import Verdict
from tests.harness import tally

TASKS = [tally.task(number) for number in range(1, 4)]


def episode(key: str, **fields: Any) -> Episode:
    given = {"ending": "finished", "note": "", **fields}
    return Episode(
        id=key, task=TASKS[0].id, task_digest=TASKS[0].digest, agent="a", condition="default", variant={}, **given
    )  # fmt: skip


def verdict(key: str, lens: str = "state", config: str = "c1", outcome: Any = "pass") -> Verdict:
    return Verdict(episode=key, lens=lens, config=config, outcome=outcome, reason="why")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    with RunFolder.create(tmp_path / "run", {"suite": "tally", "planned": 3}, TASKS) as folder:
        yield folder


def test_what_is_stored_is_read_back_to_the_same_thing(folder: RunFolder) -> None:
    folder.store([(episode("e1", note="ä\n\u2028"), [verdict("e1"), verdict("e1", "message")])])
    folder.store([(episode("e2"), [verdict("e2")])])
    read = RunFolder.open(folder.path)
    assert read.about == {"format": "readback.run/1", "suite": "tally", "planned": 3}
    assert read.tasks() == TASKS
    assert list(read.episodes()) == [episode("e1", note="ä\n\u2028"), episode("e2")]
    assert list(read.verdicts()) == [verdict("e1"), verdict("e1", "message"), verdict("e2")]
    assert read.episode("e2") == episode("e2")
    assert read.episode("e3") is None
    assert read.verdicts_of("e1") == [verdict("e1"), verdict("e1", "message")]
    assert read.endings() == {"e1": "finished", "e2": "finished"}
    assert read.judged() == {"e1", "e2"}
    assert list(read.episodes_of({"e2"})) == [episode("e2")]
    assert list(read.episodes_of(set())) == []


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"outcome": "unscored"}, "an unscored verdict must give its reason"),
        ({"outcome": "unscored", "reason": ""}, "an unscored verdict must give its reason"),
        ({"outcome": "fail", "label": "A"}, r"label 'A' is not the first of labels \(\)"),
        ({"outcome": "fail", "labels": ("A",)}, r"label None is not the first of labels \('A',\)"),
        ({"outcome": "fail", "label": "B", "labels": ("A", "B")}, r"label 'B' is not the first of labels \('A', 'B'\)"),
    ],
)
def test_a_verdict_that_does_not_hang_together_is_refused(fields: dict[str, Any], sentence: str) -> None:
    plain = {"episode": "e", "lens": "state", "config": "c"}
    with pytest.raises(ValueError, match=sentence):
        Verdict(**plain, **fields)
    assert Verdict(**plain, outcome="fail", label="A", labels=("A", "B")).label == "A"  # type: ignore[arg-type]
    for outcome in ("pass", "fail", "vacuous"):
        assert Verdict(**plain, outcome=outcome).reason is None  # type: ignore[arg-type]


def test_the_last_line_of_a_key_wins(folder: RunFolder) -> None:
    folder.store([(episode("e1", ending="provider_error"), [verdict("e1", outcome="unscored")]), (episode("e2"), [])])
    folder.store([(episode("e1"), [verdict("e1")])])
    folder.store_verdicts([verdict("e1", config="c2", outcome="fail")])
    assert folder.endings() == {"e2": "finished", "e1": "finished"}
    assert [e.id for e in folder.episodes()] == ["e2", "e1"]
    assert list(folder.verdicts()) == [verdict("e1"), verdict("e1", config="c2", outcome="fail")]


def test_arranging_puts_lines_in_order_and_drops_those_that_lost(folder: RunFolder) -> None:
    for key in ("e3", "e1"):
        folder.store([(episode(key, ending="wall_time"), [verdict(key), verdict(key, "message")])])
    folder.store([(episode("e2"), [verdict("e2")]), (episode("e3"), [verdict("e3", outcome="fail")])])
    folder.store_verdicts([verdict("orphan")])
    folder.arrange(["e1", "e2", "e3"])
    lines = (folder.path / "episodes.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["e1", "e2", "e3"]
    assert [(v.episode, v.lens, v.outcome) for v in folder.verdicts()] == [
        ("e1", "state", "pass"), ("e1", "message", "pass"), ("e2", "state", "pass"),
        ("e3", "message", "pass"), ("e3", "state", "fail"), ("orphan", "state", "pass"),
    ]  # fmt: skip
    before = (folder.path / "episodes.jsonl").stat().st_ino
    folder.arrange(["e1", "e2", "e3"])
    assert (folder.path / "episodes.jsonl").stat().st_ino == before, "what is in order is not written again"


@pytest.mark.parametrize(
    "torn", [b'{"format":"readback.episode/1","id":"e3","task":"x', b"{", b"\x00" * 300, b"\xff\n"]
)
@pytest.mark.parametrize("name", ["episodes.jsonl", "verdicts.jsonl"])
def test_a_torn_last_line_is_passed_over_and_cut_away_before_writing(folder: RunFolder, torn: bytes, name: str) -> None:
    folder.store([(episode("e1"), [verdict("e1")]), (episode("e2"), [verdict("e2")])])
    folder.close()
    whole = (folder.path / name).read_bytes()
    (folder.path / name).write_bytes(whole + torn)
    said: list[str] = []
    read = RunFolder.open(folder.path, warn=said.append)
    assert [e.id for e in read.episodes()] == ["e1", "e2"]
    assert [v.episode for v in read.verdicts()] == ["e1", "e2"]
    assert said == [f"{str(folder.path / name)!r} ends in a torn line of {len(torn)} bytes, which was passed over"]
    with RunFolder.append(folder.path, warn=said.append) as again:
        assert (folder.path / name).read_bytes() == whole
        again.store([(episode("e3"), [verdict("e3")])])
    assert said[1:] == [f"{str(folder.path / name)!r} ended in a torn line of {len(torn)} bytes, which was cut away"]
    assert list(RunFolder.open(folder.path).endings()) == ["e1", "e2", "e3"]


def test_a_warning_is_the_default(folder: RunFolder) -> None:
    folder.store([(episode("e1"), [])])
    with (folder.path / "episodes.jsonl").open("a") as file:
        file.write("{")
    with pytest.warns(RunFolderWarning, match="torn line of 1 bytes"):
        assert list(RunFolder.open(folder.path).endings()) == ["e1"]


def test_every_possible_tear_keeps_all_lines_before_it(folder: RunFolder) -> None:
    folder.store([(episode("e1"), [])])
    end = (folder.path / "episodes.jsonl").stat().st_size
    folder.store([(episode("e2", note="x" * 200), [])])
    folder.close()
    whole = (folder.path / "episodes.jsonl").read_bytes()
    for length in range(end, len(whole) + 1):
        (folder.path / "episodes.jsonl").write_bytes(whole[:length])
        with RunFolder.append(folder.path, warn=lambda message: None) as torn:
            kept = list(torn.endings())
            torn.store([(episode("e3"), [])])
            assert list(torn.endings()) == [*kept, "e3"]
        # A line that only lacks its end is whole.
        assert kept == (["e1", "e2"] if length >= len(whole) - 1 else ["e1"])


def test_a_last_line_longer_than_a_block_may_be_torn(folder: RunFolder) -> None:
    folder.store([(episode("e1"), []), (episode("e2", note="x" * 300_000), [])])
    folder.close()
    path = folder.path / "episodes.jsonl"
    path.write_bytes(path.read_bytes()[:-100])
    with RunFolder.append(folder.path, warn=lambda message: None) as torn:
        assert list(torn.endings()) == ["e1"]


def test_a_broken_line_in_the_middle_is_an_error_that_names_it(folder: RunFolder) -> None:
    folder.store([(episode("e1"), [])])
    with (folder.path / "episodes.jsonl").open("a") as file:
        file.write('{"id": \n')
    folder.store([(episode("e2"), [])])
    with pytest.raises(RunFolderError, match=r"line 2 of '.*episodes\.jsonl' cannot be read"):
        folder.endings()


@pytest.mark.parametrize(
    ("line", "words"),
    [(b'{"format":"readback.episode/1","id":"e0","ta', "Invalid JSON"), (b'{"id":"e0"}', "Field required")],
)
def test_a_line_in_the_middle_that_only_begins_as_an_episode_is_named(
    folder: RunFolder, line: bytes, words: str
) -> None:
    (folder.path / "episodes.jsonl").write_bytes(line + b"\n")
    folder.store([(episode("e1"), [])])
    with pytest.raises(RunFolderError, match=rf"no Episode of this version \(.*{words}") as error:
        folder.endings()
    assert "\n" not in str(error.value)


def test_a_line_of_another_version_is_an_error_that_says_so(folder: RunFolder) -> None:
    line = episode("e1").line().replace("readback.episode/1", "readback.episode/2")
    (folder.path / "episodes.jsonl").write_text(line + "\n")
    with pytest.raises(RunFolderError, match=r"no Episode of this version \(format: Input should be"):
        list(folder.episodes())


def test_a_wrong_value_is_named_in_a_few_characters(folder: RunFolder) -> None:
    line = episode("e1").line().replace('"repeat":0', '"repeat":"' + "x" * 500 + '"')
    (folder.path / "episodes.jsonl").write_text(line + "\n")
    with pytest.raises(RunFolderError, match=r"\(repeat: Input should be a valid integer, .*, and is 'x{59}\.\.\.\)"):
        list(folder.episodes())


def test_a_description_that_is_nested_too_deeply_describes_no_run(folder: RunFolder) -> None:
    (folder.path / "run.json").write_text("[" * 5000 + "]" * 5000)
    with pytest.raises(RunFolderError, match="does not describe a run: it must be JSON with a format"):
        RunFolder.open(folder.path)


def test_a_key_that_a_newer_version_added_is_passed_over(folder: RunFolder) -> None:
    line = episode("e1").line()[:-1] + ',"mood":"good"}'
    (folder.path / "episodes.jsonl").write_text(line + "\n")
    assert list(folder.episodes()) == [episode("e1")]


def test_what_is_no_run_folder_is_refused_in_one_sentence(tmp_path: Path, folder: RunFolder) -> None:
    with pytest.raises(RunFolderError, match=r"is no run folder \(it has no run\.json\)"):
        RunFolder.open(tmp_path / "nothing")
    with pytest.raises(RunFolderError, match=rf"is no run folder .*; name one inside it, such as {folder.path}"):
        RunFolder.append(tmp_path)
    folder.close()
    for text in ("{", "[]", '"x"', "{}", "\xff"):
        (folder.path / "run.json").write_text(text, encoding="latin-1")
        with pytest.raises(RunFolderError, match="does not describe a run"):
            RunFolder.open(folder.path)
    (folder.path / "run.json").write_text('{"format": "readback.run/2"}')
    with pytest.raises(RunFolderError, match=r"in the format 'readback\.run/2', and this readback reads"):
        RunFolder.append(folder.path)


def test_a_folder_that_lacks_a_file_is_refused(folder: RunFolder) -> None:
    (folder.path / "episodes.jsonl").unlink()
    with pytest.raises(RunFolderError, match=r"lacks a file of a run: .*episodes\.jsonl'; put it back"):
        list(folder.episodes())


def test_verdicts_that_are_gone_can_be_made_again(folder: RunFolder) -> None:
    folder.store([(episode("e1"), [verdict("e1")])])
    folder.close()
    (folder.path / "verdicts.jsonl").unlink()
    with pytest.raises(RunFolderError, match=r"make it again by: readback score .*/run$"):
        list(RunFolder.open(folder.path).verdicts())
    told: list[str] = []
    with RunFolder.append(folder.path, warn=told.append) as again:
        assert told == [f"{str(folder.path / 'verdicts.jsonl')!r} was not there: all episodes are to be judged again"]
        assert (list(again.endings()), again.judged()) == (["e1"], set())


def test_a_folder_is_found_again_wherever_the_process_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with RunFolder.create("run", {"suite": "tally", "planned": 1}, TASKS) as folder:
        monkeypatch.chdir(tmp_path / "elsewhere")
        folder.store([(episode("e1"), [verdict("e1")])])
        folder.arrange(["e1"])
        assert folder.tasks() == TASKS
    assert str(folder.path) == "run"
    assert RunFolder.open(tmp_path / "run").episode("e1") == episode("e1")


def test_what_the_disk_refuses_says_what_to_do(tmp_path: Path, folder: RunFolder) -> None:
    (folder.path / "episodes.jsonl").unlink()
    (folder.path / "episodes.jsonl").mkdir()
    with pytest.raises(RunFolderError, match=r"cannot be written: Is a directory; .* mend that, then go on with"):
        folder.store([(episode("e1"), [])])
    (tmp_path / "file").touch()
    with pytest.raises(RunFolderError, match=r"cannot be made: Not a directory; mend that, or name another folder"):
        RunFolder.create(tmp_path / "file" / "run", {}, TASKS)


def test_nothing_is_overwritten(tmp_path: Path, folder: RunFolder) -> None:
    with pytest.raises(RunFolderError, match="go on with it by: readback resume"):
        RunFolder.create(folder.path, {}, TASKS)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(RunFolderError, match="name another with --out"):
        RunFolder.create(tmp_path / "mine", {}, TASKS)
    with pytest.raises(RunFolderError, match="is there already"):
        RunFolder.create(tmp_path / "mine" / "thesis.tex", {}, TASKS)


def test_a_folder_whose_maker_died_at_once_is_free(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    for name in ("tasks.jsonl", "run.json.0a1b2c3d.tmp", ".lock"):
        (tmp_path / "run" / name).write_text("half")
    with RunFolder.create(tmp_path / "run", {}, TASKS) as folder:
        assert folder.tasks() == TASKS
    with RunFolder.append(tmp_path / "run"):
        assert not list((tmp_path / "run").glob("*.tmp"))


def test_a_file_that_several_write_at_once_is_one_of_theirs(tmp_path: Path) -> None:
    def write(number: int) -> None:
        write_whole(tmp_path / "page", (bytes([65 + number]) * 1000 for _ in range(100)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(24)))
    content = (tmp_path / "page").read_bytes()
    assert (len(content), len(set(content))) == (100_000, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["page"]


def test_two_writers_never_share_a_folder(folder: RunFolder) -> None:
    with pytest.raises(RunFolderError, match=f"is being written by another process \\(number {os.getpid()}\\)"):
        RunFolder.append(folder.path)
    assert RunFolder.open(folder.path).endings() == {}
    folder.close()
    with RunFolder.append(folder.path):
        pass


def test_the_lock_of_a_dead_process_is_taken_over(folder: RunFolder) -> None:
    folder.close()
    script = f"""
import os, signal, sys
from harness.runfolder import RunFolder
folder = RunFolder.append({str(folder.path)!r})
print("locked", flush=True)
signal.pause()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(RunFolderError, match=f"number {other.pid}"):
            RunFolder.append(folder.path)
        other.kill()
    with RunFolder.append(folder.path) as taken:
        taken.store([(episode("e1"), [])])


def test_a_reader_cannot_write(folder: RunFolder) -> None:
    read = RunFolder.open(folder.path)
    with pytest.raises(RunFolderError, match="open to read only"):
        read.store([(episode("e1"), [])])


@pytest.mark.parametrize("room", range(0, 9000, 431))
def test_a_full_disk_loses_nothing_that_was_stored(folder: RunFolder, room: int) -> None:
    folder.store([(episode("e1"), [verdict("e1")])])
    before = {name: (folder.path / name).read_bytes() for name in ("episodes.jsonl", "verdicts.jsonl")}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = max(map(len, before.values()))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, hard))
    try:
        with pytest.raises(RunFolderError) as error:
            folder.store([(episode(f"f{n}"), [verdict(f"f{n}")]) for n in range(20)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(error.value) == (
        f"{str(folder.path)!r} cannot be written: File too large; all that was stored before is kept: make room, then"
        f" go on with: readback resume {folder.path}"
    )
    assert (folder.path / "episodes.jsonl").read_bytes() == before["episodes.jsonl"]
    # The verdicts go first: all of them are there, or none.
    verdicts = (folder.path / "verdicts.jsonl").read_bytes()
    assert verdicts[: len(before["verdicts.jsonl"])] == before["verdicts.jsonl"]
    assert verdicts.count(b"\n") in (1, 21)
    assert verdicts.endswith(b"\n")
    folder.store([(episode("e2"), [verdict("e2")])])
    assert list(folder.endings()) == ["e1", "e2"]
    assert [v.episode for v in folder.verdicts()][-1] == "e2"


def test_a_full_disk_while_arranging_leaves_the_files_as_they_were(folder: RunFolder) -> None:
    folder.store([(episode(key, note="x" * 500), []) for key in ("e2", "e1")])
    before = (folder.path / "episodes.jsonl").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, hard))
    try:
        with pytest.raises(RunFolderError, match="cannot be written: File too large"):
            folder.arrange(["e1", "e2"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (folder.path / "episodes.jsonl").read_bytes() == before
    assert not list(folder.path.glob("*.tmp"))


def test_an_interrupt_while_writing_leaves_no_part(folder: RunFolder) -> None:
    class Interrupting(Episode):
        def line(self) -> str:
            raise KeyboardInterrupt

    folder.store([(episode("e1"), [])])
    with pytest.raises(KeyboardInterrupt):
        folder.store([(episode("e2"), []), (Interrupting(**episode("e3").model_dump()), [])])
    assert list(folder.endings()) == ["e1"]


def test_reading_holds_one_episode_in_memory_at_a_time(folder: RunFolder) -> None:
    for start in range(0, 200, 20):
        folder.store([(episode(f"e{n}", note="x" * 100_000), []) for n in range(start, start + 20)])
    tracemalloc.start()
    try:
        assert sum(len(e.note) for e in folder.episodes()) == 20_000_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3_000_000


def test_a_task_survives_its_file(folder: RunFolder) -> None:
    assert isinstance(folder.tasks()[0], Task)
    assert folder.tasks()[0].digest == TASKS[0].digest
