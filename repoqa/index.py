"""Which package index this machine is set to, and where it has a source distribution.

Readback names no index of its own: it asks pip, so that a mirror, a private index or an offline folder that pip is set
to (`PIP_INDEX_URL`, `PIP_EXTRA_INDEX_URL`, `PIP_FIND_LINKS`, `PIP_NO_INDEX`, `PIP_CERT`, `PIP_PROXY`, pip.conf) is
used here too. The index is read through the Simple API, as JSON or as HTML (PEP 503, PEP 691). pip itself is not used
to download: to get at a source distribution it would run the code in it.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit
from urllib.request import url2pathname

if TYPE_CHECKING:
    import requests

    from repoqa.lockfile import Sdist

MAX_PAGE = 64 * 2**20
_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"  # PEP 691
_SECONDS = 60.0

_DEFAULT = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"


class PackageIndexError(Exception):
    """The package index cannot say where something is. One clear sentence."""


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """What pip is set to. `urls` in the order in which they are asked; `folders` are asked first."""

    urls: tuple[str, ...]
    folders: tuple[Path, ...] = ()
    cert: str | None = None
    proxy: str | None = None


def pip_settings(run: Callable[[Sequence[str]], str | None] | None = None) -> IndexSettings:
    """What pip on this machine is set to. `run` runs Python with arguments and gives its output, None if it fails.

    Raises `PackageIndexError` where there is no index to ask.
    """
    run = run or _run_python
    listed = run(["-m", "pip", "config", "list"])
    settings = _parsed(listed) if listed is not None else _of_environment(os.environ)
    folders = tuple(path for text in settings.get("find-links", "").split() if (path := _folder(text)) is not None)
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on", "y", "t"):
        return IndexSettings((), folders)
    first = settings.get("index-url") or (run(["-c", _DEFAULT]) or "").strip()
    if not first:
        raise PackageIndexError(
            "no package index is known: pip is not in this environment and PIP_INDEX_URL is not set; set it to the"
            " index that you use"
        )
    urls = (first, *settings.get("extra-index-url", "").split())
    return IndexSettings(urls, folders, settings.get("cert"), settings.get("proxy"))


def without_secrets(url: str) -> str:
    """A URL as it may be shown: without user, password, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def find_sdist(sdist: Sdist, settings: IndexSettings, session: requests.Session) -> Path | str:
    """Where this source distribution is: a file, or a URL. Raises `PackageIndexError`."""
    for folder in settings.folders:
        for file in sorted(folder.iterdir()):
            if _is_sdist(file.name, sdist) and file.is_file():
                return file
    said = []
    for index in settings.urls:
        page = urljoin(index.rstrip("/") + "/", f"{_normal(sdist.name)}/")
        try:
            links = _links(page, session)
        except PackageIndexError as problem:
            said.append(str(problem))
            continue
        for name, url in links:
            if _is_sdist(name, sdist):
                return url
        said.append(f"{without_secrets(index)} has no {sdist.name} {sdist.version} as a .tar.gz")
    if not said:
        said.append("pip is set to use no index, and no folder it is set to has it")
    raise PackageIndexError(f"{sdist.name} {sdist.version} was not found: {'; '.join(said)}")


def _run_python(arguments: Sequence[str]) -> str | None:
    try:
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _parsed(listed: str) -> dict[str, str]:
    """pip's settings: those of `[global]`, then those for downloading, then those of the environment."""
    by_section: dict[str, dict[str, str]] = {}
    for line in listed.splitlines():
        key, equals, shown = line.partition("=")
        section, dot, name = key.strip().rpartition(".")
        if not equals or not dot:
            continue
        try:
            value = ast.literal_eval(shown)
        except (ValueError, SyntaxError):
            continue
        by_section.setdefault(section, {})[name] = str(value)
    return {**by_section.get("global", {}), **by_section.get("download", {}), **by_section.get(":env:", {})}


def _of_environment(environment: Mapping[str, str]) -> dict[str, str]:
    names = ("index-url", "extra-index-url", "find-links", "no-index", "cert", "proxy")
    found = {name: environment.get(f"PIP_{name.upper().replace('-', '_')}", "") for name in names}
    return {name: value for name, value in found.items() if value}


def _folder(text: str) -> Path | None:
    """A folder of archives; what pip could also take, a page of links, is left out."""
    path = Path(url2pathname(urlsplit(text).path)) if text.startswith("file:") else Path(text)
    return path if "://" not in str(path) and path.is_dir() else None


def _links(page: str, session: requests.Session) -> list[tuple[str, str]]:
    """The files that an index has of one project: name and URL."""
    import requests

    shown = without_secrets(page)
    try:
        with session.get(page, headers={"Accept": _ACCEPT}, timeout=_SECONDS, stream=True) as response:
            if response.status_code == 404:
                return []
            if response.status_code != 200:
                raise PackageIndexError(f"{shown} answered {response.status_code}")
            body = response.raw.read(MAX_PAGE + 1, decode_content=True)
            base, kind = response.url, response.headers.get("Content-Type", "")
    except (requests.RequestException, OSError, ValueError) as problem:
        raise PackageIndexError(f"{shown} cannot be reached ({_reason(problem)})") from None
    if len(body) > MAX_PAGE:
        raise PackageIndexError(f"{shown} answered with more than {MAX_PAGE:,} bytes")
    return _json_links(body, base, shown) if "json" in kind else _html_links(body, base)


def _json_links(body: bytes, base: str, shown: str) -> list[tuple[str, str]]:
    import json

    try:
        files: Any = json.loads(body)["files"]
        return [(str(file["filename"]), urljoin(base, str(file["url"]))) for file in files]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise PackageIndexError(f"{shown} answered with JSON that is not the Simple API's") from None


def _html_links(body: bytes, base: str) -> list[tuple[str, str]]:
    reader = _Anchors()
    reader.feed(body.decode("utf-8", "replace"))
    urls = [urljoin(base, href) for href in reader.found]
    return [(unquote(urlsplit(url).path.rpartition("/")[2]), url) for url in urls]


class _Anchors(HTMLParser):
    """The links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found += [value for name, value in attrs if name == "href" and value]


def _is_sdist(file: str, sdist: Sdist) -> bool:
    if not file.endswith(".tar.gz"):
        return False
    name, dash, version = file.removesuffix(".tar.gz").rpartition("-")
    return bool(dash) and _normal(name) == _normal(sdist.name) and version == sdist.version


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()  # PEP 503


def _reason(problem: BaseException) -> str:
    """The kind of a network's failure; the text of some would show the URL with its password."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", type(problem).__name__).lower()
