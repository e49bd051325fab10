"""`readback ground`: traces recorded anywhere, judged from their files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import validator_for

from grounding import POLICIES, REFUSAL
from readback.grounding import GroundingDocument
from readback.schemas import schema
from tests.readback.command import Ended, finished, readback, started
from tests.support import ROOT

TEXT = "class HTTPAdapter:\n    def send(self, request_body): ...\n"


def chat(
    answer: str, *reads: str, tool: str = "read_file", repository: str = "requests", **outer: Any
) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Repository: {repository}\nWhere? {answer}"}]
    for at, path in enumerate(reads):
        function = {"name": tool, "arguments": json.dumps({"path": path})}
        messages.append(
            {"role": "assistant", "tool_calls": [{"id": f"c{at}", "type": "function", "function": function}]}
        )
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": TEXT})
    return {"messages": [*messages, {"role": "assistant", "content": answer}], **outer}


def write(file: Path, *traces: Any) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"{json.dumps(trace)}\n" for trace in traces))
    return file


@pytest.fixture
def four(tmp_path: Path) -> Path:
    """One trace of each outcome."""
    unscored = chat("src/a.py", "src/a.py", id="cut")
    del unscored["messages"][-1]
    return write(
        tmp_path / "four.jsonl",
        chat("src/a.py defines HTTPAdapter", "src/a.py", id="right"),
        chat("src/b.py defines HTTPAdapter.send() and Session_Pool", "src/a.py", id="wrong"),
        chat(REFUSAL, "src/a.py", id="refused"),
        unscored,
    )


def document(ended: Ended) -> dict[str, Any]:
    value = ended.document
    validator_for(schema("grounding")).validate(value)
    assert GroundingDocument.model_validate(value)
    return value


def test_a_line_a_trace_with_each_entity_and_the_call_that_supports_it_and_the_totals(four: Path) -> None:
    ended = readback("ground", four)
    assert ended.out == (
        f"pass  {four} right\n"
        "    pass  path src/a.py: call 1, read at 0\n"
        "    pass  identifier HTTPAdapter: call 1, defined at 6\n"
        f"fail UNGROUNDED  {four} wrong\n"
        "    fail  path src/b.py: no read_file result is of this path\n"
        "    pass  signature HTTPAdapter.send(: call 1, defined at 27\n"
        "    fail  identifier Session_Pool: no definition in any read_file result\n"
        f"vacuous REFUSAL  {four} refused\n"
        f"unscored  {four} cut: the trace ends in a call of read_file, without an answer\n"
        "\n"
        "1 pass, 1 fail, 1 vacuous (1 of them refusals), 1 unscored; grounded 50.0%, between 33.3% and 66.7% with the"
        " unscored (null 50.0% over 4 pairs)\n"
    )
    assert ended.code == 3  # something is unscored


def test_several_calls_that_support_an_entity_are_counted(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", chat("src/a.py defines HTTPAdapter", "src/a.py", "src/b.py", "src/c.py"))
    lines = readback("ground", file).out.splitlines()
    assert lines[1:3] == [
        "    pass  path src/a.py: call 1, read at 0",
        "    pass  identifier HTTPAdapter: call 1, defined at 6 (and in 2 more calls)",
    ]


def test_the_document_holds_each_entity_with_its_support(four: Path) -> None:
    value = document(readback("ground", four, "--json"))
    assert list(value)[:4] == ["format", "policy", "totals", "traces"]
    assert value["format"] == "readback.grounding/1"
    assert value["policy"] == {"name": "paper", "digest": POLICIES["paper"].digest}
    totals = value["totals"]
    assert [totals[key] for key in ("pass", "fail", "vacuous", "unscored", "refusal")] == [1, 1, 1, 1, 1]
    assert (totals["rate"], totals["bounds"], totals["null_rate"]) == (0.5, [1 / 3, 2 / 3], 0.5)
    right, wrong, refused, cut = value["traces"]
    path, name = right["entities"]
    assert (path["text"], path["kind"], path["span"], path["outcome"]) == ("src/a.py", "path", [0, 8], "pass")
    assert {key: path["support"][0][key] for key in ("call", "span", "how", "rule")} == {
        "call": 1, "span": [0, 8], "how": "read", "rule": None,
    }  # fmt: skip
    assert right["answer"][slice(*name["span"])] == name["text"] == "HTTPAdapter"
    assert TEXT[slice(*name["support"][0]["span"])] == "HTTPAdapter"
    assert (wrong["outcome"], wrong["labels"]) == ("fail", ["UNGROUNDED"])
    assert [entity["why"] for entity in wrong["entities"] if entity["outcome"] == "pass"] == [None]
    assert (refused["outcome"], refused["labels"], refused["entities"]) == ("vacuous", ["REFUSAL"], [])
    assert (cut["outcome"], cut["answer"]) == ("unscored", None)
    assert all(trace["file"] == str(four) and trace["loss"] for trace in value["traces"])


def test_lines_are_the_traces_of_the_document(four: Path) -> None:
    lines = [json.loads(line) for line in readback("ground", four, "--jsonl").out.splitlines()]
    assert lines == document(readback("ground", four, "--json"))["traces"]


@pytest.mark.parametrize(("policy", "outcome"), [("paper", "fail"), ("mention", "pass"), ("exact", "fail")])
def test_the_policy_is_the_users_choice(tmp_path: Path, policy: str, outcome: str) -> None:
    file = write(tmp_path / "a.json", chat("It takes request_body", "src/a.py"))
    value = document(readback("ground", file, "--json", "--policy", policy))
    assert (value["policy"]["name"], value["traces"][0]["outcome"]) == (policy, outcome)


def test_sensitivity_is_the_table_over_policies(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", chat("request_body", "src/a.py"), chat("httpadapter_x HTTPadapter", "src/a.py"))
    ended = readback("ground", file, "--sensitivity")
    assert ended.out.splitlines()[-4:] == [
        "policy   pass  fail  vacuous  unscored  grounded   null  differs",
        "paper       0     2        0         0      0.0%   0.0%        0",
        "mention     1     1        0         0     50.0%  50.0%        1",
        "exact       0     2        0         0      0.0%   0.0%        0",
    ]
    value = document(readback("ground", file, "--sensitivity", "--json"))
    assert [each["policy"]["name"] for each in value["sensitivity"]] == ["paper", "mention", "exact"]
    assert value["traces"][0]["policies"] == {"paper": "fail", "mention": "pass", "exact": "fail"}


def test_tools_of_other_names_are_named_by_the_user(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", chat("src/a.py", "src/a.py", tool="view"))
    ended = readback("ground", file)
    assert ended.code == 0
    assert "fail UNGROUNDED" in ended.out
    assert ended.err.strip() == (
        "note: 1 trace calls no tool that reads (read_file); it calls view. If one of these shows files, name it with"
        " --read-tool"
    )
    ended = readback("ground", file, "--read-tool", "view", "--json")
    assert document(ended)["traces"][0]["outcome"] == "pass"
    assert document(ended)["policy"]["digest"] != POLICIES["paper"].digest
    assert ended.err == ""


def test_of_charts_it_is_said_where_their_answers_are_judged(tmp_path: Path) -> None:
    asked = {"id": "c", "type": "function", "function": {"name": "fhir_search", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "How is the potassium?"},
        {"role": "assistant", "content": None, "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "c", "content": "{}"},
        {"role": "assistant", "content": "It is 4.1 mmol/L."},
    ]
    file = write(tmp_path / "a.json", {"id": "sha256:0123456789abcdef", "messages": messages})
    ended = readback("ground", file)
    assert ended.out.splitlines()[0] == f"vacuous  {file} 0123456789ab"
    assert "they call" not in ended.err
    assert "it calls fhir_search. What answers say of charts is judged by the lens grounding of their run" in ended.err


def test_tools_that_are_known_to_read_nothing_are_not_asked_about(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", chat("src/a.py", "src", tool="list_directory"))
    ended = readback("ground", file)
    assert "fail UNGROUNDED" in ended.out
    assert ended.err == ""


def test_a_broken_file_is_named_and_the_others_are_judged(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    write(tmp_path / "b.json", chat("src/a.py", "src/a.py"))
    ended = readback("ground", tmp_path, "--json")
    assert ended.code == 2
    assert ended.sentence.startswith(f"'{tmp_path}/a.json' is no JSON")
    value = document(ended)
    assert [trace["outcome"] for trace in value["traces"]] == ["pass"]
    assert [(each["file"], each["number"]) for each in value["problems"]] == [(str(tmp_path / "a.json"), None)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing.json"], "there is no 'missing.json'; name a file or folder of traces"),
        (["empty.jsonl"], "'empty.jsonl': there is no trace in it"),
        (["broken.json"], "'broken.json' is no JSON"),
        (["t.json", "--json", "--jsonl"], "--json and --jsonl cannot both be"),
        (["t.json", "--policy", "strict"], "invalid value for '--policy'"),
        (["t.json", "--fail-under", "success=1"], "--fail-under: 'success' is not measured here; write grounding=RATE"),
        (["t.json", "--fail-under", "grounding=2"], "--fail-under: '2' in 'grounding=2' is no rate"),
    ],
)
def test_a_mistake_is_one_sentence_and_prints_nothing_else(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    write(tmp_path / "t.json", chat("src/a.py", "src/a.py"))
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "broken.json").write_text("{")
    ended = finished("ground", *arguments, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.sentence.startswith(sentence)


def test_a_threshold_that_is_missed_ends_in_1(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", chat("src/a.py", "src/a.py"), chat("src/b.py", "src/a.py"))
    assert readback("ground", file, "--fail-under", "grounding=0.5").code == 0
    ended = readback("ground", file, "--fail-under", "grounding=0.8")
    assert (ended.code, ended.sentence) == (1, "the grounded rate is 50.0%, under 80.0%")


def test_the_null_takes_traces_of_the_same_repository_only(tmp_path: Path) -> None:
    apart = [chat("src/a.py", "src/a.py", repository="one"), chat("src/b.py", "src/b.py", repository="two")]
    totals = document(readback("ground", write(tmp_path / "a.jsonl", *apart), "--json"))["totals"]
    assert (totals["null_rate"], totals["null_pairs"]) == (None, 0)
    assert totals["null_why"] == "no answer could be judged against a trace of another question"


def test_a_folder_of_many_traces_is_streamed(tmp_path: Path) -> None:
    for at in range(1_500):
        trace = chat(f"src/a{at % 7}.py", f"src/a{at % 5}.py", id=str(at))
        write(tmp_path / f"{at // 100:02d}" / f"{at:04d}.json", trace)
    with started("ground", tmp_path, "--jsonl", cwd=tmp_path) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        out, err = process.communicate()
    assert (first["id"], process.returncode) == ("0", 0)
    assert [json.loads(line)["id"] for line in out.splitlines()] == [str(at) for at in range(1, 1_500)]
    assert "215 pass, 1285 fail, 0 vacuous, 0 unscored; grounded 14.3% (null" in err


def test_the_peak_of_memory_does_not_grow_with_the_traces(tmp_path: Path) -> None:
    traces = [chat(f"src/a{at}.py", f"src/a{at}.py", repository="x" * 2_000) for at in range(300)]
    few, many = write(tmp_path / "few.jsonl", *traces), write(tmp_path / "many.jsonl", *traces * 10)
    assert peak(many) < peak(few) * 1.15


def peak(file: Path) -> int:
    """Kilobytes that a process of its own holds at most while it judges the traces of a file."""
    program = "import resource; from readback.cli import main; main(); print(resource.getrusage(0).ru_maxrss)"
    done = subprocess.run(
        [sys.executable, "-c", program, "ground", str(file)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return int(done.stdout.splitlines()[-1])


def test_an_answer_hides_nothing_on_the_terminal(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", chat("Foo\u202eBar", "src/a.py"))
    assert "‹U+202E›" in readback("ground", file).out


def test_the_help_of_ground_imports_nothing_heavy() -> None:
    ended = readback("ground", "--help")
    assert ended.code == 0
    assert "--read-tool" in ended.out
