"""The same code under other names: consistent, without a trace of the old ones, and still Python that imports."""

# ruff: noqa: E501 - files of other people's shape, a line each

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repoqa.counterfactual import CounterfactualError, Names, counterfactual, renamed
from repoqa.counterfactual.build import _prove
from repoqa.counterfactual.scan import leftovers
from repoqa.counterfactual.spelling import new_words, pieces, respelled
from repoqa.counterfactual.uses import Tree
from repoqa.fetch import Repository, shipped_repository
from repoqa.layout import Layout
from repoqa.symbols import Index
from tests.repoqa.trees import pin_of, written

PROJECT: Mapping[str, str] = {
    "pyproject.toml": '[project]\nname = "tea-kit"\n[project.scripts]\nteakit = "teakit.shell:start_shell"\n',
    "README.md": "# Tea Kit\n\nUse `teakit.brew.brew_tea`, see teakit/brew.py, TEA_KIT_HOME, tea_kit and TeaKit. Run tea-kit --brew-tea.\n",
    "docs/index.rst": ".. autoclass:: teakit.types.TeaPot\n\nA TeaPot is in ``src/teakit/types.py``; :mod:`teakit.types`.\n",
    "src/tea_kit.egg-info/SOURCES.txt": "src/teakit/brew.py\n",
    "PKG-INFO": "Name: tea-kit\n",
    "src/teakit/__init__.py": (
        '"""Tea."""\nfrom .brew import brew_tea\nfrom .types import TeaPot as TeaPot\nfrom . import types\n'
        'import teakit.json as json\n__all__ = ["brew_tea", "TeaPot"]\nPOT = types.TeaPot\nassert json.dump_pot\n'
    ),
    "src/teakit/types.py": "import types\nclass TeaPot:\n    '''A TeaPot.'''\n    kind = types.SimpleNamespace\n    def pour_out(self, cup_size=1):\n        return self.__class__.__name__\n",
    "src/teakit/json.py": "from json import dumps\ndef dump_pot(pot): return dumps({'TeaPot': 1, 'get': pot.get('x')})\n",
    "src/teakit/brew.py": (
        "import sys, os.path\nfrom teakit import types as kinds\nimport teakit.types\n"
        "from .shell import (  # a comment, with brew_tea\n    start_shell,\n    _brew_tea_later as later,\n)\n"
        "def brew_tea(pot: 'kinds.TeaPot', *, strength=2, encoding='x') -> \"teakit.types.TeaPot\":\n"
        "    \"\"\"brew_tea brews.\\nbrew_tea again; see teakit.types.\"\"\"\n"
        "    # brew_tea is not brew_teas\n"
        "    return f'{pot.pour_out(cup_size=3)} {brew_tea.__name__} \\tteakit {teakit.types.TeaPot}'\n"
        "def get(x): return x\n"
        "class BrewError(ValueError): ...\n"
        "assert teakit.types.TeaPot is kinds.TeaPot\n"
    ),
    "src/teakit/shell.py": (
        "def start_shell():\n    return getattr(Runner(), f'run_{\"Pot\"}')()\n"
        "def _brew_tea_later(): ...\n"
        "class Runner:\n    def run_Pot(self): return 1\n    def close(self): ...\n"
    ),
    "tests/test_brew.py": "import teakit\nfrom teakit.brew import brew_tea\n\ndef test_brew_tea():\n    assert 'TeaPot' in str(brew_tea(teakit.TeaPot()))\n",
    "tests/test_types.py": "from teakit import types\n\nclass TestTeaPot:\n    def test_pour_out(self): assert types.TeaPot().pour_out() == 'TeaPot'\n",
    "broken.py": "def brew_tea(:\n  teakit\n",
    "logo.bin": "\0\1\2",
}  # fmt: skip


def made(
    root: Path, files: Mapping[str, str], seed: int = 1, name: str = "tea-kit"
) -> tuple[Names, dict[str, bytes], dict[str, str]]:
    repository = Repository(pin_of(name), written(root, files))
    return renamed(repository, Index(Layout.read(repository.root)), seed)


