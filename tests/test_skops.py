# SPDX-License-Identifier: BSD-3-Clause
"""skops saves and loads every fitted estimator of the suite, with the types that `trusted_types` lists."""

import importlib
import inspect
import pickle
import re

import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.callback import ProgressBar
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from skops.io.exceptions import UntrustedTypesFoundException

import skprivate
from skprivate import (
    BoundsScaler,
    BSTDAggregator,
    CollaborativeClassifier,
    CollaborativeLARRegressor,
    CollaborativeRegressor,
    DPLogisticLLSRegressor,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPSEVRegressor,
    DPTreeClassifier,
    LocallyPrivateTreeClassifier,
    MomentAccumulator,
    PrivacyLedger,
    PrivateGridSearch,
    PrivateNashSolver,
    PrivateRandomizedSearch,
    PublicPrivateSplit,
    QuadraticAggregativeGame,
    SecureSumAggregator,
    TQMATransformer,
    TreeCurator,
    privacy_report,
)
from skprivate.base import trusted_types
from skprivate.base._trusted_types import _TYPES
from skprivate.collaborative import LocalAverageRegressor
from skprivate.games import Box, Simplex
from skprivate.preprocessing import estimate_bounds

#: A private module, as a pickle names it: a file that cannot be moved any more.
PRIVATE_PATH = re.compile(rb"skprivate\.(?:\w+\.)*_[\w.]*")

RNG = np.random.default_rng(0)
N = 60
X = RNG.uniform(-1, 1, (N, 2))
LABELS = np.where(X[:, 0] > 0, "yes", "no")
TARGET = X[:, 0] + RNG.normal(scale=0.1, size=N)
LIFE = np.zeros(N, dtype=[("event", bool), ("time", float)])
LIFE["event"], LIFE["time"] = RNG.random(N) < 0.5, RNG.uniform(0.4, 3, N)
SITES = np.arange(N) % 5

TREE = {"epsilon": 1.5, "bounds": (-1, 1), "classes": ["no", "yes"], "max_depth": 2}
LLS = {"epsilon": 1.5, "bounds_X": (-1, 1), "bounds_y": (-2, 2)}
AFT = {**LLS, "bounds_y": (0.1, 5), "max_iter": 3}
TREES = {"max_depth": [1, 2]}
KERNELS = ("gaussian", "laplace", "epanechnikov", "partition", "knn")
PLATFORM = {"X": X, "y": TARGET, "sites": SITES}


def game(constraint_set=None):
    return {"game": QuadraticAggregativeGame(1.0, 0.5, [0.2, 0.4, 0.9], constraint_set, r_bounds=(0, 1))}


RING = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])

#: (estimator, arguments of fit or None, classes to trust besides its own)
CASES = [
    *(
        (LocallyPrivateTreeClassifier(mechanism=name, **TREE), None, ())
        for name in ("hadamard", "krr", "subset", "unary", "laplace", "signed-laplace")
    ),
    (LocallyPrivateTreeClassifier(protect="label", **TREE), None, ()),
    (DPTreeClassifier(**TREE), None, ()),
    (DPSEVRegressor(**LLS), None, ()),
    (DPLogisticLLSRegressor(mechanism="gaussian", delta=1e-6, **LLS), None, ()),
    (DPNormalLLSRegressor(**LLS), None, ()),
    *(
        (DPLogLocationScaleRegressor(distribution=name, **AFT), {"X": X, "y": LIFE}, ())
        for name in ("weibull", "loglogistic", "lognormal")
    ),
    (TQMATransformer(bounds=(-1, 1)), None, ()),
    (BoundsScaler(bounds=(-1, 1)), None, ()),
    (BoundsScaler(bounds=estimate_bounds(np.repeat(X, 100, axis=0), 1.5)), None, ()),
    (BSTDAggregator(), None, ()),
    (SecureSumAggregator(), None, ()),
    *((LocalAverageRegressor(name, bounds=(-1, 1)), None, ()) for name in KERNELS),
    (CollaborativeRegressor(), PLATFORM, ()),
    (
        CollaborativeRegressor(Ridge(), TQMATransformer(bounds=(-1, 1)), SecureSumAggregator()),
        PLATFORM,
        (),
    ),
    (CollaborativeLARRegressor(bounds=(-1, 1)), PLATFORM, ()),
    (CollaborativeClassifier(), {**PLATFORM, "y": LABELS}, ()),
    (CollaborativeClassifier(LogisticRegression()), {**PLATFORM, "y": LABELS}, ()),
    (PrivateGridSearch(DPTreeClassifier(**TREE), TREES), None, (DPTreeClassifier,)),
    (PrivateRandomizedSearch(DPTreeClassifier(**TREE), TREES, 2), None, ("DPTreeClassifier",)),
    (PrivateNashSolver(max_iter=3), game(), ()),
    (PrivateNashSolver(weights=RING, max_iter=3), game(Box(0, 1)), ()),
    (PrivateNashSolver(max_iter=3), game(Simplex(1.0)), ()),
    (make_pipeline(BoundsScaler((-1, 1)), DPNormalLLSRegressor(**LLS)), None, (BoundsScaler,)),
]
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::skprivate.exceptions.{name}Warning")
    for name in ("Utility", "Disclosure", "PrivacyLeak")
]


