"""Episodes on a live FHIR server: HAPI, or any other R4 server with history. The server is put back afterwards.

    backend = Remote("http://127.0.0.1:8080/fhir")
    fork = backend.fork(task)        # lays the task's setup on the server, by PUT
    fork.changes()                   # from _history?_since= and reads by id and version
    fork.close()                     # writes back what was there, and proves that it did

One episode at a time: a second `fork` waits for the first to be closed. Rules:

- Which versions are the episode's: those in the system history since shortly before it began (`MARGIN` seconds earlier,
  because an instant is stamped when a transaction starts and seen when it ends), less those that were there already.
- `before` is the newest version that is not the episode's; the task's setup counts as there before, and is no change.
- A version that no answer to the episode's own requests accounts for is somebody else's (`foreign`).
- Version numbers and lastUpdated differ after any restore; everything else is as it was, or `close` raises. Then no
  other episode begins before that one is undone: the next `fork` tries again, and raises as long as it cannot.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ehr.client import ClientError, FhirClient, Reply, dumped
from ehr.sandbox.body import same_content
from ehr.sandbox.http import Exchange, Request, Response
from ehr.sandbox.state import Change, Verb

if TYPE_CHECKING:
    from harness.task import Task

MARGIN = 2.0
"""Seconds before its beginning from which the history is read."""

_TIMEOUT = 60.0
"""Seconds for a whole answer: a live server may take its time."""
_BEGINNING = "1970-01-01T00:00:00Z"
_PAGE = 200
_NOT_FORWARDED = frozenset({"content-length", "host", "connection"})
_NOT_RETURNED = frozenset({"content-encoding", "transfer-encoding", "connection", "keep-alive", "content-length"})


class RemoteError(Exception):
    """The live server did not do what an episode needs; one sentence."""


class Remote:
    """A live server as a backend (see `ehr.backends.Backend`)."""

    repeatable = False

    def __init__(self, base: str) -> None:
        self.base = base.rstrip("/")
        self._turn = threading.Lock()
        self._left: RemoteFork | None = None

    @property
    def address(self) -> str:
        """The server's address."""
        return self.base

    def fork(self, task: Task, *, validation: str = "hapi", fault: str | None = None) -> RemoteFork:
        """An episode on the server, once the one before it is closed. Its clock is the server's, not the task's.

        Raises `RemoteError` for a validation other than `hapi`, for a fault, where the setup is refused, and where an
        episode before could not be undone and still cannot.
        """
        if fault is not None:
            raise RemoteError(f"the fault {fault!r} cannot be had on a live server; leave the fault or the server out")
        if validation != "hapi":
            raise RemoteError(
                f"validation {validation!r} cannot be chosen on a live server; it validates as it is set up"
            )
        self._turn.acquire()
        while self._left is not None:
            self._left.close()  # lets the turn go, whatever comes of it
            self._turn.acquire()
        return RemoteFork(self.base, task.setup, closed=self._ended)

    def _ended(self, left: RemoteFork | None) -> None:
        """An episode is over; `left` is the one that could not be undone."""
        self._left = left
        self._turn.release()


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """One version of a resource, as a history names it."""

    reference: str
    number: str


@dataclass(slots=True)
class _Seen:
    """What the history says of one resource in the episode: its versions there, newest first, and the deletions."""

    versions: list[Version] = field(default_factory=list)
    deletions: list[Version] = field(default_factory=list)


