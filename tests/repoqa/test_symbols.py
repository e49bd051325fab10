"""What counts as a definition, how often, and whose."""

# ruff: noqa: E501 - files of other people's shape, a line each

from __future__ import annotations

import pytest

from repoqa.layout import Layout, role_of
from repoqa.symbols import Index
from tests.repoqa.trees import index_of


def once(files: dict[str, str]) -> set[str]:
    return {symbol.name for symbol in index_of(files).once}


def test_functions_classes_and_methods_with_place_bases_and_signature() -> None:
    text = "import a\n\n@a.d\nclass Kettle(a.Pot, Generic[T]):\n    async def boil(self, at: int = 100, *, lid=True) -> None: ...\n"
    index = index_of({"p/__init__.py": "", "p/k.py": text})
    kettle, boil = index.symbols
    assert (kettle.kind, kettle.line, kettle.bases, kettle.module) == ("class", 4, ("a.Pot", "Generic[T]"), "p.k")
    assert (boil.kind, boil.qualname, boil.signature) == ("method", "Kettle.boil", "self, at: int=100, *, lid=True")


@pytest.mark.parametrize(
    "other",
    [
        "def kettle_of(): ...",
        "class X:\n    def kettle_of(self): ...",
        "def f():\n    def kettle_of(): ...",
        "kettle_of = 3",
        "from elsewhere import kettle_of",
        "import elsewhere.a as kettle_of",
        "import kettle_of.a, other",
        "try:\n    import elsewhere as kettle_of\nexcept ImportError: pass",
        "if 1:\n    kettle_of: int = 3",
        "def kettle_of(:  # does not parse",
    ],
)
@pytest.mark.parametrize("where", ["p/b.py", "tests/test_b.py", "p/_vendor/b.py", "examples/b.py"])
def test_whatever_else_binds_the_name_anywhere_makes_it_ambiguous(other: str, where: str) -> None:
    files = {"p/__init__.py": "", "p/a.py": "def kettle_of(): ...\n"}
    assert once(files) == {"kettle_of"}
    assert "kettle_of" not in once({**files, where: other + "\n"})


@pytest.mark.parametrize(
    "other",
    [
        "from p.a import kettle_of",
        "from .a import kettle_of",
        "import p.a",
        "import p.a as kettle_of",
        "import elsewhere as other",
        "def f():\n    import elsewhere as kettle_of",
        "kettle_of()",
        "def f(kettle_of): ...",
        "def f():\n    kettle_of = 3",
        "'kettle_of'",
        "class X:\n    kettle_of = 3",
        "class X:\n    from elsewhere import kettle_of",
        "x.kettle_of = 3",
    ],
)
def test_uses_and_re_exports_do_not(other: str) -> None:
    assert "kettle_of" in once({"p/__init__.py": "", "p/a.py": "def kettle_of(): ...\n", "p/b.py": other + "\n"})


@pytest.mark.parametrize(
    "stub", ["def kettle_of() -> int: ...\n", "class X:\n    def kettle_of(self): ...\n", "def kettle_of(:\n"]
)
def test_a_stub_that_defines_the_name_makes_its_path_ambiguous(stub: str) -> None:
    files = {"p/__init__.py": "", "p/a.py": "def kettle_of(): ...\ndef lid_of(): ...\n"}
    assert once({**files, "p/a.pyi": stub}) == {"lid_of"}
    assert once({**files, "p/a.pyi": "kettle_of()\n"}) == {"kettle_of", "lid_of"}


def test_overloads_and_property_setters_are_one_definition() -> None:
    text = (
        "@overload\ndef pour(a: int) -> int: ...\n@overload\ndef pour(a: str) -> str: ...\ndef pour(a): return a\n"
        "class Cup:\n    @property\n    def full(self): ...\n    @full.setter\n    def full(self, value): ...\n"
    )
    index = index_of({"p.py": text})
    pour = next(symbol for symbol in index.symbols if symbol.name == "pour")
    assert (pour.overloads, pour.line) == (2, 5)
    assert [symbol.qualname for symbol in index.symbols] == ["pour", "Cup", "Cup.full"]
    assert {symbol.name for symbol in index.once} == {"pour", "Cup"}


def test_what_is_registered_for_a_function_is_no_other_definition_of_it_and_a_class_twice_is() -> None:
    text = "@singledispatch\ndef pour(a): ...\n@pour.register\ndef pour(a: int): ...\n"
    assert once({"p.py": text}) == {"pour"}
    twice = "@overload\nclass Cup: ...\n@pour.register\nclass Cup: ...\n"
    assert once({"p.py": text + twice}) == {"pour"}


