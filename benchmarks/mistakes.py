# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes that people make: what each attempt comes to, and whether it was charged.

``python -m benchmarks.mistakes`` prints one line an attempt: the mode, the entries in the ledger, what
came of it, and the message. "no remedy" marks a message that does not name what to do. ``--only lives``
runs one group.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from operator import not_
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skprivate import (
    CollaborativeRegressor,
    ConsentBox,
    DPBoostingClassifier,
    DPBoostingRegressor,
    DPLogisticRegression,
    DPLogLocationScaleRegressor,
    DPTreeClassifier,
    DPTreeRegressor,
    LabelPrivateClassifier,
    LocallyPrivateTreeClassifier,
    PrivacyLedger,
    PrivateGridSearch,
    TableDomain,
    life_data,
    plan_study,
    privacy_report,
    private_describe,
    private_evaluate,
)
from skprivate.accounting import study_page
from skprivate.collaborative import CollaborativeSite, LocalAverageRegressor
from skprivate.collection import TreeSpecification
from skprivate.domain import DateColumn, NumberColumn

from ._attempts import Attempt, run_attempts

RNG = np.random.default_rng(0)
N, YES_NO = 5_000, ["no", "yes"]
# One column moves the odds of yes by a factor of e squared for a unit, between -2 and 2; half are yes.
X = RNG.uniform(-2, 2, (N, 2))
IS_YES = RNG.random(N) < 1 / (1 + np.exp(-2 * X[:, 0]))
Y = np.where(IS_YES, "yes", "no")
IS_PUBLIC, WARDS = np.arange(N) < 400, ["surgery", "medicine"]
FRAME = pd.DataFrame({"age": 50 + 15 * X[:, 0], "ward": RNG.choice(WARDS, N)})
DOMAIN = TableDomain({"age": (20, 80), "ward": WARDS})
# Weibull times, whose log goes up by 1.5 for a unit of the first column; half are censored before.
LIVES = np.exp(5 + 1.5 * X[:, 0] + 0.5 * np.log(RNG.exponential(size=N)))
SEEN = RNG.random(N) < 0.5
TIME = np.where(SEEN, LIVES, LIVES * RNG.random(N))
DAYS, SHORT = (0.01, 5000), (0.01, float(np.quantile(LIVES, 0.7)))


def boost(ledger: Any, rows: Any = X, y: Any = Y, bounds: Any = (-2, 2), **how: Any) -> Any:
    where = {"domain": how.pop("domain")} if "domain" in how else {"bounds": bounds}
    return DPBoostingClassifier(**{"classes": YES_NO, "ledger": ledger, **where, **how}).fit(rows, y)


def life(ledger: Any, y: Any, bounds: Any = DAYS, epsilon: float = 5.0, rows: Any = X, **how: Any) -> Any:
    model = DPLogLocationScaleRegressor(epsilon, bounds_X=(-2, 2), bounds_y=bounds, ledger=ledger, **how)
    return model.fit(rows, y)


CLASSIFIERS: dict[str, Callable[..., Any]] = {
    "boosting": partial(DPBoostingClassifier, bounds=(-2, 2)),
    "logistic": partial(DPLogisticRegression, bounds=(-2, 2)),
    "tree": partial(DPTreeClassifier, bounds=(-2, 2)),
    "local tree": partial(LocallyPrivateTreeClassifier, 4.0, bounds=(-2, 2)),
    "label-private": partial(LabelPrivateClassifier, Ridge()),
}
REGRESSORS: dict[str, Callable[..., Any]] = {
    "boosting": partial(DPBoostingRegressor, bounds_X=(-2, 2)),
    "tree": partial(DPTreeRegressor, bounds_X=(-2, 2)),
    "life": partial(DPLogLocationScaleRegressor, bounds_X=(-2, 2)),
}
META: dict[str, Callable[..., Any]] = {
    "VotingClassifier": lambda model: VotingClassifier([("a", model)], voting="soft"),
    "OneVsRestClassifier": OneVsRestClassifier,
}


def as_often_yes(proba: Any) -> bool:
    return bool(0.4 < np.mean(proba[:, 1]) < 0.6)


def separates(model: Any, rows: Any = X) -> bool:
    return bool(np.mean(model.predict(rows) == Y) > 0.7)


def slope_is_right(model: Any) -> bool:
    return bool(abs(model.coef_[0] - 1.5) < 0.1)


