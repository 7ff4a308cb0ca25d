# SPDX-License-Identifier: BSD-3-Clause
"""Everything that games, sets, priors, guarantees and the solver refuse, with the message."""

from functools import partial

import networkx as nx
import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import NotFittedError

from skprivate import PrivacyLedger
from skprivate.exceptions import PrivacyUnboundedError
from skprivate.games import (
    AggregativeGame,
    Box,
    ContinuousPrior,
    JointPrior,
    MediatedNashSolver,
    PrivateNashSolver,
    QuadraticAggregativeGame,
    SampledPrior,
    Simplex,
    TwoTypePrior,
    TypePrior,
    VaccinationGame,
)
from skprivate.games._communication_weights import check_weights, make_mixing
from skprivate.games._games.sets import ProjectionSet, check_constraint
from skprivate.games._leakage.broadcast_sensitivity import player_distances
from skprivate.games._leakage.guarantees import privacy_guarantee
from skprivate.games._leakage.priors import as_prior
from skprivate.games._plan import check_schedule, hyperbolic_schedule, make_grid
from skprivate.games._round_kernels import fill_broadcast
from tests.games.conftest import HIDDEN, make_mechanism

pytestmark = pytest.mark.filterwarnings("ignore:The noise in every player")
N, n = 6, 2
R = np.zeros((N, n))
RING = (np.eye(N) + np.roll(np.eye(N), 1, axis=0) + np.roll(np.eye(N), -1, axis=0)) / 3
SPLIT = np.kron(np.eye(2), np.full((3, 3), 1 / 3))


def rows(what, call, *cases, error=ValueError):
    """One row of the table a case: what `call` is given, the message, and the error if it is another one."""
    for given, match, *other in cases:
        yield pytest.param(partial(call, given), *(other or [error]), match, id=f"{what}: {match}")


# ------------------------------------------------------------------ what each row calls
def schedule(value):
    check_schedule(value, "step_size", 4, hyperbolic_schedule, positive=True)


def grid(scales_and_reach):
    make_grid(np.array(scales_and_reach[0]), scales_and_reach[1])


def weights(value):
    check_weights(value, N, symmetric=True)


def changing_weights(value):
    make_mixing(lambda k: value if k == 5 else RING, N, 12, symmetric=True, connected_within=None)


def broadcast(changes):
    private, noise = np.zeros((3, 2)), np.zeros(6, dtype=np.int64)
    given = {"private": private, "public": private, "limit": 1.0, "noise": noise, "out": private.copy()}
    given |= changes
    fill_broadcast(given["private"], given["public"], 1.0, given["limit"], given["noise"], given["out"])


def box(corners):
    Box(*corners)


def constraint(bounds):
    check_constraint(bounds, 4, 2)


def projection(function_and_diameter):
    ProjectionSet.checked(*function_and_diameter, 3, 2)


def disc(z):
    return z / np.maximum(1.0, np.linalg.norm(z, axis=1, keepdims=True))


def gradient(x, aggregate):
    return x + 0.5 * aggregate


def cost(x, aggregate):
    return (x**2).sum(axis=1) / 2 + 0.5 * (x * aggregate).sum(axis=1)


def game(parameters):
    given = {"pseudo_gradient": gradient, "n_players": N, "n_dims": n, **parameters}
    return AggregativeGame(given.pop("pseudo_gradient"), **given)


def game_from_cost(parameters):
    AggregativeGame.from_cost(**{"cost": cost, "n_players": N, "n_dims": n, **parameters})


def strategies(x, method="residual"):
    getattr(AggregativeGame(gradient, N, n, cost=cost), method)(x)


def solve(parameters):
    AggregativeGame(gradient, N, n).solve(**parameters)


def quadratic(parameters):
    QuadraticAggregativeGame(**{"P": 1.0, "Q": 0.5, "r": [1.0], **parameters})


def vaccination(parameters):
    VaccinationGame(**{"A": [0.1, 0.2], "B": [1.0, 1.0], **parameters})


def moving(x, aggregate):
    x += 1.0
    return x


def call_late(_):
    late = AggregativeGame(lambda x, v: moving(x, x) if (x > 5).any() else x - 1.0, N, n)
    late.pseudo_gradient(np.full((N, n), 9.0), np.ones((N, n)))


def regret_outside(_):
    AggregativeGame(gradient, N, n, cost=cost, bounds=(0, 1)).regret(np.full((N, n), 2.0))


