# SPDX-License-Identifier: BSD-3-Clause
"""The contract of private estimators, and the report over pipelines and searches."""

import doctest
import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.multioutput import MultiOutputClassifier

from skprivate import (
    DPSEVRegressor,
    LocallyPrivateTreeClassifier,
    MomentAccumulator,
    PrivacyLedger,
    PrivateGridSearch,
    config_context,
)
from skprivate.audit import check_private_estimator
from skprivate.base import PrivateEstimatorMixin, privacy_report
from skprivate.exceptions import PrivacyLeakError, PrivacyLeakWarning
from skprivate.preprocessing import estimate_bounds

X = np.random.default_rng(0).uniform(size=(400, 2))
Y = (X[:, 0] > 0.5).astype(int)
IS_PUBLIC = np.arange(400) < 40


def declared(**parameters):
    return LocallyPrivateTreeClassifier(**{"bounds": (0, 1), "classes": [0, 1], **parameters})


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

    @pytest.mark.parametrize("parameters", [{}, {"bounds": (0, 1)}, {"classes": [0, 1]}])
    def test_strict_mode_refuses_before_anything_is_read_fitted_or_charged(self, parameters, tmp_path):
        ledger = PrivacyLedger(tmp_path / "strict.ledger")
        tree = LocallyPrivateTreeClassifier(ledger=ledger, **parameters)
        for labels in (Y, np.zeros(400), np.arange(400) % 3, np.linspace(0, 1, 400)):
            with config_context(strict=True), pytest.raises(PrivacyLeakError, match=r"bounds|classes"):
                tree.fit(X, labels)
        assert not [name for name in vars(tree) if name.endswith("_")]
        assert ledger.entries() == []

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


class TestSeeds:
    """An owner's seed is stated, that of a meta-estimator is announced, and strict mode refuses both."""

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


class TestFailedFit:
    def test_a_huge_private_value_raises_no_warning(self):
        huge = X.copy()
        huge[100:103] = [[1.7e308, 1.7e308], [1.7e308, -1.7e308], [-1.7e308, 1.7e308]]
        assert declared().fit(huge, Y).privacy_spent_.private


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
