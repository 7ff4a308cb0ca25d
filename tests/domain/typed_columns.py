# SPDX-License-Identifier: BSD-3-Clause
"""Declarations of every kind, and columns of every library whose type says what they hold."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from skprivate.domain import BooleanColumn, CategoricalColumn, DateColumn, NumberColumn, StressColumn

EVERY_KIND = {
    "number": NumberColumn(-5, 5, missing="indicator", missing_values=[-999]),
    "text": CategoricalColumn(["a", "b", "12"]),
    "numeric": CategoricalColumn([1, 2.5]),
    "ordered": CategoricalColumn(["low", "mid", "high"], ordered=True),
    "truth": [False, True],
    "flag": BooleanColumn(),
    "date": DateColumn("2001-01-01", "2020-12-31"),
    "stress": StressColumn(1, 9, "inverse-power"),
    "comma": NumberColumn(0, 9, decimal=",", thousands=".", unit="%"),
    "day first": DateColumn("2001-01-01", "2020-12-31", format="%d/%m/%Y"),
}

TEXT = ["no", " yes", "\tno\n", "Yes"]
TEXTS = {
    "U": np.array(TEXT),
    "S": np.array(TEXT, dtype="S"),
    "StringDType": np.array(TEXT, dtype=np.dtypes.StringDType()),
    "pandas str": pd.Series(TEXT),
    "pandas string": pd.Series(TEXT, dtype="string"),
    "pandas category": pd.Series(TEXT, dtype="category"),
    "pandas arrow": pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string())),
    "polars String": pl.Series(TEXT),
    "polars Categorical": pl.Series(TEXT, dtype=pl.Categorical),
    "polars Enum": pl.Series(TEXT, dtype=pl.Enum(TEXT)),
    "arrow": pa.chunked_array([TEXT]),
    "arrow dictionary": pa.array(TEXT).dictionary_encode(),
}
NUMBERS = {
    "int": np.array([0, 1, 0, 2]),
    "float": np.array([0.0, 1.0, 0.0, np.nan]),
    "pandas Int64": pd.Series([0, 1, None, 2], dtype="Int64"),
    "pandas category": pd.Series([0, 1, 0, 2], dtype="category"),
    "pandas arrow": pd.Series([0, 1, 0, 2.5], dtype=pd.ArrowDtype(pa.float64())),
    "polars": pl.Series([0, 1, 0, 2]),
    "arrow": pa.chunked_array([[0, 1], [0, 2]]),
}
BOOLEANS = {
    "bool": np.array([False, True, False, False]),
    "pandas boolean": pd.Series([False, True, None, False], dtype="boolean"),
    "polars boolean": pl.Series([False, True, False, False]),
    "arrow boolean": pa.array([False, True, False, False]),
}
