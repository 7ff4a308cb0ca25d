# SPDX-License-Identifier: BSD-3-Clause
"""What a report says of pipelines, searches and other meta-estimators: who paid, and who may have read."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, Normalizer, StandardScaler

from skprivate import (
    BoundsScaler,
    CollaborativeLARRegressor,
    LocallyPrivateTreeClassifier,
    PrivateGridSearch,
    PublicPrivateSplit,
    TQMATransformer,
    privacy_report,
)
from skprivate.accounting import PrivacyReport, StepReport
from skprivate.base import PublicEstimator, StatelessMixin
from skprivate.base._pipeline_report import reads_rows
from skprivate.exceptions import PrivacyLeakWarning
from skprivate.preprocessing import SilentUfunc, estimate_bounds

X = np.random.default_rng(0).uniform(size=(400, 2))
Y = (X[:, 0] > 0.5).astype(int)
PRUNED = {"locallyprivatetreeclassifier__prune": [True]}


def declared(**parameters):
    return LocallyPrivateTreeClassifier(**{"bounds": (-5, 5), "classes": [0, 1], **parameters})


def behind(step):
    return make_pipeline(step, declared())


class DuckCentring:
    """Reads rows, and is no BaseEstimator."""

    def __sklearn_tags__(self):  # asked for by pipelines of scikit-learn 1.7
        return BaseEstimator().__sklearn_tags__()

    def fit(self, rows, y=None):
        self.mean_ = rows.mean(axis=0)
        return self

    def transform(self, rows):
        return rows - self.mean_

    def fit_transform(self, rows, y=None):
        return self.fit(rows).transform(rows)


class LearningWithoutTheTag(DuckCentring, TransformerMixin, BaseEstimator):
    """Reads rows, and denies that it has to be fitted."""

    def __sklearn_tags__(self):
        tags = BaseEstimator().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class Delegating(BaseEstimator):
    """Reads rows, and passes on the attributes of the private estimator inside."""

    def __init__(self, inside):
        self.inside = inside

    def fit(self, rows, y=None):
        self.inner_ = clone(self.inside).fit(rows - rows.mean(axis=0), y)
        return self

    def transform(self, rows):
        return rows

    def __getattr__(self, name):
        if name in ("privacy_spent_", "disclosure_risk_"):
            return getattr(self.inner_, name)
        raise AttributeError(name)


def choose_by_variance(rows):
    return [int(np.argmax(rows.var(axis=0)))]


def test_a_private_estimator_alone():
    report = privacy_report(declared(epsilon=0.5).fit(X, Y))
    assert (report.claim, report.private) == ("dp", True)
    assert (report.epsilon, report.effective_epsilon) == (Fraction(1, 2), 0.5)
    assert "epsilon = 0.5" in str(report)
    with pytest.raises(NotFittedError):
        privacy_report(behind(BoundsScaler()))


def test_costs_of_several_steps_add_up(tenth):
    spent = replace(tenth, delta=Fraction(1, 100), releases=())
    step = StepReport(path="a", estimator="A", status="covered", reason="", spent=spent)
    report = PrivacyReport((step, step))
    assert (report.epsilon, report.delta) == (Fraction(1, 5), Fraction(1, 50))
    assert "delta = 0.02" in str(report)


def test_stateless_steps_do_not_matter():
    root = SilentUfunc(np.sqrt)
    steps = (BoundsScaler((0, 1)), FunctionTransformer(), FunctionTransformer(root), Normalizer())
    steps += (FunctionTransformer(np.fabs, np.square, check_inverse=False),)
    report = privacy_report(make_pipeline(*steps, "passthrough", declared()).fit(X, Y))
    assert report.private
    assert [step.status for step in report.steps] == ["stateless"] * 5 + ["covered"]


def test_nothing_paid_is_not_private():
    report = privacy_report(BoundsScaler())
    assert report.claim == "not-private"
    assert (report.epsilon, report.delta) == (0, 0)


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(),
        FeatureUnion([("inner", MinMaxScaler()), ("fine", BoundsScaler((0, 1)))]),
        make_column_transformer((StandardScaler(), [0]), remainder="passthrough", sparse_threshold=0),
        ColumnTransformer(
            [("inner", make_pipeline(BoundsScaler(), MinMaxScaler()), [0, 1])], sparse_threshold=0
        ),
    ],
)
def test_an_unpaid_step_is_named(step):
    report = privacy_report(behind(step).fit(X, Y))
    assert not report.private
    assert report.effective_epsilon == math.inf
    (culprit,) = report.uncovered
    assert culprit.estimator in ("StandardScaler", "MinMaxScaler")
    assert culprit.estimator in str(report)
    assert culprit.path in str(report)


@pytest.mark.parametrize(
    "step",
    [
        DuckCentring(),
        LearningWithoutTheTag(),
        FunctionTransformer(lambda rows: rows - rows.mean(axis=0)),
        FeatureUnion([("duck", DuckCentring())]),
        ColumnTransformer([("same", "passthrough", choose_by_variance)]),
        Delegating(declared()),
    ],
    ids=lambda step: type(step).__name__,
)
def test_unknown_means_unpaid(step):
    report = privacy_report(behind(step).fit(X, Y))
    assert not report.private
    assert len(report.uncovered) == 1


@pytest.mark.parametrize("inside", [declared(), TQMATransformer(bounds=(0, 1))])
def test_a_wrapper_borrows_neither_a_claim_nor_a_risk_without_leaks(inside):
    assert not privacy_report(Delegating(inside).fit(X, Y)).private
    assert reads_rows(Delegating(inside).fit(X, Y)) == "read private rows without spending budget"


def test_a_search_chooses_without_paying():
    search = GridSearchCV(declared(), {"epsilon": [1, 2]}, cv=PublicPrivateSplit(2))
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(X, Y, is_public=np.arange(400) < 40)
    report = privacy_report(search)
    assert not report.private
    assert [step.estimator for step in report.uncovered] == ["GridSearchCV"]
    assert [step.path for step in report.steps] == ["estimator", "best_estimator_"]


def test_an_unknown_meta_estimator_is_not_private():
    with pytest.warns(PrivacyLeakWarning, match="seeded, by what cloned it"):
        report = privacy_report(BaggingClassifier(declared(), n_estimators=2).fit(X, Y))
    assert not report.private
    assert report.uncovered[0].estimator == "BaggingClassifier"
    assert [step.status for step in report.steps] == ["uncovered", "covered", "covered"]


def test_estimators_in_a_dict_are_found():
    class Holder(BaseEstimator):
        def fit(self, rows, y):
            self.parts_ = {"first": [declared().fit(rows, y)]}
            return self

    report = privacy_report(Holder().fit(X, Y))
    assert [step.path for step in report.steps] == ["estimator", "parts_['first'][0]"]
    assert not report.private


def test_coarsening_is_not_differential_privacy():
    class Coarse(StatelessMixin, BaseEstimator):
        disclosure_risk_ = "some"

        def fit(self, rows, y=None):
            return self

    (step,) = privacy_report(Coarse()).steps
    assert step.status == "uncovered"


def test_coarsening_within_declared_bounds_reads_nothing():
    pipeline = behind(TQMATransformer(bounds=(0, 1))).fit(X, Y)
    report = privacy_report(pipeline)
    assert [step.status for step in report.steps] == ["stateless", "covered"]
    assert report.private
    with pytest.warns(PrivacyLeakWarning):
        pipeline.set_params(tqmatransformer__bounds=None).fit(X, Y)
    (step,) = privacy_report(pipeline).uncovered
    assert "bounds of X were read from the rows" in step.reason


def test_what_holds_rows_of_sites_is_not_to_be_published():
    platform = CollaborativeLARRegressor(bounds=(0, 1))
    report = privacy_report(platform.fit(X, Y, sites=np.arange(len(X)) % 12))
    assert not report.private
    assert "must never be published" in report.steps[0].reason


@pytest.mark.parametrize(
    "step",
    [
        ColumnTransformer([("same", "passthrough", [0, 1])]),
        FunctionTransformer(np.sqrt),
        FunctionTransformer(np.frompyfunc(float, 1, 1)),
    ],
    ids=str,
)
def test_a_hole_is_a_leak_of_a_private_search_too(step):
    search = PrivateGridSearch(behind(step), PRUNED)
    with pytest.warns(PrivacyLeakWarning):
        search.fit(X, Y)
    assert search.privacy_spent_.claim == "not-private"


class TestDeclaredPublic:
    def test_works_in_a_search_and_survives_a_pickle(self):
        steps = behind(PublicEstimator(StandardScaler().fit(X)))
        search = PrivateGridSearch(steps, {"locallyprivatetreeclassifier__prune": [True, False]}).fit(X, Y)
        assert search.privacy_spent_.private
        report = privacy_report(pickle.loads(pickle.dumps(search.best_estimator_)))
        assert report.private
        assert "declared public by you: the StandardScaler inside" in str(report)
        assert report.steps[0].status == "public"
        assert PrivacyReport.from_dict(report.to_dict()) == report
        np.testing.assert_array_equal(search.best_estimator_[0].mean_, X.mean(axis=0))

    def test_a_report_asks_for_it(self):
        report = privacy_report(behind(FrozenEstimator(StandardScaler().fit(X))).fit(X, Y))
        assert not report.private
        assert "PublicEstimator" in report.uncovered[0].reason

    def test_does_not_hide_estimated_bounds(self):
        steps = behind(PublicEstimator(BoundsScaler(estimate_bounds(X, 1.0, random_state=0)).fit(X)))
        report = privacy_report(steps.fit(X, Y))
        assert not report.private
        assert [str(step.spent.epsilon) for step in report.steps if step.status == "covered before"] == ["1"]
        assert not PrivateGridSearch(steps, PRUNED).fit(X, Y).privacy_spent_.private
