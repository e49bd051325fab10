"""Files of traces: found, read one by one, and named where they hold none."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from harness.trace import Call, Episode
from readback.traces import Found, Problem, TraceError, find_traces, trace_files

CHAT: dict[str, Any] = {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "src/a.py"}]}


def episode(**fields: Any) -> Episode:
    plain = {"id": "sha256:e", "task": "repoqa/requests/7", "task_digest": "d", "agent": "a", "condition": "default"}
    call = Call(position=1, step=1, name="read_file", arguments={"path": "a.py"}, status="ok", result={"content": "x"})
    return Episode(**plain | {"variant": {}, "ending": "finished", "calls": (call,), "answer": ("src/a.py",)} | fields)


def found(file: Path) -> list[Found]:
    traces = list(find_traces(file))
    assert all(isinstance(trace, Found) for trace in traces), traces
    return traces  # type: ignore[return-value]


def problem(file: Path) -> str:
    (only,) = find_traces(file)
    assert isinstance(only, Problem)
    assert only.said.startswith(f"'{file}")
    return only.said.replace(str(file), "FILE")


def write(file: Path, *values: Any) -> Path:
    file.write_text("".join(f"{json.dumps(value)}\n" for value in values))
    return file


def test_a_json_file_is_one_trace(tmp_path: Path) -> None:
    (only,) = found(write(tmp_path / "t1.json", CHAT))
    assert (only.file, only.trace.id) == (str(tmp_path / "t1.json"), "t1")


def test_a_jsonl_file_is_one_trace_a_line(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(f"{json.dumps(CHAT)}\r\n\n{json.dumps({**CHAT, 'id': 'x'})}")
    assert [each.trace.id for each in found(file)] == ["t:1", "x"]


def test_a_json_file_may_be_a_list_of_traces_or_of_messages(tmp_path: Path) -> None:
    assert [each.trace.id for each in found(write(tmp_path / "a.json", [CHAT, CHAT]))] == ["a:1", "a:2"]
    assert [each.trace.id for each in found(write(tmp_path / "b.json", CHAT["messages"]))] == ["b"]


def test_a_json_file_that_is_one_trace_a_line_is_read_so(tmp_path: Path) -> None:
    assert len(found(write(tmp_path / "a.json", CHAT, CHAT))) == 2


def test_a_file_of_messages_one_a_line_is_one_trace(tmp_path: Path) -> None:
    (only,) = found(write(tmp_path / "a.jsonl", *CHAT["messages"]))
    assert only.trace.answer is not None
    assert only.trace.answer.text == "src/a.py"


def test_our_own_episodes_are_read(tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    file.write_text(f"{episode().line()}\n{episode(id='sha256:f', ending='provider_error', loss=('x',)).line()}\n")
    one, other = (each.trace for each in found(file))
    assert (one.id, one.question, one.group, one.given) == (
        "sha256:e",
        "repoqa/requests/7",
        "repoqa/requests",
        ("requests",),
    )
    assert one.answer is not None
    assert (one.answer.text, one.calls[0].arguments) == ("src/a.py", {"path": "a.py"})
    assert (other.answer, other.why, other.loss) == (None, "the episode ended as provider_error", ("x",))


def test_an_episode_of_a_later_version_with_more_keys_is_read(tmp_path: Path) -> None:
    assert len(found(write(tmp_path / "a.json", {**json.loads(episode().line()), "mood": "good"}))) == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "'FILE' is no JSON (input is a zero-length, empty document"),
        ("{", "'FILE' is no JSON (unexpected end of data"),
        ("hello", "'FILE' is no JSON (unexpected character"),
        ("[" * 100_000, "'FILE' is no JSON ("),
        ("{}", "'FILE' has no messages (its keys are )"),
        (
            '{"format": "readback.episode/2"}',
            "'FILE' is a 'readback.episode/2', and traces of our own are 'readback.episode/1'",
        ),
        ('{"format": "readback.task/1"}', "'FILE' is a 'readback.task/1'"),
        ('{"format": "readback.episode/1"}', "'FILE' is a broken readback.episode/1: id: field required"),
    ],
)
def test_a_file_that_holds_no_trace_is_named_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    assert problem(file).startswith(sentence)


def test_a_broken_line_is_named_by_its_number_and_the_others_are_read(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(f'{json.dumps(CHAT)}\n{{"messages":\n{json.dumps(CHAT)}\n')
    first, broken, last = find_traces(file)
    assert isinstance(first, Found)
    assert isinstance(last, Found)
    assert isinstance(broken, Problem)
    assert (broken.line, broken.said[:60].startswith(f"'{file}:2' is no JSON"[:60])) == (2, True)
    assert last.trace.id == "x:3"


def test_what_python_writes_as_json_is_read(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    odd = json.dumps(CHAT | {"score": float("nan")}).replace("src/a.py", "\\ud800 src/a.py")
    file.write_bytes(b"\xef\xbb\xbf" + odd.encode())
    assert len(found(file)) == 1
    file.write_bytes(json.dumps(CHAT).replace("?", "é").encode("latin-1"))
    assert len(found(file)) == 1


def test_folders_give_their_files_in_order(tmp_path: Path) -> None:
    for name in ("b/2.json", "a/1.jsonl", "c.JSON", "notes.txt", "b/x/3.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write(tmp_path / name, CHAT)
    names = [path.relative_to(tmp_path).as_posix() for path in trace_files([tmp_path])]
    assert names == ["c.JSON", "a/1.jsonl", "b/2.json", "b/x/3.json"]
    assert trace_files([tmp_path / "notes.txt"]) == [tmp_path / "notes.txt"]


def test_in_folders_nobody_waits_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.json")
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    write(tmp_path / "t.json", CHAT)
    assert [path.name for path in trace_files([tmp_path])] == ["loop.json", "t.json"]
    assert "cannot be read" in problem(tmp_path / "loop.json")


def test_of_a_runs_folder_only_its_episodes_count(tmp_path: Path) -> None:
    for name in ("run.json", "tasks.jsonl", "episodes.jsonl", "verdicts.jsonl"):
        write(tmp_path / name, {})
    assert [path.name for path in trace_files([tmp_path])] == ["episodes.jsonl"]


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_a_path_without_traces_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(TraceError, match=rf"'.*{name}'"):
        trace_files([tmp_path / name])


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    (only,) = find_traces(tmp_path / "gone.json")
    assert isinstance(only, Problem)
    assert only.said.endswith("cannot be read: No such file or directory")


def test_memory_holds_one_trace_at_a_time(tmp_path: Path) -> None:
    big = {"messages": [*CHAT["messages"][:1], {"role": "assistant", "content": "x" * 100_000}]}
    file = write(tmp_path / "big.jsonl", *[big] * 100)
    tracemalloc.start()
    assert sum(isinstance(each, Found) for each in find_traces(file)) == 100
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000_000
