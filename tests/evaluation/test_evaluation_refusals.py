# SPDX-License-Identifier: BSD-3-Clause
"""What evaluations, descriptions and plans refuse, for nothing."""

from datetime import date

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from skprivate import (
    BoundsScaler,
    DPLogisticRegression,
    DPLogLocationScaleRegressor,
    PrivacyLedger,
    plan_study,
    private_describe,
    private_evaluate,
)
from skprivate.evaluation import StatedLifetimes
from skprivate.evaluation._counts import plan_noise
from tests.evaluation import test_plan_study as study
from tests.evaluation import test_plan_study_life as life
from tests.evaluation import test_private_describe as describing
from tests.evaluation import test_private_evaluate as evaluating
from tests.evaluation.test_counts import release

SCORES, SEEN = evaluating.rows(300)
NAN = float("nan")
DAYS = np.array(["2000-01-01"] * 400, dtype="M8[D]")


def described(**change):
    given = {"table": describing.make_rows(), "domain": describing.DOMAIN, "epsilon": 50, **change}
    return lambda ledger: private_describe(**given, ledger=ledger)


def evaluated(model=None, X=SCORES, y=SEEN, **options):
    model = evaluating.Looked() if model is None else model
    return lambda ledger: private_evaluate(model, X, y, **{"epsilon": 1.0, "ledger": ledger, **options})


def planned(**options):
    return lambda ledger: study.plan(**options)


def planned_lives(estimator=life.MODEL, **options):
    return lambda ledger: life.plan(estimator, **options)


def stated(**options):
    return lambda ledger: StatedLifetimes(**{"coef": [1.0], "intercept": 0.0, "scale": 1.0, **options})


def one_row_too_few(n, rng):
    rows, labels = study.linear(n, rng)
    return rows[1:], labels


def of_groups(values, levels):
    return evaluated(groups_of_interest=(values, levels))