@pytest.fixture(scope="module")
def tea(tmp_path_factory: pytest.TempPathFactory) -> tuple[Names, dict[str, bytes], dict[str, str]]:
    return made(tmp_path_factory.mktemp("tea"), PROJECT)


def test_no_old_name_is_left_anywhere_by_a_plain_search(tea: tuple[Names, dict[str, bytes], dict[str, str]]) -> None:
    _, files, _ = tea
    whole = "\n".join(f"{path}\n{content.decode()}" for path, content in files.items())
    for old in (
        "brew_tea",
        "TeaPot",
        "pour_out",
        "start_shell",
        "dump_pot",
        "BrewError",
        "brew-tea",
        "_brew_tea_later",
        "Runner",
    ):
        assert not re.search(rf"(?<!\w){re.escape(old)}(?!\w)", whole), old
    assert not re.search(r"(?i)tea[-_. ]?kit", whole)
    assert not any("types.py" in path or "json.py" in path or "brew" in path for path in files)


def test_what_pythons_own_words_say_is_kept(tea: tuple[Names, dict[str, bytes], dict[str, str]]) -> None:
    names, files, paths = tea
    types = files[paths["src/teakit/types.py"]].decode()
    assert "import types\n" in types and "types.SimpleNamespace" in types and "__class__.__name__" in types
    json_file = files[paths["src/teakit/json.py"]].decode()
    assert "from json import dumps" in json_file and "pot.get('x')" in json_file
    brew = files[paths["src/teakit/brew.py"]].decode()
    assert (
        "import sys, os.path" in brew
        and "ValueError" in brew
        and "def get(x)" in brew
        and "strength=2, encoding='x'" in brew
    )
    assert "def close(self)" in files[paths["src/teakit/shell.py"]].decode()
    assert names.words.keys().isdisjoint({"get", "close", "types", "json", "self", "strength"})


def test_names_change_together_in_code_strings_comments_documents_and_file_names(
    tea: tuple[Names, dict[str, bytes], dict[str, str]],
) -> None:
    names, files, paths = tea
    pot, brew, package = names.words["TeaPot"], names.words["brew_tea"], names.words["teakit"]
    kind = names.modules["teakit.types"]
    top = files[f"src/{package}/__init__.py"].decode()
    assert f'__all__ = ["{brew}", "{pot}"]' in top
    assert f"from .{kind} import {pot} as {pot}\nfrom . import {kind} as types\n" in top
    assert paths["src/teakit/types.py"] == f"src/{package}/{kind}.py"
    assert paths["tests/test_types.py"] == f"tests/test_{kind}.py"
    rst = files["docs/index.rst"].decode()
    assert (
        rst
        == f".. autoclass:: {package}.{kind}.{pot}\n\nA {pot} is in ``src/{package}/{kind}.py``; :mod:`{package}.{kind}`.\n"
    )
    assert f"{names.words['start_shell']}" in files["pyproject.toml"].decode()
    assert f"\\n{brew} again" in files[paths["src/teakit/brew.py"]].decode()
    assert f"\\t{package} " in files[paths["src/teakit/brew.py"]].decode()


def test_the_repositorys_own_name_changes_in_every_spelling(
    tea: tuple[Names, dict[str, bytes], dict[str, str]],
) -> None:
    names, files, _ = tea
    one, two = names.new_repository.split("-")
    readme = files["README.md"].decode()
    for spelt in (f"# {one.capitalize()} {two.capitalize()}", f"{one}_{two}".upper() + "_HOME", f"{one}_{two}",
                  one.capitalize() + two.capitalize(), f"{one}-{two} --"):  # fmt: skip
        assert spelt in readme, spelt


def test_the_repositorys_name_keeps_its_capitals_and_what_joins_it(
    tea: tuple[Names, dict[str, bytes], dict[str, str]],
) -> None:
    names, _, _ = tea
    one, two = names.new_repository.split("-")
    big, large = one.capitalize(), two.capitalize()
    assert {spelt: names.alias(spelt) for spelt in (
        "tea-kit", "Tea-Kit", "Tea-kit", "TEA_KIT", "tea kit", "Tea kit", "TeaKit", "Teakit", "teakit", "TEAKIT",
    )} == {
        "tea-kit": f"{one}-{two}", "Tea-Kit": f"{big}-{large}", "Tea-kit": f"{big}-{two}",
        "TEA_KIT": f"{one}_{two}".upper(), "tea kit": f"{one} {two}", "Tea kit": f"{big} {two}",
        "TeaKit": f"{big}{large}", "Teakit": f"{big}{large}", "teakit": f"{one}{two}", "TEAKIT": f"{one}{two}".upper(),
    }  # fmt: skip


