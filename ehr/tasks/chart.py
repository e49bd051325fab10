"""A chart as a careful agent reads it, through the tools alone; each care can be switched off on purpose.

What is careful here: the right patient by everything told, all pages, only rows that stand, inside the window with both
ends, nothing later than the clock, the latest by time and not by place or id, of two rows of one time the one reported
last, and values in the unit asked for. A `flaw` switches off exactly one of these: the near-oracles.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal, get_args

Flaw = Literal[
    "first_page", "first_row", "newest_id", "ignore_status", "ignore_window", "ignore_future", "open_edge",
    "ignore_ties", "ignore_unit", "first_patient", "year_only",
]  # fmt: skip
FLAWS: tuple[Flaw, ...] = get_args(Flaw)

Resource = dict[str, Any]
Tools = Mapping[str, Callable[..., Any]]

LOINC = "http://loinc.org"


class ChartError(Exception):
    """The chart does not show what the task needs: an agent would say that it is unclear."""


@dataclass(frozen=True, slots=True)
class Result:
    """One result in a chart: a number with its unit, when it was taken, and when it was reported."""

    resource: Resource
    at: datetime
    reported: datetime
    value: Decimal
    unit: str

    @property
    def id(self) -> str:
        """The id of its Observation."""
        return str(self.resource["id"])

    @property
    def time(self) -> str:
        """When it was taken, as the chart writes it."""
        return str(_effective(self.resource))


class Chart:
    """A patient's chart through the tools of an episode, as of `clock`."""

    def __init__(self, tools: Tools, clock: str, flaws: frozenset[str] = frozenset()) -> None:
        unknown = flaws - set(FLAWS)
        if unknown:
            raise ValueError(f"unknown flaws {sorted(unknown)!r}; known are {', '.join(FLAWS)}")
        self.tools = tools
        self.clock = clock
        self.now = _instant(clock)
        self.flaws = flaws
        self.unstored: list[str] = []
        """What was acknowledged and is not there, however often it was tried."""

    # People

    def patient(self, told: Mapping[str, str]) -> Resource:
        """The one patient whom the instruction names, by MRN or by name and birth date. Raises `ChartError`."""
        found = self.people(told)
        if not found:
            raise ChartError(f"no patient is found for {dict(told)!r}")
        if len(found) > 1 and "first_patient" not in self.flaws:
            raise ChartError(f"{len(found)} patients are found for {dict(told)!r}")
        return found[0]

    def people(self, told: Mapping[str, str]) -> list[Resource]:
        """Everyone who fits what the instruction tells of a person."""
        if "mrn" in told:
            return list(self.search("Patient", identifier=told["mrn"]))
        same_name = list(self.search("Patient", family=told["family"], given=told["given"]))
        if "first_patient" in self.flaws or "birth_date" not in told:
            return same_name
        return [
            patient
            for patient in same_name
            if patient.get("birthDate") == told["birth_date"]
            and any(
                name.get("family") == told["family"] and told["given"] in name.get("given", ())
                for name in patient.get("name", ())
            )
        ]

    def age(self, patient: Resource) -> int:
        """Completed years on the clock's day."""
        born, today = date.fromisoformat(patient["birthDate"]), self.now.date()
        years = today.year - born.year
        if "year_only" in self.flaws:
            return years
        return years if (today.month, today.day) >= (born.month, born.day) else years - 1

    # Reading

    def search(self, type: str, **parameters: Any) -> Iterator[Resource]:
        """The matches of a search, page after page."""
        body = self._ask("fhir_search", type=type, parameters=parameters)
        while True:
            for entry in body.get("entry", ()):
                if entry.get("search", {}).get("mode", "match") == "match":
                    yield entry["resource"]
            following = [link["url"] for link in body.get("link", ()) if link["relation"] == "next"]
            if not following or "first_page" in self.flaws:
                return
            body = self._ask("fhir_next_page", url=following[0])

    def results(self, patient: Resource, loinc: Sequence[str], *, since: datetime | None = None) -> list[Result]:
        """The results of these tests that stand, from `since` up to now, in the server's order."""
        return list(self._results(patient, loinc, since))

    def latest(self, patient: Resource, loinc: Sequence[str], *, since: datetime | None = None) -> Result | None:
        """The latest result of these tests from `since` up to now; of two taken at one time, the one reported last."""
        if "first_row" in self.flaws:
            return next(self._results(patient, loinc, since), None)
        if "newest_id" in self.flaws:
            return max(self._results(patient, loinc, since), key=lambda result: _id_key(result.resource), default=None)
        tied: list[Result] = []
        for result in self._results(patient, loinc, since, _sort="-date"):
            if tied and result.at < tied[0].at:
                break
            tied.append(result)
        if "ignore_ties" in self.flaws:
            return tied[0] if tied else None
        return max(tied, key=lambda result: result.reported, default=None)

    def latest_of(self, resources: Iterable[Resource], element: str) -> Resource | None:
        """The resource whose date element is the latest."""
        found = list(resources)
        if "first_row" in self.flaws:
            return found[0] if found else None
        if "newest_id" in self.flaws:
            return max(found, key=_id_key, default=None)
        return max(found, key=lambda resource: _instant(resource[element]), default=None)

    def is_within(self, at: datetime, since: datetime) -> bool:
        """Whether an instant is not before `since`."""
        if "ignore_window" in self.flaws:
            return True
        return at > since if "open_edge" in self.flaws else at >= since

    def number(self, result: Result, unit: str, analyte: str | None = None) -> Decimal:
        """The result's value in `unit`. Raises `ChartError` where it cannot be converted."""
        if "ignore_unit" in self.flaws or result.unit == unit:
            return result.value
        from ehr.verify.units import convert

        value = convert(result.value, result.unit, unit, analyte=analyte)
        if value is None:
            raise ChartError(f"{result.value} {result.unit} cannot be converted to {unit}")
        return value

    def active(self, type: str, patient: Resource, **narrower: str) -> list[Resource]:
        """The patient's orders in force, active problems or present allergies: whatever of the type stands now."""
        rows = list(self.search(type, patient=patient["id"], **narrower))
        return rows if "ignore_status" in self.flaws else [row for row in rows if _stands(row)]

    def read(self, reference: str) -> Resource:
        """A resource as the server has it now."""
        type, id = reference.split("/")
        return self._ask("fhir_read", type=type, id=id)

    # Writing: each write is read back, and mended where it did not come out

    def create(self, resource: Resource) -> Resource:
        """Store a new resource, read it back, and store what is missing of it. What is lost stands in `unstored`."""
        type = resource["resourceType"]
        for _ in range(_TRIES):
            answer = self._said("fhir_create", type=type, resource=resource)
            if answer["status"] == _CONFLICT:
                continue
            stored = self._found_again(resource) if answer["status"] == _TOO_LATE else _body("fhir_create", answer)
            if stored is None:
                continue
            there = self._standing(f"{type}/{stored['id']}")
            if there is not None:
                lacking = _unlike(resource, there)
                return self.update(there, **lacking) if lacking else there
        self.unstored.append(f"a {type}")
        return resource

    def update(self, resource: Resource, **elements: Any) -> Resource:
        """Store a resource with some elements changed, read it back, and try again where they are not there.

        Where somebody else has changed it since it was read, what they wrote is kept.
        """
        type, id = resource["resourceType"], resource["id"]
        for _ in range(_TRIES):
            changed = {**copy.deepcopy(resource), **elements}
            version = resource.get("meta", {}).get("versionId")
            arguments = {"if_match": f'W/"{version}"'} if version else {}
            answer = self._said("fhir_update", type=type, id=id, resource=changed, **arguments)
            if answer["status"] not in (_CONFLICT, _OVERTAKEN, _TOO_LATE):
                _body("fhir_update", answer)
            resource = self.read(f"{type}/{id}")
            if not _unlike(elements, resource):
                return resource
        self.unstored.append(f"the change of {type}/{id}")
        return resource

    def _standing(self, reference: str) -> Resource | None:
        """A resource as the server has it now; None where it has none."""
        type, id = reference.split("/")
        answer = self._said("fhir_read", type=type, id=id)
        return None if answer["status"] in (404, 410) else _body("fhir_read", answer)

    def _found_again(self, resource: Resource) -> Resource | None:
        """A resource that was sent and whose answer did not come, if it was stored."""
        about = (resource.get("subject") or resource.get("patient") or {}).get("reference", "")
        newest = {"_sort": "-_lastUpdated", "_count": "50"}
        rows = self.search(resource["resourceType"], patient=about.removeprefix("Patient/"), **newest)
        return next((row for row in rows if not _unlike(resource, row)), None)

    def _results(
        self, patient: Resource, loinc: Sequence[str], since: datetime | None, **more: str
    ) -> Iterator[Result]:
        parameters: dict[str, Any] = {
            "patient": patient["id"],
            "code": ",".join(f"{LOINC}|{code}" for code in loinc),
            **more,
        }
        bounds = []
        if since is not None and "ignore_window" not in self.flaws:
            bounds.append(("gt" if "open_edge" in self.flaws else "ge") + since.isoformat())
        if "ignore_future" not in self.flaws:
            bounds.append("le" + self.now.isoformat())
        if bounds:
            parameters["date"] = bounds
        for row in self.search("Observation", **parameters):
            result = _result(row)
            if result and ("ignore_status" in self.flaws or _stands(row)):
                yield result

    def _ask(self, tool: str, **arguments: Any) -> Resource:
        return _body(tool, self._said(tool, **arguments))

    def _said(self, tool: str, **arguments: Any) -> Mapping[str, Any]:
        """The answer to a call; one that the server has no time for is tried again. Raises `ChartError` for none."""
        answer: Mapping[str, Any] = {}
        for _ in range(_TRIES):
            answer = self.tools[tool](**arguments)
            if not isinstance(answer.get("status"), int):
                raise ChartError(f"{tool} answered {answer!r}")
            if answer["status"] not in _BUSY:
                break
        return answer


