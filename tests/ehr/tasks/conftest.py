"""One small synthetic record and one slice of the suite for all tests of tasks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ehr.sandbox import Record
from ehr.tasks import synthetic
from ehr.tasks.suite import EhrSuite, draw_suite
from ehr.tasks.ward import Ward


@pytest.fixture(scope="session")
def record() -> Iterator[Record]:
    with Record.build(synthetic.generate(patients=40, seed=5), clock=synthetic.CLOCK, synthetic=True) as built:
        yield built


@pytest.fixture(scope="session")
def ward(record: Record) -> Ward:
    return Ward(record)


@pytest.fixture(scope="session")
def suite(record: Record) -> EhrSuite:
    return draw_suite(record, seed=1)
