# SPDX-License-Identifier: BSD-3-Clause
"""What the room refuses: nothing is charged, no batch or sum is lost, and no message shows a value."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from skprivate import DPLogisticRegression, DPLogLocationScaleRegressor, MomentAccumulator, PrivacyLedger
from skprivate.exceptions import BudgetExceededError
from skprivate.linear_model import DPSEVRegressor
from skprivate.linear_model._censored.gradient_round import plan_rounds, residuals_of
from skprivate.linear_model._censored.histograms import histogram_cells
from skprivate.linear_model._censored.rounds import plan_censored
from skprivate.linear_model._distributions import SEV, error_distribution_of, models_log_target
from skprivate.linear_model._moments.released_moments import MomentWeights, Neighbours
from skprivate.noise._mechanisms import FitBudget
from skprivate.rounds._plans.moments import GradientsPlan, LooksPlan, MomentGrid, choose_exponent
from skprivate.rounds._rows import KINDS, PreparedRows
from skprivate.rounds._task import plan_from_dict
from skprivate.utils._json_documents import digest, pack_integers, unpack_integers
from tests.linear_model.conftest import Known, lives_of

N, PLACE, SECRET = 100, 77, 0.98765
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (N, 2))
Y = X @ [0.5, -0.3] + 0.2 * RNG.normal(size=N)
TIMES, LABELS = np.exp(Y), (Y > 0).astype(int)
LIVES = lives_of(TIMES, LABELS == 0)
GROUPS = np.arange(N) // 2


def spoilt(values, bad, field=None):
    """A copy with one bad cell."""
    values = values.copy()
    column = values if field is None else values[field]
    column[(PLACE, 1) if column.ndim == 2 else PLACE] = bad
    return values


def fit(kind, declared, rows, y, groups=None, **options):
    return lambda ledger: kind(**{**declared, "ledger": ledger, **options}).fit(rows, y, groups=groups)


def sev(X=X, y=Y, groups=None, **options):
    return fit(DPSEVRegressor, {"bounds_X": (-1, 1), "bounds_y": (-3, 3)}, X, y, groups, **options)


def aft(X=X, y=LIVES, groups=None, **options):
    declared = {"bounds_X": (-1, 1), "bounds_y": (0.1, 40)}
    return fit(DPLogLocationScaleRegressor, declared, X, y, groups, **options)


def logit(X=X, y=LABELS, **options):
    return fit(DPLogisticRegression, {"bounds": (-4, 4), "classes": [0, 1]}, X, y, **options)


PARAMETERS = [
    ({"epsilon": 0}, "epsilon"),
    ({"epsilon": np.inf}, "epsilon"),
    ({"epsilon": np.nan}, "epsilon"),
    ({"epsilon": 1e-300}, "epsilon is too small"),
    ({"delta": 1.0}, "delta"),
    ({"delta": -1e-9}, "delta"),
    ({"mechanism": "gaussian"}, "needs a delta above 0"),
    ({"mechanism": "normal"}, "mechanism"),
    ({"bounds_X": ([0, 0, 0], [1, 1, 1])}, "one value per column"),
    ({"bounds_X": (1, 1)}, "^bounds_X: lower must be below upper"),
    ({"bounds_X": (0, np.inf)}, "must be finite"),
    ({"bounds_y": (1, 1)}, r"^bounds_y: lower must be below upper\.$"),
    ({"bounds_y": (0, np.nan)}, "must be finite"),
    ({"bounds_y": ([0, 0], [1, 1])}, "one value per column"),
    ({"x_norm": 0}, "x_norm"),
    ({"method": "newton"}, "method"),
    ({"relation": "local"}, "relation"),
    ({"max_iter": 0}, "max_iter"),
    ({"hazard_clip": 0.0}, "hazard_clip"),
    ({"max_rows_per_group": 0}, "max_rows_per_group"),
    *(({"scale_bounds": bounds}, "scale_bounds") for bounds in ((2, 1), (1,), (0.1, np.inf), "ab", ("a", 1))),
    *(({"scale_bounds": (0, 1), "method": method}, "must be above 0") for method in ("moments", "taylor")),
    *(({"scale_bounds": bounds}, "too close to 0 or too far") for bounds in ((1e-300, 1), (1, 1e300))),
]
TYPES = (TypeError, ValueError)
NOT_FINITE = r"NaN|infinity|inf|not above 0"
REFUSALS = {
    **{f"parameters: {given}": (sev(**given), match, TYPES) for given, match in PARAMETERS},
    # Rows that are refused cost nothing, whatever the path.
    **{
        f"{name} {bad} of {target}, {options}": (
            aft(spoilt(X, bad) if name == "X" else X, y, groups, **options),
            NOT_FINITE,
        )
        for bad in (np.nan, -np.inf)
        for name in ("X", "y")
        for target, whole, field in (("times", TIMES, None), ("lives", LIVES, "time"))
        for y in [spoilt(whole, bad, field) if name == "y" else whole]
        for options in ({}, {"x_norm": 1.0}, {"max_rows_per_group": 2}, {"bounds_X": None})
        if bad is np.nan or not options
        for groups in [GROUPS if "max_rows_per_group" in options else None]
    },
    # Whether the bad row is among those that count must not matter.
    **{
        f"nan in X, groups, seed {seed}": (
            sev(spoilt(X, np.nan), groups=np.arange(N) // 20, random_state=seed),
            "Input X contains",
        )
        for seed in range(5)
    },
    "lengths of groups": (sev(groups=GROUPS[1:]), "shape"),
    "lengths": (sev(y=Y[1:]), "inconsistent"),
    "lengths, lives": (aft(y=LIVES[1:]), "inconsistent"),
    "time below 0": (aft(y=spoilt(TIMES, -SECRET)), "not above 0"),
    "time 0, life": (aft(y=spoilt(LIVES, 0.0, "time")), "not above 0"),
    "bounds of times": (aft(y=TIMES, bounds_y=(0, 9)), "bounds_y must be above 0"),
    "taylor, lives": (aft(method="taylor"), "method='taylor' takes no censored"),
    "events that are integers": (
        aft(y=np.array([(1, 2.5)] * N, dtype=[("event", int), ("time", float)])),
        "boolean",
        TYPES,
    ),
    "fields in another order": (
        aft(y=np.array([(2.5, True)] * N, dtype=[("time", float), ("event", bool)])),
        "of type float64, not boolean",
        TYPES,
    ),
    "three fields": (
        aft(y=np.array([(True, 2.5, 1.0)] * N, dtype=[("a", bool), ("b", float), ("c", float)])),
        "y must have two fields",
        TYPES,
    ),
    "pairs": (aft(y=[(True, time) for time in TIMES]), "2 columns.*structured array"),
    "two columns": (aft(y=np.column_stack([TIMES, LABELS])), "2 columns.*structured array"),
    "durations": (aft(y=pd.Series(pd.to_timedelta(TIMES, unit="D"))), "durations", TypeError),
    "dates": (aft(y=np.full(N, "2020-01-01", dtype="datetime64[D]")), "dates", TypeError),
    # Logistic regression.
    "logit, no delta": (logit(mechanism="gaussian"), "needs a delta above 0"),
    "logit, one label": (logit(classes=[1]), "two labels or more"),
    "logit, bounds": (logit(bounds=(4, -4)), "lower must be below upper"),
    "logit, bounds of one column": (logit(bounds={0: (-1, 1)}), "bounds"),
    # Slopes would be infinite, and predictions NaN.
    "logit, narrow": (logit(bounds=(0, 5e-324)), "narrow"),
    "logit, narrow norm": (logit(bounds=None, x_norm=1e-310), "narrow"),
    "logit, epsilon": (logit(epsilon=1e-14), "epsilon"),
    "logit, least epsilon": (logit(epsilon=1e-300), "epsilon is too small"),
    "logit, least epsilon, gaussian": (logit(epsilon=1e-300, delta=1e-9), "epsilon"),
    "logit, nan": (logit(spoilt(X, np.nan)), "NaN"),
}

# Plans of censored rounds, and the sums of their rows.

GRID = MomentGrid(lower=-np.ones(1), upper=np.ones(1), target=(-1.0, 1.0), exponent=20)
NEIGHBOURS = Neighbours(weights=MomentWeights(2, 1, 1))


def censored_plan(**options):
    return lambda ledger: plan_censored(GRID, SEV, FitBudget.of(1, 0, "laplace"), NEIGHBOURS, **options)


def round_plan(amount=0.1, n_rows=1000):
    return plan_rounds(NEIGHBOURS, residuals_of(SEV, 1.0, KINDS), "laplace", n_rows, amount)


def gradients(**change):
    """Read the document of a round's plan of which something is changed."""

    def read(ledger):
        content = round_plan().sums(GRID, np.array([0.1, 2.0, 0.5]), True).to_dict()
        changed = {name: value(content[name]) for name, value in change.items()}
        return GradientsPlan.from_dict({**content, **changed})

    return read


