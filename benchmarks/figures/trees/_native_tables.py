# SPDX-License-Identifier: BSD-3-Clause
"""Raw tables with levels and missing cells: training rows, of which some are public, and test rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skprivate.datasets import fetch_diabetes_outcome
from skprivate.domain import CategoricalColumn, NumberColumn, TableDomain

from ..._utility.adult import adult_domain, read_adult

N_PUBLIC = 300
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# A value of 0 is impossible there: it stands for a missing one.
_HOLES = ("Glucose", "BloodPressure", "SkinThickness", "Insulin", "BMI")
_DIABETES = {
    **{"Pregnancies": (0, 20), "Glucose": (0, 250), "BloodPressure": (0, 140), "SkinThickness": (0, 120)},
    **{"Insulin": (0, 900), "BMI": (0, 80), "DiabetesPedigreeFunction": (0, 3), "Age": (18, 100)},
}


@dataclass(frozen=True, eq=False)
class RawSplit:
    """Rows to train on with their mask, rows to test, and what is declared of the columns."""

    domain: TableDomain
    table: pd.DataFrame
    y: NDArray[np.int64]
    is_public: NDArray[np.bool_]
    table_test: pd.DataFrame
    y_test: NDArray[np.int64]
    classes: tuple[int, ...]
    seed: int


def _cut(
    domain: TableDomain,
    table: pd.DataFrame,
    y: NDArray[np.int64],
    offered: NDArray[np.bool_] | None,
    n_test: int,
    seed: int,
) -> RawSplit:
    """Draw test rows from the private ones, and public rows from the offered ones, or from all others."""
    rng = np.random.default_rng([seed, 23])
    candidates = np.ones(len(y), dtype=bool) if offered is None else ~offered
    order = rng.permutation(np.flatnonzero(candidates))
    test, train = order[:n_test], order[n_test:]
    if offered is None:
        public, train = train[:N_PUBLIC], train[N_PUBLIC:]
    else:
        public = rng.permutation(np.flatnonzero(offered))[:N_PUBLIC]
    rows = np.concatenate([public, train])
    return RawSplit(
        domain,
        table.iloc[rows].reset_index(drop=True),
        y[rows],
        np.arange(len(rows)) < len(public),
        table.iloc[test].reset_index(drop=True),
        y[test],
        tuple(range(int(y.max()) + 1)),
        seed,
    )


def _nominal(seed: int) -> RawSplit:
    rng = np.random.default_rng([seed, 1])
    level = rng.integers(12, size=8000)
    y = (rng.uniform(size=8000) < np.where(np.isin(level, (1, 4, 6, 9)), 0.9, 0.1)).astype(np.int64)
    names = [f"level {i:02d}" for i in range(12)]
    table = pd.DataFrame({"kind": np.array(names, dtype=object)[level]})
    return _cut(TableDomain({"kind": names}), table, y, None, 4000, seed)


@lru_cache(maxsize=1)
def _adult_rows() -> tuple[pd.DataFrame, NDArray[np.int64], TableDomain]:
    table, y = read_adult()
    columns = {}
    for name, column in adult_domain().columns.items():
        if isinstance(column, CategoricalColumn) and "?" in column.levels:
            known = [level for level in column.levels if level != "?"]
            column = CategoricalColumn(known, missing_values=["?"], missing="indicator")
        columns[name] = column
    return table, y, TableDomain(columns)


def _adult(seed: int) -> RawSplit:
    table, y, domain = _adult_rows()
    return _cut(domain, table, y, None, 6500, seed)


def _diabetes(seed: int) -> RawSplit:
    data = fetch_diabetes_outcome()
    table = pd.DataFrame(np.asarray(data.data, dtype=np.float64), columns=list(data.feature_names))
    y = np.unique(data.target, return_inverse=True)[1].astype(np.int64)
    columns: dict[str, Any] = {
        name: NumberColumn(*_DIABETES[name], missing="indicator", missing_values=[0])
        if name in _HOLES
        else NumberColumn(*_DIABETES[name])
        for name in table.columns
    }
    offered = np.asarray(data.is_public)
    return _cut(TableDomain(columns), table, y, offered, int((~offered).sum()) // 5, seed)


def _skewed(seed: int) -> RawSplit:
    """60 levels of very different sizes, and two numbers, of which one is missing where the label is 1."""
    rng, n = np.random.default_rng([seed, 2]), 24_000
    shares = 1 / np.arange(1, 61) ** 1.1
    level = rng.choice(60, size=n, p=shares / shares.sum())
    effects = np.random.default_rng(77).normal(0, 1.2, 60)
    x = rng.uniform(size=(n, 3))
    odds = effects[level] + 2 * (x[:, 0] - 0.5) - 0.3
    y = (rng.uniform(size=n) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    x[rng.uniform(size=n) < np.where(y == 1, 0.35, 0.1), 1] = np.nan
    names = [f"{_LETTERS[i // 26]}{_LETTERS[i % 26]}" for i in range(60)]
    table = pd.DataFrame({"kind": np.array(names, dtype=object)[level], **dict(zip("uvw", x.T, strict=True))})
    table.loc[rng.uniform(size=n) < 0.05, "kind"] = None
    domain = TableDomain(
        {
            "kind": CategoricalColumn(names, missing="indicator"),
            "u": (0, 1),
            "v": NumberColumn(0, 1, missing="indicator"),
            "w": (0, 1),
        }
    )
    return _cut(domain, table, y, None, 4000, seed)


def _classes(seed: int) -> RawSplit:
    """Four classes: the level of one column, and of another column less clearly, say which."""
    rng, n = np.random.default_rng([seed, 3]), 14_000
    of_city, of_brand = (np.random.default_rng(40 + i).permutation(np.arange(24) % 4) for i in range(2))
    y = rng.integers(4, size=n)
    columns = {}
    for name, classes, share in (("city", of_city, 0.6), ("brand", of_brand, 0.4)):
        said = np.where(rng.uniform(size=n) < share, y, rng.integers(4, size=n))
        level = np.array([np.flatnonzero(classes == one) for one in range(4)])[said, rng.integers(6, size=n)]
        names = np.array([f"{name} {_LETTERS[i]}" for i in range(24)], dtype=object)
        columns[name] = (names, level)
    table = pd.DataFrame({name: names[level] for name, (names, level) in columns.items()})
    table["size"] = np.clip(0.5 + 0.15 * (y == 2) + rng.normal(0, 0.2, n), 0, 1)
    table["noise"] = rng.uniform(size=n)
    domain = TableDomain(
        {**{name: list(names) for name, (names, _) in columns.items()}, "size": (0, 1), "noise": (0, 1)}
    )
    return _cut(domain, table, y, None, 4000, seed)


#: Name of every table, what makes a split of it from a seed, and the number of seeds.
TABLES: dict[str, tuple[Callable[[int], RawSplit], int]] = {
    "nominal, 12 levels": (_nominal, 20),
    "diabetes with holes": (_diabetes, 20),
    "60 skewed levels": (_skewed, 6),
    "four classes": (_classes, 6),
    "adult": (_adult, 4),
}
