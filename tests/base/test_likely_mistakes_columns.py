# SPDX-License-Identifier: BSD-3-Clause
"""Columns that are not what is declared: every model that releases means or counts of them warns."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skprivate import (
    DPBoostingClassifier,
    DPLogisticRegression,
    DPNormalLLSRegressor,
    TableDomain,
    config_context,
    private_describe,
)
from skprivate.base._likely_mistakes import BoundedColumn, columns_at_a_bound
from skprivate.domain import BooleanColumn, CategoricalColumn, NumberColumn

# Noise of the operating system, for strict mode takes no seed; at this epsilon its deviation is below 2 rows,
# and every limit is 20 of them away or more.
N, EPSILON = 2_000, 300.0
RNG = np.random.default_rng(0)
AGE = RNG.integers(20, 80, N)
WARD = RNG.choice(["surgery", "medicine"], N)
DAY = pd.Series(pd.date_range("2001-01-01", periods=N, freq="h"))
MISSING = RNG.random(N) < 0.6
TABLE = pd.DataFrame(
    {
        "age": AGE,
        "ward": WARD,
        "day": DAY,
        "slashes": DAY.dt.strftime("%Y/%m/%d"),
        "yes": np.where(RNG.random(N) < 0.5, "oui", "non"),
        "gain": np.where(RNG.random(N) < 0.08, RNG.uniform(0, 9000, N), 0.0),
        "rare": (RNG.random(N) < 0.99) * 1.0,
        "one": np.ones(N),
        "empty": np.where(MISSING, np.nan, AGE),
        "none": np.where(MISSING, None, WARD),
    }
)
IS_OLD, DATES = AGE + RNG.normal(0, 10, N) > 50, ("2001-01-01", "2002-01-01")
RIGHT = {"age": (20, 80), "ward": ["surgery", "medicine"], "day": DATES}
FITS = {
    "boosting": lambda domain, rows: DPBoostingClassifier(EPSILON, domain=domain, classes=[0, 1]).fit(
        rows, IS_OLD
    ),
    "logistic": lambda domain, rows: DPLogisticRegression(EPSILON, domain=domain, classes=[0, 1]).fit(
        rows, IS_OLD
    ),
    "linear": lambda domain, rows: DPNormalLLSRegressor(EPSILON, domain=domain, bounds_y=(0, 100)).fit(
        rows, AGE
    ),
    "describe": lambda domain, rows: private_describe(rows, domain, EPSILON),
}
EVERY, COUNTED = tuple(FITS), ("boosting", "describe")


def told(kind, declared):
    """Return what a fit in strict mode warns of."""
    domain = TableDomain({**RIGHT, **declared})
    with config_context(strict=True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FITS[kind](domain, TABLE[list(domain.names)])
    return " | ".join(str(one.message) for one in caught)


@pytest.mark.parametrize(
    ("declared", "hint", "kinds"),
    [
        ({"age": (0.2, 0.8)}, "values of 'age' lie at the upper bound.*unit", EVERY),
        ({"age": (200, 800)}, "values of 'age' lie at the lower bound.*unit", EVERY),
        ({"empty": NumberColumn(0.2, 0.8, missing="indicator")}, "values of 'empty' lie at the upper", EVERY),
        ({"day": ("1991-01-01", "1992-01-01")}, "values of 'day' lie at the upper bound", EVERY),
        ({"day": ("2011-01-01", "2012-01-01")}, "values of 'day' lie at the lower bound", EVERY),
        ({"age": [0, 3000]}, r"cells of 'age' are missing, or.*\(0, 3000\) all numbers", EVERY),
        ({"ward": ["Surgery", "Medicine"]}, "cells of 'ward'.*spelling.*'Surgery', 'Medicine'", EVERY),
        (
            {"ward": CategoricalColumn(["Surgery", "Medicine"], missing="indicator")},
            "cells of 'ward'.*spelling",
            EVERY,
        ),
        ({"ward": (0, 1)}, "cells of 'ward'.*list of levels", COUNTED),
        ({"yes": bool}, "cells of 'yes'.*how true and false are written", COUNTED),
        ({"yes": BooleanColumn(missing="indicator")}, "cells of 'yes'.*true and false", EVERY),
        ({"slashes": DATES}, r"cells of 'slashes'.*DateColumn\(format=\)", COUNTED),
    ],
)
def test_a_misfit_is_named_before_the_noise(declared, hint, kinds):
    for kind in kinds:
        message = told(kind, declared)
        assert pd.Series([message]).str.contains(hint).all(), (kind, message)
        assert "noise" not in message.partition("cells of")[0].partition("values of")[0], kind


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (BoundedColumn("a", 0.0, 5.0, 0.99, 0.01, 0.01), True),
        (BoundedColumn("a", 2.0, 5.0, 0.0, 1.0, 0.01), True),
        (BoundedColumn("a", 0.0, 5.0, 0.0, 1.0, 0.01, is_date=True), True),
        (BoundedColumn("a", 0.0, 5.0, 0.97, 0.03, 0.001), False),  # clearly not at the bound
        (BoundedColumn("a", 0.0, 5.0, 1.0, 0.0, 0.04), False),  # too much noise
        (BoundedColumn("a", 0.0, 5.0, 0.0, 1.0, 0.01), False),  # zeros
        (BoundedColumn("a", 1.0, 5.0, 0.0, 1.0, 0.01), False),  # counts from 1
        (BoundedColumn("a", 0.0, 1.0, 1.0, 0.0, 0.01), False),  # an indicator
        (BoundedColumn("a", 3.0, 6.0, 0.0, 1.0, 0.01), False),  # a constant
    ],
)
def test_which_columns_lie_at_a_bound(column, told):
    others = [BoundedColumn(name, 0.0, 5.0, 0.5, 0.5, 0.01) for name in "bcd"]
    assert (columns_at_a_bound([column, *others]) is not None) is told


def test_indicators_are_named_where_most_of_the_columns_are_at_their_upper_bound():
    piled = [BoundedColumn(name, 0.0, 1.0, 1.0, 0.0, 0.01) for name in "abcd"]
    assert "'a', 'b', 'c', ..." in columns_at_a_bound(piled)
    assert "'a'" not in columns_at_a_bound([piled[0], BoundedColumn("b", 0.0, 5.0, 1.0, 0.0, 0.01)])
