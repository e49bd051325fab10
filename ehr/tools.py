"""The tools an agent has on a FHIR server: search, page on, read, create, update, patch, delete.

What the server answers is what the agent sees: `{"status": 200, "headers": {...}, "body": {...}}`, with the headers
that say something (`SHOWN_HEADERS`), OperationOutcomes included. Counting rules:

- A status of 400 and above is an `error`, an answer that does not come in time a `timeout`; both are the agent's to
  deal with. A server that cannot be reached at all raises: that is a fault of ours.
- Types, ids and page links are checked before anything is sent: nothing but this server's own resources can be reached.
- A result of more than `RESULT_LIMIT` characters is shortened (`cut_by: tool`): of a Bundle the last entries are left
  out, anything else is cut as text, and `cut` tells the agent what it does not see.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from ehr.client import ClientTimeoutError, FhirClient, Reply, TooLargeError, dumped
from harness.functions import FunctionTool, tool
from harness.plain import shown
from harness.tool import ToolResult
from harness.trace import CallStatus

RESULT_LIMIT = 100_000
"""Characters of a result's body, as JSON, that an agent is shown at most."""

SHOWN_HEADERS = ("Content-Type", "ETag", "Last-Modified", "Location", "Content-Location", "Retry-After", "Warning")

_TYPE = re.compile(r"[A-Za-z]{1,64}")
_ID = re.compile(r"[A-Za-z0-9.\-][A-Za-z0-9_.\-]{0,63}")
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
_CLIMBS = re.compile(r"(^|/)(\.|%2e){1,2}(/|$)|%2f|%5c|\\", re.IGNORECASE)


class _RefusedError(Exception):
    """An argument that is not sent anywhere; the message tells the agent why."""


class ChartTools:
    """The tools over one client. Each method is a tool; see the module for what they answer."""

    def __init__(self, client: FhirClient) -> None:
        self._client = client

    def tools(self) -> list[FunctionTool]:
        """The tools, in the order in which an agent is shown them; `finish` is the harness's."""
        return [
            tool(self.fhir_search), tool(self.fhir_next_page), tool(self.fhir_read), tool(self.fhir_create),
            tool(self.fhir_update), tool(self.fhir_patch), tool(self.fhir_delete),
        ]  # fmt: skip

    def fhir_search(self, type: str, parameters: dict[str, str | list[str]]) -> ToolResult:
        """Search resources of one type. The answer is a Bundle: one page of matches, and a link to the next page if
        there are more.

        Args:
            type: The resource type, such as Observation.
            parameters: FHIR search parameters by name, such as {"patient": "abc", "date": ["ge2025-01-01",
                "lt2026-01-01"]}. A list repeats the parameter (all must hold); a comma inside a value means or. Empty
                finds everything.
        """
        return _answer("fhir_search", lambda: self._client.search(_type(type), parameters))

    def fhir_next_page(self, url: str) -> ToolResult:
        """Get a further page of a search.

        Args:
            url: The url of the link with relation "next" (or "previous") in a Bundle, exactly as it stands there.
        """
        return _answer("fhir_next_page", lambda: self._client.get(_below(self._client.base, url)))

    def fhir_read(self, type: str, id: str) -> ToolResult:
        """Read one resource by its id. The ETag header holds its version.

        Args:
            type: The resource type, such as Patient.
            id: The resource's id, the part after the slash in a reference such as Patient/abc.
        """
        return _answer("fhir_read", lambda: self._client.read(_type(type), _id(id)))

    def fhir_create(self, type: str, resource: dict[str, Any], if_none_exist: str | None = None) -> ToolResult:
        """Create a resource. The server gives it an id; the Location header and the body say which.

        Args:
            type: The resource type, such as MedicationRequest.
            resource: The FHIR R4 resource as JSON, with its resourceType, without an id.
            if_none_exist: A search such as identifier=http://system|value; the resource is created only if that search
                finds nothing.
        """
        return _answer(
            "fhir_create",
            lambda: self._client.create(_type(type), _json(resource), if_none_exist=_header(if_none_exist)),
        )

    def fhir_update(self, type: str, id: str, resource: dict[str, Any], if_match: str | None = None) -> ToolResult:
        """Replace a resource as a whole. Elements that you leave out are gone afterwards.

        Args:
            type: The resource type, such as Patient.
            id: The id of the resource to replace.
            resource: The complete FHIR R4 resource as JSON, with its resourceType and the same id.
            if_match: The version that you expect to replace, as in the ETag, such as W/"2"; a newer one is refused.
        """
        return _answer(
            "fhir_update",
            lambda: self._client.update(_type(type), _id(id), _json(resource), if_match=_header(if_match)),
        )

    def fhir_patch(
        self, type: str, id: str, patch: list[dict[str, Any]] | dict[str, Any], if_match: str | None = None
    ) -> ToolResult:
        """Change parts of a resource and leave the rest as it is.

        Args:
            type: The resource type, such as Patient.
            id: The id of the resource to change.
            patch: A JSON Patch, such as [{"op": "replace", "path": "/status", "value": "stopped"}], or a FHIRPath Patch
                as a Parameters resource.
            if_match: The version that you expect to change, as in the ETag, such as W/"2"; a newer one is refused.
        """
        return _answer(
            "fhir_patch", lambda: self._client.patch(_type(type), _id(id), _json(patch), if_match=_header(if_match))
        )

    def fhir_delete(self, type: str, id: str) -> ToolResult:
        """Delete a resource.

        Args:
            type: The resource type, such as ServiceRequest.
            id: The id of the resource to delete.
        """
        return _answer("fhir_delete", lambda: self._client.delete(_type(type), _id(id)))


