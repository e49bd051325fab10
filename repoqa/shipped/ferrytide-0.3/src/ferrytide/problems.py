"""What can go wrong."""


class FerryTideError(Exception):
    """Anything that ferrytide refuses."""


class TimetableSyntaxError(FerryTideError):
    """A line of a timetable that cannot be read."""

    def __init__(self, number: int, line: str) -> None:
        super().__init__(f"line {number} is no crossing: {line!r}")
        self.number = number


class DeckFullError(FerryTideError):
    """There is no room left on the car deck."""
