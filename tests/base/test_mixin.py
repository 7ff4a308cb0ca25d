# SPDX-License-Identifier: BSD-3-Clause
"""The contract of private estimators, and the report over pipelines and searches."""

import doctest
import math
import pickle
from fractions import Fraction

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, Normalizer, StandardScaler

from skprivate import (
    BoundsScaler,
    CollaborativeLARRegressor,
    DPSEVRegressor,
    LocallyPrivateTreeClassifier,
    MomentAccumulator,
    PrivacyLedger,
    PrivacySpent,
    PrivateGridSearch,
    PublicPrivateSplit,
    TQMATransformer,
    config_context,
)
from skprivate.accounting import PrivacyReport, StepReport
from skprivate.audit import check_private_estimator
from skprivate.base import PrivateEstimatorMixin, StatelessMixin, privacy_report
from skprivate.base._pipeline_report import reads_rows
from skprivate.exceptions import PrivacyLeakError, PrivacyLeakWarning
from skprivate.preprocessing import SilentUfunc, estimate_bounds

X = np.random.default_rng(0).uniform(size=(400, 2))
Y = (X[:, 0] > 0.5).astype(int)
IS_PUBLIC = np.arange(400) < 40


def declared(**parameters):
    return LocallyPrivateTreeClassifier(**{"bounds": (0, 1), "classes": [0, 1], **parameters})


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


class LearningWithoutTheTag(TransformerMixin, BaseEstimator):
    """Reads rows, and denies that it has to be fitted."""

    def fit(self, rows, y=None):
        self.mean_ = rows.mean(axis=0)
        return self

    def transform(self, rows):
        return rows - self.mean_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class Delegating(BaseEstimator):
    """Reads rows, and passes on the attributes of the private tree inside."""

    def __init__(self, tree):
        self.tree = tree

    def fit(self, rows, y):
        self.inner_ = clone(self.tree).fit(rows - rows.mean(axis=0), y)
        return self

    def transform(self, rows):
        return rows

    def __getattr__(self, name):
        if name == "privacy_spent_":
            return self.inner_.privacy_spent_
        raise AttributeError(name)


def choose_by_variance(rows):
    return [int(np.argmax(rows.var(axis=0)))]


def of_leaks(caught):
    return [warning for warning in caught if warning.category is PrivacyLeakWarning]


class TestLeaks:
    def test_one_warning_names_everything_that_was_read(self):
        with pytest.warns(PrivacyLeakWarning) as caught:
            tree = LocallyPrivateTreeClassifier().fit(X, Y)
        # The labels are unrelated to X, which another warning says after the release.
        caught = of_leaks(caught)
        assert len(caught) == 1
        assert "bounds of X" in str(caught[0].message)
        assert "classes" in str(caught[0].message)
        assert caught[0].filename == __file__, "the warning points at the user's call"
        assert tree.privacy_spent_.claim == "not-private"
        assert len(tree.privacy_spent_.reasons) == 2
        assert tree.privacy_spent_.effective_epsilon == math.inf

    def test_strict_mode_refuses_before_anything_is_fitted(self):
        tree = LocallyPrivateTreeClassifier()
        with config_context(strict=True), pytest.raises(PrivacyLeakError, match="bounds"):
            tree.fit(X, Y)
        assert not [name for name in vars(tree) if name.endswith("_")]

    def test_strict_mode_refuses_before_anything_is_charged(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "strict.ledger")
        with config_context(strict=True), pytest.raises(PrivacyLeakError):
            LocallyPrivateTreeClassifier(ledger=ledger).fit(X, Y)
        assert ledger.entries() == []

    @pytest.mark.parametrize("parameters", [{"bounds": (0, 1)}, {"classes": [0, 1]}])
    def test_one_missing_declaration_is_a_leak(self, parameters):
        with config_context(strict=True), pytest.raises(PrivacyLeakError):
            LocallyPrivateTreeClassifier(**parameters).fit(X, Y)

    def test_declared_or_public_is_no_leak(self):
        with config_context(strict=True):
            assert declared().fit(X, Y).privacy_spent_.private
            tree = LocallyPrivateTreeClassifier().fit(X, Y, is_public=IS_PUBLIC)
        assert tree.privacy_spent_.private
        np.testing.assert_array_equal(tree.bounds_[0], X[IS_PUBLIC].min(axis=0))


