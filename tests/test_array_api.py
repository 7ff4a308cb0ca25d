# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of other libraries become NumPy's, with scikit-learn's ``array_api_dispatch`` too."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.catalogue import INSTANCES, ONE_OF_EACH

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not find_spec("array_api_strict"), reason="array-api-strict is not installed"),
    pytest.mark.skipif(
        not find_spec("sklearn.externals.array_api_compat") and not find_spec("array_api_compat"),
        reason="this scikit-learn needs array-api-compat, which is not installed",
    ),
]

#: Estimators that are fitted on rows.
TABLES = [name for name in ONE_OF_EACH if INSTANCES[name].target != "game"]
SCRIPT = """
import warnings
import array_api_strict as xp
import numpy as np
import sklearn
from sklearn.base import clone
from tests.test_array_api import TABLES
from tests.catalogue import INSTANCES, arguments

warnings.simplefilter("ignore")

def as_strict(value):
    numbers = isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.dtype.names is None
    return xp.asarray(value) if numbers else value

def answer(fitted, X):
    return fitted.predict(X) if hasattr(fitted, "predict") else fitted.transform(X)

for name in TABLES:
    estimator, data = INSTANCES[name].estimator, arguments(INSTANCES[name], 60)
    seeds = [key for key in estimator.get_params() if key.split("__")[-1] == "random_state"]
    estimator = clone(estimator).set_params(**dict.fromkeys(seeds, 0))
    expected = answer(clone(estimator).fit(**data), data["X"])
    with sklearn.config_context(array_api_dispatch=True):
        strict = {key: as_strict(value) for key, value in data.items()}
        found = answer(clone(estimator).fit(**strict), strict["X"])
    assert type(found) is np.ndarray, name
    np.testing.assert_array_equal(found, expected, err_msg=name)
    print(name)
"""


def test_every_estimator_answers_as_from_numpy():
    # SciPy reads the variable when it is imported.
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SCRIPT]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    assert set(out.stdout.split("\n")) == {*TABLES, ""}
