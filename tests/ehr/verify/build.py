"""A small chart, acts upon it, and the episode that they leave: requests, answers and net changes as a server has them.

chart = Chart()
chart.create(order())
assert state(chart, ORDER).outcome == "pass"
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from ehr.verify import Create, Expected, clause, coded, hours, instant, judge, quantity, refers_to
from harness.task import Task
from harness.trace import Change, Episode, HttpRequest
from harness.verdict import Clause, Verdict

CLOCK = "2026-01-15T10:15:00+00:00"
BASE = "http://fhir.hospital.example/fhir"
NDC = "http://hl7.org/fhir/sid/ndc"
LOINC = "http://loinc.org"
UCUM = "http://unitsofmeasure.org"
MAGNESIUM = "0338-1715-40"

Body = dict[str, Any]

ADA: Body = {
    "resourceType": "Patient",
    "id": "p1",
    "name": [{"family": "Okafor", "given": ["Ada"]}],
    "birthDate": "1961-04-02",
    "telecom": [{"system": "phone", "value": "555-0101", "use": "home"}],
    "address": [{"line": ["12 Mill Lane"], "city": "Leeds"}],
}
BEN: Body = {
    "resourceType": "Patient",
    "id": "p2",
    "name": [{"family": "Okafor", "given": ["Ben"]}],
    "telecom": [{"system": "phone", "value": "555-0202"}],
}
WARFARIN: Body = {
    "resourceType": "MedicationRequest",
    "id": "mr0",
    "status": "active",
    "intent": "order",
    "medicationCodeableConcept": {"text": "warfarin"},
    "subject": {"reference": "Patient/p1"},
    "dosageInstruction": [{"text": "5 mg daily"}],
}


def order(**elements: Any) -> Body:
    """The right order of 2 g of magnesium for Ada; an element given as None is left out."""
    return changed(
        {
            "resourceType": "MedicationRequest",
            "status": "active",
            "intent": "order",
            "medicationCodeableConcept": {"coding": [{"system": NDC, "code": MAGNESIUM}]},
            "subject": {"reference": "Patient/p1"},
            "authoredOn": CLOCK,
            "dosageInstruction": [dose(2, "g")],
        },
        **elements,
    )


def potassium(**elements: Any) -> Body:
    """A potassium of 3.1 mmol/L of Ada's."""
    return changed(
        {
            "resourceType": "Observation",
            "status": "final",
            "code": {"coding": [{"system": LOINC, "code": "2823-3"}]},
            "subject": {"reference": "Patient/p1"},
            "effectiveDateTime": CLOCK,
            "valueQuantity": amount(3.1, "mmol/L"),
        },
        **elements,
    )


def pressure(systolic: Any = 118, diastolic: Any = 77, **elements: Any) -> Body:
    """A blood pressure of Ada's as a panel of two components."""
    parts = [("8480-6", systolic), ("8462-4", diastolic)]
    return changed(
        {
            "resourceType": "Observation",
            "status": "final",
            "code": {"coding": [{"system": LOINC, "code": "85354-9"}]},
            "subject": {"reference": "Patient/p1"},
            "component": [
                {"code": {"coding": [{"system": LOINC, "code": code}]}, "valueQuantity": amount(value, "mm[Hg]")}
                for code, value in parts
            ],
        },
        **elements,
    )


def changed(body: Body, **elements: Any) -> Body:
    """A copy with other elements; None leaves one out."""
    return {key: value for key, value in (deepcopy(body) | elements).items() if value is not None}


def amount(value: Any, code: str) -> Body:
    return {"value": value, "unit": code, "system": UCUM, "code": code}


def dose(value: Any, code: str) -> Body:
    return {"doseAndRate": [{"doseQuantity": amount(value, code)}]}


def component(code: str) -> str:
    """FHIRPath to the value of the component with a LOINC code."""
    return f"component.where(code.coding.where(system = '{LOINC}' and code = '{code}').exists()).value"


