"""Who the raters are: their names and kinds, their order, and which of them are compared with one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from readback.comparison.document import RaterKind
from readback.comparison.reading import Rated, RaterKey, Source

if TYPE_CHECKING:
    from judges.vote import JudgeSetting

_LENSES = ("grounding", "state", "message", "answer", "judge")
_KINDS = ("predicate", "lens", "model", "scripted", "people")


@dataclass(frozen=True, slots=True)
class Rater:
    """One rater. `name` tells it from all others in the comparison; `about` says in a sentence what it is."""

    key: RaterKey
    name: str
    kind: RaterKind
    about: str


_ABOUT = {
    "grounding": "every entity or value of the answer was seen in what the agent read",
    "state": "what changed on the server, read back, is what should have changed and nothing else",
    "message": "the old way: what was sent and said, whatever was stored",
    "answer": "the answer against the expected one",
}


def raters_of(rated: Iterable[Rated], sources: Sequence[Source]) -> list[Rater]:
    """The raters of these episodes, in the order in which they are shown: people last, each judge after the lenses."""
    settings = {config: setting for source in sources for config, setting in source.judges.items()}
    rules: dict[RaterKey, bool] = {}
    for one in rated:
        for key, said in one.said.items():
            rules[key] = rules.get(key, False) or said.is_rule
    found = [_rater(key, is_rule, settings.get(key.config)) for key, is_rule in rules.items()]
    names = Counter(rater.name for rater in found)
    told = [
        Rater(one.key, f"{one.name} [{_short(one.key.config)}]", one.kind, one.about) if names[one.name] > 1 else one
        for one in found
    ]
    return sorted(told, key=_place)


def compared(raters: Sequence[Rater]) -> list[tuple[Rater, Rater]]:
    """The pairs that are compared, in order."""
    return [(a, b) for a, b in combinations(raters, 2) if _belong(a, b)]


def _belong(a: Rater, b: Rater) -> bool:
    """People against all; the predicate and the judges against one another; state against message and judges."""
    if "people" in (a.kind, b.kind):
        return True
    lenses = {a.key.lens, b.key.lens}
    return lenses <= {"grounding", "judge"} or lenses in ({"state", "message"}, {"state", "judge"})


def _place(rater: Rater) -> tuple[int, int, str, str]:
    lens = rater.key.lens
    place = _LENSES.index(lens) if lens in _LENSES else len(_LENSES)
    return (place, _KINDS.index(rater.kind), rater.name, rater.key.config)


def _rater(key: RaterKey, is_rule: bool, setting: JudgeSetting | None) -> Rater:
    if key.lens == "judge":
        if setting is not None:
            return Rater(key, setting.title, setting.kind, setting.about)
        rule = " (a rule, no model)" if is_rule else ""
        kind: RaterKind = "scripted" if is_rule else "model"
        return Rater(key, f"judge{rule}", kind, "a judge that the run does not describe")
    if key.lens == "grounding":
        policy = _policy(key.config)
        return Rater(key, f"kappa_ground ({policy})" if policy else "kappa_ground", "predicate", _ABOUT[key.lens])
    return Rater(key, key.lens, "lens", _ABOUT.get(key.lens, f"the lens {key.lens}"))


def _policy(config: str) -> str | None:
    from ehr.verify.claims import CLINICAL
    from grounding import POLICIES

    names = {policy.digest: policy.name for policy in POLICIES.values()} | {CLINICAL.digest: CLINICAL.name}
    return names.get(config)


def _short(config: str) -> str:
    return config.removeprefix("sha256:")[:8]
