# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's callbacks: progress of what has rounds or sites, no rows, nothing of a private search."""

import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import skprivate
from skprivate import (
    BoundsScaler,
    CollaborativeClassifier,
    CollaborativeLARRegressor,
    CollaborativeRegressor,
    DPLogisticLLSRegressor,
    DPLogisticRegression,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPSEVRegressor,
    PrivacyLedger,
    PrivateGridSearch,
    PrivateNashSolver,
    QuadraticAggregativeGame,
)
from skprivate.audit._observation.fitted_objects import flatten_object
from skprivate.exceptions import BudgetExceededError
from skprivate.utils._compat import CallbackSupportMixin, ProgressBar
from tests.marks import needs_callbacks

RNG = np.random.default_rng(0)
N = 400
X = RNG.uniform(-1, 1, (N, 2))
TARGET = X[:, 0] + RNG.normal(scale=0.1, size=N)
LIFE = np.zeros(N, dtype=[("event", bool), ("time", float)])
LIFE["event"], LIFE["time"] = RNG.random(N) < 0.7, np.exp(X[:, 0]) * RNG.uniform(0.4, 1.5, N)
SITES = np.arange(N) % 5
GAME = QuadraticAggregativeGame(P=1.0, Q=0.5, r=[0.2, 0.4, 0.9], r_bounds=(0, 1))

LLS = {"bounds_X": (-1, 1), "bounds_y": (-2, 2), "random_state": 0}
AFT = {**LLS, "bounds_y": (0.01, 10)}

#: name -> (estimator, arguments of fit, parts that callbacks hear of)
CASES = {
    "censored, rounds declared": (DPLogLocationScaleRegressor(max_iter=3, **AFT), {"X": X, "y": LIFE}, 4),
    "censored, rounds by release": (DPSEVRegressor(**AFT), {"X": X, "y": LIFE}, None),
    "censored, logistic": (DPLogisticLLSRegressor(max_iter=2, **AFT), {"X": X, "y": LIFE}, 3),
    "labels": (DPLogisticRegression(bounds=(-1, 1), random_state=0), {"X": X, "y": TARGET > 0}, None),
    "moments": (DPNormalLLSRegressor(max_iter=1, **LLS), {"X": X, "y": TARGET}, 1),
    "looks": (DPNormalLLSRegressor(max_iter=3, **LLS), {"X": X, "y": TARGET}, 4),
    "platform": (CollaborativeRegressor(), {"X": X, "y": TARGET, "sites": SITES}, 5),
    "platform, preset": (CollaborativeLARRegressor(bounds=(-1, 1)), {"X": X, "y": TARGET, "sites": SITES}, 5),
    "platform, classes": (CollaborativeClassifier(), {"X": X, "y": TARGET > 0, "sites": SITES}, 5),
    "game": (PrivateNashSolver(max_iter=7), {"game": GAME}, 7),
}
pytestmark = [
    needs_callbacks,
    pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning"),
    pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore::skprivate.exceptions.DisclosureWarning"),
]


class Recorder:
    """Writes down all that a callback can be given, and asks to stop at once."""

    max_propagation_depth = None

    def __init__(self, fail_after=None):
        self.open, self.begun, self.ended, self.seen = 0, [], [], []
        self.fail_after = fail_after

    def setup(self, estimator, context):
        self.open += 1

    def teardown(self, estimator, context):
        self.open -= 1

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        self.begun.append((context.estimator_name, context.task_name))
        self.seen += [X, y, metadata, fitted_estimator]
        self.seen.append(flatten_object(dict(vars(estimator), _skl_callbacks=None, _callback_fit_ctx=None)))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        self.ended.append((context.estimator_name, context.task_name))
        self.seen += [X, y, metadata, fitted_estimator]
        if self.fail_after == len(self.ended):
            raise RuntimeError("the callback fails")
        return True


def parts(recorder):
    return [name for name in recorder.ended if name[1] != "fit"]


def test_every_estimator_with_rounds_or_sites_takes_callbacks():
    taking = {
        name
        for name in skprivate.__all__
        if isinstance(getattr(skprivate, name), type)
        and issubclass(getattr(skprivate, name), CallbackSupportMixin)
    }
    assert taking == {type(estimator).__name__ for estimator, _, _ in CASES.values()}


def test_a_failing_fit_ends_its_callbacks(tmp_path):
    """A progress bar that is not ended keeps a thread, and the process, alive."""
    ledger = PrivacyLedger(tmp_path / "small.ledger", epsilon=0.1)
    recorder = Recorder()
    model = DPNormalLLSRegressor(bounds_X=(-1, 1), bounds_y=(-2, 2), ledger=ledger)
    with pytest.raises(BudgetExceededError):
        model.set_callbacks(recorder, ProgressBar()).fit(X, TARGET)
    assert recorder.begun
    assert recorder.open == 0
    assert not [thread for thread in threading.enumerate() if "Progress" in type(thread).__name__]


@pytest.mark.parametrize("name", ["censored, rounds declared", "platform", "game"])
def test_a_failing_callback_ends_all_and_undoes_the_fit(name):
    estimator, data, _ = CASES[name]
    recorder = Recorder(fail_after=2)
    fresh = clone(estimator).set_callbacks(recorder)
    before = dict(vars(fresh))
    with pytest.raises(RuntimeError, match="the callback fails"):
        fresh.fit(**data)
    assert recorder.open == 0
    assert vars(fresh) == before


GRID = {"regularization": ["floor", "none"]}


class TestPrivateSearches:
    """The number of runs is private: nobody hears of a run."""

    def test_a_search_around_a_private_search_passes_none_on(self):
        recorder = Recorder()
        inner = PrivateGridSearch(DPNormalLLSRegressor(**LLS), GRID)
        pipeline = make_pipeline(BoundsScaler((-1, 1)), inner)
        with pytest.warns(UserWarning, match="does not support callbacks"):
            pipeline.set_callbacks(recorder).fit(X, TARGET)
        assert {name for name, _ in recorder.begun} == {"Pipeline"}


def test_a_progress_bar_alone_and_in_a_search(capsys):
    estimator, data, _ = CASES["platform"]
    clone(estimator).set_callbacks(ProgressBar()).fit(**data)
    shown = capsys.readouterr().out
    assert "CollaborativeRegressor" in shown
    assert "100%" in shown
    search = GridSearchCV(CASES["moments"][0], {"epsilon": [1.0, 2.0]}, cv=2)
    search.set_callbacks(ProgressBar(max_propagation_depth=None)).fit(X, TARGET)
    assert "DPNormalLLSRegressor" in capsys.readouterr().out
