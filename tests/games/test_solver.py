# SPDX-License-Identifier: BSD-3-Clause
"""The solver: its rounds against the equations, convergence, what it stores, charges, claims and refuses."""

import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import uniform
from sklearn.exceptions import ConvergenceWarning

from skprivate import PrivacyLedger, config_context, privacy_report
from skprivate.exceptions import (
    BudgetExceededError,
    PrivacyLeakError,
    PrivacyLeakWarning,
    PrivacyUnboundedError,
    UtilityWarning,
)
from skprivate.games import PrivateNashSolver, QuadraticAggregativeGame, TypePrior, VaccinationGame
from skprivate.games._rounds import PlayerStates, SolverState
from tests.marks import needs_callbacks

# These runs show what a round does, at whatever epsilon.
pytestmark = pytest.mark.filterwarnings("ignore:One player's epsilon", "ignore:The noise in every player")
RING = (np.eye(5) + np.roll(np.eye(5), 1, axis=0) + np.roll(np.eye(5), -1, axis=0)) / 3
R = np.array([[-0.6, 0.3], [0.1, 0.0], [0.4, -0.2], [0.9, 0.5], [-0.1, -0.9]])


@pytest.fixture
def game():
    return QuadraticAggregativeGame(P=1.0, Q=0.5, r=R, r_bounds=(-1, 1))


@pytest.fixture
def herd():
    rng = np.random.default_rng(0)
    B = np.array([np.diag(row) for row in rng.uniform(0.5, 1.0, (10, 2))])
    return VaccinationGame(rng.uniform(0.1, 0.5, (10, 2)), B)


def solver(**parameters):
    return PrivateNashSolver(**{"max_iter": 50, "random_state": 0, **parameters})


@pytest.mark.parametrize("weights", [None, RING, lambda k: RING if k % 3 else 1.5 * RING - np.eye(5) / 2])
@pytest.mark.parametrize("algorithm", ["wang_nedic", "ye"])
def test_rounds_follow_the_equations(game, algorithm, weights):
    steps = {"step_size": 0.2, "consensus_step": 0.3}
    fitted = solver(algorithm=algorithm, weights=weights, store="all", **steps).fit(game)
    x = v = np.zeros((5, 2))
    for k, o in enumerate(fitted.observations_):
        L = np.full((5, 5), 0.2) if weights is None else weights(k) if callable(weights) else weights
        assert np.allclose(fitted.history_["strategies"][k], x, atol=1e-12)
        assert np.allclose(fitted.history_["estimates"][k], v, atol=1e-12)
        moved = x - 0.2 * ((1 + 0.5 / 5) * x + 0.5 * v + R)
        v = (v + 0.3 * (L @ o - o) if algorithm == "wang_nedic" else L @ o) + moved - x
        x = moved
    assert np.allclose(fitted.strategies_, x, atol=1e-12)
    assert np.allclose(fitted.estimates_, v, atol=1e-12)
    assert np.allclose(fitted.aggregate_, x.mean(axis=0))
    assert fitted.n_iter_ == 50


@pytest.mark.parametrize("bounds", [None, (-1, 1), "simplex"])
def test_the_noise_has_the_scale_of_its_round(bounds):
    # 5 players, 2 coordinates, 2,000 rounds: the mean of |noise| / M_k over 20,000 draws is 1 with a standard
    # error of 1 / sqrt(20,000); a deviation of 6 of them has a probability below 1e-8.
    game = QuadraticAggregativeGame(1.0, 0.5, R, bounds, r_bounds=(-1, 1))
    fitted = solver(noise_scale=(1.0, 0.01, 1.0), max_iter=2000, store="all").fit(game)
    noise = fitted.observations_ - fitted.history_["estimates"][:-1]
    ratios = np.abs(noise) / fitted.noise_scales_[:, None, None]
    assert abs(ratios.mean() - 1) < 6 / math.sqrt(20_000)
    assert abs(np.sign(noise).mean()) < 6 / math.sqrt(20_000)
    # Every round has noise, from the first on: 10 draws within a thousandth of the scale have a probability
    # below 1e-29.
    assert (ratios.max(axis=(1, 2)) > 1e-3).all()


def test_wang_nedic_reaches_the_unique_equilibrium_without_noise(herd):
    with pytest.warns(PrivacyLeakWarning, match="no noise"):
        fitted = PrivateNashSolver(noise_scale=0).fit(herd)
    assert herd.regret(fitted.strategies_) <= 0.01
    assert np.abs(fitted.strategies_ - herd.solve()).max() < 0.1
    assert fitted.residual_ == herd.residual(fitted.strategies_) < 0.02


