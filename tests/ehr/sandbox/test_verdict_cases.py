"""The requests of every verdict case: refused where a real HAPI refused them, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ehr.sandbox.body import compact, parse
from ehr.sandbox.http import Request
from ehr.sandbox.record import Record
from tests.ehr.sandbox.talk import FHIR

CASES = Path(__file__).parent.parent / "verify" / "cases.jsonl"


def cases() -> list[Any]:
    return [parse(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case["id"]))
def test_the_statuses_are_those_of_the_case(case: Any) -> None:
    refused = {int(entry["request"]): int(entry["status"]) for entry in case["refused"]}
    created: dict[str, str] = {}
    with Record.build([compact(r) for r in case["before"]], clock=case["clock"], synthetic=True) as record:
        fork = record.fork(clock=case["clock"])
        for number, sent in enumerate(case["requests"], start=1):
            body = "" if sent["body"] is None else compact(sent["body"]).decode()
            path = sent["path"]
            for name, value in {**created, "$base": fork.base}.items():
                body, path = body.replace(name, value), path.replace(name, value)
            headers = sent.get("headers") or FHIR
            response = fork.handle(
                Request(sent["method"], path, {**FHIR, **headers}, body.encode()), by=sent.get("by", "agent")
            )
            if number in refused:
                assert response.status == refused[number], response.body.decode()
            else:
                assert 200 <= response.status < 300, response.body.decode()
            answer = json.loads(response.body)
            if isinstance(answer, dict) and response.status == 201:
                created[f"${number}"] = answer["id"]