PATIENT = refers_to("patient", "subject", "Patient/p1")
DRUG = coded("drug", "medication", NDC, MAGNESIUM)
DOSE = quantity("dose", "dosageInstruction.doseAndRate.dose", 2, "g")
WHEN = instant("when", "authoredOn", CLOCK, within=hours(1))
IS_ORDER = clause("is an order", "status = 'active' and intent = 'order'", label="WRONG_STATUS")
ORDER = Expected(creates=(Create(type="MedicationRequest", clauses=(PATIENT, DRUG, DOSE, WHEN, IS_ORDER)),))
POTASSIUM = Expected(
    creates=(
        Create(
            type="Observation",
            clauses=(PATIENT, coded("test", "code", LOINC, "2823-3"), quantity("value", "value", "3.1", "mmol/L")),
        ),
    )
)
PRESSURE = Expected(
    creates=(
        Create(
            type="Observation",
            clauses=(
                PATIENT,
                quantity("systolic", component("8480-6"), 118, "mm[Hg]"),
                quantity("diastolic", component("8462-4"), 77, "mm[Hg]"),
            ),
        ),
    )
)


class Chart:
    """A chart as a server would keep it, and every request that it answered."""

    def __init__(self, *before: Body) -> None:
        resources = before or (ADA, BEN, WARFARIN)
        self.before = {f"{r['resourceType']}/{r['id']}": json.dumps(r) for r in resources}
        self.now = dict(self.before)
        self.requests: list[HttpRequest] = []
        self._next = 1000

    def create(self, body: Body | str, *, by: str = "agent") -> str:
        """POST; the reference that the server gave. A text is stored as it stands, with an id."""
        reference, stored = self._give_id(body)
        self._keep(reference, stored)
        self._send("POST", f"/{reference.partition('/')[0]}", body, 201, stored, by, location=reference)
        return reference

    def put(self, body: Body | str, *, by: str = "agent") -> str:
        """PUT of the whole resource under its own id."""
        value = json.loads(text(body))
        reference = f"{value['resourceType']}/{value['id']}"
        status = 200 if reference in self.now else 201
        self._keep(reference, text(body))
        self._send("PUT", f"/{reference}", body, status, text(body), by, location=reference)
        return reference

    def patch(self, reference: str, *, by: str = "agent", **elements: Any) -> None:
        """PATCH of top-level elements; None removes one."""
        old = json.loads(self.now[reference])
        stored = text(changed(old, **elements))
        operations = [
            {"op": "remove", "path": f"/{key}"} if value is None else {"op": "add", "path": f"/{key}", "value": value}
            for key, value in elements.items()
        ]
        self._keep(reference, stored)
        self._send("PATCH", f"/{reference}", json.dumps(operations), 200, stored, by, location=reference)

    def delete(self, reference: str, *, by: str = "agent") -> None:
        self.now.pop(reference)
        self._send("DELETE", f"/{reference}", None, 200, json.dumps({"resourceType": "OperationOutcome"}), by)

    def get(self, path: str, status: int = 200, answer: Body | None = None) -> None:
        self._send("GET", path, None, status, text(answer or json.loads(self.now.get(path.lstrip("/"), "{}"))), "agent")

    def refuse(
        self, method: str, path: str, body: Body | str | None, status: int = 400, headers: Mapping[str, str] = {}
    ) -> None:
        self._send(method, path, body, status, json.dumps({"resourceType": "OperationOutcome"}), "agent", headers)

    def bundle(self, kind: str, *entries: tuple[str, str, Body | None, int], refused: int | None = None) -> None:
        """A transaction or batch of (method, url, resource, status); a status over 299 refuses that entry alone.

        `refused` refuses it whole.
        """
        asked, answers = [], []
        for method, url, resource, status in entries:
            asked.append({"request": {"method": method, "url": url}} | ({"resource": resource} if resource else {}))
            location = url
            if refused is None and status < 300:
                if method == "POST":
                    location, stored = self._give_id(resource or {})
                    self._keep(location, stored)
                elif method == "PUT":
                    self._keep(url, text(resource or {}))
                elif method == "DELETE":
                    self.now.pop(url)
            answers.append({"response": {"status": f"{status} told", "location": f"{location}/_history/1"}})
        body = {"resourceType": "Bundle", "type": kind, "entry": asked}
        answer = {"resourceType": "Bundle", "type": f"{kind}-response", "entry": answers}
        outcome = {"resourceType": "OperationOutcome"}
        self._send("POST", "/", body, refused or 200, text(outcome if refused else answer), "agent")

    def episode(self, **fields: Any) -> Episode:
        """The episode: claimed done unless said otherwise."""
        given = {"claim": "done", "ending": "finished", "base": BASE, "variant": {}} | fields
        return Episode(
            id="sha256:0", task="ehr/case", task_digest="sha256:1", agent="hand", condition="default",
            requests=tuple(self.requests), changes=tuple(self._changes()), **given,
        )  # fmt: skip

    def _changes(self) -> list[Change]:
        changes = []
        for reference in dict.fromkeys([*self.before, *self.now]):
            before, after = self.before.get(reference), self.now.get(reference)
            if before != after:
                verb = "create" if before is None else "delete" if after is None else "update"
                change = {"verb": verb, "reference": reference, "before": before, "after": after}
                changes.append(Change.model_validate(change))
        return changes

    def _give_id(self, body: Body | str) -> tuple[str, str]:
        """A reference of the server's, and the body with its id. A text keeps every digit."""
        id_ = str(self._next)
        self._next += 1
        written = text(body)
        kind = re.search(r'"resourceType": *"(\w+)"', written)
        assert kind is not None
        return f"{kind[1]}/{id_}", written.replace("{", f'{{"id": "{id_}", ', 1)

    def _keep(self, reference: str, body: str) -> None:
        self.now[reference] = body

    def _send(
        self, method: str, path: str, body: Body | str | None, status: int, answer: str, by: str,
        headers: Mapping[str, str] = {}, location: str | None = None,
    ) -> None:  # fmt: skip
        self.requests.append(
            HttpRequest(
                by=by, method=method, path=path, headers=dict(headers), body=None if body is None else text(body),
                status=status, response=answer,
                response_headers={"Location": f"{BASE}/{location}/_history/1"} if location else {},
            )
        )  # fmt: skip


