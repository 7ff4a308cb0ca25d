# SPDX-License-Identifier: BSD-3-Clause
"""What importing the package costs and drags in."""

import importlib
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process


def loaded_by(statement):
    code = f"import sys; {statement}; print(' '.join(sorted({{m.split('.')[0] for m in sys.modules}})))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(out.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import skprivate",
        "import skprivate.tree",
        "import skprivate.collection",
        "import skprivate.partition",
        "import skprivate.randomizers",
        "import skprivate.noise",
        "import skprivate.collaborative",
        "import skprivate.metrics",
        "import skprivate.audit",
        "import skprivate.datasets",
        "import skprivate.preprocessing",
        "import skprivate.model_selection",
        "import skprivate.inspection",
        "import skprivate.accounting",
    ],
)
def test_client_side_needs_numpy_only(statement):
    assert not loaded_by(statement) & {"sklearn", "scipy", "joblib", "pandas", "matplotlib", "cryptography"}


def test_no_optional_package_is_imported():
    statement = "from skprivate import *; from skprivate.audit import *; from skprivate.datasets import *"
    optional = {"matplotlib", "rich", "pooch", "cryptography", "dp_accounting", "dask"}
    # scikit-learn's own optional imports are not ours to judge.
    theirs = loaded_by("import sklearn.compose, sklearn.datasets, sklearn.model_selection, sklearn.pipeline")
    assert not (loaded_by(statement) - theirs) & optional


@pytest.mark.parametrize(
    "room",
    [
        "skprivate",
        *(
            f"skprivate.{name}"
            for name in ("audit", "base", "collaborative", "datasets", "inspection", "metrics")
        ),
        *(f"skprivate.{name}" for name in ("metrics", "model_selection", "preprocessing")),
    ],
)
def test_public_names_resolve_and_are_listed(room):
    module = importlib.import_module(room)
    # Constants first, as ruff sorts them.
    assert module.__all__ == sorted(module.__all__, key=lambda name: (not name.isupper(), name))
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        module.Nothing  # noqa: B018