def draw(size, rng):
    return rng.uniform(size=(size, 2))


def prior_in_a_game(prior, **changes):
    bounds = (np.zeros((3, 2)), np.ones((3, 2)))
    prior.check(make_mechanism(**{"n_dims": 2, "private_bounds": bounds, **changes}))


def sampled(parameters):
    SampledPrior(**{"draw": draw, "bounds": (0, 1), **parameters})


def guarantee(arguments):
    privacy_guarantee(make_mechanism(), *arguments)


def distances(changes):
    player_distances(make_mechanism(**{"algorithm": "wang_nedic", **changes}))


def mediated(parameters):
    given = {"bounds": (-1, 1), **parameters}
    game = given.pop("game", QuadraticAggregativeGame(1.0, 0.5, R, given.pop("bounds")))
    fit = {name: given.pop(name) for name in ("x0",) if name in given}
    MediatedNashSolver(**given).fit(game, **fit)


def from_epsilon(parameters):
    PrivateNashSolver.from_epsilon(1.0, QuadraticAggregativeGame(1.0, 0.5, R), **parameters)


def last_scale(scale):
    distances({"noise_scales": np.array([*[1.0] * 7, scale])})


PAIRS = [1, 0, 3, 2, 5, 4]
MIXED = [
    lambda x, mean: x + x.mean(axis=0),
    lambda x, mean: x + 0.3 * x[PAIRS],
    lambda x, mean: x + 0.3 * mean[PAIRS],
    lambda x, mean: x + (x - 0.5) * (x[::-1] - 0.5),  # nothing where the own strategy is 1/2
    lambda x, mean: x * (1 + x[::-1]),  # nothing where the own strategy is 0
    lambda x, mean: x * x.max(),
    lambda x, mean: x * x.min(),
    lambda x, mean: np.cumsum(x, axis=0),
    lambda x, mean: np.cumsum(x[::-1], axis=0)[::-1],
    lambda x, mean: 1e-200 * (x + x.mean(axis=0)),
]
MIXING = [
    ({"pseudo_gradient": function, "bounds": bounds}, "row i of the result must depend")
    for function in MIXED
    for bounds in (None, (0, 1), (0, 1e-6))
]
CALLS = []
RANDOM = np.random.default_rng(0)


def remembering(x, mean):
    CALLS.append(1)
    return x * (1 + 0.01 * len(CALLS))


def noisy(x, mean):
    return x + 1e-6 * RANDOM.normal(size=x.shape)


#: A dense matrix of many players, which is refused before it is read.
DENSE = np.broadcast_to(1 / 20_000, (20_000, 20_000))