def test_within_a_longer_word_only_a_name_that_is_recognisable_changes(
    tea: tuple[Names, dict[str, bytes], dict[str, str]],
) -> None:
    names, _, _ = tea
    brew, pot, start = names.words["brew_tea"], names.words["TeaPot"], names.words["start_shell"]
    assert names.words["shell"] != "shell" and names.words["brew"] != "brew"
    assert {word: names.word(word) for word in (
        "my_shell_x", "brew_later", "ShellThing", "bigteapot", "teaPotLid", "x_brew_tea", "start_shell_now",
        "BigTeaPotLid", "bigTeaPot",
    )} == {
        "my_shell_x": "my_shell_x", "brew_later": "brew_later", "ShellThing": "ShellThing", "bigteapot": "bigteapot",
        "teaPotLid": "teaPotLid", "x_brew_tea": f"x_{brew}", "start_shell_now": f"{start}_now",
        "BigTeaPotLid": f"Big{pot}Lid", "bigTeaPot": f"big{pot}",
    }  # fmt: skip


def test_names_that_the_code_makes_up_still_fit(tea: tuple[Names, dict[str, bytes], dict[str, str]]) -> None:
    _, files, paths = tea
    shell = files[paths["src/teakit/shell.py"]].decode()
    made_up = re.search(r"f'run_\{\"(\w+)\"\}'", shell)
    assert made_up is not None and "def run_" in shell


def test_packaging_leftovers_are_gone_and_binaries_stay(tea: tuple[Names, dict[str, bytes], dict[str, str]]) -> None:
    _, files, paths = tea
    assert "PKG-INFO" not in paths and not any("egg-info" in path for path in files)
    assert files["logo.bin"] == b"\0\1\2"


def test_compiled_code_is_left_out(tmp_path: Path) -> None:
    _, files, paths = made(tmp_path, {"bell/__init__.py": "", "bell/ring.py": "", "bell/ring.pyc": "x"}, name="bell")
    assert len(files) == len(paths) == 2 and not any(path.endswith(".pyc") for path in files)


def test_style_and_generic_pieces_are_kept(tea: tuple[Names, dict[str, bytes], dict[str, str]]) -> None:
    names, _, _ = tea
    assert re.fullmatch(r"[A-Z][a-z]+[A-Z][a-z]+", names.words["TeaPot"])
    assert re.fullmatch(r"[a-z]+_[a-z]+", names.words["brew_tea"])
    assert names.words["BrewError"].endswith("Error")


def test_the_same_seed_gives_the_same_bytes_and_another_other_names(tmp_path: Path) -> None:
    first, again, other = (made(tmp_path / str(n), PROJECT, seed) for n, seed in enumerate((5, 5, 6)))
    assert first[1] == again[1] and first[0].digest == again[0].digest
    assert first[0].digest != other[0].digest and first[0].words["TeaPot"] != other[0].words["TeaPot"]


