"""Writes the resources of one patient as bytes. Observations, the great mass, come from text prepared once per test.

Times are whole minutes since 1970 UTC. Every number is written with the digits a laboratory prints: 4.0 stays 4.0.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

import orjson

from ehr.tasks.synthetic import codes
from ehr.tasks.synthetic.codes import TERMINOLOGY, UCUM, Lab
from ehr.tasks.synthetic.ids import Ids

Json = dict[str, Any]
MINUTES_A_DAY = 1440


def minutes(instant: str) -> int:
    """An ISO instant with a zone as whole minutes since 1970 UTC."""
    moment = datetime.fromisoformat(instant)
    if moment.tzinfo is None:
        raise ValueError(f"clock {instant!r} needs a zone, as in 2026-01-15T10:15:00+00:00")
    return int(moment.timestamp() // 60)


@lru_cache(maxsize=8192)
def day(number: int) -> str:
    """The date of that day since 1970."""
    return datetime.fromtimestamp(number * 86400, UTC).date().isoformat()


def stamp(at: int) -> str:
    """A dateTime to the minute, in UTC."""
    number, rest = divmod(at, MINUTES_A_DAY)
    return f"{day(number)}T{rest // 60:02d}:{rest % 60:02d}:00+00:00"


def stamp_west(at: int) -> str:
    """The same moment as an outside laboratory writes it, five hours behind UTC."""
    return stamp(at - 300)[:-6] + "-05:00"


class Meta:
    """Gives each row its `meta`: loaded in one night long ago, or entered just after it was known.

    `loaded` is when the hospital moved to this server: what was known before has a lastUpdated of that night, in an
    order that says nothing; what came later was entered within a minute.
    """

    def __init__(self, loaded: int, clock: int) -> None:
        self.loaded, self._last = loaded, clock - 1
        self._number = 0
        night = day(loaded // MINUTES_A_DAY)
        times = [(7919 * n) % 10_800_000 for n in range(4096)]
        self._night = [
            f"{night}T{t // 3_600_000 + 1:02d}:{t // 60_000 % 60:02d}:{t // 1000 % 60:02d}.{t % 1000:03d}+00:00"
            for t in times
        ]

    def updated(self, known: int) -> str:
        """The lastUpdated of what was known at that minute."""
        self._number = number = self._number + 1
        if known <= self.loaded:
            return self._night[number * 1597 & 4095]
        return f"{stamp(min(known, self._last))[:-8]}{number * 17 % 60:02d}.{number * 389 % 1000:03d}+00:00"

    def of(self, known: int) -> Json:
        """The whole `meta` of what was known at that minute."""
        return {"versionId": "1", "lastUpdated": self.updated(known)}


def coding(system: str, code: str, display: str) -> Json:
    """A Coding."""
    return {"system": system, "code": code, "display": display}


def concept(system: str, code: str, display: str, text: str | None = None) -> Json:
    """A CodeableConcept with one coding."""
    return {"coding": [coding(system, code, display)], "text": text or display}


def quantity(value: float, unit: str, shown: str) -> Json:
    """A Quantity in a UCUM unit; a whole number is written without a decimal point."""
    number: float | int = int(value) if value == int(value) else value
    return {"value": number, "unit": shown, "system": UCUM, "code": unit}


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()


def _category(code: str, display: str) -> str:
    return _text([{"coding": [coding(TERMINOLOGY + "observation-category", code, display)]}])


_INTERPRETATIONS: dict[str, list[Json]] = {
    mark: [{"coding": [coding(TERMINOLOGY + "v3-ObservationInterpretation", mark, words)], "text": words}]
    for mark, words in (("H", "High"), ("L", "Low"), ("HH", "Critical high"), ("LL", "Critical low"))
}
_FLAGS = {"": ""} | {mark: f',"interpretation":{_text(content)}' for mark, content in _INTERPRETATIONS.items()}


@cache
def _lab_text(key: str, sex: str, molar: bool) -> tuple[str, str]:
    """The category and code of a test's row, and what follows its value: unit; and its reference range."""
    lab = codes.LABS[key]
    category = _category("laboratory", "Laboratory")
    codings = [coding(codes.LOINC, lab.code, lab.display)]
    unit, shown, factor, places = lab.unit, lab.shown or lab.unit, 1.0, lab.places
    if molar and lab.molar:
        code, words, unit, factor, places = lab.molar
        shown = unit
        codings.insert(0, coding(codes.LOINC, code, words))
    low, high = limits(lab, sex)
    named = f'"unit":{_text(shown)},"system":"{UCUM}","code":{_text(unit)}}}'
    ends = [
        f'"{name}":{{"value":{end * factor:.{places}f},{named}'
        for name, end in (("low", low), ("high", high))
        if end is not None
    ]
    head = f'"category":{category},"code":{_text({"coding": codings, "text": lab.name})},'
    return head, f",{named}\x00" + (f',"referenceRange":[{{{",".join(ends)}}}]' if ends else "")