TABLE = [
    *rows("schedule", schedule,
        ([1.0, 2.0], "each of 4 rounds"),
        (0.0, "above 0"),
        ((1.0, 0.0, 1.0), "finite"),
        (lambda k: np.nan, "finite"),
        (np.ones((4, 2)), "function of the round", TypeError),
    ),
    *rows("grid", grid, *((case, "orders of magnitude") for case in (
        ([1.0, 2.0**38], 1.0), ([1.0], 2.0**38)
    ))),
    *rows("weights", weights,
        (2 * RING, "doubly stochastic: a row"),
        (np.outer(np.ones(N), [0.5, *[0.1] * 5]), "doubly stochastic: a column"),
        (SPLIT, "connect all players"),
        (RING[:5, :5], "shape"),
        (np.where(RING > 0, np.nan, RING), "finite"),
        (RING * 3 - np.roll(RING, 3, axis=1) * 2, "at least 0"),
        ((np.eye(N) + np.roll(np.eye(N), 1, axis=1)) / 2, "symmetric"),
        (nx.path_graph(5), "6 nodes"),
        (nx.disjoint_union(nx.path_graph(3), nx.path_graph(3)), "connect all players"),
        (nx.DiGraph([(i, i + 1) for i in range(5)]), "undirected"),
        ("ring", "matrix of numbers", TypeError),
    ),
    *rows("many players", lambda value: check_weights(value, 20_000, symmetric=True),
        (DENSE, "sparse matrix or a graph"),
    ),
    *rows("changing weights", changing_weights,
        (2 * RING, "round 5, weights must be doubly stochastic"),
        (np.full((N, N), np.nan), "round 5, weights must be finite"),
        (np.roll(np.eye(N), 1, axis=0), "round 5, weights must be symmetric"),
        (np.eye(3), r"round 5, weights must have shape \(6, 6\)"),
        (nx.path_graph(3), "round 5, weights must be a graph of 6 nodes"),
        ("ring", "round 5, weights must be None, a matrix", TypeError),
    ),
    *rows("broadcast", broadcast,
        ({"public": np.zeros((2, 2))}, "must"),
        ({"noise": np.zeros(5, dtype=np.int64)}, "must"),
        ({"out": np.zeros((2, 2))}, "must"),
        ({"limit": 2.0**60}, "must"),
    ),
    *rows("box", box,
        ((1, 0), "above upper"),
        ((np.nan, 1), "NaN"),
        ((np.inf, np.inf), "infinity"),
        (([0, 0], [1, 1, 1]), "fit together"),
        ((np.zeros((2, 2, 2)), 1), "shape"),
        (("a", 1), "numbers", TypeError),
    ),
    *rows("bounds", constraint,
        (Box([0, 0, 0], 1), r"\(2,\) or \(4, 2\)"),
        (3, "pair", TypeError),
        ("disc", "pair", TypeError),
        (check_constraint("simplex", 4, 3), "3 coordinates"),
    ),
    *rows("simplex", Simplex, *((total, "total") for total in (0, np.inf, np.nan))),
    *rows("projection", projection,
        ((3, None), "callable", TypeError),
        ((lambda z: z[0], None), "shape"),
        ((lambda z: z * np.nan, None), "finite"),
        ((lambda z: z + 1, None), "leave its own results"),
        ((disc, -1.0), "diameter"),
        ((disc, [1.0, 2.0]), "diameter"),
        ((disc, 2.0), "diameter is too small: ProjectionSet"),
    ),
    *rows("game", game,
        *MIXING,
        ({"pseudo_gradient": 3}, "pseudo_gradient must be callable, not int", TypeError),
        ({"pseudo_gradient": lambda x, v: x[0]}, r"shape \(6, 2\).*shape \(2,\)"),
        ({"pseudo_gradient": lambda x, v: x * 1j}, "complex128"),
        ({"pseudo_gradient": lambda x, v: x + np.nan}, "finite"),
        ({"pseudo_gradient": lambda x, v: np.full(x.shape, np.inf)}, "finite"),
        ({"pseudo_gradient": remembering}, "the same numbers whenever it is given the same arguments"),
        ({"pseudo_gradient": noisy}, "the same numbers whenever it is given the same arguments"),
        ({"pseudo_gradient": moving}, "read-only"),
        ({"pseudo_gradient": lambda x, v: np.add(v, 1, out=v)}, "read-only"),
        ({"cost": lambda x, v: x.sum(axis=1) + v.sum()}, "cost: row i"),
        ({"cost": 3}, "cost must be callable", TypeError),
        ({"cost": gradient}, r"cost must return real numbers of shape \(6,\)"),
        ({"n_players": 0}, "n_players must be at least 1"),
        ({"n_dims": 0}, "n_dims"),
        ({"diameter": 2.0}, "goes with a projection"),
        ({"projection": disc, "bounds": (0, 1)}, "not both"),
        ({"bounds": (1, 0)}, "above"),
    ),
    *rows("late change", call_late, (None, "read-only")),
    *rows("strategies", strategies,
        (np.zeros((n, N)), "shape"),
        (np.full((N, n), np.nan), "finite"),
        ([["a", "b"]] * N, "real numbers"),
    ),
    *rows("regret", partial(strategies, method="regret"), (np.full((N, n), np.nan), "finite")),
    *rows("regret outside", regret_outside, (None, "constraint set")),
    *rows("no cost", game({}).regret, (R, "needs the players' costs")),
    *rows("solve", solve,
        ({"start": np.full((N, n), np.nan)}, "finite"),
        ({"tol": 0}, "tol"),
        ({"max_iter": -1}, "max_iter"),
    ),
    *rows("from_cost", game_from_cost,
        ({"cost": 3}, "cost must be callable, not int", TypeError),
        ({"gradient": 3}, "gradient must be callable, not int", TypeError),
        ({"own_effect": "yes"}, "own_effect must be True, False", TypeError),
        ({"own_effect": 1.5}, "numbers from 0 to 1"),
        ({"own_effect": [0.1, 0.2]}, "one for each of 6 players"),
        ({"n_players": 0}, "n_players"),
        ({"bounds": (1, 0)}, "above"),
        ({"cost": lambda x, mean: x[:, 0] + np.inf}, "finite.*player 0"),
        ({"cost": lambda x, mean: np.where(np.arange(len(x)) == 1, np.nan, x[:, 0])}, "player 1"),
        ({"cost": lambda x, mean: remembering(x, mean)[:, 0]}, "the same numbers whenever"),
        ({"cost": lambda x, mean: moving(x, mean)[:, 0]}, "read-only"),
        ({"diameter": 1.0}, "goes with a projection"),
        ({"gradient": lambda x, mean: x}, "must return a pair", TypeError),
        ({"gradient": lambda x, mean: (x[:, 0], x)}, r"two arrays of shape \(6, 2\); it returned \(6,\)"),
        ({"gradient": lambda x, mean: (x * 1j, x)}, "real numbers", TypeError),
    ),
    *rows("from_cost of", lambda kind: kind.from_cost(cost, N, n),
        (QuadraticAggregativeGame, r"use AggregativeGame\.from_cost"),
        (VaccinationGame, r"use AggregativeGame\.from_cost"),
        error=TypeError,
    ),
    *rows("check_gradient", lambda parameters: game({"cost": cost}).check_gradient(**parameters),
        ({"n_points": 0}, "n_points"),
        ({"random_state": "x"}, "random_state", TypeError),
    ),
    *rows("check_gradient", lambda _: game({}).check_gradient(), (None, "needs the players' costs")),
    *rows("quadratic", quadratic,
        ({"r": []}, "at least one player"),
        ({"r": 3.0}, "r must have shape"),
        ({"r": ["a"]}, "r must hold numbers", TypeError),
        ({"r": [np.nan]}, "r must be finite"),
        ({"P": np.inf}, "P must be finite"),
        ({"P": np.eye(3), "r": R}, r"P must be a number or have shape \(6,\)"),
        ({"Q": np.eye(3), "r": R}, "Q must be a number"),
        ({"Q": "x"}, "Q must hold numbers", TypeError),
        ({"P": [[1, 1], [0, 1]], "r": R}, "symmetric"),
        ({"private": "x"}, "private must be"),
        ({"r_bounds": 3}, "pair", TypeError),
        ({"r_bounds": (1, 0)}, "above"),
        ({"r_bounds": (0, np.inf)}, "r_bounds must be finite"),
        ({"r_bounds": ([0, 0, 0], 1)}, "r_bounds: each side"),
        ({"r_bounds": ("a", 1)}, "numbers", TypeError),
    ),
    *rows("vaccination", vaccination,
        ({"B": [1, 2, 3]}, "B must be a number or have shape"),
        ({"A": 0.1, "B": 1.0}, "A must have shape"),
        ({"cost": "printed"}, "cost must be"),
        ({"private": "r"}, "'A', 'B'"),
        ({"A_bounds": (1, 0)}, "A_bounds"),
        ({"bounds": "cube"}, "bounds", TypeError),
    ),
    *rows("prior", prior_in_a_game,
        (TypePrior([0, 1], [0.5, 0.5]), "coordinates"),
        (ContinuousPrior([stats.uniform()] * 3), "coordinates"),
        (TwoTypePrior([0, 1], 0.3, 0.6), "coordinates"),
        (JointPrior(np.zeros((1, 3)), [1]), "coordinates"),
        (SampledPrior(draw, ([0] * 3, [1] * 3)), "coordinates"),
        (TypePrior(np.zeros((2, 2, 2)), [0.5, 0.5]), "players"),
        (TypePrior(np.zeros((2, 2)), np.full((4, 2), 0.5)), "players"),
        (JointPrior(np.zeros((1, 4, 2)), [1]), "players"),
        (TypePrior([[0, 0], [1, 1.001]], [0.5, 0.5]), "leaves the bounds"),
        (ContinuousPrior(stats.uniform(0, 1.1)), "leaves the bounds"),
        (ContinuousPrior(stats.norm()), "leaves the bounds"),
        (JointPrior(np.full((1, 3, 2), -0.1), [1]), "leaves the bounds"),
        (TwoTypePrior([[0, 0], [0, 2]], 0.3, 0.6), "leaves the bounds"),
        (SampledPrior(draw, (0, 2)), "leaves the bounds"),
    ),
    *rows("prior of one", partial(prior_in_a_game, n_players=1),
        (TwoTypePrior([[0, 0], [1, 1]], 0.5, 0.5), "at least 2 players"),
    ),
    *rows("types", lambda given: TypePrior(*given),
        (([0, 1], [0.5, 0.5 + 2e-9]), "probabilities"),
        (([0, 1], [1.5, -0.5]), "probabilities"),
        (([0, 1], [0.5, np.nan]), "probabilities"),
        (([0, np.inf], [0.5, 0.5]), "types"),
        (([], []), "types|probabilities"),
        ((np.zeros((3, 2, 1)), np.full((2, 2), 0.5)), "types|probabilities"),
        ((np.zeros((1, 1, 2, 1)), [0.5, 0.5]), "types"),
        (([0, 1], np.full((1, 1, 2), 0.5)), "probabilities"),
        (([0, 1], ["0.5", "0.5"]), "probabilities must hold numbers", TypeError),
    ),
    *rows("profiles", lambda given: JointPrior(*given),
        ((np.zeros((2, 3)), [0.5, 0.6]), "probabilities"),
        ((np.zeros(3), [1, 0, 0]), "profiles"),
        ((np.zeros((1, 1, 1, 1)), [1]), "profiles"),
    ),
    *rows("two types", lambda given: TwoTypePrior(*given),
        (([0, 1], 0, 0.5), "alpha"),
        (([0, 1], np.nan, 0.5), "alpha"),
        (([0, 1], 0.5, 1.1), "alpha"),
        (([0, 1, 2], 0.5, 0.5), "types"),
    ),
    *rows("continuous", ContinuousPrior,
        *((given, "frozen continuous distribution") for given in (
            stats.poisson(3), stats.uniform, 3.0, [], [stats.norm(), "norm"], None
        )),
        (stats.beta([1, 2], 3), "no arrays"),
        ([stats.uniform(), stats.uniform([0, 1])], "no arrays"),
        error=TypeError,
    ),
    *rows("continuous", ContinuousPrior,
        (stats.uniform(0, -1), "outside of its range"),
    ),
    *rows("as_prior", as_prior, (stats.poisson(3), "prior must be"), (0.5, "prior must be"), error=TypeError),
    *rows("sampled", sampled,
        ({"draw": 3}, "draw", TypeError),
        ({"bounds": (0, np.inf)}, "bounds"),
        ({"n_samples": 1}, "n_samples"),
        ({"confidence": 1}, "confidence"),
    ),
    *rows("samples", lambda prior: prior.sample(3),
        (SampledPrior(lambda n, rng: rng.uniform(size=(n, 3)), (0, 0.5)), "outside the bounds"),
        (SampledPrior(draw, (0, 1), n_samples=50), "50 vectors of 3"),
        (SampledPrior(lambda n, rng: np.full((n, 3), np.nan), (0, 1)), "finite"),
    ),
    *rows("guarantee", guarantee,
        ((None, "both"), "view"),
        ((None, "entire", "ldp"), "criterion"),
        ((None,), "needs a prior"),
        ((0.5,), "prior must be", TypeError),
        ((TypePrior([[0, 0], [1, 1]], [0.5, 0.5]),), "coordinates"),
        ((None, "entire", "dp"), "bounds of the private vectors", PrivacyUnboundedError),
    ),
    *rows("totals", lambda given: Simplex(given[0], upper=given[1]).fit_to(2, 3),
        (([1, 2, 3], None), "total has 3 entries, the game has 2 players"),
        (([1, 0], None), "above 0, one number for each player"),
        (([[1, 2], [3, 4]], None), "above 0, one number for each player"),
        ((1.0, 0.0), "upper must be above 0"),
        (([1, 7], 2.0), "total of player 1 is above the sum"),
        ((1.0, [1.0, 1.0]), "upper must be a number or have shape"),
    ),
    *rows("responses", lambda given: AggregativeGame(gradient, N, n).respond(**given),
        ({"aggregate": np.zeros(3)}, "aggregate must hold finite numbers, of shape"),
        ({"aggregate": np.zeros(n), "conjecture": 1.5}, "conjecture must hold numbers from 0 to 1"),
        ({"aggregate": np.zeros(n), "reference": np.zeros((2, 2))}, "one row per player"),
    ),
    *rows("mediated", mediated,
        ({"game": R}, "must be an AggregativeGame", TypeError),
        ({"bounds": None}, "every player's set must be bounded"),
        ({"bounds": (1, 1)}, "in a single point there is nothing to choose"),
        ({"delta": 0}, "delta"),
        ({"epsilon": 0}, "epsilon"),
        ({"max_iter": 0}, "max_iter"),
        ({"x0": 5.0 * np.ones(n)}, "x0 must lie in the constraint set"),
    ),
    *rows("from epsilon", from_epsilon,
        ({}, "bounds of the private vectors", PrivacyUnboundedError),
        ({"view": "joint", "criterion": "pml"}, "view='joint' is for criterion='dp'"),
        ({"view": "other"}, "view"),
        ({"rounds": 0}, "rounds"),
        ({"view": "joint"}, "every player's set must be bounded"),
        ({"noise_scale": 5}, "noise_scale follows from epsilon"),
    ),
    *rows("no noise", last_scale, *((scale, "without noise") for scale in (0.0, np.inf, np.nan))),
    *rows("unbounded", distances,
        ({"private": HIDDEN}, "clip_norm"),
        ({"private": frozenset({"pseudo_gradient"}), "P": None, "Q": None}, "clip_norm"),
        ({"private": HIDDEN, "constraint": Box(-1.0, np.inf)}, "clip_norm"),
        ({"private": HIDDEN, "constraint": Box(-1.0, 1.0), "algorithm": "ye"}, "clip_norm"),
        error=PrivacyUnboundedError,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "match"), TABLE)
