"""The command `ferrytide`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ferrytide import parse_timetable, render_board
from ferrytide.tariff import quote_fare
from ferrytide.water.gauge import read_gauge


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="ferrytide")
    commands = parser.add_subparsers(dest="command", required=True)
    board = commands.add_parser("board", help="write a timetable for the pier")
    board.add_argument("file", type=Path)
    fare = commands.add_parser("fare", help="say what a party pays")
    fare.add_argument("passengers", type=int)
    gauge = commands.add_parser("gauge", help="show readings")
    gauge.add_argument("file", type=Path)
    options = parser.parse_args(arguments)
    handler = getattr(sys.modules[__name__], f"show_{options.command}")
    sys.stdout.write(handler(options) + "\n")
    return 0


def show_board(options: argparse.Namespace) -> str:
    """`ferrytide board FILE`."""
    return render_board(parse_timetable(options.file.read_text()))


def show_fare(options: argparse.Namespace) -> str:
    """`ferrytide fare PASSENGERS`."""
    return str(quote_fare(options.passengers))


def show_gauge(options: argparse.Namespace) -> str:
    """`ferrytide gauge FILE`."""
    return "\n".join(f"{reading.hour:5.2f} {reading.metres:5.2f}" for reading in read_gauge(options.file))


if __name__ == "__main__":
    sys.exit(main())