def rows_of_kinds(**times):
    times = {"y": np.zeros(N), "event": np.full(N, 3, np.uint8), **times}
    return PreparedRows(times.pop("X", np.zeros((N, 1))), **times)


def summed(rows, plan=None):
    plan = plan or round_plan().sums(GRID, np.array([0.0, 1.0, 0.0]), False)
    return lambda ledger: plan.sums(rows)


def checked(place):
    """Sums of one row of which one is what no row gives."""

    def check(ledger):
        sums = round_plan().sums(GRID, np.array([0.1, 2.0, 0.5]), False)
        row = PreparedRows(np.zeros((1, 1)), y=np.array([0.4]), event=np.array([3], np.uint8))
        values = sums.sums(row)
        sums.check_sums(values, 1)
        values[place] = 2**50
        sums.check_sums(values, 1)

    return check


def looks(change):
    content = LooksPlan(GRID, np.array([0.1, 0.4]), 0.3, 9).to_dict()
    return lambda ledger: plan_from_dict(content | change)


REFUSALS |= {
    **{f"max_iter {bad}": (censored_plan(max_iter=bad), "max_iter") for bad in (0, 2.5, True, "two")},
    **{
        f"hazard_clip {bad}": (censored_plan(hazard_clip=bad), "hazard_clip") for bad in (0.0, 1000.0, np.nan)
    },
    "epsilon of a round": (lambda ledger: round_plan(1e-14, 10**6), "epsilon too small"),
    "limits of a half": (gradients(limits=lambda old: [*old[:-1], 0.5]), "integers"),
    "limits below 0": (gradients(limits=lambda old: [*old[:-1], -1.0]), "integers"),
    "limits of other kinds": (gradients(limits=lambda old: old[:4]), "limits"),
    "nan in X of a round": (summed(rows_of_kinds(X=spoilt(X, np.nan)[:, 1:])), "must be finite"),
    "inf in X of a round": (summed(rows_of_kinds(X=spoilt(X, np.inf)[:, 1:])), "must be finite"),
    **{
        f"nan in {name}": (summed(rows_of_kinds(**{name: spoilt(Y, np.nan)})), "must not be NaN")
        for name in ("start", "entry")
    },
    **{
        f"{bad} in the times of a histogram": (
            summed(rows_of_kinds(y=spoilt(Y, bad), event=LABELS.astype(np.uint8)), histogram_cells(GRID)),
            "NaN or infinity",
        )
        for bad in (np.nan, -np.inf)
    },
    **{f"sums of no row, {place}": (checked(place), "this number of rows") for place in (1, 3)},
    **{
        f"document of looks: {change}": (looks(change), r"clip|line|bits")
        for change in ({"clip": 0.0}, {"line": [1.0]}, {"line": [0, 1e30]}, {"bits": 30})
    },
    "too many rows": (lambda ledger: choose_exponent(2**61 + 1, 1), "too many rows"),
    "too much noise": (lambda ledger: choose_exponent(10, 2**52), "epsilon is too small"),
    **{
        f"distribution, {find.__name__}": (
            lambda ledger, find=find: find("gumbel"),
            "distribution must be one of weibull",
        )
        for find in (error_distribution_of, models_log_target)
    },
}

