"""Reading resources from files: FHIR Bundles of any type, NDJSON, folders of them, each plain or `.gz`.

    loaded = load([Path("synthea/")])
    record = Record.build(loaded.resources(), "ward.record", clock=loaded.clock, synthetic=True)
    loaded.unresolved                       # references that name nothing that was loaded, with how often

Bytes are kept, but for three things: a resource that spans lines is put on one (blanks between its tokens go);
references are rewritten to `Type/id` where they name an entry by its fullUrl (`urn:uuid:...`) or by an identifier
(`Practitioner?identifier=system|value`); and an id is put in where there was none.

Ids stay as they are. An entry without one gets a number-free id made from its content. In a transaction a `POST`
creates: where its id is taken, it gets another, and the references of its Bundle follow it. Everywhere else two
resources of one type and id are an error. A broken entry is named with its file, its number and what is wrong; then
nothing is loaded at all.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

import orjson

from ehr.sandbox.build import ID, checked
from ehr.sandbox.definitions import resource_types
from ehr.sandbox.jsontext import elements, members, one_line, with_id
from ehr.sandbox.storage import RecordError
from ehr.sandbox.values import split_reference, stored_date

__all__ = ["Loaded", "load"]

Json = dict[str, Any]

SUFFIXES = (".json", ".ndjson", ".jsonl")
LONGEST_LINE = 64 * 2**20
"""Bytes of one resource."""
LARGEST_BUNDLE = 2**30
"""Bytes of one Bundle, unpacked."""
LARGEST_FILE = 16 * 2**30
"""Bytes of one file of lines, unpacked."""
SUBMITTED = frozenset({"transaction", "batch", "searchset", "history", "transaction-response", "batch-response"})
"""Bundles that are messages: a server takes them apart, so they are taken apart in a file of lines too."""

_REFERENCE = re.compile(r'("(?:reference|url|uri|valueUri|valueUrl)"\s*:\s*")([^"\\]*)(?=")')
_CONDITIONAL = re.compile(r"([A-Z]\w+)\?identifier=([^&]+)")


@dataclass(frozen=True, slots=True)
class _Entry:
    """One resource in a file, as text, and what its Bundle says about it."""

    where: str
    text: str
    resource: Json
    full_url: str = ""
    created: bool = False
    """A `POST`, which may take another id."""
    put_id: str = ""


@dataclass
class _Scope:
    """The resources of one Bundle (or line): how references name them."""

    entries: list[_Entry]
    ids: list[str] = field(default_factory=list)


class Loaded:
    """What the files hold. `resources` may be asked for once or again; it reads the files anew."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._known_names: set[str] = set()
        self._given: dict[int, str] = {}
        self._by_url: dict[str, str] = {}
        self._wanted: set[str] = set()
        self._by_identifier: dict[str, list[str]] = {}
        self._latest: int | None = None
        self.count = 0
        """How many resources."""
        self.unresolved: Counter[str] = Counter()
        """Reference -> how often, for those that name nothing here; filled while `resources` is read."""
        self._survey()

    @property
    def clock(self) -> str | None:
        """The latest time in the data (`meta.lastUpdated`, effective and issued times); `None` where there is none."""
        return None if self._latest is None else datetime.fromtimestamp(self._latest // 1000, UTC).isoformat()

    def resources(self) -> Iterator[bytes]:
        """Every resource, with references rewritten."""
        self.unresolved.clear()
        for scope, names in self._named_scopes():
            for entry, id in zip(scope.entries, scope.ids, strict=True):
                text = entry.text if entry.resource.get("id") == id else with_id(entry.text, id)
                yield one_line(self._rewritten(text, names).encode())

    def _survey(self) -> None:
        """Read everything once: check each entry, give out ids, learn how entries are named."""
        for scope in _scopes(self._paths):
            names = self._named(scope, self._take_ids(scope))
            self._by_url.update((url, name) for url, name in names.items() if url.startswith("urn:"))
            for entry in scope.entries:
                self.count += 1
                self._note_time(entry.resource)
                for found in _REFERENCE.finditer(entry.text):
                    if "?" in found[2] and _CONDITIONAL.fullmatch(found[2]):
                        self._wanted.add(found[2])
        if self._wanted:
            self._learn_identifiers()

    def _take_ids(self, scope: _Scope) -> list[str]:
        """Give each entry of a scope its id, for the first time; only those it did not bring along are remembered."""
        ids = []
        for place, entry in enumerate(scope.entries):
            type = str(entry.resource["resourceType"])
            id = _own_id(entry)
            if not id or (entry.created and f"{type}/{id}" in self._known_names):
                id = self._given[self.count + place] = _made_id(entry, self._known_names)
            name = f"{type}/{id}"
            if name in self._known_names:
                raise RecordError(f"{entry.where}: {name} is there a second time; each resource must be there once")
            self._known_names.add(name)
            ids.append(id)
        return ids

    def _named_scopes(self) -> Iterator[tuple[_Scope, dict[str, str]]]:
        """The scopes again, with the ids that were given, and how their references name them."""
        number = 0
        for scope in _scopes(self._paths):
            ids = [self._given.get(number + place) or _own_id(entry) for place, entry in enumerate(scope.entries)]
            number += len(ids)
            yield scope, self._named(scope, ids)

    def _named(self, scope: _Scope, ids: list[str]) -> dict[str, str]:
        """How the references of a scope name its entries: fullUrl or old name -> new name."""
        names: dict[str, str] = {}
        scope.ids = ids
        for entry, id in zip(scope.entries, ids, strict=True):
            type = str(entry.resource["resourceType"])
            if entry.full_url:
                names[entry.full_url] = f"{type}/{id}"
            old = entry.resource.get("id")
            if isinstance(old, str) and old != id:
                names.setdefault(f"{type}/{old}", f"{type}/{id}")
        return names

    def _rewritten(self, text: str, names: dict[str, str]) -> str:
        def replace(found: re.Match[str]) -> str:
            target = found[2]
            name = names.get(target) or self._by_url.get(target) or self._by_condition(target)
            if name is None and found[1].startswith('"reference"') and not self._known(target):
                self.unresolved[target] += 1
            return str(found[0]) if name is None else str(found[1]) + name

        return _REFERENCE.sub(replace, text)

    def _known(self, reference: str) -> bool:
        pair = split_reference(reference)
        return reference.startswith("#") or (pair is not None and f"{pair[0]}/{pair[1]}" in self._known_names)

    # ---- references by identifier

    def _learn_identifiers(self) -> None:
        wanted: dict[tuple[str, str], list[str]] = {}
        for reference in self._wanted:
            found = _CONDITIONAL.fullmatch(reference)
            if found is not None:
                wanted.setdefault((found[1], found[2]), []).append(reference)
        for scope, _ in self._named_scopes():
            for entry, id in zip(scope.entries, scope.ids, strict=True):
                type = entry.resource["resourceType"]
                for identifier in entry.resource.get("identifier") or ():
                    if isinstance(identifier, dict):
                        value = identifier.get("value")
                        for form in (f"{identifier.get('system', '')}|{value}", f"{value}"):
                            for reference in wanted.get((type, form), ()):
                                self._by_identifier.setdefault(reference, []).append(f"{type}/{id}")

    def _by_condition(self, reference: str) -> str | None:
        """The one resource that a conditional reference names; `None` for none or several."""
        found = sorted(set(self._by_identifier.get(reference, ())))
        return found[0] if len(found) == 1 else None

    # ---- the clock

    def _note_time(self, resource: Json) -> None:
        meta, period = resource.get("meta"), resource.get("effectivePeriod")
        texts = [resource.get(key) for key in ("effectiveDateTime", "effectiveInstant", "issued", "authoredOn")]
        texts.append(meta.get("lastUpdated") if isinstance(meta, dict) else None)
        texts += [period.get("start"), period.get("end")] if isinstance(period, dict) else []
        for text in texts:
            span = stored_date(text) if isinstance(text, str) else None
            if span is not None and (self._latest is None or span.end > self._latest):
                self._latest = span.end


def load(paths: Sequence[str | Path]) -> Loaded:
    """The resources of files and folders. Raises `RecordError`, naming file and entry, where anything is wrong."""
    return Loaded([Path(path) for path in paths])


# ---- files


def _scopes(paths: Sequence[Path]) -> Iterator[_Scope]:
    for path in paths:
        for file in _files(path):
            yield from _file_scopes(file)


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise RecordError(f"There is nothing at {str(path)!r}; name a Bundle, an NDJSON file or a folder of them")
    if not path.is_dir():
        return [path]
    found = sorted(p for p in path.rglob("*") if p.is_file() and p.name.removesuffix(".gz").endswith(SUFFIXES))
    if not found:
        raise RecordError(f"The folder {str(path)!r} holds no .json, .ndjson or .jsonl file (nor one ending in .gz)")
    return found


def _file_scopes(path: Path) -> Iterator[_Scope]:
    try:
        with _opened(path) as file:
            if path.name.removesuffix(".gz").endswith((".ndjson", ".jsonl")) or _has_lines(file):
                yield from _lines(path, file)
            else:
                yield from _document(path, file)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise RecordError(f"{str(path)!r} cannot be unpacked: {error}") from error
    except OSError as error:
        raise RecordError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error


def _opened(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.name.endswith(".gz") else path.open("rb")


def _has_lines(file: IO[bytes]) -> bool:
    """Whether a `.json` file holds a resource a line: its first line is whole and another follows."""
    first = file.readline(LONGEST_LINE)
    more = file.readline(4096).strip()
    file.seek(0)
    if not more:
        return False
    try:
        orjson.loads(first)
    except orjson.JSONDecodeError:
        return False
    return True


def _lines(path: Path, file: IO[bytes]) -> Iterator[_Scope]:
    total = number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        total += len(line)
        where = f"{str(path)!r}, line {number}"
        if len(line) > LONGEST_LINE or total > LARGEST_FILE:
            raise RecordError(f"{where}: too large (a line may have {LONGEST_LINE} bytes, a file {LARGEST_FILE})")
        text = _decoded(line, where).strip()
        if text:
            resource = _parsed(text, where)
            if (
                isinstance(resource, dict)
                and resource.get("resourceType") == "Bundle"
                and resource.get("type") in SUBMITTED
            ):
                yield _bundle(text, where)
            else:
                yield _Scope([_entry(where, text, resource)])


def _document(path: Path, file: IO[bytes]) -> Iterator[_Scope]:
    where = str(path)
    data = file.read(LARGEST_BUNDLE + 1)
    if len(data) > LARGEST_BUNDLE:
        raise RecordError(f"{where!r} is too large: a Bundle may have {LARGEST_BUNDLE} bytes")
    text = _decoded(data, repr(where)).strip()
    start = text[:400]
    try:
        first = next(iter(members(text)), None) if start.startswith("{") else None
    except ValueError as error:
        raise RecordError(f"{where!r} is no JSON ({error})") from None
    if first is None:
        raise RecordError(f"{where!r} is no Bundle and no resource: it begins with {start[:20]!r}")
    if _is_bundle(text, where):
        yield _bundle(text, repr(where))
    else:
        yield _Scope([_entry(repr(where), text, _parsed(text, repr(where)))])


def _is_bundle(text: str, where: str) -> bool:
    """Whether a document is a Bundle, found without parsing its entries where they come last."""
    try:
        for member in members(text, unparsed="entry"):
            if member.name == "resourceType":
                return bool(member.value == "Bundle")
        whole = orjson.loads(text)
    except ValueError as error:
        raise RecordError(f"{where!r} is no JSON ({error})") from None
    return isinstance(whole, dict) and whole.get("resourceType") == "Bundle"


def _decoded(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordError(f"{where} is not UTF-8 ({error.reason} at byte {error.start})") from None


def _parsed(text: str, where: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise RecordError(f"{where} is no JSON ({error})") from None


# ---- Bundles and entries


def _bundle(text: str, where: str) -> _Scope:
    """The resources of a Bundle."""
    entries: list[_Entry] = []
    deleted: dict[str, int] = {}
    kind = ""
    try:
        for member in members(text):
            if member.name == "type":
                kind = str(member.value)
        start = next((m.start for m in members(text, unparsed="entry") if m.name == "entry"), None)
        if start is not None:
            for number, element in enumerate(elements(text, start), 1):
                request = _object(element.value, "request") if isinstance(element.value, dict) else {}
                if request.get("method") == "DELETE":
                    deleted.setdefault(str(request.get("url")), len(entries))
                entries += _bundle_entry(text, element.start, element.value, f"{where}, entry {number}", kind)
    except ValueError as error:
        raise RecordError(f"{where} is no JSON, at entry {len(entries) + 1} or after it ({error})") from None
    return _Scope(_current(entries, deleted) if kind == "history" else entries)


def _bundle_entry(text: str, start: int, entry: Any, where: str, kind: str) -> Iterator[_Entry]:
    if not isinstance(entry, dict):
        raise RecordError(f"{where} is no entry: {entry!r:.40}")
    request, search = _object(entry, "request"), _object(entry, "search")
    method = request.get("method") if kind in ("transaction", "batch", "history") else None
    if "resource" not in entry:
        if method in ("POST", "PUT") and kind != "history":
            raise RecordError(f"{where} has no resource, but its request is {method}")
        return
    if search.get("mode") == "outcome" or method in ("GET", "HEAD", "DELETE", "PATCH"):
        return
    place = next(m for m in members(text, start) if m.name == "resource")
    full_url = entry.get("fullUrl")
    url = str(request.get("url", "")) if method == "PUT" else ""
    yield _entry(
        where,
        text[place.start : place.end],
        place.value,
        full_url=full_url if isinstance(full_url, str) else "",
        created=(method == "POST" and kind != "history") or "?" in url,
        put_id=url.partition("/")[2] if "?" not in url else "",
    )


def _object(entry: Json, name: str) -> Json:
    value = entry.get(name)
    return value if isinstance(value, dict) else {}


def _entry(
    where: str, text: str, resource: Any, *, full_url: str = "", created: bool = False, put_id: str = ""
) -> _Entry:
    """A checked entry. Raises `RecordError` where its resource is none."""
    if isinstance(resource, dict) and "id" not in resource and resource.get("resourceType") in resource_types():
        pass  # it gets an id
    else:
        checked(resource, where)
    _parsed(text, where)
    if put_id and ID.fullmatch(put_id) is None:
        raise RecordError(f"{where}: its request names the id {put_id!r}, which is not valid")
    return _Entry(where, text, resource, full_url, created, put_id)


def _current(entries: list[_Entry], deleted: dict[str, int]) -> list[_Entry]:
    """Of a history, newest first, the newest version of each resource; none where its deletion is newer.

    `deleted` is the name of each deleted resource, with how many entries came before its newest deletion.
    """
    seen: dict[str, _Entry | None] = {}
    for place, entry in enumerate(entries):
        name = f"{entry.resource['resourceType']}/{entry.resource.get('id')}"
        gone = deleted.get(name, len(entries)) <= place
        seen.setdefault(name, None if gone else entry)
    return [entry for entry in seen.values() if entry is not None]


def _id_in(full_url: str, type: str) -> str | None:
    """The id that a fullUrl names, where it is one."""
    if full_url.startswith("urn:uuid:"):
        id = full_url.removeprefix("urn:uuid:")
    else:
        base, _, id = full_url.rpartition("/")
        if not base.endswith(type):
            return None
    return id if ID.fullmatch(id) else None


def _own_id(entry: _Entry) -> str:
    """The id that an entry brings along: of its request, its resource or its fullUrl; empty where there is none."""
    return entry.put_id or entry.resource.get("id") or _id_in(entry.full_url, str(entry.resource["resourceType"])) or ""


def _made_id(entry: _Entry, taken: set[str]) -> str:
    """An id made from the content: the same files give the same ids."""
    type = entry.resource["resourceType"]
    for number in range(1_000_000):
        digest = hashlib.sha256(f"{number}\n{entry.full_url}\n{entry.text}".encode()).hexdigest()
        id = "r" + digest[:19]
        if f"{type}/{id}" not in taken:
            return id
    raise RecordError(f"{entry.where}: too many equal resources without an id")
