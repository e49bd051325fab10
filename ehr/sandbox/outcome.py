"""What the server says in words: OperationOutcome, and the refusal that becomes one.

Diagnostics are HAPI FHIR 8.8's own, so that what an agent learns from them here holds there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

STORAGE_CODES = "https://hapifhir.io/fhir/CodeSystem/hapi-fhir-storage-response-code"

_NO_CHANGE = "No changes were detected so no action was taken."
_NO_MATCH = "no existing resource matched the conditional URL"
_A_MATCH = "an existing resource matched the conditional URL"
_DISPLAYS = {
    "SUCCESSFUL_CREATE": "Create succeeded.",
    "SUCCESSFUL_CREATE_NO_CONDITIONAL_MATCH": f"Conditional create succeeded: {_NO_MATCH}.",
    "SUCCESSFUL_CREATE_WITH_CONDITIONAL_MATCH": f"Conditional create succeeded: {_A_MATCH} so no action was taken.",
    "SUCCESSFUL_UPDATE": "Update succeeded.",
    "SUCCESSFUL_UPDATE_AS_CREATE": "Update as create succeeded.",
    "SUCCESSFUL_UPDATE_NO_CHANGE": f"Update succeeded: {_NO_CHANGE}",
    "SUCCESSFUL_UPDATE_NO_CONDITIONAL_MATCH": (
        f"Conditional update succeeded: {_NO_MATCH} so a new resource was created."
    ),
    "SUCCESSFUL_UPDATE_WITH_CONDITIONAL_MATCH": f"Conditional update succeeded: {_A_MATCH} and was updated.",
    "SUCCESSFUL_UPDATE_WITH_CONDITIONAL_MATCH_NO_CHANGE": (
        f"Conditional update succeeded: {_A_MATCH} and was updated, "
        "but no changes were detected so no action was taken."
    ),
    "SUCCESSFUL_PATCH": "Patch succeeded.",
    "SUCCESSFUL_PATCH_NO_CHANGE": f"Patch succeeded: {_NO_CHANGE}",
    "SUCCESSFUL_CONDITIONAL_PATCH": "Conditional patch succeeded.",
    "SUCCESSFUL_CONDITIONAL_PATCH_NO_CHANGE": f"Conditional patch succeeded: {_NO_CHANGE}",
    "SUCCESSFUL_DELETE": "Delete succeeded.",
    "SUCCESSFUL_DELETE_ALREADY_DELETED": "Delete succeeded: Resource was already deleted so no action was taken.",
    "SUCCESSFUL_DELETE_NOT_FOUND": "Delete succeeded: No existing resource was found so no action was taken.",
}


class RefusedError(Exception):
    """A request that the server does not carry out: status and diagnostics of the answer.

    `code` is the issue type; `location` is what the refusal is about, below the server's address; `issues` stand in the
    answer in place of the one issue with the diagnostics.
    """

    def __init__(
        self,
        status: int,
        diagnostics: str,
        *,
        code: str = "processing",
        location: str | None = None,
        issues: Sequence[dict[str, Any]] = (),
    ) -> None:
        super().__init__(f"{status}: {diagnostics}")
        self.status = status
        self.diagnostics = diagnostics
        self.code = code
        self.location = location
        self.issues = list(issues)

    def outcome(self) -> dict[str, Any]:
        """The OperationOutcome of the answer."""
        return outcome(*(self.issues or [issue("error", self.code, self.diagnostics)]))


def issue(severity: str, code: str, diagnostics: str, *, detail: str | None = None) -> dict[str, Any]:
    """One issue; `detail` is one of HAPI's storage response codes (`SUCCESSFUL_CREATE`)."""
    result: dict[str, Any] = {"severity": severity, "code": code}
    if detail is not None:
        coding = {"system": STORAGE_CODES, "code": detail, "display": _DISPLAYS[detail]}
        result["details"] = {"coding": [coding]}
    result["diagnostics"] = diagnostics
    return result


def outcome(*issues: dict[str, Any]) -> dict[str, Any]:
    """An OperationOutcome with these issues."""
    return {"resourceType": "OperationOutcome", "issue": list(issues)}


def success(detail: str, diagnostics: str) -> dict[str, Any]:
    """What a write that went well says."""
    return outcome(issue("information", "informational", diagnostics, detail=detail))


def not_parsed(reason: str) -> RefusedError:
    """A body that HAPI's parser refuses."""
    return RefusedError(400, f"HAPI-0450: Failed to parse request body as JSON resource. Error was: {reason}")


def malformed(reason: str) -> RefusedError:
    """A body that is no JSON that HAPI reads."""
    return not_parsed(f"HAPI-1861: Failed to parse JSON encoded FHIR content: {reason}")


def not_known(reference: str) -> RefusedError:
    """A resource that is not there and never was."""
    return RefusedError(404, f"HAPI-2001: Resource {reference} is not known")


def not_supported(method: str, path: str, parameters: list[str]) -> RefusedError:
    """An operation or a form of address that the server does not have."""
    return RefusedError(
        400,
        f"Invalid request: The FHIR endpoint on this server does not know how to handle {method} "
        f"operation[{path}] with parameters [[{', '.join(parameters)}]]",
        code="not-supported",
    )
