# SPDX-License-Identifier: BSD-3-Clause
"""The picture of an evaluation shows its released curves."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skprivate import private_evaluate
from skprivate.inspection import PrivateEvaluationDisplay

figure = pytest.importorskip("matplotlib.figure")


@pytest.fixture(scope="module")
def evaluation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8_000, 2))
    y = X[:, 0] + rng.logistic(size=8_000) > 0
    model = LogisticRegression().fit(X[:500], y[:500])
    groups = np.where(X[:, 1] > 0, "$a", "b"), ["$a", "b"]
    return private_evaluate(
        model, X, y, 2.0, groups_of_interest=groups, on_training_rows=True, random_state=1
    )


@pytest.fixture
def axes():
    return figure.Figure().subplots()


def test_calibration_curve_has_the_intervals_of_the_evaluation(evaluation, axes):
    display = PrivateEvaluationDisplay.from_evaluation(evaluation, groups=[None, "$a"], ax=axes)
    assert len(display.lines_) == 2
    points = [point for point in evaluation.calibration if not point.observed.says_nothing]
    x, y = display.lines_[0].lines[0].get_data()
    assert np.array_equal(x, [point.predicted for point in points])
    assert np.array_equal(y, [point.observed.value for point in points])
    (bars,) = display.lines_[0].lines[2]
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    assert np.allclose(ends, [(point.observed.lower, point.observed.upper) for point in points])
    assert "fitted on" in axes.get_title()
    axes.figure.canvas.draw()


def test_roc_curve_names_the_area(evaluation, axes):
    display = PrivateEvaluationDisplay.from_evaluation(evaluation, curve="roc", groups=["b"], ax=axes)
    (line,) = display.lines_
    assert np.array_equal(line.get_xdata(), evaluation.roc_curve("b")[0])
    assert str(evaluation.by_group["b"]["auc"]) in axes.get_legend().get_texts()[0].get_text()


def test_unknown_curves_and_groups_are_refused(evaluation, axes):
    with pytest.raises(ValueError, match="curve must be"):
        PrivateEvaluationDisplay.from_evaluation(evaluation, curve="lift", ax=axes)
    with pytest.raises(ValueError, match="declared levels"):
        PrivateEvaluationDisplay.from_evaluation(evaluation, groups=["z"], ax=axes)
