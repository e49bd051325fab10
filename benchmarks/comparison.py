"""`compare` on 2,000 judged episodes with 2,000 bootstrap draws: under 10 s.

    python -m benchmarks.comparison

The run is made here: 16 repositories, 125 questions each, two models under two conditions, some 60 kB of trace an
episode; the predicate, and two judges with five votes and a reason each.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.runfolder import RunFolder
from harness.stats import DRAWS
from harness.task import Task
from harness.trace import Call, Episode, Usage
from harness.verdict import Clause, Evidence, Outcome, Verdict
from readback.comparison import compare_runs
from readback.comparison.document import Comparison

EPISODES, REPOSITORIES = 2_000, 16
_CLOCK = "2026-01-15T10:15:00+00:00"
_WORDS = "parse frame ledger tide signal route packet cursor anchor ballast quota shard".split()  # noqa: SIM905


@dataclass(frozen=True)
class Compared:
    """How long it took, in seconds: the median of some runs in one process, the first left out."""

    episodes: int
    megabytes: float
    pairs: int
    draws: int
    seconds: float


def make_run(path: Path, episodes: int = EPISODES, *, seed: int = 1) -> Path:
    """A judged run of so many episodes."""
    generator = random.Random(seed)
    tasks = list(_tasks(episodes // 4, generator))
    about = {"suite": "repoqa", "suite_digest": "sha256:bench", "seed": seed, "planned": episodes}
    with RunFolder.create(path, about, tasks) as folder:
        batch: list[tuple[Episode, list[Verdict]]] = []
        for number in range(episodes):
            task = tasks[number // 4]
            batch.append(_played(number, task, generator))
            if len(batch) == 200:
                folder.store(batch)
                batch = []
        folder.store(batch)
    return path


def _tasks(count: int, generator: random.Random) -> Iterator[Task]:
    for number in range(count):
        repository = f"repository-{number % REPOSITORIES}"
        symbol = "_".join(generator.sample(_WORDS, 2))
        yield Task.make(
            id=f"repoqa/{repository}/definition-{number:04}", suite="repoqa", template="definition",
            cluster=repository, kind="read", requires=("answer",), needs_write=False, needs_chart=True,
            instruction=f"In the {repository} repository, where is the function {symbol} defined?",
            tools=("list_directory", "read_file", "finish"), clock=_CLOCK,
            parameters={"bucket": ("high", "mid", "low")[number % 3], "symbol": symbol},
        )  # fmt: skip


def _played(number: int, task: Task, generator: random.Random) -> tuple[Episode, list[Verdict]]:
    symbol = str(task.parameters["symbol"])
    files = [f"src/{generator.choice(_WORDS)}/{generator.choice(_WORDS)}{i}.py" for i in range(6)]
    calls = [_call(i, name, symbol if i == 5 else None, generator) for i, name in enumerate(files, 1)]
    seen, right, one, two = (generator.random() < p for p in (0.4, 0.6, 0.3, 0.5))
    episode = Episode(
        id=f"sha256:{number:064x}", task=task.id, task_digest=task.digest, agent=f"openai:model-{number % 2}",
        condition=("default", "grounded")[number // 2 % 2], variant={"protocol": "tools", "counterfactual": None},
        ending="finished", claim="done", answer=(files[4] if seen else "src/elsewhere.py",),
        note=f"{symbol} is defined there.", calls=tuple(calls), usage=Usage(input=9_000, output=300, calls=7),
    )  # fmt: skip
    return episode, [
        _verdict(episode, "answer", "pass" if right else "fail", ()),
        _verdict(episode, "grounding", "pass" if seen else "fail", _entities(episode, symbol, seen, calls[4])),
        _verdict(episode, "judge", "pass" if one else "fail", _votes(one, generator), config="one"),
        _verdict(episode, "judge", "pass" if two else "fail", _votes(two, generator), config="two"),
    ]


def _call(position: int, path: str, symbol: str | None, generator: random.Random) -> Call:
    lines = [f"def {generator.choice(_WORDS)}_{line}(value):\n    return value + {line}\n" for line in range(200)]
    if symbol:
        lines[100] = f"def {symbol}(value):\n    return value\n"
    content = "".join(lines)
    return Call(
        position=position, step=position, name="read_file", arguments={"path": path}, status="ok",
        result={"path": path, "content": content, "start_line": 1, "end_line": 400, "total_lines": 400},
    )  # fmt: skip


def _entities(episode: Episode, symbol: str, seen: bool, call: Call) -> tuple[Clause, ...]:
    at = call.result["content"].index(symbol)
    answer = str(episode.answer[0])
    outcome: Outcome = "pass" if seen else "fail"
    return (
        Clause(name=f"path {answer}", outcome=outcome, expected="seen", actual="read at 0" if seen else "not seen",
               label=None if seen else "UNGROUNDED", evidence=Evidence(call=call.position) if seen else None),
        Clause(name=f"identifier {symbol}", outcome="pass", expected="seen", actual=f"defined at {at}",
               evidence=Evidence(call=call.position)),
    )  # fmt: skip


def _votes(passes: bool, generator: random.Random) -> tuple[Clause, ...]:
    votes = []
    for number in range(1, 6):
        outcome: Outcome = "pass" if (generator.random() < 0.85) == passes else "fail"
        reason = " ".join(generator.choice(_WORDS) for _ in range(45))
        votes.append(Clause(name=f"vote {number}", outcome=outcome, actual=None, why=reason))
    return tuple(votes)


def _verdict(
    episode: Episode, lens: str, outcome: Outcome, clauses: tuple[Clause, ...], config: str = "only"
) -> Verdict:  # fmt: skip
    return Verdict(episode=episode.id, lens=lens, config=f"sha256:{lens}-{config}", outcome=outcome, clauses=clauses)


def measure(folder: Path, runs: int = 3) -> Compared:
    """Compare the run, reading it each time."""

    def compare() -> Comparison:
        return compare_runs([RunFolder.open(folder)], disagreements=20)

    compared, seconds = compare(), []
    for _ in range(runs):
        start = time.perf_counter()
        compared = compare()
        seconds.append(time.perf_counter() - start)
    size = (folder / "episodes.jsonl").stat().st_size / 1e6
    pairs = len(compared.pairs) + sum(len(split.pairs) for split in compared.splits)
    return Compared(compared.episodes, round(size, 1), pairs, DRAWS, round(statistics.median(seconds), 2))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(asdict(measure(make_run(Path(folder) / "run"))))


if __name__ == "__main__":
    main()