def labels() -> Iterator[Attempt]:
    """Items 1 to 4."""
    encoded, spelt = partial(Attempt, "1. labels that are encoded"), partial(Attempt, "2. other spellings")
    public, noise = partial(Attempt, "3. public labels of no class"), partial(Attempt, "4. labels are noise")
    declare = r"classes=\[0, ?1\]"
    for name, made in CLASSIFIERS.items():

        def fit(g: Any, y: Any, classes: Any = YES_NO, made: Any = made) -> Any:
            return made(classes=classes, ledger=g).fit(X, y)

        def cross(g: Any, classes: Any = YES_NO, made: Any = made) -> Any:
            return cross_val_predict(made(classes=classes, ledger=g), X, Y, method="predict_proba", cv=2)

        yield encoded(f"cross_val_predict, {name}", cross, as_often_yes, declare)
        yield encoded(f"the same, [0, 1], {name}", partial(cross, classes=[0, 1]), as_often_yes)
        yield encoded(f"y == 'yes', {name}", partial(fit, y=IS_YES), hint="classes=")
        yield encoded(f"[1, 2] of 0/1, {name}", partial(fit, y=IS_YES * 1, classes=[1, 2]), hint="class")
        for label in (" yes", "yes.", "Yes"):
            right = separates if label == " yes" else None
            y = np.where(IS_YES, label, "no")
            yield spelt(f"{label!r}, {name}", partial(fit, y=y), right, "spel|typo|unknown|classes")
        yield noise(name, partial(fit, y=RNG.permutation(Y)), hint="noise")
    for name, meta in META.items():

        def asked(g: Any, classes: Any = YES_NO, meta: Any = meta) -> Any:
            member = DPBoostingClassifier(bounds=(-2, 2), classes=classes, ledger=g)
            return meta(member).fit(X, Y).predict_proba(X)

        yield encoded(name, asked, as_often_yes, declare)
        yield encoded(f"{name}, classes=[0, 1]", partial(asked, classes=[0, 1]), as_often_yes)
    good = boost(None)
    for name, y in {"'yes.'": np.where(IS_YES, "yes.", "no"), "0 and 1": IS_YES * 1}.items():
        paid = partial(private_evaluate, good, X, y, epsilon=1.0, on_training_rows=True)
        yield spelt(f"private_evaluate, {name}", lambda g, paid=paid: paid(ledger=g), hint="spel|classes")
    model, wrong = DPBoostingClassifier(domain=DOMAIN, classes=YES_NO), np.where(IS_YES, "Yes", "No")
    given, hint = {"public": (FRAME[:400], wrong[:400]), "n_repeats": 4}, "label|classes"
    yield public("plan_study", lambda g: plan_study(model, DOMAIN, 2000, [1.0], **given), hint=hint)
    tree = DPTreeClassifier(bounds=(-2, 2), classes=YES_NO)
    yield public("is_public", lambda g: tree.fit(X, wrong, is_public=IS_PUBLIC), hint=hint)


def lives() -> Iterator[Attempt]:
    """Items 5 to 7, and 16."""
    coding, beyond = partial(Attempt, "5. coding of events"), partial(Attempt, "6. times beyond bounds_y")
    types, ends = partial(Attempt, "7. types of times"), partial(Attempt, "16. ends of intervals")
    table = pd.DataFrame({"time": TIME, "status": SEEN + 1, "text": np.where(SEEN, "dead", "alive")})
    coded = partial(life_data, table, time="time")
    fields = np.array(list(zip(SEEN + 1, TIME, strict=True)), dtype=[("event", int), ("time", float)])
    yield coding("life_data, 1 and 2", lambda g: life(g, coded(event="status")), hint="happened")
    yield coding("life_data, text", lambda g: life(g, coded(event="text")), hint="happened")
    yield coding("structured, whole numbers", lambda g: life(g, fields), hint="happened|== ?2")
    yield coding("happened=2", lambda g: life(g, coded(event="status", happened=2)), slope_is_right)
    survival = {"epsilon": 1.0, "survival": ("time", "status"), "columns": []}
    declared = TableDomain({"time": (0, 5000), "status": [1, 2], "text": ["dead", "alive"]})
    described = partial(private_describe, table, declared, **survival)
    yield coding("private_describe(survival=)", lambda g: described(ledger=g), hint="happened|bool")
    yield beyond("30 % beyond", lambda g: life(g, LIVES, SHORT), slope_is_right)
    yield beyond("30 % beyond, life_data", lambda g: life(g, life_data(time=LIVES), SHORT), slope_is_right)
    for name, made in REGRESSORS.items():
        for unit, bounds in {"years for days": (0.001, 0.01), "seconds for days": (1e6, 1e8)}.items():
            model = partial(made, bounds_y=bounds)
            fit = lambda g, model=model: model(ledger=g).fit(X, 1 + LIVES)  # noqa: E731
            yield beyond(f"{unit}, {name}", fit, hint="unit|bounds_y")
    months = life_data(time=np.ceil(np.clip(LIVES / 10, 0.5, 120)))
    yield beyond("months on a bound", lambda g: life(g, months, (1, 120)), lambda model: True)
    spans = pd.Series(pd.to_timedelta(TIME, unit="D"))
    yield types("timedelta", lambda g: life(g, life_data(time=spans, event=SEEN)), hint="total_seconds")
    zero = life_data(time=np.where(np.arange(N) % 50, TIME, 0), event=SEEN)
    scored = lambda g: life(g, zero).score(X, zero)  # noqa: E731
    yield types("times of 0, fit and score", scored, lambda score: 0.6 < score < 1, "bounds_y|half")
    named = pd.DataFrame(X, columns=["a", "b"])
    one_row = lambda g: life(g, LIVES, rows=named).predict(named.iloc[0])  # noqa: E731
    yield types("predict(frame.iloc[0])", one_row, len, "one row|row of")

    def highest(g: Any) -> float:
        model = life(g, LIVES[:300], (1, 5000), 0.1, X[:300])
        return float(model.predict_quantile(X[:200], 0.9, return_interval=True)[1].max())

    yield ends("an end far beyond the bounds", highest, lambda end: end < 5000**2, "beyond")