# Predictions of a fitted model.


def known(call, rows=X, distribution="weibull"):
    return lambda ledger: call(Known(distribution).fit(rows))


def found(method, *arguments, **options):
    return known(lambda model: getattr(model, method)(*arguments, **options))


def without_residuals(residuals):
    def compare(model):
        model.release_ = SimpleNamespace(residuals=residuals, mechanism="laplace")
        model.goodness_of_fit()

    return known(compare)


METHODS = ("predict", "predict_mean", "predict_survival_function", "predict_cumulative_hazard_function")
FRAME = pd.DataFrame(X, columns=["a", "b"])
CONFIDENCE = "confidence must be"
REFUSALS |= {
    **{
        f"level {q}": (found("predict_quantile", X, q), "q must be")
        for q in (0, 1, np.nan, [0.5, 1.0], [[0.5]])
    },
    **{
        f"confidence {bad}": (
            found("predict_quantile", X, 0.5, return_interval=True, confidence=bad),
            CONFIDENCE,
        )
        for bad in (0, 1, np.nan)
    },
    "side": (found("predict_quantile_bound", X, 0.1, side="both"), "side must be"),
    "confidence of a bound": (found("predict_quantile_bound", X, 0.1, confidence=95), CONFIDENCE),
    "level of a bound": (found("predict_quantile_bound", X, 10), "q must be"),
    "levels of b lives": (found("b_lives", X, [10]), "levels must be"),
    "confidence of b lives": (found("b_lives", X, confidence=0), CONFIDENCE),
    "confidence of factors": (found("acceleration_factor", X, X, confidence=0), CONFIDENCE),
    "rows of factors": (found("acceleration_factor", X[:2], X[:3]), "as many rows"),
    **{
        f"times {times}": (found("predict_survival_function", X, times=times), "times must be")
        for times in ([np.nan], [1.0, np.inf], [-1.0], 3.0)
    },
    "confidence of a band": (
        found("predict_survival_function", X, return_interval=True, confidence=1),
        CONFIDENCE,
    ),
    **{
        f"a curve at {time}": (
            known(lambda model, time=time: model.predict_survival_function(X)[0](time)),
            match,
        )
        for time, match in ((np.nan, "finite"), ([1.0, -np.inf], "finite"), ([1.0, -1e-9], "at least 0"))
    },
    "confidence of a summary": (found("summary", confidence=90), CONFIDENCE),
    "confidence of a comparison": (found("goodness_of_fit", confidence=90), CONFIDENCE),
    "no residuals": (without_residuals(None), "released no histogram of residuals"),
    "columns in another order": (
        known(lambda model: model.predict(FRAME[["b", "a"]]), FRAME),
        "feature names",
    ),
    "a column more": (found("predict", np.ones((2, 3))), "3 features"),
    "text in X": (found("predict", np.array([["secret", "1"]])), "X holds text", TypeError),
    **{f"nan in X, {method}": (found(method, [[np.nan, 1.0]]), "NaN") for method in METHODS},
    **{
        f"not fitted, {method}": (
            lambda ledger, method=method, given=given: getattr(DPSEVRegressor(), method)(*given),
            "not fitted yet",
            NotFittedError,
        )
        for given, names in (((X,), METHODS), ((), ("summary", "goodness_of_fit")))
        for method in names
    },
    "weights of lives": (found("score", X, LIVES, np.ones(N)), "takes no weights"),
    "lengths of a score": (found("score", X[1:], LIVES), "inconsistent numbers of samples"),
    "text in y of a score": (found("score", X, np.array(["secret"] * N)), "X holds text", TYPES),
}

