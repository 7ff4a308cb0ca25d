# SPDX-License-Identifier: BSD-3-Clause
"""Stable doses of warfarin, with facts about the patient, for collaborative prediction."""

import csv
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from sklearn.utils import Bunch

from .._typing import FloatArray
from ._files import DataHome, No, Yes, as_bunch, find_data_file

if TYPE_CHECKING:
    import pandas as pd

# The published file: its hash, and its source.
_SHA256 = "13c37c04d28bee5c02b2ff55afbc256b11aec74b2d2eea284744dce1af697810"
_SOURCE = (
    "https://www.pharmgkb.org/downloads (International Warfarin Pharmacogenetics Consortium, subject data, "
    "submission 553247439, CC BY-SA 4.0), saved as comma-separated text in UTF-8"
)
# Column of the dose, and cells without a value.
_DOSE = "Therapeutic Dose of Warfarin"
_MISSING = ("", "NA")
# mg/week; the paper drops it.
_OUTLIER = 315.0
# The last class is open; it is assumed to be as wide as the others.
_AGES = {f"{low} - {low + 9}": low + 5.0 for low in range(10, 90, 10)} | {"90+": 95.0}
# Name -> level of the file; from its documentation.
_RACES = {
    "race=Asian": "Asian",
    "race=Black": "Black or African American",
    "race=White": "White",
    "race=Unknown": "Unknown",
}
# Name -> drugs, one of which is enough; the enzyme inducers are those of the consortium's dosing model.
_DRUGS = {
    "amiodarone": ("Amiodarone (Cordarone)",),
    "enzyme inducer": ("Carbamazepine (Tegretol)", "Phenytoin (Dilantin)", "Rifampin or Rifampicin"),
}
# Name -> range, known without the data: classes of the questionnaire, and possible sizes of a person.
_QUASI_IDENTIFIERS = {"age": (10.0, 100.0), "height": (120.0, 220.0), "weight": (30.0, 250.0)}
_TARGET_RANGE = (0.0, 250.0)

_DESCRIPTION = """Stable doses of warfarin, International Warfarin Pharmacogenetics Consortium, CC BY-SA 4.0.

PharmGKB submission 553247439: 5,700 patients from four continents, 5,528 of them with a therapeutic dose in
mg/week. The case study of the collaborative prediction paper: one dose of 315 mg/week is dropped, which
leaves 5,527 rows; ages come in classes of ten years and are set to the middles of their classes.

age: years, 15 to 95 in steps of ten (39 are missing); height: cm (1,081 are missing); weight: kg (272 are
missing); race=Asian, race=Black, race=White, race=Unknown: 0 or 1; amiodarone: 0 or 1 (1,503 are missing);
enzyme inducer: 1 if carbamazepine, phenytoin or rifampin is taken, 0 if none is (about 3,100 are
missing). Genotypes are not used, as in the paper.

{imputation}

The ranges in bounds and target_range are general knowledge and were not read from the rows. Age, height and
weight are the quasi-identifiers. The paper deals the rows to 10 parties at random, and calls doses of at most
21 mg/week low and of at least 49 mg/week high.
"""
_IMPUTED = (
    "Missing values are replaced by the median of their column, over all 5,527 rows: a replaced value is a\n"
    "function of other people's rows. Pass impute=False and impute inside a pipeline if that matters."
)
_NOT_IMPUTED = "Missing values are NaN."


@overload
def fetch_warfarin(
    *, data_home: DataHome = None, impute: bool = True, return_X_y: No = False, as_frame: bool = False
) -> Bunch: ...


@overload
def fetch_warfarin(
    *, data_home: DataHome = None, impute: bool = True, return_X_y: Yes, as_frame: No = False
) -> tuple[FloatArray, FloatArray]: ...


@overload
def fetch_warfarin(
    *, data_home: DataHome = None, impute: bool = True, return_X_y: Yes, as_frame: Yes
) -> tuple["pd.DataFrame", "pd.Series"]: ...


@overload
def fetch_warfarin(
    *, data_home: DataHome = None, impute: bool = True, return_X_y: bool = False, as_frame: bool = False
) -> Bunch | tuple[Any, ...]: ...


