"""The policies, choice by choice. `paper` follows section 17.3 of the study."""

from __future__ import annotations

import pytest

from grounding import EXACT, MENTION, PAPER, POLICIES, CodePolicy, policy_named
from tests.grounding.build import ADAPTERS, entity, judged, read

FILE = read("src/requests/adapters.py", ADAPTERS)


def outcomes(answer: str, *calls: object) -> tuple[str, str, str]:
    """Under paper, mention and exact."""
    given = calls or (FILE,)
    paper, mention, exact = (judged(answer, *given, policy=policy).outcome for policy in (PAPER, MENTION, EXACT))  # type: ignore[arg-type]
    return paper, mention, exact


@pytest.mark.parametrize(
    ("answer", "paper", "mention", "exact"),
    [
        # paths: exact, after their normal form
        ("src/requests/adapters.py", "pass", "pass", "pass"),
        ("./src/requests/adapters.py", "pass", "pass", "pass"),
        ("src\\requests\\adapters.py", "pass", "pass", "pass"),
        ("adapters.py", "fail", "pass", "fail"),
        ("requests/adapters.py", "fail", "pass", "fail"),
        ("src/requests/Adapters.py", "fail", "fail", "fail"),
        ("src/requests/adapters.pyi", "fail", "fail", "fail"),
        ("lib/src/requests/adapters.py", "fail", "fail", "fail"),
        ("src/requests/аdapters.py", "fail", "fail", "fail"),
        # identifiers: a beginning of a definition, whatever its case
        ("HTTPAdapter", "pass", "pass", "pass"),
        ("HttpAdapter", "pass", "pass", "fail"),
        ("`HTTPAdap`", "pass", "pass", "fail"),
        ("HTTPAdapterX", "fail", "fail", "fail"),
        ("НTTPAdapter", "fail", "fail", "fail"),
        ("pool_size", "pass", "pass", "pass"),
        ("max_retries", "pass", "pass", "pass"),
        ("DEFAULT_POOLSIZE", "pass", "pass", "pass"),
        ("inner_helper", "pass", "pass", "pass"),
        ("local_value", "fail", "pass", "fail"),
        ("NotImplementedErr", "fail", "pass", "fail"),
        ("`Response`", "fail", "pass", "fail"),
        ("class Request", "fail", "pass", "fail"),
        # signatures: whole names, in their class where one is named
        ("get_adapter(", "pass", "pass", "pass"),
        ("Get_Adapter(", "pass", "pass", "fail"),
        ("get_adap(", "fail", "pass", "fail"),
        ("HTTPAdapter(", "pass", "pass", "pass"),
        ("HTTPAdapter.send(", "pass", "pass", "pass"),
        ("BaseAdapter.send(", "pass", "pass", "pass"),
        ("httpAdapter.send(", "pass", "pass", "pass"),
        ("Session.send(", "fail", "pass", "fail"),
        ("BaseAdapter.proxy_manager(", "fail", "pass", "fail"),
        ("HTTPAdapter.get_adapter(", "fail", "pass", "fail"),
        ("HTTPAdapter.inner_helper(", "fail", "pass", "fail"),
        ("DEFAULT_POOLSIZE(", "fail", "pass", "fail"),
        ("adapter.send(", "pass", "pass", "pass"),
        # dotted identifiers: in their class
        ("HTTPAdapter.max_retries", "pass", "pass", "pass"),
        ("BaseAdapter.max_retries", "fail", "pass", "fail"),
        ("requests.adapters.HTTPAdapter", "pass", "pass", "pass"),
        # modules: the dotted name of a file that was read
        ("the my_pkg.core module", "fail", "fail", "fail"),
    ],
)
def test_what_each_policy_takes(answer: str, paper: str, mention: str, exact: str) -> None:
    assert outcomes(answer) == (paper, mention, exact)


def test_a_lower_case_name_before_a_method_is_no_class() -> None:
    assert entity("httpAdapter.send(", FILE).text == "httpAdapter.send("


def test_the_module_of_a_file_that_was_read_is_supported() -> None:
    file = read("src/my_package/sub_module.py", "x = 1\n")
    assert outcomes("my_package.sub_module", file) == ("pass", "pass", "pass")
    assert outcomes("the sub_module", file) == ("pass", "pass", "pass")
    assert outcomes("My_Package", file) == ("pass", "pass", "fail")
    assert outcomes("sub_module.my_package", file) == ("fail", "fail", "fail")
    assert outcomes("other_module", file) == ("fail", "fail", "fail")
    assert judged("sub_module", file, policy=PAPER.varied(modules=False)).outcome == "fail"
    assert outcomes("my_package", read("src/my_package/__init__.py", "")) == ("pass", "pass", "pass")
    assert outcomes("__init__.py", read("src/my_package/__init__.py", "")) == ("fail", "pass", "fail")


