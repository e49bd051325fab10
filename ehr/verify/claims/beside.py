"""What stands beside a number and belongs to it: a code, a unit that stands elsewhere, a rule, a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ehr.verify.claims.asked import Rule, rules_in
from ehr.verify.claims.concepts import words_of_phrases
from ehr.verify.claims.moments import Moment
from ehr.verify.claims.sentences import CODE, NUMBER, TIME, Sentence
from ehr.verify.claims.words import is_link, words_in

_OTHER_TIMES = words_in("born birth dob due until till before scheduled by")


def code_before(tokens: Sequence[str], codes: Mapping[int, str], at: int) -> str | None:
    """The LOINC code right before a number."""
    place = at - 1
    while place >= 0 and place not in codes and (is_link(tokens[place]) or tokens[place] in (":", "=", "(", ")")):
        place -= 1
    return codes.get(place) or None


def unit_of_list(sentence: Sentence, at: int) -> tuple[str, ...]:
    """The unit behind the last number of a list or a range: `4.1, 4.3 and 4.0 mmol/L`."""
    if sentence.numbers[at].kind != "none":
        return ()
    places = [place for place in sentence.numbers if place > at]
    last = at
    for place in places:
        between = sentence.tokens[last + 1 : place]
        if not between or not all(token in (",", "and", "or", "to", "-", "–", "—", "&", "/", "→") for token in between):
            return ()
        if sentence.numbers[place].kind == "unit":
            return sentence.numbers[place].units
        last = place
    return ()


def unit_before(sentence: Sentence, at: int) -> tuple[str, ...]:
    """The unit in brackets before a number: `Potassium (mmol/L): 4.1`."""
    if sentence.numbers[at].kind != "none":
        return ()
    place = at - 1
    while place >= 0 and place not in sentence.units:
        if not (is_link(sentence.tokens[place]) or sentence.tokens[place] in (":", "=", "|", ",", NUMBER)):
            return ()
        place -= 1
    return sentence.units[place] if place >= 0 else ()


def rules_beside(sentence: Sentence, at: int) -> frozenset[Rule]:
    """The rules that the words between the last number and this one name; else the words behind it, up to a comma."""
    start = max((place for place in sentence.numbers if place < at), default=-1) + 1
    derivable = ("mean", "minimum", "maximum", "difference")
    before = [rule for rule in rules_in(" ".join(sentence.tokens[start:at])) if rule in derivable]
    if before:
        return frozenset(before)
    if sentence.tokens[max(0, at - 1) : at] in (("up",), ("down",)):
        return frozenset({"difference"})
    behind: list[str] = []
    for token in sentence.tokens[at + 1 :]:
        if token == NUMBER:
            return frozenset()  # what is said is said of the next one
        if token in (",", ";", "and"):
            break
        behind.append(token)
    return frozenset(rule for rule in rules_in(" ".join(behind)) if rule in derivable)


def moment_beside(sentence: Sentence, at: int) -> Moment | None:
    """The time that is stated with a number: right behind it, or before it with nothing but its measure between."""
    for place in range(at + 1, len(sentence.tokens)):
        token = sentence.tokens[place]
        if token == TIME:
            return sentence.moments[place] if sentence.moments[place].days else None
        if not (is_link(token) or token in ("(", ",", "-", "–", "[", "@", "%")):
            break
    for place in range(at - 1, -1, -1):
        token = sentence.tokens[place]
        if token == TIME:
            is_its = not _OTHER_TIMES.intersection(sentence.tokens[max(0, place - 2) : place])
            return sentence.moments[place] if is_its and sentence.moments[place].days else None
        if not (
            is_link(token) or token in words_of_phrases() or token in (":", ",", "(", ")", "=", "-", "–", "|", CODE)
        ):
            break
    return None