class TestStrictModeTravels:
    def test_through_pickle_clone_and_a_second_pickle(self):
        with config_context(strict=True):
            stored = pickle.dumps(LocallyPrivateTreeClassifier())
        for tree in (
            pickle.loads(stored),
            clone(pickle.loads(stored)),
            pickle.loads(pickle.dumps(pickle.loads(stored))),
        ):
            with pytest.raises(PrivacyLeakError):
                tree.fit(X, Y)

    def test_is_decided_before_private_labels_are_looked_at(self):
        for labels in (Y, np.zeros(400), np.arange(400) % 3, np.linspace(0, 1, 400)):
            with config_context(strict=True), pytest.raises(PrivacyLeakError):
                LocallyPrivateTreeClassifier().fit(X, labels)

    def test_not_otherwise(self):
        with pytest.warns(PrivacyLeakWarning):
            pickle.loads(pickle.dumps(LocallyPrivateTreeClassifier())).fit(X, Y)

    @pytest.mark.parametrize("backend", ["loky", "threading"])
    def test_into_workers(self, backend):
        search = GridSearchCV(
            LocallyPrivateTreeClassifier(), {"epsilon": [1, 2]}, cv=2, n_jobs=2, error_score="raise"
        )
        with config_context(strict=True), joblib.parallel_backend(backend), pytest.raises(PrivacyLeakError):
            search.fit(X, Y)


class TestSeeds:
    """An owner's seed is stated, that of a meta-estimator is announced, and strict mode refuses both."""

    @pytest.mark.parametrize(
        "meta",
        [
            lambda tree: BaggingClassifier(tree, n_estimators=1),
            lambda tree: BaggingClassifier(make_pipeline(BoundsScaler(), tree), n_estimators=1),
            lambda tree: BaggingClassifier(OneVsRestClassifier(tree), n_estimators=1),
            lambda tree: GridSearchCV(tree, {"random_state": [0]}, cv=2, refit=False),
        ],
        ids=["bagging", "bagging a pipeline", "bagging what clones again", "a grid of seeds"],
    )
    def test_of_a_meta_estimator_are_announced_once_a_fit(self, meta):
        with pytest.warns(PrivacyLeakWarning, match="seeded, by what cloned it") as caught:
            meta(declared()).fit(X, Y)
        assert len(of_leaks(caught)) == (2 if isinstance(meta(declared()), GridSearchCV) else 1)

    @pytest.mark.parametrize(
        "meta",
        [
            lambda tree: VotingClassifier([("tree", tree)]),
            lambda tree: MultiOutputClassifier(tree),
            lambda tree: CalibratedClassifierCV(tree, cv=2),
        ],
        ids=["voting", "outputs", "calibration"],
    )
    def test_are_not_set_by_others(self, meta):
        y = np.column_stack([Y, Y]) if isinstance(meta(declared()), MultiOutputClassifier) else Y
        with config_context(strict=True):
            model = meta(declared()).fit(X, y)
        assert not any(
            step.spent.noise_source == "seeded" for step in privacy_report(model).steps if step.spent
        )

    def test_of_the_owner_are_stated_without_a_warning(self):
        for tree in (declared(random_state=0), declared().set_params(random_state=0)):
            assert tree.fit(X, Y).privacy_spent_.claim == "not-private"
        BaggingClassifier(declared(random_state=0), n_estimators=1).fit(X, Y)

    def test_are_errors_in_strict_mode_unless_declared(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "seeds.ledger")
        tree = declared(random_state=0, ledger=ledger)
        life = DPSEVRegressor(bounds_X=(0, 1), bounds_y=(0, 1), random_state=0, ledger=ledger)
        moments = MomentAccumulator((0, 1), (0, 1), max_rows=1000, distribution="sev").update(X, X[:, 0])
        calls = [
            lambda: tree.fit(X, Y),
            lambda: BaggingClassifier(declared(ledger=ledger), n_estimators=1).fit(X, Y),
            lambda: life.fit(X, X[:, 0]),
            lambda: moments.release(life),
            lambda: estimate_bounds(X, 1.0, ledger, random_state=0),
            lambda: PrivateGridSearch(declared(), {"max_depth": [1]}, random_state=0, ledger=ledger).fit(
                X, Y
            ),
            lambda: PrivateGridSearch(tree, {"max_depth": [1]}).fit(X, Y),
            lambda: pickle.loads(pickle.dumps(tree)).fit(X, Y),
        ]
        for call in calls:
            with config_context(strict=True), pytest.raises(PrivacyLeakError, match="allow_seeds=True"):
                call()
        assert (ledger.entries(), ledger.n_failures) == ([], 0)
        with config_context(strict=True, allow_seeds=True):
            for call in calls:
                call()
        assert all(not entry.private for entry in ledger.entries())

    def test_are_allowed_where_the_pickle_was_made_and_never_against_this_process(self):
        with config_context(strict=True, allow_seeds=True):
            allowed = pickle.dumps(declared(random_state=0))
        with config_context(strict=True):
            refused = pickle.dumps(declared(random_state=0))
        clone(pickle.loads(allowed)).fit(X, Y)
        with pytest.raises(PrivacyLeakError):
            pickle.loads(refused).fit(X, Y)
        with config_context(strict=True), pytest.raises(PrivacyLeakError):
            pickle.loads(allowed).fit(X, Y)


