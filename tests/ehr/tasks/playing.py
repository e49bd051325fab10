"""What tests of tasks share: a small chart in a real world, read through the real tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ehr.backends import Embedded
from ehr.sandbox import Record
from ehr.tasks.chart import Chart
from ehr.world import ChartWorld, chart_world
from harness.task import Task
from harness.toolbox import Toolbox

CLOCK = "2026-01-15T10:15:00+00:00"
LOINC = "http://loinc.org"


def patient(id: str, family: str, given: str, born: str, mrn: str, **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "Patient",
        "id": id,
        "identifier": [{"type": {"coding": [{"code": "MR"}]}, "system": "http://hospital.example/mrn", "value": mrn}],
        "name": [{"use": "official", "family": family, "given": [given]}],
        "birthDate": born,
        **more,
    }


def result(id: str, at: str, value: float, unit: str = "mmol/L", code: str = "2823-3", **more: Any) -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "id": id,
        "status": "final",
        "code": {"coding": [{"system": LOINC, "code": code}]},
        "subject": {"reference": "Patient/p1"},
        "effectiveDateTime": at,
        "valueQuantity": {"value": value, "unit": unit, "system": "http://unitsofmeasure.org", "code": unit},
        **more,
    }


PEOPLE = [
    patient("p1", "Okafor", "Ada", "1961-04-02", "10000001"),
    patient("p2", "Okafor", "Ada", "1967-11-23", "10000002"),
    patient("p3", "Okaforson", "Adaeze", "1961-04-02", "10000003"),
]


def task(setup: Sequence[dict[str, Any]] = (), **fields: Any) -> Task:
    made: dict[str, Any] = {
        "id": "ehr/any/1", "suite": "ehr", "template": "any", "kind": "read", "requires": ("state",),
        "needs_write": False, "needs_chart": True, "instruction": "…", "tools": (), "clock": CLOCK,
        "setup": tuple(setup), **fields,
    }  # fmt: skip
    return Task.make(**made)


def callables(world: ChartWorld) -> Mapping[str, Callable[..., Any]]:
    return Toolbox(world.tools).callables()


@contextmanager
def a_world(rows: Sequence[dict[str, Any]]) -> Iterator[ChartWorld]:
    with Record.build([*PEOPLE, *rows], clock=CLOCK, synthetic=True) as record:
        world = chart_world(Embedded(record), task())
        try:
            yield world
        finally:
            world.close()


@contextmanager
def a_chart(rows: Sequence[dict[str, Any]], *flaws: str) -> Iterator[Chart]:
    with a_world(rows) as world:
        yield Chart(callables(world), CLOCK, frozenset(flaws))
