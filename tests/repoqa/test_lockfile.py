"""`repos.lock`: the file that comes with Readback, and what is refused in one's own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from repoqa.lockfile import LockError, default_lock_path, read_lock

ONE = """
format = "readback.repos/1"
[[repository]]
name = "mine"
licence = "MIT"
bucket = "low"
popularity = { figure = "none", source = "nobody", date = "2026-11" }
released = "2026-11-01"
first_released = "2026-11-01"
sdist = { name = "mine", version = "1.0", sha256 = "%s" }
""" % ("a" * 64)


def test_the_file_that_comes_with_readback_spans_the_buckets() -> None:
    lock = read_lock(default_lock_path())
    assert Counter(pin.bucket for pin in lock.repositories) == {"high": 5, "mid": 3, "low": 8}
    unknown = [pin for pin in lock.repositories if pin.unknown]
    assert len(unknown) >= 4
    assert all(pin.first_released.startswith("2026") and pin.bucket == "low" for pin in unknown)
    assert all(pin.sdist is not None or pin.git is not None for pin in lock.repositories)
    assert all(pin.popularity.source and pin.popularity.date for pin in lock.repositories)


def test_the_file_names_no_address() -> None:
    assert "://" not in default_lock_path().read_text()


def test_a_git_source_is_a_source(tmp_path: Path) -> None:
    text = ONE.replace(
        f'sdist = {{ name = "mine", version = "1.0", sha256 = "{"a" * 64}" }}',
        f'git = {{ url = "/somewhere/mine.git", commit = "{"b" * 40}" }}',
    )
    (tmp_path / "l").write_text(text)
    pin = read_lock(tmp_path / "l").repositories[0]
    assert pin.git is not None and pin.version == "b" * 12


def test_the_digest_is_of_what_is_pinned_and_not_of_how_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(ONE)
    (tmp_path / "b").write_text(ONE + "\n# a remark\n")
    (tmp_path / "c").write_text(ONE.replace("a" * 64, "c" * 64))
    a, b, c = (read_lock(tmp_path / name).digest for name in "abc")
    assert a == b != c


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('format = "readback.repos/1"', 'format = "readback.repos/9"', "has the format 'readback.repos/9'"),
        ('name = "mine"\nlicence', 'name = "../mine"\nlicence', "name is '../mine'"),
        ("a" * 64, "a" * 63, "sdist.sha256 is"),
        ('bucket = "low"', 'bukket = "low"', "has 'bukket', which is no key"),
        ('bucket = "low"\n', "", "has no bucket;"),
        ('bucket = "low"', 'bucket = "low"\nunknown = "no"', "unknown is 'no'"),
        ("sdist =", "sdost =", "has 'sdost', which is no key"),
        ("sdist = {", "# {", "a repository has one source"),
        ('licence = "MIT"', 'licence = "MIT"\nshipped = true', "only Readback's own repository is"),
        ('date = "2026-11"', 'date = "soon"', "popularity.date is 'soon'"),
        ("[[repository]]", "[repository", "is no TOML"),
        ("[[repository]]", "x = " + "[" * 5000, "is no TOML"),
        ("[[repository]]", "x = " + "9" * 5000, "is no TOML"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    (tmp_path / "mine.lock").write_text(ONE.replace(old, new, 1))
    with pytest.raises(LockError) as caught:
        read_lock(tmp_path / "mine.lock")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_text_is_no_lock_file(tmp_path: Path) -> None:
    (tmp_path / "mine.lock").write_bytes(ONE.encode() + b"# \xff\n")
    with pytest.raises(LockError, match="is no UTF-8 text; save it as such"):
        read_lock(tmp_path / "mine.lock")


def test_a_name_is_pinned_once(tmp_path: Path) -> None:
    twice = (
        ONE
        + ONE.partition("[[repository]]")[1]
        + ONE.partition("[[repository]]")[2].replace("mine", "Mi.ne".lower(), 1)
    )
    (tmp_path / "l").write_text(twice.replace('name = "mi.ne"', 'name = "mine"'))
    with pytest.raises(LockError, match="pins 'mine' twice"):
        read_lock(tmp_path / "l")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LockError, match="cannot be read: No such file"):
        read_lock(tmp_path / "none.lock")
