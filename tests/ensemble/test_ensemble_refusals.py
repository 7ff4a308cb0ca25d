# SPDX-License-Identifier: BSD-3-Clause
"""What boosting refuses: the error and its words, and that nothing is charged and nothing fitted."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skprivate import DPBoostingClassifier, DPBoostingRegressor, PrivacyLedger, TableDomain
from skprivate.rounds import TableSource, fit_rounds

N = 200
X = np.random.default_rng(0).uniform(-1, 1, size=(N, 4))
SIGNAL = 2 * np.sin(3 * X[:, 0]) + X[:, 1]
LABELS = (SIGNAL > 0).astype(int)
PUBLIC = np.arange(N) < 60
BOX = {"bounds": (-1, 1), "classes": [0, 1]}
NUMBERS = {"bounds_X": (-1, 1), "bounds_y": (-3, 3)}
CENTRED = make_pipeline(FunctionTransformer(lambda rows: rows - rows.mean(axis=0)), LinearRegression())
KINDS, CODES = TableDomain({"kind": ["a", "b"]}), TableDomain({"code": [f"c{i}" for i in range(50)]})


def fit(model, X=X, y=LABELS, **given):
    return lambda ledger: model.set_params(ledger=ledger).fit(X, y, **given)


def fit_source(model, public=None):
    source = TableSource([(X, LABELS)])
    return lambda ledger: fit_rounds(model.set_params(ledger=ledger), source, public=public)


def labels(**changed):
    return DPBoostingClassifier(**{**BOX, **changed})


def numbers(**changed):
    return DPBoostingRegressor(**{**NUMBERS, **changed})


REFUSALS = {
    "two constraints for four": (fit(labels(monotonic_cst=[1, 0])), "one value for each of the 4"),
    "a constraint of 2": (fit(labels(monotonic_cst=[2, 0, 0, 0])), "-1, 0 and 1"),
    "a constraint of no column": (fit(labels(monotonic_cst={"q": 1})), "'q'"),
    "monotone levels": (
        fit(labels(bounds=None, domain=KINDS, monotonic_cst=[1]), {"kind": ["a", "b"]}, [0, 1]),
        "no order",
    ),
    "three monotone classes": (fit(labels(classes=[0, 1, 2], monotonic_cst=[1, 0, 0, 0])), "two classes"),
    "a monotone public model": (
        fit(labels(public_model=LogisticRegression(), monotonic_cst=[1, 0, 0, 0]), is_public=PUBLIC),
        "monotonic_cst",
    ),
    "more levels than rows": (
        fit(labels(bounds=None, domain=CODES), {"code": ["c1"] * 40}, np.arange(40) % 2),
        "'code' has more cells than there are rows: 50",
    ),
    "Gaussian noise without delta": (fit(labels(mechanism="gaussian")), "delta above 0"),
    "tiny epsilon": (fit(labels(epsilon=Fraction(1, 10**15))), "epsilon is too small"),
    "one class": (fit(labels(classes=None), y=np.zeros(N)), "one class only"),
    "bounds of one float": (fit(numbers(bounds_y=(0, 5e-324)), y=SIGNAL), "too close together"),
    "bounds of all floats": (
        fit(numbers(bounds_y=(-1e308, 1e308)), y=SIGNAL),
        "too close together",
    ),
    "constant scores": (fit(labels(public_model=DummyClassifier()), is_public=PUBLIC), "predicts the same"),
    "constant numbers": (
        fit(numbers(public_model=DummyRegressor()), y=SIGNAL, is_public=PUBLIC),
        "predicts the same",
    ),
    "a public model without rows": (fit(labels(public_model=LogisticRegression())), "there are none"),
    "a public model of all rows": (
        fit(numbers(public_model=CENTRED), y=SIGNAL, is_public=PUBLIC),
        "what other rows are beside it",
    ),
    "a source without bounds": (fit_source(labels(bounds=None)), "not read for bounds"),
    "a source with a public model": (
        fit_source(labels(public_model=LogisticRegression()), (X[PUBLIC], LABELS[PUBLIC])),
        "public_model predicts rows in memory",
    ),
    "a source, Gaussian without delta": (fit_source(labels(mechanism="gaussian")), "delta above 0"),
    "a source with a table in public": (fit_source(labels(), X), "tuple"),
}


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
@pytest.mark.parametrize(("call", "match"), REFUSALS.values(), ids=REFUSALS)
def test_what_is_refused_costs_nothing(call, match, tmp_path):
    ledger = PrivacyLedger(tmp_path / "fits.ledger", epsilon=10)
    with pytest.raises((TypeError, ValueError), match=match):
        call(ledger)
    assert ledger.entries() == []