def imported(root: Path, modules: list[str], *more: str) -> dict[str, str | None]:
    """What importing each module in a process of its own raises, None for nothing."""
    program = (
        "import importlib, json, sys\nout = {}\n"
        "for name in json.loads(sys.argv[1]):\n"
        "    try: importlib.import_module(name); out[name] = None\n"
        "    except BaseException as problem: out[name] = repr(problem)\n"
        "print(json.dumps(out))\n"
    )
    paths = [str(root), str(root / "src"), *more]
    head = f"import sys; sys.path[:0] = {paths!r}; sys.dont_write_bytecode = True\n"
    done = subprocess.run(
        [sys.executable, "-I", "-c", head + program, json.dumps(modules)],
        capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    found: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_what_imported_still_imports_and_its_tests_still_pass(
    tmp_path: Path, tea: tuple[Names, dict[str, bytes], dict[str, str]]
) -> None:
    _, files, _ = tea
    written(tmp_path / "old", PROJECT)
    written(tmp_path / "new", files)
    for root, layout in ((tmp_path / "old", Layout.read(tmp_path / "old")), (tmp_path / "new", Layout(files))):
        modules = [layout.modules[path] for path in layout.own if path.startswith("src/")]
        assert imported(root, modules) == dict.fromkeys(modules), root
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"], cwd=root, capture_output=True,
            text=True, env={"PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}, check=False,
        )  # fmt: skip
        assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_the_shipped_repository_runs_under_other_names(tmp_path: Path) -> None:
    repository = shipped_repository()
    names, files, _ = renamed(repository, Index(Layout.read(repository.root)), 3)
    written(tmp_path, files)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"], cwd=tmp_path, capture_output=True,
        text=True, env={"PYTHONPATH": str(tmp_path / "src"), "PYTHONDONTWRITEBYTECODE": "1"}, check=False,
    )  # fmt: skip
    assert "3 passed" in done.stdout, done.stdout + done.stderr
    everything = " ".join([*files, *(content.decode() for content in files.values())]).lower()
    assert "ferrytide" not in everything and names.new_repository in everything


TRICKY: Mapping[str, str] = {
    "third-party bases": "import numpy as np\nclass Ring_Bell(np.ndarray):\n    def ring_bell(self): ...\n",
    "keyword of a foreign call": "import foreign\ndef ring_bell(): ...\nforeign.call(ring_bell=1)\n",
    "attribute of a foreign value": "import foreign\ndef ring_bell(): ...\nx = foreign.make()\nx.ring_bell()\n",
    "imported under the name": "from foreign import ring_bell as other\ndef ring_bell(): ...\n",
    "imported from Python's own": "from json import ring_bell\ndef ring_bell(): ...\n",
}
FREE: Mapping[str, str] = {
    "a base of Python's own": "import enum\nclass Bell(enum.Enum):\n    def ring_bell(self): ...\n",
    "an error of others": "import foreign\nclass Bell(foreign.BellError):\n    def ring_bell(self): ...\n",
    "a base of its own": "class Base: ...\nclass Bell(Base):\n    def ring_bell(self): ...\n",
    "a keyword of its own call": "def call_it(**more): ...\ndef ring_bell(): ...\ncall_it(ring_bell=1)\n",
    "imported from its own": "from .free import ring_bell as other\ndef ring_bell(): ...\n",
}


@pytest.mark.parametrize("why", TRICKY)
def test_words_that_mean_something_elsewhere_are_kept(tmp_path: Path, why: str) -> None:
    names, _, _ = made(
        tmp_path,
        {"bell/__init__.py": "", "bell/m.py": TRICKY[why], "bell/free.py": "def hum_song(): ...\n", "json.py": ""},
        name="bell",
    )
    assert "ring_bell" not in names.words and "hum_song" in names.words


@pytest.mark.parametrize(
    ("path", "level", "module", "meant"),
    [
        ("a/b/c.py", 0, "x.y", "x.y"), ("a/b/c.py", 1, "d", "a.b.d"), ("a/b/c.py", 1, None, "a.b"),
        ("a/b/c.py", 2, "d", "a.d"), ("a/b/c.py", 3, "d", "d"), ("a/b/c.py", 4, "d", None),
        ("a/b/__init__.py", 1, "d", "a.b.d"), ("a/b/__init__.py", 2, "d.e", "a.d.e"), ("a/b/__init__.py", 4, "d", None),
        ("top.py", 1, "d", "d"), ("top.py", 2, "d", None),
    ],
)  # fmt: skip
def test_what_a_relative_import_means(path: str, level: int, module: str | None, meant: str | None) -> None:
    tree = Tree({"a/__init__.py": "a", "a/b/__init__.py": "a.b", "a/b/c.py": "a.b.c", "top.py": "top"}, {})
    assert tree.absolute(path, level, module) == meant


@pytest.mark.parametrize("why", FREE)
def test_words_that_mean_nothing_elsewhere_are_renamed(tmp_path: Path, why: str) -> None:
    names, _, _ = made(tmp_path, {"bell/__init__.py": "", "bell/m.py": FREE[why]}, name="bell")
    assert "ring_bell" in names.words


