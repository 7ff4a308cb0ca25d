# SPDX-License-Identifier: BSD-3-Clause
"""Marks of tests, and of single values in a parametrisation."""

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sklearn.utils.validation import _get_feature_names as get_feature_names

from skprivate.utils._compat import ProgressBar

#: Polars 2 has no ``__dataframe__``, by which scikit-learn before 1.9 reads the names of columns.
READS_NAMES_OF_POLARS = get_feature_names(pl.DataFrame({"age": [1]})) is not None
needs_names_of_polars = pytest.mark.skipif(
    not READS_NAMES_OF_POLARS, reason="this scikit-learn reads no names of columns from this polars"
)
needs_callbacks = pytest.mark.skipif(ProgressBar is None, reason="scikit-learn has callbacks since 1.9")


def slow(*values: Any) -> Any:
    """Return parameters of a test that `make test-all` runs and `make test` does not."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_unless(kept: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Return values, of which those that are not kept are slow."""
    return [value if value in kept else slow(value) for value in values]


def needs_data(folder: str) -> Any:
    """Return a mark of tests of published files, which are not part of this repository."""
    home = os.environ.get("SKPRIVATE_DATA")
    missing = not (home and Path(home, folder).is_dir())
    return pytest.mark.skipif(missing, reason=f"SKPRIVATE_DATA names no folder with {folder}")