def trusted_for(estimator, others):
    own = estimator[-1] if hasattr(estimator, "steps") else estimator
    return trusted_types(type(own), *others)


def fit(estimator, data):
    y = LABELS if is_classifier(estimator) else TARGET
    return clone(estimator).fit(**(data or {"X": X, "y": y}))


def answers(fitted):
    """What a fitted estimator says of rows, where it says the same each time."""
    if isinstance(fitted, PrivateNashSolver):
        names = ("strategies_", "estimates_", "residual_")
        return [getattr(fitted, name) for name in names]
    names = [name for name in ("predict", "predict_proba", "score_samples") if hasattr(fitted, name)]
    return [getattr(fitted, name)(X) for name in names or ["transform"]]


@pytest.mark.parametrize(("estimator", "data", "others"), CASES)
def test_round_trip(estimator, data, others, tmp_path):
    fitted = fit(estimator, data)
    skops.io.dump(fitted, tmp_path / "model.skops")
    loaded = skops.io.load(tmp_path / "model.skops", trusted=trusted_for(estimator, others))
    assert type(loaded) is type(fitted)
    for before, after in zip(answers(fitted), answers(loaded), strict=True):
        np.testing.assert_array_equal(before, after)
    for statement in ("privacy_spent_", "disclosure_risk_"):
        assert hasattr(loaded, statement) == hasattr(fitted, statement)
        assert getattr(loaded, statement, None) == getattr(fitted, statement, None)
        assert str(getattr(loaded, statement, None)) == str(getattr(fitted, statement, None))
    assert skops.io.dumps(loaded)


@pytest.mark.parametrize(("estimator", "data", "others"), CASES)
def test_a_pickle_names_no_private_module(estimator, data, others):
    assert PRIVATE_PATH.findall(pickle.dumps(fit(estimator, data))) == []


def test_nor_do_pickles_of_what_is_no_estimator(tmp_path):
    moments = MomentAccumulator(max_rows=N, bounds_X=(-1, 1), bounds_y=(0.1, 5))
    moments.update(X, LIFE["time"])
    tree = DPTreeClassifier(**TREE).fit(X, LABELS)
    curator = TreeCurator(LocallyPrivateTreeClassifier(**TREE), n_clients=100, features=["a", "b"])
    others = [
        moments,
        curator,
        game()["game"],
        game(Box(0, 1))["game"],
        PublicPrivateSplit(3),
        privacy_report(tree),
    ]
    for thing in (*others, PrivacyLedger(tmp_path / "fits.ledger")):
        assert PRIVATE_PATH.findall(pickle.dumps(thing)) == []


def test_a_loaded_model_states_what_it_did_and_can_be_fitted_again():
    fitted = fit(DPLogLocationScaleRegressor(**AFT), {"X": X, "y": LIFE})
    loaded = skops.io.loads(skops.io.dumps(fitted), trusted=trusted_types())
    np.testing.assert_array_equal(fitted.coef_interval_, loaded.coef_interval_)
    assert loaded.privacy_spent_.to_dict() == fitted.privacy_spent_.to_dict()
    assert loaded.fit(X, LIFE).privacy_spent_.private


def test_the_list_holds_every_estimator_and_nothing_that_is_not_needed():
    classes = {
        name
        for name in skprivate.__all__
        if inspect.isclass(getattr(skprivate, name)) and issubclass(getattr(skprivate, name), BaseEstimator)
    }
    assert set(_TYPES) == classes
    needed = set()
    for estimator, data, _ in CASES:
        needed |= set(skops.io.get_untrusted_types(data=skops.io.dumps(fit(estimator, data))))
    assert set(trusted_types()) == needed


def test_every_listed_type_exists():
    for name in trusted_types():
        module, _, cls = name.rpartition(".")
        assert inspect.isclass(getattr(importlib.import_module(module), cls))


def test_what_is_not_of_the_suite_is_refused(tmp_path):
    ledger = PrivacyLedger(tmp_path / "fits.ledger")
    with_ledger = DPTreeClassifier(ledger=ledger, **TREE).fit(X, LABELS)
    with_callback = DPSEVRegressor(**LLS).set_callbacks(ProgressBar()).fit(X, TARGET)
    for fitted, found in ((with_ledger, "PrivacyLedger"), (with_callback, "ProgressBar")):
        with pytest.raises(UntrustedTypesFoundException, match=found):
            skops.io.loads(skops.io.dumps(fitted), trusted=trusted_types())
    saved = skops.io.dumps(with_ledger.set_params(ledger=None))
    assert skops.io.loads(saved, trusted=trusted_types("DPTreeClassifier")).ledger is None


def test_names_and_classes():
    assert trusted_types(DPTreeClassifier) == trusted_types("DPTreeClassifier")
    assert set(trusted_types("DPTreeClassifier")) < set(trusted_types())
    for other in (LogisticRegression, "Tree", DPTreeClassifier()):
        with pytest.raises(ValueError, match="is no estimator of the suite"):
            trusted_types(other)