def test_a_splitter_by_group_without_routing_is_named_in_the_report():
    groups = np.arange(400) // 4
    caution = "protect a row, not a group"
    by_group = GridSearchCV(declared(), {"max_depth": [1]}, cv=GroupKFold(2))
    assert caution in str(privacy_report(by_group.fit(X, Y, groups=groups)))
    assert caution not in str(privacy_report(GridSearchCV(declared(), {"max_depth": [1]}, cv=2).fit(X, Y)))
    with sklearn.config_context(enable_metadata_routing=True):
        assert caution not in str(privacy_report(by_group.fit(X, Y, groups=groups)))


class TestFailedFit:
    def test_leaves_a_previous_fit_as_it_was(self):
        tree = declared(random_state=0).fit(X, Y)
        before = tree.predict_proba(X)
        for bad in (X[:, :1], np.full((400, 3), np.nan)):
            with pytest.raises(ValueError, match=r"bounds|NaN"):
                tree.set_params(bounds=([0, 0], [1, 1])).fit(bad, Y)
        assert tree.n_features_in_ == 2
        np.testing.assert_array_equal(tree.predict_proba(X), before)

    def test_leaves_nothing_on_a_fresh_object(self):
        tree = declared()
        several = {"classes": [0, 1, 2], "mechanism": "laplace"}
        with pytest.raises(ValueError, match="Only binary"):
            tree.set_params(**several).fit(X, Y)
        assert vars(tree) == vars(declared(**several))

    @pytest.mark.parametrize("method", ["fit", "predict"])
    @pytest.mark.parametrize(
        ("rows", "match"),
        [
            (np.array([0.123456, 0.9876]), "Reshape your data"),
            (np.float64(0.123456), "Reshape your data"),
            (X + 0.123456j, "Complex data not supported"),
        ],
    )
    def test_repeats_no_row(self, method, rows, match):
        tree = declared().fit(X, Y)
        with pytest.raises(ValueError, match=match) as caught:
            tree.fit(rows, Y) if method == "fit" else tree.predict(rows)
        assert ".12" not in str(caught.value)
        assert caught.value.__context__ is None

    def test_a_huge_private_value_raises_no_warning(self):
        huge = X.copy()
        huge[100:103] = [[1.7e308, 1.7e308], [1.7e308, -1.7e308], [-1.7e308, 1.7e308]]
        assert declared().fit(huge, Y).privacy_spent_.private

    def test_repeats_no_cell(self):
        text = X.astype(object)
        text[7, 1] = "secret-cell"
        with pytest.raises(ValueError, match="X holds text") as caught:
            declared().fit(text, Y)
        assert "secret" not in str(caught.value)
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None
        fitted = declared().fit(X, Y)
        with pytest.raises(ValueError, match="X holds text"):
            fitted.predict(text)


