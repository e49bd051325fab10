"""What was written, as the server's answers tell it: every write of the raw requests, entries of Bundles too.

One write is one create, update or delete that was asked for, accepted or refused. Counting rules:
- a refused transaction refuses every entry in it; a batch entry stands for itself;
- a PUT is a create where the server says 201, else an update; a refused one could have been either, unless the
  resource had been seen before or an If-Match names a version;
- a conditional create that found its match was accepted, and stored nothing;
- a conditional delete hit what is gone at the end, where nothing else can have hit it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from ehr.verify.difference import read_json
from harness.trace import Episode, HttpRequest, Verb

_PATIENT = re.compile(r"(^|/)Patient/[^/]+$")
_HISTORY = re.compile(r"/_history/[^/]*$")


@dataclass(frozen=True, slots=True)
class Write:
    """One write that was asked for. `request` is the position of its request among the episode's, from 0.

    `verbs` are what it was, or for a refused PUT what it may have been. `sent` is the body as sent (of the entry, in a
    Bundle), `stored` the resource that the answer shows. `id` is None where the server chose none or did not say.
    """

    request: int
    by: str
    method: str
    verbs: tuple[Verb, ...]
    type: str
    id: str | None
    status: int
    sent: dict[str, Any] | list[Any] | None
    stored: dict[str, Any] | None

    @property
    def accepted(self) -> bool:
        """Whether the server acknowledged it with 2xx."""
        return 200 <= self.status < 300

    @property
    def reference(self) -> str | None:
        """`Type/id`, where the id is known."""
        return f"{self.type}/{self.id}" if self.id else None


def writes(episode: Episode) -> list[Write]:
    """Every write of the episode in the order of the requests."""
    found: list[Write] = []
    seen: set[str] = set()
    kept = _kept_by_calls(episode)
    for position, request in enumerate(episode.requests):
        for write in _of_request(position, request, episode.base):
            if write.method == "PUT" and not write.accepted and len(write.verbs) > 1 and write.reference in seen:
                write = replace(write, verbs=("update",))
            found.append(write)
        if request.status < 300:
            seen |= _shown(kept[position] if position in kept else _json(request.response))
    return _with_hits(found, episode)


def normal_reference(reference: object, base: str | None) -> str | None:
    """`Type/id` for a relative, versioned, or (on this server) absolute reference; other text as it stands."""
    if not isinstance(reference, str):
        return None
    if base and reference.startswith(base.rstrip("/") + "/"):
        reference = reference[len(base.rstrip("/")) + 1 :]
    return _HISTORY.sub("", reference)


def segments_of(address: str) -> list[str]:
    """The parts of an address below the server's base, without its query: `["Patient", "p1"]`."""
    return [unquote(part) for part in re.split(r"[?#]", address, maxsplit=1)[0].split("/") if part]


def is_patient(reference: str) -> bool:
    """Whether a reference names a Patient, of this server or another."""
    return bool(_PATIENT.search(reference))


def call_of_request(episode: Episode) -> dict[int, int]:
    """Request's position (from 0) -> position of the call that sent it; empty where the two do not go one by one."""
    own = [i for i, request in enumerate(episode.requests) if request.by == "agent"]
    calls = [call.position for call in episode.calls if call.http is not None]
    return dict(zip(own, calls, strict=True)) if len(own) == len(calls) else {}


def _of_request(position: int, request: HttpRequest, base: str | None) -> Iterator[Write]:
    segments = segments_of(request.path)
    sent = _json(request.body)
    if not segments:
        if request.method == "POST" and isinstance(sent, dict) and sent.get("resourceType") == "Bundle":
            yield from _of_bundle(position, request, sent, base)
        return
    if any(part.startswith(("_", "$")) for part in segments):
        return
    answer = _resource(request.response)
    location = _header(request.response_headers, "Location") or _header(request.response_headers, "Content-Location")
    write = _write(
        position, request.by, request.method, segments, request.status, sent, answer,
        location=location, if_match=_header(request.headers, "If-Match"), base=base,
    )  # fmt: skip
    if write is not None:
        yield write


