"""What the allergy templates share: drug families, allergies to plant, and people whose list leaves no doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from ehr.tasks import truth
from ehr.tasks.drugs import Code
from ehr.tasks.planting import new_ids
from ehr.tasks.rows import allergy
from ehr.tasks.synthetic.codes import ALLERGENS, REACTIONS, Allergen
from ehr.tasks.template import Drawing
from ehr.tasks.ward import Person, Resource


@dataclass(frozen=True, slots=True)
class Family:
    """Drugs of which an allergy to one forbids the others: how people call it, and parts of their names."""

    word: str
    parts: tuple[str, ...]

    def has(self, name: str) -> bool:
        """Whether an allergen's name belongs to the family."""
        return any(part in name.lower() for part in self.parts)


PENICILLINS: Final = Family("a penicillin", ("cillin",))
SULFONAMIDES: Final = Family("a sulfonamide antibiotic", ("sulfa", "sulfon"))
NSAIDS: Final = Family("an NSAID (ibuprofen, naproxen, aspirin)", ("ibuprofen", "naproxen", "aspirin", "salicyl"))
_NONE_KNOWN: Final = "known"


def allergens(family: Family, *, inside: bool) -> list[Allergen]:
    """The allergens of the synthetic record's table that belong to a family, or that do not."""
    return [found for found in ALLERGENS if family.has(found.display) == inside]


def coded(allergen: Allergen) -> Code:
    """The allergen's code."""
    return Code(allergen.system, allergen.code, allergen.display)


def reaction(drawing: Drawing) -> tuple[str, str, str]:
    """A reaction: SNOMED CT code, words, severity."""
    return drawing.dice.pick(REACTIONS)


def two_on_file(
    drawing: Drawing, person: Person, fact: Allergen, other: Allergen, *, verification: str = "confirmed"
) -> tuple[Resource, Resource]:
    """Two planted allergies in the order of storage, of which `fact` has this verification and `other` is confirmed.

    What is drawn depends on neither, so that twins differ in nothing else.
    """
    dice = drawing.dice
    ids = new_ids(drawing, "AllergyIntolerance", 2)
    ages = [timedelta(minutes=dice.whole(20_000, 2_000_000)) for _ in range(2)]
    reactions = [reaction(drawing) for _ in range(2)]
    place = dice.below(2)
    first = allergy(
        drawing, person, ids[place], coded(fact), at=drawing.now - ages[0], category=fact.category,
        reaction=reactions[0], verification=verification,
    )  # fmt: skip
    second = allergy(
        drawing, person, ids[1 - place], coded(other), at=drawing.now - ages[1], category=other.category,
        reaction=reactions[1],
    )  # fmt: skip
    return (first, second) if place == 0 else (second, first)


def is_clear(drawing: Drawing, person: Person, family: Family) -> bool:
    """Whether a person's list has nothing of the family, no doubtful entry, and no statement that there is none."""
    rows = drawing.ward.chart(person, "AllergyIntolerance")
    return all(_is_clear(row, family) for row in rows) and len(rows) < 8


def _is_clear(row: Resource, family: Family) -> bool:
    names = [str(coding.get("display", "")) for coding in row.get("code", {}).get("coding", ())]
    names.append(str(row.get("code", {}).get("text", "")))
    doubtful = truth.codes(row.get("verificationStatus")) & {"unconfirmed", "presumed"}
    named = [name for name in names if name]
    told = {name.lower() for name in named}
    return bool(
        named and len(told) == 1 and not doubtful
        and not any(family.has(name) or _NONE_KNOWN in name.lower() for name in named)
    )  # fmt: skip


def names(rows: Sequence[Any]) -> list[str]:
    """The names of the allergies that stand, in order."""
    return sorted(truth.name(row["code"]) for row in rows if truth.is_active(row))
