"""Files of resources, read one Bundle or one line at a time: what they hold, checked, as text.

Whatever is wrong is a `RecordError` that names the file, the entry and the fault. Sizes are bounded, unpacked ones too.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import orjson

from ehr.sandbox.definitions import resource_types
from ehr.sandbox.jsontext import elements, members
from ehr.sandbox.store.build import ID, checked
from ehr.sandbox.store.storage import RecordError

__all__ = ["Entry", "Scope", "scopes"]

Json = dict[str, Any]

SUFFIXES = (".json", ".ndjson", ".jsonl")
_DATABASE = b"SQLite format 3"
LONGEST_LINE = 64 * 2**20
"""Bytes of one resource."""
LARGEST_BUNDLE = 2**30
"""Bytes of one Bundle, unpacked."""
LARGEST_FILE = 16 * 2**30
"""Bytes of one file of lines, unpacked."""
SUBMITTED = frozenset({"transaction", "batch", "searchset", "history", "transaction-response", "batch-response"})
"""Bundles that are messages: a server takes them apart, so they are taken apart in a file of lines too."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One resource in a file, as text, and what its Bundle says about it."""

    where: str
    text: str
    resource: Json
    full_url: str = ""
    created: bool = False
    """A `POST`, which may take another id."""
    put_id: str = ""


@dataclass
class Scope:
    """The resources of one Bundle (or line): how references name them."""

    entries: list[Entry]
    ids: list[str] = field(default_factory=list)


def scopes(paths: Sequence[Path]) -> Iterator[Scope]:
    """Every Bundle and every line of files and folders, in a fixed order."""
    for path in paths:
        for file in _files(path):
            yield from _filescopes(file)


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise RecordError(f"There is nothing at {str(path)!r}; name a Bundle, an NDJSON file or a folder of them")
    if not path.is_dir():
        return [path]
    found = sorted(p for p in path.rglob("*") if p.is_file() and p.name.removesuffix(".gz").endswith(SUFFIXES))
    if not found:
        raise RecordError(f"The folder {str(path)!r} holds no .json, .ndjson or .jsonl file (nor one ending in .gz)")
    return found


def _filescopes(path: Path) -> Iterator[Scope]:
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


def _lines(path: Path, file: IO[bytes]) -> Iterator[Scope]:
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
                yield Scope([_entry(where, text, resource)])


def _document(path: Path, file: IO[bytes]) -> Iterator[Scope]:
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
        yield Scope([_entry(repr(where), text, _parsed(text, repr(where)))])


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
        if data.startswith(_DATABASE):
            raise RecordError(f"{where} is a record already, or another database; import what it was made of") from None
        raise RecordError(f"{where} is not UTF-8 ({error.reason} at byte {error.start})") from None


def _parsed(text: str, where: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise RecordError(f"{where} is no JSON ({error})") from None


# ---- Bundles and entries


def _bundle(text: str, where: str) -> Scope:
    """The resources of a Bundle."""
    entries: list[Entry] = []
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
    return Scope(_current(entries, deleted) if kind == "history" else entries)


def _bundle_entry(text: str, start: int, entry: Any, where: str, kind: str) -> Iterator[Entry]:
    if not isinstance(entry, dict):
        raise RecordError(f"{where} is no entry: {entry!r:.40}")
    request, search = _object(entry, "request"), _object(entry, "search")
    method = request.get("method") if kind in ("transaction", "batch", "history") else None
    if "resource" not in entry:
        if method in ("POST", "PUT") and kind != "history":
            raise RecordError(f"{where} has no resource, but its request is {method}")
        if "request" not in entry and "response" not in entry:
            raise RecordError(f"{where} has no resource, and no request or response that could do without one")
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
) -> Entry:
    """A checked entry. Raises `RecordError` where its resource is none."""
    if isinstance(resource, dict) and "id" not in resource and resource.get("resourceType") in resource_types():
        pass  # it gets an id
    else:
        checked(resource, where)
    _parsed(text, where)
    if put_id and ID.fullmatch(put_id) is None:
        raise RecordError(f"{where}: its request names the id {put_id!r}, which is not valid")
    return Entry(where, text, resource, full_url, created, put_id)


def _current(entries: list[Entry], deleted: dict[str, int]) -> list[Entry]:
    """Of a history, newest first, the newest version of each resource; none where its deletion is newer.

    `deleted` is the name of each deleted resource, with how many entries came before its newest deletion.
    """
    seen: dict[str, Entry | None] = {}
    for place, entry in enumerate(entries):
        name = f"{entry.resource['resourceType']}/{entry.resource.get('id')}"
        gone = deleted.get(name, len(entries)) <= place
        seen.setdefault(name, None if gone else entry)
    return [entry for entry in seen.values() if entry is not None]
