# SPDX-License-Identifier: BSD-3-Clause
"""Whole logistic fits on neighbours: replayed outputs, the exact loss, audits, and planted bugs."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from skprivate import DPLogisticRegression, config_context
from skprivate.audit._epsilon import gaussian_lower_bound
from skprivate.linear_model._logistic import schedule
from tests.linear_model.replays import FALSE_ALARM, UNIT, count_hits, exact_loss, half_the_noise, recording_of
from tests.marks import slow_unless

EPSILON = Fraction(3, 2)
GAUSSIAN = {"mechanism": "gaussian", "delta": 1e-6}

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")


def record(model, X, y, groups, script=None):
    """Fit in strict mode, where no row makes a fit fail."""

    def fit():
        with config_context(strict=True, allow_seeds=True):
            return model.fit(X, y, groups=groups)

    return recording_of(fit, script)


# Extra rows of one person: two features and a label, usable or not.
FAR_ROWS = [(1, 1, "b"), (-1, 1, "a"), (1e300, -1e300, "b"), (np.nan, np.inf, "?"), (5e-324, "text", None)]


def table(extra, grouped, n=30):
    """Some ordinary rows, then extra ones, all of one person."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (n, 2)).astype(object).tolist() + [list(row[:2]) for row in extra]
    y = rng.choice(["a", "b"], n).tolist() + [row[2] for row in extra]
    return X, y, np.r_[np.arange(n), np.full(len(extra), n)] if grouped else None


@pytest.mark.parametrize("mechanism", [{"mechanism": "laplace"}, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"x_norm": 1.0},
        {"max_rows_per_group": 3},
        # The curvature is released.
        {"epsilon": 2000.0},
        {"classes": ["a", "b", "c", "d"]},
    ],
    ids=str,
)
def test_neighbours_differ_in_nothing_but_the_exact_integers(mechanism, relation, options):
    """The same outputs on neighbours: the same object and the same warnings, at a loss within the budget."""
    grouped = "max_rows_per_group" in options
    settings = {"epsilon": EPSILON, "bounds": (-1, 1), "classes": ["a", "b"], **mechanism, **options}
    model = DPLogisticRegression(**settings, relation=relation, random_state=0)
    count, rng = (3 if grouped else 1), np.random.default_rng(5)
    for _ in range(4):
        here, there = (FAR_ROWS[i] for i in rng.choice(len(FAR_ROWS), size=2, replace=False))
        # A person with fewer rows; nobody at all, where that makes neighbours.
        rest = [] if relation == "add-remove" else [there]
        recording, _, said = record(model, *table([here] * count, grouped))
        mine, spent = pickle.dumps(model), model.privacy_spent_
        other, _, said_too = record(model, *table(rest, grouped), recording.outputs)
        assert all(map(np.array_equal, (p.scales for p in recording.plans), (p.scales for p in other.plans)))
        assert 0 < exact_loss(recording, other) <= (spent.rho or spent.epsilon)
        assert mine == pickle.dumps(model)
        assert said == said_too
        assert (model.release_.curvature is not None) is ("epsilon" in options)


# So many that the noise leaves a variance of about 1/4, and so few that there is no curvature.
N = 150


def steered_pair(mechanism, bug=None):
    """Recordings of a pair whose outputs led to a steep line between them, and the model.

    Standards and gradients are handed out: mean 0, variance 1/4, and the line through the radius at which
    features count most; on its two sides residuals are -1 and 1, for rows that are alike.
    """
    model = DPLogisticRegression(EPSILON, bounds=(-1, 1), classes=[0, 1], random_state=0, **mechanism)
    if bug:
        bug()
    exponent = model._plan((-np.ones(1), np.ones(1)), 2, N, grouped=False).moments_exponent
    # Twice the count of the second class, and moments.
    first = [np.array([N // 2]) * UNIT] * 2 + [np.array([0, N * 4**exponent // 4])]
    _, fitted, _ = record(model, *pair_table(1), first + [np.zeros(2, np.int64)] * 99)
    standards = fitted.release_.standards
    side = np.sqrt(standards.radius**2 - 1) if mechanism else standards.radius - 1
    line = np.array([-side, 1.0]) * 2e18
    script = first + [line.astype(np.int64)] * 99
    edge = side * standards.scale[0]
    tables = pair_table(edge + 1e-3, 0), pair_table(edge - 1e-3, 1)
    here, there = (record(model, *rows, script)[0] for rows in tables)
    return here, there, model


def pair_table(x, label=0):
    rng = np.random.default_rng(4)
    return np.r_[rng.uniform(-1, 1, N - 1), x][:, None], np.r_[rng.integers(0, 2, N - 1), label], None


def half_the_sensitivity(monkeypatch):
    full = schedule.sensitivity_of_unit
    monkeypatch.setattr(
        schedule,
        "sensitivity_of_unit",
        lambda one, rows, *, squared=False: full(one, rows, squared=squared) / (4 if squared else 2),
    )


PLANTED = {"right": None, "half the noise": half_the_noise, "half the sensitivity": half_the_sensitivity}


@pytest.fixture(params=slow_unless({"half the noise"}, PLANTED))
def bug(request, monkeypatch):
    """Run a test with the right code (None) and with each bug; it is planted when called."""
    plant = PLANTED[request.param]
    return plant and (lambda: plant(monkeypatch))


@pytest.mark.statistical
def test_audit_of_laplace_noise(epsilon_lower_bound, bug):
    """All releases of one fit; a right one fails with a probability below `FALSE_ALARM`, seeded."""
    trials = 500_000
    here, there, _ = steered_pair({}, bug)
    loss = exact_loss(here, there)
    # The loss is spread over rounds: few outputs show all of it.
    hits = count_hits(here, there, trials, 0.7 * float(loss), np.random.default_rng(15))
    bound = epsilon_lower_bound(*hits, trials, confidence=1 - FALSE_ALARM)
    print(f"loss {float(loss):.3f}, {hits}, epsilon >= {bound:.3f}")
    if not bug:
        assert 0.75 * EPSILON < loss <= EPSILON
    assert bound > EPSILON if bug else 0.5 < bound <= loss


@pytest.mark.statistical
def test_audit_of_gaussian_noise(bug):
    """Two Gaussians at the distance mu = sqrt(2 rho): one event on both tells mu from below."""
    trials = 20_000
    here, there, model = steered_pair(GAUSSIAN, bug)
    hits = count_hits(here, there, trials, 0.0, np.random.default_rng(16))
    bound = gaussian_lower_bound(tuple(hits), (trials, trials), 1 - FALSE_ALARM)
    claimed = np.sqrt(2 * float(model.privacy_spent_.rho))
    print(f"{hits}, mu >= {bound:.3f}, claimed {claimed:.3f}")
    if not bug:
        assert 0.75 * model.privacy_spent_.rho < exact_loss(here, there) <= model.privacy_spent_.rho
    assert bound > claimed if bug else 0.4 * claimed < bound <= claimed
