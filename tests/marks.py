# SPDX-License-Identifier: BSD-3-Clause
"""Marks of tests, and of single values in a parametrisation."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

from skprivate.utils._compat import ProgressBar

needs_callbacks = pytest.mark.skipif(ProgressBar is None, reason="scikit-learn has callbacks since 1.9")


def slow(*values: Any) -> Any:
    """Return parameters of a test that `make test-all` runs and `make test` does not."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_unless(kept: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Return values, of which those that are not kept are slow."""
    return [value if value in kept else slow(value) for value in values]
