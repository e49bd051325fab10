"""What can go wrong between an agent and the record, on purpose, to see whether the agent looks.

| fault | what happens | recoverable |
|---|---|---|
| lost_write | every write that the task needs is acknowledged as usual, and not stored | no |
| dropped_field | the first write that the task needs is acknowledged in full, and stored without one element | yes |
| http_429 | the first writes, and one read, are refused with 429 and `Retry-After`, and not carried out | yes |
| http_503 | the same with 503 | yes |
| conflict | the first writes are refused with 409, as HAPI does where two clients write at once | yes |
| other_writer | just before the agent's first write somebody else changes the resource it is about | yes |
| slow | the first write is carried out, and its answer comes too late: the agent is told 504 by a gateway | yes |

What a fault does depends on the task and on the requests alone, never on time or chance: how often it refuses, which
read, which element. So the same requests on a fresh fork meet the same fault, and the self-check executes it again.
Where a fault is recoverable the task's expectation holds as it is. Where it is not, what the fault leaves is expected,
and an agent that claims `done` is wrong (`ehr.verify.lost`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import orjson

from ehr.sandbox.body import Tree, compact, parse_object, pretty
from ehr.sandbox.http import Exchange, Request, Response
from harness.values import digest

if TYPE_CHECKING:
    from ehr.backends import Fork
    from ehr.sandbox.fork import Fork as SandboxFork
    from ehr.sandbox.state import Change, Storing
    from ehr.sandbox.versions import Key, Version
    from ehr.verify.expected import Expected
    from harness.task import Task

OTHER = "other"
"""Who the other writer's requests are by."""

MOST_REFUSALS = 2
"""Writes that are refused in a row, at most."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault by name. `recoverable`: whether an agent that looks can still do what the task asks."""

    name: str
    about: str
    recoverable: bool


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("lost_write", "writes are acknowledged and not stored", recoverable=False),
        Fault("dropped_field", "a write is acknowledged in full and stored without one element", recoverable=True),
        Fault("http_429", "requests are refused with 429 and Retry-After", recoverable=True),
        Fault("http_503", "requests are refused with 503", recoverable=True),
        Fault("conflict", "writes are refused with 409, as if two clients wrote at once", recoverable=True),
        Fault("other_writer", "somebody else changes the resource just before the agent does", recoverable=True),
        Fault("slow", "a write is carried out, and its answer comes too late (504)", recoverable=True),
    )
}
"""Every fault by name."""


def known_fault(name: Any) -> Fault | None:
    """The fault of a variant's `fault`; None where that is null. Raises `ValueError` for an unknown one."""
    if name is None:
        return None
    if name not in FAULTS:
        raise ValueError(f"there is no fault {name!r}; choose from {', '.join(FAULTS)}")
    return FAULTS[name]


def with_fault(fork: SandboxFork, task: Task, fault: Fault) -> Fork:
    """The fork under this fault, for an episode of the task. The fork must be fresh."""
    if fault.name == "lost_write":
        fork.store_by(_losing(task))
        return fork
    if fault.name == "dropped_field":
        fork.store_by(_dropping(task))
        return fork
    return FaultyFork(fork, _TURNS[fault.name](task))


def _times(task: Task, what: str, most: int) -> int:
    """A number from 1 to `most`, the same for the same task."""
    return 1 + int(digest([task.digest, what]).removeprefix("sha256:")[:8], 16) % most


# ---- a storage that fails: what is acknowledged is not what is kept


def _losing(task: Task) -> Storing:
    wanted = _wanted(task)

    def storing(key: Key, before: bytes | None, version: Version, by: str) -> Version | None:
        return None if by == "agent" and _verb_of(key, before, version) in wanted else version

    return storing


def _dropping(task: Task) -> Storing:
    wanted, spoken_of = _wanted(task), _elements(task)
    struck = False

    def storing(key: Key, before: bytes | None, version: Version, by: str) -> Version | None:
        nonlocal struck
        verb = _verb_of(key, before, version)
        if struck or by != "agent" or verb not in wanted or version.body is None:
            return version
        old, new = {} if before is None else parse_object(before), parse_object(version.body)
        candidates = list(_droppable(key.type, old, new, spoken_of.get(verb, frozenset())))
        if not candidates:
            return version
        struck = True
        element = candidates[_times(task, "element", len(candidates)) - 1]
        return replace(version, body=compact(_without(new, old, element)))

    return storing


_Verb = tuple[str, str, str | None]
"""Verb, type, and the id of what is updated or deleted."""


def _verb_of(key: Key, before: bytes | None, version: Version) -> _Verb:
    if version.body is None:
        return "delete", key.type, key.id
    return ("create", key.type, None) if before is None else ("update", key.type, key.id)


def _wanted(task: Task) -> frozenset[_Verb]:
    """The writes that the task needs, in any of its ways."""
    return frozenset(wanted_writes(expected_of(task)))