# Accumulators.

DECLARED = {"bounds_X": (-np.ones(2), np.ones(2)), "bounds_y": (0.1, 40), "max_rows": 1000}


def make(**options):
    return MomentAccumulator(**{**DECLARED, **options})


def made(**options):
    return lambda ledger: make(**options)


def unchanged(accumulator, call):
    """Call something that changes nothing of an accumulator if it raises."""
    state = accumulator.to_bytes()
    try:
        return call()
    finally:
        assert accumulator.to_bytes() == state


def batch(*given, weights=None, **options):
    """Add a batch to rows that are there."""

    def update(ledger):
        accumulator = make(**options).update(X, TIMES, batch_id="first")
        unchanged(accumulator, lambda: accumulator.update(*given, batch_id="x", sample_weight=weights))

    return update


def merged(other):
    def merge(ledger):
        accumulator = make().update(X, TIMES)
        unchanged(accumulator, lambda: accumulator.merge(other))

    return merge


def released(kind=DPLogLocationScaleRegressor, options=None, **parameters):
    """Release what refuses the estimator, or what its ledger does."""

    def release(ledger):
        accumulator = make(**options or {}).update(X, TIMES)
        unchanged(accumulator, lambda: accumulator.release(kind(ledger=ledger, **parameters)))

    return release


def read(change, rows=True):
    """Read bytes of which something is changed, and sealed again."""

    def from_bytes(ledger):
        accumulator = make(feature_names=["a", "b"], target="hours")
        data = (accumulator.update(X, TIMES) if rows else accumulator).to_bytes()
        state = json.loads(data)
        del state["checksum"]
        change(state)
        changed = json.dumps(state | {"checksum": digest(state)}).encode()
        assert changed != data
        MomentAccumulator.from_bytes(changed)

    return from_bytes


def change_gram(function):
    def change(state):
        sums = unpack_integers(state["gram"], (4, 4))
        function(sums)
        state["gram"] = pack_integers(sums)

    return change