_TRIES = 4
"""How often a careful agent tries what may come out better the next time."""
_BUSY = (429, 503)
_CONFLICT, _OVERTAKEN, _TOO_LATE = 409, 412, 504


def _body(tool: str, answer: Mapping[str, Any]) -> Resource:
    """The resource of an answer. Raises `ChartError` where it is a refusal."""
    body = answer.get("body")
    if answer["status"] >= 300 or not isinstance(body, dict):
        raise ChartError(f"{tool} answered {answer['status']!r}: {body or answer!r}")
    return body


def _unlike(sent: Mapping[str, Any], there: Mapping[str, Any]) -> dict[str, Any]:
    """What was sent and does not stand there as it was sent."""
    return {key: value for key, value in sent.items() if key not in ("id", "meta") and there.get(key) != value}


def codes_of(concept: Any) -> set[str]:
    """The codes of a concept."""
    return {str(coding.get("code")) for coding in (concept or {}).get("coding", ())}


def called(concept: Resource) -> str:
    """The name of a concept as the chart shows it."""
    if concept.get("text"):
        return str(concept["text"])
    return str(next(coding["display"] for coding in concept["coding"] if coding.get("display")))


def _stands(row: Resource) -> bool:
    """Whether a row counts: a result that holds, an order in force, an active problem, an allergy not refuted."""
    match row["resourceType"]:
        case "Observation":
            return row.get("status") in ("preliminary", "final", "amended", "corrected")
        case "Condition" | "AllergyIntolerance":
            doubted = codes_of(row.get("verificationStatus")) & {"refuted", "entered-in-error"}
            present = codes_of(row.get("clinicalStatus")) & {"active", "recurrence", "relapse"}
            return bool(present) and not doubted
        case _:
            return row.get("status") == "active" and row.get("intent") == "order"


def _result(row: Resource) -> Result | None:
    at, quantity = _effective(row), row.get("valueQuantity") or {}
    if at is None or "value" not in quantity:
        return None
    reported = row.get("issued") or at
    unit = quantity.get("code") or quantity.get("unit") or ""
    return Result(row, _instant(at), _instant(reported), Decimal(str(quantity["value"])), unit)


def _effective(row: Resource) -> str | None:
    text = row.get("effectiveDateTime") or row.get("effectiveInstant") or row.get("effectivePeriod", {}).get("start")
    return text if isinstance(text, str) else None


def _instant(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _id_key(row: Resource) -> tuple[int, str]:
    """Ids in their order: numbers by value, everything else as text."""
    id = str(row["id"])
    return (len(id), id) if id.isdigit() else (0, id)
