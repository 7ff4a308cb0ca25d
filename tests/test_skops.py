# SPDX-License-Identifier: BSD-3-Clause
"""skops saves and loads every fitted estimator of the suite, with the types that `trusted_types` lists."""

import importlib
import inspect
import pickle
import re

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from skops.io.exceptions import UntrustedTypesFoundException

from skprivate import (
    BoundsScaler,
    DPBoostingClassifier,
    DPLogLocationScaleRegressor,
    DPTreeClassifier,
    DPTreeRegressor,
    LabelPrivateClassifier,
    LabelPrivateRegressor,
    LocallyPrivateTreeClassifier,
    MomentAccumulator,
    PrivacyLedger,
    PrivateGridSearch,
    PrivateNashSolver,
    PrivateRandomizedSearch,
    PublicPrivateSplit,
    TableDomain,
    TreeCurator,
    privacy_report,
)
from skprivate.audit._cases import columns_of, make_rows
from skprivate.base import trusted_types
from skprivate.base._pipeline_report import last_step
from skprivate.base._trusted_types import _TYPES
from skprivate.collection import SplitCurator
from skprivate.datasets import make_location_scale
from skprivate.utils._compat import ProgressBar
from skprivate.utils._public_module import reason_against
from tests.catalogue import INSTANCES, arguments, public_estimators
from tests.marks import needs_callbacks

#: A private module, as a pickle names it: a file that cannot be moved any more.
PRIVATE_PATH = re.compile(rb"skprivate\.(?:\w+\.)*_[\w.]*")

#: Class -> classes to trust besides its own.
OTHERS = {
    PrivateGridSearch: (DPTreeClassifier,),
    PrivateRandomizedSearch: ("LocallyPrivateTreeClassifier",),
    Pipeline: (BoundsScaler,),
}
#: Of scikit-learn: its nodes are read without a check of their bounds, so that files are the user's to trust.
NODES_OF_TREES = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
CENTRAL, LIFE = INSTANCES["central"], INSTANCES["aft, censored"]
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::skprivate.exceptions.{name}Warning")
    for name in ("Utility", "Disclosure", "PrivacyLeak")
]


def trusted_for(estimator):
    own = estimator[-1] if hasattr(estimator, "steps") else estimator
    inner = [NODES_OF_TREES] if isinstance(own, LabelPrivateClassifier | LabelPrivateRegressor) else []
    return trusted_types(type(own), *OTHERS.get(type(estimator), ())) + inner


def fit(instance):
    return clone(instance.estimator).fit(**arguments(instance, 60))


def tree_around_a_model():
    X = np.random.default_rng(5).uniform(-1, 1, (200, 2))
    tree = DPTreeRegressor(8.0, public_model=LinearRegression(), bounds_X=(-1, 1), bounds_y=(-1, 1))
    return tree.fit(X, X[:, 0], is_public=np.arange(200) < 100)


def tree_around_a_model_of_levels():
    """A tree whose public model gets the declared columns by name."""
    levels = np.repeat([["clerk"], ["smith"]], 150, axis=0)
    tree = DPTreeRegressor(
        8.0,
        public_model=make_pipeline(OneHotEncoder(), Ridge()),
        domain=TableDomain({"job": ["clerk", "smith"]}),
        bounds_y=(-1, 1),
    )
    return tree.fit(levels, np.repeat([-0.5, 0.5], 150), is_public=np.arange(300) % 2 == 0)


def lives_with_residuals():
    """A fit whose residuals were worth counting, as they are not on the few rows of the catalogue."""
    X, y = make_location_scale(5000, 2, censoring=0.3, random_state=0)
    model = DPLogLocationScaleRegressor(20.0, bounds_X=(-1, 1), bounds_y=(0.01, 20), random_state=1).fit(X, y)
    assert model.release_.correction is not None
    return model


def tree_of_levels():
    """A tree that reports about declared levels have shaped."""
    domain = TableDomain({"job": ["clerk", "smith", "farmer"]})
    tree = LocallyPrivateTreeClassifier(4.0, domain=domain, classes=[0, 1], split_share=0.6)
    return tree.fit([["clerk"], ["smith"], ["farmer"]] * 40, [0, 1, 1] * 40)


def test_a_tree_of_levels_goes_round():
    fitted = tree_of_levels()
    loaded = skops.io.loads(skops.io.dumps(fitted), trusted=trusted_types(type(fitted)))
    rows = [["clerk"], ["smith"], ["farmer"]]
    np.testing.assert_array_equal(loaded.predict_proba(rows), fitted.predict_proba(rows))
    assert PRIVATE_PATH.findall(pickle.dumps(fitted)) == []


def answers(fitted):
    """What a fitted estimator says of rows, where it says the same each time."""
    if isinstance(fitted, PrivateNashSolver):
        names = ("strategies_", "estimates_", "residual_")
        return [getattr(fitted, name) for name in names]
    names = [name for name in ("predict", "predict_proba", "score_samples") if hasattr(fitted, name)]
    X = arguments(CENTRAL)["X"] if columns_of(fitted) is None else make_rows(fitted)["X"]
    return [getattr(fitted, name)(X) for name in names or ["transform"]]


