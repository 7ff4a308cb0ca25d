# SPDX-License-Identifier: BSD-3-Clause
"""UCI Adult as published: 13 columns, all 32,561 rows, and the domain that its documentation declares."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skprivate.datasets._census import _LEVELS as _CENSUS
from skprivate.datasets._census import _SHA256, _SOURCE
from skprivate.datasets._files import find_data_file
from skprivate.domain import TableDomain

# A weight of the survey, which says nothing of the person.
_NOT_USED = "fnlwgt"
_LEVELS = {
    **dict(_CENSUS.values()),
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th "
    "Masters 1st-4th 10th Doctorate 5th-6th Preschool",
    "native-country": "United-States Cambodia England Puerto-Rico Canada Germany India Japan Greece South "
    "Outlying-US(Guam-USVI-etc) China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico "
    "Portugal Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala "
    "Nicaragua Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands",
}
_WITH_GAPS = ("workclass", "occupation", "native-country")
# Ages, gains and hours end where the survey cuts them off.
_NUMBERS = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 4_356),
    "hours-per-week": (1, 99),
}
#: As in the file.
COLUMNS = (
    *("age", "workclass", _NOT_USED, "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country"),
)
#: Columns of which linear models take the logarithm.
LOGGED = ("capital-gain", "capital-loss")


def adult_domain() -> TableDomain:
    """Return what is publicly known of the 13 columns; "?" is a level like any other."""
    known: dict[str, Any] = {name: levels.split() for name, levels in _LEVELS.items()} | _NUMBERS
    known |= {name: [*known[name], "?"] for name in _WITH_GAPS}
    return TableDomain({name: known[name] for name in COLUMNS if name != _NOT_USED})


def read_adult() -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Return the table and the labels: 1 for an income above 50,000 dollars."""
    path = find_data_file("census", "adult.data", _SHA256, data_home=None, source=_SOURCE)
    table = pd.read_csv(path, names=[*COLUMNS, "income"], skipinitialspace=True)
    income = (table.pop("income") == ">50K").to_numpy(dtype=np.int64)
    return table.drop(columns=_NOT_USED), income
