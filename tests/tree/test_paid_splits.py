# SPDX-License-Identifier: BSD-3-Clause
"""Central trees whose splits are paid for: budget, charge, statement, sources, checkpoints, audits."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skprivate import DPTreeClassifier, PrivacyLedger
from skprivate.audit import audit_epsilon, sensitivity_fuzz
from skprivate.exceptions import BudgetExceededError
from skprivate.noise import DiscreteLaplaceMechanism, check_entropy
from skprivate.noise._mechanisms import NoisyMax
from skprivate.rounds import TableSource, fit_rounds
from skprivate.tree._rows import NoisyHistogram
from skprivate.tree._splits import (
    MOST_LEVELS,
    ROWS_FOR_A_PUBLIC_ROW,
    PaidTreeMechanism,
    SplitBudget,
    automatic_levels,
    selection_noise,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(4000, 3))
Y = ((X[:, 0] > 0.3) ^ (X[:, 1] > 0.6)).astype(int)
PERSONS = np.repeat(np.arange(1000), 4)
FEW = np.arange(4000) < 40
BOX = {"bounds": (0, 1), "classes": [0, 1]}
NAMES = ["a", "b", "c"]


def paid(epsilon=1.0, **parameters):
    return DPTreeClassifier(epsilon, **{**BOX, **parameters})


class TestBudget:
    @settings(max_examples=100, deadline=None)
    @given(
        st.one_of(st.floats(1e-6, 1e6), st.fractions(Fraction(1, 10**6), 10**6)),
        st.floats(0.01, 0.99),
        st.integers(0, 12),
        st.integers(1, 50),
    )
    @example(Fraction(1, 3), 0.7, 12, 7)
    @example(1e-6, 0.01, 12, 50)
    @example(1e6, 0.99, 12, 1)
    def test_adds_up_to_epsilon_at_most(self, epsilon, share, n_levels, rows_per_unit):
        epsilon = Fraction(epsilon)
        budget = SplitBudget.divide(epsilon, Fraction(share), n_levels, rows_per_unit)
        assert len(budget.level_epsilons) == n_levels
        leaves = NoisyHistogram(budget.leaf_epsilon, 4, 2, rows_per_unit)
        # What the noise of every level and of the leaves costs really, as fractions.
        costs = [selection_noise(one, rows_per_unit).epsilon for one in budget.level_epsilons]
        assert costs == list(budget.level_epsilons)
        total = sum(costs, leaves.epsilon)
        assert epsilon * (1 - Fraction(1, 2**30)) < total <= epsilon
        assert sum(costs) <= epsilon * Fraction(share)
        whole = PaidTreeMechanism(budget, leaves)
        assert whole.epsilon == total
        assert (whole.sensitivity, whole.noise_scale) == (leaves.sensitivity, leaves.noise_scale)

    def test_deeper_levels_get_half_as_much_again(self):
        levels = SplitBudget.divide(Fraction(19), Fraction(1, 2), 3, 1).level_epsilons
        np.testing.assert_allclose([float(one) for one in levels], [2, 3, 4.5], rtol=1e-12)

    def test_levels_grow_with_information(self):
        epsilon = Fraction(1, 2)
        found = [
            automatic_levels(n, epsilon) for n in (1, 2, 50, 100, 10**3, 10**4, 10**5, 10**6, 10**9, 10**300)
        ]
        assert found == sorted(found)
        assert found[0] == 0
        assert found[-1] == MOST_LEVELS
        # .6 (log2(5000) - 5) = 4.37, and of five rows a person 2.98.
        assert (automatic_levels(10**4, epsilon), automatic_levels(10**4, epsilon, 5)) == (4, 3)
        assert automatic_levels(100, Fraction(1, 10**400)) == 0

    @pytest.mark.parametrize(("n_public", "rule"), [(0, "private"), (200, "private"), (400, "max-edge")])
    def test_public_rows_choose_the_splits_where_they_are_many(self, n_public, rule):
        # 15 private rows times epsilon for a public row: 3800 and 3600 of them at epsilon 1.
        is_public = np.arange(4000) < n_public
        assert ROWS_FOR_A_PUBLIC_ROW == 15
        assert paid(max_depth=2).fit(X, Y, is_public=is_public).rule_ == rule

    @pytest.mark.parametrize("parameters", [{"split_share": 0}, {"rule": "random"}, {"prune": "paper"}])
    def test_who_wants_no_paid_splits_gets_none(self, parameters):
        tree = paid(**parameters).fit(X, Y)
        assert tree.rule_ == "random"
        assert tree.privacy_spent_.epsilon == 1

    def test_a_share_is_paid_for_with_many_public_rows_too(self):
        tree = paid(split_share=0.5, max_depth=2).fit(X, Y, is_public=np.arange(4000) < 2000)
        assert tree.rule_ == "private"
        assert tree.public_counts_.sum() == 2000


class TestStatement:
    def test_what_is_claimed(self):
        spent = paid(Fraction(3, 4), max_depth=3).fit(X, Y).privacy_spent_
        assert (spent.relation, spent.deployment, spent.private) == ("replace-one", "curator", True)
        assert Fraction(3, 4) * (1 - Fraction(1, 2**30)) < spent.epsilon <= Fraction(3, 4)
        assert "report-noisy-max of splits, 3 levels at epsilon 0.525 together" in spent.mechanism
        assert (spent.unprotected["depth"], spent.unprotected["leaves"]) == ("at most 3", "at most 8")
        assert spent.unprotected["private rows"] == 4000
        # The leaves get .3 of it.
        assert float(spent.noise_scale) == pytest.approx(2 / 0.225)

    def test_persons_cost_as_many_times_the_noise(self):
        one = paid(max_depth=2, max_rows_per_group=4).fit(X, Y).privacy_spent_
        four = paid(max_depth=2, max_rows_per_group=4).fit(X, Y, groups=PERSONS).privacy_spent_
        assert (one.unit, four.unit, four.max_rows_per_unit) == ("row", "group", 4)
        assert (four.sensitivity, one.sensitivity) == (8, 2)
        assert float(four.noise_scale / one.noise_scale) == pytest.approx(4)

    @pytest.mark.parametrize("case", ["covered", "point", "no levels", "few public rows"])
    def test_the_whole_cost_is_charged_once(self, tmp_path, case):
        ledger = PrivacyLedger(tmp_path / "one.ledger", epsilon=1)
        parameters, rows, labels, options = {}, X, Y, {}
        if case == "point":
            # The box is that of the public rows, which are all the same.
            parameters, options = {"bounds": None, "max_depth": 2}, {"is_public": FEW}
        elif case == "no levels":
            rows, labels = X[:30], Y[:30]
        elif case == "few public rows":
            options = {"is_public": FEW}
        tree = paid(0.75, ledger=ledger, random_state=None, **parameters)
        if case == "point":
            rows = np.where(FEW[:, np.newaxis], 0.5, X)
        tree.fit(rows, labels, **options)
        (entry,) = ledger.entries()
        assert entry.epsilon == tree.privacy_spent_.epsilon <= Fraction(3, 4)
        assert tree.rule_ == "private"
        assert (tree.n_leaves_ == 1) == (case in ("point", "no levels"))
        with pytest.raises(BudgetExceededError):
            tree.fit(rows, labels, **options)
        assert len(ledger.entries()) == 1

    def test_a_refusal_leaves_nothing(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "one.ledger", epsilon=0.5)
        tree = paid(0.75, ledger=ledger)
        with pytest.raises(BudgetExceededError):
            tree.fit(X, Y)
        assert not [name for name in vars(tree) if name.endswith("_")]
        assert ledger.entries() == []

    def test_an_epsilon_that_cannot_be_realised_costs_nothing(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "one.ledger")
        with pytest.raises(ValueError, match="too small"):
            paid(1e-13, max_depth=3, ledger=ledger).fit(X, Y)
        assert ledger.entries() == []


CASES = {
    "covered": ({}, None, None),
    "persons": ({"max_rows_per_group": 2}, PERSONS, None),
    "few public rows": ({}, None, FEW),
}


def fit_both(tree, groups, public, **options):
    """Return the fit to rows in memory and that to a source of tables of the same rows."""
    frame = pd.DataFrame(X, columns=NAMES).assign(ill=Y)
    fitted = DPTreeClassifier(**tree.get_params()).fit(frame[NAMES], Y, is_public=public, groups=groups)
    private = frame if public is None else frame[~public]
    names = {"features": NAMES, "target": "ill"}
    if groups is not None:
        private, names = private.assign(person=groups), {**names, "groups": "person"}
    tables = [private[:1700], private[1700:]]
    if groups is not None:
        names["groups_within_tables"] = True
        tables = [private[:2000], private[2000:]]
    known = None if public is None else (frame[public][NAMES], Y[public])
    return fitted, fit_rounds(tree, TableSource(tables, **names), public=known, **options)


def assert_same(one, other):
    assert one.partition_ == other.partition_
    for name in ("report_counts_", "public_counts_", "leaf_proba_", "leaf_errors_", "base_proba_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.privacy_spent_ == other.privacy_spent_


class TestSources:
    @pytest.mark.parametrize("case", sorted(CASES))
    def test_a_source_gives_the_bits_of_fit(self, case):
        parameters, groups, public = CASES[case]
        fitted, of_source = fit_both(paid(random_state=3, **parameters), groups, public)
        assert fitted.rule_ == "private"
        assert fitted.n_leaves_ > 2
        assert_same(fitted, of_source)

    def test_a_run_that_was_stopped_goes_on(self, tmp_path, monkeypatch):
        from skprivate.rounds._plans.cells import CellsPlan

        tree, ledger = paid(random_state=3), PrivacyLedger(tmp_path / "one.ledger")
        tree.ledger = ledger
        count = CellsPlan.sums

        def die(self, rows):
            raise InterruptedError

        # The splits are chosen and the leaves are not counted when it stops.
        monkeypatch.setattr(CellsPlan, "sums", die)
        with pytest.raises(InterruptedError):
            fit_both(tree.set_params(ledger=None), None, None)
        source = TableSource([(X[:1700], Y[:1700]), (X[1700:], Y[1700:])])
        with pytest.raises(InterruptedError):
            fit_rounds(tree.set_params(ledger=ledger), source, checkpoint=tmp_path / "run")
        assert len(ledger.entries()) == 1
        monkeypatch.setattr(CellsPlan, "sums", count)
        resumed = fit_rounds(tree, source, checkpoint=tmp_path / "run")
        assert len(ledger.entries()) == 1
        assert_same(resumed, paid(random_state=3).fit(X, Y))


class TestLearning:
    def test_finds_an_interaction_that_random_splits_miss(self):
        # Seeded; both labels are nearly as frequent.
        scores = [paid(4.0, split_share=share, random_state=0).fit(X, Y).score(X, Y) for share in ("auto", 0)]
        assert scores[0] > 0.9

    def test_no_split_where_there_is_too_little(self):
        tree = paid(0.1, random_state=0).fit(X[:200], Y[:200])
        assert tree.n_leaves_ == 1
        np.testing.assert_allclose(tree.predict_proba(X[:3]), np.tile(tree.base_proba_, (3, 1)), atol=1e-3)


class TestAudit:
    def test_the_fuzz_sees_the_selection_and_the_leaves(self):
        # Both parts within what they may cost: .7 and .3 of epsilon.
        fuzz = sensitivity_fuzz(paid(1.5, max_depth=2))
        assert fuzz.passed
        assert 0.45 + 0.4 < float(fuzz.loss) <= 1.5

    @pytest.mark.parametrize("place", ["the selection", "the leaves"])
    def test_too_little_noise_is_refuted(self, place, monkeypatch):
        right = DiscreteLaplaceMechanism.from_scale

        def less(scale, sensitivity):
            return right(scale / 4, sensitivity // 4 if place == "the selection" else sensitivity)

        if place == "the selection":
            honest = NoisyMax.__init__
            monkeypatch.setattr(
                NoisyMax,
                "__init__",
                lambda self, mechanism: honest(self, less(mechanism.scale, mechanism.sensitivity)),
            )
        else:
            from skprivate.tree import NoisyHistogram

            randomize = NoisyHistogram.randomize

            def too_little(self, values, entropy):
                self._mechanism = less(self.noise_scale, self.sensitivity)
                return randomize(self, values, entropy)

            monkeypatch.setattr(NoisyHistogram, "randomize", too_little)
        assert not sensitivity_fuzz(paid(1.5, max_depth=2)).passed

    def test_half_the_noise_of_choices_is_counted(self):
        """Two tables that differ in one row: it spoils one candidate, or the other, by nearly a row."""
        epsilon, n = 1.5, 60_000
        honest = selection_noise(epsilon)
        scores = np.array([[-1023, 0], [0, -1023]])
        bounds = []
        for mechanism in (honest, DiscreteLaplaceMechanism.from_scale(honest.scale / 2, honest.sensitivity)):
            chosen = [
                NoisyMax(mechanism).randomize(np.tile(row, (n, 1)), check_entropy(k))
                for k, row in enumerate(scores)
            ]
            # Seeded. The bound holds for 99.9 of 100 pairs of draws.
            bounds.append(audit_epsilon(chosen[1], chosen[0], event=lambda draws: draws == 0).epsilon)
        assert 1.0 < bounds[0] <= epsilon < bounds[1]
