"""From what is to be said to the bytes of an answer: pretty JSON as HAPI prints it, headers, compression."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

from ehr.sandbox.body import Tree, compact, pretty
from ehr.sandbox.http import Request, Response
from ehr.sandbox.rest.call import Call
from ehr.sandbox.searching.subsetting import subsetted

SERVER = "HAPI FHIR 8.8.0 REST Server (FHIR Server; FHIR 4.0.1/R4)"
"""Whose behaviour this server has; sent as HAPI sends it, since clients ask for it."""
_LONGEST_ADDRESS = 8192
_UNSAFE = frozenset('[]{}<>"`^\\ ')


def answer(call: Call, status: int, tree: Any = None, headers: Mapping[str, str] | None = None) -> Response:
    """An answer whose body is `tree`, or bytes that are written already, or none."""
    sent = _usual(call) | dict(headers or {})
    if tree is None:
        return Response(status, sent, b"")
    sent["Content-Type"] = _content_type(call)
    if isinstance(tree, bytes):
        return Response(status, sent, tree)
    return Response(status, sent, pretty(tree) if call.pretty else compact(tree))


def summarised(call: Call) -> bool:
    """Whether resources are shown in a summary that is marked on the Bundle too."""
    return call.summary in ("count", "true", "data")


def shown(call: Call, tree: Tree, about: str = "") -> Tree:
    """A resource as `_summary` or `_elements` asks for it.

    Elements without a type in front are those of the type that the request is `about`, or of any.
    """
    elements = call.every("_elements")
    if not elements and not call.summary:
        return tree
    matched = about in ("", tree["resourceType"])
    return subsetted(tree, summary=call.summary, elements=elements, matched=matched)


def raw(call: Call, body: bytes, content_type: str, headers: Mapping[str, str] | None = None) -> Response:
    """An answer that is no FHIR: the bytes of a Binary."""
    return Response(200, _usual(call) | dict(headers or {}) | {"Content-Type": content_type}, body)


def _usual(call: Call) -> dict[str, str]:
    token = hashlib.sha256(b"%d %s" % (call.number, call.request.path.encode("utf-8", "replace"))).hexdigest()[:16]
    sent = {"X-Powered-By": SERVER, "X-Request-ID": call.request.header("X-Request-ID") or token}
    origin = call.request.header("Origin")
    if origin:
        sent["Access-Control-Allow-Origin"] = origin
        sent["Access-Control-Expose-Headers"] = "Location, Content-Location"
        sent["Vary"] = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
    return sent


def _content_type(call: Call) -> str:
    accepted = call.request.header("Accept") or ""
    old = "json+fhir" in accepted and call.first("_format") is None
    return "application/json+fhir;charset=UTF-8" if old else "application/fhir+json;charset=UTF-8"


def finished(request: Request, response: Response) -> Response:
    """The answer as it goes out: compressed where that is asked for, without a body for `HEAD`."""
    if request.method == "HEAD":
        return Response(response.status, response.headers, b"")
    if response.body and "gzip" in (request.header("Accept-Encoding") or ""):
        packed = gzip.compress(response.body, compresslevel=1, mtime=0)
        return Response(response.status, {**response.headers, "Content-Encoding": "gzip"}, packed)
    return response


def http_date(instant: str) -> str:
    """An ISO instant as HTTP writes it."""
    return format_datetime(datetime.fromisoformat(instant).astimezone(UTC), usegmt=True)


def preflight(request: Request) -> Response | None:
    """The answer to a browser that asks whether it may send a request from another origin; `None` for any other."""
    wanted = request.header("Access-Control-Request-Method")
    if request.method != "OPTIONS" or wanted is None:
        return None
    allowed = {
        "Access-Control-Allow-Origin": request.header("Origin") or "*",
        "Access-Control-Allow-Methods": "GET,POST,PUT,DELETE,OPTIONS,PATCH,HEAD",
        "Access-Control-Allow-Headers": request.header("Access-Control-Request-Headers") or "",
        "Vary": "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
    }
    return Response(200, {name: value for name, value in allowed.items() if value})


# ---- what never reaches FHIR: the answers of the web server in front of HAPI


def refused_address(path: str) -> Response | None:
    """The web server's own refusal of an address: too long, or with characters that must be encoded."""
    head = path.partition("?")[0]
    unsafe = len(path) > _LONGEST_ADDRESS or any(c in _UNSAFE or ord(c) < 33 or ord(c) > 126 for c in path)
    if not unsafe and "|" not in head and "%2f" not in head.lower() and "%5c" not in head.lower():
        return None
    return web_server_page(400, "Bad Request")


def web_server_page(status: int, words: str) -> Response:
    """The page that Tomcat shows in HAPI's place."""
    title = f"HTTP Status {status} – {words}"
    page = f'<!doctype html><html lang="en"><head><title>{title}</title></head><body><h1>{title}</h1></body></html>'
    return Response(status, {"Content-Type": "text/html;charset=utf-8", "Content-Language": "en"}, page.encode())