class TestPrivacyReport:
    def test_private_alone(self):
        report = privacy_report(declared(epsilon=0.5).fit(X, Y))
        assert report.claim == "dp"
        assert report.private
        assert report.epsilon == Fraction(1, 2)
        assert report.effective_epsilon == 0.5
        assert "epsilon = 0.5" in str(report)

    def test_stateless_steps_do_not_matter(self):
        root = SilentUfunc(np.sqrt)
        steps = (BoundsScaler((0, 1)), FunctionTransformer(), FunctionTransformer(root), Normalizer())
        steps += (FunctionTransformer(np.fabs, np.square, check_inverse=False),)
        report = privacy_report(make_pipeline(*steps, "passthrough", declared()).fit(X, Y))
        assert report.private
        assert [step.status for step in report.steps] == ["stateless"] * 5 + ["covered"]

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
    def test_an_unpaid_step_is_named(self, step):
        tree = LocallyPrivateTreeClassifier(bounds=(-5, 5), classes=[0, 1])
        report = privacy_report(make_pipeline(step, tree).fit(X, Y))
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
            FunctionTransformer(np.sqrt, kw_args={"where": True}),
            FunctionTransformer(np.sqrt, np.square),
            FeatureUnion([("duck", DuckCentring())]),
            ColumnTransformer([("same", "passthrough", choose_by_variance)]),
            Delegating(declared()),
        ],
        ids=lambda step: type(step).__name__,
    )
    def test_unknown_means_unpaid(self, step):
        tree = LocallyPrivateTreeClassifier(bounds=(-5, 5), classes=[0, 1])
        report = privacy_report(make_pipeline(step, tree).fit(X, Y))
        assert not report.private
        assert len(report.uncovered) == 1

    def test_a_ufunc_that_takes_rows_together_may_mix_them(self):
        assert reads_rows(FunctionTransformer(np.matmul)) is not None
        assert reads_rows(FunctionTransformer(np.modf)) is not None
        assert reads_rows(FunctionTransformer(np.fabs)) is None

    def test_a_delegating_wrapper_does_not_borrow_the_claim(self):
        assert not privacy_report(Delegating(declared()).fit(X, Y)).private

    def test_a_subclass_of_a_container_may_do_anything(self):
        class Reading(Pipeline):
            pass

        assert not privacy_report(Reading([("tree", declared())]).fit(X, Y)).private

    def test_a_memory_keeps_rows(self, tmp_path):
        pipe = make_pipeline(BoundsScaler(), declared(), memory=str(tmp_path)).fit(X, Y)
        report = privacy_report(pipe)
        assert not report.private
        assert "memory" in str(report)

    def test_a_seeded_step_is_not_private(self):
        report = privacy_report(make_pipeline(BoundsScaler(), declared(random_state=0)).fit(X, Y))
        assert report.claim == "not-private"
        assert "seed" in str(report)

    def test_a_search_chooses_without_paying(self):
        search = GridSearchCV(declared(), {"epsilon": [1, 2]}, cv=PublicPrivateSplit(2))
        with sklearn.config_context(enable_metadata_routing=True):
            search.fit(X, Y, is_public=IS_PUBLIC)
        report = privacy_report(search)
        assert not report.private
        assert [step.estimator for step in report.uncovered] == ["GridSearchCV"]
        assert [step.path for step in report.steps] == ["estimator", "best_estimator_"]

    def test_an_unknown_meta_estimator_is_not_private(self):
        with pytest.warns(PrivacyLeakWarning, match="seeded, by what cloned it"):
            bag = BaggingClassifier(declared(), n_estimators=2).fit(X, Y)
        report = privacy_report(bag)
        assert not report.private
        assert report.uncovered[0].estimator == "BaggingClassifier"
        assert [step.status for step in report.steps] == ["uncovered", "covered", "covered"]

    def test_nothing_paid_is_not_private(self):
        report = privacy_report(BoundsScaler())
        assert report.claim == "not-private"
        assert (report.epsilon, report.delta) == (0, 0)

    def test_costs_of_several_steps_add_up(self):
        spent = PrivacySpent(
            mechanism="m",
            epsilon=Fraction(1, 2),
            delta=Fraction(1, 100),
            relation="replace-one",
            noise_scale=None,
            noise_source="os-entropy",
            deployment="curator",
            claim="dp",
        )
        step = StepReport(path="a", estimator="A", status="covered", reason="", spent=spent)
        report = PrivacyReport((step, step))
        assert (report.epsilon, report.delta) == (1, Fraction(1, 50))
        assert "delta = 0.02" in str(report)

    def test_estimators_in_a_dict_are_found(self):
        class Holder(BaseEstimator):
            def fit(self, rows, y):
                self.parts_ = {"first": [declared().fit(rows, y)]}
                return self

        report = privacy_report(Holder().fit(X, Y))
        assert [step.path for step in report.steps] == ["estimator", "parts_['first'][0]"]
        assert not report.private

    def test_coarsening_is_not_differential_privacy(self):
        class Coarse(StatelessMixin, BaseEstimator):
            disclosure_risk_ = "some"

            def fit(self, rows, y=None):
                return self

        (step,) = privacy_report(Coarse()).steps
        assert step.status == "uncovered"

    def test_coarsening_within_declared_bounds_reads_nothing(self):
        pipeline = make_pipeline(TQMATransformer(bounds=(0, 1)), declared()).fit(X, Y)
        report = privacy_report(pipeline)
        assert [step.status for step in report.steps] == ["stateless", "covered"]
        assert report.private
        with pytest.warns(PrivacyLeakWarning):
            pipeline.set_params(tqmatransformer__bounds=None).fit(X, Y)
        (step,) = privacy_report(pipeline).uncovered
        assert "bounds of X were read from the rows" in step.reason

    def test_what_holds_rows_of_sites_is_not_to_be_published(self):
        platform = CollaborativeLARRegressor(bounds=(0, 1))
        report = privacy_report(platform.fit(X, Y, sites=np.arange(len(X)) % 12))
        assert not report.private
        assert "never to be published" in report.steps[0].reason

    def test_unfitted(self):
        with pytest.raises(NotFittedError):
            privacy_report(make_pipeline(BoundsScaler(), declared()))


def test_the_example_of_the_contract_keeps_it():
    """People copy it."""
    examples = doctest.DocTestParser().get_examples(PrivateEstimatorMixin.__doc__)
    room = {"__name__": "example"}
    for example in examples:
        exec(example.source, room)
    checks = [
        "check_privacy_spent",
        "check_sensitivity_fuzz",
        "check_replay",
        "check_seeded_fit_is_not_private",
    ]
    results = check_private_estimator(room["DPCount"](1.5), only=checks)
    assert [one["status"] for one in results] == ["passed"] * len(checks)
    with config_context(strict=True), pytest.raises(PrivacyLeakError):
        room["DPCount"](random_state=0).fit(np.ones((3, 2)))
