"""The default synthetic record: five years of a hospital's patients, the same bytes for the same seed.

`generate` gives FHIR R4 resources as JSON bytes, patient by patient, each patient's rows in the order of their opaque
ids (which is no order of time). Times lie before the record's clock; only orders may name a moment after it. Nobody in
it is real; codes are (`codes`). What makes it a fair ground for tasks: people of one name and near misses, values in
other units from an outside laboratory, rows entered in error, renewed and stopped orders, more rows than a page holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date

import orjson

from ehr.tasks.synthetic import dense
from ehr.tasks.synthetic.course import YEAR, Course
from ehr.tasks.synthetic.draw import Draw
from ehr.tasks.synthetic.ids import Ids
from ehr.tasks.synthetic.people import patient, people, staff
from ehr.tasks.synthetic.rows import MINUTES_A_DAY, Meta, Rows, minutes

CLOCK = "2026-01-15T10:15:00+00:00"
PATIENTS = 120
SEED = 1
PRESETS: Mapping[str, str] = {"default": CLOCK, "medagentbench": dense.CLOCK}
"""The presets by name, each with its clock."""


def preset(name: str, *, seed: int = SEED) -> Iterator[bytes]:
    """The resources of a preset. `PRESETS[name]` is the clock that goes with them.

    Raises `ValueError` for an unknown name.
    """
    if name == "default":
        return generate(seed=seed)
    if name == "medagentbench":
        return dense.dense(seed=seed)
    raise ValueError(f"unknown preset {name!r}; there are {', '.join(PRESETS)}")


def generate(*, patients: int = PATIENTS, seed: int = SEED, clock: str = CLOCK) -> Iterator[bytes]:
    """The resources of a record of so many patients, about 300 a patient. The same arguments give the same bytes.

    Raises `ValueError` for fewer than one patient, or a clock without a zone.
    """
    if patients < 1:
        raise ValueError(f"patients {patients!r} must be at least 1")
    now = minutes(clock)
    today = date.fromisoformat(clock[:10])
    ids, meta = Ids(seed), Meta(now - 74 * MINUTES_A_DAY, now)
    start = now - 5 * YEAR - MINUTES_A_DAY
    circle, rows = staff(Draw("staff", seed), ids.give, lambda: meta.of(start), max(6, min(60, patients // 5)))
    for row in rows:
        yield orjson.dumps(row)
    for position, person in enumerate(people(patients, seed, today)):
        draw = Draw("course", seed, position)
        logical_id, doctor = ids.give(), draw.pick(circle.doctors)
        chart = Rows(ids, meta, logical_id, person.sex, circle.laboratory)
        course = Course(person, chart, draw, circle, start, now, doctor)
        yield orjson.dumps(patient(person, logical_id, meta.of(course.start), doctor, circle.hospital))
        course.write(in_hospital=course.alive and course.age >= 18 and position % 6 == 2)
        yield from chart.sorted()