def missing(form, column, value):
    """A batch of two rows, of which one has a missing cell."""
    frame = pd.DataFrame({"a": [0.5, 1.0], "b": [0.0, 0.0], "hours": [1.0, 2.0]})
    frame[column] = pd.array([0.5, value], dtype="Float64")
    return batch(frame if form is pd.DataFrame else form(pa.Table.from_pandas(frame)), target="hours")


BYTES = {
    "version": lambda s: s.update(version=2),
    "a field more": lambda s: s.update(more=1),
    "a field less": lambda s: s.pop("target"),
    "another grid": lambda s: s["plan"]["grid"].update(exponent=s["plan"]["grid"]["exponent"] - 1),
    "grid without room": lambda s: (s["plan"]["grid"].update(exponent=27), s["plan"].update(max_rows=1000)),
    "half an exponent": lambda s: s["plan"]["grid"].update(exponent=1.5),
    "bounds": lambda s: s["plan"]["grid"].update(lower=[5.0, 0.0]),
    "order of the norm": lambda s: s["plan"]["grid"].update(norm_order=2),
    "distribution": lambda s: s["plan"].update(distribution="sev"),
    "unhashable": lambda s: s["plan"].update(distribution=[]),
    "names": lambda s: s.update(feature_names=["a"]),
    "many rows": lambda s: (s.update(n_rows=30 * N), change_gram(lambda g: g.__imul__(30))(s)),
    "more rows": lambda s: s.update(n_rows=N + 1),
    "half a row": lambda s: s.update(n_rows=100.5),
    "batches": lambda s: s.update(batches=[1]),
    "size": lambda s: s.update(gram=pack_integers(np.zeros((2, 2), dtype=np.int64))),
    "no base64": lambda s: s.update(gram="%%%"),
    "not symmetric": change_gram(lambda g: g.__setitem__((0, 1), g[0, 1] + 1)),
    "too large": change_gram(lambda g: g.__setitem__((1, 1), g[0, 0] + 1)),
    "least integer": change_gram(lambda g: g.__setitem__((1, 1), -(2**63))),
}
BATCH = pa.table({"a": X[:, 0], "b": X[:, 1], "hours": spoilt(TIMES, -1.0)})
REFUSALS |= {
    **{
        f"accumulator: {given}": (made(**given), match, *error)
        for given, match, *error in (
            ({"bounds_X": (1, 0)}, "lower must be below upper"),
            ({"bounds_X": None}, "None only with x_norm"),
            ({"bounds_X": ([0.0], [1.0, 2.0])}, "arrays of one length"),
            ({"bounds_X": {"a": (0, 1)}, "feature_names": ["b"]}, "no column 'a'"),
            ({"bounds_X": {"a": (0, 1)}, "target": "a"}, "different names"),
            ({"feature_names": []}, "different names"),
            ({"feature_names": ["a", "a"]}, "different names"),
            ({"feature_names": "ab"}, "list of names", TypeError),
            ({"target": 3}, "target a name", TypeError),
            ({"bounds_y": (0.0, 1.0)}, "above 0"),
            ({"bounds_y": (2.0, 1.0)}, "lower must be below upper"),
            ({"max_rows": 0}, "max_rows"),
            ({"max_rows": 2**62}, "too many rows"),
            ({"max_rows": 1.5}, "max_rows", TypeError),
            ({"max_rows": True}, "max_rows", TypeError),
            ({"distribution": "gumbel"}, "distribution must be one of"),
            ({"mechanism": "exact"}, "mechanism must be"),
            ({"x_norm": 0.0}, "x_norm"),
            ({"x_norm": np.nan}, "x_norm"),
            ({"x_norm": "2"}, "x_norm", TypeError),
            ({"max_rows_per_group": 0}, "max_rows_per_group"),
            *(
                ({"max_sample_weight": cap}, "max_sample_weight")
                for cap in (0.0, -1.0, np.inf, 2.0**21, 2.0**-21)
            ),
        )
    },
    "weights without a cap": (batch(X, TIMES, weights=np.ones(N)), "needs a public cap"),
    **{
        f"weights {name}": (batch(X, TIMES, weights=weights, max_sample_weight=1.0), "sample_weight must")
        for name, weights in (
            ("of other rows", np.ones(N + 1)),
            ("of two dimensions", np.ones((N, 1))),
            ("text", ["x"] * N),
            ("nan", np.full(N, np.nan)),
            ("inf", np.full(N, np.inf)),
            ("alone", 1.0),
        )
    },
    "batch, nan": (batch(spoilt(X, np.nan), TIMES), "finite"),
    "batch, inf": (batch(X, spoilt(TIMES, np.inf)), "finite"),
    "batch, below 0": (batch(X, spoilt(TIMES, -SECRET)), "not above 0"),
    "batch, columns": (batch(X[:, :1], TIMES), "shape"),
    "batch, lengths": (batch(X, TIMES[:-1]), "one value per row of X"),
    "batch, a column of y": (batch(X, TIMES[:, None]), "one value per row of X"),
    "batch, one row": (batch(X[0], TIMES[:1]), "Expected 2D array"),
    "batch, text": (batch([["secret"] * 2], [1.0]), "X holds text"),
    "batch, text in y": (batch([[0.0] * 2], ["secret"]), "y must hold numbers"),
    "batch, last part of a stream": (batch(BATCH.to_reader(30), target="hours"), "not above 0"),
    "batch, lives": (batch(X, LIVES), "no censored targets"),
    "batch id": (lambda ledger: make().update(X, TIMES, batch_id=True), "batch_id", TypeError),
    **{
        f"missing {value} of {column}, {form.__name__}": (
            missing(form, column, value),
            r"must be finite|none of them missing|not above 0",
        )
        for form, value in ((pd.DataFrame, pd.NA), (pl.DataFrame, None), (pa.table, float("nan")))
        for column in ("a", "hours")
    },
    **{
        f"merge, {given}": (merged(make(**given)), "different parameters")
        for given in (
            {"max_rows": 2000},
            {"bounds_y": (0.1, 41)},
            {"distribution": "normal"},
            {"x_norm": 2.0},
            {"max_sample_weight": 1.0},
            {"max_rows_per_group": 2},
            {"mechanism": "gaussian"},
        )
    },
    "merge, sums": (merged(np.zeros((4, 4))), "MomentAccumulator", TypeError),
    **{f"bytes: {name}": (read(change), "no bytes of an accumulator") for name, change in BYTES.items()},
    "bytes without rows: grid without room": (
        read(BYTES["grid without room"], rows=False),
        "no bytes of an accumulator",
    ),
    **{
        f"release, { {key: getattr(value, '__name__', value) for key, value in given.items()} }": (
            released(**given),
            match,
            *error,
        )
        for given, match, *error in (
            ({"epsilon": 11.0}, "would exceed the ceiling", BudgetExceededError),
            ({"epsilon": -1.0}, "epsilon"),
            ({"epsilon": 1e-9}, "epsilon"),
            ({"epsilon": 1e-300}, "epsilon"),
            ({"mechanism": "gaussian"}, "needs a delta above 0"),
            ({"bounds_X": (-3, 3)}, "bounds_X of the estimator"),
            ({"bounds_y": (0.1, 39)}, "bounds_y of the estimator"),
            ({"x_norm": 1.0}, "x_norm of the estimator"),
            ({"scale_bounds": (2, 1)}, "scale_bounds"),
            ({"scale_bounds": (0, 1)}, "scale_bounds"),
            ({"regularization": "ridge"}, "regularization"),
            ({"kind": DPSEVRegressor}, "whether y is a time"),
            ({"kind": lambda ledger: LinearRegression()}, "estimator must be", TypeError),
            (
                {"options": {"max_rows_per_group": 2}, "max_rows_per_group": 3},
                "max_rows_per_group of the estimator",
            ),
            (
                {"options": {"x_norm": 2.0}, "delta": 1e-6},
                r"pass the estimator delta=0, or .* mechanism='gaussian'",
            ),
            (
                {"options": {"x_norm": 2.0, "mechanism": "gaussian"}},
                r"pass the estimator a delta above 0, or .* mechanism='laplace'",
            ),
        )
    },
    "release, no batch": (
        lambda ledger: MomentAccumulator((0, 1), (1, 2), 10).release(
            DPLogLocationScaleRegressor(ledger=ledger)
        ),
        "number of columns",
    ),
}


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    return PrivacyLedger(tmp_path_factory.mktemp("refusals") / "a.ledger", epsilon=10, delta=0.1)


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
@pytest.mark.parametrize("name", REFUSALS)
def test_is_refused(name, ledger):
    call, match, *error = REFUSALS[name]
    with pytest.raises(*(error or [ValueError]), match=match) as caught:
        call(ledger)
    assert not name.startswith("bytes") or caught.value.__context__ is None
    for private in ("secret", str(SECRET), str(PLACE)):
        assert private not in str(caught.value)
    assert not ledger.entries()
