"""Another writer beside the agent, on one resource: what of its changes survived, and what the agent overwrote.

A change of another writer is overwritten where the agent's next version, and the last one too, has at that place what
stood there before the other writer came. Items of a list are told apart by their content, so that one that was added
or taken away is found wherever the agent's own changes moved it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ehr.verify.difference import ABSENT, Difference, Path, is_same

State = dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Step:
    """One accepted write on the resource: whose it was, and the resource after it (None: deleted)."""

    by: str
    state: State


def beside_others(before: State, steps: Sequence[Step]) -> tuple[State, tuple[Difference, ...]]:
    """`before` with what other writers changed and the agent let stand; and what of theirs the agent overwrote.

    The last step is what stands at the end. Where the agent deleted the resource, nothing counts as overwritten.
    """
    lost: list[Difference] = []
    laid, last = _plain(before), _plain(steps[-1].state)
    for earlier, later, left in _others_changes(before, steps):
        if last is None or earlier is None:
            laid = later
        elif laid is None:  # the agent created it: there is no "before"
            continue
        elif later is None:
            lost.append(Difference((), earlier, ABSENT))
        else:
            merged = _laid_over((), laid, earlier, later, (left or {}, last), lost)
            laid = {} if merged is ABSENT else merged
    return laid, tuple(lost)


def _others_changes(before: State, steps: Sequence[Step]) -> Iterator[tuple[State, State, State]]:
    """For each row of writes by others: the state before it, after it, and when the next other writer came."""
    states = [before, *(step.state for step in steps)]
    others = [False, *(step.by != "agent" for step in steps)]
    starts = [i for i in range(1, len(states)) if others[i] and not others[i - 1]]
    for start in starts:
        end = start
        while end + 1 < len(states) and others[end + 1]:
            end += 1
        left = next((i - 1 for i in starts if i > end), len(states) - 1)
        yield _plain(states[start - 1]), _plain(states[end]), _plain(states[left])


def _laid_over(path: Path, base: Any, earlier: Any, later: Any, now: Sequence[Any], lost: list[Difference]) -> Any:
    """`base` with what changed from `earlier` to `later`, less what every one of `now` has as it was before."""
    if _is_same(earlier, later):
        return base
    known = len(lost)
    if isinstance(earlier, dict) and isinstance(later, dict):
        merged: Any = _dict_laid_over(path, base, earlier, later, now, lost)
    elif isinstance(earlier, list) or isinstance(later, list):
        merged = _list_laid_over(path, base, _items(earlier), _items(later), now, lost)
    elif all(_is_same(n, earlier) for n in now):
        lost.append(Difference(path, earlier, later))
        return base
    else:
        merged = later
    return later if len(lost) == known and _is_same(base, earlier) else merged


def _dict_laid_over(
    path: Path, base: Any, earlier: dict[str, Any], later: dict[str, Any], now: Sequence[Any], lost: list[Difference]
) -> Any:
    merged = dict(base) if isinstance(base, dict) else {}
    for key in [*earlier, *(key for key in later if key not in earlier)]:
        below = _laid_over(
            (*path, key), merged.get(key, ABSENT), earlier.get(key, ABSENT), later.get(key, ABSENT),
            [_member(n, key) for n in now], lost,
        )  # fmt: skip
        if below is ABSENT:
            merged.pop(key, None)
        else:
            merged[key] = below
    return merged or ABSENT


def _list_laid_over(
    path: Path, base: Any, earlier: list[Any], later: list[Any], now: Sequence[Any], lost: list[Difference]
) -> Any:
    merged = list(_items(base))
    lists = [_items(n) for n in now]
    changed = [
        i for i in range(min(len(earlier), len(later))) if not _in(earlier[i], later) and not _in(later[i], earlier)
    ]
    for i in changed:
        if all(_in(earlier[i], items) and not _in(later[i], items) for items in lists):
            lost.append(Difference((*path, i), earlier[i], later[i]))
        elif i < len(merged):
            counterparts = [later[i] if _in(later[i], items) else _member(items, i) for items in lists]
            merged[i] = _laid_over((*path, i), merged[i], earlier[i], later[i], counterparts, lost)
    for i, item in enumerate(earlier):
        if i in changed or _in(item, later):
            continue
        if all(_in(item, items) for items in lists):
            lost.append(Difference((*path, i), item, ABSENT))
        else:
            merged = [kept for kept in merged if not is_same(kept, item)]
    for i, item in enumerate(later):
        if i in changed or _in(item, earlier):
            continue
        if all(not _in(item, items) for items in lists):
            lost.append(Difference((*path, i), ABSENT, item))
        elif not _in(item, merged):
            merged.insert(i, item)
    return merged or ABSENT


def _plain(state: State) -> State:
    """The resource without what is the server's own in `meta`."""
    if state is None or not isinstance(state.get("meta"), dict):
        return state
    meta = {key: value for key, value in state["meta"].items() if key not in ("versionId", "lastUpdated")}
    rest = {key: value for key, value in state.items() if key != "meta"}
    return rest | ({"meta": meta} if meta else {})


def _member(value: Any, key: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(key, ABSENT)
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return value[key]
    return ABSENT


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _in(item: Any, items: Sequence[Any]) -> bool:
    return any(is_same(item, other) for other in items)


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (a is not ABSENT and b is not ABSENT and is_same(a, b))
