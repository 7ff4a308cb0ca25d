# SPDX-License-Identifier: BSD-3-Clause
"""Parameters that the room's checks refuse: what is called, the error, its message, and the wrong values."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from skprivate.utils import check_bounds, check_epsilon, check_row_mask, number_groups
from tests.refusals import cases, give

SIX = np.ones(6, dtype=bool)


def bounds_of(bounds):
    return check_bounds(bounds, 2, ["dose", "age"])


def mask_of(mask):
    return check_row_mask(mask, 3)


def groups_of(groups):
    return number_groups(groups, SIX)


def words(missing):
    return pd.Series(["a", missing, "b", "a", "c", "b"], dtype=object)


def dates(unit):
    return np.array(["2026-01-01", "NaT", *["2026-01-02"] * 4], dtype=f"datetime64[{unit}]")


AN_EPSILON = "epsilon must be an int, a float or a Fraction"
REFUSED = [
    (check_epsilon, ValueError, "epsilon must be", 0, -1, 0.0, Fraction(0), Fraction(-1, 2), np.inf, np.nan),
    (check_epsilon, TypeError, AN_EPSILON, True, "1", None, 1j, [1.0]),
    (bounds_of, ValueError, "lower must be below upper", ((1, 1),)),
    (bounds_of, ValueError, "column 1", (([0, 2], [1, 1]),)),
    (bounds_of, ValueError, "finite", ((0, np.inf),), ((np.nan, 1),)),
    (bounds_of, ValueError, "one value per column", (([0, 0, 0], 1),), (([[0]], 1),)),
    (bounds_of, ValueError, "'age' has no bounds", ({"dose": (0, 1)},)),
    (bounds_of, ValueError, "no column 'height'", ({"dose": (0, 1), "height": (0, 1)},)),
    (bounds_of, ValueError, "no column 5", ({"dose": (0, 1), 5: (0, 1)},)),
    (bounds_of, ValueError, "no column -1", ({"dose": (0, 1), -1: (0, 1)},)),
    (bounds_of, ValueError, "for a pair per column", [(0, 1), (0, 50)]),
    (bounds_of, ValueError, "given twice", ({"dose": (0, 1), 0: (0, 1), "age": (0, 1)},)),
    (bounds_of, TypeError, "bounds must", 3, "01", ((0,),), ((0, 1, 2),), (("a", "b"),), (("0", "1"),)),
    (bounds_of, TypeError, "bounds must", {0, 1}, ({"dose": 3, "age": (0, 1)},)),
    (mask_of, TypeError, "masked", np.ma.array([True, True, True], mask=[False, True, False])),
    (mask_of, (TypeError, ValueError), "is_public must", [1, 0, 1], [0, 2], ["a", "b", "c"], [0.0, 1.0, 1.0]),
    (mask_of, (TypeError, ValueError), "is_public must", [True, None, False]),
    (mask_of, ValueError, "is_public must have shape", [True], True, [[True], [False], [True]]),
    (groups_of, ValueError, "missing values", words(None), words(float("nan")), words(pd.NA)),
    (groups_of, ValueError, "missing values", words(np.datetime64("NaT", "ns")), [1, np.nan, 1, 2, 2, 3]),
    (groups_of, ValueError, "missing values", dates("D"), dates("ns")),
    (groups_of, ValueError, "groups must have shape", [1, 2]),
]


@pytest.mark.parametrize(("call", "error", "match", "wrong"), cases(REFUSED))
def test_it_is_refused(call, error, match, wrong):
    with pytest.raises(error, match=match):
        give(call, wrong)
