"""A second search, as plain as can be: every resource is asked every question. It shares no code with the first.

Values come from fhirpathpy; how they compare is written out again. It knows the same rules: text is folded and
compared from its start, days are days as written, times are instants, quantities compare by number.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import Any

from ehr.sandbox.definitions import Parameter, codes, elements, parameters

Resource = dict[str, Any]
LOW, HIGH = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def scan(resources: list[Resource], type: str, query: list[tuple[str, str]]) -> list[str]:
    """The ids of the resources of a type that match, sorted."""
    mine = [r for r in resources if r["resourceType"] == type]
    return sorted(r["id"] for r in mine if all(holds(r, name, value, resources) for name, value in query))


def holds(resource: Resource, name: str, text: str, world: Sequence[Resource] = ()) -> bool:
    if name.startswith("_has:"):
        return is_referred(resource, name, text, world)
    if "." in name:
        return refers(resource, name, text, world)
    code, _, modifier = name.partition(":")
    if code == "_id":
        return resource["id"] in text.split(",")
    parameter = parameters(resource["resourceType"])[code]
    values = extract(resource, parameter.expression)
    if modifier == "missing":
        return bool(rows(parameter, values, resource)) != (text == "true")
    alternatives = [part for part in re.split(r"(?<!\\),", text) if part]
    if not alternatives:
        return True
    answers = [answer(parameter, resource, values, modifier, part) for part in alternatives]
    return not any(answers) if modifier == "not" else any(answers)


def refers(resource: Resource, name: str, text: str, world: Sequence[Resource]) -> bool:
    """A chain: one of the resources that it names has what is asked."""
    head, _, rest = name.partition(".")
    code, _, asked = head.partition(":")
    following = rest.partition(".")[0].partition(":")[0]
    allowed = parameters(resource["resourceType"])[code].targets
    for other in targets(resource, code):
        type = other.split("/")[0]
        if not asked and type not in allowed and allowed != ("*",):
            continue
        takes = following.startswith("_") or following in parameters(type)
        if takes and (not asked or type == asked):
            found = [r for r in world if f"{r['resourceType']}/{r['id']}" == other]
            if any(holds(r, rest, text, world) for r in found):
                return True
    return False


def is_referred(resource: Resource, name: str, text: str, world: Sequence[Resource]) -> bool:
    """A reverse chain: one of the resources that name it has what is asked."""
    _, source, code, rest = name.split(":", 3)
    own = f"{resource['resourceType']}/{resource['id']}"
    return any(r["resourceType"] == source and own in targets(r, code) and holds(r, rest, text, world) for r in world)


def targets(resource: Resource, code: str) -> list[str]:
    """The local resources that a reference parameter names."""
    found = extract(resource, parameters(resource["resourceType"])[code].expression)
    local = [text for value in found for text in references(value) if isinstance(value, dict)]
    return [text for text in local if re.fullmatch(r"[A-Z]\w+/[^/]+", text)]


def rows(parameter: Parameter, values: list[Any], resource: Resource) -> list[Any]:
    """The values that mean something for a parameter of this kind."""
    kind = parameter.kind
    if parameter.code == "deceased":
        return [True]
    if kind == "token":
        return [pair for value in values for pair in tokens(parameter, value)]
    if kind == "string":
        return [text for value in values for text in strings(value)]
    if kind == "reference":
        return [r for value in values for r in references(value)]
    if kind == "date":
        return [span for value in values if (span := span_of(value))]
    if kind in ("quantity", "number"):
        return [n for value in values for n in numbers(value)]
    return [value for value in values if isinstance(value, str)]


def answer(parameter: Parameter, resource: Resource, values: list[Any], modifier: str, text: str) -> bool:
    kind = parameter.kind
    if kind == "composite":
        return composite(parameter, resource, text)
    found = rows(parameter, values, resource)
    if kind == "token":
        if parameter.code == "deceased":
            dead = resource.get("deceasedBoolean") is True or "deceasedDateTime" in resource
            return is_token(("", str(dead).lower()), text)
        if parameter.code in ("_tag", "_security"):  # of any system behind a bar alone, and no modifier but :not counts
            return any(is_token(pair, text.removeprefix("|")) for pair in found)
        return any(is_token(pair, text) for pair in found) if modifier != "text" else said(values, text)
    if kind == "string":
        wanted = plain(text)
        if modifier == "exact":
            return wanted in found
        if modifier == "contains":
            return any(fold(wanted) in fold(value) for value in found)
        return any(fold(value).startswith(fold(wanted)) for value in found)
    if kind == "reference":
        return any(names(value, plain(text), modifier) for value in found)
    if kind == "date":
        return any(in_time(span, text) for span in found)
    if kind in ("quantity", "number"):
        return any(measures(number, text) for number in found)
    wanted = plain(text)
    return any(value.startswith(wanted) if modifier == "below" else value == wanted for value in found)


def in_order(resources: list[Resource], sort: str) -> bool:
    """Whether resources stand as `_sort` asks: missing values last, the smallest of several up, the largest down."""
    keys = [(code.removeprefix("-"), code.startswith("-")) for code in sort.split(",")]

    def comes_after(one: Resource, other: Resource) -> bool:
        for code, down in keys:
            first, second = sort_value(one, code, down), sort_value(other, code, down)
            if first == second:
                continue
            if first is None or second is None:
                return first is None
            return bool(first < second if down else first > second)
        return False

    return not any(comes_after(one, other) for one, other in pairwise(resources))


def sort_value(resource: Resource, code: str, down: bool) -> Any:
    if code == "_id":
        return resource["id"]
    parameter = parameters(resource["resourceType"])[code]
    found = rows(parameter, extract(resource, parameter.expression), resource)
    if parameter.code == "deceased":
        return ("", str(resource.get("deceasedBoolean") is True or "deceasedDateTime" in resource).lower())
    kind = parameter.kind
    if kind == "string":
        found = [fold(text) for text in found]
    elif kind == "reference":
        split = [re.fullmatch(r"([A-Z]\w+)/([^/]+)", text) for text in found]
        found = [(m[1], m[2]) if m else ("", text) for m, text in zip(split, found, strict=True)]
    elif kind in ("date", "number", "quantity"):
        found = [value[0] for value in found]
    return (max if down else min)(found) if found else None


# ---- values, by fhirpathpy


@cache
def oracle(term: str) -> Any:
    import fhirpathpy
    from fhirpathpy.models import models

    return fhirpathpy.compile(term, models["r4"])


def extract(resource: Resource, expression: str) -> list[Any]:
    found: list[Any] = []
    for term in expression.split("|"):
        if term.strip() and "exists" not in term:
            resolved = re.search(r"\.where\(resolve\(\) is (\w+)\)", term)
            known = re.sub(r"\.where\(resolve\(\) is \w+\)", "", term)
            known = known.strip().replace("Resource.", resource["resourceType"] + ".", 1)
            known = re.sub(r"\(([\w.]+) as (\w+)\)|([\w.]+)\.as\((\w+)\)", r"\1\3.ofType(\2\4)", known)
            values = oracle(known)(resource)
            if resolved:
                values = [v for v in values if re.search(rf"(^|/){resolved[1]}/", v.get("reference", ""))]
            found += values
    return found


# ---- comparing


def plain(text: str) -> str:
    return re.sub(r"\\([,|$\\])", r"\1", text)


def fold(text: str) -> str:
    kept = []
    for character in unicodedata.normalize("NFD", text):
        if unicodedata.category(character) != "Mn":
            kept.append(character)
    return "".join(kept).upper()


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    keys = ["family", "given", "prefix", "suffix", "line", "city", "district", "state", "country", "postalCode", "text"]
    if isinstance(value, dict) and "system" in value and "value" in value:
        keys = ["value"]
    found: list[str] = []
    for key in keys:
        part = value.get(key) if isinstance(value, dict) else None
        found += part if isinstance(part, list) else [part] if part else []
    return found


def tokens(parameter: Parameter, value: Any) -> list[tuple[str, str]]:
    """(system, code) pairs."""
    if isinstance(value, bool):
        return [("", str(value).lower())]
    if isinstance(value, str):
        return [(bound_system(parameter, value), value)] if value else []
    if isinstance(value, int | Decimal):
        return [("", str(value))]
    if "coding" in value or set(value) <= {"text"}:
        return [
            (c.get("system", ""), c.get("code", ""))
            for c in value.get("coding", [])
            if c.get("system") or c.get("code")
        ]
    word = value.get("value", "") if "value" in value else value.get("code", "")
    pair = (value.get("system", ""), word if isinstance(word, str) else "")
    return [pair] if any(pair) else []


def bound_system(parameter: Parameter, code: str) -> str:
    """The system of a code that a required binding gives it."""
    for term in parameter.expression.split("|"):
        here, *path = term.strip().strip("()").split(" as ")[0].split(".")
        element = None
        for name in path:
            element = elements(here if here not in ("Resource", "DomainResource") else parameter.type).get(name)
            if element is None:
                break
            here = element.types[0]
        if element is not None and element.types == ("code",) and element.value_set:
            return (codes(element.value_set) or {}).get(code, "")
    return ""


def is_token(pair: tuple[str, str], text: str) -> bool:
    parts = [plain(part) for part in re.split(r"(?<!\\)\|", text, maxsplit=1)]
    if len(parts) == 1:
        return pair[1] == parts[0]
    return pair[0] == parts[0] and (pair[1] == parts[1] or not parts[1])


def said(values: list[Any], text: str) -> bool:
    words: list[str] = []
    for value in values:
        if isinstance(value, dict):
            words += [value.get("text", ""), value.get("display", "")]
            words += [c.get("display", "") for c in value.get("coding", [])]
    return any(fold(word).startswith(fold(plain(text))) for word in words if word)


def references(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value, *([value.split("|")[0]] if "|" in value else [])]
    text = value.get("reference", "") if isinstance(value, dict) else ""
    return [] if not text or text.startswith("#") else [re.sub(r"^(\w+/[^/]+)/_history/.*", r"\1", text)]


def names(reference: str, text: str, type: str) -> bool:
    local = re.fullmatch(r"([A-Z]\w+)/([^/]+)", reference)
    text = re.sub(r"^(\w+/[^/]+)/_history/.*", r"\1", text)
    if "/" in text or local is None:
        return reference == text
    return local[2] == text and (not type or local[1] == type)


def numbers(value: Any) -> list[tuple[Decimal, str, str]]:
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int | float | Decimal):
        return [(Decimal(str(value)), "", "")]
    if isinstance(value, dict) and ("low" in value or "high" in value):
        return numbers(value.get("low")) + numbers(value.get("high"))
    if isinstance(value, dict) and isinstance(value.get("value"), int | float | Decimal):
        currency = value.get("currency")
        system = "urn:iso:std:iso:4217" if "currency" in value or "unit" not in value else value.get("system", "")
        return [(Decimal(str(value["value"])), system, currency or value.get("code", ""))]
    return []


def measures(number: tuple[Decimal, str, str], text: str) -> bool:
    first, *unit = re.split(r"(?<!\\)\|", text)
    found = re.fullmatch(r"(eq|ne|gt|ge|lt|le|ap)?(.*)", first)
    assert found is not None
    asked = Decimal(found[2])
    if len(unit) > 1 and unit[1] and ((unit[0] and unit[0] != number[1]) or unit[1] != number[2]):
        return False
    value = number[0]
    return {
        "eq": value == asked,
        "ne": value != asked,
        "gt": value > asked,
        "ge": value >= asked,
        "lt": value < asked,
        "le": value <= asked,
        "ap": abs(value - asked) <= abs(asked) / 10,
    }[found[1] or "eq"]


Span = tuple[datetime, datetime, date, date]


def span_of(value: Any) -> Span | None:
    if isinstance(value, str):
        return written(value, stored=True)
    if not isinstance(value, dict):
        return None
    if "event" in value or "repeat" in value:
        parts = [written(text, stored=True) for text in value.get("event", [])]
        bounds = value.get("repeat", {}).get("boundsPeriod")
        parts += [span_of(bounds)] if bounds else []
        spans = [part for part in parts if part]
        if not spans:
            return None
        return min(s[0] for s in spans), max(s[1] for s in spans), min(s[2] for s in spans), max(s[3] for s in spans)
    start = written(value["start"], stored=True) if "start" in value else None
    end = written(value["end"], stored=True) if "end" in value else None
    if start is None and end is None:
        return None
    return (
        start[0] if start else LOW,
        end[1] if end else HIGH,
        start[2] if start else date.min,
        end[3] if end else date.max,
    )


def written(text: str, stored: bool) -> Span | None:
    if not re.match(r"\d{4}(-|$)", text):
        return None
    if "T" not in text:
        parts = [int(part) for part in text.split("-")]
        first = date(*[*parts, 1, 1][:3])
        if len(parts) == 1:
            last = date(parts[0], 12, 31)
        elif len(parts) == 2:
            last = date(parts[0], parts[1], calendar.monthrange(*parts)[1])
        else:
            last = first
        start = datetime(first.year, first.month, first.day, tzinfo=UTC)
        end = datetime(last.year, last.month, last.day, tzinfo=UTC) + timedelta(days=1, milliseconds=-1)
        return start, end, first, last
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    day = moment.date()
    width = 0 if stored or "." in text else 999 if re.search(r"T\d\d:\d\d:\d\d", text) else 59_999
    return moment, moment + timedelta(milliseconds=width), day, day


def in_time(span: Span, text: str) -> bool:
    found = re.fullmatch(r"(eq|ne|gt|ge|lt|le|sa|eb)?(.*)", text)
    assert found is not None
    asked = written(found[2].replace(" ", "+"), stored=False)
    assert asked is not None
    low: Any
    if "T" in found[2]:
        low, high, start, end = span[0], span[1], asked[0], asked[1]
    else:
        low, high, start, end = span[2], span[3], asked[2], asked[3]
    return bool(
        {
            "eq": start <= low and high <= end,
            "ne": not (start <= low and high <= end),
            "gt": high > end,
            "ge": high >= start,
            "lt": low < start,
            "le": low <= end,
            "sa": low > end,
            "eb": high < start,
        }[found[1] or "eq"]
    )


def composite(parameter: Parameter, resource: Resource, text: str) -> bool:
    parts = re.split(r"(?<!\\)\$", text)
    if not all(parts):
        return False
    for item in extract(resource, parameter.expression):
        pairs = []
        for component, part in zip(parameter.components, parts, strict=True):
            one = Parameter(parameter.type, component.code, component.kind, "", "", (), (), "")
            values = below(item, component.expression, resource)
            pairs.append(answer(one, resource, values, "", part))
        if all(pairs):
            return True
    return False


def below(item: Any, expression: str, resource: Resource) -> list[Any]:
    """The values of a component: a key, or the key of a choice with its type."""
    found: list[Any] = []
    for term in expression.split("|"):
        term = term.strip()
        if term.startswith("%resource."):
            values = [resource]
            for key in term.split(".")[1:]:
                values = [v.get(key) for v in values if isinstance(v, dict) and key in v]
            found += values
            continue
        cast = re.fullmatch(r"(\w+)\.as\((\w+)\)", term)
        if cast:
            keys = [cast[1] + cast[2][0].upper() + cast[2][1:]]
        else:
            keys = [key for key in item if key == term or re.fullmatch(term + r"[A-Z]\w*", key)]
        for key in keys:
            value = item.get(key)
            found += value if isinstance(value, list) else [value] if value is not None else []
    return found