@pytest.mark.slow
def test_error_with_noise(game):
    # The mean error over 8 seeds, which are fixed: about .02 with M = 1 and .2 with M = 10.
    equilibrium = game.solve()

    def error(scale, seed):
        fitted = solver(noise_scale=scale, max_iter=1000, random_state=seed).fit(game)
        return np.abs(fitted.strategies_ - equilibrium).mean()

    assert error(0.0001, 0) < 1e-3
    small, large = (np.mean([error(scale, seed) for seed in range(8)]) for scale in (1.0, 10.0))
    assert 0.01 < small < 0.05
    assert 0.1 < large < 0.5


def test_a_start_is_one_for_all_players_or_one_for_each(game):
    assert np.array_equal(solver().fit(game, x0=[0.5, -0.5]).start_, np.tile([0.5, -0.5], (5, 1)))
    pair = QuadraticAggregativeGame(1.0, 0.5, [0.1, 0.2], r_bounds=(0, 1))
    assert solver().fit(pair, x0=[0.3, 0.4]).start_.tolist() == [[0.3], [0.4]]


def test_partial_fit_survives_a_pickle_and_refuses_another_game(game):
    fitted = pickle.loads(pickle.dumps(solver().fit(game)))
    assert fitted.partial_fit(game).n_iter_ == 100
    with pytest.raises(ValueError, match="public"):
        fitted.partial_fit(QuadraticAggregativeGame(2.0, 0.5, R, r_bounds=(-1, 1)))
    with pytest.raises(ValueError, match="noise_scale differs"):
        fitted.set_params(noise_scale=2.0).partial_fit(game)
    assert fitted.n_iter_ == 100


@pytest.mark.parametrize(
    "changed",
    [{"algorithm": "ye"}, {"clip_norm": 0.001}, {"step_size": 0.001}, {"consensus_step": 0.5}],
    ids=lambda changed: next(iter(changed)),
)
def test_partial_fit_refuses_parameters_under_which_the_first_rounds_leak_less(game, changed):
    fitted = PrivateNashSolver(max_iter=10).fit(game)
    before = fitted.privacy_guarantee(criterion="dp").epsilon
    with pytest.raises(ValueError, match=f"{next(iter(changed))} differs"):
        fitted.set_params(**changed).partial_fit(game)
    assert fitted.privacy_guarantee(criterion="dp").epsilon == before


def test_a_resumed_run_does_not_repeat_the_noise_of_its_seed(game):
    fitted = solver(max_iter=10, store="all").fit(game).partial_fit(game)
    noise = fitted.observations_ - fitted.history_["estimates"][:-1]
    assert np.abs(noise[:10] - noise[10:]).min() > 1e-6


class Recording:
    """A callback that counts the parts of a run, and presses Ctrl-C after some of them."""

    def __init__(self, interrupt_after=None):
        self.begun = self.parts = 0
        self.interrupt_after = interrupt_after

    def setup(self, estimator, context):
        self.begun += 1

    def teardown(self, estimator, context):
        self.begun -= 1

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.parts += 1
        if self.parts == self.interrupt_after:
            raise KeyboardInterrupt


@needs_callbacks
def test_rounds_paid_for_before_an_interrupt_are_not_charged_again(game, tmp_path):
    ledger = PrivacyLedger(tmp_path / "games.ledger")
    fitted = solver(ledger=ledger).set_callbacks(Recording(interrupt_after=29))
    with pytest.warns(ConvergenceWarning):
        fitted.fit(game)
    fitted.set_callbacks().set_params(max_iter=21).partial_fit(game)
    assert fitted.n_iter_ == 50
    assert len(ledger.entries()) == 1


def test_the_ledger_is_charged_once_for_every_round(game, tmp_path):
    ledger = PrivacyLedger(tmp_path / "games.ledger")
    fitted = solver(ledger=ledger, max_iter=10).fit(game)
    fitted.partial_fit(game).partial_fit(game)
    assert len(ledger.entries()) == 3
    total = sum((entry.epsilon for entry in ledger.entries()), Fraction(0))
    assert total == fitted.privacy_spent_.epsilon
    bound = fitted.privacy_guarantee(view="individual", criterion="dp").epsilon
    assert bound <= total <= bound * (1 + 1e-9)


def test_a_ledger_that_comes_late_is_charged_for_all_rounds(game, tmp_path):
    ledger, other = (PrivacyLedger(tmp_path / name) for name in ("one.ledger", "other.ledger"))
    fitted = solver(max_iter=10).fit(game)
    for late in (ledger, other):
        fitted.set_params(ledger=late).partial_fit(game)
        assert late.entries()[-1].epsilon == fitted.privacy_spent_.epsilon
    fitted.set_params(ledger=None).partial_fit(game).set_params(ledger=other).partial_fit(game)
    assert other.entries()[-1].epsilon == fitted.privacy_spent_.epsilon


