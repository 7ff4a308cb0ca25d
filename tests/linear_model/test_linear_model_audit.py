# SPDX-License-Identifier: BSD-3-Clause
"""Whole fits on neighbours: the exact loss, replayed outputs, black-box audits, and planted bugs."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from skprivate import DPLogLocationScaleRegressor, DPSEVRegressor, MomentAccumulator
from skprivate.audit._epsilon import gaussian_lower_bound
from skprivate.linear_model._censored import rounds as censored
from skprivate.linear_model._fit import SurvivalRows
from skprivate.linear_model._moments import released_moments as moment_release
from skprivate.linear_model._moments import rounds
from tests.linear_model.replays import FALSE_ALARM, count_hits, exact_loss, half_the_noise, recording_of
from tests.marks import slow, slow_unless

EPSILON = Fraction(3, 2)

pytestmark = [
    pytest.mark.statistical,
    pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning"),
]


def record(model, rows, script=None):
    """Fit; return the recording, and the warnings."""
    recording, _, said = recording_of(lambda: model.fit(*rows[:2], groups=rows[2]), script)
    return recording, said


def table(structured, extra, grouped, n=30, seed=3):
    """Some ordinary rows, then extra ones as (x_1, x_2, time, event), all of one person."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.uniform(-1, 1, (n, 2)), *(np.array([row[:2]], dtype=float) for row in extra)])
    life = np.exp(np.r_[0.4 * X[:n, 0] + 0.2 * rng.gumbel(size=n), [np.log(row[2]) for row in extra]])
    event = np.r_[rng.random(n) < 0.4, [bool(row[3]) for row in extra]].astype(bool)
    groups = np.r_[np.arange(n), np.full(len(extra), n)] if grouped else None
    if not structured:
        return X, life, groups
    y = np.empty(len(X), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = event, life
    return X, y, groups


def make(**options):
    settings = {"bounds_X": (-1, 1), "bounds_y": (np.exp(-1), np.e), "random_state": 0, **options}
    if settings.get("mechanism") == "gaussian":
        settings["delta"] = 1e-6
    return DPLogLocationScaleRegressor(epsilon=EPSILON, **settings)


FAR_ROWS = [
    (1, 1, np.e, True),
    (-1, 1, 1e-300, True),
    (1e300, -1e300, 1e308, False),
    (5e-324, -0.0, 5e-324, True),
    (1, 0, np.e, False),
    (0, -1, np.exp(-1), False),
]


# Without those that float32 cannot hold.
FAR_FLOATS = [(1, 1, np.e, True), (-1, 1, 1e-300, True), (1e30, -1e30, 1e308, True), (0, -1, 1.0, True)]


class TestReplay:
    """Neighbours, the same outputs: the same object and the same warnings, at a loss within the budget."""

    @pytest.mark.parametrize("structured", [False, True])
    @pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
    @pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
    @pytest.mark.parametrize(
        "options", [{}, {"max_iter": 3}, {"x_norm": 1.0}, {"max_rows_per_group": 3}], ids=str
    )
    def test_neighbours_differ_in_nothing_but_the_exact_integers(
        self, structured, mechanism, relation, options
    ):
        grouped = "max_rows_per_group" in options
        model = make(mechanism=mechanism, relation=relation, **options)
        count = 3 if grouped else 1
        rng = np.random.default_rng(5)
        for _ in range(3):
            here, there = (FAR_ROWS[i] for i in rng.integers(len(FAR_ROWS), size=2))
            # A person with fewer rows; nobody at all, where that makes neighbours.
            rest = [] if relation == "add-remove" else [there] * (1 if grouped else count)
            recording, said = record(model, table(structured, [here] * count, grouped))
            mine = pickle.dumps(model)
            other, said_too = record(model, table(structured, rest, grouped), recording.outputs)
            spent = model.privacy_spent_
            loss = exact_loss(recording, other)
            assert all(
                map(np.array_equal, (p.scales for p in recording.plans), (p.scales for p in other.plans))
            )
            assert loss <= (spent.epsilon if mechanism == "laplace" else spent.rho)
            assert mine == pickle.dumps(model)
            assert said == said_too

    @pytest.mark.parametrize("structured", [False, True])
    def test_planted_leaks_are_seen(self, structured, monkeypatch):
        """An object that holds the exact sums, or noise of half the scale."""
        model = make(relation="add-remove")
        extra = [(1, 1, np.e, True)]

        def loss():
            recording, _ = record(model, table(structured, extra, False))
            mine = pickle.dumps(model)
            other, _ = record(model, table(structured, [], False), recording.outputs)
            return exact_loss(recording, other), mine == pickle.dumps(model)

        assert loss()[1]
        noise_scales = moment_release.noise_scales
        for module in (moment_release, rounds, censored):
            monkeypatch.setattr(
                module,
                "noise_scales",
                lambda kind, weights, codes, s, e: noise_scales(kind, weights, codes, s / 2, e),
            )
        assert loss()[0] > EPSILON
        monkeypatch.setattr(type(model), "_after_release", lambda self: setattr(self, "n_", exact[-1]))
        prepare = SurvivalRows.prepare

        def leaking(rows, *rest):
            exact.append(float(rows.target.time_on_model_scale.sum()))
            return prepare(rows, *rest)

        exact = []
        monkeypatch.setattr(SurvivalRows, "prepare", leaking)
        assert not loss()[1]


class TestAccumulatorReplay:
    """Weighted rows, at the cap and below it, and rows of one person: as `TestReplay`."""

    @pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
    @pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
    @pytest.mark.parametrize("x_norm", [None, 1.0])
    @pytest.mark.parametrize(("cap", "rows_per_group"), [(0.3, None), (7.5, 3), (2.0**-20, 2), (None, 2)])
    def test_neighbours_differ_in_nothing_but_the_exact_integers(
        self, mechanism, relation, x_norm, cap, rows_per_group
    ):
        def release(extra, script=None):
            moments = MomentAccumulator(
                (-np.ones(2), np.ones(2)),
                (np.exp(-1), np.e),
                1000,
                mechanism=mechanism,
                x_norm=x_norm,
                max_sample_weight=cap,
                max_rows_per_group=rows_per_group,
            )
            X, y, _ = table(False, [row for row, _ in extra], False)
            weights = np.r_[np.ones(len(X) - len(extra)), [weight for _, weight in extra]]
            moments.update(
                X.astype(np.float32), y, sample_weight=None if cap is None else weights, batch_id=0
            )
            model = make(mechanism=mechanism, relation=relation, bounds_X=None, bounds_y=None)
            return recording_of(lambda: moments.release(model), script)

        count, rng = rows_per_group or 1, np.random.default_rng(6)
        for _ in range(4):
            here, there = (FAR_FLOATS[i] for i in rng.integers(len(FAR_FLOATS), size=2))
            low, high = rng.choice([0.0, 0.5, 1.0, 1e300], size=2) * (cap or 1.0)
            recording, model, _ = release([(here, high)] * count)
            rest = [] if relation == "add-remove" else [(there, low)] * count
            other, again, _ = release(rest, recording.outputs)
            spent = model.privacy_spent_
            assert exact_loss(recording, other) <= (spent.epsilon if mechanism == "laplace" else spent.rho)
            assert pickle.dumps(model) == pickle.dumps(again)


def half_the_sensitivity(monkeypatch):
    for module in (moment_release, rounds, censored):
        sensitivity_of_unit = module.sensitivity_of_unit
        monkeypatch.setattr(
            module,
            "sensitivity_of_unit",
            lambda one, rows, *, squared=False, full=sensitivity_of_unit: (
                full(one, rows, squared=squared) / (4 if squared else 2)
            ),
        )


PLANTED = {"right": None, "half the noise": half_the_noise, "half the sensitivity": half_the_sensitivity}


@pytest.fixture(params=slow_unless({"half the noise"}, PLANTED))
def bug(request, monkeypatch):
    """Run a test with the right code (None) and with each bug; it is planted when called."""
    plant = PLANTED[request.param]
    return plant and (lambda: plant(monkeypatch))


@pytest.mark.slow
# At half the sensitivity the scales, and so the hits, are the same; `TestReplay` sees it.
@pytest.mark.parametrize("bug", ["right", "half the noise"], indirect=True)
def test_audit_of_moments(epsilon_lower_bound, bug):
    """Whole fits, judged by their public result; the pair has the full loss, half in either moment."""
    if bug:
        bug()
    trials, generator = 1200, np.random.default_rng(14)
    model = DPSEVRegressor(EPSILON, max_iter=1, bounds_X=(-1, 1), bounds_y=(-1, 1), random_state=generator)
    hits = []
    for y in (1.0, -1.0):
        matrices = np.array([model.fit(np.ones((2, 1)), [y, 0.0]).release_.matrix[1] for _ in range(trials)])
        # The sums of y and of x y are 1, or -1 on the neighbour; 4 is all that they can tell.
        evidence = (np.abs(matrices + 1.0) - np.abs(matrices - 1.0))[:, [0, 2]].sum(axis=1)
        hits.append(int((evidence >= 2.6).sum()))
    bound = epsilon_lower_bound(*hits, trials, confidence=1 - FALSE_ALARM)
    print(f"{hits}, epsilon >= {bound:.3f}")
    assert bound > EPSILON if bug else 0.3 < bound <= EPSILON


def record_pair(structured, bug, **options):
    """Tapes of two neighbours with the same outputs, those of the right code; and the model.

    An early event has the largest gradient of all rows, and at a small clip nearly the largest curvature.
    """
    model = make(relation="add-remove", max_iter=2, hazard_clip=0.1, **options)
    here, there = (table(structured, extra, False) for extra in ([(1, 1, np.exp(-1), True)], []))
    outputs = record(model, here)[0].outputs
    if bug:
        bug()
    return record(model, here, outputs)[0], record(model, there, outputs)[0], model


@pytest.mark.slow
def test_audit_of_a_censored_fit(epsilon_lower_bound, bug):
    """All releases of one fit, the rounds around the parameters that its own outputs chose."""
    # The loss is spread over many values: few outputs show most of it.
    trials = 250_000
    # Of this seed all rounds are where the row moves the sums nearly as far as it can, with the bugs too.
    recording, other, _ = record_pair(True, bug, random_state=18)
    loss = exact_loss(recording, other)
    hits = count_hits(recording, other, trials, 0.65 * float(loss), np.random.default_rng(15))
    bound = epsilon_lower_bound(*hits, trials, confidence=1 - FALSE_ALARM)
    print(f"loss {float(loss):.3f}, {hits}, epsilon >= {bound:.3f}")
    if not bug:
        assert 0.9 * EPSILON < loss <= EPSILON
    assert bound > EPSILON if bug else 0.6 < bound <= loss


@pytest.mark.parametrize("structured", [False, slow(True)])
def test_audit_of_gaussian_noise(structured, bug):
    """Two Gaussians at the distance mu = sqrt(2 rho): one event on both tells mu from below."""
    # Half the noise makes mu .376 at this pair of tables, and .322 is claimed.
    trials = 250_000
    recording, other, model = record_pair(structured, bug, mechanism="gaussian")
    hits = count_hits(recording, other, trials, 0.0, np.random.default_rng(16))
    bound = gaussian_lower_bound(tuple(hits), (trials, trials), 1 - FALSE_ALARM)
    claimed = np.sqrt(2 * float(model.privacy_spent_.rho))
    print(f"{hits}, mu >= {bound:.3f}, claimed {claimed:.3f}")
    assert bound > claimed if bug else 0.4 * claimed < bound <= claimed
