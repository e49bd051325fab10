"""What judging costs beside the judges: calls kept in flight, time lost to overhead, and a second pass from the cache.

A stub in a process of its own answers each request 50 ms after it came, in OpenAI's wire format, and counts how many
are in flight. The requests go through the official library, as to any server.

    python -m benchmarks.judges [EPISODES]
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import shutil
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.loop import PAGE
from harness.cache import Cache
from harness.models.exchange import Exchange
from harness.models.openai import openai_model
from harness.prices import Prices
from harness.runfolder import RunFolder
from harness.task import Task
from harness.trace import Call, Episode
from judges.fence import KEY_BYTES
from judges.judge import Judge
from judges.judging import Judging
from judges.rubric import Rubric

EPISODES, VOTES, JOBS = 2_000, 5, 32
DELAY = 0.05
"""Seconds that the stub takes for an answer."""


@dataclass(frozen=True)
class JudgingCost:
    """Seconds of the whole (survey, asking, verdicts, files), against those that the calls alone take with 32 at once.

    `loss` is the part of the whole that is not the calls'. `took_ms` is what the stub took for an answer, as it counts
    itself: a busy machine makes it late, and that is nothing that the client loses. `client_cpu_ms` is of the
    interpreter that judges, without the one that sends. `in_flight` is the mean as the stub counts it, over the time
    from its first request to its last answer. `from_cache_s` is a second pass over another copy of the run,
    `nothing_missing_s` one more over the same.
    """

    episodes: int
    calls: int
    message_kb: float
    whole_s: float
    took_ms: float
    ideal_s: float
    loss: float
    in_flight: float
    in_flight_most: int
    client_cpu_ms: float
    from_cache_s: float
    nothing_missing_s: float


def judging_cost(episodes: int = EPISODES) -> JudgingCost:
    """Judge so many episodes three times: asking, from the cache, and with nothing missing."""
    with tempfile.TemporaryDirectory() as name, _stub() as address:
        folder = Path(name)
        _run(folder / "a", episodes)
        shutil.copytree(folder / "a", folder / "b")
        with Cache(folder / "replies.sqlite") as cache:
            judge = Judge(
                openai_model(
                    "m", base_url=f"{address}/v1", prices=Prices(()), exchange=Exchange(cache), environment={}
                ),
                Rubric("facts"),
                votes=VOTES,
            )
            began, cpu = time.perf_counter(), time.process_time()
            kilobytes = _judge(folder / "a", judge)
            whole, cpu = time.perf_counter() - began, time.process_time() - cpu
            counts = json.loads(urllib.request.urlopen(f"{address}/counts").read())
            again = _seconds(folder / "b", judge)
            nothing = _seconds(folder / "b", judge)
            asked = json.loads(urllib.request.urlopen(f"{address}/counts").read())["calls"]
    calls = episodes * VOTES
    assert counts["calls"] == asked == calls, (counts, asked)
    ideal = calls / JOBS * counts["took"]
    return JudgingCost(
        episodes, calls, kilobytes, whole, counts["took"] * 1000, ideal, 1 - ideal / whole, counts["mean"],
        counts["most"], cpu / calls * 1000, again, nothing,
    )  # fmt: skip


def _seconds(path: Path, judge: Judge) -> float:
    began = time.perf_counter()
    _judge(path, judge)
    return time.perf_counter() - began


def _judge(path: Path, judge: Judge) -> float:
    """Judge all of it, and give the mean length of a message in kB."""
    with RunFolder.append(path) as folder:
        judging = Judging(folder, [judge], key=bytes(KEY_BYTES))
        report = judging.judge(jobs=JOBS)
        assert report.left.total() == 0
        assert len(report.verdicts) == len(judging.rows)
        return sum(row.characters for row in judging.rows) / len(judging.rows) / 1000


def _run(path: Path, episodes: int) -> None:
    """A run of episodes with two pages of a search in each trace, as the suites give them."""
    task = Task.make(
        id="tiny/1", suite="tiny", template="tiny", kind="read", requires=("answer",), needs_write=False,
        needs_chart=True, instruction="Which magnesium was the latest?", tools=("search", "finish"),
        clock="2026-01-15T10:15:00+00:00",
    )  # fmt: skip
    calls = [
        Call(position=at, step=at, name="fhir_search", arguments={"at": at}, status="ok", result=PAGE) for at in (1, 2)
    ]
    made = [
        Episode(
            id=f"sha256:{number:064x}", task=task.id, task_digest=task.digest, agent="m", condition="default",
            variant={}, ending="finished", claim="done", answer=(f"{number} mg/dL",), calls=tuple(calls),
        )
        for number in range(episodes)
    ]  # fmt: skip
    with RunFolder.create(path, {}, [task]) as folder:
        folder.store([(one, []) for one in made])


@contextlib.contextmanager
def _stub() -> Iterator[str]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()
        process.join()


_VOTE = json.dumps({"reason": "Call 1 shows it.", "failed": [], "calls": [1], "verdict": "supported"})
_BODY = json.dumps(
    {
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": _VOTE}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 2_000, "completion_tokens": 40, "total_tokens": 2_040},
    }
).encode()  # fmt: skip


class _Counts:
    """How many requests are being answered, over time."""

    def __init__(self) -> None:
        self.calls = self.now = self.most = 0
        self.first = self.last = self.area = self.took = 0.0

    def change(self, by: int) -> None:
        at = time.perf_counter()
        self.first = self.first or at
        self.area += self.now * (at - (self.last or at))
        self.now, self.last = self.now + by, at
        self.most = max(self.most, self.now)
        self.calls += by > 0
        self.took -= by * at

    def line(self) -> bytes:
        mean = self.area / (self.last - self.first) if self.last > self.first else 0.0
        took = self.took / self.calls if self.calls else 0.0
        return json.dumps({"calls": self.calls, "most": self.most, "mean": mean, "took": took}).encode()


def _serve(pipe: Connection) -> None:
    asyncio.run(_answer_all(pipe))


async def _answer_all(pipe: Connection) -> None:
    counts = _Counts()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"GET"):
                    await _send(writer, counts.line())
                    continue
                counts.change(+1)
                length = next(
                    int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
                )
                due = asyncio.get_running_loop().time() + DELAY
                await reader.readexactly(length)
                await asyncio.sleep(due - asyncio.get_running_loop().time())
                counts.change(-1)
                await _send(writer, _BODY)
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=256, limit=1 << 22)
    pipe.send(server.sockets[0].getsockname()[1])
    async with server:
        await server.serve_forever()


async def _send(writer: asyncio.StreamWriter, body: bytes) -> None:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


def _rounded(measured: JudgingCost) -> dict[str, Any]:
    return {key: round(value, 3) if isinstance(value, float) else value for key, value in asdict(measured).items()}


if __name__ == "__main__":
    print(_rounded(judging_cost(int(sys.argv[1]) if len(sys.argv) > 1 else EPISODES)))
