"""The calls of an episode as the page shows them: a line each, then what supports the answer, then what fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.trace import Call, Episode
from readback.report.allowance import Allowance, Shown
from readback.report.found import take_found
from readback.report.leftout import LeftOut, name_of, paid
from readback.report.marks import Entity, Marked, take_excerpt, take_marked, text_of
from readback.report.views import CallView

_CALL, _RESULT, _TEXT, _NAME = 200, 90, 60, 30
"""Bytes of markup around a call, a result, a text between calls, and a name that a call supports."""

_EXCERPT = 2_000
"""Bytes that the text of one call gets before all others, where it supports an entity."""


def calls_of(
    episode: Episode, entities: Sequence[Entity], purse: Allowance, left: LeftOut
) -> tuple[tuple[CallView, ...], tuple[Shown, ...]]:
    """The calls of an episode, and what the agent wrote after the last of them."""
    heads: list[tuple[Call, Shown, tuple[str, ...]]] = []
    for call in episode.calls:
        if paid(purse, _CALL, left, "calls"):
            heads.append((call, _arguments(call, purse, 160, indent=False), _supports(call, entities, purse)))
    founds = {
        call.position: found
        for call, _, _ in heads
        if purse.left > _RESULT and (found := take_found(purse, call, entities, _EXCERPT)) and purse.pays(_RESULT)
    }
    excerpts = {call.position: shown for call, _, _ in heads if (shown := _excerpt(call, entities, purse)) is not None}
    texts: dict[int, list[Shown]] = {}
    for text in episode.texts:
        if paid(purse, _TEXT, left, "texts"):
            texts.setdefault(text.step, []).append(purse.take(text.text, 4000))
    # What is left is shared over the calls, so that a long first result does not hide all the others; what a short
    # one leaves goes to those after it.
    views = [
        replace(
            _call(call, head, excerpts.get(call.position), purse, purse.left // (len(heads) - number), left),
            supports=supports,
            found=founds.get(call.position),
        )
        for number, (call, head, supports) in enumerate(heads)
    ]
    placed = []
    for view in views:
        before = tuple(shown for step in sorted(texts) if step <= view.step for shown in texts.pop(step))
        placed.append(replace(view, texts=before))
    return tuple(placed), tuple(shown for step in sorted(texts) for shown in texts[step])


def _supports(call: Call, entities: Sequence[Entity], purse: Allowance) -> tuple[str, ...]:
    named = dict.fromkeys(entity.text for entity in entities if entity.call == call.position)
    return tuple(purse.take(text, 120).text for text in list(named)[:8] if purse.pays(_NAME))


def _excerpt(call: Call, entities: Sequence[Entity], purse: Allowance) -> Marked | None:
    """The text of a call that shows an entity at a place of it."""
    text = text_of(call.result)
    own = [entity for entity in entities if entity.call == call.position and entity.at is not None]
    if text is None or not own or not purse.pays(_RESULT):
        return None
    return take_excerpt(purse, text, own, _first_line(call.result), _EXCERPT)


def _first_line(result: object) -> int:
    first = result.get("start_line") if isinstance(result, dict) else None
    return first if isinstance(first, int) else 1


def _call(
    call: Call, head: Shown, excerpt: Marked | None, purse: Allowance, room: int, left: LeftOut
) -> CallView:  # fmt: skip
    arguments = result = None
    if head.more and room > _RESULT:
        purse.pays(_RESULT)
        arguments = _arguments(call, purse, room // 3, indent=room > 3000)
        room -= room // 3
    if call.result is not None and excerpt is None:
        text = text_of(call.result)
        if room <= _RESULT + 60 or not purse.pays(_RESULT):
            left.add("results")
        elif text is not None:
            excerpt = take_marked(purse, text, (), min(room - _RESULT, 20_000))
        else:
            result = purse.take_json(_body_first(call.result), min(room - _RESULT, 20_000), indent=room > 3000)
    if (result is not None and result.more) or (excerpt is not None and excerpt.more):
        left.add("parts of results")
    status = call.status if call.http is None else f"{call.status} {call.http.get('status', '')}"
    return CallView(
        call.position, call.step, name_of(call.name), status[:40], head, arguments, result, call.cut_by, text=excerpt
    )


def _arguments(call: Call, purse: Allowance, most: int, *, indent: bool) -> Shown:
    if call.arguments is None and call.raw_arguments is not None:
        return purse.take(call.raw_arguments, most)
    return purse.take_json(call.arguments or {}, most, indent=indent)


def _body_first(result: object) -> object:
    """A server's answer with its body before its headers: what is cut is what matters least."""
    if isinstance(result, dict) and {"status", "body"} <= result.keys():
        return {key: result[key] for key in ("status", "body", *(k for k in result if k not in ("status", "body")))}
    return result
