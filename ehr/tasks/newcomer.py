"""People who are not in the record, made like those who are: so that a template can be drawn on any record."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

from ehr.tasks.clone import clone, elements, scrambled
from ehr.tasks.synthetic.draw import Draw
from ehr.tasks.truth import age, instant
from ehr.tasks.ward import Person, Resource, Ward


def newcomer(ward: Ward, dice: Draw, people: Sequence[Person], *, born: str) -> Person:
    """Somebody born on that day whose given name and family name come from two people of the record."""
    attempts = 0
    while True:
        first, second = dice.pick(people), dice.pick(people)
        pattern = dice.pick([person for person in people if person.gender == first.gender])
        person = _made(ward, dice, pattern, first.given, second.family, born)
        attempts += 1
        if ward.has_own_name(person) or attempts == 50:  # a record of one or two names has no other combination
            return person


def namesake_of(person: Person, ward: Ward, dice: Draw) -> Person:
    """Somebody new with this person's name, and another birth date."""
    years = age(person.birth_date, ward.now.date())
    other = years
    while abs(other - years) < 2:
        other = dice.whole(max(20, years - 15), max(35, years + 12))
    made = _made(ward, dice, person, person.given, person.family, birth_of(ward, dice, other))
    return replace(made, double=person)


def birth_of(ward: Ward, dice: Draw, years: int) -> str:
    """A birth date of so many completed years, never within a week of the birthday."""
    today = ward.now.date()
    day = date(today.year - years, today.month, min(today.day, 28)) - timedelta(days=dice.whole(8, 350))
    return day.isoformat()


def _made(ward: Ward, dice: Draw, pattern: Person, given: str, family: str, born: str) -> Person:
    patient: Resource = copy.deepcopy(pattern.resource)
    patient.pop("text", None)
    for link in ("link", "contact", "photo"):
        patient.pop(link, None)
    patient["id"] = ward.shape("Patient").several(1, dice, lambda id: ward.is_taken("Patient", id))[0]
    patient["birthDate"] = born
    patient["name"] = [_named(name, given, family) for name in patient["name"][:1]]
    for identifier in patient.get("identifier", ()):
        identifier["value"] = scrambled(str(identifier.get("value", "")), dice)
    for contact in patient.get("telecom", ()):
        contact["value"] = _contact(str(contact.get("value", "")), dice, given, family)
    for address in patient.get("address", ()):
        address["line"] = [scrambled(line, dice) for line in address.get("line", ())] or ["1 New Road"]
    person = Person.of(patient, (patient,))
    assert person is not None, "a person made like another has a name and a birth date"
    return replace(person, planted=(patient, *_encounter(ward, dice, person)))


def _named(name: Resource, given: str, family: str) -> Resource:
    told = {**name, "given": [given], "family": family}
    if "text" in name:
        told["text"] = f"{given} {family}"
    return told


def _contact(value: str, dice: Draw, given: str, family: str) -> str:
    """An address of the new name; a number that differs in its last digits (555-01xx stays free for fiction)."""
    if "@" in value:
        return f"{given}.{family}{dice.whole(1, 99)}@{value.split('@')[1]}".lower().replace(" ", "")
    if "555-01" in value:
        before, after = value.split("555-01", 1)
        return before[:-4] + f"{dice.whole(201, 980)}-555-01" + scrambled(after, dice)
    return value[:-4] + scrambled(value[-4:], dice)


def _encounter(ward: Ward, dice: Draw, person: Person) -> tuple[Resource, ...]:
    """A stay that began some days ago, so that rows of the newcomer have an encounter where others have one."""
    examples = [row for row in ward.examples("Encounter") if "start" in row.get("period", {})]
    if not examples:
        return ()
    open_ = [row for row in examples if row.get("status") == "in-progress"]
    id = ward.shape("Encounter").several(1, dice, lambda id: ward.is_taken("Encounter", id))[0]
    began = ward.now - timedelta(days=dice.whole(2, 6), minutes=dice.whole(0, 1400))
    for example in (*dice.shuffled(open_), *dice.shuffled(examples)):
        made = clone(example, ward, dice, person, id, moved=began - instant(example["period"]["start"]))
        if elements(made) == elements(example):  # nothing of it leads into another chart
            return (made,)
    return ()