class RemoteFork:
    """One episode on a live server (see `ehr.backends.Fork`)."""

    def __init__(
        self,
        base: str,
        setup: Sequence[Mapping[str, Any]] = (),
        *,
        closed: Callable[[RemoteFork | None], None] = lambda left: None,
    ) -> None:
        self.base = base
        self.requests: list[Exchange] = []
        self.foreign: tuple[str, ...] = ()
        self._client = FhirClient(base, timeout=_TIMEOUT)
        self._closed = closed
        self._start = frozenset[Version]()
        try:
            self._since, self._old = self._begin()
        except BaseException:
            self._end(None)
            raise
        try:
            self._lay(setup)
            self._start = frozenset(version for seen in self._history().values() for version in seen.versions)
        except BaseException:
            with suppress(RemoteError, ClientError):  # what went wrong first is what is said
                self.close()
            raise

    def handle(self, request: Request, *, by: str = "agent") -> Response:
        """Send the request to the server as it is, and keep it with its answer.

        Raises `ehr.client.ClientError` where the server cannot be reached or does not answer.
        """
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _NOT_FORWARDED}
        reply = self._client.send(request.method, request.path, headers=headers, body=request.body or None)
        given = {name: value for name, value in reply.headers.items() if name.lower() not in _NOT_RETURNED}
        self.requests.append(
            Exchange(by, request.method, request.path, headers, request.body, reply.status, given, reply.raw)
        )
        return Response(reply.status, given, reply.raw)

    def changes(self) -> list[Change]:
        """The net changes since the setup was laid, in the order in which the resources were first written."""
        found = []
        touched = self._history(self._start)
        self.foreign = tuple(self._not_ours(touched))
        for reference, seen in touched.items():
            before, after = self._body_before(reference, set(seen.versions)), self._body(reference)
            if before == after or (before is not None and after is not None and same_content(before, after)):
                continue
            verb: Verb = "create" if before is None else "delete" if after is None else "update"
            found.append(Change(verb, reference, before, after))
        return found

    def close(self) -> None:
        """Put the server back as it was before the setup, and prove it. Raises `RemoteError` where it is not, and
        `ehr.client.ClientError` where the server does not answer; it may be called again then.
        """
        try:
            self._restore()
        except BaseException:
            self._end(self)
            raise
        self._end(None)

    def _end(self, left: RemoteFork | None) -> None:
        self._client.close()
        self._closed(left)

    # the history

    def _begin(self) -> tuple[str, frozenset[Version]]:
        newest = self._asked(f"/_history?_since={_BEGINNING}&_count=1")
        now = newest.body.get("meta", {}).get("lastUpdated")
        if not now:
            raise RemoteError(f"{self.base} does not say what time it is in the answer to _history")
        since = (datetime.fromisoformat(now) - timedelta(seconds=MARGIN)).isoformat(timespec="milliseconds")
        self._since, self._old = since, frozenset()
        return since, frozenset(version for seen in self._history().values() for version in seen.versions)

    def _history(self, apart_from: frozenset[Version] = frozenset()) -> dict[str, _Seen]:
        """What happened since the beginning by resource, the first written first; without what was there already."""
        found: dict[str, _Seen] = {}
        for version, is_deletion in self._entries(f"/_history?_since={quote(self._since)}&_count={_PAGE}"):
            if version in self._old or version in apart_from:
                continue
            seen = found.pop(version.reference, None) or _Seen()
            found[version.reference] = seen  # moved back: the history begins with the newest
            if version not in seen.versions:  # a write between two pages repeats an entry
                seen.versions.append(version)
                if is_deletion:
                    seen.deletions.append(version)
        return dict(reversed(found.items()))

    def _entries(self, path: str | None) -> Iterator[tuple[Version, bool]]:
        while path is not None:
            bundle = self._asked(path).body
            for entry in bundle.get("entry", []):
                asked, resource = entry.get("request", {}), entry.get("resource") or {}
                reference, _, number = str(asked.get("url", "")).removeprefix(self.base + "/").partition("/_history/")
                if resource:
                    reference = f"{resource['resourceType']}/{resource['id']}"
                    number = number or resource.get("meta", {}).get("versionId", "")
                yield Version(reference, number), asked.get("method") == "DELETE"
            links = {link.get("relation"): link.get("url") for link in bundle.get("link", [])}
            following = links.get("next") if bundle.get("entry") else None
            path = following.removeprefix(self.base) if following else None

    def _not_ours(self, touched: Mapping[str, _Seen]) -> Iterator[str]:
        """The versions that no answer to the episode's own requests accounts for."""
        ours, deleted = set[Version](), dict[str, int]()
        for exchange in self.requests:
            if exchange.method not in ("GET", "HEAD") and exchange.status < 300:
                for version in _acknowledged(exchange, self.base):
                    if version.number:
                        ours.add(version)
                    else:
                        deleted[version.reference] = deleted.get(version.reference, 0) + 1
        for reference, seen in touched.items():
            for version in sorted(set(seen.versions) - ours):
                asked = reference if deleted.get(reference) else reference.partition("/")[0]  # a conditional delete
                if version in seen.deletions and deleted.get(asked, 0) > 0:
                    deleted[asked] -= 1
                    continue
                yield f"{reference}/_history/{version.number}"

    # bodies

    def _body(self, reference: str) -> bytes | None:
        return self._content(self._client.get(f"/{reference}"), reference)

    def _body_before(self, reference: str, episode: set[Version]) -> bytes | None:
        """The newest version that is not the episode's; None where there was none, or it was a deletion."""
        for version, is_deletion in self._entries(f"/{reference}/_history?_since={_BEGINNING}&_count={_PAGE}"):
            if version not in episode:
                if is_deletion:
                    return None
                return self._content(self._client.get(f"/{reference}/_history/{version.number}"), reference)
        return None

    def _content(self, reply: Reply, reference: str) -> bytes | None:
        if reply.status in (404, 410):
            return None
        if reply.status != 200 or not isinstance(reply.body, dict):
            raise RemoteError(f"{self.base}/{reference} was answered {reply.status}")
        return dumped(reply.body)

    def _asked(self, path: str) -> Reply:
        reply = self._client.get(path)
        if reply.status != 200 or not isinstance(reply.body, dict):
            raise RemoteError(f"{self.base}{path} was answered {reply.status}; an episode needs the server's history")
        return reply

    # laying the setup and putting everything back

    def _lay(self, setup: Sequence[Mapping[str, Any]]) -> None:
        if setup:
            entries = [_put(f"{resource['resourceType']}/{resource['id']}", dict(resource)) for resource in setup]
            self._transact(entries, "the task's setup was refused")

    def _restore(self) -> None:
        touched = self._history()
        targets = {reference: self._body_before(reference, set(seen.versions)) for reference, seen in touched.items()}
        entries = []
        for reference, target in targets.items():
            current = self._body(reference)
            if target is not None and (current is None or not same_content(target, current)):
                self._untag(reference, target, current)
                entries.append(_put(reference, Reply(200, {}, target).body))
            elif target is None and current is not None:
                entries.append({"request": {"method": "DELETE", "url": reference}})
        if entries:
            self._transact(entries, "putting the server back was refused")
        left = [reference for reference, target in targets.items() if not self._is_back(reference, target)]
        left += [reference for reference in self._history() if reference not in targets]
        if left:
            raise RemoteError(f"{self.base} could not be put back: {', '.join(sorted(left)[:5])} differ from before")

    def _is_back(self, reference: str, target: bytes | None) -> bool:
        current = self._body(reference)
        if target is None or current is None:
            return target is None and current is None
        return same_content(target, current)

    def _untag(self, reference: str, target: bytes, current: bytes | None) -> None:
        """Take away tags and labels that were added: a PUT would only add to them."""
        before, now = (Reply(200, {}, body or b"{}").body.get("meta", {}) for body in (target, current))
        extra = {
            name: [coding for coding in now.get(name, []) if coding not in before.get(name, [])]
            for name in ("tag", "security")
        }
        meta = {name: codings for name, codings in extra.items() if codings}
        if meta:
            parameters = {"resourceType": "Parameters", "parameter": [{"name": "meta", "valueMeta": meta}]}
            headers = {"Content-Type": "application/fhir+json", "Accept": "application/fhir+json"}
            self._client.send("POST", f"/{reference}/$meta-delete", headers=headers, body=dumped(parameters))

    def _transact(self, entries: Sequence[Mapping[str, Any]], refused: str) -> None:
        reply = self._client.transact({"resourceType": "Bundle", "type": "transaction", "entry": list(entries)})
        if not reply.ok:
            raise RemoteError(f"{refused} by {self.base} ({reply.status}): {_diagnostics(reply)}")