def test_an_odd_file_is_rewritten_as_text_and_keeps_its_line_ends_and_encoding(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "bell/__init__.py": "# -*- coding: latin-1 -*-\r\ndef ring_bell(): return 'é'  # ring_bell\r\n".encode(
            "latin-1"
        ),
        "bell/broken.py": "def ring_bell(:\n\tx = ring_bell\n",
        "bell/bom.py": b"\xef\xbb\xbfclass BigBell:\n    pass\n",
        "notes.txt": "ring_bell caf\xe9\n".encode("latin-1"),
    }
    root = written(tmp_path, files)
    names, out, paths = renamed(Repository(pin_of("bell"), root), Index(Layout.read(root)), 1)
    ring = names.words["BigBell"]
    assert out[paths["bell/bom.py"]].startswith(b"\xef\xbb\xbfclass " + ring.encode())
    assert b"'\xe9'" in out[paths["bell/__init__.py"]] and b"\r\n" in out[paths["bell/__init__.py"]]
    assert out[paths["notes.txt"]].endswith(b" caf\xe9\n")


def test_the_proof_finds_what_a_rewriter_forgets(tea: tuple[Names, dict[str, bytes], dict[str, str]]) -> None:
    names, files, _ = tea
    package, kind = names.words["teakit"], names.modules["teakit.types"]
    assert kind != "types"
    for forgotten in (b"x = TeaPot", b"'\\nTeaPot'", b"TEAKIT_HOME", b"my_teakit_x", f"{package}/types.py".encode()):
        found = list(leftovers({**files, "forgotten.txt": forgotten}, names))
        assert [one.path for one in found] == ["forgotten.txt"], forgotten
    assert next(iter(leftovers({**files, "TeaPot.txt": b""}, names))).line == 0


def test_what_the_proof_finds_is_refused(tmp_path: Path, tea: tuple[Names, dict[str, bytes], dict[str, str]]) -> None:
    names, files, paths = tea
    layout, target = Layout.read(written(tmp_path, PROJECT)), paths["src/teakit/brew.py"]
    _prove("tea-kit", layout, files, paths, names, 1)
    with pytest.raises(CounterfactualError, match=f"tea-kit: old names are left with seed 1: 'TeaPot' in {target}:2"):
        _prove("tea-kit", layout, {**files, target: b"x = 1\ny = TeaPot\n"}, paths, names, 1)
    with pytest.raises(CounterfactualError, match=r"'src/teakit/brew\.py' parses, and as .* with seed 1 it does"):
        _prove("tea-kit", layout, {**files, target: b"def (:\n"}, paths, names, 1)


def test_it_is_kept_beside_the_repository_and_made_once(tmp_path: Path) -> None:
    repository = Repository(pin_of("tea-kit"), written(tmp_path / "tree", PROJECT))
    first = counterfactual(repository, tmp_path / "cache", 4)
    before = first.root.stat().st_mtime_ns
    again = counterfactual(repository, tmp_path / "cache", 4)
    assert again == first and again.root.stat().st_mtime_ns == before
    assert first.words["TeaPot"] in (first.root / first.paths["src/teakit/types.py"]).read_text()
    assert counterfactual(repository, tmp_path / "cache", 5).root != first.root


def test_a_word_of_pythons_classes_is_kept_only_where_it_is_used_as_an_attribute(tmp_path: Path) -> None:
    alone = {"bell/__init__.py": "def index(): ...\nindex()\n"}
    used = {"bell/__init__.py": "def index(): ...\n[1].index(1)\n"}
    assert "index" in made(tmp_path / "a", alone, name="bell")[0].words
    assert "index" not in made(tmp_path / "b", used, name="bell")[0].words


def test_a_parameter_of_pythons_functions_is_kept_only_where_it_is_used_as_a_keyword(tmp_path: Path) -> None:
    alone = {"bell/__init__.py": "def encoding(): ...\nencoding()\n"}
    used = {"bell/__init__.py": "def encoding(): ...\nopen(0, encoding='utf-8')\n"}
    assert "encoding" in made(tmp_path / "a", alone, name="bell")[0].words
    assert "encoding" not in made(tmp_path / "b", used, name="bell")[0].words


