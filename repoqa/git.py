"""One commit of a git repository, file by file, without ever checking it out.

git verifies the commit and everything below it by their hashes. The files are read as the blobs that they are: no hook,
filter, attribute or submodule of the repository has a say, and nothing of it is run. Who may fetch is git's own affair:
a private repository needs what `git fetch` needs.
"""

from __future__ import annotations

import io
import os
import posixpath
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from repoqa.lockfile import Git
from repoqa.unpack import MAX_FILE, MAX_TOTAL, Entry, UnpackError

_SECONDS = 600.0
_PROTOCOLS = "https:ssh:file:http"


class GitError(Exception):
    """git could not give the commit. One clear sentence."""


def git_entries(source: Git, what: str) -> Iterator[Entry]:
    """The files of the commit. Raises `GitError`, `UnpackError`."""
    if source.url.startswith("-") or "::" in source.url:
        raise GitError(f"{what}: {source.url!r} is no URL of a repository; write https://..., ssh://... or a path")
    with tempfile.TemporaryDirectory(prefix="readback-git-") as folder:
        store = Path(folder)
        _git(store, ["init", "--quiet", "--bare", "."], what)
        _git(store, ["fetch", "--quiet", "--depth", "1", "--no-tags", "--", source.url, source.commit], what)
        listing = _git(store, ["ls-tree", "-r", "-z", "--full-tree", "-l", source.commit], what)
        yield from _entries(store, listing, what)


def _entries(store: Path, listing: bytes, what: str) -> Iterator[Entry]:
    room = MAX_TOTAL
    for line in listing.split(b"\0"):
        if not line:
            continue
        head, _, name = line.partition(b"\t")
        mode, kind, blob, size = head.decode().split()
        path = name.decode("utf-8", "surrogateescape")
        if kind != "blob":
            continue  # a submodule: another repository
        length = int(size)
        room -= length
        if room < 0 or length > MAX_FILE:
            raise UnpackError(f"{what} holds more than {MAX_TOTAL:,} bytes, or a file over {MAX_FILE:,}; it is refused")
        data = _git(store, ["cat-file", "blob", blob], what)
        if mode == "120000":
            target = posixpath.join(posixpath.dirname(path), data.decode("utf-8", "surrogateescape"))
            yield Entry(path, "link", target=target)
        else:
            yield Entry(path, "file", length, content=io.BytesIO(data))


def _git(store: Path, arguments: Sequence[str], what: str) -> bytes:
    environment = {
        **os.environ,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
        "GIT_LFS_SKIP_SMUDGE": "1",
    }
    try:
        done = subprocess.run(
            ["git", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", *arguments],
            cwd=store, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        raise GitError(f"{what}: there is no git on this machine; install it, or pin a source distribution") from None
    except subprocess.TimeoutExpired:
        raise GitError(f"{what}: git did not end within {_SECONDS:.0f} s; try again") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        # The reason comes first; what git says last is advice of several lines.
        why = next((line for line in said if line.startswith(("fatal:", "error:"))), said[-1] if said else "")
        raise GitError(f"{what}: git {arguments[0]} failed ({why or done.returncode}); check url and commit")
    return done.stdout
