"""Read and vread: a resource by its id, or by its id and version."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from email.utils import parsedate_to_datetime

from ehr.sandbox.body import parse_object
from ehr.sandbox.http import Response
from ehr.sandbox.outcome import RefusedError, not_known
from ehr.sandbox.rest.call import Call
from ehr.sandbox.rest.rendering import answer, http_date, raw, shown
from ehr.sandbox.state import State
from ehr.sandbox.versions import Key, Version, served
from ehr.sandbox.writing.verbs import gone


def read(state: State, call: Call, key: Key) -> Response:
    """The resource as it stands: 404 where it never was, 410 where it was deleted, 304 where the client has it."""
    strange = [name for name, _ in call.query if not name.startswith("_")]
    if strange:
        raise call.unsupported()
    if call.first("_count") is not None:
        raise RefusedError(400, 'HAPI-0384: Invalid query parameter(s) for this request: "[_count]"')
    version = state.versions.current(key)
    if version is None:
        raise not_known(key.reference)
    return _shown(call, key, version)


def vread(state: State, call: Call, key: Key, number: str) -> Response:
    """One version of a resource."""
    versions = state.versions.all(key)
    if not versions:
        raise not_known(key.reference)
    wrong = f'Version "{number}" is not valid for resource {key.reference}'
    if not (number.isascii() and number.isdigit()):
        raise RefusedError(404, f"HAPI-0978: {wrong}")
    version = next((v for v in versions if str(v.number) == number), None)
    if version is None:
        raise RefusedError(404, f"HAPI-0979: {wrong}")
    return _shown(call, key, version)


def _shown(call: Call, key: Key, version: Version) -> Response:
    place = call.address(key.reference, "_history", str(version.number))
    if version.body is None:
        raise gone(key, version)
    headers = {
        "ETag": f'W/"{version.number}"',
        "Content-Location": place,
        "Last-Modified": http_date(version.at),
    }
    if _known(call, version):
        return answer(call, 304)
    if key.type == "Binary" and not _wants_fhir(call):
        return _bytes(call, version, headers)
    return answer(call, 200, shown(call, served(version)), headers)


def _known(call: Call, version: Version) -> bool:
    """Whether the client has this version already (`If-None-Match`, `If-Modified-Since`)."""
    tag = call.request.header("If-None-Match")
    if tag is not None:
        return tag.strip().removeprefix("W/").strip('"') in (str(version.number), "*")
    since = call.request.header("If-Modified-Since")
    if since is None:
        return False
    try:
        return datetime.fromisoformat(version.at).replace(microsecond=0) <= parsedate_to_datetime(since)
    except (TypeError, ValueError):
        return False


def _wants_fhir(call: Call) -> bool:
    return "json" in (call.request.header("Accept") or "") or call.first("_format") is not None


def _bytes(call: Call, version: Version, headers: dict[str, str]) -> Response:
    """What a Binary holds, in its own type."""
    assert version.body is not None
    tree = parse_object(version.body)
    try:
        data = base64.b64decode(tree.get("data", ""))
    except (TypeError, binascii.Error):
        data = b""
    kind = tree.get("contentType")
    return raw(
        call, data, kind if isinstance(kind, str) and kind.isprintable() else "application/octet-stream", headers
    )
