"""A report read as a browser reads it: elements, attributes, text; enough to see what untrusted text has become."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

VOID = frozenset({"meta", "br", "hr", "img", "link", "input", "path"})
OPTIONAL_END = frozenset({"td", "th"})


@dataclass
class Page(HTMLParser):
    """The page's elements in order, its ids and links, and all text; `problems` are tags that do not match."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: str = ""
    problems: list[str] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        HTMLParser.__init__(self, convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in OPTIONAL_END and self._open and self._open[-1] in OPTIONAL_END:
            self._open.pop()
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open[-1] in OPTIONAL_END and tag != self._open[-1]:
            self._open.pop()
        if not self._open or self._open[-1] != tag:
            self.problems.append(f"</{tag}> closes {self._open[-3:]}")
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.elements if "id" in attributes]

    @property
    def links(self) -> list[str]:
        return [attributes["href"] or "" for tag, attributes in self.elements if tag == "a"]

    def count(self, tag: str, css: str | None = None) -> int:
        return sum(t == tag and (css is None or css in (a.get("class") or "").split()) for t, a in self.elements)


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text())
    page.close()
    page.problems += [f"<{tag}> is never closed" for tag in page._open]
    return page
