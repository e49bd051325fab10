"""A lens taken as a detector: how well its `fail` finds a target, such as incorrect answers."""

from __future__ import annotations

from dataclasses import dataclass

from harness.stats.estimate import Estimate, undefined


@dataclass(frozen=True, slots=True)
class Detector:
    """Precision, recall and F1, each with the reason where it is undefined."""

    precision: Estimate
    recall: Estimate
    f1: Estimate

    @property
    def why(self) -> str | None:
        """The first reason that something is undefined, or None."""
        return self.precision.why or self.recall.why or self.f1.why


def detector(*, hits: int, false_alarms: int, misses: int, target: str = "incorrect answers") -> Detector:
    """How well flags find the target.

    `hits` are flagged and on target (for grounding as a detector of incorrect answers: incorrect and ungrounded, IU),
    `false_alarms` flagged only, `misses` on target only. precision = hits / (hits + false alarms), recall = hits /
    (hits + misses), F1 = 2 hits / (2 hits + false alarms + misses). C. J. van Rijsbergen, "Information Retrieval"
    (1979), chapter 7.

    Where the target never occurs all three are undefined, precision too: it could only be 0, whatever the detector.
    """
    if min(hits, false_alarms, misses) < 0:
        raise ValueError(f"counts must not be negative, got {(hits, false_alarms, misses)!r}")
    if hits + misses == 0:
        none = undefined(f"no {target}")
        return Detector(none, none, none)
    flagged = hits + false_alarms
    return Detector(
        precision=Estimate(hits / flagged) if flagged else undefined("nothing was flagged"),
        recall=Estimate(hits / (hits + misses)),
        f1=Estimate(2 * hits / (2 * hits + false_alarms + misses)),
    )
