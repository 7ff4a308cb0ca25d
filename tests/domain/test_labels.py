# SPDX-License-Identifier: BSD-3-Clause
"""One rule for labels: how classes are declared and found, and how cells are compared with them."""

import numpy as np
import pandas as pd
import pytest

from skprivate import DPTreeClassifier
from skprivate.domain._labels import (
    find_classes,
    refuse_label_types,
)


@pytest.mark.parametrize(
    "labels", [["no", 1], np.array([0, "no"], dtype=object), np.array([]).astype(object)]
)
def test_cells_have_no_public_type(labels):
    refuse_label_types(labels, [0, 1])
    refuse_label_types(labels, ["no", "yes"])


def test_found_classes_have_no_white_space():
    assert find_classes(["yes", " no", "no", b"yes "]).tolist() == ["no", "yes"]


def test_a_private_label_does_not_change_the_type_of_the_classes():
    X, whole, found = np.linspace(0, 1, 200)[:, None], pd.Series(np.arange(200) % 2), []
    for label in (1, 0.5):
        y = whole.astype(type(label))
        y.iloc[-1] = label
        found.append(DPTreeClassifier(bounds=(0, 1)).fit(X, y, is_public=np.arange(200) < 100).classes_)
    assert found[0].dtype == found[1].dtype == np.int64
