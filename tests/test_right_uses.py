# SPDX-License-Identifier: BSD-3-Clause
"""Right uses give no error and no warning, in strict mode and outside.

A hint at a mistake that was not made costs trust in all others. Noise is seeded, so that nothing fails by
chance.
"""

import datetime
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from skprivate import (
    BoundsScaler,
    CollaborativeRegressor,
    DomainEncoder,
    DPBoostingClassifier,
    DPBoostingRegressor,
    DPLogisticRegression,
    DPLogLocationScaleRegressor,
    DPTreeClassifier,
    DPTreeRegressor,
    LabelPrivateClassifier,
    LocallyPrivateTreeClassifier,
    PrivateGridSearch,
    TableDomain,
    config_context,
    life_data,
    plan_study,
    private_describe,
    private_evaluate,
)
from skprivate.collaborative import CollaborativeSite, LocalAverageRegressor
from skprivate.domain import DateColumn, NumberColumn
from tests.marks import slow, slow_unless

N, SEEDS = 6_000, range(2)
RNG = np.random.default_rng(0)
# The first column moves the odds of yes by a factor of e squared for a unit; half of the rows are yes.
X = RNG.uniform(-2, 2, (N, 2))
CHANCE = RNG.random(N)
IS_YES = 1 / (1 + np.exp(-2 * X[:, 0])) > CHANCE
Y = np.where(IS_YES, "yes", "no")
FRAME = pd.DataFrame(X, columns=["a", "b"])
WARDS = ["surgery", "medicine", "other wards"]
TABLE = FRAME.assign(ward=RNG.choice(WARDS, N), day=pd.date_range("2001-01-01", periods=N, freq="h"))
DAYS = ("2000-01-01", "2002-01-01")
DECLARED: dict[str, Any] = {"a": (-2, 2), "b": (-2, 2), "ward": WARDS, "day": DAYS}
DOMAIN = TableDomain(DECLARED)
LIVES = np.exp(5 + 1.5 * X[:, 0] + 0.5 * np.log(RNG.exponential(size=N)))
SEEN = RNG.random(N) < 0.6
TIME = np.where(SEEN, LIVES, LIVES * RNG.random(N))
COUNTS = RNG.poisson(np.exp(X[:, 0]))  # a third are 0

CLASSIFIERS: dict[str, Callable[..., Any]] = {
    "boosting": DPBoostingClassifier,
    "logistic": DPLogisticRegression,
    "tree": DPTreeClassifier,
    "local tree": lambda **how: LocallyPrivateTreeClassifier(**how).set_params(epsilon=8.0),
    "label": lambda bounds, **how: LabelPrivateClassifier(Ridge(), **how).set_params(epsilon=4.0),
}


def classify(
    rows: Any = X, y: Any = Y, classes: Any = ("no", "yes"), kind: str = "boosting", **how: Any
) -> Callable[[int], Any]:
    """Return a fit of a classifier; bounds are (-2, 2) unless a domain is passed."""
    given = {"epsilon": 2.0, **({} if "domain" in how else {"bounds": (-2, 2)}), **how}
    fitted = {name: given.pop(name) for name in ("is_public", "groups") if name in given}

    def fit(seed: int) -> Any:
        model = CLASSIFIERS[kind](classes=classes, random_state=seed, **given).fit(rows, y, **fitted)
        found, labels = np.asarray(model.predict(rows)), np.asarray(y)
        if labels.dtype.kind in "OUT":
            found, labels = np.strings.strip(found.astype(str)), np.strings.strip(labels.astype(str))
        assert np.mean(found == labels) > 0.7
        return model

    return fit


def everywhere(name: str, **how: Any) -> dict[str, Callable[[int], Any]]:
    return {f"{name}, {kind}": classify(kind=kind, **how) for kind in CLASSIFIERS}


def declare(rows: Any = TABLE, y: Any = Y, kind: str = "boosting", **columns: Any) -> Callable[[int], Any]:
    """Return a fit to a table with declared columns, of which some are declared otherwise."""
    return classify(rows, y, kind=kind, domain=TableDomain({**DECLARED, **columns}))


