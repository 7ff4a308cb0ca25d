# SPDX-License-Identifier: BSD-3-Clause
"""Diabetes outcomes of the LPCT paper, with its public rows, without the replicated rows."""

from typing import TYPE_CHECKING, Any, overload

import numpy as np
from sklearn.utils import Bunch

from .._typing import BoolArray, FloatArray, IntArray
from ._files import DataHome, No, Yes, as_bunch, find_data_file

if TYPE_CHECKING:
    import pandas as pd

# The published file: its hash, and its source.
_SHA256 = "86f39d1591d4d47bb6370d2b6c944e4f8eb4702eba43b4ebdc07535abd350701"
_SOURCE = "https://www.kaggle.com/datasets/nanditapore/healthcare-diabetes (CC0, needs a login)"
# The authors' public part is the beginning of the published file.
_N_PUBLIC = 200

_DESCRIPTION = """Healthcare-Diabetes, as published on Kaggle (nanditapore/healthcare-diabetes, CC0).

2,768 rows of eight measurements and a diabetes outcome, most of them copies of one another. The first 200
rows are the public ones, as in the LPCT paper; by default only the first copy of a row is kept, which leaves
200 public and 578 private rows.
"""


@overload
def fetch_diabetes_outcome(
    *, data_home: DataHome = None, deduplicate: bool = True, return_X_y: No = False, as_frame: bool = False
) -> Bunch: ...


@overload
def fetch_diabetes_outcome(
    *, data_home: DataHome = None, deduplicate: bool = True, return_X_y: Yes, as_frame: No = False
) -> tuple[FloatArray, IntArray, BoolArray]: ...


@overload
def fetch_diabetes_outcome(
    *, data_home: DataHome = None, deduplicate: bool = True, return_X_y: Yes, as_frame: Yes
) -> tuple["pd.DataFrame", "pd.Series", BoolArray]: ...


@overload
def fetch_diabetes_outcome(
    *, data_home: DataHome = None, deduplicate: bool = True, return_X_y: bool = False, as_frame: bool = False
) -> Bunch | tuple[Any, ...]: ...


def fetch_diabetes_outcome(
    *, data_home: DataHome = None, deduplicate: bool = True, return_X_y: bool = False, as_frame: bool = False
) -> Bunch | tuple[Any, ...]:
    """Load the diabetes outcomes of the LPCT paper.

    The published file needs a login at its source, so it is not downloaded. The loader reads
    ``diabetes/Healthcare-Diabetes.csv`` in the data folder and checks its hash.

    Parameters
    ----------
    data_home : path-like, default=None
        The data folder. None: the folder named by the environment variable SKPRIVATE_DATA, else ``skprivate``
        in scikit-learn's data folder.
    deduplicate : bool, default=True
        Keep only the first copy of every row. With the copies, 98.7 % of the test rows of a random split are
        also in the training part, and scores mean nothing.
    return_X_y : bool, default=False
        Return ``(data, target, is_public)`` instead of a Bunch.
    as_frame : bool, default=False
        Return data and target as pandas objects.

    Returns
    -------
    bunch : Bunch
        ``data`` (n, 8), ``target`` (n,) with 0 and 1, ``is_public`` (n,) of bool, ``feature_names``,
        ``DESCR``.

    Raises
    ------
    FileNotFoundError
        The file does not exist. The message has its source and its place.
    ValueError
        The file has another content than the published one.

    Examples
    --------
    >>> from skprivate.datasets import fetch_diabetes_outcome
    >>> data = fetch_diabetes_outcome()  # doctest: +SKIP
    >>> data.data.shape, int(data.is_public.sum())  # doctest: +SKIP
    ((778, 8), 200)
    """
    path = find_data_file("diabetes", "Healthcare-Diabetes.csv", _SHA256, data_home=data_home, source=_SOURCE)
    with open(path, encoding="utf-8") as file:
        columns = file.readline().strip().split(",")[1:]
        table = np.loadtxt(file, delimiter=",")[:, 1:]
    is_public = np.arange(len(table)) < _N_PUBLIC
    if deduplicate:
        first = np.sort(np.unique(table, axis=0, return_index=True)[1])
        table, is_public = table[first], is_public[first]
    data, target = table[:, :-1], table[:, -1].astype(np.int64)
    options: dict[str, Any] = {"return_X_y": return_X_y, "as_frame": as_frame, "DESCR": _DESCRIPTION}
    return as_bunch(data, target, columns[:-1], columns[-1], is_public, **options)
