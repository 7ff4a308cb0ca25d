# SPDX-License-Identifier: BSD-3-Clause
"""Classes that public rows tell: no private label shows in them."""

import numpy as np
import pandas as pd
import pytest

from skprivate import DPBoostingClassifier, DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.domain._labels import find_classes

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(200, 2))
PUBLIC = np.arange(200) < 100


@pytest.mark.parametrize("labels", [[0.0, 1.0], [-3.0, 2.0**40], [True, False]])
def test_whole_numbers_are_integers(labels):
    classes = find_classes(np.array(labels))
    assert classes.dtype.kind in "ib"
    assert classes.tolist() == sorted(labels)


@pytest.mark.parametrize("kind", [DPTreeClassifier, DPBoostingClassifier, LocallyPrivateTreeClassifier])
def test_a_private_label_does_not_change_their_type(kind):
    whole = pd.Series(np.arange(200) % 2)
    found = []
    for label in (1, 0.5):
        y = whole.astype(type(label))
        y.iloc[-1] = label
        found.append(kind(bounds=(0, 1)).fit(X, y, is_public=PUBLIC).classes_)
    assert found[0].dtype == found[1].dtype == np.int64
