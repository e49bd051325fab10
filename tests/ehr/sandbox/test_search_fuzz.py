"""Whatever is asked, a search answers or refuses: nothing else comes out of it."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from ehr.sandbox.definitions import parameters
from ehr.sandbox.searching.latest import lastn
from ehr.sandbox.searching.search import SearchError, search
from tests.ehr.sandbox.randomfhir import random_resource
from tests.ehr.sandbox.test_search import view

TYPES = [
    "Patient",
    "Observation",
    "Encounter",
    "Location",
    "Group",
    "DocumentReference",
    "MolecularSequence",
    "CarePlan",
]
MODIFIERS = ["exact", "contains", "missing", "not", "text", "in", "not-in", "above", "below", "of-type", "identifier"]
MODIFIERS += ["Patient", "nope", "iterate", "", ":x", "missing:x", "desc"]
OTHERS = [
    "_sort",
    "_include",
    "_revinclude",
    "_filter",
    "_list",
    "_count",
    "_id",
    "_contained",
    "_query",
    "_has",
    "_x",
    "",
]
PIECES = [
    *"a1-.|,$\\\"() +/_%:*#[]\n\t\x00é\u0301\ud800",
    "ge", "2020", "T10", "Z", "9" * 20, "e9", "e999", "true", "Patient/", "urn:uuid:", "http://x/", " and ", " eq ",
]  # fmt: skip


def words(random: Random) -> str:
    return "".join(random.choice(PIECES) for _ in range(random.randint(0, 8)))


def a_name(random: Random, type: str) -> str:
    name = random.choice([*parameters(type), *OTHERS, words(random)])
    if random.random() < 0.1:
        name = (
            f"_has:Observation:patient:{random.choice(['code', 'date', '_has:Encounter:patient:class', words(random)])}"
        )
    if random.random() < 0.5:
        name += ":" + random.choice(MODIFIERS)
    if random.random() < 0.2:
        name += "." + random.choice(["name", "code", "_id", "_lastUpdated", "subject.name", words(random)])
    return name


def a_value(random: Random, type: str, name: str) -> str:
    codes = list(parameters(type))
    if name.startswith("_sort"):
        return ",".join(random.choice(["", "-"]) + random.choice([*codes, words(random)]) for _ in range(2))
    if name.startswith(("_include", "_revinclude")):
        return (
            f"{random.choice([*TYPES, '*', 'X'])}:{random.choice([*codes, '*'])}{random.choice(['', ':Patient', ':*'])}"
        )
    if name.startswith("_filter"):
        return (
            f"{random.choice(codes)} {random.choice(['eq', 'ne', 'co', 'gt', 'in', 're', 'pr', 'ss'])} {words(random)}"
        )
    return words(random)


WORLD = [random_resource(Random(n), type, str(n), TYPES) for type in TYPES for n in range(3)]
OVERLAY = view(WORLD[::2], WORLD[1::2])


@settings(max_examples=600, deadline=None)
@given(st.integers(0, 10**9))
def test_a_search_answers_or_refuses(seed: int):
    random = Random(seed)
    type = random.choice([*TYPES, "Binary", "Parameters"])
    names = [a_name(random, type) for _ in range(random.choice([1, 1, 2, 3]))]
    query = [(name, a_value(random, type, name)) for name in names]
    try:
        found = search(OVERLAY, type, query)
        page = found.matches[:20]
        assert found.total == len(found.matches) >= len(page)
        assert not set(page) & set(found.included(page))
        if type == "Observation":
            assert set(lastn(OVERLAY, query)) <= set(found.matches[:])
    except SearchError as refused:
        assert 400 <= refused.status < 500
        assert refused.diagnostics
