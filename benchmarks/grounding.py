"""How many traces a second `kappa_ground` judges, against a plain implementation of the study's own description.

The corpus has the study's shape: 1,917 traces over 16 repositories (installed packages), 10 questions each, three
agents under two prompts in two seeds, several reads a trace, whole files and ranges of lines, as tools give them: a
JSON text. The plain implementation decodes and parses every result by `ast` and keeps nothing
(`tests/grounding/plain.py`).

    python -m benchmarks.grounding             # --list names every trace on which the two disagree
"""

from __future__ import annotations

import ast
import importlib.util
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from grounding import PAPER, REFUSAL, Answer, Answered, Cache, Grounding, kappa_ground, null_rate
from harness.trace import Call
from readback.grounding import Grounder
from readback.traces import Found, find_traces
from tests.grounding.plain import plain_outcome

T = TypeVar("T")

TRACES = 1_917
QUESTIONS = 10
REPOSITORIES = (
    "requests", "click", "rich", "jinja2", "starlette", "uvicorn", "werkzeug", "typer", "attr", "hypothesis", "tqdm",
    "packaging", "anyio", "aiohttp", "urllib3", "pint",
)  # fmt: skip
STYLES = ("reads", "reads", "reads", "reads much", "recalls", "wrong", "refuses")
RESULT_LIMIT = 60_000
"""Characters that the corpus's read_file gives at most."""
RANGES = 0.2
"""The share of reads that ask for a range of lines; the rest ask for the file."""
RANGE = 120
"""Lines of a range."""
CHUNK = 100
"""Traces that one way judges before it is the next one's turn."""


@dataclass(frozen=True)
class File:
    path: str
    text: str


@dataclass(frozen=True)
class Symbol:
    name: str
    file: File
    line: int
    others: tuple[str, ...]