X, LABELS = study.X, study.LABELS
LINE, ONE_COLUMN = (model().fit(SCORES, SEEN) for model in (LinearRegression, LogisticRegression))
#: Refusals for the rows of a table, which are counted.
OF_ROWS = {"lacks", "not declare: 'more'", "'age'", "groups", "masked"}
#: What is called, the error, and its message.
REFUSALS = [
    *(
        (described(**change), error, match)
        for change, error, match in (
            ({"domain": {"age": (0, 1)}}, ValueError, "domain"),
            ({"epsilon": 0}, ValueError, "epsilon"),
            ({"epsilon": 0.01}, ValueError, "epsilon is too small"),
            ({"confidence": 1}, ValueError, "confidence"),
            ({"n_bins": 1}, ValueError, "n_bins"),
            ({"n_bins": 2**22}, ValueError, "cells"),
            ({"n_bins": (16, 9)}, ValueError, "cells"),
            *(({"n_bins": pair}, ValueError, "branches") for pair in ((2, 3), (16, 0), (16, 1.5), (3, 3, 3))),
            ({"mechanism": "gaussian"}, ValueError, "delta"),
            ({"columns": ["agee"]}, ValueError, "columns names 'agee'"),
            ({"columns": ["age", "age"]}, ValueError, "twice"),
            ({"columns": "age"}, TypeError, "columns must be a list"),
            ({"columns": []}, ValueError, "nothing to describe"),
            ({"crosstabs": [("age", "x")]}, ValueError, "crosstabs names 'x'"),
            ({"crosstabs": [("age", "age")]}, ValueError, "two different"),
            ({"crosstabs": ["age"]}, TypeError, "crosstab"),
            ({"crosstabs": [("age", "ill", "job")]}, ValueError, "pair"),
            ({"crosstabs": [(("age", [50, 20]), "ill")]}, ValueError, "ascend"),
            ({"crosstabs": [(("age", [150]), "ill")]}, ValueError, "ascend"),
            ({"crosstabs": [(("job", [1]), "ill")]}, ValueError, "levels"),
            ({"survival": ("time",)}, ValueError, "survival must be"),
            ({"survival": ("job", "ill")}, ValueError, "'job'"),
            ({"survival": ("since", "ill")}, ValueError, "'since'"),
            ({"survival": ("time", "job")}, ValueError, "'job'.*happened="),
            ({"survival": ("time", "job"), "happened": "gone"}, ValueError, "levels of 'job'"),
            ({"survival": ("time", "ill"), "happened": "yes"}, ValueError, "happened is text"),
            ({"survival": ("time", "gone")}, ValueError, "'gone'"),
            ({"happened": 2}, ValueError, "pass survival"),
            ({"quantiles": [1.5]}, ValueError, "quantiles"),
            ({"table": {"age": [1.0]}}, ValueError, "lacks"),
            ({"table": {**describing.make_rows(), "more": [0] * 400}}, ValueError, "not declare: 'more'"),
            ({"table": {**describing.make_rows(), "age": DAYS}}, TypeError, "'age'"),
            ({"groups": [1, 2]}, ValueError, "groups"),
        )
    ),
    *(
        (evaluated(**options), error, match)
        for options, error, match in (
            ({"epsilon": 1e-3}, ValueError, "is too small for 300 rows"),
            ({"epsilon": -1}, ValueError, "epsilon"),
            ({"classes": [0, 5]}, ValueError, "classes must be those of the model"),
            ({"mechanism": "gaussian"}, ValueError, "needs a delta"),
            ({"n_bins": [[0.1, NAN]]}, ValueError, "n_bins must be"),
            ({"confidence": 1.0}, ValueError, "confidence"),
            ({"bounds": 3}, TypeError, "unexpected keyword"),
            ({"y": np.zeros(300, dtype=[("event", bool), ("time", float)])}, TypeError, "times of events"),
            ({"y": np.ma.array(np.zeros(300), mask=np.arange(300) < 3)}, TypeError, "masked"),
            ({"model": LINE, "bounds_y": (-1e308, 1e308)}, ValueError, "squares"),
            ({"model": LINE}, ValueError, "declare bounds_y"),
            ({"model": ONE_COLUMN, "X": np.zeros((300, 3))}, ValueError, "3 columns"),
            ({"model": ONE_COLUMN, "X": memoryview(SCORES)}, TypeError, "X must be"),
            ({"groups_of_interest": np.array(["a"] * 300)}, ValueError, "groups_of_interest"),
            ({"groups_of_interest": (np.array(["a"] * 300), None)}, ValueError, "groups_of_interest"),
        )
    ),
    (of_groups(["a"] * 300, "a"), ValueError, "groups_of_interest"),
    (of_groups(["a"] * 300, []), ValueError, "groups_of_interest"),
    (of_groups(np.resize([1, 2], 300), ["1", "2"]), TypeError, "values of groups_of_interest are numbers"),
    (of_groups(np.resize(["1", "2"], 300), [1, 2]), TypeError, "values of groups_of_interest are text"),
    *((of_groups(SEEN, levels), ValueError, "must be different") for levels in (["all rows"], ["(other)"])),
    *((of_groups(SEEN, levels), ValueError, "must be different") for levels in ([1, "1"], [1, 1])),
    *(
        (planned(**changes), error, match)
        for changes, error, match in (
            ({"public": None}, ValueError, "neither|public rows, or|a plan needs public rows"),
            ({"public": (X, np.zeros(200, int))}, ValueError, "at least two classes"),
            ({"public": (X[:20], LABELS[:20])}, ValueError, "30 public rows"),
            ({"public": (X, LABELS[:-1])}, ValueError, "as many targets as rows"),
            ({"public": X}, TypeError, "pair"),
            ({"n": 5}, ValueError, "'n' parameter"),
            ({"n": 500.5}, ValueError, "'n' parameter"),
            ({"n_repeats": 1}, ValueError, "n_repeats"),
            ({"epsilons": ()}, ValueError, "at least one"),
            ({"epsilons": 1.0}, TypeError, "sequence"),
            ({"epsilons": (1.0, 1.0)}, ValueError, "twice"),
            ({"epsilons": (0.0,)}, ValueError, "epsilons"),
            ({"simulate": lambda n, rng: study.linear(n, rng)[0]}, TypeError, "pair"),
            ({"simulate": lambda n, rng: study.linear(n - 1, rng)}, ValueError, "n rows and n targets"),
            ({"simulate": one_row_too_few}, ValueError, "n rows and n targets"),
            ({"estimator": LogisticRegression()}, ValueError, "param_name"),
            ({"estimator": BoundsScaler()}, TypeError, "classifier or a regressor"),
            ({"param_name": "eps"}, ValueError, "no parameter 'eps'"),
            (
                {"public": None, "simulate": study.linear, "public_in_fit": True},
                ValueError,
                "needs public rows",
            ),
        )
    ),
    (
        lambda ledger: plan_study(study.LOGISTIC, "age", 500, [1.0], (X, LABELS), **study.QUICK),
        TypeError,
        "TableDomain, or bounds",
    ),
    *((planned_lives(variants=one), ValueError, "variants") for one in ({}, {"a": {"epsilon": 2}})),
    *((planned_lives(variants=one), TypeError, "variants") for one in ({"a": 1}, [1])),
    *(
        (planned_lives(**options), ValueError, match)
        for options, match in (
            ({"stated": None}, "give one of"),
            ({"simulate": life.fleet}, "give one of"),
            ({"stated": None, "public": (np.zeros((5, 2)), np.ones(5))}, "30 public rows"),
            ({"stated": None, "public": (np.zeros((50, 2)), np.ones(40))}, "as many targets"),
            ({"stated": StatedLifetimes(coef=[1.0], intercept=0, scale=1, X=np.zeros((3, 2)))}, "coef has 1"),
            ({"stated": None, "simulate": lambda n, rng: life.fleet(n - 1, rng)}, "n rows and n targets"),
            ({"n": 3}, "at least 20"),
            ({"epsilons": []}, "epsilons"),
            ({"half_width": 0.0}, "half_width"),
            ({"quantile": 1.0}, "quantile"),
            ({"assurance": 1.0}, "assurance"),
            ({"n_repeats": 0}, "n_repeats"),
            ({"estimator": DPLogLocationScaleRegressor(bounds_X=(-1, 1))}, "declare its bounds"),
        )
    ),
    (planned_lives(stated=None, simulate=lambda n, rng: 3), TypeError, "pair"),
    (planned_lives(DPLogisticRegression()), TypeError, "life-data regressor"),
    (stated(coef=[[1.0]]), ValueError, "coef"),
    (stated(coef=[np.inf]), ValueError, "coef"),
    (stated(scale=0.0), ValueError, "scale"),
    (stated(censoring=1.0), ValueError, "censoring"),
    (stated(intercept=NAN), ValueError, "intercept"),
    (lambda ledger: plan_noise(1, 1.0, 0, "gaussian"), ValueError, "needs a delta"),
    (lambda ledger: release([[0]], [1], plan_noise(2, 1.0)), RuntimeError, "another number"),
    (lambda ledger: release([[3]], [2], plan_noise(1, 1.0)), RuntimeError, "no cell"),
]


@pytest.mark.parametrize(
    ("call", "error", "match"), REFUSALS, ids=[f"{k}, {row[2]}" for k, row in enumerate(REFUSALS)]
)
def test_it_is_refused_for_nothing(call, error, match, tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=100)
    with pytest.raises(error, match=match):
        call(ledger)
    assert ledger.entries() == []
    assert ledger.n_failures == (match in OF_ROWS)


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
def test_objects_of_another_type_are_a_row_s_own():
    described(table={**describing.make_rows(), "age": [date(2000, 1, 1)] * 400})(None)
