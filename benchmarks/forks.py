"""What a fork costs: making one, reading, searching, writing, telling what changed; alone and 64 at once.

    python -m benchmarks.forks                 # on a record made for it
    python -m benchmarks.forks ward.record     # on another

Times are medians in milliseconds, of one thread. `changes()` is shown after few and after many writes on one record:
its cost grows with the writes only.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial

from ehr.sandbox.fork import Fork
from ehr.sandbox.http import Request
from ehr.sandbox.record import Record

CLOCK = "2026-01-15T10:15:00+00:00"
FHIR = {"Content-Type": "application/fhir+json"}
PATIENTS, ROWS_EACH = 20, 1000


@dataclass(frozen=True)
class ForkCost:
    """Milliseconds, medians; `search_p99` the 99th hundredth of the page; `side_by_side` per episode, 64 at once."""

    resources: int
    fork: float
    read: float
    search: float
    search_p99: float
    create: float
    update: float
    patch: float
    delete: float
    transaction_of_20: float
    changes_after_20: float
    changes_after_2000: float
    side_by_side: float


def measure(record: Record) -> ForkCost:
    """All of it on one record, which must have patients with observations."""
    patient = _busiest(record)
    page = f"/Observation?patient={patient}&date=ge2000-01-01&_sort=-date&_count=20"
    body = json.dumps(_observation(patient)).encode()
    fork = record.fork()
    forks = [_timed(record.fork) for _ in range(2000)]
    reads = [_timed(lambda: fork.handle(Request("GET", f"/Patient/{patient}"))) for _ in range(500)]
    searches = [_timed(lambda: fork.handle(Request("GET", page))) for _ in range(500)]
    ids = []
    creates = []
    for _ in range(400):
        start = time.perf_counter()
        response = fork.handle(Request("POST", "/Observation", FHIR, body))
        creates.append((time.perf_counter() - start) * 1000)
        ids.append(json.loads(response.body)["id"])
    updates = [_timed(partial(_update, fork, id, patient)) for id in ids]
    patches = [_timed(partial(_patch, fork, id)) for id in ids]
    deletes = [_timed(partial(fork.handle, Request("DELETE", f"/Observation/{id}"))) for id in ids]
    bundle = _transaction(patient, 20)
    transactions = [_timed(lambda: record.fork().handle(Request("POST", "/", FHIR, bundle))) for _ in range(50)]
    few, many = _after(record, patient, 20), _after(record, patient, 2000)
    return ForkCost(
        resources=sum(record.counts.values()),
        fork=statistics.median(forks),
        read=statistics.median(reads),
        search=statistics.median(searches),
        search_p99=sorted(searches)[len(searches) * 99 // 100],
        create=statistics.median(creates),
        update=statistics.median(updates),
        patch=statistics.median(patches),
        delete=statistics.median(deletes),
        transaction_of_20=statistics.median(transactions),
        changes_after_20=statistics.median(_timed(few.changes) for _ in range(100)),
        changes_after_2000=statistics.median(_timed(many.changes) for _ in range(20)),
        side_by_side=_side_by_side(record, patient),
    )


def _timed(do: Callable[[], object]) -> float:
    start = time.perf_counter()
    do()
    return (time.perf_counter() - start) * 1000


def _busiest(record: Record) -> str:
    """A patient with many observations."""
    ids = record.ids("Patient")[:50]
    return max(ids, key=lambda id: len(record.of_patient(id, "Observation")))


def _observation(patient: str, id: str = "") -> dict[str, object]:
    found: dict[str, object] = {
        "resourceType": "Observation", "status": "final", "subject": {"reference": f"Patient/{patient}"},
        "code": {"coding": [{"system": "http://loinc.org", "code": "2823-3"}]}, "effectiveDateTime": CLOCK,
        "valueQuantity": {"value": 4.1, "unit": "mmol/L", "system": "http://unitsofmeasure.org", "code": "mmol/L"},
    }  # fmt: skip
    return found | ({"id": id} if id else {})


def _update(fork: Fork, id: str, patient: str) -> None:
    body = json.dumps(_observation(patient, id) | {"status": "amended"}).encode()
    fork.handle(Request("PUT", f"/Observation/{id}", FHIR, body))


def _patch(fork: Fork, id: str) -> None:
    body = b'[{"op":"replace","path":"/status","value":"corrected"}]'
    fork.handle(Request("PATCH", f"/Observation/{id}", {"Content-Type": "application/json-patch+json"}, body))


def _transaction(patient: str, entries: int) -> bytes:
    request = {"method": "POST", "url": "Observation"}
    entry = {"resource": _observation(patient), "request": request}
    return json.dumps({"resourceType": "Bundle", "type": "transaction", "entry": [entry] * entries}).encode()


def _after(record: Record, patient: str, writes: int) -> Fork:
    fork = record.fork()
    for _ in range(writes // 20):
        fork.handle(Request("POST", "/", FHIR, _transaction(patient, 20)))
    return fork


def _side_by_side(record: Record, patient: str) -> float:
    """64 episodes in 8 threads, each 12 searches, 3 creates and its changes: milliseconds per episode."""
    body = json.dumps(_observation(patient)).encode()

    def episode(_: int) -> int:
        fork = record.fork()
        for _ in range(12):
            fork.handle(Request("GET", f"/Observation?patient={patient}&_sort=-date&_count=20"))
        for _ in range(3):
            fork.handle(Request("POST", "/Observation", FHIR, body))
        return len(fork.changes())

    start = time.perf_counter()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(episode, range(64))) == [3] * 64
    return (time.perf_counter() - start) * 1000 / 64


def made_for_it() -> Record:
    """A record of patients with many observations each."""
    patients = [{"resourceType": "Patient", "id": f"p{n}"} for n in range(PATIENTS)]
    rows = [
        _observation(f"p{n}", f"o{n}-{row}") | {"effectiveDateTime": f"2025-{row % 12 + 1:02}-{row % 28 + 1:02}"}
        for n in range(PATIENTS)
        for row in range(ROWS_EACH)
    ]
    return Record.build([*patients, *rows], clock=CLOCK, synthetic=True)


def main(path: str | None = None) -> None:
    """Measure and print."""
    with made_for_it() if path is None else Record.open(path) as record:
        for name, value in asdict(measure(record)).items():
            print(f"{name:20} {value:,}" if isinstance(value, int) else f"{name:20} {value:.4f} ms")


if __name__ == "__main__":
    main(*sys.argv[1:2])
