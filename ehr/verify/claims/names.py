"""What a chart calls a thing: the codes and the names of a concept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ehr.verify.claims.concepts import Measure, measure_of
from ehr.verify.claims.fhir import dict_of, list_of
from ehr.verify.claims.reading import Name
from ehr.verify.claims.words import phrase

LOINC = "http://loinc.org"

_SPECIMENS = frozenset({"urine", "stool", "csf", "fluid", "saliva"})
_CUT = re.compile(
    r"\s*\[| in (?:serum|plasma|blood|platelet|urine|stool|arterial|venous|capillary|cord|body|cerebral|saliva|bone)\b"
    r"| of (?:blood|urine|serum)\b| by | - |\s*\(",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"\(([A-Za-z0-9]{2,8})\)")
_UNSEEN = dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0xAD])


def concept_of(concept: Any) -> tuple[frozenset[str], tuple[Name, ...], Measure | None]:
    """The LOINC codes of a concept (else whatever codes it has), its names, and the measure that a code belongs to."""
    concept = dict_of(concept)
    codings = tuple(
        (str(coding.get("system") or ""), str(coding.get("code") or "")[:64], str(coding.get("display") or "")[:200])
        for coding in map(dict_of, list_of(concept.get("coding")))
    )
    text = concept.get("text")
    return _concept_of(codings, text[:200] if isinstance(text, str) else "")


@lru_cache(maxsize=4096)
def _concept_of(
    codings: tuple[tuple[str, str, str], ...], text: str
) -> tuple[frozenset[str], tuple[Name, ...], Measure | None]:
    codes = frozenset(code for system, code, _ in codings if code and system in (LOINC, ""))
    if not codes:
        codes = frozenset(f"{system}|{code}" for system, code, _ in codings if code)
    shown = [text, *(display for _, _, display in codings)]
    specimen = next(
        (each for each in sorted(_SPECIMENS) if re.search(rf"\b{each}\b", " ".join(shown), re.IGNORECASE)), None
    )
    names = tuple(dict.fromkeys(name for each in shown if each for name in names_in(each, specimen)))
    measure = next((found for code in sorted(codes) if (found := measure_of(code)) is not None), None)
    return codes, names, measure


def names_in(display: str, specimen: str | None) -> Iterator[Name]:
    """The names in a display: what stands before specimen, method and property, and an abbreviation in brackets."""
    display = display.translate(_UNSEEN)
    head = _CUT.split(display, maxsplit=1)[0]
    before, stroke, behind = head.partition("/")
    if stroke and (behind[:1].isdigit() or behind.split(".")[0].casefold() == before.split(" ")[0].casefold()):
        head = before  # `Hemoglobin A1c/Hemoglobin.total` is no ratio to people, `FEV1/FVC` is one
    for text in (head, display, *_IN_BRACKETS.findall(display)):
        words = phrase(text)
        if words and any(len(each) > 1 for each in words):
            yield Name(words, specimen if specimen not in words else None)