def regress(
    kind: Callable[..., Any], y: Any, bounds_y: Any, rows: Any = X, **how: Any
) -> Callable[[int], Any]:
    given = {"epsilon": 2.0, "bounds_X": (-2, 2), "bounds_y": bounds_y, **how}
    return lambda seed: kind(random_state=seed, **given).fit(rows, y).predict(rows)


def live(y: Any, bounds_y: Any = (0.01, 20_000), **how: Any) -> Callable[[int], Any]:
    given = {"bounds_X": (-2, 2), "bounds_y": bounds_y, **how}
    return lambda seed: DPLogLocationScaleRegressor(10.0, random_state=seed, **given).fit(X, y).score(X, y)


def evaluate(y: Any, classes: Any = ("no", "yes"), **how: Any) -> Callable[[int], Any]:
    asked = {"epsilon": 2.0, "on_training_rows": True, **how}
    return lambda seed: private_evaluate(
        classify(y=y, classes=classes)(seed), X, y, random_state=seed, **asked
    )


def member(seed: int) -> Any:
    """Return a classifier for meta-estimators, which number the labels."""
    return DPBoostingClassifier(2.0, bounds=(-2, 2), classes=[0, 1], random_state=seed)


def sites(seed: int) -> Any:
    parts = np.array_split(np.arange(N), 12)
    made = [LocalAverageRegressor(bounds=(-2, 2), refine_to=N).fit(FRAME.iloc[p], X[p, 0]) for p in parts]
    cards = [CollaborativeSite(f"s{j}", made[j], len(p)).announce() for j, p in enumerate(parts)]
    return CollaborativeRegressor.from_sites(cards, query_perturber=None)


def of_kinds(share: float, of: int = 2) -> Any:
    """Return labels of which one kind is rare: the rows that are the likeliest to be yes."""
    rare = X[:, 0] + CHANCE > np.quantile(X[:, 0] + CHANCE, 1 - share)
    return np.where(rare, "rare", np.where(IS_YES & (of > 2), "yes", "no"))


