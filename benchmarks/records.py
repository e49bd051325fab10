"""What a large record costs: building, opening, and searches of every kind an agent can write.

    python -m benchmarks.records                       # builds the preset of 785,207 clinical resources, measures it
    python -m benchmarks.records ward.record           # measures another record

Times are milliseconds; p50 and p99 over many searches, each with its first page of bodies (and what is included with
it). The build and the opening run in processes of their own, so that memory and the first query are theirs alone.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ehr.sandbox.definitions import parameters
from ehr.sandbox.overlay import Overlay
from ehr.sandbox.record import Record
from ehr.sandbox.searching.search import search
from ehr.tasks.synthetic import PRESETS, preset

PRESET = "medagentbench"
"""The published benchmark's size and shape: 785,207 clinical resources of 100 patients, and demographics of others."""
BUDGET = 50.0
"""Milliseconds that any search may take."""
PAGE = 20
Query = tuple[str, list[tuple[str, str]]]


@dataclass(frozen=True)
class Spread:
    """How long many searches took, in milliseconds."""

    number: int
    p50: float
    p99: float
    worst: float


# ---- building and opening, each in its own process


def build(path: Path) -> dict[str, float]:
    """Seconds (on the clock, and of the processor), peak memory and file size (MiB) of building the preset.

    Generating the resources is a part of it.
    """
    return _apart("build", str(path))


def opening(path: Path) -> dict[str, float]:
    """Milliseconds to open a record and answer the first query, imports not counted; and peak memory (MiB) by then."""
    return _apart("open", str(path))


def _apart(*arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.records", "--inside", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _inside(what: str, path: str) -> dict[str, float]:
    start = time.perf_counter()
    if what == "build":
        Record.build(preset(PRESET), path, clock=PRESETS[PRESET], synthetic=True).close()
        size = Path(path).stat().st_size / 2**20
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "cpu_seconds": time.process_time(), "peak_mib": _peak(), "file_mib": size}
    with Record.open(path) as record:
        opened = time.perf_counter() - start
        overlay = Overlay(record)
        patient = record.ids("Patient")[0]
        _page(overlay, ("Observation", [("patient", patient), ("date", "ge2021-01-01"), ("_sort", "-date")]))
        return {"open": opened * 1e3, "first_query": (time.perf_counter() - start) * 1e3, "peak_mib": _peak()}


