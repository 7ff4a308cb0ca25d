# SPDX-License-Identifier: BSD-3-Clause
"""What every public class keeps to: its module, its first parameter, its name in errors."""

import importlib
import inspect
import pickle
import pkgutil

import cloudpickle
import numpy as np
import pytest
from sklearn.base import BaseEstimator, MetaEstimatorMixin

import skprivate
from skprivate import (
    BoundsScaler,
    CollaborativeClassifier,
    CollaborativeRegressor,
    DPTreeClassifier,
    PrivateNashSolver,
    QuadraticAggregativeGame,
)
from skprivate.preprocessing import estimate_bounds

MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(skprivate.__path__, "skprivate.")
    if not module.name.endswith(("__main__", "_kernels", "_cyutility"))
]
PUBLIC = {
    getattr(module, name): module.__name__
    for module in (skprivate, *MODULES)
    if "._" not in module.__name__ and module.__name__ != "skprivate.utils"
    for name in getattr(module, "__all__", ())
    if inspect.isclass(getattr(module, name))
}
ESTIMATORS = [cls for cls in PUBLIC if issubclass(cls, BaseEstimator) and not inspect.isabstract(cls)]
#: Classes written in the package, by the modules that hold them.
CLASSES = {
    value
    for module in MODULES
    for value in vars(module).values()
    if inspect.isclass(value) and value.__module__.startswith("skprivate.")
}

X = np.random.default_rng(0).uniform(size=(40, 2))
Y = (X[:, 0] > 0.5).astype(int)
#: What cannot be left out; most of the rest has defaults.
NEEDED = {
    "estimator": DPTreeClassifier(bounds=(0, 1), classes=[0, 1]),
    "param_grid": {"max_depth": [1]},
    "param_distributions": {"max_depth": [1]},
}
#: Parameters whose check has words of its own: parts that are estimators, weights of a game, any bounds.
WITHOUT_A_NAME = {
    BoundsScaler: {"bounds"},
    CollaborativeClassifier: {"aggregator", "estimator", "query_perturber"},
    CollaborativeRegressor: {"aggregator", "estimator", "query_perturber"},
    PrivateNashSolver: {"weights"},
}


def made(cls):
    required = [name for name, one in inspect.signature(cls).parameters.items() if one.default is one.empty]
    return cls(**{name: NEEDED[name] for name in required})


def test_a_public_class_reports_a_public_module():
    assert {skprivate.DPTreeClassifier, skprivate.PrivateNashSolver} <= set(ESTIMATORS)
    for cls in PUBLIC:
        module = importlib.import_module(cls.__module__)
        assert "._" not in cls.__module__
        assert cls.__name__ in module.__all__
        assert getattr(module, cls.__name__) is cls
        assert inspect.getmodule(cls) is module
        assert pickle.loads(pickle.dumps(cls)) is cloudpickle.loads(cloudpickle.dumps(cls)) is cls


def test_every_class_is_found_where_it_says():
    for cls in CLASSES:
        assert getattr(importlib.import_module(cls.__module__), cls.__qualname__) is cls


def test_code_keeps_the_file_that_it_is_written_in():
    assert inspect.getsourcefile(inspect.unwrap(DPTreeClassifier.fit)).endswith("tree/_estimator.py")
    assert DPTreeClassifier.fit.__module__ == "skprivate.tree._estimator"


def test_epsilon_is_the_first_parameter():
    for cls in ESTIMATORS:
        first, *names = inspect.signature(cls).parameters or [None]
        if issubclass(cls, MetaEstimatorMixin) or "estimator" in names:
            assert first == "estimator"
        assert "epsilon" not in names or first == "estimator"
    assert list(inspect.signature(estimate_bounds).parameters)[:2] == ["X", "epsilon"]


def arguments(cls):
    """Return what `fit` is given."""
    if cls is PrivateNashSolver:
        return {"game": QuadraticAggregativeGame(1.0, 0.5, [0.2, 0.4], r_bounds=(0, 1))}
    sites = {"sites": np.arange(40) % 4} if cls.__name__.startswith("Coll") else {}
    return {"X": X, "y": Y, **sites}


@pytest.mark.filterwarnings("ignore::UserWarning")
# The one that is left out checks nothing: its fit does nothing.
@pytest.mark.parametrize("cls", sorted({*ESTIMATORS} - {skprivate.base.PublicEstimator}, key=str))
def test_a_wrong_parameter_is_told_with_the_class_that_was_called(cls):
    with pytest.raises(TypeError, match=rf"^{cls.__name__}\.__init__\(\) got an unexpected keyword"):
        cls(no_parameter=1)
    for name in set(inspect.signature(cls).parameters) - WITHOUT_A_NAME.get(cls, set()):
        message = f"^The '{name}' parameter of {cls.__name__} must be"
        with pytest.raises((TypeError, ValueError), match=message):
            made(cls).set_params(**{name: object()}).fit(**arguments(cls))


def test_no_list_of_homes_is_stale():
    for module in MODULES:
        for name in dir(module):
            assert getattr(module, name, None) is not None or name.startswith("__"), (module.__name__, name)