def limits(lab: Lab, sex: str) -> tuple[float | None, float | None]:
    """The reference range of a test for that sex; 999 stands for no upper end in the tables."""
    if lab.female and sex == "female":
        low, high = lab.female[0], lab.female[1]
        return low, None if high == 999 else high
    return lab.low, lab.high


def interpretation(code: str, value: float, sex: str) -> list[Json] | None:
    """The `interpretation` that this record's laboratory gives a value of that LOINC code; None where it gives none."""
    for lab in codes.LABS.values():
        if lab.code == code:
            return _INTERPRETATIONS.get(flag(lab, sex, value))
    return None


def flag(lab: Lab, sex: str, value: float) -> str:
    """H, L, HH, LL, or nothing: how far a value is outside the reference range."""
    low, high = limits(lab, sex)
    if high is not None and value > high:
        return "HH" if value > high + (high - (low or 0)) * 1.6 else "H"
    if low is not None and value < low:
        return "LL" if value < low - ((high or low) - low) * 0.75 else "L"
    return ""


@cache
def _vital_text(key: str) -> tuple[str, str]:
    vital = codes.VITALS[key]
    code = _text(concept(codes.LOINC, vital.code, vital.display, vital.name))
    head = f'"category":{_category("vital-signs", "Vital Signs")},"code":{code},'
    return head, f',"unit":{_text(vital.shown)},"system":"{UCUM}","code":{_text(vital.unit)}}}}}'


@cache
def _pressure_text() -> tuple[str, str, str]:
    code, display, name = codes.BLOOD_PRESSURE
    both = _text(concept(codes.LOINC, code, display, name))
    head = f'"category":{_category("vital-signs", "Vital Signs")},"code":{both},'
    part = [
        f'{{"code":{_text(concept(codes.LOINC, vital.code, vital.display, vital.name))},"valueQuantity":{{"value":'
        for vital in (codes.VITALS["systolic"], codes.VITALS["diastolic"])
    ]
    unit = f',"unit":"mmHg","system":"{UCUM}","code":"mm[Hg]"}}}}'
    return head, f',"component":[{part[0]}', f"{unit},{part[1]}\x00{unit}]}}"


