# SPDX-License-Identifier: BSD-3-Clause
"""The recorder and the sensitivity fuzz: exact losses, nothing left behind, nothing seen in normal runs."""

import functools
import threading
from fractions import Fraction

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from skprivate import (
    BoundsScaler,
    DPNormalLLSRegressor,
    DPSEVRegressor,
    DPTreeClassifier,
    LocallyPrivateTreeClassifier,
)
from skprivate.audit import AuditCase, record_releases, sensitivity_fuzz
from skprivate.audit._observation.recorder import run_within
from skprivate.audit._observation.source_code import first_difference, trace_lines
from skprivate.audit._search import as_epsilon_or_rho
from skprivate.noise import DiscreteGaussianMechanism, DiscreteLaplaceMechanism
from skprivate.randomizers import KRRRandomizer, LaplaceRandomizer
from tests.marks import slow

pytestmark = pytest.mark.usefixtures("short_searches")
TREE = {"max_depth": 2, "bounds": (0, 1), "classes": [0, 1]}


class TestRecorder:
    def test_takes_down_integers_scales_and_outputs(self):
        with record_releases() as recording:
            laplace = DiscreteLaplaceMechanism(0.5, 2).randomize([1, 2, 3], 0)
            gaussian = DiscreteGaussianMechanism.from_sigma(5).randomize([4], 0)
        assert [release.exact.tolist() for release in recording.releases] == [[1, 2, 3], [4]]
        assert [release.scale for release in recording.releases] == [4, 5]
        assert np.array_equal(recording.outputs[0], laplace)
        assert np.array_equal(recording.outputs[1], gaussian)

    def test_a_local_randomizer_is_one_release_whatever_it_is_made_of(self):
        with record_releases() as recording:
            LaplaceRandomizer(1.0, 4).randomize([0, 7], 0)
            KRRRandomizer(1.0, 4).simulate([0, 7], 0)
        assert [release.exact.tolist() for release in recording.releases] == [[0, 7], [0, 7]]
        assert [release.scale for release in recording.releases] == [None, None]

    def test_draws_what_would_have_been_drawn(self):
        mechanism = DiscreteLaplaceMechanism(0.5)
        with record_releases():
            recorded = mechanism.randomize([1, 2, 3], 0)
        assert np.array_equal(recorded, mechanism.randomize([1, 2, 3], 0))

    def test_hands_out_outputs_and_says_when_it_ends(self):
        mechanism = DiscreteLaplaceMechanism(0.5)
        with record_releases([np.array([7])]) as recording:
            assert mechanism.randomize([1]).tolist() == [7]
            assert not recording.diverged
            mechanism.randomize([1])
        assert recording.diverged

    def test_nothing_stays_behind(self):
        before = DiscreteLaplaceMechanism.randomize, KRRRandomizer.simulate, LaplaceRandomizer.simulate
        with pytest.raises(KeyError), record_releases():
            raise KeyError
        after = DiscreteLaplaceMechanism.randomize, KRRRandomizer.simulate, LaplaceRandomizer.simulate
        assert before == after
        with record_releases() as recording:
            pass
        DiscreteLaplaceMechanism(1.0).randomize([1])
        assert not recording.releases

    def test_other_threads_are_not_recorded(self):
        with record_releases() as recording:
            thread = threading.Thread(target=DiscreteLaplaceMechanism(1.0).randomize, args=([5],))
            thread.start()
            thread.join()
        assert not recording.releases
        assert recording.drawn_in_other_threads

    def test_another_audit_in_the_same_process_is_not_mistaken_for_threads_of_the_fit(self):
        def record():
            with record_releases() as recording:
                thread = threading.Thread(target=run_within, args=(60, lambda: mechanism.randomize([5])))
                thread.start()
                thread.join()
            return recording.drawn_in_other_threads

        mechanism = DiscreteLaplaceMechanism(1.0)
        assert not run_within(60, record)
        assert not record()

    def test_third_parties_are_recorded_too(self):
        class Own(DiscreteLaplaceMechanism):
            def randomize(self, values, random_state=None):
                return super().randomize(values, random_state)

        with record_releases() as recording:
            Own(1.0).randomize([5])
        assert [release.exact.tolist() for release in recording.releases] == [[5]]


class TestLoss:
    def pair(self, mechanism, one, other):
        with record_releases() as first:
            mechanism.randomize(one)
        with record_releases() as second:
            mechanism.randomize(other)
        return first.loss(second)

    def test_laplace_is_exact(self):
        mechanism = DiscreteLaplaceMechanism.from_scale(Fraction(7, 2))
        assert self.pair(mechanism, [1, 5], [2, 3]) == (Fraction(6, 7), 0)

    def test_gaussian_is_rho(self):
        assert self.pair(DiscreteGaussianMechanism.from_sigma(3), [1, 5], [2, 3]) == (0, Fraction(5, 18))

    def test_of_reports(self):
        krr = KRRRandomizer(1.5, 4)
        assert self.pair(krr, [1, 2, 3], [1, 2, 4]) == (krr.epsilon, 0)
        laplace = LaplaceRandomizer(1.5, 4)
        # Two cells with label 1 move four entries; the label alone moves one.
        assert self.pair(laplace, [1], [3])[0] == laplace.epsilon
        assert self.pair(laplace, [0], [1])[0] == laplace.epsilon / 4

    def test_other_forms_have_no_loss(self):
        with pytest.raises(ValueError, match="released different things"):
            self.pair(DiscreteLaplaceMechanism(1.0), [1], [1, 2])


