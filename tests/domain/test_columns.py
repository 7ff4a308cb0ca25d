# SPDX-License-Identifier: BSD-3-Clause
"""Declarations of columns: short forms, rules of missing cells, names, bounds, and laws of stresses."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest

from skprivate import config_context, private_describe
from skprivate.domain import (
    CategoricalColumn,
    DateColumn,
    NumberColumn,
    StressColumn,
    TableDomain,
)

DOMAIN = TableDomain(
    {
        "age": (17, 90),
        "job": ["clerk", "smith"],
        "married": bool,
        "since": ("2001-01-01", "2020-12-31"),
        "size": CategoricalColumn(["small", "middle", "large"], ordered=True),
        "pay": NumberColumn(0, 1000, missing="indicator", fill=10),
    },
    missing_values=["?"],
)


def test_encoded_names_and_bounds_follow_the_columns():
    assert DOMAIN.names == ("age", "job", "married", "since", "size", "pay")
    assert DOMAIN.encoded_names == (
        *("age", "job=clerk", "job=smith", "job:missing", "married", "married:missing", "since"),
        *("size", "size:missing", "pay", "pay:missing"),
    )
    lower, upper = DOMAIN.bounds
    np.testing.assert_array_equal(lower, [17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(upper, [90, 1, 1, 1, 1, 1, 7304, 2, 1, 1000, 1])
    with pytest.raises(ValueError, match="read-only"):
        lower[0] = 0


def test_dates_are_bounds_in_all_their_forms():
    forms = ["2001-01-31", date(2001, 1, 31), datetime(2001, 1, 31), np.datetime64("2001-01-31")]
    assert {DateColumn(form, "2002-01-01").lower for form in forms} == {"2001-01-31"}
    assert DateColumn("2001-01-31T02:00+02:00", "2002-01-01").lower == "2001-01-31"


# Stresses

STRESSES = TableDomain(
    {
        "celsius": StressColumn(20, 150, "arrhenius"),
        "volt": StressColumn(1, 10, "inverse-power"),
        "age": (0, 5),
    }
)
ROWS = pd.DataFrame({"celsius": [25.0, 125.0, 200.0], "volt": [2.0, 10.0, 0.5], "age": [1.0, 2.0, 9.0]})


def law(celsius):
    """Return the reciprocal of Boltzmann's constant in eV/K, as tables give it, over kelvins."""
    return 1 / (8.617333262e-5 * (celsius + 273.15))


def test_stresses_are_encoded_by_their_law_also_beyond_their_bounds():
    encoded = STRESSES.encode(ROWS)
    np.testing.assert_allclose(encoded[:, 0], law(ROWS["celsius"]), rtol=1e-9)
    np.testing.assert_allclose(encoded[:, 1], np.log(ROWS["volt"]), rtol=1e-12)
    np.testing.assert_array_equal(encoded[:, 2], ROWS["age"])
    assert abs(encoded[0, 0] - 11604.5 / 298.15) < 1e-3


def test_bounds_are_transformed_and_those_of_a_falling_law_swapped():
    lower, upper = STRESSES.bounds
    np.testing.assert_allclose(lower, [law(150), 0, 0], rtol=1e-9)
    np.testing.assert_allclose(upper, [law(20), np.log(10), 5], rtol=1e-9)
    assert STRESSES.encoded_names == ("celsius:arrhenius", "volt:inverse-power", "age")


def test_infinite_stresses_stand_at_their_bounds_in_strict_mode():
    rows = {"celsius": [np.inf, -np.inf], "volt": [np.inf, -np.inf], "age": [0, 1]}
    lower, upper = STRESSES.bounds
    encoded = STRESSES.encode(rows, strict=True)
    np.testing.assert_allclose(encoded[:, 0], [lower[0], upper[0]])
    np.testing.assert_allclose(encoded[:, 1], [upper[1], lower[1]])
    # So hot or cold that the law is no finite number.
    least = TableDomain({"t": StressColumn(1, 9, "arrhenius-kelvin")}).encode([[5e-324]], strict=True)
    assert np.isfinite(least).all()


def test_missing_stresses_and_markers():
    column = StressColumn(1, 10, "inverse-power", missing="indicator", fill=2, missing_values=[-999])
    domain = TableDomain({"volt": column})
    np.testing.assert_allclose(
        domain.encode({"volt": [-999, "-999", None, 4]}),
        [[np.log(2), 1], [np.log(2), 1], [np.log(2), 1], [np.log(4), 0]],
    )
    assert domain.encoded_names == ("volt:inverse-power", "volt:missing")


def test_a_description_speaks_in_the_unit_of_the_stress():
    rng = np.random.default_rng(0)
    table = {"volt": rng.uniform(2, 8, 20_000), "age": rng.uniform(0, 5, 20_000)}
    domain = TableDomain({"volt": StressColumn(1, 10, "inverse-power"), "age": NumberColumn(0, 5)})
    with config_context(strict=True):
        found = private_describe(table, domain, epsilon=5.0)
    # The mean of the law's values is 1.5; the standard error of the mean is .012.
    assert abs(found.columns["volt"].mean.value - 5.0) < 0.25


@pytest.mark.parametrize(("column", "cell"), [("celsius", -273.15), ("volt", 0.0), ("volt", "-7.25")])
def test_a_stress_without_a_law_is_an_error_and_is_replaced_in_strict_mode(column, cell):
    rows = {"celsius": [25.0, 25.0], "volt": [2.0, 2.0], "age": [1.0, 1.0], column: [cell, 3.0]}
    with pytest.raises(ValueError, match=f"{column}.*law is defined") as caught:
        STRESSES.encode(rows)
    assert "7.25" not in str(caught.value)
    place = STRESSES.names.index(column)
    strict = STRESSES.encode(rows, strict=True)
    assert strict[0, place] == np.mean([side[place] for side in STRESSES.bounds])
    values, unusable = STRESSES.read_columns(rows)[column]
    assert np.isnan(values[0])
    assert unusable.tolist() == [True, False]