@dataclass(frozen=True)
class Trace:
    id: str
    group: str
    question: str
    calls: tuple[Call, ...]
    answer: str
    loss: tuple[str, ...] = ()

    def messages(self) -> str:
        """The trace as a line of chat messages."""
        messages: list[dict[str, object]] = [{"role": "user", "content": f"Repository: {self.group}\n{self.question}"}]
        for call in self.calls:
            function = {"name": call.name, "arguments": json.dumps(call.arguments)}
            asked = {"id": f"c{call.position}", "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [asked]})
            messages.append({"role": "tool", "tool_call_id": f"c{call.position}", "content": call.result})
        return json.dumps({"id": self.id, "messages": [*messages, {"role": "assistant", "content": self.answer}]})


def corpus(traces: int = TRACES) -> list[Trace]:
    """The corpus: the same on every run over the same packages."""
    draw = random.Random(1)
    made = []
    for name in REPOSITORIES:
        files = list(_files(name))
        symbols = draw.sample(list(_symbols(files)), QUESTIONS)
        for question, symbol in enumerate(symbols):
            for attempt in range(-(-TRACES // (len(REPOSITORIES) * QUESTIONS))):
                made.append(_trace(name, question, attempt, symbol, files, draw))
    return made[:traces]


def _files(package: str) -> Iterator[File]:
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.submodule_search_locations, f"the corpus needs the package {package}"
    root = Path(next(iter(spec.submodule_search_locations)))
    for path in sorted(root.rglob("*.py")):
        yield File(f"src/{path.relative_to(root.parent).as_posix()}", path.read_text("utf-8"))


def _symbols(files: Sequence[File]) -> Iterator[Symbol]:
    for file in files:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(file.text).body
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                inner = node.body if isinstance(node, ast.ClassDef) else []
                methods = tuple(f"{node.name}.{n.name}()" for n in inner if isinstance(n, ast.FunctionDef))
                yield Symbol(node.name, file, node.lineno, methods[:3])


def _trace(name: str, question: int, attempt: int, symbol: Symbol, files: Sequence[File], draw: random.Random) -> Trace:
    style = STYLES[(question * 12 + attempt) % len(STYLES)]
    calls = [Call(position=1, step=1, name="list_directory", arguments={"path": "."}, status="ok", result="src\n")]
    read = [draw.choice(files) for _ in range(draw.randint(2, 10 if style == "reads much" else 6))]
    if style.startswith("reads"):
        read.insert(draw.randrange(len(read) + 1), symbol.file)
    for file in read if style != "recalls" else ():
        calls.append(_read(len(calls) + 1, file, symbol if file is symbol.file else None, draw))
    answer = REFUSAL if style == "refuses" else _answer(symbol, draw.choice(files).path if style == "wrong" else None)
    asked = f"In the {name} repository, where is the {symbol.name} defined? Provide the exact file path."
    return Trace(f"{name}/{question}/{attempt}", name, asked, tuple(calls), answer)


def _read(position: int, file: File, symbol: Symbol | None, draw: random.Random) -> Call:
    """A whole file or a range of lines, no more than the limit."""
    lines = file.text.split("\n")
    first = 1
    if draw.random() < RANGES:
        around = symbol.line if symbol else draw.randint(1, len(lines))
        first = max(1, around - draw.randint(0, 60))
    text = "\n".join(lines[first - 1 :][: len(lines) if first == 1 else RANGE])
    result = {"path": file.path, "content": text[:RESULT_LIMIT], "start_line": first, "total_lines": len(lines)}
    return Call(
        position=position, step=position, name="read_file", arguments={"path": file.path, "start_line": first},
        status="ok", result=json.dumps(result), cut_by="tool" if len(text) > RESULT_LIMIT else None,
    )  # fmt: skip


def _answer(symbol: Symbol, path: str | None) -> str:
    methods = f" Its methods include {', '.join(f'`{method}`' for method in symbol.others)}." if symbol.others else ""
    return (
        f"The `{symbol.name}` is defined in `{path or symbol.file.path}`.\n\n**Details:** I looked at the directory"
        f" structure first and then at the source. It is declared around line {symbol.line}.{methods} No other file"
        " of the repository defines it."
    )


@dataclass(frozen=True)
class Speed:
    """Traces a second on one core (processor time): ours with and without the cache, and the plain implementation."""

    traces: int
    reads_a_trace: float
    kilobytes_a_trace: float
    cached: float
    uncached: float
    plain: float
    cached_times_plain: float
    uncached_times_plain: float


@dataclass(frozen=True)
class Agreement:
    """Ours and plain, entity by entity, where `ast` can parse every result of a trace, and over the others."""

    parsed: int
    same_outcome: int
    same_entities: int
    with_fragments: int
    same_outcome_with_fragments: int
    only_ours_sees: int
    only_plain_sees: int


def _plainly(traces: Sequence[Trace]) -> list[tuple[str, dict[str, bool], int]]:
    return [plain_outcome(trace.calls, trace.answer) for trace in traces]


def measure(traces: Sequence[Trace]) -> tuple[Speed, Agreement, list[str]]:
    """The speeds, the agreement, and each trace on which the two disagree."""
    kept = Cache()
    cached = uncached = plain = 0.0
    ours: list[Grounding] = []
    theirs: list[tuple[str, dict[str, bool], int]] = []
    for at in range(0, len(traces), CHUNK):  # in turns, so that a busy machine slows all three alike
        some = traces[at : at + CHUNK]
        seconds, judged = _seconds(partial(_judge, some, kept))
        cached += seconds
        seconds, again = _seconds(partial(_judge, some, Cache(0)))
        uncached += seconds
        seconds, seen = _seconds(partial(_plainly, some))
        plain += seconds
        assert [each.outcome for each in judged] == [each.outcome for each in again]
        ours += judged
        theirs += seen
    counts = dict.fromkeys(Agreement.__annotations__, 0)
    lines = []
    for trace, our, (outcome, shown, unparsed) in zip(traces, ours, theirs, strict=True):
        entities = {f"{entity.kind} {entity.text}": entity.outcome == "pass" for entity in our.entities}
        differing = [name for name in shown if entities[name] != shown[name]]
        counts["with_fragments" if unparsed else "parsed"] += 1
        counts["same_outcome_with_fragments" if unparsed else "same_outcome"] += our.outcome == outcome
        counts["same_entities"] += not unparsed and not differing
        counts["only_ours_sees"] += sum(entities[name] for name in differing)
        counts["only_plain_sees"] += sum(shown[name] for name in differing)
        if our.outcome != outcome or differing:
            note = f"{unparsed} results that ast cannot parse" if unparsed else "every result parsed"
            lines.append(f"{trace.id}: ours {our.outcome}, plain {outcome} ({note}); {', '.join(differing)}")
    reads = [call for trace in traces for call in trace.calls if call.name == "read_file"]
    size = len(traces)
    speed = Speed(
        traces=size, reads_a_trace=len(reads) / size, kilobytes_a_trace=sum(len(c.result) for c in reads) / size / 1000,
        cached=size / cached, uncached=size / uncached, plain=size / plain,
        cached_times_plain=plain / cached, uncached_times_plain=plain / uncached,
    )  # fmt: skip
    return speed, Agreement(**counts), lines


def _judge(traces: Sequence[Trace], cache: Cache) -> list[Grounding]:
    return [kappa_ground(trace, trace.answer, PAPER, cache=cache) for trace in traces]


def _seconds(work: Callable[[], T]) -> tuple[float, T]:
    began = time.process_time()
    done = work()
    return time.process_time() - began, done


@dataclass(frozen=True)
class Streamed:
    """A file of so many traces read and judged one by one, as `readback ground` does; `megabytes` is the peak."""

    traces: int
    per_second: float
    megabytes: float


def streamed(file: Path) -> Streamed:
    """Judge a file, in this process, whose peak memory is then of this work alone."""
    grounder = Grounder([PAPER])
    began = time.process_time()
    for found in find_traces(file):
        assert isinstance(found, Found)
        grounder.judge(found)
    grounder.totals()
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Streamed(grounder.judged, grounder.judged / seconds, peak)


def _streamed_apart(traces: Sequence[Trace], times: int) -> Streamed:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "traces.jsonl"
        with file.open("w", encoding="utf-8") as out:
            for _ in range(times):
                out.writelines(f"{trace.messages()}\n" for trace in traces)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.grounding", "--stream", str(file)],
            capture_output=True,
            text=True,
            check=True,
        )
    return Streamed(**json.loads(done.stdout))


def main() -> None:
    """Print every measurement."""
    if len(sys.argv) == 3 and sys.argv[1] == "--stream":
        print(json.dumps(asdict(streamed(Path(sys.argv[2])))))
        return
    traces = corpus()
    speed, agreement, lines = measure(traces)
    answered = [Answered(t.id, t.group, t.question, t, Answer.of(t.answer)) for t in traces]
    seconds, null = _seconds(lambda: null_rate(answered, PAPER, cache=Cache()))
    for measured in (speed, agreement, _streamed_apart(traces, 1), _streamed_apart(traces, 4)):
        values = {name: round(value, 2) for name, value in asdict(measured).items()}
        print(type(measured).__name__, values)
    print("Null", {**asdict(null), "seconds": round(seconds, 2)})
    parsed = sum("every result parsed" in line for line in lines)
    print(f"{len(lines)} disagreements, {parsed} of them where ast can parse every result (--list names them)")
    for line in lines if "--list" in sys.argv else ():
        print(f"  {line}")


if __name__ == "__main__":
    main()