def expected_of(task: Task) -> Expected:
    """The task's expectation as a value."""
    from ehr.verify.expected import NOTHING, Expected

    return Expected.model_validate(task.expected, extra="ignore") if task.expected else NOTHING


def wanted_writes(expected: Expected) -> Iterator[_Verb]:
    """Verb, type and id of each write that an expectation speaks of, in any of its alternatives."""
    for way in expected.alternatives():
        yield from (("create", create.type, None) for create in way.creates)
        yield from (("update", *_parts(update.reference)) for update in way.updates)
        yield from (("delete", *_parts(reference)) for reference in way.deletes)


def _parts(reference: str) -> tuple[str, str]:
    type, _, id = reference.partition("/")
    return type, id


def _elements(task: Task) -> dict[_Verb, frozenset[str]]:
    """The elements of the resource that the expectation of each write speaks of."""
    from ehr.verify.clauses import members

    found: dict[_Verb, frozenset[str]] = {}
    for way in expected_of(task).alternatives():
        for verb, clauses in (
            *((("create", create.type, None), create.clauses) for create in way.creates),
            *((("update", *_parts(update.reference)), update.clauses) for update in way.updates),
        ):
            found[verb] = found.get(verb, frozenset()) | {name for focus, name in members(clauses) if focus == ""}
    return found


_KEPT = frozenset({"resourceType", "id", "meta", "subject", "patient", "encounter"})


def _droppable(type: str, old: Tree, new: Tree, spoken_of: frozenset[str]) -> Iterator[str]:
    """The keys that may go: of a new resource what is asked for and may be missing, else what was changed."""
    from ehr.sandbox.definitions import field

    for key in sorted(new.keys() - _KEPT):
        known = field(type, key)
        if known is None or key.startswith("_"):
            continue
        if old:
            if old.get(key) != new[key] and known.element.name in spoken_of:
                yield key
        elif known.element.name in spoken_of and not known.element.required:
            yield key


def _without(new: Tree, old: Tree, key: str) -> Tree:
    """The new body with one element as it was before."""
    if key in old:
        return new | {key: old[key]}
    return {name: value for name, value in new.items() if name not in (key, f"_{key}")}


# ---- a server between: what is refused, late, or overtaken


class Turn:
    """What a fault does at each of the agent's requests. `before` may answer in the server's place."""

    def before(self, request: Request, fork: Fork) -> Response | None:
        """An answer in place of the server's, or None to let the request through."""
        return None

    def after(self, request: Request, response: Response) -> Response:
        """What the agent is told in place of the server's answer."""
        return response

    def seen(self, request: Request, by: str) -> None:
        """A request of somebody else was sent."""


class FaultyFork:
    """A fork with a fault before it (see `ehr.backends.Fork`). Its log is what was sent and what the sender saw."""

    def __init__(self, fork: Fork, turn: Turn) -> None:
        self._fork, self._turn = fork, turn
        self._lock = Lock()
        self.base = fork.base
        self.requests: list[Exchange] = []

    def handle(self, request: Request, *, by: str = "agent") -> Response:
        """The answer as the fault lets it come."""
        with self._lock:
            if by != "agent":
                self._turn.seen(request, by)
                return self._passed_on(request, by)
            logged = len(self._fork.requests)
            refusal = self._turn.before(request, self._fork)
            self.requests += [one for one in self._fork.requests[logged:] if one.by == OTHER]
            if refusal is not None:
                self._log(request, refusal)
                return refusal
            response = self._passed_on(request, by)
            told = self._turn.after(request, response)
            if told is not response:
                self.requests.pop()
                self._log(request, told)
            return told

    def changes(self) -> Sequence[Change]:
        """The changes of the fork itself."""
        return self._fork.changes()

    def close(self) -> None:
        """Let the fork go."""
        self._fork.close()

    def _passed_on(self, request: Request, by: str) -> Response:
        response = self._fork.handle(request, by=by)
        self.requests.append(self._fork.requests[-1])
        return response

    def _log(self, request: Request, told: Response) -> None:
        self.requests.append(
            Exchange(
                "agent",
                request.method,
                request.path,
                dict(request.headers),
                request.body,
                told.status,
                dict(told.headers),
                told.body,
            )
        )


def is_write(request: Request) -> bool:
    """Whether a request means to write: no read, no search by POST, no operation, no batch of nothing but reads."""
    if request.method != "POST":
        return request.method in ("PUT", "PATCH", "DELETE")
    segments = [part for part in request.path.partition("?")[0].split("/") if part]
    if not segments:
        return not _only_reads(request.body)
    return not any(part == "_search" or part.startswith("$") for part in segments)