def test_what_stands_inside_of_a_class_or_a_function_is_not_asked_about() -> None:
    text = (
        "class Cup:\n    class Handle:\n        class Rim: ...\n    def fill_it(self):\n        class Drop: ...\n"
        "def boil_it():\n    class Steam:\n        def rise_up(self): ...\n    def whistle_it(): ...\n"
    )
    index = index_of({"p.py": text})
    assert {symbol.qualname: symbol.kind for symbol in index.symbols} == {
        "Cup": "class", "Cup.Handle": "class", "Cup.Handle.Rim": "class", "Cup.fill_it": "method",
        "Cup.fill_it.Drop": "class", "boil_it": "function", "boil_it.Steam": "class",
        "boil_it.Steam.rise_up": "function", "boil_it.whistle_it": "function",
    }  # fmt: skip
    assert {symbol.name for symbol in index.public} == {"Cup", "fill_it", "boil_it"}
    assert {symbol.name for symbol in index.once} == {"Cup", "boil_it"}


@pytest.mark.parametrize(
    "around",
    [
        "if x:\n    {}\nelse:\n    {}",
        "try:\n    {}\nfinally:\n    {}",
        "try:\n    pass\nexcept E:\n    {}\nelse:\n    {}",
        "with x:\n    {}\n{}",
        "for x in y:\n    {}\nelse:\n    {}",
        "while x:\n    {}\n{}",
        "match x:\n    case 1:\n        {}\n    case _:\n        {}",
    ],
)
def test_a_definition_counts_in_whichever_branch_it_stands(around: str) -> None:
    assert once({"p.py": around.format("def pour(): ...", "pass")}) == {"pour"}
    assert once({"p.py": around.format("pass", "def pour(): ...")}) == {"pour"}
    assert once({"p.py": around.format("def pour(): ...", "def pour(): ...")}) == set()


def test_branches_that_both_define_a_name_are_two_definitions() -> None:
    both = "try:\n    def pour(): ...\nexcept ImportError:\n    def pour(): ...\n"
    one = "if True:\n    def pour(): ...\n"
    assert once({"p.py": both}) == set()
    (symbol,) = index_of({"p.py": one}).once
    assert symbol.conditional


def test_public_is_without_an_underscore_and_as_all_says() -> None:
    text = "__all__ = ['a_one']\ndef a_one(): ...\ndef a_two(): ...\ndef _a_three(): ...\nclass _A:\n    def four(self): ...\n"
    index = index_of({"p/__init__.py": "", "p/m.py": text})
    assert {symbol.name for symbol in index.public} == {"a_one", "a_two"}
    assert {symbol.name for symbol in index.once} == {"a_one"}
    exported = index_of({"p/__init__.py": "from .m import a_two\n", "p/m.py": text})
    assert {symbol.name for symbol in exported.once} == {"a_one", "a_two"}


@pytest.mark.parametrize(
    ("path", "text", "role"),
    [
        ("src/p/core.py", "", "own"),
        ("p/testing.py", "", "own"),
        ("p/tests/core.py", "", "test"),
        ("p/test_core.py", "", "test"),
        ("p/core_test.py", "", "test"),
        ("conftest.py", "", "test"),
        ("p/_vendor/six.py", "", "vendored"),
        ("docs/conf.py", "", "support"),
        ("setup.py", "", "support"),
        ("p/tools/core.py", "", "own"),
        ("p/x_pb2.py", "", "generated"),
        ("p/core.py", "# Generated by a program. DO NOT EDIT.\n", "generated"),
        ("p/core.py", '"""Names are generated by seed."""\n', "generated"),
        ("p/core.py", "x = 'do not edit'\n", "own"),
    ],
)
def test_what_a_file_is(path: str, text: str, role: str) -> None:
    assert role_of(path, text.encode()) == role


@pytest.mark.parametrize(
    "content",
    [
        b"def f(:\n",
        b"\xff\xfe\x00bad",
        b"# coding: nonsense\n",
        b"x = (" * 3000,
        b"\0",
        b"print 'two'\n",
        b"if 1:\n\tx\n        y\n",
    ],
)
def test_a_file_that_does_not_parse_is_listed_and_breaks_nothing(content: bytes) -> None:
    index = Index(Layout({"p/a.py": content, "p/b.py": b"class Kettle: ...\n"}))
    assert [one.path for one in index.unparsed] == ["p/a.py"]
    assert index.unparsed[0].why
    assert {symbol.name for symbol in index.once} == {"Kettle"}


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfclass Kettle: ...\r\n",
        "# -*- coding: latin-1 -*-\nclass Kettle: 'é'\n".encode("latin-1"),
        b"\x0cclass Kettle: ...\n",
    ],
)
def test_encodings_marks_and_line_ends_are_no_obstacle(content: bytes) -> None:
    assert {symbol.name for symbol in Index(Layout({"a.py": content})).once} == {"Kettle"}


def test_modules_are_counted_from_the_outermost_package() -> None:
    files = dict.fromkeys(("src/p/__init__.py", "src/p/q/r.py", "src/p/s.py", "top.py", "tests/test_a.py"), b"")
    assert Layout(files).modules == {
        "src/p/__init__.py": "p", "src/p/q/r.py": "p.q.r", "src/p/s.py": "p.s", "top.py": "top", "tests/test_a.py": "test_a",
    }  # fmt: skip
