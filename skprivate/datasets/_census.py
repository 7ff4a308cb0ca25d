# SPDX-License-Identifier: BSD-3-Clause
"""Income and census answers (UCI Adult), with people born outside the United States as the public rows."""

import csv
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._typing import BoolArray, FloatArray, IntArray
from ._files import DataHome, No, Yes, as_bunch, find_data_file

if TYPE_CHECKING:
    import pandas as pd

# As published, and without the empty line at its end.
_SHA256 = (
    "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "df25a4e32ed6f1bd4b3910d21a7bd661a09061eced7cb45555a519d9667cc87b",
)
_SOURCE = "https://archive.ics.uci.edu/dataset/2/adult (CC BY 4.0)"
_HOME_COUNTRY = "United-States"
_COUNTRY, _INCOME = 13, 14
# Name -> position in a row of the file.
_NUMBERS = {"age": 0, "education-num": 4, "capital-gain": 10, "capital-loss": 11, "hours-per-week": 12}
# Position -> name and levels; from the documentation, so that no column depends on a private row.
_LEVELS: dict[int, tuple[str, str]] = {
    1: (
        "workclass",
        "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked",
    ),
    5: (
        "marital-status",
        "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse",
    ),
    6: (
        "occupation",
        "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
        "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv "
        "Armed-Forces",
    ),
    7: ("relationship", "Wife Own-child Husband Not-in-family Other-relative Unmarried"),
    8: ("race", "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black"),
    9: ("sex", "Female Male"),
}

_DESCRIPTION = """Adult (Census Income), UCI Machine Learning Repository, training part, CC BY 4.0.

Becker, B. and Kohavi, R. (1996), https://doi.org/10.24432/C5XW20. Extracted from the United States census of
1994: is a person's income above 50,000 dollars a year? 30,162 of 32,561 rows are complete; only these are
kept. The 27,504 rows of people whose native country is the United States are private, the 2,658 others
public. Not used: fnlwgt (a sampling weight), education (the same as education-num) and native-country (it
distinguishes private rows from public ones).
"""


@overload
def fetch_census(*, data_home: DataHome = None, return_X_y: No = False, as_frame: bool = False) -> Bunch: ...


@overload
def fetch_census(
    *, data_home: DataHome = None, return_X_y: Yes, as_frame: No = False
) -> tuple[FloatArray, IntArray, BoolArray]: ...


@overload
def fetch_census(
    *, data_home: DataHome = None, return_X_y: Yes, as_frame: Yes
) -> tuple["pd.DataFrame", "pd.Series", BoolArray]: ...


@overload
def fetch_census(
    *, data_home: DataHome = None, return_X_y: bool = False, as_frame: bool = False
) -> Bunch | tuple[Any, ...]: ...


def fetch_census(
    *, data_home: DataHome = None, return_X_y: bool = False, as_frame: bool = False
) -> Bunch | tuple[Any, ...]:
    """Load the census data of the LPCT paper: the training part of UCI Adult.

    The loader downloads nothing. It reads ``census/adult.data`` in the data folder and checks its hash. Rows
    whose native country is the United States are private, the others are public. The two differ in their
    features and in their labels.

    Parameters
    ----------
    data_home : path-like, default=None
        The data folder. None: the folder named by the environment variable SKPRIVATE_DATA, else ``skprivate``
        in scikit-learn's data folder.
    return_X_y : bool, default=False
        Return ``(data, target, is_public)`` instead of a Bunch.
    as_frame : bool, default=False
        Return data and target as pandas objects.

    Returns
    -------
    bunch : Bunch
        - ``data`` (30162, 47): age (years), education-num (1 to 16), capital-gain, capital-loss (dollars),
          hours-per-week, then one column of 0 and 1 for every documented level of workclass, marital-status,
          occupation, relationship, race and sex;
        - ``target`` (30162,): 1 for an income above 50,000 dollars, else 0;
        - ``is_public`` (30162,) of bool;
        - ``feature_names``, ``DESCR``.

    Raises
    ------
    FileNotFoundError
        The file does not exist. The message has its source and its place.
    ValueError
        The file has another content than the published one.

    Examples
    --------
    >>> from skprivate.datasets import fetch_census
    >>> data = fetch_census()  # doctest: +SKIP
    >>> data.data.shape, int(data.is_public.sum())  # doctest: +SKIP
    ((30162, 47), 2658)
    """
    path = find_data_file("census", "adult.data", _SHA256, data_home=data_home, source=_SOURCE)
    with open(path, encoding="utf-8", newline="") as file:
        data, target, is_public = _parse(file)
    levels = [f"{name}={level}" for name, levels in _LEVELS.values() for level in levels.split()]
    options: dict[str, Any] = {"return_X_y": return_X_y, "as_frame": as_frame, "DESCR": _DESCRIPTION}
    return as_bunch(data, target, [*_NUMBERS, *levels], "income above 50K", is_public, **options)


def _parse(lines: Iterable[str]) -> tuple[Any, Any, NDArray[np.bool_]]:
    """Return data, target and mask of the complete rows."""
    rows = [row for row in csv.reader(lines, skipinitialspace=True) if row and "?" not in row]
    table = np.array(rows, dtype=np.str_)
    numbers = table[:, list(_NUMBERS.values())].astype(np.float64)
    marks = [table[:, [position]] == levels.split() for position, (_, levels) in _LEVELS.items()]
    data = np.hstack([numbers, *marks]).astype(np.float64)
    return data, (table[:, _INCOME] == ">50K").astype(np.int64), table[:, _COUNTRY] != _HOME_COUNTRY