def test_where_the_class_is_not_shown_the_method_is_enough() -> None:
    part = read("a.py", "    def send(self, request):\n        return 1\n")
    assert outcomes("HTTPAdapter.send(", part) == ("pass", "pass", "pass")
    assert outcomes("HTTPAdapter.sent(", part) == ("fail", "fail", "fail")


def test_a_name_set_where_its_context_is_not_shown_is_unscored() -> None:
    part = read("a.py", "    pool_size = 1\n\n    def send(self): ...\n")
    assert outcomes("HTTPAdapter and pool_size", part) == ("fail", "fail", "fail")
    assert outcomes("pool_size", part) == ("unscored", "pass", "unscored")


def test_kinds_of_definition_are_the_policys_choice() -> None:
    text = "__all__ = ['Foo_Bar']\nclass A:\n    max_size: int = 1\n"
    assert outcomes("Foo_Bar", read("a.py", text)) == ("fail", "pass", "fail")
    assert judged("Foo_Bar", read("a.py", text), policy=PAPER.varied(definitions=("export",))).outcome == "pass"
    assert (
        judged("max_size", read("a.py", text), policy=PAPER.varied(definitions=("class", "function"))).outcome == "fail"
    )


def test_a_mention_begins_a_word() -> None:
    file = read("a.py", "# see other_helper and x.inner_thing\n")
    assert judged("other_helper", file, policy=MENTION).outcome == "pass"
    assert judged("inner_thing", file, policy=MENTION).outcome == "pass"
    assert judged("r_helper", file, policy=MENTION).outcome == "fail"
    (found,) = judged("other_helper", file, policy=MENTION).entities
    assert (found.support[0].how, found.support[0].span) == ("mentioned", (6, 18))


def test_a_path_that_stands_in_a_text_is_mentioned() -> None:
    file = read("README.md", "see src/a.py for more")
    assert judged("src/a.py", file, policy=MENTION).outcome == "pass"
    assert judged("src/a.p", file, policy=MENTION).outcome == "vacuous"
    assert judged("rc/a.py", file, policy=MENTION).outcome == "fail"


@pytest.mark.parametrize(
    ("answer", "calls", "why"),
    [
        ("src/b.py", [FILE], "no read_file result is of this path"),
        ("adapters.py", [FILE], "no read_file result is of this path; call 1 read 'src/requests/adapters.py'"),
        ("OtherClass", [FILE], "no definition in any read_file result"),
        ("Session.send(", [FILE], "no read_file result shows a class Session"),
        ("BaseAdapter.proxy_manager(", [FILE], "call 1 shows proxy_manager defined in HTTPAdapter, not in BaseAdapter"),
        ("HTTPAdapter.get_adapter(", [FILE], "call 1 shows get_adapter defined outside of classes, not in HTTPAdapter"),
        ("src/b.py", [], "the trace has no read_file result"),
        ("src/b.py", [read("src/b.py", {"error": "no"}, status="error")], "no read_file of the trace succeeded"),
    ],
)
def test_what_is_not_supported_says_why(answer: str, calls: list[object], why: str) -> None:
    assert entity(answer, *calls).why == why  # type: ignore[arg-type]


def test_every_choice_is_in_the_digest() -> None:
    others = {
        "name": "mine", "reads": ("view",), "paths": "suffix", "definitions": ("class",), "whole": True,
        "ignore_case": False, "mentions": True, "modules": False, "extensions": ("py",), "refusals": ("No.",),
        "blocked": "sha256:0", "rules": 99,
    }  # fmt: skip
    assert set(others) == set(CodePolicy.model_fields)
    digests = {PAPER.varied(**{name: value}).digest for name, value in others.items()}
    assert len(digests) == len(others)
    assert PAPER.digest not in digests
    assert CodePolicy.read(PAPER.line()).digest == PAPER.digest


def test_policies_have_names() -> None:
    assert list(POLICIES) == ["paper", "mention", "exact"]
    assert policy_named("mention") is MENTION
    with pytest.raises(KeyError):
        policy_named("other")