def _put(reference: str, resource: Any) -> dict[str, Any]:
    return {"resource": resource, "request": {"method": "PUT", "url": reference}}


def _diagnostics(reply: Reply) -> str:
    body = reply.body
    issues = body.get("issue") if isinstance(body, dict) else None
    return str(issues[0].get("diagnostics", "")) if issues else str(body)[:200]


def _acknowledged(exchange: Exchange, base: str) -> Iterator[Version]:
    """The versions that an answer says it made; a deletion has no number, because its answer says none."""
    headers = {name.lower(): value for name, value in exchange.response_headers.items()}
    said = headers.get("location") or headers.get("content-location")
    reply = Reply(exchange.status, exchange.response_headers, exchange.response)
    if exchange.method == "DELETE":
        yield Version(exchange.path.partition("?")[0].strip("/"), "")
    elif said:
        yield _version(said, base)
    body = reply.body
    if isinstance(body, dict) and str(body.get("type", "")).endswith("-response"):
        sent = Reply(0, {}, exchange.body).body
        asked = sent.get("entry", []) if isinstance(sent, dict) else []
        for number, entry in enumerate(body.get("entry", [])):
            answer = entry.get("response", {})
            request = asked[number].get("request", {}) if number < len(asked) else {}
            if request.get("method") == "DELETE":
                yield Version(str(request.get("url", "")).removeprefix(base + "/"), "")
            elif answer.get("location"):
                yield _version(answer["location"], base)


def _version(location: str, base: str) -> Version:
    reference, _, number = location.removeprefix(base).strip("/").partition("/_history/")
    return Version(reference, number)


def wait_until_ready(base: str, seconds: float = 120.0) -> None:
    """Return once the server answers `/metadata`. Raises `RemoteError` if it does not in that time."""
    client, deadline, last = FhirClient(base, timeout=10.0), time.monotonic() + seconds, ""
    try:
        while True:
            try:
                status = client.get("/metadata").status
                if status == 200:
                    return
                last = f"its answer to GET {client.base}/metadata is {status}; name the address below which FHIR is"
            except ClientError:
                last = "is the server up?"
            if time.monotonic() > deadline:
                raise RemoteError(f"{base} did not answer as a FHIR server within {seconds:g} s; {last}")
            time.sleep(0.5)
    finally:
        client.close()