def test_public_bounds_of_the_rounds_before_cannot_be_made_narrower():
    def make(width, bounds=None):
        return QuadraticAggregativeGame(1.0, 0.5, R, bounds, r_bounds=width)

    boxed = solver(max_iter=10).fit(make((-1, 1), (-1, 1)))
    smaller = QuadraticAggregativeGame(1.0, 0.5, R[:3], (-1, 1), r_bounds=(-1, 1))
    for other in (make((-1e-9, 1e-9), (-1, 1)), make((-1, 1), (-1e-9, 1e-9)), make(None, (-1, 1)), smaller):
        with pytest.raises(ValueError, match="public"):
            boxed.partial_fit(other)
    assert boxed.partial_fit(make((-1, 1), (-1, 1))).n_iter_ == 20


def test_an_exhausted_ledger_leaves_the_rounds_before(game, tmp_path):
    ledger = PrivacyLedger(tmp_path / "games.ledger", epsilon=30)
    fitted = solver(ledger=ledger, max_iter=10).fit(game)
    before = fitted.strategies_
    with pytest.raises(BudgetExceededError):
        fitted.set_params(max_iter=1000).partial_fit(game)
    assert fitted.strategies_ is before
    assert fitted.n_iter_ == 10
    assert len(ledger.entries()) == 1


def test_privacy_spent(game):
    fitted = PrivateNashSolver(max_iter=20).fit(game)
    spent = fitted.privacy_spent_
    assert spent.private
    assert spent.relation == "local"
    assert spent.unit == "player"
    assert spent.deployment == "simulated"
    assert spent.unprotected["rounds"] == 20
    seeded = solver(max_iter=20).fit(game).privacy_spent_
    assert not seeded.private
    assert "seed" in seeded.reasons[0]
    # One seeded call is enough, whatever follows.
    mixed = solver(max_iter=20).fit(game).set_params(random_state=None).partial_fit(game).privacy_spent_
    assert not mixed.private
    assert mixed.noise_source == "seeded"


def test_the_object_is_never_to_be_published(game):
    report = privacy_report(PrivateNashSolver(max_iter=20).fit(game))
    assert not report.private
    assert "must never be published" in report.uncovered[0].reason
    assert "0.6" not in repr(solver().fit(game)) + repr(game)


@pytest.mark.parametrize("private", [("A", "B"), "B"])
def test_private_slopes_without_clipping_are_unbounded(private, tmp_path):
    game = VaccinationGame(np.full((4, 2), 0.3), np.tile(np.eye(2), (4, 1, 1)), private=private)
    fitted = solver(algorithm="ye")
    with pytest.warns(PrivacyLeakWarning, match="not private"):
        fitted.fit(game)
    assert not fitted.privacy_spent_.private
    assert fitted.privacy_spent_.effective_epsilon == math.inf
    for view in ("entire", "individual"):
        for criterion in ("pml", "corollary1", "dp"):
            with pytest.raises(PrivacyUnboundedError):
                fitted.privacy_guarantee(TypePrior([[0.0, 0.0], [1.0, 1.0]], [0.5, 0.5]), view, criterion)
    with config_context(strict=True, allow_seeds=True), pytest.raises(PrivacyUnboundedError):
        fitted.fit(game)
    with pytest.raises(PrivacyUnboundedError):
        solver(algorithm="ye", ledger=PrivacyLedger(tmp_path / "l")).fit(game)
    clipped = solver(algorithm="ye", clip_norm=0.5).fit(game)
    assert 0 < clipped.privacy_guarantee(criterion="dp").epsilon < math.inf
    assert clipped.privacy_guarantee(criterion="dp").status == "upper_bound"


def test_unbounded_private_vectors_are_unbounded():
    game = QuadraticAggregativeGame(1.0, 0.5, R)
    with pytest.warns(PrivacyLeakWarning, match="not private"):
        fitted = solver().fit(game)
    # A prior of bounded support is all that its leakage needs.
    assert fitted.privacy_guarantee(uniform(-1, 2)).status == "exact"
    with pytest.raises(PrivacyUnboundedError):
        fitted.privacy_guarantee(criterion="dp")


