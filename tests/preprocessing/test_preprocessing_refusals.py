# SPDX-License-Identifier: BSD-3-Clause
"""Parameters and tables that are refused, in words that repeat no value, before anything is fitted."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skprivate import BoundsScaler, DomainEncoder, MomentAccumulator, TableDomain
from skprivate.base import PublicShape
from skprivate.preprocessing import BoundsAccumulator, EstimatedBounds, TQMATransformer, estimate_bounds
from tests.marks import needs_names_of_polars

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
#: Private values.
SECRETS = ("secret", "54321", "4j", "Ann", "2020")
ONES = np.ones((10, 2))


def estimated(X=ONES, epsilon=1.0, **changed):
    return lambda: estimate_bounds(X, epsilon, **changed)


def several_estimates():
    bounds = {column: estimate_bounds(np.full(1000, 3.0), 1.0) for column in (0, 1)}
    return MomentAccumulator(bounds, (0.1, 9.0), max_rows=10)


ESTIMATES = {
    "epsilon 0": (estimated(epsilon=0), "epsilon"),
    "infinite epsilon": (estimated(epsilon=np.inf), "epsilon"),
    "tiny epsilon": (estimated(epsilon=1e-30), "epsilon is too small"),
    "coverage 0": (estimated(coverage=0.0), "coverage"),
    "local": (estimated(relation="local"), "relation"),
    "no rows of a person": (estimated(max_rows_per_group=0), "max_rows_per_group"),
    "a seed of text": (estimated(random_state="seed"), "random_state"),
    "no ledger": (estimated(ledger=3), "ledger"),
    "two persons of ten": (estimated(groups=[1, 2]), "groups must have shape"),
    "NaN": (estimated(pd.DataFrame({"a": [54321.0, np.nan]})), "X"),
    "infinity": (estimated(pd.DataFrame({"a": [54321.0, np.inf]})), "X"),
    "complex": (estimated(pd.DataFrame({"a": [54321.0, 3 + 4j]})), "Complex"),
    "no rows": (estimated(np.zeros((0, 2))), "Found array"),
    "no columns": (estimated(np.zeros((3, 0))), "Found array"),
    "three dimensions": (estimated(np.zeros((2, 2, 2))), "Found array"),
    "two estimates": (several_estimates, "one call of estimate_bounds"),
    "columns without names": (
        lambda: BoundsAccumulator(2).update(pd.DataFrame(ONES, columns=["a", "b"])),
        "Name the features",
    ),
}
ESTIMATES_TYPES = {
    "text": (estimated(pd.DataFrame({"a": [54321.0, "secret"]})), "X"),
    "a scalar": (estimated(54321.5), "got a scalar"),
    "no spending": (lambda: EstimatedBounds(0.0, 1.0, 1.0), "spent must be"),
}


def coarse(X=np.zeros((3, 2)), **changed):  # noqa: B008
    return lambda: TQMATransformer(**{"bounds": (0, 1), **changed}).fit(X)


def queried(X, fitted=np.zeros((2, 3))):  # noqa: B008
    return lambda: TQMATransformer(bounds=(0, 1)).fit(fitted).transform(X)


PEOPLE = {"name": ["Ann", "Bob"], "seen": [datetime.datetime(2020, 1, day) for day in (1, 2)]}
NAMED = pd.DataFrame(np.zeros((2, 2)), columns=["a", "b"])
QUASI = "column '{}' is a quasi-identifier"
QUERIES = {
    "unfitted": (lambda: TQMATransformer(bounds=(0, 1)).transform(ONES), "fitted"),
    "depth -1": (coarse(depth=-1), "depth"),
    "depth 17": (coarse(depth=17), "depth"),
    "depth of a float": (coarse(depth=2.0), "depth"),
    "one depth": (coarse(depth=[2]), "2 quasi-identifiers need 2 depths"),
    "one of depth 17": (coarse(depth=[2, 17]), "at most 16"),
    "a depth is missing": (coarse(depth={0: 2}), "one entry for every quasi-identifier"),
    "a depth too many": (coarse(depth={0: 2, 5: 3}), "no column 5"),
    "bounds in another order": (coarse(bounds=(1, 0)), "lower must be below upper"),
    "bounds of one": (coarse(bounds={0: (0, 1)}), "column 1 has no bounds"),
    "bounds too many": (coarse(bounds={0: (0, 1), 1: (0, 1), 7: (0, 1)}), "no column 7"),
    "three bounds": (coarse(bounds=([0, 0, 0], [1, 1, 1])), "one value per column"),
    "no value": (coarse(np.array([[0.0, np.nan]]), bounds=None), "no value to read bounds"),
    "no names": (coarse(quasi_identifiers="age"), "no column names"),
    "one twice": (coarse(quasi_identifiers=[0, 0]), "twice"),
    "column 2": (coarse(quasi_identifiers=[2]), "no column 2"),
    "a short mask": (coarse(quasi_identifiers=[True]), "one value per column"),
    "perturb_fit of text": (coarse(perturb_fit="no"), "perturb_fit"),
    "an array of text": (coarse(np.array([["7", "1"]])), QUASI.format("x0")),
    **{
        f"{name} of pandas": (coarse(pd.DataFrame(PEOPLE), quasi_identifiers=[name]), QUASI.format(name))
        for name in PEOPLE
    },
    "no rows to coarsen": (coarse(pd.DataFrame({"a": []})), "sample"),
    "another width": (queried(np.zeros((2, 2))), "features"),
    "one dimension": (queried(np.zeros(3)), "2D"),
    "no query": (queried(np.zeros((0, 3))), "sample"),
    "another order": (queried(NAMED[["b", "a"]], NAMED), "names should match"),
}
QUERIES_TYPES = {
    "half a depth": (coarse(depth=[2, 2.5]), "depth must be an int"),
    "column a half": (coarse(quasi_identifiers=[0.5]), "names or positions"),
    "a function's half": (coarse(quasi_identifiers=lambda X: 0.5), "names or positions"),
    "a slice of names": (coarse(quasi_identifiers=slice("a", "b")), "positions"),
}
TABLE = pd.DataFrame({"age": [20.0], "job": ["clerk"]})
DOMAIN = TableDomain({"age": (0, 100), "job": ["clerk", "smith"]})
STEPS = {
    "no range": (lambda: BoundsScaler((1, 0)).fit([[1.0]]), "lower must be below upper"),
    "fewer columns": (lambda: BoundsScaler((0, 2)).fit(ONES).inverse_transform([[0.5]]), "columns"),
    "no such names": (
        lambda: DomainEncoder(DOMAIN).fit(TABLE).get_feature_names_out(["a", "b"]),
        "input_features is not equal",
    ),
    "no job": (lambda: DomainEncoder(DOMAIN).fit(TABLE).transform(TABLE[["age"]]), "lacks 'job'"),
    "one column in public": (
        lambda: DomainEncoder(DOMAIN).check_public(PublicShape(n_features=1, n_rows=5)),
        "not those of domain",
    ),
}
ERRORS = {ValueError: {**ESTIMATES, **QUERIES, **STEPS}, TypeError: {**ESTIMATES_TYPES, **QUERIES_TYPES}}
REFUSALS = [
    pytest.param(error, *row, id=name) for error, rows in ERRORS.items() for name, row in rows.items()
]


@pytest.mark.parametrize(("error", "call", "match"), REFUSALS)
def test_what_is_refused(error, call, match):
    with pytest.raises(error, match=match) as caught:
        call()
    assert not any(text in str(caught.value) for text in SECRETS)
    assert caught.value.__context__ is None or not any(
        text in str(caught.value.__context__) for text in SECRETS
    )


@needs_names_of_polars
@pytest.mark.parametrize("name", PEOPLE)
def test_text_of_polars_is_refused_by_name(name):
    with pytest.raises(ValueError, match=QUASI.format(name)) as caught:
        TQMATransformer(bounds=(0, 1), quasi_identifiers=[name]).fit(pl.DataFrame(PEOPLE))
    assert caught.value.__context__ is None


def test_a_refused_fit_leaves_nothing():
    transformer = TQMATransformer(17, (0, 1))
    with pytest.raises(ValueError, match="depth"):
        transformer.fit(ONES)
    assert vars(transformer) == vars(TQMATransformer(17, (0, 1)))
