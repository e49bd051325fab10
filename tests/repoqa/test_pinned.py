"""The pinned repositories themselves. What must be fetched is skipped, with the reason, where no index can be reached.

By default three small ones; all of them with READBACK_ALL_REPOSITORIES=1 (`make counterfactuals`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from readback.records import cache_folder
from repoqa.counterfactual import renamed
from repoqa.fetch import Repository, present, sync
from repoqa.layout import Layout
from repoqa.lockfile import Lock, default_lock_path, read_lock
from repoqa.symbols import Index, parse
from tests.repoqa.trees import written

LOCK = read_lock(default_lock_path())
ALL = os.environ.get("READBACK_ALL_REPOSITORIES") == "1"
NAMES = [pin.name for pin in LOCK.repositories] if ALL else ["tinydb", "cassowary", "dedoku"]
SEED = int(os.environ.get("READBACK_SEED", "11"))

# Imports what it is told, one module after the other. Distributions are hidden: one that happens to be installed here
# under the repository's old name is none of the renamed one.
PROGRAM = """
import contextlib, importlib, importlib.metadata, io, json, os, signal, sys, warnings
warnings.simplefilter("ignore")
def gone(name, *more): raise importlib.metadata.PackageNotFoundError(name)
importlib.metadata.version = importlib.metadata.distribution = importlib.metadata.metadata = gone
def late(*more): raise TimeoutError
signal.signal(signal.SIGALRM, late)
root, listing, target = sys.argv[1:]
modules, out = json.load(open(listing)), {}
sys.path[:0] = dict.fromkeys(os.path.join(root, top) for top, _ in modules.values())
for path, (_, name) in modules.items():
    signal.alarm(20)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            found = importlib.import_module(name).__file__
        out[path] = None if os.path.realpath(found) == os.path.realpath(os.path.join(root, path)) else "elsewhere"
    except BaseException as problem:
        out[path] = repr(problem)
json.dump(out, open(target, "w"))
os._exit(0)
"""


def repository_of(name: str) -> Repository:
    pin = LOCK.named(name)
    assert pin is not None
    (done,) = sync(Lock(repositories=(pin,)), cache_folder())
    if done.problem:
        pytest.skip(f"{name} cannot be brought here: {done.problem}")
    repository = present(pin, cache_folder())
    assert repository is not None
    return repository


def imports(root: Path, layout: Layout, scratch: Path) -> dict[str, str | None]:
    """What importing each module raises; documents, examples and scripts beside the code are left out."""
    listing = {}
    for path in layout.python:
        name = layout.modules[path]
        if name and layout.roles[path] != "support" and not path.endswith("__main__.py"):
            depth = len(name.split(".")) + path.endswith("__init__.py")
            listing[path] = ("/".join(path.split("/")[:-depth]), name)
    scratch.mkdir()
    (scratch / "listing.json").write_text(json.dumps(listing))
    subprocess.run(
        [sys.executable, "-B", "-c", PROGRAM, str(root), "listing.json", "out.json"], cwd=scratch, timeout=300,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    found: dict[str, str | None] = json.loads((scratch / "out.json").read_text())
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_renamed_repository_parses_imports_and_has_no_old_name(name: str, tmp_path: Path) -> None:
    repository = repository_of(name)
    layout = Layout.read(repository.root)
    index = Index(layout)
    # `renamed` scans every word of every file for old names, and raises where one is left.
    names, files, paths = renamed(repository, index, SEED)
    again = renamed(repository, index, SEED)
    assert files == again[1] and names.digest == again[0].digest
    asked = [symbol.name for symbol in index.once]
    assert sum(name in names.words for name in asked) >= 0.85 * len(asked)
    for path, target in paths.items():
        if path.endswith(".py") and path not in {one.path for one in index.unparsed}:
            parse(files[target])
    root = written(tmp_path / "tree", files)
    before = imports(repository.root, layout, tmp_path / "before")
    after = imports(root, Layout(files), tmp_path / "after")
    worked = [path for path, problem in before.items() if problem is None]
    broken = {path: after.get(paths[path], "not there") for path in worked if after.get(paths[path], "not there")}
    assert not broken, broken
    if not worked:
        pytest.skip(
            f"{name} is renamed as it must; none of it can be imported here, with or without: it lacks what it needs"
        )


def test_the_repositories_have_questions_enough() -> None:
    for name in NAMES:
        assert len(Index(Layout.read(repository_of(name).root)).once) >= 10
