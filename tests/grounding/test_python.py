"""What a piece of Python defines, whole or cut anywhere."""

from __future__ import annotations

import ast
import random
import warnings

import pytest

from grounding.languages import Definitions, language_of, language_of_script
from grounding.languages.python import LONGEST, PYTHON
from tests.grounding.installed import sources


def defines(text: str, *, begins: bool = True) -> Definitions:
    found = PYTHON.definitions(text, begins=begins)
    for definition in found.certain:
        assert text[definition.start : definition.end] == definition.name
    return found


def names(text: str, *, begins: bool = True) -> list[str]:
    return [definition.name for definition in defines(text, begins=begins).certain]


def kinds(text: str) -> dict[str, str]:
    return {definition.name: definition.kind for definition in defines(text).certain}


def owners(text: str) -> dict[str, tuple[str, str | None]]:
    return {d.name: (d.scope, d.owner) for d in defines(text, begins=False).certain}


def test_classes_functions_and_assigned_names_are_definitions() -> None:
    text = (
        "class Pool:\n    size: int = 1\n    def run(self):\n        self.done = True\n        local = 1\nLIMIT = 3\n"
    )
    assert kinds(text) == {
        "Pool": "class", "size": "field", "run": "function", "done": "attribute", "LIMIT": "variable",
    }  # fmt: skip


def test_what_is_only_used_is_no_definition() -> None:
    text = (
        "import os\nfrom a import helper\ndef run(parameter):\n    other(parameter)\n    for item in parameter: pass\n"
    )
    assert names(text) == ["run"]


def test_nested_async_and_conditional_definitions() -> None:
    text = (
        "async def fetch():\n    def inner(): pass\n"
        "if True:\n    def one(): pass\nelse:\n    def one(): pass\n"
        "try:\n    import x\nexcept ImportError:\n    x_missing = True\n"
        "class Outer:\n    class Inner:\n        async def run(self): pass\n"
    )
    assert names(text) == ["fetch", "inner", "one", "one", "x_missing", "Outer", "Inner", "run"]
    assert owners(text)["inner"] == ("function", None)
    assert owners(text)["one"] == ("module", None)
    assert owners(text)["Inner"] == ("class", "Outer")
    assert owners(text)["run"] == ("class", "Inner")


def test_properties_and_overloads_are_definitions_each() -> None:
    text = (
        "class A:\n    @property\n    def size(self): ...\n    @size.setter\n    def size(self, value): ...\n"
        "    @overload\n    def get(self, x: int) -> int: ...\n    def get(self, x): ...\n"
    )
    assert names(text) == ["A", "size", "size", "get", "get"]


def test_fields_of_a_dataclass_are_fields() -> None:
    assert kinds("@dataclass\nclass A:\n    x: int\n    y: str = 'a'\n") == {"A": "class", "x": "field", "y": "field"}


def test_type_aliases_and_several_targets() -> None:
    text = "type Pairs[T] = list[T]\ntype Name = str\nOld: TypeAlias = int\nA, (B, C) = 1, (2, 3)\nclass G[T]: ...\n"
    assert kinds(text) == {"Pairs": "alias", "Name": "alias", "Old": "variable", "A": "variable", "G": "class"}


def test_names_in_all_are_exports_not_definitions() -> None:
    text = "__all__ = ['Foo', 'bar']\n__all__ += ['baz', *other]\n"
    assert kinds(text) == {"__all__": "variable", "Foo": "export", "bar": "export", "baz": "export"}


def test_names_in_strings_and_comments_are_not_defined() -> None:
    assert names('"""def f(): pass"""\n# class A:\nx = "def g(): pass"\n') == ["x"]


def test_a_method_whose_class_is_not_shown_stands_in_an_unknown_one() -> None:
    text = "        self.x = 1\n\n    def method(self):\n        return 1\n\nclass Next:\n    def other(self): ...\n"
    assert owners(text) == {
        "x": ("unknown", None), "method": ("unknown", None), "Next": ("module", None), "other": ("class", "Next"),
    }  # fmt: skip