@pytest.mark.usefixtures("short_searches")
@pytest.mark.usefixtures("short_searches")
class TestFuzz:
    @pytest.mark.parametrize(
        ("estimator", "loss"),
        [
            slow(DPTreeClassifier(1.5, split_share=0, **TREE), 1.5),
            (LocallyPrivateTreeClassifier(1.5, **TREE), 1.5),
            (DPSEVRegressor(1.5, bounds_X=(-1, 1), bounds_y=(-1, 1)), 1.47),
            slow(DPSEVRegressor(1.5, bounds_X=(-1, 1), bounds_y=(-1, 1), relation="add-remove"), 1.5),
        ],
        ids=repr,
    )
    def test_the_extremes_are_found(self, estimator, loss):
        fuzz = sensitivity_fuzz(estimator)
        assert fuzz.passed
        assert float(fuzz.loss) == pytest.approx(loss, rel=0.025)

    @pytest.mark.slow
    def test_rho(self):
        model = DPNormalLLSRegressor(
            1.5, bounds_X=(-1, 1), bounds_y=(-1, 1), mechanism="gaussian", delta=1e-6
        )
        fuzz = sensitivity_fuzz(model)
        assert (fuzz.measure, fuzz.passed) == ("rho", True)
        assert 0.9 < fuzz.loss / fuzz.claimed <= 1

    def test_too_large_a_sensitivity_is_named(self, monkeypatch):
        right = DiscreteLaplaceMechanism.from_scale
        monkeypatch.setattr(
            "skprivate.tree._rows.DiscreteLaplaceMechanism.from_scale",
            lambda scale, sensitivity: right(scale / 2, sensitivity // 2),
        )
        fuzz = sensitivity_fuzz(DPTreeClassifier(1.0, **TREE))
        assert not fuzz.passed
        assert "REFUTED (" in str(fuzz)

    def test_nothing_to_record(self):
        class Silent(DPTreeClassifier):
            def _make_randomizer(self, *args):
                randomizer = super()._make_randomizer(*args)
                randomizer.randomize = lambda values, entropy: np.zeros(
                    (randomizer.n_cells, 2), dtype=np.int64
                )
                return randomizer

        with pytest.raises(ValueError, match="no noise of Silent came from skprivate"):
            sensitivity_fuzz(Silent(1.0, split_share=0, **TREE))

    def test_noise_of_other_threads_is_missed_aloud(self):
        class Threaded(DPTreeClassifier):
            def fit(self, X, y):
                thread = threading.Thread(target=super().fit, args=(X, y))
                thread.start()
                thread.join()
                DiscreteLaplaceMechanism(1.0).randomize([0])
                return self

        with pytest.raises(ValueError, match="in other threads"):
            sensitivity_fuzz(Threaded(1.0, **TREE))

    @pytest.mark.slow
    def test_data_of_ones_own(self):
        X = np.array([[0.1, 0.9], [0.6, 0.2], [0.9, 0.9]])
        fuzz = sensitivity_fuzz(
            DPTreeClassifier(1.0, **TREE), {"X": X, "y": [0, 1, 1], "is_public": np.arange(3) < 1}
        )
        assert fuzz.passed


class TestNeighbours:
    def test_only_the_last_private_person_changes(self):
        X = np.linspace(0, 1, 12).reshape(6, 2)
        rows = {"X": X, "y": [0, 1, 0, 1, 0, 1], "is_public": np.arange(6) > 3, "groups": list("aabbcc")}
        case = AuditCase.of(DPTreeClassifier(max_rows_per_group=2, **TREE), rows)
        for data in case.data_sets:
            changed = (data["X"] != X).any(axis=1)
            assert not changed[[0, 1, 4, 5]].any()
        for data in case.unrelated_data_sets:
            assert np.array_equal(data["X"][4:], X[4:])
            assert not np.array_equal(data["X"][:4], X[:4])

    def test_label_privacy_changes_labels_alone(self):
        case = AuditCase.of(LocallyPrivateTreeClassifier(protect="label", classes=["a", "b"]))
        first = case.data_sets[0]
        assert all(
            np.array_equal(data["X"], first["X"]) for data in (*case.data_sets, *case.unrelated_data_sets)
        )
        assert len({data["y"][-1] for data in case.data_sets}) == 3

    def test_add_remove_takes_a_row_away(self):
        model = DPSEVRegressor(1.5, bounds_X=(-1, 1), bounds_y=(-1, 1), relation="add-remove")
        case = AuditCase.of(model)
        assert len(case.data_sets[0]["X"]) == len(case.data_sets[1]["X"]) - 1
        assert all(i == 0 for i, _ in case.neighbours)


class TestTrace:
    def branch(self, flag):
        if flag:
            return 1
        return 2

    def test_a_branch_is_named(self):
        one, other, again = (
            trace_lines(self, functools.partial(self.branch, flag)) for flag in (True, False, True)
        )
        assert one != other
        assert first_difference(one, other).startswith("test_search.py:")
        assert one == again

    def test_foreign_code_is_not_traced(self):
        assert trace_lines(np.zeros(1), lambda: np.linalg.inv(np.eye(2))) == []


def test_pure_losses_count_as_half_their_square_where_rho_is_claimed():
    loss = Fraction(2), Fraction(1, 3)
    assert as_epsilon_or_rho(loss, True) == Fraction(7, 3)
    assert as_epsilon_or_rho(loss, False) == float("inf")
    assert as_epsilon_or_rho((Fraction(2), Fraction(0)), False) == 2


def test_the_domain_of_a_pipeline_is_that_of_what_predicts():
    tree = DPTreeClassifier(bounds=(3, 4), classes=[5, 6])
    case = AuditCase.of(make_pipeline(make_pipeline(BoundsScaler((3, 4)), tree)))
    X, y = case.data_sets[0]["X"][:-1], case.data_sets[0]["y"]
    assert 3 <= X.min() < X.max() <= 4
    assert set(y) == {5, 6}
