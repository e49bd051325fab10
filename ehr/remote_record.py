"""A record and a live server: what a server holds as a record, and a record's resources put on a server.

Tasks are drawn from a record. For a server they are drawn from a copy of what it holds, taken once over its searches,
without the versions and instants that the server gave; its clock is the latest moment that the resources speak of.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

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
"""Resources put on a server in one transaction."""
PATIENCE = 15.0
"""Seconds that a server may take to say that it is there."""

_FIRST = ("Organization", "Location", "Practitioner", "PractitionerRole", "Medication", "Patient", "Encounter")


@contextmanager
def fetched(base: str, progress: Progress = lambda stage, done, of: None) -> Iterator[Record]:
    """A copy of what the server at `base` holds, as a record that is gone afterwards.

    It is not marked synthetic: nobody says so. Raises `RemoteError` where the server does not answer, or holds nothing
    that says a time.
    """
    from ehr.sandbox import Record
    from ehr.sandbox.load import load
    from ehr.sandbox.storage import RecordError

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
    """Every resource of the server, type by type."""
    for type in resource_types():
        path: str | None = f"/{type}?_count={PAGE}"
        while path is not None:
            reply = client.get(path)
            if reply.status == 404:  # a server need not know every type
                break
            if reply.status != 200:
                raise RemoteError(f"{client.base}{path} was answered {reply.status}")
            bundle = parse_object(reply.raw)
            for entry in bundle.get("entry", []):
                yield compact(without_version(entry["resource"]))
            links = {link["relation"]: link["url"] for link in bundle.get("link", [])}
            following = links.get("next")
            path = None if following is None or not bundle.get("entry") else following.removeprefix(client.base)


def put_on(record: Record, base: str, progress: Progress = lambda stage, done, of: None) -> int:
    """Put every resource of the record on the server under its own id; how many.

    In transactions of `ENTRIES`; one whose references are not there yet is sent again after the others. Raises
    `RemoteError` where the server refuses one for good. (A HAPI refuses ids of digits alone.)
    """
    wait_until_ready(base, PATIENCE)
    client = FhirClient(base, timeout=300.0)
    total, done, deferred = sum(record.counts.values()), 0, 0
    waiting = deque(_chunks(record))
    try:
        while waiting:
            chunk = waiting.popleft()
            reply = client.transact(_transaction(chunk))
            if reply.ok:
                done, deferred = done + len(chunk), 0
                progress("loading", done, total)
                continue
            deferred += 1
            if deferred > len(waiting):
                raise RemoteError(f"{base} refused resources of the record ({reply.status}): {_said(reply)}")
            waiting.append(chunk)
    except ClientError as problem:
        raise RemoteError(str(problem)) from None
    finally:
        client.close()
    return done


def _chunks(record: Record) -> Iterator[list[bytes]]:
    """The resources of one type after another, what others refer to first."""
    for type in [*_FIRST, *(type for type in sorted(record.counts) if type not in _FIRST)]:
        bodies = iter(record.iterate(type))
        while chunk := list(islice(bodies, ENTRIES)):
            yield chunk


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
