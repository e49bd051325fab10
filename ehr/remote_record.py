"""A record and a live server: what a server holds as a record, and a record's resources put on a server.

Tasks are drawn from a record. For a server they are drawn from a copy of what it holds, taken once over its searches,
without the versions and instants that the server gave; its clock is the latest moment that the resources speak of.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from ehr.client import ClientError, FhirClient, Reply
from ehr.remote import RemoteError, wait_until_ready
from ehr.sandbox.body import compact, parse_object, without_version
from ehr.sandbox.definitions import resource_types

if TYPE_CHECKING:
    from ehr.sandbox import Record

Progress = Callable[[str, int, int | None], None]

PAGE = 500
"""Resources asked for at once."""
ENTRIES = 200
"""Resources put on a server in one transaction, at least; what refers to each other is not parted."""
PATIENCE = 15.0
"""Seconds that a server may take to say that it is there."""

_SHARED = ("Organization", "Location", "Practitioner", "PractitionerRole", "Medication")
"""What many refer to, and what refers to nobody's chart."""


@contextmanager
def fetched(base: str, progress: Progress = lambda stage, done, of: None) -> Iterator[Record]:
    """A copy of what the server at `base` holds, as a record that is gone afterwards.

    It is not marked synthetic: nobody says so. Raises `RemoteError` where the server does not answer, or holds nothing
    that says a time.
    """
    from ehr.sandbox import Record
    from ehr.sandbox.files.load import load
    from ehr.sandbox.store.storage import RecordError

    wait_until_ready(base, PATIENCE)
    client = FhirClient(base, timeout=120.0)
    with tempfile.TemporaryDirectory(prefix="readback-record-") as folder:
        file, number = Path(folder) / "all.ndjson", 0
        try:
            with file.open("wb") as lines:
                for body in _bodies(client):
                    lines.write(body + b"\n")
                    number += 1
                    if number % PAGE == 0:
                        progress("fetching", number, None)
        except ClientError as problem:
            raise RemoteError(str(problem)) from None
        finally:
            client.close()
        if not number:
            raise RemoteError(f"{base} holds no resources; load a record first, as docs/fhir.md shows")
        loaded = load([file])
        if loaded.clock is None:
            raise RemoteError(f"nothing at {base} says a time, so no task can be drawn; load a record with dates")
        try:
            record = Record.build(loaded.resources(), clock=loaded.clock, synthetic=False)
        except RecordError as problem:
            raise RemoteError(f"what {base} holds is no record: {problem}") from None
        with record:
            yield record


def _bodies(client: FhirClient) -> Iterator[bytes]:
    """Every resource of the server, type by type. Raises `RemoteError` where it answers no search, or never ends."""
    for type in resource_types():
        path: str | None = f"/{type}?_count={PAGE}"
        seen: set[str] = set()
        while path is not None:
            reply = client.get(path)
            if reply.status == 404 and not seen:  # a server need not know every type
                break
            if reply.status != 200:
                raise RemoteError(f"{client.base}{path} was answered {reply.status}")
            resources, following = _page(reply, f"{client.base}{path}")
            ids = {str(resource.get("id")) for resource in resources}
            if resources and ids <= seen:
                raise RemoteError(f"the pages of {client.base}/{type} go round in circles: {path} brings nothing new")
            seen |= ids
            yield from (compact(without_version(resource)) for resource in resources)
            if following is not None and resources and not following.startswith(client.base):
                raise RemoteError(
                    f"the next page of {client.base}{path} is at {following!r}; name the server by the address that it"
                    " gives itself"
                )
            path = None if following is None or not resources else following.removeprefix(client.base)


def _page(reply: Reply, address: str) -> tuple[list[dict[str, Any]], str | None]:
    """The resources of a searchset, and the address of the next page."""
    try:
        bundle = parse_object(reply.raw)
        resources = [entry["resource"] for entry in bundle.get("entry", [])]
        links = {link["relation"]: link["url"] for link in bundle.get("link", [])}
        if bundle["resourceType"] == "Bundle" and all(isinstance(resource, dict) for resource in resources):
            return resources, links.get("next")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    raise RemoteError(f"{address} was answered with what is no FHIR Bundle; name the address below which FHIR is")


def put_on(record: Record, base: str, progress: Progress = lambda stage, done, of: None) -> int:
    """Put every resource of the record on the server under its own id; how many.

    In transactions, because a server checks references. Raises `RemoteError` where it refuses one. (A HAPI refuses ids
    of digits alone.)
    """
    wait_until_ready(base, PATIENCE)
    client = FhirClient(base, timeout=300.0)
    total, done = sum(record.counts.values()), 0
    try:
        for part in _chunks(record):
            reply = client.transact(_transaction(part))
            if not reply.ok:
                raise RemoteError(f"{base} refused resources of the record ({reply.status}): {_said(reply)}")
            done += len(part)
            progress("loading", done, total)
    except ClientError as problem:
        raise RemoteError(str(problem)) from None
    finally:
        client.close()
    return done


def _chunks(record: Record) -> Iterator[list[bytes]]:
    """The resources in parts that refer to nothing outside themselves but to what many share, which comes first."""
    shared = [body for type in _SHARED for body in record.iterate(type)]
    yield from ([shared] if shared else [])
    part: list[bytes] = []
    for names in _together(record):
        part += [body for type, id in names if (body := record.body(type, id)) is not None]
        if len(part) >= ENTRIES:
            yield part
            part = []
    if part:
        yield part


def _together(record: Record) -> list[list[tuple[str, str]]]:
    """The names of the other resources, those together that one reference after another joins."""
    roots: dict[tuple[str, str], tuple[str, str]] = {
        (type, id): (type, id) for type in sorted(record.counts) if type not in _SHARED for id in record.ids(type)
    }

    def root(name: tuple[str, str]) -> tuple[str, str]:
        while roots[name] != name:
            roots[name] = name = roots[roots[name]]
        return name

    for type, id in list(roots):
        for other in _references(orjson.loads(record.body(type, id) or b"{}")):
            if other in roots:
                roots[root((type, id))] = root(other)
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name in roots:
        groups.setdefault(root(name), []).append(name)
    return list(groups.values())


def _references(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        reference = value.get("reference")
        if isinstance(reference, str) and reference.count("/") == 1:
            type, _, id = reference.partition("/")
            yield type, id
        for below in value.values():
            yield from _references(below)
    elif isinstance(value, list):
        for below in value:
            yield from _references(below)


def _transaction(bodies: Sequence[bytes]) -> bytes:
    entries = []
    for body in bodies:
        tree = parse_object(body)
        name = f"{tree['resourceType']}/{tree['id']}"
        entries.append({"resource": tree, "request": {"method": "PUT", "url": name}})
    return compact({"resourceType": "Bundle", "type": "transaction", "entry": entries})


def _said(reply: Reply) -> str:
    body = reply.body
    issues = body.get("issue") if isinstance(body, dict) else None
    return str(issues[0].get("diagnostics", ""))[:300] if issues else str(body)[:200]