def fetch_warfarin(
    *, data_home: DataHome = None, impute: bool = True, return_X_y: bool = False, as_frame: bool = False
) -> Bunch | tuple[Any, ...]:
    """Load the case study of the collaborative prediction paper: stable doses of warfarin.

    The loader downloads nothing. It reads ``warfarin/warfarin.csv`` in the data folder and checks its hash.

    Parameters
    ----------
    data_home : path-like, default=None
        The data folder. None: the folder named by the environment variable SKPRIVATE_DATA, else ``skprivate``
        in scikit-learn's data folder.
    impute : bool, default=True
        Replace missing values by the median of their column, as the paper's figures need; False: they are
        NaN.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return data and target as pandas objects.

    Returns
    -------
    bunch : Bunch
        - ``data`` (5527, 9): age (years, the middle of a class of ten), height (cm), weight (kg), then
          columns of 0 and 1: race (four levels), amiodarone, enzyme inducer;
        - ``target`` (5527,): doses in mg/week;
        - ``feature_names``; ``quasi_identifiers``: the names of the first three columns;
        - ``bounds``, a pair of arrays of shape (9,), and ``target_range``, a pair of floats: both are from
          general knowledge, and wide enough for every row;
        - ``DESCR``.

    Raises
    ------
    FileNotFoundError
        The file does not exist. The message has its source and its place.
    ValueError
        The file has another content than the published one.

    Notes
    -----
    **Privacy.** Bounds and ranges are not computed from the rows. With ``impute=True`` the value in place of
    a missing one is: it is a median over all rows.

    References
    ----------
    International Warfarin Pharmacogenetics Consortium, Estimation of the warfarin dose with clinical and
    pharmacogenetic data, New England Journal of Medicine 360(8), 2009.

    Lin, Liu, Wang, Striking the perfect balance: preserving privacy while boosting utility in collaborative
    medical prediction platforms, section 5.2 and appendix B.2.

    Examples
    --------
    >>> from skprivate.datasets import fetch_warfarin
    >>> data = fetch_warfarin()  # doctest: +SKIP
    >>> data.data.shape, data.quasi_identifiers, data.target_range  # doctest: +SKIP
    ((5527, 9), ['age', 'height', 'weight'], (0.0, 250.0))
    """
    path = find_data_file("warfarin", "warfarin.csv", _SHA256, data_home=data_home, source=_SOURCE)
    with open(path, encoding="utf-8-sig", newline="") as file:
        data, target = _parse(file)
    if impute:
        data = np.where(np.isnan(data), np.nanmedian(data, axis=0), data)
    names = [*_QUASI_IDENTIFIERS, *_RACES, *_DRUGS]
    ranges = np.array([*_QUASI_IDENTIFIERS.values(), *[(0.0, 1.0)] * (len(_RACES) + len(_DRUGS))])
    facts: dict[str, Any] = {
        "quasi_identifiers": list(_QUASI_IDENTIFIERS),
        "bounds": (ranges[:, 0].copy(), ranges[:, 1].copy()),
        "target_range": _TARGET_RANGE,
        "DESCR": _DESCRIPTION.format(imputation=_IMPUTED if impute else _NOT_IMPUTED),
    }
    return as_bunch(data, target, names, "dose", return_X_y=return_X_y, as_frame=as_frame, **facts)


def _parse(lines: Iterable[str]) -> tuple[FloatArray, FloatArray]:
    """Return features and doses of the rows with a dose, without the outlier."""
    rows = [row for row in csv.DictReader(lines) if row[_DOSE] not in _MISSING]
    rows = [row for row in rows if float(row[_DOSE]) != _OUTLIER]
    data = np.array([_features(row) for row in rows], dtype=np.float64)
    return data, np.array([float(row[_DOSE]) for row in rows])


def _features(row: dict[str, str]) -> list[float]:
    return [
        _AGES.get(row["Age"], np.nan),
        _number(row["Height (cm)"]),
        _number(row["Weight (kg)"]),
        *(float(row["Race"] == level) for level in _RACES.values()),
        *(_any_taken([_number(row[drug]) for drug in drugs]) for drugs in _DRUGS.values()),
    ]


def _number(text: str) -> float:
    return np.nan if text in _MISSING else float(text)


def _any_taken(answers: list[float]) -> float:
    # It is 1 if one drug is taken. Otherwise it is unknown if one answer is.
    return 1.0 if 1.0 in answers else float(np.sum(answers))
