# SPDX-License-Identifier: BSD-3-Clause
"""BoundsScaler and DomainEncoder: what they write, its names, and that they learn nothing."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import skprivate
from skprivate import (
    BoundsScaler,
    DomainEncoder,
    DPTreeClassifier,
    TableDomain,
    privacy_report,
)

DOMAIN = TableDomain({"age": (0, 100), "job": ["clerk", "smith", "king"], "old": bool}, missing_values=["?"])
TABLE = pd.DataFrame(
    {"age": ["20", "?", "50", "90"], "job": [" king", "?", "clerk", "smith"], "old": ["no", "no", "?", "yes"]}
)
N = 60
ROWS = pd.DataFrame(
    {
        "age": np.linspace(0, 100, N),
        "job": np.array(["clerk", "smith", "king"], dtype=object)[np.arange(N) % 3],
        "old": np.arange(N) > 40,
    }
)


def test_it_encodes_as_the_domain_does():
    np.testing.assert_array_equal(DomainEncoder(DOMAIN).fit_transform(TABLE), DOMAIN.encode(TABLE))


@pytest.mark.parametrize(
    ("options", "names", "row"),
    [
        (
            {"levels": "codes"},
            ["age", "job", "job:missing", "old", "old:missing"],
            [50, 1, 1, 0, 0],
        ),
        ({"levels": "codes", "missing": "fill"}, ["age", "job", "old"], [50, 1, 0]),
        (
            {"missing": "fill"},
            ["age", "job=clerk", "job=smith", "job=king", "old"],
            [50, 0, 0, 0, 0],
        ),
        (
            {"levels": "codes", "missing": "indicator"},
            ["age", "age:missing", "job", "job:missing", "old", "old:missing"],
            [50, 1, 1, 1, 0, 0],
        ),
    ],
)
def test_levels_and_missing_cells_as_asked(options, names, row):
    encoder = DomainEncoder(DOMAIN, **options).fit(TABLE)
    assert encoder.get_feature_names_out().tolist() == names
    np.testing.assert_array_equal(encoder.transform(TABLE)[1], row)


def test_where_missing_cells_are_errors_they_are_the_next_steps():
    encoder = DomainEncoder(DOMAIN, missing="error")
    table = TABLE.assign(age=[20, None, np.inf, "odd"])
    encoded = encoder.fit_transform(table)
    np.testing.assert_array_equal(encoded[:, 0], [20, np.nan, 100, np.nan])
    blocks = encoder.domain.read_columns(table)
    for name, (values, _) in blocks.items():
        where = [full.startswith(name) for full in encoder.get_feature_names_out()]
        np.testing.assert_array_equal(np.isnan(encoded[:, where]).all(axis=1), np.isnan(values))
    with skprivate.config_context(strict=True):
        assert np.isfinite(encoder.transform(table)).all()


@pytest.mark.parametrize("levels", ["one-hot", "codes"])
def test_values_come_back(levels):
    encoder = DomainEncoder(DOMAIN, levels=levels, missing="indicator").fit(TABLE)
    found = encoder.inverse_transform(encoder.transform(TABLE))
    assert found[:, 1].tolist() == ["king", None, "clerk", "smith"]
    assert found[:, 2].tolist() == [False, False, None, True]
    np.testing.assert_array_equal(found[:, 0].astype(float), [20, np.nan, 50, 90])


@pytest.mark.parametrize("library", [pd, pl])
def test_output_in_a_frame_has_the_encoded_names(library):
    name = library.__name__
    encoder = DomainEncoder(DOMAIN).set_output(transform=name)
    out = encoder.fit_transform(library.DataFrame(TABLE.to_dict("list")))
    assert isinstance(out, library.DataFrame)
    assert list(out.columns) == list(DOMAIN.encoded_names)


def test_without_a_domain_numbers_pass():
    X = np.array([[1.0, -2.0], [3.0, 4.0]])
    encoder = DomainEncoder().fit(X)
    np.testing.assert_array_equal(encoder.transform(X), X)
    np.testing.assert_array_equal(encoder.inverse_transform(X), X)
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1"]
    with skprivate.config_context(strict=True):
        np.testing.assert_array_equal(DomainEncoder().fit_transform([["a", 2.0]]), [[np.nan, 2.0]])


def test_a_report_knows_that_it_learns_nothing():
    y = np.arange(N) % 2
    tree = DPTreeClassifier(bounds=DOMAIN.bounds, classes=[0, 1], max_depth=2)
    with skprivate.config_context(strict=True):
        report = privacy_report(make_pipeline(DomainEncoder(DOMAIN), tree).fit(ROWS, y))
    assert report.claim == "dp"
    assert [step.status for step in report.steps] == ["stateless", "covered"]
    assert privacy_report(make_pipeline(DomainEncoder(DOMAIN), LogisticRegression()).fit(ROWS, y)).uncovered


# Scaling to declared bounds


def test_maps_bounds_to_the_unit_interval_and_clips():
    X = np.array([[0.0, 18.0], [100.0, 98.0], [-5.0, 58.0], [1e300, 1e300]])
    scaled = BoundsScaler(([0, 18], [100, 98])).fit_transform(X)
    np.testing.assert_allclose(scaled, [[0, 0], [1, 1], [0, 0.5], [1, 1]])


@pytest.mark.parametrize("strict", [False, True])
def test_no_cell_is_an_error_of_its_own(strict):
    cells = [["text"], [None], [np.inf], [-(10**400)], ["3"]]
    with skprivate.config_context(strict=strict):
        scaled = BoundsScaler((0, 4)).fit_transform(cells)
    none, high, low = (0.5, 1, 0) if strict else (np.nan, np.nan, np.nan)
    np.testing.assert_array_equal(scaled, [[none], [none], [high], [low], [0.75]])


def test_the_result_does_not_depend_on_the_rows_of_fit():
    X, scaler = np.random.default_rng(0).normal(size=(50, 3)), BoundsScaler((-3, 3))
    scaled = scaler.transform(X)
    assert vars(scaler) == {"bounds": (-3, 3)}
    np.testing.assert_array_equal(BoundsScaler((-3, 3)).fit(X[:10]).transform(X), scaled)
    np.testing.assert_array_equal(BoundsScaler((-3, 3)).fit(1e6 * X[10:]).transform(X), scaled)


def test_the_widest_and_the_narrowest_bounds():
    scaled = BoundsScaler((-1.7e308, 1.7e308)).fit_transform([[-1.7e308], [0.0], [1.7e308]])
    np.testing.assert_allclose(scaled.ravel(), [0, 0.5, 1])
    assert BoundsScaler((0, 5e-324)).fit_transform([[0.0], [5e-324]]).ravel().tolist() == [0, 1]


def test_bounds_by_name_and_back():
    frame = pd.DataFrame({"dose": [0.0, 5.0], "age": [18.0, 98.0]})
    scaler = BoundsScaler({"age": (18, 98), "dose": (0, 5)}).set_output(transform="pandas")
    scaled = scaler.fit_transform(frame)
    assert list(scaled.columns) == ["dose", "age"]
    np.testing.assert_array_equal(scaled.to_numpy(), [[0, 0], [1, 1]])
    np.testing.assert_allclose(scaler.inverse_transform(scaled), frame)
