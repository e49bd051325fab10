"""The study's predicate written straight from its section 17.3, without a thought for speed: a second implementation.

Of every `read_file` result the JSON text is decoded, its content is parsed by `ast`, the tree is walked, and every
entity is compared with everything that was seen. It shares with the product what an entity of an answer is, and nothing
of how evidence is read or found. What `ast` cannot parse (a fragment) shows no definitions here.
"""

from __future__ import annotations

import ast
import json
import posixpath
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

from grounding import PAPER, Answer
from grounding.entities import Entity
from harness.trace import Call


@dataclass
class Seen:
    """What a trace showed. `defined` holds (name, class or None) of functions and classes, `named` of everything."""

    paths: set[str] = field(default_factory=set)
    modules: list[list[str]] = field(default_factory=list)
    defined: set[tuple[str, str | None]] = field(default_factory=set)
    named: set[tuple[str, str | None]] = field(default_factory=set)
    unparsed: int = 0


def plain_outcome(calls: Sequence[Call], answer: str) -> tuple[str, dict[str, bool], int]:
    """The outcome, whether each entity was seen, and how many results `ast` could not parse."""
    entities = PAPER.claims(Answer.of(answer), ())
    seen = see(calls)
    found = {f"{entity.kind} {entity.text}": is_seen(entity, seen) for entity in entities}
    outcome = "vacuous" if not entities else "pass" if all(found.values()) else "fail"
    return outcome, found, seen.unparsed


def see(calls: Sequence[Call]) -> Seen:
    seen = Seen()
    for call in calls:
        if call.name != "read_file" or call.status != "ok":
            continue
        result = json.loads(call.result)
        path = posixpath.normpath(result["path"])
        seen.paths.add(path)
        if not path.endswith(".py"):
            continue
        parts = path[: -len(".py")].split("/")
        seen.modules.append(parts[:-1] if parts[-1] == "__init__" else parts)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(result["content"])
        except (SyntaxError, ValueError):
            seen.unparsed += 1
            continue
        _walk(tree, "module", None, seen)
    return seen


def is_seen(entity: Entity, seen: Seen) -> bool:
    if entity.kind == "path":
        return entity.name in seen.paths
    name, owner = entity.name.lower(), entity.owner.lower() if entity.owner else None
    if entity.kind == "signature":
        return any(d.lower() == name and owner in (None, (c or "").lower()) for d, c in seen.defined)
    if any(d.lower().startswith(name) and owner in (None, (c or "").lower()) for d, c in seen.named):
        return True
    parts = [part.lower() for part in entity.parts]
    return any(
        [part.lower() for part in module[at : at + len(parts)]] == parts
        for module in seen.modules
        for at in range(len(module))
    )


def _walk(node: ast.AST, scope: str, owner: str | None, seen: Seen) -> None:
    for child in ast.iter_child_nodes(node):
        here = owner if scope == "class" else None
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            seen.defined.add((child.name, here))
            seen.named.add((child.name, here))
            _walk(child, "function", owner, seen)
        elif isinstance(child, ast.ClassDef):
            seen.defined.add((child.name, here))
            seen.named.add((child.name, here))
            _walk(child, "class", child.name, seen)
        else:
            if isinstance(child, ast.Assign | ast.AnnAssign):
                for target in child.targets if isinstance(child, ast.Assign) else [child.target]:
                    _assigned(target, scope, owner, seen)
            _walk(child, scope, owner, seen)


def _assigned(target: ast.expr, scope: str, owner: str | None, seen: Seen) -> None:
    if isinstance(target, ast.Attribute):
        if isinstance(target.value, ast.Name) and target.value.id == "self":
            seen.named.add((target.attr, owner))
    elif scope != "function":
        names = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        here = owner if scope == "class" else None
        seen.named.update((name.id, here) for name in names if isinstance(name, ast.Name))
