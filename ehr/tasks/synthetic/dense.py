"""A record of the size and shape of MedAgentBench's: 100 patients with 785,207 clinical rows, and 595 others.

The counts by type are the published ones (Jiang et al., NEJM AI 2025;2(9), "MedAgentBench"): Observation 563,426,
Procedure 124,969, Condition 74,821, MedicationRequest 21,991. Its paper counts no Patient among them. As there, the
study's patients are followed for five years and lie on the ward at the clock, and everyone else is known by
demographics only; there is no Encounter, Practitioner or report. Rows are made as in the default record, not copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from itertools import pairwise

import orjson

from ehr.tasks.synthetic.body import Body
from ehr.tasks.synthetic.chart import DIAGNOSIS, Chart
from ehr.tasks.synthetic.codes import ACTS, ADMISSIONS, CLINIC_ILLNESSES, DRUGS, PROBLEMS, Illness, Problem
from ehr.tasks.synthetic.course import YEAR, build, noon, problems
from ehr.tasks.synthetic.draw import Draw
from ehr.tasks.synthetic.ids import Ids
from ehr.tasks.synthetic.people import Person, patient, people
from ehr.tasks.synthetic.rows import MINUTES_A_DAY as DAY
from ehr.tasks.synthetic.rows import Meta, Rows, minutes
from ehr.tasks.synthetic.ward import ward

CLOCK = "2023-11-13T10:15:00+00:00"
PATIENTS, DECOYS = 100, 595
COUNTS = {"Observation": 563_426, "Procedure": 124_969, "Condition": 74_821, "MedicationRequest": 21_991}


def dense(*, seed: int) -> Iterator[bytes]:
    """The resources, patient by patient; the counts are exact for every seed."""
    now = minutes(CLOCK)
    today = date.fromisoformat(CLOCK[:10])
    ids, meta = Ids("dense", seed), Meta(now - 30, now)
    shares = {name: _shares(Draw("shares", name, seed), count) for name, count in COUNTS.items()}
    for position, person in enumerate(people(PATIENTS + DECOYS, seed, today, alive=True)):
        logical_id, draw = ids.give(), Draw("dense", seed, position)
        rows = Rows(ids, meta, logical_id, person.sex)
        yield orjson.dumps(patient(person, logical_id, meta.of(now), None, None))
        if position < PATIENTS:
            _fill(person, rows, draw, now, today, {name: share[position] for name, share in shares.items()})
            yield from rows.sorted()


def _shares(draw: Draw, count: int) -> list[int]:
    """`count` shared out over the patients, unevenly, adding up exactly."""
    weights = [draw.between(0.45, 1.55) for _ in range(PATIENTS)]
    ends, so_far, total = [0], 0.0, sum(weights)
    for weight in weights:
        so_far += weight
        ends.append(round(count * so_far / total))
    ends[-1] = count
    return [end - begin for begin, end in pairwise(ends)]


def _fill(person: Person, rows: Rows, draw: Draw, now: int, today: date, counts: dict[str, int]) -> None:
    age, born = person.age(today), noon(person.birth)
    start = max(now - 5 * YEAR, born + 30 * DAY)
    height, weight = build(draw, person.sex, age)
    chart = Chart(rows, draw, Body(draw, person.sex, start, height=height, weight=weight), now, None, None)
    lasting: dict[str, float] = {}
    for problem, _ in problems(draw, person.sex, age, born, now):
        for key, size in problem.shifts.items():
            lasting[key] = lasting.get(key, 0.0) + size
    _observe(chart, draw, start, now, age, lasting, counts["Observation"])
    diagnoses: tuple[Problem | Illness, ...] = (*PROBLEMS, *ADMISSIONS, *CLINIC_ILLNESSES)
    for _ in range(counts["Condition"]):
        diagnosis, at = draw.pick(diagnoses), draw.whole(start, now)
        chart.condition(diagnosis.code, diagnosis.display, diagnosis.icd, at, category=DIAGNOSIS, onset=at)
    acts, drugs = tuple(ACTS), tuple(DRUGS)
    for _ in range(counts["Procedure"]):
        chart.procedure(draw.pick(acts), draw.whole(start, now))
    for _ in range(counts["MedicationRequest"]):
        at = draw.whole(start, now)
        old = ("completed", "stopped") if now - at > 40 * DAY else ("active", "completed")
        chart.prescription(draw.pick(drugs), at, draw.weighted(old, (0.8, 0.2)), category="inpatient")


def _observe(chart: Chart, draw: Draw, start: int, now: int, age: int, lasting: dict[str, float], count: int) -> None:
    """Exactly `count` observations: the stay that goes on at the clock, then earlier ones until there are enough."""
    rows = chart.rows
    stays = max(2, count // 450)
    slot = (now - start) // stays
    ward(chart, now - draw.whole(2 * DAY, 4 * DAY), now, age, lasting, draw.pick(ADMISSIONS).shifts, None, dense=True)
    while len(rows) < count:
        for number in draw.shuffled(range(stays)):
            length = draw.whole(3 * DAY, 6 * DAY)
            admitted = start + number * slot + draw.below(max(1, slot - length - 5 * DAY))
            until = min(admitted + length, now)
            ward(chart, admitted, until, age, lasting, draw.pick(ADMISSIONS).shifts, None, dense=True)
            if len(rows) >= count:
                break
    rows.cut(count)
