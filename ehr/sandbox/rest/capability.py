"""The CapabilityStatement: what this server can do, for programs and for agents that ask first.

It lists every resource type with its interactions, every search parameter with its one-sentence documentation, what can
be included, and the operations.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ehr.sandbox.body import Tree, compact, parse_object, pretty
from ehr.sandbox.definitions import parameters, resource_types
from ehr.sandbox.http import Response
from ehr.sandbox.rest.call import Call
from ehr.sandbox.rest.rendering import answer, shown
from ehr.sandbox.state import State
from ehr.sandbox.tokens import token

_BASE, _DATE = b"http://base.of.this.server", b"0001-02-03T04:05:06.789+00:00"
"""Stand for the address and the clock in the text that is made once."""

INTERACTIONS = (
    "search-type",
    "update",
    "vread",
    "read",
    "patch",
    "history-type",
    "history-instance",
    "delete",
    "create",
)
UNLISTED = frozenset({"_text", "_content", "_query"})
ANY_TYPE = {
    "_filter": "Search the contents of the resource's data using a filter",
    "_has": "Return resources linked to by the given target",
    "_list": "Search the contents of the resource's data using a list",
}
ON_EVERY_TYPE = {
    "validate": ("Multi-it-validate", None),
    "meta-delete": ("Multi-i-meta-delete", "Delete tags, profiles, and/or security labels from a resource"),
    "meta-add": ("Multi-i-meta-add", "Add tags, profiles, and/or security labels to a resource"),
    "meta": ("Multi-its-meta", "Request a list of tags, profiles, and security labels for a specfic resource instance"),
    "expunge": ("Multi-its-expunge", None),
    "diff": ("Global-is-diff", "Shows the differences between two versions of a resource as a FHIR Patch document"),
}
ON_THE_SYSTEM = ("diff", "meta", "expunge")
COUNTS = ("get-resource-counts", "-s-get-resource-counts", "The number of resources on the server, by resource type")
OFFICIAL = {"Patient": ("everything",), "Observation": ("lastn",)}


def metadata(state: State, call: Call) -> Response:
    """`GET metadata`."""
    text = _text(call.pretty).replace(_BASE, call.base.encode()).replace(_DATE, state.instant(0).encode())
    place = call.address("CapabilityStatement", token("capability"))
    if any(name in ("_summary", "_elements") for name, _ in call.query):
        return answer(call, 200, shown(call, parse_object(text)), {"Content-Location": place})
    return answer(call, 200, text, {"Content-Location": place})


@cache
def _text(readable: bool) -> bytes:
    return pretty(statement()) if readable else compact(statement())


def statement() -> Tree:
    """The CapabilityStatement with stand-ins for address and date."""
    base = _BASE.decode()
    return {
        "resourceType": "CapabilityStatement",
        "id": token("capability"),
        "text": {"status": "generated", "div": '<div xmlns="http://www.w3.org/1999/xhtml">Readback FHIR sandbox</div>'},
        "name": "RestServer",
        "status": "active",
        "date": _DATE.decode(),
        "publisher": "Not provided",
        "kind": "instance",
        "software": {"name": "Readback FHIR sandbox, after HAPI FHIR Server", "version": "8.8.0"},
        "implementation": {"description": "Readback FHIR R4 sandbox", "url": base},
        "fhirVersion": "4.0.1",
        "format": ["application/fhir+json", "json"],
        "patchFormat": ["application/fhir+json", "application/json-patch+json"],
        "rest": [
            {
                "mode": "server",
                "resource": [_resource(type, base) for type in resource_types()],
                "interaction": [{"code": "transaction"}, {"code": "batch"}, {"code": "history-system"}],
                "operation": [*(_operation(name, base) for name in ON_THE_SYSTEM), _counts(base)],
            }
        ],
    }


def _resource(type: str, base: str) -> Tree:
    operations = [_operation(name, base) for name in ON_EVERY_TYPE]
    for name in OFFICIAL.get(type, ()):
        operations.append({"name": name, "definition": f"http://hl7.org/fhir/OperationDefinition/{type}-{name}"})
    found: Tree = {
        "type": type,
        "profile": f"http://hl7.org/fhir/StructureDefinition/{type}",
        "interaction": [{"code": code} for code in INTERACTIONS],
        "versioning": "versioned-update",
        "conditionalCreate": True,
        "conditionalUpdate": True,
        "conditionalDelete": "single",
        "searchInclude": ["*", *(f"{type}:{code}" for code in _references(type))],
        "searchRevInclude": _pointing_at(type),
        "searchParam": _parameters(type),
        "operation": operations,
    }
    return {key: value for key, value in found.items() if value != []}


def _parameters(type: str) -> list[Tree]:
    listed: list[Tree] = []
    for parameter in parameters(type).values():
        if parameter.code in UNLISTED or parameter.kind == "special":
            continue
        entry: dict[str, Any] = {
            "name": parameter.code,
            "definition": f"http://hl7.org/fhir/SearchParameter/{parameter.id}",
            "type": parameter.kind,
        }
        if parameter.documentation:
            entry["documentation"] = parameter.documentation
        listed.append(entry)
    listed += [{"name": name, "type": "string", "documentation": said} for name, said in ANY_TYPE.items()]
    return sorted(listed, key=lambda entry: str(entry["name"]))


@cache
def _references(type: str) -> tuple[str, ...]:
    return tuple(code for code, parameter in parameters(type).items() if parameter.kind == "reference")


@cache
def _all_references() -> tuple[tuple[str, frozenset[str]], ...]:
    """Every reference parameter as `Type:code`, with the types that it may point at."""
    return tuple(
        (f"{source}:{code}", frozenset(parameters(source)[code].targets))
        for source in resource_types()
        for code in _references(source)
    )


def _pointing_at(type: str) -> list[str]:
    return sorted(name for name, targets in _all_references() if type in targets or "*" in targets)


def _counts(base: str) -> Tree:
    name, definition, documentation = COUNTS
    return {"name": name, "definition": f"{base}/OperationDefinition/{definition}", "documentation": documentation}


def _operation(name: str, base: str) -> Tree:
    definition, documentation = ON_EVERY_TYPE[name]
    found = {"name": name, "definition": f"{base}/OperationDefinition/{definition}"}
    return found if documentation is None else found | {"documentation": documentation}
