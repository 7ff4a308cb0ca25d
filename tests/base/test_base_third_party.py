# SPDX-License-Identifier: BSD-3-Clause
"""An estimator that is written outside of the package, with public names only, does all that ours do."""

import ast
import importlib
import pickle
from pathlib import Path

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.base import clone

import skprivate.base
from skprivate import PrivacyLedger, config_context, privacy_report
from skprivate.audit import check_private_estimator
from skprivate.base import PrivateEstimatorMixin
from skprivate.exceptions import BudgetExceededError, PrivacyLeakError, PrivacyLeakWarning
from skprivate.preprocessing import estimate_bounds

# The page doc/extending.rst shows it.
SOURCE = Path(__file__).parents[2] / "doc" / "extending" / "halves.py"
TREE = ast.parse(SOURCE.read_text(encoding="utf-8"))

X = np.random.default_rng(0).uniform(size=(400, 2))
Y = np.where(X[:, 0] > 0.5, "high", "low")
PUBLIC = {"bounds": (0, 1), "classes": ["low", "high"]}


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    """The class, imported from a folder that is neither the package's nor the documentation's."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "halves.py").write_text(SOURCE.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module("halves").DPHalvesClassifier


def test_it_imports_public_names_only():
    for node in ast.walk(TREE):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("skprivate"):
            public = importlib.import_module(node.module).__all__
            assert not [part for part in node.module.split(".") if part.startswith("_")]
            assert {alias.name for alias in node.names} <= set(public)
        elif isinstance(node, ast.Import):
            assert not [alias.name for alias in node.names if alias.name.startswith("skprivate")]


def test_it_neither_defines_nor_uses_a_private_name():
    names = [node.name for node in ast.walk(TREE) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    names += [node.id for node in ast.walk(TREE) if isinstance(node, ast.Name)]
    names += [node.attr for node in ast.walk(TREE) if isinstance(node, ast.Attribute)]
    private = {name for name in names if name.startswith("_") and not name.endswith("__")}
    assert private == {"_parameter_constraints"}, "but for that of scikit-learn"


def test_every_hook_of_the_mixin_is_public_and_described():
    hooks = [name for name in vars(PrivateEstimatorMixin) if not name.startswith("_")]
    assert {"announce_leaks", "charge", "check_public", "planned_cost", "post_processed"} <= set(hooks)
    for name in hooks:
        member = getattr(PrivateEstimatorMixin, name)
        assert not callable(member) or "\n" in member.__doc__, name


def test_the_ledger_is_charged_before_the_noise(halves, tmp_path):
    ledger = PrivacyLedger(tmp_path / "study.ledger", epsilon=1.5)
    fitted = halves(ledger=ledger, **PUBLIC).fit(X, Y)
    counts = fitted.counts_
    assert ledger.spent()[0] == 1
    with pytest.raises(BudgetExceededError):
        fitted.fit(X, Y)
    assert (ledger.spent()[0], fitted.counts_ is counts) == (1, True)
    assert [entry.estimator for entry in ledger.entries()] == ["DPHalvesClassifier"]


def test_clones_and_copies(halves):
    fitted = halves(**PUBLIC).fit(X, Y)
    assert not hasattr(clone(fitted), "counts_")
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict_proba(X), fitted.predict_proba(X))
    assert type(copy).__module__ == "halves", "a subclass keeps its own module"


@pytest.mark.usefixtures("short_searches")
@pytest.mark.slow
def test_it_passes_the_battery(halves):
    # Workers of other tests do not know the folder of this module.
    get_reusable_executor().shutdown(wait=True)
    results = check_private_estimator(halves(epsilon=1.5, **PUBLIC), on_fail=None)
    assert {one["check_name"]: one["reason"] for one in results if one["status"] == "failed"} == {}


@pytest.mark.parametrize("public", [{}, {"bounds": (0, 1)}], ids=["nothing", "bounds"])
def test_what_is_not_declared_is_a_leak(halves, public):
    with pytest.warns(PrivacyLeakWarning, match="classes were read") as caught:
        report = privacy_report(halves(**public).fit(X, Y))
    assert (len(caught), caught[0].filename, report.claim) == (1, __file__, "not-private")
    estimator = halves(**public)
    with (
        config_context(strict=True),
        pytest.raises(PrivacyLeakError, match=r"DPHalvesClassifier is not private: the \w+ were read"),
    ):
        estimator.fit(X, Y)
    assert not hasattr(estimator, "counts_")


def test_strict_mode_takes_any_row_and_no_seed(halves):
    with config_context(strict=True):
        fitted = halves(**PUBLIC).fit([*X.tolist(), [np.nan, "?"]], np.array([*Y, None], dtype=object))
        assert privacy_report(fitted).claim == "dp"
        with pytest.raises(PrivacyLeakError, match="seeded"):
            halves(**PUBLIC, random_state=0).fit(X, Y)
    estimated = halves(**PUBLIC | {"bounds": estimate_bounds(X, 4.0, random_state=0)}).fit(X, Y)
    assert "estimated without privacy" in estimated.privacy_spent_.reasons[0]


def test_the_interface_is_documented():
    page = (SOURCE.parents[1] / "extending.rst").read_text(encoding="utf-8")
    pages = (SOURCE.parents[1] / "api").glob("*.rst")
    reference = "".join(path.read_text(encoding="utf-8") for path in pages)
    hooks = {name for name in vars(PrivateEstimatorMixin) if not name.startswith("_")}
    assert {name for name in hooks if f"``{name}" not in page} == set()
    named = {f"base.{name}" for name in skprivate.base.__all__}
    assert {name for name in named if name not in reference and name != "base.SHARED_CONSTRAINTS"} <= {
        "base.privacy_report"
    }