class Rows:
    """Collects the rows of one patient, in the order of their opaque ids, which is no order of time."""

    def __init__(self, ids: Ids, meta: Meta, patient_id: str, sex: str, laboratory: str | None = None) -> None:
        self.ids, self.meta, self.patient_id, self.sex = ids, meta, patient_id, sex
        self.subject = {"reference": f"Patient/{patient_id}"}
        self._subject = f'"subject":{{"reference":"Patient/{patient_id}"}},'
        self._performer = f',"performer":[{{"reference":"Organization/{laboratory}"}}]' if laboratory else ""
        self._rows: list[tuple[str, bytes]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def sorted(self) -> list[bytes]:
        """The rows by id."""
        self._rows.sort()
        return [body for _, body in self._rows]

    def cut(self, number: int) -> None:
        """Keep only the first `number` rows."""
        del self._rows[number:]

    def place(self, encounter: str | None) -> str:
        """The text that says whose an Observation is and in which encounter it was made."""
        if encounter is None:
            return self._subject
        return f'{self._subject}"encounter":{{"reference":"Encounter/{encounter}"}},'

    def add(self, resource_type: str, known: int, content: Json, logical_id: str | None = None) -> str:
        """A row of any type; gives its id."""
        logical_id = logical_id or self.ids.give()
        body = {"resourceType": resource_type, "id": logical_id, "meta": self.meta.of(known), **content}
        self._rows.append((logical_id, orjson.dumps(body)))
        return logical_id

    def lab(
        self, key: str, value: float, at: int, issued: int, place: str, *, status: str = "final",
        outside: str | None = None, note: str | None = None,
    ) -> str:  # fmt: skip
        """A laboratory result, flagged where it is outside its range. `outside`: that laboratory's, in SI units."""
        lab = codes.LABS[key]
        head, tail = _lab_text(key, self.sex, outside is not None)
        unit, reference = tail.split("\x00")
        number = f"{value:.{lab.places}f}"
        marked = _FLAGS[flag(lab, self.sex, float(number))]
        if outside and lab.molar:
            number = f"{value * lab.molar[3]:.{lab.molar[4]}f}"
        when = stamp_west if outside else stamp
        performer = f',"performer":[{{"reference":"Organization/{outside}"}}]' if outside else self._performer
        said = f',"note":[{{"text":{_text(note)}}}]' if note else ""
        logical_id = self.ids.give()
        self._rows.append((logical_id, (
            f'{{"resourceType":"Observation","id":"{logical_id}","meta":{{"versionId":"1","lastUpdated":"'
            f'{self.meta.updated(issued)}"}},"status":"{status}",{head}{place}"effectiveDateTime":"{when(at)}",'
            f'"issued":"{when(issued)}"{performer},"valueQuantity":{{"value":{number}{unit}{marked}{said}{reference}}}'
        ).encode()))  # fmt: skip
        return logical_id

    def unresulted(self, key: str, at: int, issued: int, place: str, reason: str) -> str:
        """A test that could not be done: cancelled, with no value and the reason."""
        head, _ = _lab_text(key, self.sex, False)
        logical_id = self.ids.give()
        absent = _text(concept(TERMINOLOGY + "data-absent-reason", "error", "Error", reason))
        self._rows.append((logical_id, (
            f'{{"resourceType":"Observation","id":"{logical_id}","meta":{{"versionId":"1","lastUpdated":"'
            f'{self.meta.updated(issued)}"}},"status":"cancelled",{head}{place}"effectiveDateTime":"{stamp(at)}",'
            f'"issued":"{stamp(issued)}"{self._performer},"dataAbsentReason":{absent}}}'
        ).encode()))  # fmt: skip
        return logical_id

    def vital(self, key: str, value: float, at: int, place: str, *, status: str = "final") -> str:
        """A vital sign."""
        head, tail = _vital_text(key)
        logical_id = self.ids.give()
        when = stamp(at)
        self._rows.append((logical_id, (
            f'{{"resourceType":"Observation","id":"{logical_id}","meta":{{"versionId":"1","lastUpdated":"'
            f'{self.meta.updated(at)}"}},"status":"{status}",{head}{place}"effectiveDateTime":"{when}","issued":"{when}",'
            f'"valueQuantity":{{"value":{value:.{codes.VITALS[key].places}f}{tail}'
        ).encode()))  # fmt: skip
        return logical_id

    def pressure(self, systolic: float, diastolic: float, at: int, place: str, *, status: str = "final") -> str:
        """A blood pressure: one panel with two components."""
        head, first, rest = _pressure_text()
        second, end = rest.split("\x00")
        logical_id = self.ids.give()
        when = stamp(at)
        self._rows.append((logical_id, (
            f'{{"resourceType":"Observation","id":"{logical_id}","meta":{{"versionId":"1","lastUpdated":"'
            f'{self.meta.updated(at)}"}},"status":"{status}",{head}{place}"effectiveDateTime":"{when}","issued":"{when}"'
            f"{first}{systolic:.0f}{second}{diastolic:.0f}{end}"
        ).encode()))  # fmt: skip
        return logical_id
