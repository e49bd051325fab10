"""Numbers in a sentence that are no claim: limits, what is denied, and what the agent did or advises."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from ehr.verify.claims.concepts import words_of_phrases
from ehr.verify.claims.kinds import is_count
from ehr.verify.claims.sentences import NUMBER, Sentence
from ehr.verify.claims.words import words_in

_LIMITS = words_in(
    "< > ≤ ≥ below under above over than least most exceed exceeding exceed beyond until upto reference ref target"
    " threshold goal limit cutoff range baseline"
)
_LIMITS_BEHIND = words_in("more less above below higher lower greater over under fewer")
_BEFORE_LIMITS = words_in("a an the of ( : = is was at her his value level - or equal to")
_RANGES = (("-",), ("–",), ("—",), ("to",))
_GOALS = words_in("goal target")
_BEYOND = words_in("above below over under within outside")
_BEFORE_GOALS = words_in("the her his their a")
_LIMIT_NOUNS = words_in("goal target limit range threshold baseline reference cutoff")
_NORMAL_FOR = words_in("is ( [ : = of range value from between reference lab are")
_DENIALS = words_in("no not never without nor neither cannot")
_BEFORE_DENIALS = words_in("a an the of any value reading result level equal to at is was be been being ever")
_NO_MEASURE = frozenset({"t", "low", "high"})  # words of phrases that say something by themselves
_CAUSES = words_in("because since given after due despite although as")
_ADVICE = re.compile(
    r"\b(?:recommend|recommended|suggest|suggested|advise|propose|consider|would|should|will|plan)\b[^,#@]*$"
)
_ACTS = re.compile(
    r"(?:^|[.;:,(] ?|\b(?:i|we|ve|have|has|been|be|successfully|and|then|also|now|will) )"
    r"(?:also |now |successfully |then |just )?"
    r"(?:ordered|order|prescribed|placed|requested|scheduled|recorded|charted|entered|documented|added|created|updated"
    r"|set|changed|corrected|wrote|written|amended|replaced|started|gave|given|administered|stored|saved|submitted|sent"
    r"|posted|put)\b"
)

_CHANGES = re.compile(  # of a value these verbs tell something as well, so it must be the agent who did it
    r"\b(?:i|we|ve) (?:have |also |now |then )*(?:increased|decreased|raised|reduced|lowered|titrated|switched)\b"
)
_DONE = re.compile(r"^(?:[^,;#@]* )?(?:has|have) (?:now )?been (?:ordered|prescribed|placed|created|submitted)\b")


def spared(sentence: Sentence) -> set[int]:
    """The places of numbers that are limits, denied, or what the agent did; of a range both ends are."""
    tokens = sentence.tokens
    found = {at for at in sentence.numbers if _is_limit(tokens, at) or _is_denied(tokens, at) or _is_act(tokens, at)}
    places = sorted(sentence.numbers)
    for first, second in pairwise(places):
        between = tokens[first + 1 : second]
        is_range = between in _RANGES or (between == ("and",) and "between" in tokens[:first])
        is_limit = _is_normal(tokens, first) or _is_beside_value(tokens, first)
        if is_range and (is_limit or first in found or second in found):
            found |= {first, second}
    return found


def _is_normal(tokens: Sequence[str], at: int) -> bool:
    """Whether a range is said to be the normal one: `normal is 3.5 to 5.0`."""
    place = at - 1
    while place >= 0 and tokens[place] in _NORMAL_FOR:
        place -= 1
    return place >= 0 and tokens[place] == "normal"


def _is_beside_value(tokens: Sequence[str], at: int) -> bool:
    """Whether a range goes with a number that is stated before: `3.2 is between 3.0 and 3.5`, `3.2 (3.5-5.1)`."""
    before = tokens[max(0, at - 1) : at]
    if before not in (("between",), ("(",), ("[",), ("|",)):
        return False
    place = at - 2
    if before == ("|",) and tokens[place] == "|":
        return False
    while place >= 0 and tokens[place] in (
        "is",
        "was",
        "lie",
        "fall",
        "which",
        ",",
        "(",
        ")",
        "and",
        "thus",
        "|",
        "l",
        "h",
        "low",
        "high",
        "normal",
    ):
        place -= 1
    return place >= 0 and tokens[place] == NUMBER


def _is_limit(tokens: Sequence[str], at: int) -> bool:
    if tokens[at + 1 : at + 2] == ("or",) and at + 2 < len(tokens) and tokens[at + 2] in _LIMITS_BEHIND:
        return True
    if tokens[max(0, at - 2) : at] == ("(", "normal"):
        return True
    place = at - 1
    while place >= 0 and tokens[place] in _BEFORE_LIMITS:
        place -= 1
    if tokens[max(0, at - 1) : at] == ("at",) and place >= 0 and tokens[place] in _LIMIT_NOUNS:
        before = place - 1
        while before >= 0 and tokens[before] in _BEFORE_GOALS:
            before -= 1
        if before >= 0 and tokens[before] in _BEYOND:
            return False  # `above goal at 160` says what the value is
    if place >= 0 and tokens[place] in _LIMITS:
        return not (tokens[place] == "over" and is_count(tokens, at))
    while place >= 0 and (tokens[place] in _BEFORE_LIMITS or tokens[place] in words_of_phrases()):
        place -= 1
    return place >= 0 and tokens[place] in _GOALS


def _is_denied(tokens: Sequence[str], at: int) -> bool:
    place = at - 1
    while place >= 0 and _is_before_denial(tokens[place]):
        place -= 1
    if place >= 1 and tokens[place] == "t" and tokens[place - 1] in ("'", "’"):
        return True
    if place >= 1 and tokens[place - 1 : place + 1] in (("rather", "than"), ("instead", "of")):
        return True
    return place >= 0 and tokens[place] in _DENIALS


def _is_before_denial(word: str) -> bool:
    return word in _BEFORE_DENIALS or (word in words_of_phrases() and word not in _NO_MEASURE)


def _is_act(tokens: Sequence[str], at: int) -> bool:
    start = max((place + 1 for place in range(at) if tokens[place] in _CAUSES), default=0)
    before = " ".join(tokens[start:at])
    is_supposed = any(token in ("if", "unless") for token in tokens[:at])
    is_told = any(told.search(before) for told in (_ACTS, _CHANGES, _ADVICE))
    return is_supposed or is_told or _DONE.search(" ".join(tokens[at + 1 :])) is not None