def _answer(name: str, ask: Callable[[], Reply]) -> ToolResult:
    """What a call came back with. `ask` raises `_RefusedError` for arguments that are not sent anywhere."""
    try:
        reply = ask()
    except _RefusedError as problem:
        return ToolResult("error", {"error": f"{name}: {problem}."})
    except ClientTimeoutError as problem:
        return ToolResult("timeout", {"error": f"{name}: {problem}."})
    except TooLargeError as problem:
        return ToolResult("error", {"error": f"{name}: {problem}; ask for less at a time."})
    headers = {key: reply.headers[key] for key in SHOWN_HEADERS if key in reply.headers}
    result: dict[str, Any] = {"status": reply.status, "headers": headers, "body": reply.body}
    cut = len(reply.raw) > RESULT_LIMIT and _cut(result)
    status: CallStatus = "ok" if reply.ok else "error"
    return ToolResult(status, result, http={"status": reply.status}, cut_by="tool" if cut else None)


def _cut(result: dict[str, Any]) -> bool:
    """Shorten the body to `RESULT_LIMIT`, and say so in `cut`; False where it is short enough without its blanks."""
    text = dumped(result["body"]).decode()
    if len(text) <= RESULT_LIMIT:
        return False
    body = result["body"]
    entries = body.get("entry") if isinstance(body, dict) and body.get("resourceType") == "Bundle" else None
    kept = _fitting(entries, RESULT_LIMIT - len(text)) if isinstance(entries, list) else 0
    if isinstance(entries, list) and kept:
        result["body"] = {**body, "entry": entries[:kept]}
        seen = f"the first {kept} of the {len(entries)} entries on this page are"
    else:
        result["body"], result["text"] = None, text[:RESULT_LIMIT]
        seen = f"its first {RESULT_LIMIT} characters are"
    result["cut"] = f"The answer has {len(text)} characters; only {seen} shown. Ask for less at a time."
    return True


def _fitting(entries: list[Any], room: int) -> int:
    """How many entries fit, counted from the first, when everything together is `-room` characters too long."""
    sizes = [len(dumped(entry).decode()) + 1 for entry in entries]
    kept, excess = len(entries), -room
    while kept and excess > 0:
        kept -= 1
        excess -= sizes[kept]
    return kept


def _type(text: str) -> str:
    if not _TYPE.fullmatch(text):
        raise _RefusedError(f"type must be the name of one resource type, such as Observation, not {shown(text)}")
    return text


def _id(text: str) -> str:
    if not _ID.fullmatch(text) or text in (".", ".."):
        raise _RefusedError(f"id must be the id alone (letters, digits, '-' and '.'), such as abc, not {shown(text)}")
    return text


def _below(base: str, url: str) -> str:
    """The part of a page link below the base. Refuses whatever leads elsewhere."""
    rest = url if url.startswith("?") else url.removeprefix(base)
    path = rest.partition("?")[0]
    leads_elsewhere = (rest == url and not url.startswith("?")) or rest[:1] not in ("?", "/") or "#" in url
    if leads_elsewhere or _CLIMBS.search(path) or not url.isprintable() or " " in url:
        raise _RefusedError(f"url must be a link of this server, beginning with {base}, not {shown(url)}")
    return rest


def _header(text: str | None) -> str | None:
    if text is None:
        return None
    if not text.isprintable() or not text.strip():
        raise _RefusedError(f"{shown(text)} cannot be sent as a header")
    return quote(text.strip(), safe=_PRINTABLE, errors="replace")


def _json(value: Any) -> bytes:
    try:
        return dumped(value)
    except (ValueError, TypeError) as problem:
        raise _RefusedError(f"{problem}") from None
