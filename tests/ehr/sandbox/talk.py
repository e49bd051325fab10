"""Talks to a fork in few words: what tests of the sandbox share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ehr.sandbox.fork import Fork
from ehr.sandbox.http import Request

FHIR = {"Content-Type": "application/fhir+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
CLOCK = "2026-01-15T10:15:00+00:00"

ADA = {
    "resourceType": "Patient",
    "id": "ada",
    "identifier": [{"system": "http://hospital.example/mrn", "value": "S17"}],
    "name": [{"family": "Okafor", "given": ["Ada"]}],
    "telecom": [{"system": "phone", "value": "555-0101"}],
}
BEN = {"resourceType": "Patient", "id": "ben", "name": [{"family": "Lindqvist"}], "active": True}
POTASSIUM = (
    b'{"resourceType":"Observation","id":"k1","status":"final","code":{"coding":[{"system":"http://loinc.org",'
    b'"code":"2823-3"}]},"subject":{"reference":"Patient/ada"},"effectiveDateTime":"2026-01-15T08:00:00+00:00",'
    b'"valueQuantity":{"value":4.10,"unit":"mmol/L","system":"http://unitsofmeasure.org","code":"mmol/L"}}'
)
WARD: list[Any] = [ADA, BEN, POTASSIUM]


@dataclass(frozen=True)
class Said:
    """An answer, parsed."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw) if self.raw else None

    @property
    def diagnostics(self) -> str:
        return str(self.body["issue"][0]["diagnostics"])


class Talk:
    """A fork, spoken to by method."""

    def __init__(self, fork: Fork, by: str = "agent") -> None:
        self.fork, self.by = fork, by

    def send(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Said:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        sent = (FHIR if body is not None else {}) | dict(headers or {})
        response = self.fork.handle(Request(method, path, sent, data), by=self.by)
        return Said(response.status, response.headers, response.body)

    def get(self, path: str, **headers: str) -> Said:
        return self.send("GET", path, None, {k.replace("_", "-"): v for k, v in headers.items()})

    def post(self, path: str, body: Any, **headers: str) -> Said:
        return self.send("POST", path, body, {k.replace("_", "-"): v for k, v in headers.items()})

    def put(self, path: str, body: Any, **headers: str) -> Said:
        return self.send("PUT", path, body, {k.replace("_", "-"): v for k, v in headers.items()})

    def patch(self, path: str, operations: Any) -> Said:
        return self.send("PATCH", path, operations, JSON_PATCH)

    def delete(self, path: str) -> Said:
        return self.send("DELETE", path)

    def ids(self, path: str) -> list[str]:
        return [e["resource"]["id"] for e in self.get(path).body.get("entry", [])]
