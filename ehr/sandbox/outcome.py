"""What the server says in words: OperationOutcome, and the refusal that becomes one.

Diagnostics are HAPI FHIR 8.8's own, so that what an agent learns from them here holds there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

STORAGE_CODES = "https://hapifhir.io/fhir/CodeSystem/hapi-fhir-storage-response-code"

_SUCCEEDED = {
    "SUCCESSFUL_CREATE": "Create",
    "SUCCESSFUL_UPDATE": "Update",
    "SUCCESSFUL_UPDATE_AS_CREATE": "Update as create",
    "SUCCESSFUL_PATCH": "Patch",
    "SUCCESSFUL_DELETE": "Delete",
    "SUCCESSFUL_CONDITIONAL_PATCH": "Conditional patch",
    "SUCCESSFUL_CREATE_NO_CONDITIONAL_MATCH": "Conditional create",
    "SUCCESSFUL_CREATE_WITH_CONDITIONAL_MATCH": "Conditional create",
    "SUCCESSFUL_UPDATE_NO_CONDITIONAL_MATCH": "Conditional update",
    "SUCCESSFUL_UPDATE_WITH_CONDITIONAL_MATCH": "Conditional update",
    "SUCCESSFUL_DELETE_ALREADY_DELETED": "Delete",
    "SUCCESSFUL_DELETE_NOT_FOUND": "Delete",
}
_REASON = {
    "SUCCESSFUL_CREATE_NO_CONDITIONAL_MATCH": "No existing resource matched the conditional URL.",
    "SUCCESSFUL_CREATE_WITH_CONDITIONAL_MATCH": "Existing resource matched the conditional URL.",
    "SUCCESSFUL_UPDATE_NO_CONDITIONAL_MATCH": "No existing resource matched the conditional URL.",
    "SUCCESSFUL_UPDATE_WITH_CONDITIONAL_MATCH": "Existing resource matched the conditional URL.",
    "SUCCESSFUL_DELETE_ALREADY_DELETED": "Resource was already deleted so no action was taken.",
    "SUCCESSFUL_DELETE_NOT_FOUND": "No existing resource was found so no action was taken.",
}


class RefusedError(Exception):
    """A request that the server does not carry out: status and diagnostics of the answer.

    `code` is the issue type; `headers` are set on the answer besides the usual ones; `issues` stand in the answer in
    place of the one issue with the diagnostics.
    """

    def __init__(
        self,
        status: int,
        diagnostics: str,
        *,
        code: str = "processing",
        headers: Mapping[str, str] | None = None,
        issues: Sequence[dict[str, Any]] = (),
    ) -> None:
        super().__init__(f"{status}: {diagnostics}")
        self.status = status
        self.diagnostics = diagnostics
        self.code = code
        self.headers = dict(headers or {})
        self.issues = list(issues)

    def outcome(self) -> dict[str, Any]:
        """The OperationOutcome of the answer."""
        return outcome(*(self.issues or [issue("error", self.code, self.diagnostics)]))


def issue(severity: str, code: str, diagnostics: str, *, detail: str | None = None) -> dict[str, Any]:
    """One issue; `detail` is one of HAPI's storage response codes (`SUCCESSFUL_CREATE`)."""
    result: dict[str, Any] = {"severity": severity, "code": code}
    if detail is not None:
        coding = {"system": STORAGE_CODES, "code": detail, "display": _display(detail)}
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


def _display(detail: str) -> str:
    """What a storage response code says in words."""
    known = detail.removesuffix("_NO_CHANGE")
    reason = _REASON.get(known, "")
    if known != detail:
        reason = f"{reason} No changes were detected so no action was taken.".strip()
    return f"{_SUCCEEDED[known]} succeeded: {reason}" if reason else f"{_SUCCEEDED[known]} succeeded."