def _of_bundle(position: int, request: HttpRequest, bundle: dict[str, Any], base: str | None) -> Iterator[Write]:
    answers = _entries(_json(request.response)) if request.status < 300 else []
    for number, entry in enumerate(_entries(bundle)):
        asked = entry.get("request")
        if not isinstance(asked, dict):
            continue
        answer = answers[number] if number < len(answers) else {}
        response: Any = answer.get("response")
        response = response if isinstance(response, dict) else {}
        status = _status(response.get("status"), request.status)
        segments = segments_of(normal_reference(asked.get("url"), base) or "")
        resource = entry.get("resource")
        if asked.get("method") == "POST" and isinstance(resource, dict) and "resourceType" in resource:
            segments = [str(resource["resourceType"])]
        if not segments:
            continue
        write = _write(
            position, request.by, str(asked.get("method")), segments, status,
            resource if isinstance(resource, dict) else None, _as_resource(answer.get("resource")),
            location=response.get("location"), if_match=asked.get("ifMatch"), base=base,
        )  # fmt: skip
        if write is not None:
            yield write


def _write(
    position: int, by: str, method: str, segments: Sequence[str], status: int,
    sent: Any, stored: dict[str, Any] | None, *, location: object, if_match: object, base: str | None,
) -> Write | None:  # fmt: skip
    type_name, own_id = segments[0], segments[1] if len(segments) > 1 else None
    verbs: tuple[Verb, ...]
    if method == "POST":
        verbs = ("create",)
    elif method == "PUT":
        verbs = ("create",) if status == 201 else ("update",)
        if status >= 300 and not if_match:
            verbs = ("update", "create")
    elif method == "PATCH":
        verbs = ("update",)
    elif method == "DELETE":
        verbs = ("delete",)
    else:
        return None
    if stored is not None and stored.get("resourceType") != type_name:
        stored = None
    given = normal_reference(location, base)
    by_server = given.split("/")[-1] if given and "/" in given else (stored or {}).get("id")
    id_ = own_id if own_id and method != "POST" else by_server if status < 300 else None
    return Write(position, by, method, verbs, type_name, id_, status, sent, stored)


def _with_hits(found: list[Write], episode: Episode) -> list[Write]:
    """Each conditional delete with the id of what it hit, where only one resource and one such delete are left."""
    by_id = {write.reference for write in found if write.method == "DELETE" and write.accepted}
    gone = [c.reference for c in episode.changes if c.verb == "delete" and c.reference not in by_id]
    open_ = [w for w in found if w.method == "DELETE" and w.accepted and w.id is None]
    hits = {}
    for write in open_:
        of_type = [reference for reference in gone if reference.partition("/")[0] == write.type]
        if len(of_type) == 1 and sum(other.type == write.type for other in open_) == 1:
            hits[id(write)] = of_type[0].partition("/")[2]
    return [replace(write, id=hits[id(write)]) if id(write) in hits else write for write in found]


def _kept_by_calls(episode: Episode) -> dict[int, Any]:
    """Bodies that only the calls hold: long answers of reads are left out of the requests."""
    if all(request.response is not None for request in episode.requests):
        return {}
    results = {call.position: call.result for call in episode.calls}
    return {
        position: results[call]["body"]
        for position, call in call_of_request(episode).items()
        if episode.requests[position].response is None
        and isinstance(results.get(call), dict)
        and "body" in results[call]
    }


def _shown(answer: Any) -> set[str]:
    """The resources that an answer showed to exist."""
    resources = [answer, *(entry.get("resource") for entry in _entries(answer))]
    return {
        f"{r['resourceType']}/{r['id']}" for r in resources if isinstance(r, dict) and "resourceType" in r and "id" in r
    }


def entries_of(body: str | None) -> list[dict[str, Any]]:
    """The entries of a Bundle; none of anything else."""
    return _entries(_json(body))


def _entries(bundle: object) -> list[dict[str, Any]]:
    entries = bundle.get("entry") if isinstance(bundle, dict) else None
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _json(text: str | None) -> Any:
    try:
        return read_json(text) if text else None
    except ValueError:
        return None


def _resource(text: str | None) -> dict[str, Any] | None:
    return _as_resource(_json(text))


def _as_resource(value: object) -> dict[str, Any] | None:
    is_one = isinstance(value, dict) and "resourceType" in value and value["resourceType"] != "OperationOutcome"
    return value if is_one else None  # type: ignore[return-value]


def _status(text: object, otherwise: int) -> int:
    match = re.match(r"\d{3}", text) if isinstance(text, str) else None
    return int(match[0]) if match else otherwise


def _header(headers: Mapping[str, str], name: str) -> str | None:
    return next((value for key, value in headers.items() if key.lower() == name.lower()), None)
