# SPDX-License-Identifier: BSD-3-Clause
"""What importing the package costs and drags in."""

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from skprivate import _requirements

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
        "import skprivate.domain; skprivate.domain.TableDomain",
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
            for name in ("audit", "base", "collaborative", "datasets", "domain", "inspection", "metrics")
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


WITHOUT_POSIX = """
import importlib, pkgutil, sys
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty", "pty", "syslog"):
    sys.modules[name] = None
import skprivate
for module in pkgutil.walk_packages(skprivate.__path__, "skprivate."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(len([getattr(skprivate, name) for name in skprivate.__all__]), len(skprivate.__all__))
X = [[0.1], [0.2], [0.8], [0.9]]
tree = skprivate.LocallyPrivateTreeClassifier(4.0, bounds=(0, 1), classes=[0, 1]).fit(X, [0, 0, 1, 1])
print(tree.privacy_spent_.claim)
"""


def test_everything_imports_without_the_modules_of_posix():
    command = [sys.executable, "-c", WITHOUT_POSIX]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert out[0] == out[1]
    assert out[2] == "dp"


def test_an_old_scikit_learn_is_refused_in_one_line(tmp_path):
    old = tmp_path / "sklearn"
    old.mkdir()
    (old / "__init__.py").write_text('"""Machine learning."""\n\n__version__ = "1.5.2"\n')
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import skprivate"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    expected = "ImportError: skprivate needs scikit-learn 1.6 or newer, and this is scikit-learn 1.5.2."
    assert out.stderr.splitlines()[-1] == expected


def test_an_old_python_is_refused_in_one_line():
    with pytest.raises(ImportError) as refused:
        _requirements.check_python((3, 10, 13))
    assert str(refused.value) == "skprivate needs Python 3.11 or newer, and this is Python 3.10.13."


def test_the_package_asks_for_the_versions_that_it_checks():
    asked = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    python, learn = _requirements.OLDEST_PYTHON, _requirements.OLDEST_SCIKIT_LEARN
    assert asked["requires-python"] == f">={python[0]}.{python[1]}"
    assert f"scikit-learn>={learn[0]}.{learn[1]}" in asked["dependencies"]
