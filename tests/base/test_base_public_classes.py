# SPDX-License-Identifier: BSD-3-Clause
"""What every public class keeps to: its module, its first parameter, its name in errors."""

import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import cloudpickle
import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, MetaEstimatorMixin

import skprivate
from skprivate import (
    BoundsScaler,
    CollaborativeClassifier,
    CollaborativeRegressor,
    DPTreeClassifier,
    PrivateGridSearch,
    PrivateNashSolver,
    PrivateRandomizedSearch,
    QuadraticAggregativeGame,
)
from skprivate.preprocessing import estimate_bounds
from skprivate.utils._public_module import reason_against

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


@pytest.mark.parametrize("cls", sorted(PUBLIC, key=str), ids=lambda cls: cls.__name__)
def test_a_public_class_reports_a_public_module(cls):
    assert "._" not in cls.__module__
    module = importlib.import_module(cls.__module__)
    assert cls.__name__ in module.__all__
    assert getattr(module, cls.__name__) is cls
    assert pickle.loads(pickle.dumps(cls)) is cls
    assert cloudpickle.loads(cloudpickle.dumps(cls)) is cls
    assert inspect.getmodule(cls) is module


@pytest.mark.parametrize("cls", sorted(CLASSES, key=str), ids=lambda cls: cls.__name__)
def test_every_class_is_found_where_it_says(cls):
    assert getattr(importlib.import_module(cls.__module__), cls.__qualname__) is cls


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_a_report_takes_every_estimator_at_its_word(cls):
    assert reason_against(object.__new__(cls), "PrivateEstimatorMixin") is None
    assert "undeclared" in reason_against(object.__new__(type("Sub", (cls,), {})), "PrivateEstimatorMixin")


def test_code_keeps_the_file_that_it_is_written_in():
    assert inspect.getsourcefile(inspect.unwrap(DPTreeClassifier.fit)).endswith("tree/_estimator.py")
    assert DPTreeClassifier.fit.__module__ == "skprivate.tree._estimator"


@pytest.mark.slow
def test_a_private_module_alone_is_enough():
    module = "skprivate.tree._classifier"
    code = f"from {module} import DPTreeClassifier as T; import pickle; print(pickle.dumps(T))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "skprivate.tree" in shown
    assert "_central" not in shown


class Subclass(DPTreeClassifier):
    pass


def test_a_subclass_of_a_user_keeps_its_module():
    assert Subclass.__module__ == __name__
    fitted = Subclass(bounds=(0, 1), classes=[0, 1], max_depth=1).fit(X, Y)
    (copy,) = joblib.Parallel(n_jobs=1)([joblib.delayed(pickle.loads)(pickle.dumps(fitted))])
    assert type(copy) is Subclass


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_epsilon_is_the_first_parameter(cls):
    names = list(inspect.signature(cls).parameters)
    if issubclass(cls, MetaEstimatorMixin) or "estimator" in names:
        assert names[0] == "estimator"
    elif "epsilon" in names:
        assert names[0] == "epsilon"


def test_functions_take_rows_and_then_epsilon():
    assert list(inspect.signature(estimate_bounds).parameters)[:2] == ["X", "epsilon"]


def test_the_walk_saw_the_private_estimators():
    private = [cls for cls in ESTIMATORS if "epsilon" in inspect.signature(cls).parameters]
    assert {cls.__name__ for cls in private} >= {
        *(
            "DPTreeClassifier",
            "LocallyPrivateTreeClassifier",
            "DPLogLocationScaleRegressor",
            "DPSEVRegressor",
        ),
        *("DPLogisticLLSRegressor", "DPNormalLLSRegressor"),
    }


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_a_wrong_parameter_is_told_with_the_class_that_was_called(cls):
    if cls is skprivate.base.PublicEstimator:
        pytest.skip("it checks nothing: fit does nothing")
    told = set()
    for name in inspect.signature(cls).parameters:
        if name in WITHOUT_A_NAME.get(cls, ()):
            continue
        estimator = made(cls).set_params(**{name: object()})
        data = (
            {"X": X, "y": Y, "sites": np.arange(40) % 4}
            if cls.__name__.startswith("Coll")
            else {"X": X, "y": Y}
        )
        if cls is PrivateNashSolver:
            data = {"game": QuadraticAggregativeGame(1.0, 0.5, [0.2, 0.4], r_bounds=(0, 1))}
        with pytest.raises(
            (TypeError, ValueError), match=f"^The '{name}' parameter of {cls.__name__} must be"
        ):
            estimator.fit(**data)
        told.add(name)
    assert told or WITHOUT_A_NAME.get(cls)


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_an_unknown_parameter_is_told_with_the_class_that_was_called(cls):
    with pytest.raises(TypeError, match=rf"^{cls.__name__}\.__init__\(\) got an unexpected keyword"):
        cls(no_parameter=1)


@pytest.mark.parametrize("search", [PrivateGridSearch, PrivateRandomizedSearch])
def test_a_search_names_itself_and_the_class_of_a_candidate(search):
    tree = NEEDED["estimator"]
    with pytest.raises(TypeError, match=rf"{search.__name__}.*weights"):
        search(tree, {"max_depth": [1]}).fit(X, Y, weights=Y)
    with pytest.raises(ValueError, match="The 'max_depth' parameter of DPTreeClassifier must be"):
        search(tree, {"max_depth": [-1]}).fit(X, Y)
    with pytest.raises(ValueError, match="The 'coverage' parameter of estimate_bounds must be"):
        estimate_bounds(X, 1.0, coverage=2.0)


def test_no_list_of_homes_is_stale():
    for module in MODULES:
        for name in dir(module):
            assert getattr(module, name, None) is not None or name.startswith("__"), (module.__name__, name)
        assert Path(module.__file__).exists()
