"""Archives of strangers: what is taken, what is refused, and that nothing is left behind."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
from pathlib import Path

import pytest

from repoqa import unpack as module
from repoqa.unpack import Entry, UnpackError, archive_entries, unpack
from tests.repoqa.trees import archive, member


def unpacked(tmp_path: Path, data: bytes) -> Path:
    (tmp_path / "a.tar.gz").write_bytes(data)
    unpack(archive_entries(tmp_path / "a.tar.gz", "the archive"), tmp_path / "tree", "the archive")
    return tmp_path / "tree"


def refused(tmp_path: Path, data: bytes) -> str:
    (tmp_path / "a.tar.gz").write_bytes(data)
    with pytest.raises(UnpackError) as caught:
        unpack(archive_entries(tmp_path / "a.tar.gz", "the archive"), tmp_path / "tree", "the archive")
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar.gz"], "something was left behind"
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_one_folder_of_a_source_distribution_is_the_top(tmp_path: Path) -> None:
    root = unpacked(
        tmp_path, archive([member("p-1.0/src/p/__init__.py", b"x = 1\n"), member("p-1.0/README", b"hello")])
    )
    assert sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()) == [
        "README",
        "src/p/__init__.py",
    ]
    assert (root / "src/p/__init__.py").read_bytes() == b"x = 1\n"
    assert (root / "README").stat().st_mode & 0o111 == 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/etc/cron.d/x", "absolute path"),
        ("p/../../x", "leads elsewhere"),
        ("..", "leads elsewhere"),
        ("C:/x", "absolute path"),
        ("p\\..\\x", "leads elsewhere"),
        ("p/" + "n" * 300, "cannot be a file's"),
        ("p/" * 600 + "x", "cannot be a file's"),
        ("p/a\nb", "cannot be a file's"),
    ],
)
def test_a_path_that_escapes_is_refused(tmp_path: Path, name: str, said: str) -> None:
    assert said in refused(tmp_path, archive([member("p/good.py", b"1"), member(name, b"bad")]))
    assert not (tmp_path.parent / "x").exists()


@pytest.mark.parametrize("target", ["../../x", "/etc/passwd", "../" * 40 + "x"])
@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_that_points_outside_is_refused(tmp_path: Path, target: str, kind: bytes) -> None:
    said = refused(tmp_path, archive([member("p/good.py", b"1"), member("p/link", kind=kind, target=target)]))
    assert "the link 'p/link', which points outside" in said


def test_a_link_that_points_inside_is_left_out(tmp_path: Path) -> None:
    data = archive([member("p/a.py", b"1"), member("p/docs/b.py", kind=tarfile.SYMTYPE, target="../a.py")])
    root = unpacked(tmp_path, data)
    assert [path.name for path in root.rglob("*") if path.is_file() or path.is_symlink()] == ["a.py"]


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_a_device_is_refused(tmp_path: Path, kind: bytes) -> None:
    said = refused(tmp_path, archive([member("p/a.py", b"1"), member("p/dev", kind=kind)]))
    assert "neither a file nor a folder nor a link" in said


def test_two_files_of_one_path_are_refused(tmp_path: Path) -> None:
    assert "'p/a.py' twice" in refused(tmp_path, archive([member("p/a.py", b"1"), member("p/./a.py", b"2")]))


def test_a_file_that_is_another_ones_folder_is_refused(tmp_path: Path) -> None:
    said = refused(tmp_path, archive([member("p/a", b"1"), member("p/a/b", b"2")]))
    assert "'p/a' as a file and as a folder" in said


def test_a_bomb_of_zeros_is_refused_long_before_it_is_unpacked(tmp_path: Path) -> None:
    info = tarfile.TarInfo("p/zeros")
    info.size = 2**31
    head = info.tobuf()
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=9, mtime=0) as packed:
        packed.write(head)
        block = bytes(2**20)
        for _ in range(40):
            packed.write(block)
    assert "over 33,554,432" in refused(tmp_path, raw.getvalue())


def test_many_small_files_that_unpack_to_too_much_are_refused(tmp_path: Path) -> None:
    data = archive(member(f"p/{number}", bytes(2**20)) for number in range(20))
    assert len(data) < 100_000
    assert "unpacks to more than" in refused(tmp_path, data)


def test_too_many_entries_are_refused(tmp_path: Path) -> None:
    entries = (Entry("p/again", "folder") for _ in range(module.MAX_ENTRIES + 1))
    with pytest.raises(UnpackError, match="more than 20,000 entries"):
        unpack(entries, tmp_path / "tree", "the archive")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cut", [0, 10, 60])
def test_what_is_no_whole_archive_is_refused(tmp_path: Path, cut: int) -> None:
    data = archive([member("p/a.py", b"x" * 1000)])
    assert refused(tmp_path, data[:cut] if cut else b"no archive at all")


def test_an_archive_that_breaks_off_inside_a_file_is_refused(tmp_path: Path) -> None:
    data = archive([member("p/a.py", random.Random(1).randbytes(300_000))])
    assert "no whole .tar.gz archive" in refused(tmp_path, data[: len(data) // 2])
    tar = gzip.decompress(data)
    assert "no whole .tar.gz archive" in refused(tmp_path, gzip.compress(tar[:200_000]))


def test_an_empty_archive_is_refused(tmp_path: Path) -> None:
    assert "holds no file" in refused(tmp_path, archive([]))
