"""Places near a place: `Location?near=42.3|-83.0|20|km`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ehr.sandbox.searching.criteria import Side, any_of, places_of
from ehr.sandbox.store.index import IntArray, PointColumns, distinct, no_rows

__all__ = ["Near", "Place"]


class Place(NamedTuple):
    """A place on the globe in degrees, and how far around it, in metres; 0 is the very place."""

    latitude: float
    longitude: float
    metres: float


EARTH_RADIUS = 6_371_008.8
"""Metres: the mean radius that the International Union of Geodesy and Geophysics gives."""


@dataclass(frozen=True, slots=True)
class Near:
    """Places within a distance to the north, south, east and west: a box around the place, as HAPI takes it."""

    code: str
    places: tuple[Place, ...]
    cost: int = 1

    def rows(self, side: Side, within: IntArray | None) -> IntArray:
        """See `Criterion`."""
        space = side.index.space(side.type, self.code)
        if space is None:
            return no_rows
        columns: PointColumns = space.columns()
        places = places_of(columns, within)
        latitude, longitude = columns.latitude[places], columns.longitude[places]
        mask = any_of([_in_box(place, latitude, longitude) for place in self.places])
        return distinct(columns.rows[places][mask])


def _in_box(place: Place, latitude: NDArray[np.float64], longitude: NDArray[np.float64]) -> NDArray[np.bool_]:
    if place.metres == 0:
        here: NDArray[np.bool_] = (latitude == place.latitude) & (longitude == place.longitude)
        return here
    angle = place.metres / EARTH_RADIUS
    high = np.degrees(angle)
    north = np.radians(place.latitude)
    width = np.degrees(np.arctan2(np.sin(angle) * np.cos(north), np.cos(angle) - np.sin(north) ** 2 * np.cos(angle)))
    away = np.abs((longitude - place.longitude + 180) % 360 - 180)
    inside: NDArray[np.bool_] = (np.abs(latitude - place.latitude) <= high) & (away <= abs(width))
    return inside