def test_a_name_set_in_a_block_whose_head_is_not_shown_is_uncertain() -> None:
    found = defines("    limit = 3\n    name: str\n\ndef run(): ...\n", begins=False)
    assert [definition.name for definition in found.certain] == ["run"]
    assert set(found.uncertain) == {"limit", "name"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("    wrong=1,\n)\ndef f(x):\n    pass\n", ["f"]),
        ("    b: int,\n) -> int:\n    return 1\n\n\ndef g(): ...\n", ["g"]),
        (
            "    Prose.\n\n    Returns: x\n    \"\"\"\n    x = 1\n\n    def g(self):\n        '''Doc.'''\n",
            ["g"],
        ),
        ("it's prose\n'''\n\ndef g():\n    '''Doc.'''\n    return {'a': 1}\n", ["g"]),
        ('def f():\n    """Doc that\n    goes on', ["f"]),
        ("def f(a,\n      b,\n", ["f"]),
        ("class A(Base,\n        metaclass=M", ["A"]),
        ("x = [\n    f(1),\n", ["x"]),
        ("    def f(self):", ["f"]),
        ("class A", []),
        ("            y = 2\n        elif y:\n            z = 1\n    def g(self): ...\n", ["g"]),
        (
            "        pass\n    except E as e:\n        pass\n    finally:\n        pass\n\n    def g(self): ...\n",
            ["g"],
        ),
        ("        pass\n    except:\n        pass\n    else:\n        pass\n\ndef g(): ...\n", ["g"]),
        ("\tdef f(self):\n\t\tpass\n\n\tdef g(self):\n\t\tpass\n", ["f", "g"]),
        ("def f():\r\n    pass\r\n\r\nclass A:\r\n    def b(self):\r\n        pass\r\n", ["f", "A", "b"]),
        ("def f():\r    pass\rdef g():\r    pass\r", ["f", "g"]),
        ("\x0cdef f():\n    pass\n\x0c\nclass A:\n    x = 1\n", ["f", "A", "x"]),
        ("\ufeffdef f(): pass\n", ["f"]),
        ("def f(): pass\n\0\ndef g(): pass\n", ["f", "g"]),
        ("# caf\ufffd\ndef na\ufffdve(): pass\ndef f(): pass\n", ["naǀve", "f"]),
        ("# \ud800\ndef f(): pass\n", ["f"]),
        ("def größe(): pass\nclass Ключ: pass\n", ["größe", "Ключ"]),
        ("print 'x'\ndef f():\n    print 'y'\n    raise E, 'z'\n", ["f"]),
        ("def f(:\n    pass\n\ndef g():\n    pass\n", ["f", "g"]),
        ("", []),
        ("\n\n", []),
    ],
)
def test_a_piece_cut_anywhere_shows_what_it_defines(text: str, expected: list[str]) -> None:
    found = PYTHON.definitions(text, begins=False)
    assert [definition.name for definition in found.certain if definition.kind != "attribute"] == expected


def test_what_cannot_be_parsed_but_says_def_is_uncertain() -> None:
    found = defines("<<<<<<< HEAD\n%% (((\n12) def broken(self)\n", begins=False)
    assert found.certain == ()
    assert list(found.uncertain) == ["broken"]


def test_where_two_readings_are_as_good_what_only_one_finds_is_uncertain() -> None:
    """The lines before the quotes may be code, or the end of a string that holds some; so may those behind."""
    lines = "import sys\n\ndef traced(module):\n    return module\n"
    behind = 'ALLOWED = {\n    "abc",\n    "json",\n}\n\n\ndef test_it():\n    assert run("x")[0] == "json"\n'
    text = f'{lines}"""\n\n{behind}'
    found = PYTHON.definitions(text, begins=False)
    assert found.certain == ()
    assert set(found.uncertain) == {"traced", "ALLOWED", "test_it"}
    # With the other quotes to be seen there is one reading, and so there is where the lines say what they are.
    whole = PYTHON.definitions(f'TRACER = """\\\n{text}', begins=False)
    assert [each.name for each in whole.certain] == ["TRACER", "ALLOWED", "test_it"]
    prose = PYTHON.definitions(text.replace("import sys", "It does this."), begins=False)
    assert [each.name for each in prose.certain] == ["ALLOWED", "test_it"]


def test_a_line_of_two_megabytes() -> None:
    text = f"DATA = [{'1, ' * 660_000}]\ndef after(): pass\n"
    assert names(text) == ["DATA", "after"]


def test_what_is_too_long_is_uncertain() -> None:
    text = "def f(): pass\n" + "#" * LONGEST
    found = PYTHON.definitions(text, begins=True)
    assert (found.certain, found.uncertain) == ((), {"f": 4})
    assert PYTHON.outline(text) is None