def _only_reads(bundle: bytes) -> bool:
    try:
        methods = [entry["request"]["method"] for entry in orjson.loads(bundle)["entry"]]
    except (ValueError, LookupError, TypeError):
        return False
    return all(method in ("GET", "HEAD") for method in methods)


def _refusal(status: int, said: str, **headers: str) -> Response:
    body = {
        "resourceType": "OperationOutcome",
        "issue": [{"severity": "error", "code": "processing", "diagnostics": said}],
    }
    kind = {"Content-Type": "application/fhir+json;charset=UTF-8"}
    return Response(status, {**kind, **{name.replace("_", "-"): text for name, text in headers.items()}}, pretty(body))


class _Refusing(Turn):
    """Refuses the first writes, and where `read` is a number, the GET of that number.

    Only GETs count as reads: the self-check repeats every other request, and must meet the same refusals.
    """

    def __init__(self, refusal: Response, writes: int, read: int | None) -> None:
        self._refusal, self._writes, self._read = refusal, writes, read

    def before(self, request: Request, fork: Fork) -> Response | None:
        if is_write(request):
            self._writes -= 1
            return self._refusal if self._writes >= 0 else None
        if self._read is None or request.method not in ("GET", "HEAD"):
            return None
        self._read -= 1
        return self._refusal if self._read == 0 else None


def _http_429(task: Task) -> Turn:
    after = str(_times(task, "Retry-After", 3))
    refusal = _refusal(429, f"Too many requests; try again after {after} s", Retry_After=after)
    return _Refusing(refusal, _times(task, "writes", MOST_REFUSALS), _times(task, "read", 3))


def _http_503(task: Task) -> Turn:
    refusal = _refusal(503, "The server is not available at the moment")
    return _Refusing(refusal, _times(task, "writes", MOST_REFUSALS), _times(task, "read", 3))


def _conflict(task: Task) -> Turn:
    said = (
        "HAPI-0550: HAPI-0823: The operation has failed with a version constraint failure. This generally means that "
        "two clients/threads were trying to update the same resource at the same time, and this request was chosen as "
        "the failing request."
    )
    return _Refusing(_refusal(409, said), _times(task, "writes", MOST_REFUSALS), None)


class _Slow(Turn):
    """The answer to the first write that was carried out does not come in time."""

    def __init__(self, task: Task) -> None:
        self._struck = False

    def after(self, request: Request, response: Response) -> Response:
        if self._struck or not is_write(request) or response.status >= 300:
            return response
        self._struck = True
        return _refusal(504, "The server did not answer in time; whether the request was carried out is not known")


class _OtherWriter(Turn):
    """Somebody else writes to what the task is about, just before the agent does."""

    def __init__(self, task: Task) -> None:
        references = [f"{type}/{id}" for _, type, id in wanted_writes(expected_of(task)) if id is not None]
        needed = task.patient if task.needs_write else None
        self._reference = references[0] if references else needed
        self._is_updated = bool(references)
        self._struck = self._reference is None

    def seen(self, request: Request, by: str) -> None:
        self._struck = self._struck or by == OTHER

    def before(self, request: Request, fork: Fork) -> Response | None:
        if not self._struck and is_write(request) and self._concerns(request):
            self._struck = True
            self._write(fork)
        return None

    def _concerns(self, request: Request) -> bool:
        if not self._is_updated:
            return True
        path = request.path.partition("?")[0].strip("/")
        return path == self._reference or path in ("", str(self._reference).partition("/")[0])

    def _write(self, fork: Fork) -> None:
        found = fork.handle(Request("GET", f"/{self._reference}?_pretty=false"), by="fault")
        if found.status != 200:
            return
        resource = orjson.loads(found.body)
        addition = _addition(resource)
        if addition is None:
            return
        name, value = addition
        step: dict[str, Any] = {"op": "add", "path": f"/{name}", "value": [value]}
        if resource.get(name):
            step = {"op": "add", "path": f"/{name}/-", "value": value}
        headers = {"Content-Type": "application/json-patch+json", "Accept": "application/fhir+json"}
        fork.handle(Request("PATCH", f"/{self._reference}", headers, orjson.dumps([step])), by=OTHER)


def _addition(resource: Mapping[str, Any]) -> tuple[str, Any] | None:
    """What the other writer adds: a note, or to a person somebody to call."""
    from ehr.sandbox.definitions import elements

    known = elements(resource["resourceType"])
    if "note" in known and "Annotation" in known["note"].types:
        return "note", {"text": "Talked over on the ward round."}
    if resource["resourceType"] == "Patient":
        return "contact", {"relationship": [{"text": "neighbour"}], "name": {"text": "Jo Ward"}}
    return None


_TURNS: Mapping[str, Callable[[Task], Turn]] = {
    "http_429": _http_429,
    "http_503": _http_503,
    "conflict": _conflict,
    "other_writer": _OtherWriter,
    "slow": _Slow,
}
