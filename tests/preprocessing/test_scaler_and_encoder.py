# SPDX-License-Identifier: BSD-3-Clause
"""The encoder of declared columns: what it writes, its names, and that it learns nothing."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import skprivate
from skprivate import DomainEncoder, DPTreeClassifier, PrivateGridSearch, TableDomain, privacy_report
from skprivate.audit import check_private_pipeline
from skprivate.base import PublicShape

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


def test_names_of_other_columns_are_refused():
    encoder = DomainEncoder(DOMAIN).fit(TABLE)
    assert encoder.n_features_in_ == 3
    assert encoder.feature_names_in_.tolist() == list(DOMAIN.names)
    with pytest.raises(ValueError, match="input_features is not equal"):
        encoder.get_feature_names_out(["a", "b", "c"])
    with pytest.raises(ValueError, match="lacks 'old'"):
        encoder.transform(TABLE[["age", "job"]])
    with pytest.raises(ValueError, match="not those of domain"):
        DomainEncoder(DOMAIN).check_public(PublicShape(n_features=2, n_rows=5))


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


def test_the_test_of_pipelines_finds_nothing():
    tree = DPTreeClassifier(bounds=DOMAIN.bounds, classes=[0, 1], max_depth=1)
    with skprivate.config_context(strict=True, allow_seeds=True):
        check = check_private_pipeline(
            make_pipeline(DomainEncoder(DOMAIN), tree), ROWS.astype({"old": object})[:12], np.arange(12) % 2
        )
    assert check.passed


def test_a_search_takes_frames_through_it():
    tree = DPTreeClassifier(2.0, bounds=DOMAIN.bounds, classes=[0, 1])
    search = PrivateGridSearch(
        make_pipeline(DomainEncoder(DOMAIN), tree), {"dptreeclassifier__max_depth": [1, 2]}
    )
    search.fit(ROWS, np.arange(N) % 2)
    assert privacy_report(search).claim == "dp"
    assert search.predict(ROWS).shape == (N,)


def test_a_clone_has_the_same_domain():
    assert clone(DomainEncoder(DOMAIN)).domain is DOMAIN