def test_weak_guarantees_and_noise_beyond_the_set_warn(game):
    with pytest.warns(UserWarning, match="which protects hardly anything"):
        PrivateNashSolver().fit(game)
    boxed = QuadraticAggregativeGame(1.0, 0.5, R, (-1, 1), r_bounds=(-1, 1))
    with pytest.warns(UtilityWarning, match="no better than the public start"):
        solver(noise_scale=100.0).fit(boxed)
    with pytest.warns(UtilityWarning, match="as if all players were alike"):
        solver(noise_scale=100.0, last_step="response").fit(boxed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solver(noise_scale=0.1, last_step="response").fit(boxed)


def test_players_do_not_answer_what_sets_have_cut_off_noise():
    # Firms that sell into one steep market: noise moves them to the sides of their sets, whose mean is the
    # start. Responses to that mean, taken as the aggregate, have a regret above the start's.
    unit = np.random.default_rng(0).uniform(1, 3, 100)
    firms = QuadraticAggregativeGame(1.0, 2.0, unit - 10, bounds=(0, 10))
    made = PrivateNashSolver.from_epsilon(4.0, firms, rounds=5).set_params(random_state=0)
    with pytest.warns(UtilityWarning, match="every player's estimate"):
        fitted = made.fit(firms)
    assert firms.regret(fitted.strategies_) < 0.02 * firms.regret(fitted.start_)


def test_responses_to_the_public_estimate_are_nearer_than_what_rounds_leave():
    wishes = np.random.default_rng(0).uniform(-4, 0, size=300)
    game = QuadraticAggregativeGame(1.0, 0.5, wishes, bounds=(0, 4), r_bounds=(-4, 0))
    found = [
        solver(noise_scale=1.0, last_step=step, max_iter=20).fit(game) for step in ("update", "response")
    ]
    assert np.array_equal(found[0].broadcast_means_, found[1].broadcast_means_)
    assert found[1].public_aggregate_ == pytest.approx(found[1].broadcast_means_[-5:].mean(axis=0))
    assert game.regret(found[1].strategies_) < 0.1 * game.regret(found[0].strategies_)
    again = found[1].partial_fit(game)
    assert again.n_iter_ == 40
    assert again.broadcast_means_.shape == (40, 1)


@pytest.mark.parametrize(("criterion", "prior"), [("dp", None), ("pml", uniform(-1, 2))])
def test_noise_follows_from_epsilon(game, criterion, prior):
    made = PrivateNashSolver.from_epsilon(1.5, game, criterion=criterion, prior=prior, rounds=5)
    guarantee = made.fit(game).privacy_guarantee(prior, "individual", criterion)
    assert 1.49 < guarantee.epsilon <= 1.5
    assert made.max_iter == 5


def test_growing_noise_warns_with_ye_alone(game):
    with pytest.warns(UtilityWarning, match="growing noise"):
        solver(algorithm="ye", noise_scale=(1, 1, 1)).fit(game)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solver(noise_scale=(1, 1, 1)).fit(game)
        solver(algorithm="ye", noise_scale=(1, 0, 1)).fit(game)


def test_games_that_are_not_monotone_warn():
    with pytest.warns(UtilityWarning, match="not monotone"):
        solver(max_iter=5).fit(QuadraticAggregativeGame(-1.0, 0.5, R, r_bounds=(-1, 1)))


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_warnings_name_the_users_line(game, method):
    growing = {"algorithm": "ye", "noise_scale": (1, 1, 1), "step_size": 0.1}
    for parameters, category in ((growing, UtilityWarning), ({"noise_scale": 0}, PrivacyLeakWarning)):
        with pytest.warns(category) as caught:
            getattr(solver(max_iter=3, **parameters), method)(game)
        assert {warning.filename for warning in caught} == {__file__}


def test_a_run_that_diverges_is_told(game):
    fitted = solver().fit(game)
    before = fitted.strategies_
    with pytest.raises(OverflowError, match="diverges"), pytest.warns(PrivacyLeakWarning):
        fitted.set_params(step_size=50.0, max_iter=500).fit(game)
    assert fitted.strategies_ is before


def test_a_second_fit_starts_anew_and_is_charged_in_full(game, tmp_path):
    ledger = PrivacyLedger(tmp_path / "games.ledger")
    fitted = solver(ledger=ledger, max_iter=10, random_state=0).fit(game)
    assert not fitted.privacy_spent_.private
    assert fitted.set_params(random_state=None).fit(game).privacy_spent_.private
    first, second = (entry.epsilon for entry in ledger.entries())
    assert first == second == fitted.privacy_spent_.epsilon


def test_strict_mode_travels_with_a_pickle():
    game = QuadraticAggregativeGame(1.0, 0.5, R)
    with config_context(strict=True):
        packed = pickle.dumps(solver())
    with pytest.raises(PrivacyLeakError):
        pickle.loads(packed).fit(game)


def test_a_round_that_was_cut_short_is_kept_once():
    run = SolverState.initial(np.zeros((2, 1)), None, "all")
    for value in (1.0, 2.0):
        run._record(0, np.full((2, 1), value), PlayerStates.initial(np.full((2, 1), value)))
    assert {name: [float(step[0, 0]) for step in path] for name, path in run.history.items()} == {
        "observations": [2.0],
        "strategies": [0.0, 2.0],
        "estimates": [0.0, 2.0],
    }