def test_a_word_of_two_letters_is_kept(tmp_path: Path) -> None:
    files = {"bell/__init__.py": "def zq(): ...\ndef zqx(): ...\nzq(), zqx()\n"}
    words = made(tmp_path, files, name="bell")[0].words
    assert "zqx" in words and "zq" not in words


def test_two_files_that_would_become_one_are_refused(tmp_path: Path) -> None:
    files = {"bell/__init__.py": "", "bell/ringing.py": "", "notes.txt": ""}
    root = written(tmp_path, files)
    names, _, _ = renamed(Repository(pin_of("bell"), root), Index(Layout.read(root)), 1)
    new = names.modules["bell.ringing"]
    written(tmp_path, {f"{names.new_repository}/{new}.py": ""})
    # Words that are there already are never given, so even this is no collision.
    again, files_again, _ = renamed(Repository(pin_of("bell"), root), Index(Layout.read(root)), 1)
    assert again.modules["bell.ringing"] != new and len(files_again) == 4
    assert issubclass(CounterfactualError, Exception)


def test_pieces_of_names() -> None:
    assert pieces("HTTPAdapter") == ["HTTP", "Adapter"]
    assert pieces("parse_config2") == ["parse", "config"]
    assert pieces("TinyDB") == ["Tiny", "DB"]


@given(st.from_regex(r"_?[A-Za-z][a-z]{1,6}(_[a-z]{2,6}|[A-Z][a-z]{2,6}){0,3}[0-9]?", fullmatch=True))
@settings(max_examples=200, deadline=None)
def test_a_new_name_is_an_identifier_in_the_style_of_the_old(name: str) -> None:
    words = new_words("1", frozenset())
    given_words: dict[str, str] = {}

    def new(piece: str) -> str:
        return given_words.setdefault(piece, next(words))

    out = respelled(name, new)
    assert out.isidentifier() and out != name
    assert [c for c in out if not c.isalpha()] == [c for c in name if not c.isalpha()]
    assert out.lstrip("_")[0].isupper() == name.lstrip("_")[0].isupper()
    assert respelled(name, new) == out


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("gas", ["gas"]), ("cups", ["cup"]), ("glass", ["glass"]), ("status", ["status"]), ("axis", ["axis"]),
        ("parse_x", ["parse"]), ("XAxis", ["axis"]), ("get_cups", ["cup"]), ("get", ["get|"]), ("is_not", ["is_not|"]),
    ],
)  # fmt: skip
def test_what_is_a_plural_and_what_is_no_piece(name: str, asked: list[str]) -> None:
    heard: list[str] = []

    def new(piece: str) -> str:
        heard.append(piece)
        return "tern"

    assert respelled(name, new) != name
    assert heard == asked


@pytest.mark.parametrize(
    ("name", "renamed_to"),
    [
        ("HTTPAdapter", "TernTern"), ("HTTP_ADAPTER", "TERN_TERN"), ("TinyDB", "TernTern"), ("parse_URL", "tern_Tern"),
        ("CUPS", "TERNS"), ("Cups", "Terns"),
    ],
)  # fmt: skip
def test_capitals_are_kept_where_the_whole_name_is_in_capitals(name: str, renamed_to: str) -> None:
    assert respelled(name, lambda piece: "tern") == renamed_to


def test_no_new_word_is_there_already_nor_is_its_plural() -> None:
    first = next(new_words("1", frozenset()))
    assert next(new_words("1", frozenset({first}))) != first
    assert next(new_words("1", frozenset({f"{first}s"}))) != first


def test_equal_pieces_become_equal_words_and_plurals_stay_plurals() -> None:
    words = new_words("1", frozenset())
    given_words: dict[str, str] = {}

    def new(piece: str) -> str:
        return given_words.setdefault(piece, next(words))

    assert respelled("Console", new).lower() == respelled("console", new)
    assert respelled("consoles", new) == respelled("console", new) + "s"
    assert respelled("ConsoleError", new) == respelled("Console", new) + "Error"