def text(body: Body | str) -> str:
    return body if isinstance(body, str) else json.dumps(body)


def task(expected: Expected | None, *, patient: str | None = "Patient/p1", answer: Body | None = None) -> Task:
    return Task.make(
        id="ehr/case", suite="ehr", template="case", kind="write", patient=patient, requires=("state",),
        needs_write=True, needs_chart=True, instruction="", tools=(), clock=CLOCK, answer=answer,
        expected=None if expected is None else expected.model_dump(mode="json", exclude_none=True),
    )  # fmt: skip


def verdicts(
    chart: Chart, expected: Expected | None, *, patient: str | None = "Patient/p1", **fields: Any
) -> dict[str, Verdict]:
    """Every lens, through the public way in."""
    return {verdict.lens: verdict for verdict in judge(task(expected, patient=patient), chart.episode(**fields))}


def state(chart: Chart, expected: Expected, *, patient: str | None = "Patient/p1", **fields: Any) -> Verdict:
    return verdicts(chart, expected, patient=patient, **fields)["state"]


def message(chart: Chart, expected: Expected, *, patient: str | None = "Patient/p1", **fields: Any) -> Verdict:
    return verdicts(chart, expected, patient=patient, **fields)["message"]


def labels(expected: Expected, *created: Body | str) -> tuple[str, ...]:
    """The labels of the `state` verdict where these resources, and nothing else, were created."""
    chart = Chart()
    for body in created:
        chart.create(body)
    verdict = state(chart, expected)
    assert verdict.outcome == ("fail" if verdict.labels else "pass"), verdict.reason
    return verdict.labels


def finding(verdict: Verdict, name: str) -> Clause:
    """The clause of that name; the first one that failed, where several have it."""
    named = [c for c in verdict.clauses if c.name == name]
    return next((c for c in named if c.outcome == "fail"), named[0])
