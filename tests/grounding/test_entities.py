"""What is an entity of an answer, rule by rule: each with what it takes and what it leaves."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding import PAPER, Answer
from grounding.entities import Entity, entities_of, normal_path

PATH, SIGNATURE, IDENTIFIER = "path", "signature", "identifier"


def entities(text: str, *known: str) -> list[Entity]:
    found = PAPER.claims(Answer.of(text), known)
    for entity in found:
        assert text[slice(*entity.span)] == entity.text
    return found


def named(text: str) -> list[tuple[str, str]]:
    return [(entity.kind, entity.name) for entity in entities(text)]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("It is in src/requests/adapters.py", "src/requests/adapters.py"),
        ("It is in ./src/a.py", "src/a.py"),
        ("It is in src\\requests\\a.py", "src/requests/a.py"),
        ("It is in .\\src\\a.py", "src/a.py"),
        ("It is in 'src/a.py'", "src/a.py"),
        ('It is in "src/a.py"', "src/a.py"),
        ("It is in “src/a.py”", "src/a.py"),
        ("It is in `src/a.py`", "src/a.py"),
        ("It is in **src/a.py**", "src/a.py"),
        ("It is in _src/a.py_", "src/a.py"),
        ("```\nsrc/a.py\n```", "src/a.py"),
        ("```python:src/a.py\nx = 1\n```", "src/a.py"),
        ("It is in src/a.py.", "src/a.py"),
        ("It is in a.py, I think.", "a.py"),
        ("It is in (src/a.py)", "src/a.py"),
        ("See src/a.py: there", "src/a.py"),
        ("See src/a.py:12", "src/a.py"),
        ("See src/a.py#L10-L20", "src/a.py"),
        ("src/a.py's code", "src/a.py"),
        ("src/a.py’s code", "src/a.py"),
        ("src/a.py.The rest", "src/a.py"),
        ("setup.py-style configuration", "setup.py"),
        ("src/my\\_module.py", "src/my_module.py"),
        ("`src\\_module.py`", "src/_module.py"),
        ("src/foo.test.ts", "src/foo.test.ts"),
        ("include/x.h", "include/x.h"),
        ("src/x.c", "src/x.c"),
        ("README.md", "README.md"),
        ("C:\\work\\a.py", "C:/work/a.py"),
        ("/abs/a.py", "/abs/a.py"),
        ("../a.py", "../a.py"),
        ("src/x/../a.py", "src/a.py"),
        ("src//a.py", "src/a.py"),
        ("类在src/a.py中", "src/a.py"),
        ("src/é.py", "src/é.py"),
        ("_private/a.py", "_private/a.py"),
        ("SRC/A.PY", "SRC/A.PY"),
    ],
)
def test_a_path_is_found_in_its_normal_form(text: str, path: str) -> None:
    assert named(text) == [(PATH, path)]


@pytest.mark.parametrize(
    "text",
    [
        "a.py.bak",
        "a.pyc",
        "a.py_backup",
        "https://example.org/src/a.py",
        "see www.example.org/a.py",
        "mail me@example.py",
        "all *.py files",
        "**/*.py",
        "{name}.py",
        "<package>/a.py",
        "$HOME/a.py",
        "the .py file",
        "response.json()",
        "request.json",
        "self.h",
        "Node.js and Vue.js",
        "version 3.11",
        "and so on...py",
    ],
)
def test_what_only_looks_like_a_path_is_none(text: str) -> None:
    assert [kind for kind, _ in named(text) if kind == PATH] == []


def test_a_link_counts_by_its_target() -> None:
    assert named("See [adapters.py](src/requests/adapters.py#L3).") == [(PATH, "src/requests/adapters.py")]
    assert named("See [`adapters.py`](src/requests/adapters.py).") == [(PATH, "src/requests/adapters.py")]


def test_a_links_label_counts_where_it_says_something_else() -> None:
    both = [(PATH, "sessions.py"), (PATH, "src/adapters.py")]
    assert named("[sessions.py](src/adapters.py)") == both
    assert named("[src/a.py](https://example.org/blob/src/a.py)") == [(PATH, "src/a.py")]


@pytest.mark.parametrize(
    ("text", "name", "owner"),
    [
        ("call `get_adapter(url)`", "get_adapter", None),
        ("call get_adapter()", "get_adapter", None),
        ("call connect()", "connect", None),
        ("`HTTPAdapter.send(request)`", "send", "HTTPAdapter"),
        ("`Session.get(`", "get", "Session"),
        ("Session.get()", "get", "Session"),
        ("requests.adapters.HTTPAdapter.send()", "send", "HTTPAdapter"),
        ("self.send_all()", "send_all", None),
        ("session.mount()", "mount", None),
        ("super().prepare()", "prepare", None),
        ("HTTPAdapter()", "HTTPAdapter", None),
        ("`Foo.__init__()`", "__init__", "Foo"),
        ("def resolve(self):", "resolve", None),
    ],
)
def test_a_signature_is_a_name_with_its_bracket(text: str, name: str, owner: str | None) -> None:
    (found,) = [entity for entity in entities(text) if entity.kind == SIGNATURE]
    assert (found.name, found.owner) == (name, owner)
    assert found.text.endswith("(")


@pytest.mark.parametrize(
    "text",
    [
        "the file(s)",
        "class(es)",
        "some propert(ies)",
        "O(n)",
        "print(x)",
        "isinstance(x, int)",
        "raise ValueError('x')",
        "json.loads(text)",
        "os.path.join(a, b)",
        "Path.open()",
        "connect (to it)",
        "[1](x)",
        "np.array(x)",
        "the function(which is long)",
    ],
)
def test_what_only_looks_like_a_signature_is_none(text: str) -> None:
    assert [kind for kind, _ in named(text) if kind == SIGNATURE] == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("the HTTPAdapter", "HTTPAdapter"),
        ("HTTPAdapter's", "HTTPAdapter"),
        ("OrderedSet", "OrderedSet"),
        ("the getName method", "getName"),
        ("max_redirects", "max_redirects"),
        ("MAX_SIZE", "MAX_SIZE"),
        ("_private_name", "_private_name"),
        ("max\\_redirects", "max_redirects"),
        ("`Session`", "Session"),
        ("**`Session`**", "Session"),
        ("class Session", "Session"),
        ("the Session class", "Session"),
        ("the `Session` class", "Session"),
        ("the exception Timeout", "Timeout"),
        ("`class Session`", "Session"),
        ("`_parse`", "_parse"),
        ("a_b", "a_b"),
        ("requests.adapters.HTTPAdapter", "HTTPAdapter"),
        ("my_package.core", "my_package"),
        ("self.max_redirects", "max_redirects"),
        ("tests/test_case", "test_case"),
        ("FooBar\u200bBaz", "FooBar\u200bBaz"),
    ],
)
def test_an_identifier_is_written_as_no_word_of_prose_is(text: str, name: str) -> None:
    assert named(text) == [(IDENTIFIER, name)]


@pytest.mark.parametrize(
    "text",
    [
        "The class is defined in the file that follows.",
        "This Session and that Response are Words.",
        "URLs, IDs, APIs and HTTP",
        "GitHub, JavaScript, PyPI",
        "ValueError and KeyError",
        "a NamedTuple, an OrderedDict",
        "`get` and `connect`",
        "the Python class, the Base class, this class",
        "iPhone and eBay",
        "_emphasis_ and *emphasis* and _so on_",
        "__init__ and __all__",
        "I used read_file and list_directory",
        "123_456 and 3.5",
        "well-known, self-contained",
        "`Content-Type`",
        "`GET /Users`",
        "requests.sessions",
        "A. Then B",
        "x",
    ],
)
def test_words_of_prose_are_no_identifiers(text: str) -> None:
    assert named(text) == []


def test_a_dotted_name_after_a_class_is_the_classes() -> None:
    (found,) = entities("HTTPAdapter.max_retries")
    assert (found.kind, found.name, found.owner) == (IDENTIFIER, "max_retries", "HTTPAdapter")
    (found,) = entities("`Session.trust`")
    assert (found.name, found.owner) == ("trust", "Session")
    assert named("I like Session.trust in prose") == []


def test_a_name_counts_once_where_it_stands_first() -> None:
    found = entities("HTTPAdapter is HTTPAdapter, in a.py and ./a.py")
    assert [(entity.name, entity.span[0]) for entity in found] == [("HTTPAdapter", 0), ("a.py", 31)]


def test_a_dotted_module_beside_a_path_is_no_entity_of_its_own() -> None:
    assert named("requests.adapters (src/requests/adapters.py)") == [(PATH, "src/requests/adapters.py")]


def test_code_in_a_fence_counts_by_names_not_by_capitals_of_its_prose() -> None:
    text = "```python\n# The session\nclass Pool(Base):\n    def run_all(self, max_size=3): ...\n```"
    assert named(text) == [(SIGNATURE, "Pool"), (SIGNATURE, "run_all"), (IDENTIFIER, "max_size")]


def test_a_product_counts_where_it_is_marked_as_code() -> None:
    assert named("It uses FastAPI.") == []
    assert named("The class `FastAPI` is there.") == [(IDENTIFIER, "FastAPI")]


def test_a_look_alike_is_another_name() -> None:
    cyrillic = "НТТРAdapter"
    assert named(cyrillic) == [(IDENTIFIER, cyrillic)]
    assert named("src/а.py") == [(PATH, "src/а.py")]
    assert named("src/а.py")[0][1] != "src/a.py"


def test_python_compares_names_in_nfkc() -> None:
    assert named("ﬁle_name") == [(IDENTIFIER, "file_name")]


def test_a_given_name_is_no_identifier() -> None:
    assert [entity.name for entity in entities("In my_tool it is run_it", "my_tool")] == ["run_it"]
    assert [entity.name for entity in entities("In my_tool.py it is run_it", "my_tool")] == ["my_tool.py", "run_it"]


def test_numbers_are_no_entities() -> None:
    assert named("line 42, 3.14, 0x1f, 1_000") == []


@pytest.mark.parametrize(
    ("path", "normal"), [("./a/b.py", "a/b.py"), ("a\\b.py", "a/b.py"), ("", ""), ("a/./b", "a/b")]
)
def test_normal_path(path: str, normal: str) -> None:
    assert normal_path(path) == normal


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_gives_entities_that_stand_in_it(text: str) -> None:
    places = [entity.span for entity in entities(text)]
    assert places == sorted(places)
    assert all(one[1] <= other[0] for one, other in pairwise(places))


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(("src/a.py", "HTTPAdapter", "max_size", "Session.get(", "the word", "`Foo`")), max_size=6)
)
def test_prose_between_entities_changes_none_of_them(parts: list[str]) -> None:
    text = " and then ".join(parts)
    alone = [pair for part in dict.fromkeys(parts) for pair in named(part)]
    assert named(text) == list(dict.fromkeys(alone))


@settings(deadline=None)
@given(st.text(alphabet="abcdefghij ,.;", max_size=200))
def test_small_letters_and_blanks_are_prose(text: str) -> None:
    assert entities_of(Answer.of(re.sub(r"\.(?=\S)", ". ", text)), PAPER.extensions) == []
