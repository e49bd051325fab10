"""Puts a record on a FHIR server: .venv/bin/python docker/load.py http://127.0.0.1:8080/fhir [RECORD]

Without a record, the default synthetic one is put there (40,500 resources; a HAPI takes about two minutes).
"""

from __future__ import annotations

import sys

from ehr.remote import RemoteError
from ehr.remote_record import put_on
from ehr.sandbox import Record, RecordError
from readback.records import default_record


def main(arguments: list[str]) -> int:
    """Load it, and say how far it is."""
    if not 1 <= len(arguments) <= 2 or arguments[0] in ("-h", "--help"):
        sys.stderr.write(str(__doc__))
        return 2

    def progress(stage: str, done: int, of: int | None) -> None:
        sys.stderr.write(f"\r{stage}: {done} of {of}")

    try:
        with default_record() if len(arguments) == 1 else Record.open(arguments[1]) as record:
            number = put_on(record, arguments[0], progress)
    except (RemoteError, RecordError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    sys.stderr.write(f"\n{number} resources are at {arguments[0]}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
