"""One patient's years: lasting problems, visits, admissions, orders, and the slips that every chart has."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

from ehr.tasks.synthetic import codes
from ehr.tasks.synthetic.body import Body, Shifts
from ehr.tasks.synthetic.chart import DIAGNOSIS, PROBLEM, REFERRAL, Chart
from ehr.tasks.synthetic.codes import ADMISSIONS, CLINIC_ILLNESSES, PROBLEMS, Illness, Problem
from ehr.tasks.synthetic.draw import Draw
from ehr.tasks.synthetic.people import Person, Staff
from ehr.tasks.synthetic.rows import MINUTES_A_DAY as DAY
from ehr.tasks.synthetic.rows import Rows, day
from ehr.tasks.synthetic.ward import ward

YEAR = 365 * DAY

_SEEN_FOR = {
    "cardiology": ("I50.9", "I48.91", "I25.10"), "orthopedics": ("M17.9", "M54.50"), "dietitian": ("E11.9", "E66.9"),
    "diabetes-nurse": ("E11.9",), "physical-therapy": ("M17.9", "M54.50"), "dental": ("K21.9",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lasting:
    """A problem that this patient has, since when, how bad it is (1 is usual), and the id of its Condition."""

    problem: Problem
    onset: int
    severity: float
    condition: str


class Course:
    """The chart of one person from `start` to `end` (the record's clock, or the death)."""

    def __init__(
        self, person: Person, rows: Rows, draw: Draw, staff: Staff, start: int, clock: int, doctor: str
    ) -> None:
        self.person, self.rows, self.draw = person, rows, draw
        self.staff, self.clock, self.doctor = staff, clock, doctor
        self.born = noon(person.birth)
        self.start = max(start, self.born + 2 * DAY)
        self.end = min(clock, noon(person.deceased)) if person.deceased else clock
        self.age = person.age(date.fromisoformat(day(self.end // DAY)))
        height, weight = build(draw, person.sex, self.age)
        body = Body(draw, person.sex, start, height=height, weight=weight)
        self.chart = Chart(rows, draw, body, clock, staff, doctor)
        self.problems = [
            Lasting(problem, onset, draw.between(0.45, 1.7), rows.ids.give())
            for problem, onset in problems(draw, person.sex, self.age, self.born, self.end)
        ]
        self._drawn: dict[str, int] = {}

    @property
    def alive(self) -> bool:
        """Whether the patient lives at the record's clock."""
        return self.person.deceased is None

    def write(self, *, in_hospital: bool) -> None:
        """The whole chart. `in_hospital`: lies on the ward at the record's clock."""
        self._problem_list()
        for at in self._visit_times():
            self._visit(at)
        for admitted, discharged, illness in self._stays(in_hospital):
            self._stay(admitted, discharged, illness)
        self._lasting_drugs()
        self._allergies()
        self._vaccinations()
        if self.age >= 18:
            self._screenings()
            self._loose_orders(in_hospital)

    def _ago(self, days: int, most: int) -> int:
        """A moment so many days before the end, at any minute of the day."""
        return self.end - self.draw.whole(days * DAY, most * DAY)

    def _in_hours(self, at: int) -> int:
        """That day, at a minute at which the clinic is open."""
        return at // DAY * DAY + self.draw.whole(13 * 60, 20 * 60 + 40)

    def _age_at(self, at: int) -> int:
        return self.person.age(date.fromisoformat(day(at // DAY)))

    def _shifts(self, at: int) -> dict[str, float]:
        """What the lasting problems add at that time."""
        shifts: dict[str, float] = {}
        for lasting in self.problems:
            if lasting.onset <= at:
                for key, size in lasting.problem.shifts.items():
                    shifts[key] = shifts.get(key, 0.0) + size * lasting.severity
        return shifts

    def _problem_list(self) -> None:
        draw, chart = self.draw, self.chart
        for lasting in self.problems:
            problem = lasting.problem
            recorded = min(self._in_hours(lasting.onset + draw.whole(0, 12) * DAY), self.end)
            chart.condition(
                problem.code, problem.display, problem.icd, recorded, category=PROBLEM, onset=lasting.onset,
                logical_id=lasting.condition,
            )  # fmt: skip
        if self.age < 18:
            return
        mine = {lasting.problem.icd for lasting in self.problems}
        others = [problem for problem in PROBLEMS if problem.icd not in mine and problem.sex in (None, self.person.sex)]
        for verification, likely in (("entered-in-error", 0.07), ("refuted", 0.06)):
            if draw.chance(likely):
                problem, at = draw.pick(others), self._ago(30, 900)
                status = "inactive" if verification == "refuted" else None
                chart.condition(
                    problem.code,
                    problem.display,
                    problem.icd,
                    at,
                    category=PROBLEM,
                    verification=verification,
                    status=status,
                )

    # visits

    def _visit_times(self) -> list[int]:
        yearly = 0.8 + 0.45 * min(len(self.problems), 6) if self.age >= 18 else 1.5
        gap = YEAR / yearly
        times, at = [], self.start + self.draw.whole(0, int(gap))
        while at < self.end - DAY:
            number = at // DAY
            number += {5: 2, 6: 1}.get((number + 3) % 7, 0)  # day 0 was a Thursday; the clinic is closed at weekends
            opened = self._in_hours(number * DAY)
            if self.start < opened < self.end - 90:
                times.append(opened)
            at += int(gap * self.draw.between(0.55, 1.45))
        return times

    def _visit(self, at: int) -> None:
        draw, rows = self.draw, self.rows
        age, shifts, ended = self._age_at(at), self._shifts(at), at + self.draw.whole(14, 45)
        illness = self._clinic_illness(age) if draw.chance(0.24) else None
        kind = ("185349003", "Encounter for check up")
        if illness:
            kind = ("185345009", "Encounter for symptom")
        elif self.problems and draw.chance(0.5):
            kind = ("390906007", "Follow-up encounter")
        doctor = draw.pick(self.staff.doctors) if illness else self.doctor
        encounter = self.chart.encounter("AMB", "ambulatory", kind, at, ended, doctor)
        if illness:
            for key, size in illness.shifts.items():
                shifts[key] = shifts.get(key, 0.0) + size
            self._treat(illness, at + draw.whole(8, 20), encounter)
        place = rows.place(encounter)
        self._clinic_vitals(at + draw.whole(2, 9), place, shifts, age)
        if age >= 18:
            self._due_panels(at, place, encounter, shifts, age)
        if age >= 13 and draw.chance(0.25):
            self.chart.smoking(at, 0 if age < 18 else int(self.person.mrn) % 3)

    def _clinic_illness(self, age: int) -> Illness:
        able = [illness for illness in CLINIC_ILLNESSES if illness.ages[0] <= age <= illness.ages[1]]
        return self.draw.weighted(able, [illness.weight for illness in able])

    def _treat(self, illness: Illness, at: int, encounter: str) -> None:
        draw, chart = self.draw, self.chart
        healed = at + draw.whole(5 * DAY, 24 * DAY)
        condition = chart.condition(
            illness.code, illness.display, illness.icd, at, category=DIAGNOSIS, onset=at - draw.whole(DAY, 5 * DAY),
            abated=healed if healed < self.end else None, encounter=encounter,
        )  # fmt: skip
        for key in illness.drugs:
            days = draw.whole(4, 11)
            status = "active" if at + days * DAY >= self.end else "stopped" if draw.chance(0.08) else "completed"
            chart.prescription(key, at, status, encounter=encounter, reason=condition, category="community", days=days)
        for key in illness.procedures:
            chart.procedure(key, min(at + draw.whole(20, 300), self.end), encounter)

    def _clinic_vitals(self, at: int, place: str, shifts: Shifts, age: int) -> None:
        draw, rows, chart = self.draw, self.rows, self.chart
        slip = age >= 18 and draw.chance(0.025)
        if age >= 3:
            systolic, diastolic = chart.pressure(at, place, shifts, lower=20 if age < 15 else 0)
            if slip:
                rows.pressure(systolic + 100, diastolic, at - 1, place, status="entered-in-error")
        rows.vital("heart-rate", chart.body.vital("heart-rate", at, shifts) + max(0, 12 - age) * 3, at, place)
        for key, likely in (("temperature", 0.5), ("oxygen-saturation", 0.4), ("respiratory-rate", 0.25)):
            if draw.chance(likely):
                chart.vital(key, at, place, shifts)
        weight, height = chart.body.vital("weight", at, shifts), chart.body.vital("height", at, shifts)
        if age < 18:
            tall, heavy = child(self.person.sex, age)
            height, weight = tall + draw.normal(0, 0.4), heavy * draw.between(0.97, 1.03)
        rows.vital("weight", weight, at, place)
        if slip:  # pounds keyed as kilograms
            rows.vital("weight", weight * 2.2046, at - 1, place, status="entered-in-error")
        if draw.chance(0.35):
            rows.vital("height", height, at, place)
            rows.vital("bmi", round(weight, 1) / (round(height) / 100) ** 2, at, place)

    def _due_panels(self, at: int, place: str, encounter: str, shifts: Shifts, age: int) -> None:
        due = {"basic": 480, "blood-count": 620, "lipids": 1000}
        for lasting in self.problems:
            if lasting.onset <= at:
                for key, days in lasting.problem.panels.items():
                    due[key] = min(days, due.get(key, days))
        taken = at + self.draw.whole(6, 35)
        for key, days in due.items():
            if taken - self._drawn.get(key, -60 * YEAR) < days * DAY * 0.8 or not self.draw.chance(0.8):
                continue
            self._drawn[key] = taken
            outside = self.staff.outside_laboratory if self.draw.chance(0.05) else None
            self.chart.panel(
                key,
                taken,
                place,
                shifts,
                age,
                until=self.end,
                encounter=encounter,
                ordered=at + 4,
                outside=outside,
                report=True,
            )

    # admissions

    def _stays(self, in_hospital: bool) -> list[tuple[int, int | None, Illness]]:
        """Admissions from the latest back, none overlapping another. One without an end goes on at the clock."""
        draw = self.draw
        if self.age < 18:
            return []
        able = [illness for illness in ADMISSIONS if illness.ages[0] <= self.age <= illness.ages[1]]
        weights = [illness.weight for illness in able]
        stays: list[tuple[int, int | None, Illness]] = []
        last = self.end
        if in_hospital:
            last = self.clock - int(draw.between(1.2, 7.5) * DAY)
            stays.append((last, None, draw.weighted(able, weights)))
        often = 0.08 + 0.06 * len(self.problems) + max(0, self.age - 60) * 0.004
        number = draw.count(often * (3.6 if draw.chance(0.2) else 0.5))  # a few patients fill most of the beds
        for at in sorted((draw.whole(self.start, self.end - 16 * DAY) for _ in range(number)), reverse=True):
            illness = draw.weighted(able, weights)
            discharged = at + draw.whole(*illness.days) * DAY + draw.whole(-300, 300)
            if discharged < last - 3 * DAY:
                stays.append((at, discharged, illness))
                last = at
        return stays

    def _stay(self, admitted: int, discharged: int | None, illness: Illness) -> None:
        draw, chart = self.draw, self.chart
        doctor = draw.pick(self.staff.hospitalists)
        condition = self.rows.ids.give()
        kind = ("32485007", "Hospital admission")
        encounter = chart.encounter("IMP", "inpatient encounter", kind, admitted, discharged, doctor, reason=condition)
        chart.condition(
            illness.code, illness.display, illness.icd, admitted + draw.whole(50, 130), category=DIAGNOSIS,
            onset=admitted, abated=discharged, encounter=encounter, logical_id=condition,
        )  # fmt: skip
        until = discharged or self.clock
        for key in illness.drugs:
            status = "active" if discharged is None else "completed" if draw.chance(0.8) else "stopped"
            at = admitted + draw.whole(60, 300)
            chart.prescription(
                key, at, status, encounter=encounter, reason=condition, category="inpatient", doctor=doctor
            )
        for key in illness.procedures:
            at = admitted + draw.whole(40, 900)
            if at < until:
                chart.procedure(key, at, encounter)
        ward(chart, admitted, until, self._age_at(admitted), self._shifts(admitted), illness.shifts, encounter)

    # drugs and orders

    def _lasting_drugs(self) -> None:
        draw, chart = self.draw, self.chart
        for lasting in self.problems:
            for ladder in lasting.problem.drugs:
                if draw.chance(0.72):
                    self._climb(lasting, ladder)
        if self.age < 18:
            return
        if draw.chance(0.08):
            key = draw.pick(("sertraline-50", "amlodipine-5", "omeprazole-20"))
            chart.prescription(key, self._ago(5, 700), "entered-in-error", category="community", days=90)
        if draw.chance(0.4):
            key = draw.pick(("acetaminophen-325", "ibuprofen-200"))
            chart.prescription(key, self._ago(10, 600), "active" if self.alive else "completed", category="community")

    def _climb(self, lasting: Lasting, ladder: tuple[str, ...]) -> None:
        """A drug renewed year after year, perhaps changed for the next on the ladder; at most the last is active."""
        draw, step = self.draw, 0
        at = max(lasting.onset + draw.whole(0, 30) * DAY, self.start - draw.whole(0, 400) * DAY)
        while at < self.end - DAY:
            renewed = at + draw.whole(280, 520) * DAY
            last = renewed >= self.end - DAY
            status = "completed"
            if last and (not self.alive or draw.chance(0.12)):
                status = "stopped"
            elif last:
                status = "on-hold" if draw.chance(0.03) else "active"
            elif step + 1 < len(ladder) and draw.chance(0.4):
                status = "stopped"
            opened = min(self._in_hours(at), self.end)
            changed = None if status in ("active", "on-hold") else min(renewed, self._ago(0, 20))
            self.chart.prescription(
                ladder[step], opened, status, reason=lasting.condition, days=90, category="community",
                changed=max(changed, opened) if changed else None,
            )  # fmt: skip
            step += status == "stopped"
            at = renewed

    def _loose_orders(self, in_hospital: bool) -> None:
        """Referrals, and orders that nobody has carried out yet; a few are still to come."""
        draw, chart = self.draw, self.chart
        mine = {lasting.problem.icd: lasting.problem.display for lasting in self.problems}
        for key, reasons in _SEEN_FOR.items():
            for icd in reasons:
                if icd in mine and draw.chance(0.45):
                    act, at = codes.REFERRALS[key], self._in_hours(self._ago(4, 1500))
                    open_still = self.alive and at > self.end - 60 * DAY
                    status = "active" if open_still else draw.weighted(("completed", "revoked"), (0.9, 0.1))
                    note = f"Please see for {mine[icd][0].lower()}{mine[icd][1:]}."
                    chart.order(
                        codes.SNOMED, act.code, act.display, act.display, at, status, note=note, category=REFERRAL
                    )
        if self.alive and draw.chance(0.3):
            due = (self.clock + draw.whole(3, 60) * DAY) // DAY * DAY + draw.whole(12, 19) * 60
            key = draw.pick(("basic", "a1c", "lipids", "thyroid"))
            chart.panel_order(key, self._in_hours(self._ago(1, 25)), "active", occurrence=due)
        if in_hospital:
            tomorrow = (self.clock // DAY + 1) * DAY + 5 * 60
            chart.panel_order("basic", self.clock - draw.whole(10, 120), "active", occurrence=tomorrow)
        if draw.chance(0.05):
            chart.panel_order("blood-count", self._ago(5, 500), "entered-in-error")

    def _screenings(self) -> None:
        draw, woman = self.draw, self.person.sex == "female"
        icds = {lasting.problem.icd for lasting in self.problems}
        due = ["medication-reconciliation", "depression-screening"]
        due += ["colonoscopy"] * (45 <= self.age <= 80) + ["mammography"] * 2 * (woman and 40 <= self.age <= 78)
        due += ["bone-density"] * (woman and self.age >= 65) + ["retinal-exam"] * 2 * ("E11.9" in icds)
        due += ["spirometry"] * bool(icds & {"J44.9", "J45.909"}) + ["wound-suture"] * draw.chance(0.1)
        for key in due:
            if draw.chance(0.7):
                at = self._in_hours(draw.whole(self.start, self.end - 2 * DAY))
                self.chart.procedure(key, at, status="not-done" if draw.chance(0.04) else "completed")

    def _allergies(self) -> None:
        draw = self.draw
        allergens: list[tuple[codes.Allergen | None, str]] = []
        if draw.chance(0.42):
            number = draw.weighted((1, 2, 3), (0.66, 0.26, 0.08))
            for allergen in draw.shuffled(codes.ALLERGENS)[:number]:
                likely = ("confirmed", "unconfirmed", "refuted")
                allergens.append((allergen, draw.weighted(likely, (0.82, 0.13, 0.05))))
            if draw.chance(0.08):
                allergens.append((draw.pick(codes.ALLERGENS), "entered-in-error"))
        elif draw.chance(0.45):
            allergens.append((None, "confirmed"))
        for substance, verification in allergens:
            recorded = max(self._in_hours(self._ago(1, 2400)), self.born + DAY)
            self.chart.allergy(substance, min(recorded, self.end), verification)

    def _vaccinations(self) -> None:
        draw = self.draw
        first, last = int(day(self.start // DAY)[:4]), int(day(self.end // DAY)[:4])
        given: list[tuple[str, int]] = []
        for year in range(first, last + 1):
            if draw.chance(0.3 + 0.005 * self.age):
                key = "influenza-trivalent" if year >= 2024 else "influenza-quadrivalent"
                given.append((key, noon(date(year, 10, 1)) + draw.whole(0, 50) * DAY))
        if self.age >= 12:
            began = noon(date(2021, 4, 2)) + draw.whole(0, 70) * DAY
            given += [("covid", began + number * 190 * DAY) for number in range(draw.whole(0, 3))]
        for key, likely, age in (("tdap", 0.4, 18), ("pneumococcal-20", 0.6, 65), ("zoster", 0.4, 50)):
            if self.age >= age and draw.chance(likely):
                given.append((key, draw.whole(self.start, self.end)))
        if self.age < 18:
            months = (("hepatitis-b", 2), ("dtap", 4), ("polio", 4), ("mmr", 13), ("varicella", 13), ("dtap", 50))
            given += [(key, self.born + number * 30 * DAY + draw.whole(0, 20) * DAY) for key, number in months]
        for key, at in given:
            at = self._in_hours(at)
            if self.born < at < self.end:
                self.chart.vaccine(key, at)


def problems(draw: Draw, sex: str, age: int, born: int, end: int) -> list[tuple[Problem, int]]:
    """The lasting problems of someone of that age, each with its onset."""
    band = 0 if age < 40 else 1 if age < 65 else 2
    childhood = ("J45.909", "J30.2")
    found = [
        problem
        for problem in PROBLEMS
        if problem.sex in (None, sex) and (age >= 18 or problem.icd in childhood) and draw.chance(problem.common[band])
    ]
    if any(problem.icd == "E11.9" for problem in found):
        found = [problem for problem in found if problem.icd != "R73.03"]
    earliest = born + (18 * YEAR if age >= 18 else YEAR)
    return [(problem, min(end - 40 * DAY, max(earliest, end - draw.whole(60 * DAY, 5200 * DAY)))) for problem in found]


def build(draw: Draw, sex: str, age: int) -> tuple[float, float]:
    """Height in cm and weight in kg of an adult."""
    height = draw.normal(176 if sex == "male" else 163, 6.5) - max(0, age - 60) * 0.12
    return height, (height / 100) ** 2 * max(18.0, draw.normal(25.2, 2.9))


def child(sex: str, age: int) -> tuple[float, float]:
    """A child's height in cm and weight in kg by rules of thumb (Weech's for height, Best Guess for weight)."""
    height = min(6 * age + 77.0, 175 if sex == "male" else 163)
    weight = 2 * age + 10.0 if age < 5 else 4.0 * age if age < 14 else 4.0 * age - 6
    return height, weight


def noon(on: date) -> int:
    """Noon of that day, in minutes since 1970 UTC."""
    return int(datetime(on.year, on.month, on.day, 12, tzinfo=UTC).timestamp() // 60)
