"""Brings the pinned repositories into the cache folder, verified, and finds them there again.

Below the cache folder each repository has one folder, named by its source: `archive.tar.gz` as it came (not for git),
`tree/` with its files, and `manifest.json`, written last: without it there is no repository. What does not have the
pinned hash is refused and deleted.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repoqa.git import GitError, git_entries
from repoqa.index import IndexSettings, PackageIndexError, find_sdist, pip_settings, without_secrets
from repoqa.lockfile import Lock, Pin
from repoqa.shipped import SHIPPED, shipped_root
from repoqa.unpack import Unpacked, UnpackError, archive_entries, unpack

if TYPE_CHECKING:
    import requests

MAX_ARCHIVE = 64 * 2**20
MANIFEST = "readback.repository/1"
_BLOCK = 1 << 16
_SECONDS = 60.0

Progress = Callable[[str, int, int | None], None]


class FetchError(Exception):
    """A repository that could not be brought here, or is not what it was. One clear sentence."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A pinned repository that is here: its pin, and the folder with its files."""

    pin: Pin
    root: Path

    @property
    def name(self) -> str:
        """Its name."""
        return self.pin.name


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of one repository: `new` where it was brought just now, `problem` where it could not be."""

    pin: Pin
    new: bool = False
    size: int = 0
    problem: str | None = None


def place_of(pin: Pin, cache: Path) -> Path:
    """The folder of this repository below the cache folder."""
    return cache / "repositories" / f"{pin.name}-{pin.digest.removeprefix('sha256:')[:16]}"


def present(pin: Pin, cache: Path) -> Repository | None:
    """The repository, where it is here."""
    if pin.shipped:
        return Repository(pin, shipped_root())
    place = place_of(pin, cache)
    return Repository(pin, place / "tree") if _manifest(place) is not None else None


def present_all(lock: Lock, cache: Path) -> tuple[list[Repository], list[Pin]]:
    """The repositories of a lock that are here, and the pins of those that are not."""
    found = [(pin, present(pin, cache)) for pin in lock.repositories]
    return [one for _, one in found if one is not None], [pin for pin, one in found if one is None]


def shipped_repository() -> Repository:
    """The small repository that comes with Readback."""
    return Repository(SHIPPED, shipped_root())


def sync(
    lock: Lock,
    cache: Path,
    *,
    settings: IndexSettings | None = None,
    session: requests.Session | None = None,
    progress: Progress = lambda stage, done, of: None,
) -> list[Fetched]:
    """Bring every repository that is not here yet. What fails does not keep the others from coming."""
    done: list[Fetched] = []
    for number, pin in enumerate(lock.repositories):
        progress("fetching repositories", number, len(lock.repositories))
        if present(pin, cache) is not None:
            done.append(Fetched(pin))
            continue
        try:
            if pin.sdist is not None and settings is None:
                settings = pip_settings()
            if pin.sdist is not None and session is None:
                session = _session(settings)
            done.append(Fetched(pin, new=True, size=fetch(pin, cache, settings, session).size))
        except (FetchError, UnpackError, GitError, PackageIndexError) as problem:
            done.append(Fetched(pin, problem=str(problem)))
    progress("fetching repositories", len(lock.repositories), len(lock.repositories))
    return done


def fetch(
    pin: Pin, cache: Path, settings: IndexSettings | None = None, session: requests.Session | None = None
) -> Unpacked:
    """Bring one repository.

    Raises `FetchError`, `UnpackError`, `GitError`, `PackageIndexError`; then nothing is left.
    """
    place = place_of(pin, cache)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{pin.name}.", dir=place.parent) as folder:
            part = Path(folder) / "repository"
            part.mkdir()
            unpacked = _bring(pin, part, settings, session)
            (part / "manifest.json").write_text(json.dumps(_described(pin, part / "tree", unpacked)))
            shutil.rmtree(place, ignore_errors=True)
            part.replace(place)
    except OSError as problem:
        raise FetchError(
            f"{pin.name} cannot be kept in {str(place.parent)!r} ({problem.strerror}); set XDG_CACHE_HOME to a folder"
            " that can be written"
        ) from None
    return unpacked


def verify(pin: Pin, cache: Path) -> str | None:
    """Why the repository here is not what was pinned; None where it is. Reads every byte of it.

    An archive must have the pinned hash and hold just the files of the tree; of a git commit the tree must be as it
    was fetched.
    """
    if pin.shipped:
        return None
    place = place_of(pin, cache)
    manifest = _manifest(place)
    if manifest is None:
        return "it is not here; bring it by readback repos sync"
    tree = tree_digest(place / "tree")
    again = "bring it again by readback repos sync --again"
    if tree != manifest["tree"]:
        return f"its files are not what was unpacked; {again}"
    if pin.sdist is None:
        return None
    archive = place / "archive.tar.gz"
    if not archive.is_file() or _sha256(archive) != pin.sdist.sha256:
        return f"its archive does not have the pinned sha256; {again}"
    with tempfile.TemporaryDirectory(prefix="readback-verify-") as folder:
        try:
            unpack(archive_entries(archive, pin.name), Path(folder) / "tree", pin.name)
        except UnpackError as problem:
            return str(problem)
        same = tree_digest(Path(folder) / "tree") == tree
    return None if same else f"its files are not those of its archive; {again}"


def forget(pin: Pin, cache: Path) -> None:
    """Delete the repository, and what was made of it, from the cache."""
    shutil.rmtree(place_of(pin, cache), ignore_errors=True)


def tree_digest(root: Path) -> str:
    """The digest of a folder: every file's path and bytes, in the order of the paths."""
    total = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.is_file() or path.is_symlink()):
        content = b"link" if path.is_symlink() else path.read_bytes()
        total.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
        total.update(content)
    return f"sha256:{total.hexdigest()}"