SPREAD = RNG.exponential(size=N) * np.exp(0.5 * X[:, 0])
DATES = [datetime.date(2001, 1, 1) + datetime.timedelta(days=int(n)) for n in RNG.integers(0, 300, N)]
SOME = RNG.random(N)
EMPTY = TABLE.assign(a=TABLE["a"].where(SOME > 0.3), b=TABLE["b"].where(SOME > 0.9))
ZEROS = TABLE.assign(b=np.where(SOME > 0.92, 2 * SOME, 0.0))
MONTHS = np.ceil(np.clip(LIVES**0.3 * 4, 0.5, 120))
BANDS = pd.DataFrame(
    {"band": RNG.choice(["18-25", "26-35", "36-45"], 300), "pay": RNG.choice(["<=50K", ">50K"], 300)}
)
BANDS["class"] = RNG.choice(["1st", "2nd", "3rd"], 300)
USES: dict[str, Callable[[int], Any]] = {
    **everywhere("text"),
    **everywhere("spaces in cells", y=np.where(IS_YES, " yes ", "no  ")),
    **everywhere("spaces in classes", classes=[" no", "yes "]),
    **everywhere("booleans", y=IS_YES, classes=[False, True]),
    **everywhere("booleans as 0 and 1", y=IS_YES, classes=[0, 1]),
    **everywhere("numbers of floating point", y=IS_YES * 1.0, classes=[0, 1]),
    **everywhere("categories", y=pd.Series(Y, dtype="category")),
    **everywhere("lists", rows=X.tolist(), y=Y.tolist()),
    "a frame": classify(FRAME),
    "a label column": classify(FRAME, pd.Series(Y, name="again")),
    "labels 1 to 5": classify(
        y=np.digitize(X[:, 0], [-1.2, -0.4, 0.4, 1.2]) + 1, classes=[1, 2, 3, 4, 5], kind="tree"
    ),
    "nullable numbers": classify(FRAME.astype("Float64"), pd.Series(IS_YES * 1, dtype="Int64"), [0, 1]),
    "classes, an array": classify(classes=np.array(["no", "yes"])),
    "classes, an index": classify(classes=pd.Index(["no", "yes"])),
    "classes, yes first": classify(classes=["yes", "no"]),
    "rare, 2 %": classify(y=of_kinds(0.02), classes=["no", "rare"]),
    "rare, 2 %, logistic": classify(y=of_kinds(0.02), classes=["no", "rare"], kind="logistic"),
    "rare, 2 %, tree": classify(y=of_kinds(0.02), classes=["no", "rare"], kind="tree", epsilon=8.0),
    "rare, 2 % of three": classify(y=of_kinds(0.02, 3), classes=["no", "yes", "rare"]),
    "rare, 2 % of three, tree": classify(y=of_kinds(0.02, 3), classes=["no", "yes", "rare"], kind="tree"),
    "generous bounds": classify(bounds=(-6, 6)),
    "one column with wide bounds": classify(bounds=([-2, -50], [2, 50])),
    "delta": classify(delta=1e-6),
    "public rows": classify(kind="tree", is_public=np.arange(N) < 500),
    "persons": classify(groups=np.arange(N) // 2, max_rows_per_group=2),
    "a table": declare(),
    "a table, logistic": declare(kind="logistic"),
    "a table, tree": declare(kind="tree"),
    "a level that never occurs": declare(ward=[*WARDS, "closed"]),
    "a level that never occurs, tree": declare(kind="tree", ward=[*WARDS, "closed"]),
    "spaces in a level": declare(TABLE.assign(ward=" " + TABLE["ward"])),
    "numbers as levels of text": declare(TABLE.assign(ward=SOME.round().astype(int)), ward=["0", "1"]),
    "one level for 97 %": declare(TABLE.assign(ward=np.where(SOME > 0.03, *WARDS[:2]))),
    "92 % zeros in a column": declare(ZEROS, b=(0, 2)),
    "missing cells": declare(
        EMPTY, a=NumberColumn(-2, 2, missing="fill"), b=NumberColumn(-2, 2, missing="indicator")
    ),
    "dates of Python": declare(TABLE.assign(day=DATES)),
    "dates as text": declare(TABLE.assign(day=[str(day) for day in DATES]), day=DateColumn(*DAYS)),
    "a column of categories": declare(TABLE.astype({"ward": "category"})),
    "columns in another order": declare(TABLE[["day", "ward", "b", "a"]]),
    "Arrow columns": declare(TABLE.convert_dtypes(dtype_backend="pyarrow")),
    "an encoder": lambda seed: make_pipeline(
        DomainEncoder(DOMAIN), member(seed).set_params(bounds=DOMAIN.bounds)
    ).fit(TABLE, IS_YES),
    "a scaler of bounds": lambda seed: make_pipeline(
        BoundsScaler((-2, 2)), member(seed).set_params(bounds=(0, 1))
    ).fit(X, IS_YES),
    "VotingClassifier": lambda seed: VotingClassifier([("a", member(seed))], voting="soft").fit(X, Y),
    "OneVsRestClassifier": lambda seed: OneVsRestClassifier(member(seed)).fit(X, Y),
    "cross_val_predict": lambda seed: cross_val_predict(member(seed), X, Y, method="predict_proba", cv=2),
    "GridSearchCV": lambda seed: GridSearchCV(classify()(seed), {"epsilon": [1, 2]}, cv=2).fit(X, Y),
    "PrivateGridSearch": lambda seed: PrivateGridSearch(
        DPTreeClassifier(2.0, bounds=(-2, 2), classes=["no", "yes"]), {"max_depth": [2, 3]}, random_state=seed
    ).fit(X, Y),
    "numbers": regress(DPBoostingRegressor, X[:, 0], (-2, 2)),
    "numbers, tree": regress(DPTreeRegressor, X[:, 0], (-2, 2)),
    "generous bounds of numbers": regress(DPBoostingRegressor, X[:, 0], (-10, 10)),
    "generous bounds of numbers, tree": regress(DPTreeRegressor, X[:, 0], (-10, 10)),
    "real zeros": regress(DPBoostingRegressor, COUNTS, (0, 20)),
    "real zeros, tree": regress(DPTreeRegressor, COUNTS, (0, 20)),
    "a tail beyond the upper bound": regress(DPBoostingRegressor, SPREAD, (0, 4)),
    "times": live(LIVES),
    "times, boosting": regress(DPBoostingRegressor, LIVES, (0, 5000)),
    "whole numbers of days": live(np.ceil(LIVES).astype(int), (0.5, 20_000)),
    "events, booleans": live(life_data(time=TIME, event=SEEN)),
    "events, 0 and 1": live(life_data(time=TIME, event=SEEN * 1)),
    "events, yes and no": live(life_data(time=TIME, event=np.where(SEEN, "yes", "no"))),
    "events, a table": live(life_data(pd.DataFrame({"t": TIME, "e": SEEN}), time="t", event="e")),
    # One of twenty fits warns of its distribution: not of these seeds.
    "months on the lower bound": lambda seed: live(life_data(time=MONTHS), (1, 120))(seed + 2),
    "the end of the study on the upper bound": live(
        life_data(time=np.minimum(np.maximum(LIVES, 1), 365.0), event=LIVES < 365), (0.5, 365)
    ),
    "evaluation": evaluate(Y),
    # At 3 % one of ten evaluations is too noisy for the slope of calibration, and rightly says so.
    "evaluation of a rare kind": evaluate(of_kinds(0.05), ["no", "rare"]),
    "evaluation of numbers": lambda seed: private_evaluate(
        DPBoostingRegressor(2.0, bounds_X=(-2, 2), bounds_y=(-2, 2), random_state=seed).fit(X, X[:, 0]),
        *(X, X[:, 0], 2.0),
        on_training_rows=True,
        random_state=seed,
    ),
    "evaluation of groups": evaluate(Y, groups_of_interest=(TABLE["ward"], WARDS)),
    "a description": lambda seed: private_describe(TABLE, DOMAIN, epsilon=4, random_state=seed),
    "a level that never occurs, described": lambda seed: private_describe(
        TABLE, TableDomain({**DECLARED, "ward": [*WARDS, "closed"]}), epsilon=4, random_state=seed
    ),
    "public levels with figures": lambda seed: TableDomain.from_public(BANDS),
    "sites with names": sites,
}

# Objects are read cell by cell outside strict mode, which refuses their type; a plan reads public rows alone.
OUTSIDE = {
    "numbers of object type": classify(X.astype(object)),
    "labels of object type": classify(y=Y.astype(object)),
    "a plan": lambda seed: plan_study(
        DPTreeClassifier(domain=DOMAIN, classes=["no", "yes"]),
        *(DOMAIN, 1000, [1.0], (TABLE[:400], Y[:400])),
        n_repeats=4,
        random_state=seed,
    ),
}


@pytest.mark.parametrize("strict", [slow(False), True], ids=["plain", "strict"])
@pytest.mark.parametrize("name", USES)
def test_a_right_use_gives_no_error_and_no_warning(name, strict):
    assert not alarms(USES[name], strict, SEEDS)


@pytest.mark.parametrize("name", slow_unless(OUTSIDE.keys() - {"a plan"}, OUTSIDE))
def test_a_right_use_outside_strict_mode_gives_no_warning(name):
    assert not alarms(OUTSIDE[name], False, SEEDS[:1])


def alarms(use, strict, seeds):
    """Return the warnings of a use that a user would read."""
    with config_context(strict=strict, allow_seeds=True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for seed in seeds:
            use(seed)
    return [
        f"{one.category.__name__}: {one.message}" for one in caught if issubclass(one.category, UserWarning)
    ]
