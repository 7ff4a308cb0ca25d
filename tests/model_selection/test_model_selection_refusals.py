# SPDX-License-Identifier: BSD-3-Clause
"""What searches and splits refuse: nothing is charged, and no message shows a value."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, log_loss, make_scorer
from sklearn.pipeline import make_pipeline

from skprivate import (
    BoundsScaler,
    CollaborativeClassifier,
    DPNormalLLSRegressor,
    DPSEVRegressor,
    DPTreeClassifier,
    LocallyPrivateTreeClassifier,
    PrivacyLedger,
    PublicPrivateSplit,
    config_context,
)
from skprivate.base import PrivateEstimatorMixin
from skprivate.model_selection import PrivateGridSearch
from skprivate.model_selection._scoring import hold_out, resolve_scorer, row_scores
from skprivate.noise import check_entropy

N = 300
X = np.random.default_rng(0).uniform(size=(N, 2))
Y, NUMBERS = (X[:, 0] > 0.5).astype(int), X[:, 0]
FIRST, ALL = np.arange(N) < 50, np.ones(N, dtype=bool)
DEPTHS, ONE = {"max_depth": [1, 2]}, {"max_depth": [1]}
TREE = DPTreeClassifier(bounds=(0, 1), classes=[0, 1])
SEVERAL = LocallyPrivateTreeClassifier(bounds=(0, 1), classes=[0, 1, 2])
LIFE = DPSEVRegressor(bounds_X=(0, 1), bounds_y=(0, 1))
NORMAL = DPNormalLLSRegressor(bounds_X=(0, 1), bounds_y=(0, 1))
SCALED = make_pipeline(BoundsScaler(), TREE)
COLUMNS = make_pipeline(ColumnTransformer([("a", BoundsScaler(), [0])], sparse_threshold=0), TREE)


class NoGroups(DPTreeClassifier):
    __metadata_request__fit = {"groups": None}


class NoProbabilities(DPTreeClassifier, PrivateEstimatorMixin):
    @property
    def predict_proba(self):
        raise AttributeError("predict_proba")


class Uncopied:
    def __deepcopy__(self, memo):
        raise RuntimeError

    def __call__(self, model, X, y):
        return np.ones(len(y))


def secret(cell):
    frame = pd.DataFrame(X, columns=["a", "b"]).astype(object)
    frame.iloc[5, 0] = cell
    return frame


def search(estimator=TREE, grid=DEPTHS, X=X, y=Y, marked=None, **options):
    def fit(ledger):
        return PrivateGridSearch(estimator, grid, ledger=ledger, **options).fit(X, y, **marked or {})

    return fit


def candidate(estimator, reason, **entry):
    """A grid whose second entry has a defect that is public."""
    grid = [{}, {name: [value] for name, value in entry.items()}]
    call = search(estimator, grid, y=NUMBERS if estimator is LIFE else Y)
    return call, rf"(?s){reason}.*The candidate|The candidate .* cannot be fitted.*{reason}"


def life(y, reason, X=X, error=ValueError):
    """Types and forms; a score would fail."""
    estimator = DPSEVRegressor(bounds_X=(0, 1), bounds_y=(1, 2))
    return search(estimator, {"epsilon": [1]}, X, y, scoring=lambda *given: 1 / 0), reason, error


def split(reason, X=X, error=ValueError, **given):
    return lambda ledger: next(PublicPrivateSplit(2).split(X, **given)), reason, error


def scorer(reason, *bounds, model=NORMAL, y=NUMBERS):
    candidates = [DPNormalLLSRegressor(bounds_y=one) for one in bounds] or [model]
    return lambda ledger: resolve_scorer(None, candidates[0], candidates, y), reason


ONE_SCORE = "one score per row"
FRAME = r'domain=TableDomain\({"a": \["...", ...\], "b": '
DATES = np.full(N, "2020-01-01", dtype="M8[D]")
REFUSALS = {
    "eta below 0": (search(eta=-0.5), "eta"),
    "eta nan": (search(eta=float("nan")), "eta"),
    "eta, a fraction below 0": (search(eta=Fraction(-1, 2)), "eta"),
    "validation_fraction 0": (search(validation_fraction=0.0), "validation_fraction"),
    "validation_fraction 1": (search(validation_fraction=1.0), "validation_fraction"),
    "no rows to fit": (search(validation_fraction=0.9999), "cannot be split"),
    "score_epsilon 0": (search(score_epsilon=0), "score_epsilon"),
    "score_epsilon tiny": (search(score_epsilon=1e-300), "score_epsilon.* too small"),
    "score_epsilon huge": (search(score_epsilon=1e301), "score_epsilon must be at most"),
    "n_jobs": (search(n_jobs=0), "n_jobs"),
    "no entry": (search(grid=[]), r"\w"),
    "no value": (search(grid={"max_depth": []}), "non-empty"),
    "no parameter": (search(grid={"depth": [1]}), "Invalid parameter"),
    "one bad depth": (search(grid={"max_depth": [-1, 1]}), "max_depth"),
    "one bad epsilon": (search(grid={"epsilon": [1.0, -1.0]}), "epsilon"),
    "scoring f1": (search(scoring="f1"), "f1|scoring"),
    "scoring of one argument": (search(scoring=lambda model: 1.0), "three arguments", TypeError, ValueError),
    "scoring that cannot be copied": (search(scoring=Uncopied()), "cannot be copied", TypeError, ValueError),
    "scoring of scikit-learn": (search(scoring=get_scorer("accuracy")), "one number for all"),
    "scoring by another name": (search(scoring="auc"), "'roc_auc'"),
    "scoring of probabilities": (search(scoring=make_scorer(log_loss)), "one of the names .*neg_log_loss"),
    "scoring of ranks": (search(scoring=get_scorer("roc_auc")), "one of the names .*roc_auc"),
    "scores of a regressor": (search(NORMAL, {"epsilon": [1]}, scoring="roc_auc"), "classifiers"),
    "scores without probabilities": (
        search(NoProbabilities(bounds=(0, 1), classes=[0, 1]), ONE, scoring="neg_log_loss"),
        "predict_proba",
    ),
    "roc_auc of three classes": (search(SEVERAL, ONE, scoring="roc_auc"), "is for two classes"),
    "other classes": (
        search(grid={"classes": [[0, 1], [0, 1, 2]]}, scoring="balanced_accuracy"),
        "the same classes",
    ),
    "public rows of one class": (
        search(y=0 * Y, marked={"is_public_validation": FIRST}, scoring="roc_auc"),
        "of both classes",
    ),
    "public rows of other classes": (
        search(y=5 * (1 - Y), marked={"is_public_validation": FIRST}, scoring="roc_auc"),
        "outside classes",
    ),
    "rows that are public twice": (
        search(marked={"is_public": FIRST, "is_public_validation": FIRST}),
        "mark the same rows",
    ),
    "public rows alone": (search(marked={"is_public": ALL}), "every row is public"),
    "one public class": (
        search(DPTreeClassifier(bounds=(0, 1)), ONE, marked={"is_public": Y == 1}),
        "one class only",
    ),
    "an option on public rows": (
        search(SEVERAL, {"prune": [False, "paper"]}, marked={"is_public_validation": FIRST}),
        "Only binary",
    ),
    "groups that no step takes": (
        search(NoGroups(bounds=(0, 1), classes=[0, 1]), marked={"groups": np.arange(N)}),
        "NoGroups takes none",
    ),
    "no cost": (search(LogisticRegression(), {}), "planned cost", TypeError),
    "no epsilon": (search(CollaborativeClassifier(), {}), "planned cost|states no epsilon", TypeError),
    "a number of fits that is not known": (search(BaggingClassifier(TREE), {}), "planned cost", TypeError),
    "a missing label": (search(y=np.where(FIRST, None, Y)), "holds None"),
    "labels of two columns": (search(y=np.column_stack([Y, Y])), "should be a 1d array"),
    "labels in a frame": (search(y=pd.DataFrame({"a": Y, "b": Y})), "should be a 1d array"),
    "labels in fields": (search(y=np.array(list(zip(Y, Y, strict=True)), dtype="i8,i8")), "1d array"),
    "a missing cell": (search(X=secret(np.nan)), FRAME, TypeError),
    "a cell of text": (search(X=secret("secret")), FRAME, TypeError),
    "lives of integers": life(pd.DataFrame({"event": Y, "time": Y + 1.0}), "not boolean", error=TypeError),
    "numbers of two columns": life(np.column_stack([Y, Y]), "1d array"),
    "dates": life(DATES, "dates", error=TypeError),
    "one dimension": life(NUMBERS, "Expected 2D", X=NUMBERS),
    "complex rows": life(NUMBERS, "omplex", X=X * 1j),
    # Scorers, and splits.
    **{
        f"scores of another shape, {number}": (
            lambda ledger, scores=scores: row_scores(
                lambda *given: scores, None, np.arange(5)[:, None], np.zeros(5), public=True
            ),
            ONE_SCORE,
        )
        for number, scores in enumerate([0.5, np.zeros(4), np.zeros((5, 1)), [[0.0] * 5]])
    },
    "no unit to part": (lambda ledger: hold_out(1, 0.5, check_entropy(0).random_bytes), "cannot be split"),
    "several widths": scorer("one width of bounds_y, above 0", (-2, 2), (-3, 3)),
    "no width": scorer("one width of bounds_y, above 0", (2, 2)),
    "a scorer of an estimator that has none": scorer("it has none", model=DummyRegressor()),
    "a scorer of lives": scorer("censored", y=np.array([(True, 1.0)], dtype="?,f8")),
    "bounds of y that are read": scorer("declare them", model=DPNormalLLSRegressor()),
    "no rows": split("X must not be None", X=None, is_public=[True]),
    "no private row": split("no private row to test", X=X[:2], is_public=[True, True]),
    "a mask of numbers": split("must hold booleans", X=X[:2], is_public=[0, 1], error=TypeError),
    "a mask of another length": split("is_public must have shape", X=X[:2], is_public=[True]),
}


# Defects of a candidate that are public: no row can mend them, so that they are no failure either.
CANDIDATES = {
    "bounds": candidate(TREE, "lower must be below upper", bounds=(1, 0)),
    "bounds of another column": candidate(TREE, "there is no column 'a'", bounds={"a": (0, 1)}),
    "bounds of more columns": candidate(TREE, "one value per column", bounds=([0, 0, 0], 1)),
    "one class": candidate(TREE, "two labels", classes=[1]),
    "depth": candidate(TREE, "at most 16 without public rows", max_depth=17),
    "epsilon": candidate(TREE, "epsilon is too small", epsilon=1e-17),
    "an entry's parameter": candidate(TREE, "Invalid parameter", no_parameter=1),
    "rule of pruning": candidate(SEVERAL, "Only binary", prune="paper"),
    "mechanism": candidate(SEVERAL, "Only binary", mechanism="signed-laplace"),
    "bounds of X": candidate(LIFE, "one value per column", bounds_X=(0, [1, 1, 1])),
    "bounds of y": candidate(LIFE, "bounds_y: lower must be below upper", bounds_y=(1, 0)),
    "bounds of the scale": candidate(LIFE, "scale_bounds must be above 0", scale_bounds=(-1, 1)),
    "epsilon of a regressor": candidate(LIFE, "epsilon is too small", epsilon=1e-30),
    "bounds of a step": candidate(SCALED, "lower must be below upper", boundsscaler__bounds=(1, 0)),
    "bounds behind a step": candidate(SCALED, "one value per column", dptreeclassifier__bounds=(0, [1])),
    "bounds in columns": candidate(COLUMNS, "one value per column", columntransformer__a__bounds=([0, 0], 1)),
    "columns": candidate(COLUMNS, "9", columntransformer__transformers=[("a", BoundsScaler(), [9])]),
}
REFUSALS |= CANDIDATES
NO_FAILURE = (
    *("n_jobs", "no value", "score_epsilon tiny", "score_epsilon huge", "no rows to fit"),
    *("scoring of one argument", "scoring that cannot be copied", *CANDIDATES),
)
# In strict mode no cell makes a fit fail, and rows that are scored one by one count as 0.
NOT_STRICT = ("a missing", "scores of another shape")
CASES = [(name, strict) for name in REFUSALS for strict in (False, True)]
CASES = [case for case in CASES if not (case[1] and case[0].startswith(NOT_STRICT))]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    return PrivacyLedger(tmp_path_factory.mktemp("refusals") / "a.ledger", epsilon=100, delta=0.1)


@pytest.mark.parametrize(("name", "strict"), CASES)
def test_is_refused(name, strict, ledger):
    failures = ledger.n_failures
    call, match, *error = REFUSALS[name]
    with config_context(strict=strict), pytest.raises(tuple(error) or ValueError, match=match) as caught:
        call(ledger)
    assert "secret" not in str(caught.value)
    assert not ledger.entries()
    assert ledger.n_failures == failures or name not in NO_FAILURE
