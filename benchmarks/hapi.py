"""The sandbox beside a real HAPI FHIR that holds the same record: search, read, create, and resetting between episodes.

    docker/hapi/run.sh start 8090
    python -m benchmarks.hapi http://127.0.0.1:8090/fhir imported.record

The record is put on the server first, unless it holds Observations already. Both are asked over HTTP by one client;
`embedded` is the sandbox in this process, as episodes use it. Medians in milliseconds. Resetting is what an episode
with three writes costs beside its own: of the sandbox a fork, of a server looking at it and writing everything back.
"""

from __future__ import annotations

import http.client
import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

from benchmarks.serve import asked, rate, requests_of, serving
from ehr.backends import Embedded
from ehr.remote import Remote
from ehr.remote_record import put_on
from ehr.sandbox import Record, Request
from harness.task import Task

FHIR = {"Content-Type": "application/fhir+json"}
EPISODES = 10


def measure(base: str, path: str) -> dict[str, dict[str, float]]:
    """What it takes, by what is done and where."""
    with Record.open(path) as record:
        if not asked(base, "/Observation?_summary=count").get("total"):
            start = time.perf_counter()
            number = put_on(record, base)
            print(f"# {number} resources loaded in {time.perf_counter() - start:.1f} s", file=sys.stderr)
        found: dict[str, dict[str, float]] = {}
        with serving(path) as served:
            for place, address in (("hapi", base), ("serve", served)):
                for what, send in requests_of(address).items():
                    found.setdefault(what, {})[place] = rate(address, what, send, 1).p50
        fork = record.fork()
        for what, request in _requests(record).items():
            found[what]["embedded"] = _median(partial(fork.handle, request), 300)
        found["reset after three writes"] = {
            "hapi": _median(_episode(Remote(base), record), EPISODES),
            "embedded": _median(_episode(Embedded(record), record), EPISODES),
        }
        return found


def _requests(record: Record) -> dict[str, Request]:
    row = json.loads(record.body("Observation", record.ids("Observation")[0]) or b"{}")
    patient, code = row["subject"]["reference"].partition("/")[2], row["code"]["coding"][0]["code"]
    body = json.dumps({key: row[key] for key in ("resourceType", "status", "code", "subject") if key in row}).encode()
    return {
        "read": Request("GET", f"/Patient/{patient}"),
        "search": Request("GET", f"/Observation?patient={patient}&code={code}&date=ge2000-01-01&_sort=-date&_count=20"),
        "create": Request("POST", "/Observation", FHIR, body),
    }


def _episode(backend: Remote | Embedded, record: Record) -> Callable[[], float]:
    """Three writes on a fork; the seconds that making the fork and closing it take are what is measured."""
    create = _requests(record)["create"]
    task = Task.make(
        id="b/1", suite="ehr", template="b", kind="write", requires=("state",), needs_write=True, needs_chart=True,
        instruction="", tools=(), clock=record.clock,
    )  # fmt: skip

    def episode() -> float:
        start = time.perf_counter()
        fork = backend.fork(task)
        made = time.perf_counter()
        for _ in range(3):
            assert fork.handle(create).status == 201
        wrote = time.perf_counter()
        fork.close()
        return (made - start) + (time.perf_counter() - wrote)

    return episode


def _median(run: Callable[[], object], times: int) -> float:
    took = []
    for _ in range(times):
        start = time.perf_counter()
        said = run()
        took.append(1000 * (said if isinstance(said, float) else time.perf_counter() - start))
    return statistics.median(took)


if __name__ == "__main__":
    try:
        document = measure(sys.argv[1], sys.argv[2])
    except (IndexError, http.client.HTTPException, OSError) as problem:
        sys.exit(f"{__doc__}\n{problem}")
    for what, places in document.items():
        print(json.dumps({"what": what, **{place: round(value, 3) for place, value in places.items()}}))
