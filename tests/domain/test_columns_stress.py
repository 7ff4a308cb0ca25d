# SPDX-License-Identifier: BSD-3-Clause
"""Stress laws as declared columns: encoding, bounds, limits, strict mode, and estimators behind them."""

import pickle

import numpy as np
import pandas as pd
import pytest

from skprivate import DomainEncoder, DPTreeRegressor, TableDomain, config_context, private_describe
from skprivate.domain import NumberColumn, StressColumn
from skprivate.tree import export_text

DOMAIN = TableDomain(
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
    encoded = DOMAIN.encode(ROWS)
    np.testing.assert_allclose(encoded[:, 0], law(ROWS["celsius"]), rtol=1e-9)
    np.testing.assert_allclose(encoded[:, 1], np.log(ROWS["volt"]), rtol=1e-12)
    np.testing.assert_array_equal(encoded[:, 2], ROWS["age"])
    assert abs(encoded[0, 0] - 11604.5 / 298.15) < 1e-3


def test_bounds_are_transformed_and_those_of_a_falling_law_swapped():
    lower, upper = DOMAIN.bounds
    np.testing.assert_allclose(lower, [law(150), 0, 0], rtol=1e-9)
    np.testing.assert_allclose(upper, [law(20), np.log(10), 5], rtol=1e-9)
    assert DOMAIN.encoded_names == ("celsius:arrhenius", "volt:inverse-power", "age")


def test_kelvins_are_degrees_shifted():
    kelvin = TableDomain({"t": StressColumn(293.15, 423.15, "arrhenius-kelvin")})
    celsius = TableDomain({"t": StressColumn(20, 150, "arrhenius")})
    np.testing.assert_allclose(kelvin.encode([[300.0]]), celsius.encode([[26.85]]), rtol=1e-12)
    np.testing.assert_allclose(kelvin.bounds, celsius.bounds, rtol=1e-12)


@pytest.mark.parametrize(
    ("column", "cell"),
    [("celsius", -273.15), ("celsius", -300.0), ("volt", 0.0), ("volt", -1), ("volt", "-7.25"), ("volt", 0)],
)
def test_a_stress_without_a_law_is_an_error_that_shows_nothing_and_is_replaced_in_strict_mode(column, cell):
    rows = {name: [value, 1.5] for name, value in {"celsius": 25.0, "volt": 2.0, "age": 1.0}.items()}
    rows[column] = [cell, 3.0]
    with pytest.raises(ValueError, match=f"{column}.*law is defined") as caught:
        DOMAIN.encode(rows)
    assert "7.25" not in str(caught.value)
    assert "300" not in str(caught.value)
    place = DOMAIN.names.index(column)
    strict = DOMAIN.encode(rows, strict=True)
    assert strict[0, place] == np.mean([side[place] for side in DOMAIN.bounds])
    values, unusable = DOMAIN.read_columns(rows)[column]
    assert np.isnan(values[0])
    assert unusable.tolist() == [True, False]


def test_infinite_stresses_stand_at_their_bounds_in_strict_mode():
    rows = {"celsius": [np.inf, -np.inf], "volt": [np.inf, -np.inf], "age": [0, 1]}
    lower, upper = DOMAIN.bounds
    encoded = DOMAIN.encode(rows, strict=True)
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


def test_decoding_returns_the_stresses():
    decoded = DOMAIN.decode(DOMAIN.encode(ROWS))
    for name in ROWS:
        np.testing.assert_allclose(decoded[name], ROWS[name], rtol=1e-9)
    encoder = DomainEncoder(DOMAIN).fit(ROWS)
    assert encoder.get_feature_names_out().tolist() == list(DOMAIN.encoded_names)
    np.testing.assert_allclose(encoder.inverse_transform(encoder.transform(ROWS)).astype(float), ROWS)


def test_a_domain_of_stresses_survives_json_and_pickles():
    assert TableDomain.from_json(DOMAIN.to_json()) == DOMAIN == pickle.loads(pickle.dumps(DOMAIN))
    assert (
        TableDomain({**DOMAIN.columns, "volt": StressColumn(1, 10, "arrhenius-kelvin", missing="error")})
        != DOMAIN
    )
    assert repr(DOMAIN.columns["volt"]) == "StressColumn(1.0, 10.0, 'inverse-power', missing='error')"


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ((20, 150, "eyring"), "law must be one of"),
        ((0, 10, "inverse-power"), "must be above 0"),
        ((5e-324, 10, "arrhenius-kelvin"), "must be above 0"),
        ((-273.15, 10, "arrhenius"), "must be above -273.15"),
        ((10, 1, "inverse-power"), "lower must be below upper"),
    ],
)
def test_mistakes_of_a_declaration_are_named(declaration, message):
    with pytest.raises(ValueError, match=message):
        StressColumn(*declaration)


def test_a_description_speaks_in_the_unit_of_the_stress():
    rng = np.random.default_rng(0)
    table = {"volt": rng.uniform(2, 8, 20_000), "age": rng.uniform(0, 5, 20_000)}
    domain = TableDomain({"volt": StressColumn(1, 10, "inverse-power"), "age": NumberColumn(0, 5)})
    with config_context(strict=True):
        found = private_describe(table, domain, epsilon=5.0)
    # The mean of the law's values is 1.5; the standard error of the mean is .012.
    assert abs(found.columns["volt"].mean.value - 5.0) < 0.25


def test_a_tree_says_that_it_splits_the_transform():
    rng = np.random.default_rng(1)
    X, domain = rng.uniform(1, 10, (5000, 1)), TableDomain({"volt": StressColumn(1, 10, "inverse-power")})
    tree = DPTreeRegressor(50.0, domain=domain, bounds_y=(0, 3), max_depth=1, random_state=0)
    assert "volt:inverse-power <" in export_text(tree.fit(X, np.log(X[:, 0])))
