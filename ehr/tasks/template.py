"""What a template is: it draws tasks from a record by seed, and knows how to play them well and blindly.

A template is a module that ends in one `Template` value. Its `draw` looks at the record through a `Drawing`, plants
what it needs, and gives one `Case`, or a pair of twins: the same instruction and parameters, one planted fact
different, and so another right act. Its `oracle` plays a case through the tools alone: it is given a `Chart` and the
case's parameters, which hold what the instruction tells and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from ehr.tasks.careless import namesake_trap
from ehr.tasks.newcomer import birth_of, namesake_of, newcomer
from ehr.tasks.synthetic.draw import Draw
from ehr.tasks.truth import age
from ehr.tasks.ward import Person, Resource, Ward
from ehr.verify.expected import NOTHING, Answer, Expected
from harness.task import Kind

if TYPE_CHECKING:
    from ehr.tasks.chart import Chart

ADULT = (18, 110)
"""The ages, in years, of people who are taken from the record."""

_NOBODY = "nobody of {number} people aged {ages[0]} to {ages[1]} has what it needs"


class CannotDrawError(Exception):
    """A template cannot be drawn on this record; the message says why, for the user."""


@dataclass(frozen=True)
class Case:
    """One task as drawn. `parameters` is what the instruction tells, for the baselines; twins have the same."""

    kind: Kind
    patient: str | None
    instruction: str
    parameters: Mapping[str, Any]
    setup: Sequence[Resource] = ()
    expected: Expected = NOTHING
    answer: Answer | None = None
    traps: frozenset[str] = frozenset()

    @property
    def requires(self) -> tuple[str, ...]:
        """The lenses that make success: `state` always, `answer` wherever something is asked."""
        return ("state",) if self.answer is None else ("state", "answer")


@dataclass(frozen=True)
class Finish:
    """How a baseline ends a task."""

    outcome: str
    answer: Sequence[str | int | float] = ()
    note: str = ""

    def as_arguments(self) -> dict[str, Any]:
        """What the tool `finish` takes."""
        return {"outcome": self.outcome, "answer": list(self.answer), "note": self.note}


Play = Callable[["Chart", Mapping[str, Any]], Finish]


@dataclass(frozen=True)
class Template:
    """A kind of task. `draw` gives one case, or two where `twins` is true.

    `needs_chart` says whether anything but the Patient resource must be read. `oracle` plays like an excellent agent;
    `blind` looks the patient up and does the best act that does not depend on anything else. `sources` name where every
    clinical threshold was published (title, year).
    """

    name: str
    about: str
    draw: Callable[[Drawing], tuple[Case, ...]]
    oracle: Play
    blind: Play
    needs_chart: bool = True
    twins: bool = False
    sources: tuple[str, ...] = ()


@dataclass
class Drawing:
    """The drawing of one task: the record, the dice of this task, and who was used by the template's tasks before."""

    ward: Ward
    template: str
    index: int
    seed: int
    used: set[str] = field(default_factory=set)
    stage: str = "task"

    def __post_init__(self) -> None:
        self.dice = Draw(self.stage, self.seed, self.template, self.index)

    def dice_of(self, id: str) -> Draw:
        """Dice of one planted row, so that what it is made like does not move the dice of the task."""
        return Draw("row", self.seed, self.template, self.index, id)

    @property
    def now(self) -> datetime:
        """The record's clock."""
        return self.ward.now

    @property
    def clock(self) -> str:
        """The record's clock as it is written."""
        return self.ward.clock

    @property
    def today(self) -> date:
        """The clock's day."""
        return self.now.date()

    def ago(self, **units: float) -> datetime:
        """So long before the clock: `ago(hours=3)`."""
        return self.now - timedelta(**units)

    def say(self, *phrasings: str) -> str:
        """One of several ways to say the same, as a sentence."""
        said = self.dice.pick(phrasings)
        return said[0].upper() + said[1:]

    def person(
        self,
        fits: Callable[[Person], bool] | None = None,
        *,
        namesake: bool = False,
        everyone: bool = False,
    ) -> Person:
        """Somebody of the record whom this template has not used, of `ADULT` age, and who `fits`.

        With `namesake`, somebody new with the name of such a person, and another birth date. Where nobody fits,
        somebody new. With `everyone`, nobody new in that case: raises `CannotDrawError`.
        """
        people = [p for p in self._somebody() if ADULT[0] <= age(p.birth_date, self.today) <= ADULT[1]]
        if namesake:
            order = self.dice.shuffled([person for person in people if self.ward.has_own_name(person)])
            double = next((person for person in order if fits is None or fits(person)), None)
            if double is None and everyone:
                raise CannotDrawError(_NOBODY.format(number=len(people), ages=ADULT))
            return namesake_of(double or (order or self._somebody())[0], self.ward, self.dice)
        order = self.dice.shuffled(people)
        order = [p for p in order if p.id not in self.used] + [p for p in order if p.id in self.used]
        for person in order:
            if fits is None or fits(person):
                self.used.add(person.id)
                return person
        if everyone:
            raise CannotDrawError(_NOBODY.format(number=len(people), ages=ADULT))
        return newcomer(self.ward, self.dice, self._somebody(), born=self._birth())

    def somebody_born(self, birth_date: str) -> Person:
        """Somebody new, born on that day."""
        return newcomer(self.ward, self.dice, self._somebody(), born=birth_date)

    def _birth(self) -> str:
        return birth_of(self.ward, self.dice, self.dice.whole(21, 88))

    def namesake_traps(self, person: Person) -> frozenset[str]:
        """The trap that somebody's double is, where a search by name lists the double first."""
        return namesake_trap(person.id, person.double.id) if person.double else frozenset()

    def _somebody(self) -> list[Person]:
        if not self.ward.people:
            raise CannotDrawError("the record has no living patient with a full name, a birth date and an MRN")
        return self.ward.people

    def call(self, person: Person) -> tuple[str, dict[str, str]]:
        """How the instruction names a person, and the same for the baselines: by MRN, or by name and birth date.

        Somebody who has a namesake is called by name, so that it matters; others now and then, where it is clear.
        """
        by_name = self.dice.chance(0.3) and self.ward.has_own_name(person)
        if person.double or by_name or person.mrn is None:
            words = f"{person.name} (born {spoken_date(date.fromisoformat(person.birth_date))})"
            return words, {"given": person.given, "family": person.family, "birth_date": person.birth_date}
        words = self.dice.pick((f"{person.name} (MRN {person.mrn})", f"the patient with MRN {person.mrn}"))
        return words, {"mrn": person.mrn}


Fact = TypeVar("Fact")


def twins(drawing: Drawing, build: Callable[[Drawing, Fact], Case], facts: tuple[Fact, Fact]) -> tuple[Case, Case]:
    """Two cases that `build` makes with the same dice, each with its own fact."""
    second = replace(drawing, stage="twin", used=set(drawing.used))
    first = replace(drawing, stage="twin")
    return build(first, facts[0]), build(second, facts[1])


def spoken_date(day: date) -> str:
    """`2 April 1961`."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def spoken_time(at: datetime) -> str:
    """`2 April 1961 at 07:40` in the zone of `at`, which is the clock's; with seconds where there are any."""
    return f"{spoken_date(at.date())} at {at:%H:%M:%S}" if at.second else f"{spoken_date(at.date())} at {at:%H:%M}"


_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