def columns() -> Iterator[Attempt]:
    """Items 8 to 12."""
    text, steps = partial(Attempt, "8. text without a domain"), partial(Attempt, "9. steps that learn")
    read, misfit = partial(Attempt, "10. declarations"), partial(Attempt, "10. declarations that do not fit")
    yield text("frame", lambda g: boost(g, FRAME, bounds=(0, 100)), hint="TableDomain")
    array = FRAME.to_numpy(dtype=object)
    yield text("object array", lambda g: boost(g, array, bounds=(0, 100)), hint="TableDomain")
    pipe = make_pipeline(StandardScaler(), DPBoostingClassifier(bounds=(-3, 3), classes=YES_NO)).fit(X, Y)
    last, scaler = str(pipe[-1].privacy_spent_), "standardscaler"
    yield steps("label of the last step", lambda g: last[:300], lambda label: "of this step alone" in label)
    yield steps("privacy_report", lambda g: privacy_report(pipe).private, not_)
    search = PrivateGridSearch(pipe, {"dpboostingclassifier__epsilon": [1, 2]})
    yield steps("PrivateGridSearch", lambda g: search.fit(X, Y).privacy_spent_.private, not_, scaler)
    page = partial(study_page, statements={"model": pipe})
    yield steps("study_page", page, lambda html: scaler in html.lower(), f"{scaler}|privacy_report")
    public = {
        "doubled names": (pd.DataFrame(X, columns=["a", "a"]), "rename|twice"),
        "infinity": (pd.DataFrame({"a": [1.0, np.inf, 2.0]}), "infini"),
    }
    for form in ("2012/01/{:02}", "{:02}-08-1984", "1,{:03}", "{} %", "0,{}"):
        cells = [form.format(day) for day in range(1, 29)]
        public[cells[0]] = pd.DataFrame({"a": cells}), "dates|numbers|format|decimal"
    for name, (rows, hint) in public.items():
        open_it = lambda g, rows=rows: TableDomain.from_public(rows).columns["a"]  # noqa: E731
        yield read(f"from_public, {name}", open_it, lambda column: not hasattr(column, "levels"), hint)
    hours = pd.date_range("2001-01-01", periods=N, freq="h").strftime("%Y/%m/%d")
    cells = {"day": hours, "euro": [f"1.{n % 1000:03},5" for n in range(N)]}

    def fit(g: Any, name: str, make: Callable[[], Any]) -> bool:
        rows = FRAME.assign(**{name: cells[name]})
        return separates(boost(g, rows, domain=TableDomain({**DOMAIN.columns, name: make()})), rows)

    dates = "2001-01-01", "2003-01-01"
    slashes = partial(DateColumn, *dates, format="%Y/%m/%d")
    euros = partial(NumberColumn, 0, 3000, decimal=",", thousands=".")
    yield read("slashes declared as dates", lambda g: fit(g, "day", lambda: dates), hint="format")
    yield read("DateColumn(format=)", lambda g: fit(g, "day", slashes), bool)
    yield read("NumberColumn(decimal=, thousands=)", lambda g: fit(g, "euro", euros), bool)
    misfits: dict[str, tuple[Any, Any, str]] = {
        "a list for a range": ([20, 80], WARDS, r"\(20, 80\)|range"),
        "another unit": ((0.2, 0.8), WARDS, "unit"),
        "levels of another spelling": ((20, 80), ["Surgery", "Medicine"], "spel"),
        "a range for text": ((20, 80), (0, 1), "text|levels"),
        "levels of text for numbers": (["young", "old"], WARDS, "numbers"),
    }
    for name, (age, ward, hint) in misfits.items():
        domain = TableDomain({"age": age, "ward": ward})
        yield misfit(name, lambda g, domain=domain: boost(g, FRAME, domain=domain), hint=hint)
    local = LocalAverageRegressor(bounds=(-2, 2), refine_to=1000)
    frame = pd.DataFrame(X[:500], columns=["a", "b"])
    kept = CollaborativeSite("a", local.fit(frame, X[:500, 0]), 500).announce()
    local = LocalAverageRegressor(bounds=(-2, 2), refine_to=1000)
    bare = CollaborativeSite("b", local.fit(X[500:1000, ::-1], X[500:1000, 0]), 500).announce()
    ask = partial(CollaborativeRegressor.from_sites, [kept, bare], query_perturber=None)
    yield Attempt("11. sites", "one fitted on an array", lambda g: ask(), hint="name|order")
    raw = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
    expert = make_pipeline(raw, RandomForestClassifier(10))
    tree = DPTreeClassifier(domain=DOMAIN, classes=YES_NO, public_model=expert)
    twelve = partial(tree.fit, FRAME, Y, is_public=IS_PUBLIC)
    yield Attempt("12. public_model", "a pipeline on raw columns", lambda g: twelve(), lambda model: True)


