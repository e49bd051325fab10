"""The CapabilityStatement: what this server can do, for programs and for agents that ask first."""

from __future__ import annotations

from ehr.sandbox.call import Call
from ehr.sandbox.http import Response
from ehr.sandbox.rendering import answer
from ehr.sandbox.state import State
from ehr.sandbox.tokens import token


def metadata(state: State, call: Call) -> Response:
    """`GET metadata`."""
    statement = {
        "resourceType": "CapabilityStatement",
        "id": token("capability"),
        "status": "active",
        "date": state.clock,
        "kind": "instance",
        "fhirVersion": "4.0.1",
        "format": ["application/fhir+json", "json"],
        "rest": [{"mode": "server"}],
    }
    return answer(call, 200, statement)