def _peak() -> float:
    """The most memory that this process has had (MiB). `ru_maxrss` would begin with that of its parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


# ---- searches


def _page(overlay: Overlay, query: Query) -> int:
    """What a server does for a search: the total, the first page, what is included with it, and their bodies."""
    found = search(overlay, *query)
    page = found.matches[:PAGE]
    for type, id in [*page, *found.included(page)]:
        overlay.get(type, id)
    return found.total


def spread(overlay: Overlay, queries: list[Query]) -> Spread:
    """How long the queries take, one after another."""
    times = [_timed(partial(_page, overlay, query)) for query in queries]
    return _spread(times)


def _spread(times: list[float]) -> Spread:
    ordered = sorted(times)
    return Spread(len(times), statistics.median(times), ordered[int(len(ordered) * 0.99)], ordered[-1])


def _timed(do: Callable[[], Any]) -> float:
    start = time.perf_counter()
    do()
    return (time.perf_counter() - start) * 1e3


def main_queries(record: Record, number: int = 1000, seed: int = 1) -> list[Query]:
    """One patient, one code, from a day on, newest first: what most tasks ask."""
    rng = random.Random(seed)
    codes = _some(record, "Observation", "code", rng, 200)
    patients = _observed(record)
    return [
        (
            "Observation",
            [
                ("patient", rng.choice(patients)),
                ("code", rng.choice(codes)[0]),
                ("date", "ge2021-01-01"),
                ("_sort", "-date"),
            ],
        )
        for _ in range(number)
    ]


def _observed(record: Record) -> list[str]:
    """The ids of patients who have Observations."""
    overlay = Overlay(record)
    return [id for id in record.ids("Patient") if search(overlay, "Observation", [("patient", id)]).total]


def random_queries(record: Record, number: int = 1000, seed: int = 2) -> list[Query]:
    """Searches of every kind, with values that the record has: parameters, modifiers, prefixes, chains, sorting ..."""
    rng = random.Random(seed)
    types = [type for type in record.counts if type in record.file.types]
    weights = [1 + 4 * (record.counts[type] > 10_000) for type in types]
    return [_random_query(record, rng, rng.choices(types, weights)[0]) for _ in range(number)]


def _random_query(record: Record, rng: random.Random, type: str) -> Query:
    asked = [_random_parameter(record, rng, type) for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3]))]
    codes = [
        code
        for code, one in parameters(type).items()
        if one.kind not in ("special",) and code[:2] not in ("_c", "_q", "_t")
    ]
    if rng.random() < 0.5:
        asked.append(
            ("_sort", ",".join(rng.choice(["", "-"]) + rng.choice(codes) for _ in range(rng.choice([1, 1, 2, 3]))))
        )
    if rng.random() < 0.15:
        asked.append(rng.choice([("_include", "*"), ("_revinclude", "*"), ("_include:iterate", f"{type}:*")]))
    return type, asked


def _random_parameter(record: Record, rng: random.Random, type: str) -> tuple[str, str]:
    chance = rng.random()
    references = [c for c, p in parameters(type).items() if p.kind == "reference" and record.index.space(type, c)]
    if chance < 0.1 and references:
        return _chain(record, rng, type, rng.choice(references))
    if chance < 0.15:
        return _reverse_chain(record, rng, type)
    if chance < 0.2:
        return "_filter", _filter(record, rng, type)
    if chance < 0.25:
        codes = [code for code in parameters(type) if code not in ("_text", "_content", "_query", "_source", "_id")]
        return f"{rng.choice(codes)}:missing", rng.choice(["true", "false"])
    return _plain(record, rng, type)


def _plain(record: Record, rng: random.Random, type: str) -> tuple[str, str]:
    """A parameter that the record has values for, with one (or many) of them."""
    known = [p for c, p in parameters(type).items() if record.index.space(type, c) is not None and p.kind != "special"]
    parameter = rng.choice(known)
    kind, code = parameter.kind, parameter.code
    if kind == "date":
        day = f"20{rng.randint(15, 24)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
        text = rng.choice([day[:4], day[:7], day, f"{day}T10:00:00Z", f"{day}T10:00:00.000+02:00"])
        return code, rng.choice(["", "ge", "gt", "le", "lt", "ne", "sa", "eb"]) + text
    if kind in ("number", "quantity"):
        unit = rng.choice(["", "", "||mg/dL", "|http://unitsofmeasure.org|mmol/L"]) if kind == "quantity" else ""
        return code, rng.choice(["", "ge", "gt", "le", "lt", "ne", "ap"]) + str(rng.choice([1, 50, 99.5, 150])) + unit
    if kind == "composite":
        space = record.index.space(type, code)
        value = next(iter(space.parts[0].listed()), ("x", "", None))[0]
        return code, f"{value}$ge{rng.choice([1, 50, 150])}"
    values = _some(record, type, code, rng, rng.choice([1, 1, 1, 3, 40]))
    if kind == "string":
        modifier = rng.choice(["", ":contains", ":exact", ":text"])
        return code + modifier, ",".join(value[: rng.choice([1, 3, 20])] for value, _ in values)
    if kind == "token":
        modifier = rng.choice(["", "", "", ":not", ":text"])
        if modifier == ":text":
            return code + modifier, rng.choice(["t", "concept", "test lab1"])
        return code + modifier, ",".join(
            rng.choice([value, f"{system}|{value}", f"{system}|"]) for value, system in values
        )
    if kind == "uri":
        return code + rng.choice(["", ":below", ":above"]), values[0][0]
    return code, ",".join(rng.choice([id, f"{target}/{id}"]) for id, target in values)


def _chain(record: Record, rng: random.Random, type: str, code: str) -> tuple[str, str]:
    targets = [t for t in record.counts if t in parameters(type)[code].targets] or ["Patient"]
    target = rng.choice(targets)
    name, value = _plain(record, rng, target)
    return f"{code}:{target}.{name}", value


def _reverse_chain(record: Record, rng: random.Random, type: str) -> tuple[str, str]:
    pairs = [
        (source, code)
        for source in record.counts
        for code, p in parameters(source).items()
        if p.kind == "reference" and type in p.targets and record.index.space(source, code) is not None
    ]
    if not pairs:
        return "_id", "x"
    source, code = rng.choice(pairs)
    while True:
        name, value = _plain(record, rng, source)
        if ":" not in name:
            return f"_has:{source}:{code}:{name}", value


def _filter(record: Record, rng: random.Random, type: str) -> str:
    codes = [c for c, p in parameters(type).items() if p.kind == "token" and record.index.space(type, c)]
    code = rng.choice(codes)
    value = _some(record, type, code, rng, 1)[0][0]
    dates = [c for c, p in parameters(type).items() if p.kind == "date" and record.index.space(type, c)]
    return f'{code} {rng.choice(["eq", "ne"])} "{value}" or {rng.choice(dates)} gt 2022-06-01'


def _some(record: Record, type: str, code: str, rng: random.Random, number: int) -> list[tuple[str, str]]:
    """Values (with qualifier) that a parameter has in the record."""
    query = """SELECT value, qualifier FROM posting JOIN space ON space.number = posting.space
               WHERE space.type = ? AND space.code = ? AND space.role = '' AND space.parent IS NULL LIMIT 2000"""
    found = record.file.all(query, (type, code))
    return [(value.replace(",", "\\,"), qualifier) for value, qualifier in rng.choices(found, k=number)]


# ---- through writes


def after_writes(record: Record, number: int, seed: int = 3) -> Spread:
    """The main query and random ones through a view with `number` new, changed and deleted resources."""
    rng = random.Random(seed)
    overlay = Overlay(record)
    observations, patients = record.ids("Observation"), record.ids("Patient")
    for one in range(number):
        written = json.loads(record.body("Observation", rng.choice(observations)) or b"")
        id = written["id"] if one % 5 == 0 else f"w{one}"
        body = json.dumps({**written, "id": id, "subject": {"reference": f"Patient/{rng.choice(patients)}"}})
        overlay.put("Observation", id, body.encode())
        if one % 10 == 0:
            overlay.remove("Observation", rng.choice(observations))
    queries = main_queries(record, 200, seed) + random_queries(record, 200, seed)
    return spread(overlay, queries)


def slowest(record: Record, queries: list[Query], number: int = 5) -> list[tuple[float, int, Query]]:
    """The searches that take longest: milliseconds, total, query."""
    overlay = Overlay(record)
    times = []
    for query in queries:
        start = time.perf_counter()
        total = _page(overlay, query)
        times.append(((time.perf_counter() - start) * 1e3, total, query))
    return sorted(times, key=lambda one: -one[0])[:number]


def measure(path: Path) -> dict[str, Any]:
    """Everything but the build, on the record at `path`."""
    first = opening(path)
    with Record.open(path) as record:
        overlay = Overlay(record)
        every = random_queries(record)
        return {
            "resources": sum(record.counts.values()),
            "opening": first,
            "main_query": asdict(spread(overlay, main_queries(record))),
            "random_searches": asdict(spread(overlay, every)),
            "random_searches_again": asdict(spread(overlay, every)),
            "budget": BUDGET,
            "after_22_writes": asdict(after_writes(record, 22)),
            "after_2000_writes": asdict(after_writes(record, 2000)),
            "peak_mib": _peak(),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("record", nargs="?", type=Path)
    parser.add_argument("--slowest", action="store_true", help="print the slowest searches")
    parser.add_argument("--inside", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        print(json.dumps(_inside(*given.inside)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = given.record or Path(folder) / "dense.record"
        if given.record is None:
            print(json.dumps({"build": build(path)}, indent=1), flush=True)
        print(json.dumps(measure(path), indent=1))
        if given.slowest:
            with Record.open(path) as record:
                for one in slowest(record, random_queries(record), 12):
                    print(one)


if __name__ == "__main__":
    main()
