"""Small repositories for tests, made of texts; and archives and an index to fetch them from."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from repoqa.fetch import Repository
from repoqa.layout import Layout
from repoqa.lockfile import Pin, Popularity, Sdist
from repoqa.symbols import Index

POPULARITY = Popularity(figure="rank 1", source="a list", date="2026-11")


def written(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """The files below a folder."""
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def index_of(files: Mapping[str, str | bytes]) -> Index:
    """The index of a tree that is only in memory."""
    return Index(Layout({path: text.encode() if isinstance(text, str) else text for path, text in files.items()}))


def repository_of(root: Path, name: str, *, sha256: str = "0" * 64, bucket: str = "low") -> Repository:
    """A folder as a pinned repository."""
    return Repository(pin_of(name, sha256=sha256, bucket=bucket), root)


def pin_of(name: str, *, version: str = "1.0", sha256: str = "0" * 64, bucket: str = "low") -> Pin:
    """A pin of a source distribution."""
    return Pin(
        name=name,
        licence="MIT",
        bucket=bucket,
        popularity=POPULARITY,
        released="2026-11-01",
        first_released="2026-10-01",
        sdist=Sdist(name=name, version=version, sha256=sha256),
    )


def archive(members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """A `.tar.gz` of these members, the same bytes each time."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), mtime=0)


def member(
    name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, target: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    """One member."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, content


def sdist_of(name: str, files: Mapping[str, str], version: str = "1.0") -> tuple[bytes, str]:
    """A source distribution of these files, and its SHA-256."""
    data = archive(member(f"{name}-{version}/{path}", text.encode()) for path, text in files.items())
    return data, hashlib.sha256(data).hexdigest()
