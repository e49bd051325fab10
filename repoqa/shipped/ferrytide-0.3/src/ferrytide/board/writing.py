"""The board on the pier."""

from ferrytide.sailing import Crossing, Timetable


class FormatPlain:
    """One crossing a line."""

    def write_line(self, crossing: Crossing) -> str:
        """One line of the board."""
        return f"{hours_to_clock(crossing.leaves)} {hours_to_clock(crossing.arrives)} {crossing.vessel}"


class FormatMarkdown(FormatPlain):
    """A table in Markdown."""

    def write_line(self, crossing: Crossing) -> str:
        """One row of the table."""
        return f"| {super().write_line(crossing).replace(' ', ' | ')} |"


def render_board(timetable: Timetable, layout: str = "plain") -> str:
    """The whole board, in a format by name (a class `Format...` of this module)."""
    writer = globals().get(f"Format{layout.title()}", FormatPlain)()
    return "\n".join(writer.write_line(crossing) for crossing in timetable)


def hours_to_clock(hours: float) -> str:
    """7.5 as 07:30."""
    minutes = round(hours * 60)
    return f"{minutes // 60:02}:{minutes % 60:02}"
