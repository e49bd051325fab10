"""Rule 9: unscored where the path is at fault, a failed clause where the agent's resource is."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from ehr.verify import Create, Expected, Update, clause, coded, instant, problems, quantity, refers_to
from ehr.verify.clauses import World
from ehr.verify.clauses import check as check_clause
from ehr.verify.difference import parse
from ehr.verify.expected import ClauseSpec
from ehr.verify.expected import Instant as InstantSpec
from ehr.verify.fhirpath import PathError, check, evaluate, members, names
from tests.ehr.verify.build import CLOCK, Body, Chart, labels, message, order, potassium, state


def _expected(expression: str, type_name: str = "MedicationRequest") -> Expected:
    return Expected(creates=(Create(type=type_name, clauses=(clause("it", expression, label="WRONG_STATUS"),)),))


BROKEN = [
    "status = = 'active'",  # fhirpathpy alone answers true
    "status = 'active' trailing",
    "status = 'active' 'x'",
    "status = 'active",
    "status |",
    "(status = 'active'",
    "status = 'active')",
    "/* status",
    "",
    "§",
    "status.foo()",  # unknown functions
    "name.where(foo())",
    "memberOf('http://v.example')",
    "subject.resolve()",
    "%now",  # unknown variables
    "%`vs-x`",
    "authoredOn <= now()",  # the wall clock
    "authoredOn.toString() = today().toString()",
    "now ( ) > authoredOn",
    "status > 5",  # breaks wherever there is a status
    "status + 1",
    "status.length() > 'a'",
    "dosageInstruction.text > 5",  # also deeper
    "dosageInstruction.timing.repeat.count > 'a'",
    "a" * 5000,
    "(" * 3000 + "true" + ")" * 3000,
    ".".join(["a"] * 1500),
]


@pytest.mark.parametrize("expression", BROKEN, ids=lambda e: e[:40])
def test_a_broken_path_makes_the_verdict_unscored_pair_or_no_pair(expression: str) -> None:
    for acts in ([], [order()], [order(), order()], [potassium()]):
        chart = Chart()
        for body in acts:
            chart.create(body)
        for lens in (state, message):
            verdict = lens(chart, _expected(expression))
            assert (verdict.outcome, verdict.labels) == ("unscored", ())
            assert verdict.reason
            assert "creates[0].it" in verdict.reason


def test_a_broken_path_in_any_alternative_an_update_or_a_helper_is_a_problem() -> None:
    bad = clause("it", "status = = 'x'", label="WRONG_STATUS")
    update = Update(reference="MedicationRequest/mr0", may_change=("status",), clauses=(bad,))
    for expected in (
        Expected(updates=(update,)),
        Expected(any_of=(Expected(), Expected(updates=(update,)))),
        Expected(creates=(Create(type="Observation", clauses=(refers_to("p", "subject.", "Patient/p1"),)),)),
        Expected(creates=(Create(type="Observation", clauses=(coded("c", "code.foo()", "s", "c"),)),)),
        Expected(creates=(Create(type="Observation", clauses=(quantity("q", "value..", 1, "g"),)),)),
    ):
        assert len(problems(expected)) == 1
        chart = Chart()
        chart.create(order())
        assert state(chart, expected).outcome == "unscored"


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (quantity("q", "value", "two", "g"), "creates[0].q: 'two' is no decimal"),
        (quantity("q", "value", "NaN", "g"), "creates[0].q: 'NaN' is no decimal"),
        (quantity("q", "value", 2, "grams"), "creates[0].q: 'grams' is no UCUM unit"),
        (quantity("q", "value", 2, "g", tolerance="some"), "creates[0].q: 'some' is no decimal"),
        (quantity("q", "value", 2, "mg/dL", analyte="x"), "creates[0].q: no molar mass for analyte 'x'"),
        (
            instant("i", "effective", "2026-01-15", within=__import__("datetime").timedelta(0)),
            "creates[0].i: '2026-01-15' is no instant with a time and a zone",
        ),
        (
            ClauseSpec(name="i", label="WRONG_TIME", instant=InstantSpec(path="effective", at=CLOCK, within="soon")),
            "creates[0].i: 'soon' is not a duration",
        ),
    ],
)
def test_a_helper_that_nobody_could_judge_is_a_problem_told_in_a_sentence(spec: ClauseSpec, sentence: str) -> None:
    found = problems(Expected(creates=(Create(type="Observation", clauses=(spec,)),)))
    assert len(found) == 1
    assert found[0].startswith(sentence)


def test_unknown_types_references_and_elements_are_problems() -> None:
    assert problems(Expected(creates=(Create(type="Drug", clauses=()),))) == (
        "creates[0] names 'Drug', which is no R4 resource type",
    )
    for reference in ("p1", "Patient/", "Drug/d1"):
        assert problems(Expected(updates=(Update(reference=reference, may_change=()),)))
        assert problems(Expected(deletes=(reference,))) == (
            f"deletes[0] names {reference!r}, which is no reference such as 'Patient/p1'",
        )
    for path in ("telcom", "telecom.phone", "valueQuantity", "telecom[0]", "", "name.given.first"):
        assert problems(Expected(updates=(Update(reference="Patient/p1", may_change=(path,)),))) == (
            f"updates[0] may change {path!r}, which Patient has not (a choice goes by its stem)",
        )
    sound = ("telecom", "name.given", "birthDate", "birthDate.extension", "deceased", "contained.name", "meta.tag",
             "extension.value", "contact.name.family", "text.div")  # fmt: skip
    assert problems(Expected(updates=(Update(reference="Patient/p1", may_change=sound),))) == ()
    assert problems(Expected(updates=(Update(reference="Observation/o", may_change=("value", "value.unit")),))) == ()


SOUND = [
    "status = 'active' and intent = 'order'",
    "status = 'now()' or true",
    "status.exists() // now()",
    "subject.reference.startsWith('Patient/')",
    "medication.coding.where(system = 'x').exists().not()",
    "medication.coding.all(code.exists())",
    "dosageInstruction.doseAndRate.dose.value = 2",
    "dosageInstruction.doseAndRate.dose.value >= 1.9",
    "dosageInstruction.doseAndRate.dose.where(unit = 'g').exists()",
    "authoredOn > @2026-01-15T10:00:00Z",
    "authoredOn.toString().startsWith('2026-01-15')",
    "dosageInstruction.count() = 1",
    "dosageInstruction.single().exists()",
    "iif(status = 'active', true, false)",
    "`status` ~ 'ACTIVE'",
    "%resource.status = %context.status",
    "(status | intent) = ('active' | 'order')",
    "(status | intent) != ('active' | 'plan')",
    "status in ('active' | 'draft')",
    "status",
    "note.empty()",
]


@pytest.mark.parametrize("expression", SOUND)
def test_a_sound_path_is_no_problem_and_holds_of_the_right_order(expression: str) -> None:
    assert problems(_expected(expression)) == ()
    assert labels(_expected(expression), order()) == ()


@pytest.mark.parametrize(
    "expression",
    [
        "status = 'stopped'",
        "note.text = 'x'",  # finds nothing
        "note.exists()",
        "{}",
        "dosageInstruction.doseAndRate.dose.value > 2",
        "medication.coding.code = 'other'",
        "(status = 'active') | (intent = 'plan')",  # one of them false
        "(status | intent) = ('active' | 'plan')",  # not only the first
        "(status | intent) != ('active' | 'order')",
        "(status | intent) = 'active'",
        "status = {}",
        "authoredOn = @2026-01-15",  # neither equal nor not, for the one says no time of day
    ],
)
def test_false_nothing_and_a_mixture_fail(expression: str) -> None:
    assert labels(_expected(expression), order()) == ("WRONG_STATUS",)


@pytest.mark.parametrize(
    ("expression", "sound", "odd"),
    [
        ("note.single().text = 'x'", {"note": [{"text": "x"}]}, {"note": [{"text": "x"}, {"text": "x"}]}),
        ("note.single().exists()", {"note": [{"text": "x"}]}, {"note": [{"text": "x"}, {"text": "y"}]}),
        ("note.single().text.exists().not() or note.empty()", {}, {"note": [{"text": "x"}, {"text": "y"}]}),
        ("note.text.contains('x')", {"note": [{"text": "x"}]}, {"note": [{"text": {"x": 1}}]}),
        ("note.text.startsWith('x')", {"note": [{"text": "x"}]}, {"note": [{"text": "x"}, {"text": "x"}]}),
        ("priority.length() = 4", {"priority": "stat"}, {"priority": [1, 2]}),
        ("authoredOn > @2026-01-15T10:00:00Z", {}, {"authoredOn": 7}),
        ("authoredOn > @2026-01-15T10:00:00Z", {}, {"authoredOn": "soon"}),
    ],
)
def test_an_odd_resource_fails_the_clause_and_never_makes_it_unscored(expression: str, sound: Body, odd: Body) -> None:
    assert labels(_expected(expression), order(**sound)) == ()
    assert labels(_expected(expression), order(**odd)) == ("WRONG_STATUS",)


@pytest.mark.parametrize(
    ("expression", "actual"), [("status = 'active'", "true"), ("status = 'x'", "false"), ("note.text", "nothing")]
)
def test_the_finding_says_what_the_expression_came_to(expression: str, actual: str) -> None:
    chart = Chart()
    chart.create(order())
    assert state(chart, _expected(expression)).clauses[0].actual == actual


def test_a_clause_that_breaks_on_the_resource_says_why() -> None:
    chart = Chart()
    chart.create(order(note=[{"text": "x"}, {"text": "x"}]))
    verdict = state(chart, _expected("note.single().text = 'x'"))
    assert verdict.clauses[0].why == "\"note.single().text = 'x'\" cannot be evaluated: Expected single"


def test_a_type_error_on_one_kind_of_value_is_the_resources_fault() -> None:
    expected = _expected("value.contains('high')", "Observation")
    assert problems(expected) == ()
    assert labels(expected, potassium(valueQuantity=None, valueString="too high")) == ()
    assert labels(expected, potassium()) == ("WRONG_STATUS",)


def test_evaluation_gives_back_the_objects_themselves_and_leaves_the_resource_alone() -> None:
    resource = parse('{"resourceType":"Observation","valueQuantity":{"value":1.80},"component":[{"valueString":"x"}]}')
    before = deepcopy(resource)
    assert evaluate("value", resource)[0] is resource["valueQuantity"]
    assert evaluate("component.value", resource) == ["x"]
    assert str(evaluate("value.value", resource)[0]) == "1.80"
    assert evaluate("nothing.at.all", resource) == []
    assert resource == before


def test_a_trace_in_an_expression_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate("status.trace('here') = 'final'", {"resourceType": "Observation", "status": "final"}) == [True]
    assert capsys.readouterr().out == ""


def test_a_resource_without_a_type_is_judged_too() -> None:
    resource: dict[str, Any] = {"status": "final"}
    assert evaluate("status", resource) == ["final"]
    with pytest.raises(PathError) as raised:
        evaluate("status > 5", resource)
    assert not raised.value.of_path


def test_an_expression_that_does_not_parse_is_at_fault_itself() -> None:
    with pytest.raises(PathError, match=r"is no FHIRPath: at column 10") as raised:
        evaluate("status = = 'x'", {"resourceType": "Observation"})
    assert raised.value.of_path
    with pytest.raises(PathError, match=r"reads the wall clock; write the task's clock out instead"):
        check("now() > effective", "Observation")


def test_a_clause_that_does_not_parse_raises_where_nobody_looked_before() -> None:
    with pytest.raises(PathError) as raised:
        check_clause(clause("it", "status = = 'x'", label="WRONG_STATUS"), {"resourceType": "Observation"}, World())
    assert raised.value.of_path


def test_an_expression_of_an_unknown_type_is_tried_on_nothing() -> None:
    check("status > 5", "Drug")


def test_what_nests_too_deeply_in_a_resource_is_its_own_fault() -> None:
    deep: dict[str, Any] = {"url": "u"}
    for _ in range(190):
        deep = {"url": "u", "extension": [deep]}
    body = order(extension=[deep])
    assert labels(_expected("descendants().where(url = 'x').exists()"), body) == ("WRONG_STATUS",)
    assert labels(_expected("status = 'active'"), body) == ()


def test_names_are_those_outside_of_texts_and_remarks() -> None:
    assert names("status = 'intent' // priority") == {"status"}
    assert names("a.b(c) and `d`.e /* f */") >= {"a", "b", "c", "e"}
    assert "f" not in names("a /* f */")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("status = 'active' and intent = 'order'", {("", "status"), ("", "intent")}),
        ("Observation.status", {("", "status")}),
        ("$this.status", {("", "status")}),
        (
            "component.where(code = 'x').value",
            {("", "component"), ("component.where(code = 'x')", "code"), ("component.where(code = 'x')", "value")},
        ),
        ("where(status = 'x').exists()", {("", "status")}),
        ("Observation.where(status = 'x')", {("", "status")}),
        ("component.select(value)", {("", "component")}),
        ("component.exists($this.value > 1)", {("", "component"), ("component.where($this.value > 1)", "value")}),
        ("component.exists(%resource.status = 'x')", {("", "component"), ("", "status")}),
        ("%context.status", {("", "status")}),
        ("component[0].value > 1", {("", "component"), ("component[0]", "value")}),
        ("iif(status = 'x', `intent`, true)", {("", "status"), ("", "intent")}),
        ("'status'", set()),
        ("a.b.c.d", {("", "a"), ("a", "b"), ("a.b", "c"), ("a.b.c", "d")}),
        (
            "a.b.where(c.d = 1).e",
            {
                ("", "a"),
                ("a", "b"),
                ("a.b.where(c.d = 1)", "c"),
                ("a.b.where(c.d = 1).c", "d"),
                ("a.b.where(c.d = 1)", "e"),
            },
        ),
    ],
)
def test_members_are_the_elements_an_expression_goes_to_and_from_where(
    expression: str, expected: set[tuple[str, str]]
) -> None:
    assert members(expression) == expected
