# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a shape function: steps, bands and marks are its values and their noise."""

import numpy as np
import pandas as pd
import pytest

from skprivate import DPBoostingClassifier, TableDomain
from skprivate.inspection import ShapeFunctionDisplay

RNG = np.random.default_rng(0)
N = 4000
FRAME = pd.DataFrame(
    {"age": np.where(RNG.random(N) < 0.1, np.nan, RNG.uniform(0, 9, N)), "kind": RNG.choice(["a", "$b$"], N)}
)
DOMAIN = TableDomain({"age": (0, 9), "kind": ["a", "$b$"]}, missing="indicator")
OLD = np.nan_to_num(FRAME["age"].to_numpy()) > 4


def fitted(y=OLD, classes=(False, True)):
    model = DPBoostingClassifier(8.0, domain=DOMAIN, classes=classes, random_state=1)
    return model.fit(FRAME, y)


def test_steps_and_bands_are_values_and_their_noise(axes):
    model = fitted()
    display = ShapeFunctionDisplay.from_estimator(model, "age", n_std=3, ax=axes)
    shape = model.shape_functions_[0]
    (line,), (band,), (missing,) = display.lines_, display.bands_, display.missing_
    np.testing.assert_array_equal(line.get_data().values, shape.values[:-1])
    np.testing.assert_array_equal(line.get_data().edges, shape.edges)
    np.testing.assert_allclose(band.get_data().values - shape.values[:-1], 3 * shape.std[:-1])
    np.testing.assert_allclose(shape.values[:-1] - band.get_data().baseline, 3 * shape.std[:-1])
    assert missing.lines[0].get_ydata() == shape.values[-1]
    assert missing.lines[0].get_xdata() > shape.edges[-1]
    assert axes.get_xticklabels()[-1].get_text() == "missing"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("age", "log odds of True")


@pytest.mark.parametrize("feature", ["age", "kind"])
def test_there_is_a_line_for_every_class(axes, feature):
    words = np.array(["low", "middle", "high"])[np.digitize(FRAME["age"].fillna(0), [3, 6])]
    display = ShapeFunctionDisplay.from_estimator(fitted(words, ["low", "middle", "high"]), feature, ax=axes)
    assert len(display.lines_) == 3
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["high", "low", "middle"]