@pytest.mark.parametrize(
    "text",
    ["(" * 200_000, "[" * 50_000 + "]" * 50_000, "'" * 100_000, '"""a' * 5_000, "def f(:\n" * 2_000, "if " * 100_000],
    ids=["open brackets", "nested", "quotes", "docstrings", "broken definitions", "keywords"],
)
def test_nonsense_is_read_in_bounded_time(text: str) -> None:
    PYTHON.definitions(text, begins=False)


@pytest.mark.parametrize("joined", ["x = \\\n    1\n" * 3_000, "x = 1 + \\\n" * 400_000], ids=["many", "endless"])
def test_a_text_with_more_joined_lines_than_any_code_is_uncertain(joined: str) -> None:
    text = f"class A: ...\nLIMIT, other = 1, 2\nsize: int = 3\n{joined}\ndef f(): ...\n"
    found = PYTHON.definitions(text, begins=True)
    assert found.certain == ()
    assert {"A", "f", "LIMIT", "other", "size"} <= set(found.uncertain)


def test_bytes_that_are_no_text_define_nothing() -> None:
    noise = random.Random(1).randbytes(20_000).decode("latin-1")
    assert PYTHON.definitions(noise + "\ndef f(): pass\n", begins=False) == Definitions((), {})


def test_a_text_with_noise_at_its_beginning_is_a_text() -> None:
    assert names("# " + "\x01" * 100 + "\ndef f(): pass\n" + "# prose\n" * 5_000) == ["f"]


@pytest.mark.parametrize("length", [9_000, 200_000])
def test_what_a_script_says_before_the_bytes_that_are_packed_in_it_is_uncertain(length: int) -> None:
    packed = random.Random(1).randbytes(length).decode("latin-1")
    found = PYTHON.definitions("def f(): pass\n" + "# prose\n" * 1_100 + packed, begins=True)
    assert (found.certain, next(iter(found.uncertain))) == ((), "f")


def test_files_are_known_by_their_names_and_scripts_by_their_first_line() -> None:
    assert [language_of(path) is PYTHON for path in ("a.py", "a.pyi", "A.PY", "a.c", "a", ".py")] == [True] * 3 + [
        False
    ] * 3
    assert language_of_script("#!/usr/bin/env python3\n") is PYTHON
    assert language_of_script("#!/bin/sh\n") is None


def known_to_ast(text: str) -> set[tuple[str, str, str, str | None]]:
    """The definitions of a whole file: name, kind, scope, class."""
    found: set[tuple[str, str, str, str | None]] = set()

    def walk(node: ast.AST, scope: str, owner: str | None) -> None:
        for child in ast.iter_child_nodes(node):
            here = owner if scope == "class" else None
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                found.add((child.name, "function", scope, here))
                walk(child, "function", owner)
            elif isinstance(child, ast.ClassDef):
                found.add((child.name, "class", scope, here))
                walk(child, "class", child.name)
            else:
                for target in targets(child):
                    if isinstance(target, ast.Name) and scope != "function":
                        found.add((target.id, "field" if scope == "class" else "variable", scope, here))
                    elif isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
                        found.add((target.attr, "attribute", "class" if owner else "unknown", owner))
                walk(child, scope, owner)

    def targets(node: ast.AST) -> list[ast.expr]:
        direct = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        several = [e for t in direct if isinstance(t, ast.Tuple | ast.List) for e in t.elts if isinstance(e, ast.Name)]
        return [*direct, *several]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        walk(ast.parse(text), "module", None)
    return found


def test_whole_files_define_what_ast_says() -> None:
    for text in sources(100, seed=1):
        found = {(d.name, d.kind, d.scope, d.owner) for d in PYTHON.definitions(text, begins=True).certain}
        assert {each for each in found if each[1] not in ("export", "alias")} == known_to_ast(text)


def test_any_range_of_lines_shows_its_definitions_or_says_that_it_is_uncertain() -> None:
    """The law of fragments: a function or class whose line is shown is found; at most 1 in 200 is only uncertain."""
    draw = random.Random(2)
    shown = found = 0
    for text in sources(100, seed=3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        nodes = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
        lines = text.split("\n")
        for _ in range(4):
            first = draw.randrange(len(lines))
            last = min(len(lines), first + draw.choice((5, 20, 60, 200)))
            part = "\n".join(lines[first:last])
            wanted = {node.name for node in nodes if first < node.lineno <= last}
            read = PYTHON.definitions(part, begins=first == 0)
            certain = {definition.name for definition in read.certain}
            assert wanted <= certain | set(read.uncertain), (part, wanted)
            shown += len(wanted)
            found += len(wanted & certain)
    assert shown > 500
    assert found >= shown * 0.995