@pytest.mark.parametrize("name", INSTANCES)
def test_round_trip(name, tmp_path):
    fitted = fit(INSTANCES[name])
    skops.io.dump(fitted, tmp_path / "model.skops")
    loaded = skops.io.load(tmp_path / "model.skops", trusted=trusted_for(fitted))
    assert type(loaded) is type(fitted)
    # A report takes both at their word.
    assert [reason_against(one, "PrivateEstimatorMixin") for one in map(last_step, (fitted, loaded))] == [
        None
    ] * 2
    for before, after in zip(answers(fitted), answers(loaded), strict=True):
        np.testing.assert_array_equal(before, after)
    for statement in ("privacy_spent_", "disclosure_risk_"):
        assert hasattr(loaded, statement) == hasattr(fitted, statement)
        assert getattr(loaded, statement, None) == getattr(fitted, statement, None)
        assert str(getattr(loaded, statement, None)) == str(getattr(fitted, statement, None))
    assert skops.io.dumps(loaded)


@pytest.mark.parametrize("name", INSTANCES)
def test_a_pickle_names_no_private_module(name):
    assert PRIVATE_PATH.findall(pickle.dumps(fit(INSTANCES[name]))) == []


def test_nor_do_pickles_of_what_is_no_estimator(tmp_path):
    moments = MomentAccumulator(max_rows=60, bounds_X=(-1, 1), bounds_y=(0.1, 5))
    rows = arguments(INSTANCES["aft"])
    moments.update(rows["X"], rows["y"])
    curator = TreeCurator(INSTANCES["tree, krr"].estimator, n_clients=100, features=["a", "b"])
    others = [
        moments,
        curator,
        SplitCurator(INSTANCES["tree, krr"].estimator, n_clients=100, features=["a", "b"]),
        *(arguments(INSTANCES[name])["game"] for name in ("players", "players in a box")),
        PublicPrivateSplit(3),
        privacy_report(fit(CENTRAL)),
    ]
    for thing in (*others, PrivacyLedger(tmp_path / "fits.ledger")):
        assert PRIVATE_PATH.findall(pickle.dumps(thing)) == []


def test_a_loaded_model_states_what_it_did_and_can_be_fitted_again():
    fitted = fit(LIFE)
    loaded = skops.io.loads(skops.io.dumps(fitted), trusted=trusted_types())
    np.testing.assert_array_equal(fitted.coef_interval_, loaded.coef_interval_)
    assert loaded.privacy_spent_.to_dict() == fitted.privacy_spent_.to_dict()
    assert loaded.fit(**arguments(LIFE)).privacy_spent_.private


def test_the_list_holds_every_estimator_and_nothing_that_is_not_needed():
    # The solver with a mediator is exported from `skprivate.games` alone.
    assert set(_TYPES) == {one.__name__ for one in public_estimators()} | {"MediatedNashSolver"}
    needed = set()
    for instance in INSTANCES.values():
        needed |= set(skops.io.get_untrusted_types(data=skops.io.dumps(fit(instance))))
    of_levels = tree_around_a_model_of_levels()
    assert PRIVATE_PATH.findall(pickle.dumps(of_levels)) == []
    alone = clone(LIFE.estimator).set_params(bounds_X=None)
    population = alone.fit(None, arguments(LIFE)["y"])
    # Whether others have random cells depends on their noise.
    X = np.random.default_rng(0).uniform(size=(400, 3))
    cells = DPBoostingClassifier(8.0, bounds=(0, 1), classes=[0, 1], interactions=1).fit(X, X[:, 0] > X[:, 1])
    models = (tree_of_levels(), tree_around_a_model(), of_levels, lives_with_residuals(), population, cells)
    for model in models:
        needed |= set(skops.io.get_untrusted_types(data=skops.io.dumps(model)))
    assert set(trusted_types()) == needed - {NODES_OF_TREES} | {"skprivate.games.MediatedNashSolver"}


def test_every_listed_type_exists():
    for name in trusted_types():
        module, _, cls = name.rpartition(".")
        assert inspect.isclass(getattr(importlib.import_module(module), cls))


def test_what_is_not_of_the_suite_is_refused(tmp_path):
    ledger = PrivacyLedger(tmp_path / "fits.ledger")
    with_ledger = clone(CENTRAL.estimator).set_params(ledger=ledger).fit(**arguments(CENTRAL))
    with pytest.raises(UntrustedTypesFoundException, match="PrivacyLedger"):
        skops.io.loads(skops.io.dumps(with_ledger), trusted=trusted_types())
    saved = skops.io.dumps(with_ledger.set_params(ledger=None))
    assert skops.io.loads(saved, trusted=trusted_types("DPTreeClassifier")).ledger is None


@needs_callbacks
def test_callbacks_are_refused():
    sev = INSTANCES["sev"]
    with_callback = clone(sev.estimator).set_callbacks(ProgressBar()).fit(**arguments(sev))
    with pytest.raises(UntrustedTypesFoundException, match="ProgressBar"):
        skops.io.loads(skops.io.dumps(with_callback), trusted=trusted_types())


def test_names_and_classes():
    assert trusted_types(DPTreeClassifier) == trusted_types("DPTreeClassifier")
    assert set(trusted_types("DPTreeClassifier")) < set(trusted_types())
    for other in (LogisticRegression, "Tree", DPTreeClassifier()):
        with pytest.raises(ValueError, match="is no estimator of the suite"):
            trusted_types(other)
