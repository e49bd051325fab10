"""Laws of the predicate, for traces and answers of every shape."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from grounding import EXACT, MENTION, PAPER, CodePolicy
from grounding.predicate import outcome_of
from harness.trace import Call
from tests.grounding.build import call, judged, read

CLASSES = ("HTTPAdapter", "BasePool", "RetryPolicy", "Cookie_Jar")
FUNCTIONS = ("get_adapter", "send_all", "close_pool", "merge_hooks")
FIELDS = ("max_size", "pool_limit", "DEFAULT_TTL")
PATHS = ("src/a.py", "src/b.py", "src/core/pool.py", "src/core/__init__.py", "docs/guide.md")
NAMES = (*CLASSES, *FUNCTIONS, *FIELDS)
ENTITIES = (
    *PATHS, *NAMES, *(f"{name}(" for name in FUNCTIONS), *(f"{c}.{f}(" for c in CLASSES for f in FUNCTIONS),
    *(f"{c}.{f}" for c in CLASSES for f in FIELDS), "core.pool", "src/c.py", "OtherThing", "other_thing",
)  # fmt: skip

policies = st.sampled_from((PAPER, MENTION, EXACT))
answers = st.lists(st.sampled_from(ENTITIES), min_size=1, max_size=5).map(" and ".join)


@st.composite
def files(draw: st.DrawFn) -> str:
    """A Python file of some of the names."""
    parts = []
    for name in draw(st.lists(st.sampled_from(CLASSES), unique=True, max_size=3)):
        methods = draw(st.lists(st.sampled_from(FUNCTIONS), unique=True, max_size=2))
        fields = draw(st.lists(st.sampled_from(FIELDS), unique=True, max_size=2))
        body = [f"    {field} = 1" for field in fields] + [f"    def {method}(self): ..." for method in methods]
        parts.append("\n".join([f"class {name}:", *(body or ["    pass"])]))
    parts += [f"def {name}(x): ..." for name in draw(st.lists(st.sampled_from(FUNCTIONS), unique=True, max_size=2))]
    parts += [f"{name} = 1" for name in draw(st.lists(st.sampled_from(FIELDS), unique=True, max_size=1))]
    return "\n\n\n".join(draw(st.permutations(parts))) + "\n"


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """A read of a file or of a part of one, a failed read, a listing, or a read that was cut."""
    path = draw(st.sampled_from(PATHS))
    text = draw(files())
    kind = draw(st.sampled_from(("whole", "whole", "part", "failed", "listing", "tool", "recorder")))
    if kind == "failed":
        return read(path, {"error": "no such file"}, status="error")
    if kind == "listing":
        return call("list_directory", {"path": "."}, "\n".join(PATHS))
    if kind == "part":
        lines = text.split("\n")
        first = draw(st.integers(0, len(lines) - 1))
        text = "\n".join(lines[first : first + draw(st.integers(1, 8))])
    return read(path, text, cut_by=kind if kind in ("tool", "recorder") else None)


traces = st.lists(calls(), max_size=5)


@settings(deadline=None)
@given(traces, answers, policies)
def test_the_verdict_is_the_same_every_time(made: list[Call], answer: str, policy: CodePolicy) -> None:
    assert judged(answer, *made, policy=policy) == judged(answer, *made, policy=policy)


@settings(deadline=None)
@given(traces, answers, calls(), st.integers(0, 5), policies)
def test_one_more_call_never_turns_a_pass_into_a_fail(
    made: list[Call], answer: str, extra: Call, at: int, policy: CodePolicy
) -> None:
    before = judged(answer, *made, policy=policy)
    after = judged(answer, *made[:at], extra, *made[at:], policy=policy)
    for one, other in zip(before.entities, after.entities, strict=True):
        assert one.outcome != "pass" or other.outcome == "pass"
    assert before.outcome != "pass" or after.outcome == "pass"


@settings(deadline=None)
@given(traces, answers, policies)
def test_without_the_calls_that_support_an_entity_nothing_supports_it(
    made: list[Call], answer: str, policy: CodePolicy
) -> None:
    for at, entity in enumerate(judged(answer, *made, policy=policy).entities):
        support = {each.call for each in entity.support}
        rest = [each for place, each in enumerate(made, 1) if place not in support]
        left = judged(answer, *rest, policy=policy).entities[at]
        assert not entity.support or left.outcome != "pass"


@settings(deadline=None)
@given(st.lists(st.builds(read, st.sampled_from(PATHS), files()), min_size=1, max_size=4), answers, policies)
def test_removing_the_only_support_turns_a_pass_into_a_fail(made: list[Call], answer: str, policy: CodePolicy) -> None:
    for at, entity in enumerate(judged(answer, *made, policy=policy).entities):
        if not entity.support:
            continue
        rest = [each for place, each in enumerate(made, 1) if place not in {support.call for support in entity.support}]
        left = judged(answer, *rest, policy=policy)
        assert (left.outcome, left.entities[at].outcome) == ("fail", "fail")


@settings(deadline=None)
@given(traces, answers, st.randoms(use_true_random=False), policies)
def test_the_order_of_calls_plays_no_part(made: list[Call], answer: str, draw: object, policy: CodePolicy) -> None:
    shuffled = list(made)
    draw.shuffle(shuffled)  # type: ignore[attr-defined]
    before, after = judged(answer, *made, policy=policy), judged(answer, *shuffled, policy=policy)
    assert [each.outcome for each in before.entities] == [each.outcome for each in after.entities]


@settings(deadline=None)
@given(traces, answers, st.integers(0, 4), policies)
def test_reading_twice_is_as_good_as_reading_once(made: list[Call], answer: str, at: int, policy: CodePolicy) -> None:
    before, after = judged(answer, *made, policy=policy), judged(answer, *made, *made[at : at + 1], policy=policy)
    assert [each.outcome for each in before.entities] == [each.outcome for each in after.entities]


@settings(deadline=None)
@given(traces, answers, policies)
def test_a_consistent_renaming_of_trace_and_answer_changes_nothing(
    made: list[Call], answer: str, policy: CodePolicy
) -> None:
    renamed = [_renamed(each) for each in made]
    before, after = judged(answer, *made, policy=policy), judged(_rename(answer), *renamed, policy=policy)
    assert [each.outcome for each in before.entities] == [each.outcome for each in after.entities]
    assert [each.kind for each in before.entities] == [each.kind for each in after.entities]
    assert [[s.call for s in each.support] for each in before.entities] == [
        [s.call for s in each.support] for each in after.entities
    ]


@settings(deadline=None)
@given(traces, answers)
def test_what_is_exact_is_in_paper_and_what_is_in_paper_is_mentioned(made: list[Call], answer: str) -> None:
    exact, paper, mention = (judged(answer, *made, policy=policy) for policy in (EXACT, PAPER, MENTION))
    for narrow, wide in ((exact, paper), (paper, mention)):
        for one, other in zip(narrow.entities, wide.entities, strict=True):
            assert one.outcome != "pass" or other.outcome == "pass"


@settings(deadline=None)
@given(traces, answers, policies)
def test_a_recorders_cut_turns_fails_into_unscored_and_nothing_else(
    made: list[Call], answer: str, policy: CodePolicy
) -> None:
    sound = [each for each in made if each.cut_by is None]
    cut = [each.model_copy(update={"cut_by": "recorder"}) for each in sound]
    is_doubtful = any(each.name == "read_file" and each.status == "ok" for each in cut)
    before, after = judged(answer, *sound, policy=policy), judged(answer, *cut, policy=policy)
    for one, other in zip(before.entities, after.entities, strict=True):
        assert other.outcome == ("unscored" if one.outcome == "fail" and is_doubtful else one.outcome)


@settings(deadline=None)
@given(traces, st.lists(st.sampled_from(ENTITIES), min_size=1, max_size=4, unique=True), policies)
def test_an_answer_is_judged_as_its_entities_are_alone(
    made: list[Call], parts: Sequence[str], policy: CodePolicy
) -> None:
    alone = [judged(part, *made, policy=policy).outcome for part in parts]
    together = judged(" and ".join(parts), *made, policy=policy).outcome
    assert together == outcome_of([outcome for outcome in alone if outcome != "vacuous"])


_NEW = {
    "HTTPAdapter": "GRPCTransport", "BasePool": "RootStack", "RetryPolicy": "AgainRules", "Cookie_Jar": "Token_Box",
    "get_adapter": "find_transport", "send_all": "emit_each", "close_pool": "shut_stack", "merge_hooks": "join_traps",
    "max_size": "top_width", "pool_limit": "stack_bound", "DEFAULT_TTL": "INITIAL_AGE", "OtherThing": "MoreStuff",
    "other_thing": "more_stuff", "core": "heart", "pool": "stack", "src": "lib", "guide": "manual",
}  # fmt: skip
_OLD = re.compile(r"(?<![A-Za-z_])(?:" + "|".join(sorted(_NEW, key=len, reverse=True)) + r")(?![A-Za-z_])")


def _rename(text: str) -> str:
    return _OLD.sub(lambda match: _NEW[match[0]], text)


def _renamed(one: Call) -> Call:
    def deep(value: object) -> object:
        if isinstance(value, dict):
            return {key: deep(item) for key, item in value.items()}
        return _rename(value) if isinstance(value, str) else value

    return one.model_copy(update={"arguments": deep(one.arguments), "result": deep(one.result)})