def test_refusals(call, error, match):
    with pytest.raises(error, match=match):
        call()


# ------------------------------------------------------------------ the solver, whose fits cost privacy
def lose(k):
    """Weights under which players 0 and 1 never hear of the others."""
    return SPLIT


FITS = [
    ({"algorithm": "other"}, {}, ValueError, "algorithm"),
    ({"max_iter": 0}, {}, ValueError, "max_iter"),
    ({"noise_scale": -1.0}, {}, ValueError, "noise_scale"),
    ({"step_size": 0.0}, {}, ValueError, "step_size"),
    ({"clip_norm": 0.0}, {}, ValueError, "clip_norm"),
    ({"store": "some"}, {}, ValueError, "store"),
    ({"connected_within": 0}, {}, ValueError, "connected_within"),
    ({"random_state": "x"}, {}, ValueError, "random_state"),
    ({"weights": 2 * RING}, {}, ValueError, "doubly stochastic"),
    ({"weights": np.eye(N)}, {}, ValueError, "connect all players"),
    ({"weights": lose}, {}, ValueError, "lose connection"),
    ({"weights": [RING] * 3}, {}, ValueError, "each of 5 rounds, and there are 3"),
    ({}, {"x0": 2.0 * np.ones((N, n))}, ValueError, "constraint set"),
    ({}, {"x0": np.zeros((4, 2))}, ValueError, "shape"),
    ({}, {"x0": np.full(2, np.nan)}, ValueError, "finite"),
    ({}, {"x0": ["0", "0"]}, TypeError, "x0 must hold numbers"),
    ({}, {"game": R}, TypeError, "AggregativeGame"),
    ({}, {"game": QuadraticAggregativeGame(1.0, 0.5, R, private="Q")}, PrivacyUnboundedError, "clip_norm"),
    ({"noise_scale": 0}, {}, ValueError, "noise"),
]


@pytest.mark.parametrize(("parameters", "given", "error", "match"), FITS)
@pytest.mark.filterwarnings("ignore::skprivate.exceptions.PrivacyLeakWarning")
def test_a_fit_that_is_refused_charges_nothing_and_keeps_the_fit_before(
    parameters, given, error, match, tmp_path
):
    ledger = PrivacyLedger(tmp_path / "games.ledger")
    played = QuadraticAggregativeGame(1.0, 0.5, R, bounds=Box(-1, 1), r_bounds=(-1, 1))
    fitted = PrivateNashSolver(max_iter=5).fit(played)
    before = fitted.strategies_
    with pytest.raises(error, match=match):
        fitted.set_params(ledger=ledger, **parameters).fit(**{"game": played, **given})
    assert not ledger.entries()
    assert fitted.strategies_ is before


def test_nothing_is_guaranteed_before_a_fit():
    with pytest.raises(NotFittedError):
        PrivateNashSolver().privacy_guarantee(stats.uniform(-1, 2))
