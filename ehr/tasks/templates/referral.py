"""Refer somebody to a specialist, with a note in the four parts of SBAR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ehr.tasks.chart import Chart
from ehr.tasks.drugs import Code, service_request
from ehr.tasks.expectations import service_order
from ehr.tasks.synthetic.codes import REFERRALS, SNOMED
from ehr.tasks.template import Case, Drawing, Finish, Template
from ehr.verify.expected import ClauseSpec, Expected, clause

_REASONS: tuple[tuple[str, tuple[str, str, str, str]], ...] = (
    ("orthopedics", ("new knee pain after a fall on the stairs", "no earlier injury, takes no blood thinner",
                      "swollen knee, suspected meniscal tear", "please examine and advise on imaging")),
    ("orthopedics", ("shoulder pain for six weeks, worse at night", "works overhead, physical therapy without effect",
                      "probable rotator cuff lesion", "please assess for injection or surgery")),
    ("cardiology", ("palpitations three times this week", "hypertension, otherwise well",
                    "irregular pulse at rest, no syncope", "please assess for rhythm monitoring")),
    ("cardiology", ("short of breath on one flight of stairs", "ankle swelling for a month",
                    "suspected heart failure", "please arrange echocardiography and review")),
    ("dietitian", ("unplanned loss of six kilograms in three months", "eats alone, poor appetite",
                   "at risk of malnutrition", "please advise on diet and supplements")),
    ("diabetes-nurse", ("new to insulin since last week", "lives alone, good eyesight",
                        "unsure how to inject", "please teach injection and self-monitoring")),
)  # fmt: skip


def draw(drawing: Drawing) -> tuple[Case, ...]:
    """One of some reasons; for every fifth or so, somebody who has a namesake."""
    dice = drawing.dice
    is_namesake = drawing.index % 5 == 2
    person = drawing.person(namesake=is_namesake)
    who, told = drawing.call(person)
    where, parts = _REASONS[drawing.index % len(_REASONS)]
    urgent = dice.chance(0.5)
    act = REFERRALS[where]
    code = Code(SNOMED, act.code, act.display)
    note = _note(parts)
    how = "urgently" if urgent else "as routine"
    instruction = drawing.say(
        f"Please refer {who} {how}, dated now: {code.display} ({code.spoken}). Put this note with it, word for word:"
        f' "{note}"',
        f"I need a referral for {who}, {code.display} ({code.spoken}), {how} and dated now. The note has to read"
        f' exactly: "{note}"',
        f'Order "{code.display}" ({code.spoken}) for {who}, {how}, dated now, with the following handover as its'
        " note, unchanged:"
        f' "{note}"',
    )
    order = service_order(person, code, drawing.clock, urgent=urgent)
    said = (*(_says(name, part) for name, part in _named(parts)), _word_for_word(note))
    order = order.model_copy(update={"clauses": (*order.clauses, *said)})
    return (
        Case(
            kind="write",
            patient=person.reference,
            instruction=instruction,
            parameters={"patient": told, "code": code.as_parameters(), "note": note, "urgent": urgent},
            setup=person.planted,
            expected=Expected(creates=(order,)),
            traps=drawing.namesake_traps(person),
        ),
    )


def _named(parts: tuple[str, str, str, str]) -> list[tuple[str, str]]:
    return list(zip(("Situation", "Background", "Assessment", "Recommendation"), parts, strict=True))


def _note(parts: tuple[str, str, str, str]) -> str:
    return ". ".join(f"{name}: {part}" for name, part in _named(parts)) + "."


def _says(name: str, part: str) -> ClauseSpec:
    return clause(f"note: {name}", f"note.where(text.contains('{name}: {part}')).exists()", label="WRONG_VALUE")


def _word_for_word(note: str) -> ClauseSpec:
    """The note and nothing else in it, however its lines are broken."""
    exactly = f"note.where(text.replaceMatches('\\\\s+', ' ').trim() = '{note}').exists()"
    return clause("note: word for word", exactly, label="WRONG_VALUE")


def oracle(chart: Chart, told: Mapping[str, Any]) -> Finish:
    """One referral with its note."""
    patient = chart.patient(told["patient"])
    priority = "urgent" if told["urgent"] else "routine"
    chart.create(service_request(patient, told["code"], chart.clock, priority=priority, note=[{"text": told["note"]}]))
    return Finish("done")


TEMPLATE = Template(
    name="specialist-referral",
    about="a referral with a note in the four parts of SBAR",
    draw=draw,
    oracle=oracle,
    blind=oracle,
    needs_chart=False,
    sources=("Institute for Healthcare Improvement. SBAR Tool: Situation-Background-Assessment-Recommendation. 2017",),
)
