"""The narrative of a resource: well-formed XHTML with `div` outside, or refused as HAPI refuses it (HAPI-1755).

What is well-formed is kept as it was sent, byte for byte; only the namespace is added where it is missing, and plain
text is put into a `div`. Nothing is cleaned: a `<script>` stays, as on a HAPI server, and whoever shows it must escape.
"""

from __future__ import annotations

import html
import re
from xml.parsers import expat

from ehr.sandbox.outcome import not_parsed

NAMESPACE = "http://www.w3.org/1999/xhtml"
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]*);")
_XML_ENTITIES = frozenset({"amp", "lt", "gt", "quot", "apos"})
_OPENING = re.compile(r"<div(?=[\s/>])")


def narrative(text: str) -> str:
    """The narrative to store. Raises `RefusedError` where it is not well-formed or no `div`."""
    div = text.strip()
    if not div.startswith("<"):
        div = f'<div xmlns="{NAMESPACE}">{html.escape(div, quote=False) if "<" in div else div}</div>'
    div = _ENTITY.sub(_character, div)
    if _OPENING.match(div) and "xmlns" not in div[: div.find(">")]:
        div = f'<div xmlns="{NAMESPACE}"' + div[len("<div") :]
    root = _root(div)
    if root not in ("div", f"{NAMESPACE} div"):
        raise _not_xhtml(f"the outer element is {root!r}, not 'div'", div)
    return div


def _character(found: re.Match[str]) -> str:
    """An HTML entity as its character; XML's own five stay."""
    name = found.group(1)
    return found.group() if name in _XML_ENTITIES else html.unescape(found.group())


def _root(div: str) -> str:
    """The name of the outer element. Raises where the text is not well-formed; a document type is never read."""
    names: list[str] = []
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = lambda name, attributes: names.append(name) if not names else None

    def no_document_type(*_: object) -> None:
        raise _not_xhtml("a document type is not allowed", div)

    parser.StartDoctypeDeclHandler = no_document_type
    try:
        parser.Parse(div.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise _not_xhtml(str(error), div) from None
    return names[0]


def _not_xhtml(reason: str, div: str) -> Exception:
    return not_parsed(f'HAPI-1755: String does not appear to be valid XML/XHTML (error is "{reason}"): {div[:1000]}')
