"""What a crossing costs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

try:
    from math import sumprod as weighted_sum
except ImportError:

    def weighted_sum(first, second):  # type: ignore[no-redef]
        """The sum of products, where Python does not have it."""
        return sum(a * b for a, b in zip(first, second, strict=True))


@dataclass(frozen=True)
class FareTable:
    """Prices in crowns."""

    passenger: Decimal = Decimal("42.00")
    bicycle: Decimal = Decimal("15.00")
    car: Decimal = Decimal("160.00")

    def quote(self, passengers: int, bicycles: int = 0, cars: int = 0) -> Decimal:
        """What this party pays."""
        return weighted_sum((self.passenger, self.bicycle, self.car), (passengers, bicycles, cars))


def quote_fare(passengers: int, *, bicycles: int = 0, cars: int = 0, islander: bool = False) -> Decimal:
    """The fare of a party, islanders' discount included."""
    fare = FareTable().quote(passengers, bicycles, cars)
    return apply_discount(fare, Decimal("0.4")) if islander else fare


def apply_discount(fare: Decimal, share: Decimal) -> Decimal:
    """Take a share off, and round to five cents."""
    return ((fare * (1 - share)) * 20).quantize(Decimal(1)) / 20
