"""Bringing repositories here: over real HTTP on loopback, from a folder, from git; verified, or refused and gone."""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests

from repoqa.fetch import FetchError, fetch, place_of, present, present_all, shipped_repository, sync, verify
from repoqa.git import GitError
from repoqa.index import IndexSettings, PackageIndexError, find_sdist, pip_settings, without_secrets
from repoqa.lockfile import Git, Lock, Pin, Sdist
from tests.repoqa.trees import POPULARITY, pin_of, sdist_of

FILES = {"src/mine/__init__.py": "class Kettle:\n    pass\n", "README.md": "hello\n"}


@contextmanager
def index(pages: dict[str, tuple[str, bytes]]) -> Iterator[tuple[str, list[str]]]:
    """A server that answers with these pages: path -> content type and body. Also what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            kind, body = pages.get(self.path, ("", b""))
            self.send_response(200 if kind else 404)
            self.send_header("Content-Type", kind or "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/simple", asked
        server.shutdown()
        thread.join()


def pages_of(
    data: bytes, name: str = "mine", version: str = "1.0", *, html: bool = False
) -> dict[str, tuple[str, bytes]]:
    file = f"{name}-{version}.tar.gz"
    if html:
        page = f'<html><body><a href="../../files/{file}#sha256=0">{file}</a><a href="x.whl">x</a></body></html>'
        listing = ("text/html", page.encode())
    else:
        files = [{"filename": "mine-0.9.tar.gz", "url": "nowhere"}, {"filename": file, "url": f"/files/{file}"}]
        listing = ("application/vnd.pypi.simple.v1+json", json.dumps({"files": files}).encode())
    return {f"/simple/{name}/": listing, f"/files/{file}": ("application/gzip", data)}


@pytest.mark.parametrize("html", [False, True])
def test_a_source_distribution_is_found_verified_and_unpacked(tmp_path: Path, html: bool) -> None:
    data, sha256 = sdist_of("mine", FILES)
    pin = pin_of("mine", sha256=sha256)
    with index(pages_of(data, html=html)) as (url, asked):
        fetch(pin, tmp_path, IndexSettings((url,)), requests.Session())
    repository = present(pin, tmp_path)
    assert repository is not None
    assert (repository.root / "src/mine/__init__.py").read_text() == FILES["src/mine/__init__.py"]
    assert asked == ["/simple/mine/", "/files/mine-1.0.tar.gz"]
    assert verify(pin, tmp_path) is None


def test_an_archive_with_another_hash_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    data, _ = sdist_of("mine", FILES)
    pin = pin_of("mine", sha256="f" * 64)
    with index(pages_of(data)) as (url, _), pytest.raises(FetchError) as caught:
        fetch(pin, tmp_path, IndexSettings((url,)), requests.Session())
    found = hashlib.sha256(data).hexdigest()
    assert f"has the sha256 {found}, not {'f' * 64} as pinned: it is refused" in str(caught.value)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert present(pin, tmp_path) is None


def test_the_second_index_is_asked_where_the_first_has_nothing(tmp_path: Path) -> None:
    data, sha256 = sdist_of("mine", FILES)
    with index({}) as (empty, _), index(pages_of(data)) as (full, _):
        fetch(pin_of("mine", sha256=sha256), tmp_path, IndexSettings((empty, full)), requests.Session())
    assert present(pin_of("mine", sha256=sha256), tmp_path)


def test_a_folder_of_archives_is_asked_before_any_index(tmp_path: Path) -> None:
    data, sha256 = sdist_of("mine", FILES)
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "mine-1.0.tar.gz").write_bytes(data)
    settings = IndexSettings((), (tmp_path / "wheels",))
    fetch(pin_of("mine", sha256=sha256), tmp_path / "cache", settings, requests.Session())
    assert present(pin_of("mine", sha256=sha256), tmp_path / "cache")


def test_what_no_index_has_is_one_sentence_without_a_password(tmp_path: Path) -> None:
    with index({}) as (url, _), pytest.raises(PackageIndexError) as caught:
        secret = url.replace("http://", "http://me:secret@")
        find_sdist(Sdist(name="mine", version="1.0", sha256="0" * 64), IndexSettings((secret,)), requests.Session())
    assert "mine 1.0 was not found" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert without_secrets("https://me:secret@host/simple?token=1#x") == "https://host/simple"


def test_an_index_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    pin = pin_of("mine")
    (done,) = sync(Lock(repositories=(pin,)), tmp_path, settings=IndexSettings(("http://127.0.0.1:9/simple",)))
    assert done.problem is not None and "cannot be reached" in done.problem
    assert "Traceback" not in done.problem and "\n" not in done.problem


def test_sync_brings_what_can_be_brought_and_says_the_rest(tmp_path: Path) -> None:
    data, sha256 = sdist_of("mine", FILES)
    lock = Lock(repositories=(pin_of("other"), pin_of("mine", sha256=sha256)))
    stages: list[tuple[str, int, int | None]] = []
    with index(pages_of(data)) as (url, asked):
        settings = IndexSettings((url,))
        first = sync(lock, tmp_path, settings=settings, progress=lambda *at: stages.append(at))
        again = sync(lock, tmp_path, settings=settings)
    assert [(one.pin.name, one.new, one.problem is None) for one in first] == [
        ("other", False, False),
        ("mine", True, True),
    ]
    assert [one.new for one in again] == [False, False]
    assert asked.count("/files/mine-1.0.tar.gz") == 1
    assert stages[-1] == ("fetching repositories", 2, 2)
    here, missing = present_all(lock, tmp_path)
    assert [one.name for one in here] == ["mine"] and [pin.name for pin in missing] == ["other"]


@pytest.mark.parametrize("what", ["changed", "added", "removed", "archive"])
def test_verify_sees_any_difference(tmp_path: Path, what: str) -> None:
    data, sha256 = sdist_of("mine", FILES)
    pin = pin_of("mine", sha256=sha256)
    with index(pages_of(data)) as (url, _):
        fetch(pin, tmp_path, IndexSettings((url,)), requests.Session())
    tree = place_of(pin, tmp_path) / "tree"
    if what == "changed":
        (tree / "README.md").write_text("hallo\n")
    elif what == "added":
        (tree / "more.py").write_text("")
    elif what == "removed":
        (tree / "README.md").unlink()
    else:
        (place_of(pin, tmp_path) / "archive.tar.gz").write_bytes(b"x")
    why = verify(pin, tmp_path)
    assert why is not None and "readback repos sync --again" in why


def test_what_is_not_here_is_not_as_pinned(tmp_path: Path) -> None:
    assert verify(pin_of("mine"), tmp_path) == "it is not here; bring it by readback repos sync"


def test_pip_says_which_index_in_whatever_place_it_was_set() -> None:
    listed = (
        "global.index-url='https://global/simple'\ndownload.index-url='https://download/simple'\n"
        ":env:.extra-index-url='https://one/simple https://two/simple'\n:env:.cert='/c.pem'\n"
    )
    settings = pip_settings(lambda arguments: listed if "config" in arguments else None)
    assert settings.urls == ("https://download/simple", "https://one/simple", "https://two/simple")
    assert settings.cert == "/c.pem"


def test_without_a_setting_pips_own_index_is_asked() -> None:
    settings = pip_settings(lambda arguments: "" if "config" in arguments else "https://pips-own/simple\n")
    assert settings.urls == ("https://pips-own/simple",)


def test_no_index_means_none(tmp_path: Path) -> None:
    listed = f":env:.no-index='1'\n:env:.find-links='{tmp_path}'\n"
    settings = pip_settings(lambda arguments: listed if "config" in arguments else "https://pips-own/simple")
    assert settings.urls == () and settings.folders == (tmp_path,)


def test_without_pip_the_environment_must_say_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    with pytest.raises(PackageIndexError, match="set it to the index that you use"):
        pip_settings(lambda arguments: None)
    monkeypatch.setenv("PIP_INDEX_URL", "https://mine/simple")
    assert pip_settings(lambda arguments: None).urls == ("https://mine/simple",)


def git_pin(url: str, commit: str) -> Pin:
    return Pin(
        name="gitty", licence="MIT", bucket="low", popularity=POPULARITY, released="2026-11", first_released="2026-11",
        git=Git(url=url, commit=commit),
    )  # fmt: skip


@pytest.fixture
def upstream(tmp_path: Path) -> tuple[Path, str]:
    """A git repository with one commit, and the commit."""
    place = tmp_path / "upstream"
    place.mkdir()

    def git(*arguments: str) -> str:
        names = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *names, *arguments], cwd=place, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "--quiet")
    (place / "a.py").write_text("class Kettle: ...\n")
    (place / ".gitattributes").write_text("a.py export-ignore\n")
    (place / "link").symlink_to("a.py")
    git("add", ".")
    git("commit", "--quiet", "-m", "one")
    commit = git("rev-parse", "HEAD")
    (place / "a.py").write_text("class Other: ...\n")
    git("commit", "--quiet", "-am", "two")
    return place, commit


def test_the_commit_of_a_git_repository_is_brought_file_by_file(tmp_path: Path, upstream: tuple[Path, str]) -> None:
    place, commit = upstream
    pin = git_pin(str(place), commit)
    done = fetch(pin, tmp_path / "cache")
    repository = present(pin, tmp_path / "cache")
    assert repository is not None
    assert (repository.root / "a.py").read_text() == "class Kettle: ...\n"
    assert done.links == ("link",) and not (repository.root / "link").exists()
    assert not (repository.root / ".git").exists()
    assert verify(pin, tmp_path / "cache") is None


@pytest.mark.parametrize(
    ("commit", "url"), [("0" * 40, None), (None, "nowhere"), (None, "--upload-pack=touch x"), (None, "ext::sh -c x")]
)
def test_a_commit_that_is_not_there_or_an_address_that_is_a_command(
    tmp_path: Path, upstream: tuple[Path, str], commit: str | None, url: str | None
) -> None:
    pin = git_pin(url or str(upstream[0]), commit or upstream[1])
    with pytest.raises(GitError) as caught:
        fetch(pin, tmp_path / "cache")
    assert "\n" not in str(caught.value)
    assert "and the repository exists" not in str(caught.value), "advice, and no reason"
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_the_repository_that_comes_with_readback_is_always_here(tmp_path: Path) -> None:
    repository = shipped_repository()
    assert present(repository.pin, tmp_path) == repository
    assert (repository.root / "pyproject.toml").is_file()