def _bring(pin: Pin, part: Path, settings: IndexSettings | None, session: requests.Session | None) -> Unpacked:
    if pin.git is not None:
        return unpack(git_entries(pin.git, pin.name), part / "tree", pin.name)
    if pin.sdist is None or settings is None or session is None:
        raise FetchError(f"{pin.name} has no source that could be fetched")
    archive = part / "archive.tar.gz"
    where = find_sdist(pin.sdist, settings, session)
    if isinstance(where, Path):
        shutil.copyfile(where, archive)
        shown = str(where)
    else:
        _download(where, archive, session, pin.name)
        shown = without_secrets(where)
    found = _sha256(archive)
    if found != pin.sdist.sha256:
        raise FetchError(
            f"{pin.name} at {shown} has the sha256 {found}, not {pin.sdist.sha256} as pinned: it is refused, and"
            " nothing of it is kept"
        )
    return unpack(archive_entries(archive, pin.name), part / "tree", pin.name)


def _download(url: str, archive: Path, session: requests.Session, name: str) -> None:
    import requests

    shown, written = without_secrets(url), 0
    if not url.startswith(("https://", "http://")):
        raise FetchError(f"{name} is said to be at {shown}, which is no http address; it is refused")
    try:
        with session.get(url, stream=True, timeout=_SECONDS) as response, archive.open("wb") as file:
            if response.status_code != 200:
                raise FetchError(f"{name} at {shown}: the server answered {response.status_code}; try again later")
            # Raw: an archive that is said to be encoded is still to have the hash of its own bytes.
            while block := response.raw.read(_BLOCK):
                written += len(block)
                if written > MAX_ARCHIVE:
                    raise FetchError(f"{name} at {shown} is larger than {MAX_ARCHIVE:,} bytes; it is refused")
                file.write(block)
    except requests.RequestException as problem:
        raise FetchError(f"{name} at {shown} cannot be fetched ({type(problem).__name__}); try again") from None


def _session(settings: IndexSettings | None) -> requests.Session:
    import requests

    session = requests.Session()
    if settings is not None and settings.cert:
        session.verify = settings.cert
    if settings is not None and settings.proxy:
        session.proxies = {"http": settings.proxy, "https": settings.proxy}
    return session


def _described(pin: Pin, tree: Path, unpacked: Unpacked) -> dict[str, Any]:
    return {
        "format": MANIFEST,
        "name": pin.name,
        "source": pin.digest,
        "tree": tree_digest(tree),
        "files": unpacked.files,
        "bytes": unpacked.size,
        "links_left_out": list(unpacked.links),
    }


def _manifest(place: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((place / "manifest.json").read_text())
    except (OSError, ValueError):
        return None
    is_one = isinstance(found, dict) and found.get("format") == MANIFEST and (place / "tree").is_dir()
    return found if is_one else None


def size_of(repository: Repository) -> tuple[int, int]:
    """How many files it has, and of how many bytes."""
    files = [path for path in repository.root.rglob("*") if path.is_file()]
    return len(files), sum(path.stat().st_size for path in files)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
