# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of scores: against epsilon, with the same splits and finished work kept; and of an evaluation."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.tree import DecisionTreeClassifier

from skprivate import DPTreeClassifier, PrivacyLedger, private_evaluate
from skprivate.exceptions import BudgetExceededError
from skprivate.inspection import PrivacyUtilityDisplay, PrivateEvaluationDisplay

X = np.random.default_rng(0).uniform(size=(200, 2))
Y = (X[:, 0] > 0.5).astype(int)
TREE = DPTreeClassifier(bounds=(0, 1), classes=[0, 1])


class Known(RegressorMixin, BaseEstimator):
    """Scores 1 - 1 / epsilon, less a number that tells the repeats apart; fails at one epsilon."""

    def __init__(self, epsilon=1.0, fails_at=None):
        self.epsilon = epsilon
        self.fails_at = fails_at

    def fit(self, rows, y, groups=None, tag=None, weight=None):
        self.n_rows_ = len(rows)
        if self.epsilon == self.fails_at:
            raise ValueError("no luck")
        assert groups is None or len(groups) == len(rows)
        assert weight is None or (np.asarray(weight) == np.asarray(rows)[:, 0]).all()
        assert tag in (None, "whole")
        self.groups_ = groups
        return self

    def score(self, rows, y):
        if self.groups_ is not None:
            assert not set(self.groups_) & {int(10 * row[0]) for row in np.asarray(rows)}
        return 1 - 1 / float(self.epsilon) - 1e-3 * np.asarray(rows)[:, 0].mean()


def draw(estimator, axes, **kwargs):
    options = {"epsilons": [1, 10, 2], "n_repeats": 4, "ax": axes, "random_state": 0}
    return PrivacyUtilityDisplay.from_estimator(estimator, X, Y, **(options | kwargs))


def test_median_and_quartiles_against_rising_epsilon(axes):
    display = draw(Known(), axes)
    assert display.epsilons.tolist() == [1, 2, 10]
    assert display.scores.shape == (3, 4)
    np.testing.assert_array_equal(display.line_.get_ydata(), np.median(display.scores, axis=1))
    band = display.band_.get_paths()[0].vertices
    for epsilon, row in zip(display.epsilons, display.scores, strict=True):
        heights = band[band[:, 0] == epsilon, 1]
        np.testing.assert_allclose([heights.min(), heights.max()], np.percentile(row, [25, 75]))
    assert axes.get_xscale() == "log"
    assert axes.get_title() == "For planning, on public or simulated data: this picture itself is NOT private"
    assert display.plot(color="red").line_.get_color() == "red"
    assert display.ax_ is not axes
    pyplot.close(display.figure_)


def test_another_estimator_takes_the_fit_params_that_it_names(axes):
    params = {"is_public": np.arange(200) < 50}
    display = draw(TREE, axes, fit_params=params, non_private=DecisionTreeClassifier(), epsilons=[1])
    assert display.failures == ()


class TestFailures:
    def test_an_exhausted_ledger(self, tmp_path, axes):
        ledger = PrivacyLedger(tmp_path / "study.ledger", epsilon=7)
        tree = DPTreeClassifier(bounds=(0, 1), classes=[0, 1], ledger=ledger)
        with pytest.warns(FitFailedWarning, match="BudgetExceededError"):
            display = draw(tree, axes, epsilons=[1, 2], n_repeats=5)
        # 1 + 2 twice, then 1, then nothing more.
        assert ledger.spent()[0] == 7
        assert np.isnan(display.scores).tolist() == [[False] * 3 + [True] * 2, [False] * 2 + [True] * 3]
        assert len(display.failures) == 5

    def test_a_ledger_without_budget(self, tmp_path, axes):
        ledger = PrivacyLedger(tmp_path / "study.ledger", epsilon=0.5)
        tree = DPTreeClassifier(bounds=(0, 1), classes=[0, 1], ledger=ledger)
        with pytest.raises(BudgetExceededError):
            draw(tree, axes, epsilons=[1])


def test_a_ledger_is_charged_for_every_fit_and_not_for_the_line(tmp_path, axes):
    ledger = PrivacyLedger(tmp_path / "study.ledger")
    tree = DPTreeClassifier(bounds=(0, 1), classes=[0, 1], ledger=ledger)
    display = draw(tree, axes, epsilons=[1, 2], n_repeats=3)
    assert display.non_private_scores is None
    assert ledger.spent()[0] == 9
    pipeline = make_pipeline(Normalizer(), tree)
    draw(pipeline, axes, epsilons=[1], n_repeats=1, param_name="dptreeclassifier__epsilon")
    assert ledger.spent()[0] == 10


def test_strata(axes):
    class Balanced(ClassifierMixin, BaseEstimator):
        def __init__(self, epsilon=1):
            self.epsilon = epsilon

        def fit(self, rows, y):
            assert np.bincount(y).tolist() == [120, 30]
            self.classes_ = np.unique(y)
            return self

        def score(self, rows, y):
            return float(np.mean(y))

    rare = np.arange(200) < 40
    display = PrivacyUtilityDisplay.from_estimator(Balanced(), X, rare.astype(int), epsilons=[1], ax=axes)
    assert display.failures == ()


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


def test_line_without_privacy(axes):
    display = draw(Known(), axes)
    assert display.non_private_name == "epsilon = 1e+06"
    assert display.non_private_line_.get_ydata()[0] == np.median(display.non_private_scores)
    assert display.non_private_scores == pytest.approx(1 - 1e-6, abs=2e-3)
    other = draw(TREE, axes, non_private=DecisionTreeClassifier(max_depth=1), epsilons=[1])
    assert other.non_private_name == "not private: DecisionTreeClassifier"
    assert draw(Known(), axes, non_private=None).non_private_line_ is None
