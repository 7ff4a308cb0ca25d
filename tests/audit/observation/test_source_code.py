# SPDX-License-Identifier: BSD-3-Clause
"""A trace holds the lines of an estimator's package, and none of the audit that calls it."""

from pathlib import Path

import skprivate.audit
from skprivate import DPTreeClassifier
from skprivate.audit import AuditCase
from skprivate.audit._observation.source_code import FOLLOWED_OF_TABLES, trace_lines
from skprivate.utils import _tables

AUDIT = str(Path(skprivate.audit.__file__).parent)


def test_no_line_of_the_audit_is_traced():
    case = AuditCase.of(DPTreeClassifier(max_depth=1, bounds=(0, 1), classes=[0, 1]))
    lines = trace_lines(case.estimator, lambda: case.record(0))
    assert any(file.endswith("tree/_estimator.py") for file, _ in lines)
    assert not [file for file, _ in lines if file.startswith(AUDIT)]


def test_what_is_followed_although_it_stands_beside_readers_of_cells_exists():
    assert all(callable(getattr(_tables, name)) for name in FOLLOWED_OF_TABLES)