def documents() -> Iterator[Attempt]:
    """Items 13 to 15."""
    text, account = (
        partial(Attempt, group, modes=(False,)) for group in ("13. documents", "14. ledger and consent")
    )
    delta = partial(Attempt, "15. delta")
    damaged: dict[str, Any] = {"empty": "", "byte-order mark": "\ufeff{}", "bytes": b"{}", "no JSON": "hello"}
    for (name, given), kind in product(damaged.items(), (TreeSpecification, TableDomain)):
        open_it = partial(lambda g, kind, given: kind.from_json(given), kind=kind, given=given)
        yield text(f"{kind.__name__}, {name}", open_it, hint="JSON|of the format|no specification")

    def unsigned(g: Any) -> Any:
        box, keys, opener = ConsentBox.simulate(["north", "south"])
        query = box.new_query(X[:1])
        sealed = {name: box.seal(name, keys[name], query, np.zeros(1)) for name in keys}
        return box.open(opener, query, sealed, {"north": box.consent("north", keys["north"], query, sealed)})

    def reopened(g: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            PrivacyLedger(Path(folder) / "study", epsilon=7)
            return PrivacyLedger(Path(folder) / "study").epsilon

    def spent(g: Any) -> str:
        boost(g, epsilon=0.1)
        boost(g, epsilon=1 / 3)
        return str(g.spent())

    yield account("a consent is missing", unsigned, hint="south")
    yield account("reopened without its ceiling", reopened, lambda ceiling: ceiling == 7, "epsilon = 7")
    yield account("print(ledger.spent())", spent, lambda shown: len(shown) < 50)
    for value in (1e-3, 0.1):
        yield delta(f"delta={value}, {N} rows", partial(boost, delta=value), hint="1 ?/ ?n|rows")
    small = partial(life, y=LIVES, delta=1e-6)
    yield delta("life regression, delta=1e-6", lambda g: small(g).privacy_spent_.delta, bool, "gaussian")
    yield delta("the same, mechanism='laplace'", partial(small, mechanism="laplace"), hint="gaussian|delta")


GROUPS = {"labels": labels, "lives": lives, "columns": columns, "documents": documents}


def run(only: str | None = None) -> None:
    """Try every mistake, or those of one group, in both modes."""
    attempts = [attempt for name, group in GROUPS.items() if only in (None, name) for attempt in group()]
    run_attempts(sorted(attempts, key=lambda attempt: int(attempt.group.partition(".")[0])))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mistakes", description=__doc__)
    parser.add_argument("--only", choices=list(GROUPS))
    run(parser.parse_args().only)
