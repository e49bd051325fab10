"""The ships."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .problems import DeckFullError


@dataclass
class CarDeck:
    """Lanes of cars, in metres."""

    length: float
    lanes: int = 2
    _taken: float = field(default=0.0, repr=False)

    @property
    def free_metres(self) -> float:
        """How many metres are left."""
        return self.length * self.lanes - self._taken

    def park_car(self, metres: float) -> None:
        """Take a car aboard."""
        if metres > self.free_metres:
            raise DeckFullError(f"{metres} m do not fit")
        self._taken += metres


@dataclass(frozen=True)
class Vessel:
    """A ferry. `draught` in metres, `speed` in knots."""

    name: str
    draught: float
    speed: float = 9.0
    deck: CarDeck | None = None

    def needs_water(self, reserve: float = 0.5) -> float:
        """The depth that it must have under it."""
        return self.draught + reserve


def load_fleet(lines: Iterable[str]) -> list[Vessel]:
    """Ships from lines such as `Marit 1.6 9`."""
    return [
        Vessel(name, float(draught), float(speed))
        for name, draught, speed in (line.split() for line in lines if line.strip())
    ]


def deepest(fleet: Iterable[Vessel]) -> Vessel:
    """The ship that needs most water."""
    return max(fleet, key=lambda vessel: vessel.draught)
