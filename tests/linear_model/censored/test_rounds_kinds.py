# SPDX-License-Identifier: BSD-3-Clause
"""Fits of intervals, of events that came earlier, and of rows with an entry, against maximum likelihood."""

import hashlib

import numpy as np
import pytest
from scipy import special
from scipy.optimize import minimize

from benchmarks.figures.life_data.censored import fit_censored
from skprivate.linear_model._censored.rounds import plan_censored
from skprivate.linear_model._distributions import LOGISTIC, NORMAL, SEV
from skprivate.linear_model._moments.released_moments import MomentWeights, Neighbours, unscale
from skprivate.noise._mechanisms import FitBudget
from skprivate.rounds._plans.moments import MomentGrid
from skprivate.rounds._rows import CODES, KINDS, PreparedRows
from tests.marks import slow_unless

DISTRIBUTIONS = [SEV, LOGISTIC, NORMAL]
GRID = MomentGrid(lower=-np.ones(3), upper=np.ones(3), target=(-5.0, 3.0), exponent=20)
COEF = np.array([0.6, -0.4, 0.2])
SIGMA = 0.5


def make_plan(epsilon, distribution, n_rows, observations=KINDS, **options):
    neighbours, budget = Neighbours(weights=MomentWeights(2, 1, 3)), FitBudget.of(epsilon, 0, "laplace")
    return plan_censored(
        GRID, distribution, budget, neighbours, n_rows=n_rows, observations=observations, **options
    )


def inspected(life, edges, rng):
    """Code, start and end of lives that are known between inspections."""
    edges = np.concatenate([[-np.inf], edges, [np.inf]])
    shift = rng.uniform(-0.3, 0.3, len(life))
    k = np.searchsorted(edges, life - shift)
    start, end = edges[k - 1] + shift, edges[k] + shift
    code = np.where(
        np.isinf(end), CODES["right"], np.where(np.isinf(start), CODES["left"], CODES["interval"])
    )
    return code.astype(np.uint8), start, np.where(np.isinf(end), start, end)


def simulated(kind, distribution, n=20_000, seed=3):
    """Rows of one kind among others: X, and code, start, end and entry on the scale of the model."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    life = X @ COEF + SIGMA * distribution.quantile(rng.uniform(size=n))
    code, start, end = np.ones(n, np.uint8), np.full(n, -np.inf), life.copy()
    entry = np.full(n, -np.inf)
    if kind in ("interval", "entry and interval"):
        code, start, end = inspected(life, [-1.2, -0.6, -0.2, 0.1, 0.4, 0.7], rng)
    if kind == "left":
        least, most = rng.uniform(-1, 0.2, n), rng.uniform(0.2, 1, n)
        code = np.where(life <= least, 2, np.where(life <= most, 1, 0)).astype(np.uint8)
        end = np.clip(life, least, most)
    if kind == "current status":
        end = rng.uniform(-1.5, 1.2, n)
        code = np.where(life <= end, 2, 0).astype(np.uint8)
    if kind.startswith("entry"):
        entry = rng.uniform(-1.5, 0.3, n)
    if kind == "entry":
        most = np.maximum(entry + 0.05, rng.uniform(-0.5, 1, n))
        code, end = (life <= most).astype(np.uint8), np.minimum(life, most)
    seen = (life > entry) & (end > entry)
    return X[seen], *(column[seen] for column in (code, start, end, entry))


def log_likelihood(parameters, rows, distribution):
    """Exact, of every row."""
    X, code, start, end, entry = rows
    slope = np.exp(-parameters[-1])
    location = parameters[0] + X @ parameters[1:-1]
    u, a, v = ((column - location) * slope for column in (end, start, entry))
    late = distribution.log_survival(u)
    first = np.where(code == CODES["interval"], np.maximum(a, v), v)
    before = distribution.log_survival(first)
    if distribution is NORMAL:
        between = np.where(
            first > 0, special.ndtr(-first) - special.ndtr(-u), special.ndtr(u) - special.ndtr(first)
        )
        between = np.log(np.maximum(between, 1e-300))
    else:
        between = before + np.log(np.maximum(-np.expm1(late - before), 1e-300))
    value = np.where(
        code == 1, distribution.log_density(u) - parameters[-1], np.where(code == 0, late, between)
    )
    return value - distribution.log_survival(v)


def maximum_likelihood(rows, distribution):
    Z = np.column_stack([np.ones(len(rows[0])), rows[0]])
    start = np.concatenate([np.linalg.lstsq(Z, rows[3], rcond=None)[0], [-0.5]])
    found = minimize(
        lambda p: -log_likelihood(p, rows, distribution).mean(), start, method="BFGS", options={"gtol": 1e-6}
    )
    return found.x[0], found.x[1:-1], np.exp(found.x[-1])


def fitted(rows, epsilon, distribution, seed=0, **options):
    X, code, start, end, entry = rows
    plan = make_plan(epsilon, distribution, len(X), **options)
    return fit_censored(plan, X, end, code, seed, start=start, entry=entry)


@pytest.mark.parametrize("distribution", slow_unless({SEV}, DISTRIBUTIONS))
@pytest.mark.parametrize("kind", ["interval", "left", "current status", "entry", "entry and interval"])
def test_without_noise_it_is_maximum_likelihood(distribution, kind):
    rows = simulated(kind, distribution)
    release = fitted(rows, 1e7, distribution, max_iter=8, hazard_clip=8.0)
    slopes, intercept, scale = unscale(release.fit, GRID)
    want_intercept, want_slopes, want_scale = maximum_likelihood(rows, distribution)
    assert np.abs(slopes - want_slopes).max() <= 0.01 * np.linalg.norm(want_slopes)
    assert abs(scale / want_scale - 1) <= 0.01
    assert abs(intercept - want_intercept) <= 0.01 * want_scale


# Of the integers of a round: where a bit changes, so must `_VERSION` of `rounds._driver`.
DIGESTS = {"sev": "f3a1879357f24955", "logistic": "813ab676614ebd81", "normal": "0052634eebde3096"}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_rounds_of_events_and_censored_rows_do_not_change(distribution):
    X, code, _, end, _ = simulated("entry", SEV, 4000)
    plan = make_plan(5.0, distribution, len(X), KINDS[:2])
    theta = np.array([0.3, 7.0, -2.0, 1.5, 0.1])
    digest = hashlib.sha256()
    for rounds in plan.rounds[:2]:
        sums = rounds.sums(GRID, theta, True)
        digest.update(sums.sums(PreparedRows(X, y=end, event=code)).tobytes())
    assert digest.hexdigest()[:16] == DIGESTS[distribution.name]


@pytest.mark.parametrize("distribution", slow_unless({SEV}, DISTRIBUTIONS))
def test_an_interval_is_the_mean_of_the_events_in_it(distribution):
    """Against a fine sum over complete rows: those beyond a cut or the bound count as censored there."""
    plan = make_plan(1.0, distribution, 1000, hazard_clip=1.0).rounds[0]
    plain = make_plan(1.0, distribution, 1000, KINDS[:2], hazard_clip=1.0).rounds[0]

    def units(chosen, counts):
        unit = 2.0**chosen.residual_bits
        return np.array([unit, *[unit * 2.0**chosen.exponent] * 2])[:, None] ** -1.0 * counts

    for slope in (1.0, 4.0, 7.0):
        theta = np.array([0.1, slope, 0.0, 0.0, 0.0])
        for a, b in [(-0.9, 0.8), (-0.5, -0.3), (0.05, 0.25), (-0.2, 2.0), (-0.95, -0.9), (0.3, 0.3003)]:
            edges = np.linspace(a, b, 1001)
            middles = 0.5 * (edges[1:] + edges[:-1])
            chances = distribution.log_density(0.1 + slope * middles)
            chances = np.exp(chances - chances.max())
            middles = 4 * middles - 1
            sums = plain.sums(GRID, theta, False)
            each = [
                sums.sums(
                    PreparedRows(
                        np.zeros((1, 3)), y=np.array([min(m, 3.0)]), event=np.array([m <= 3.0], np.uint8)
                    )
                )
                for m in middles
            ]
            want = units(plain, np.array(each).T[:3]) @ chances / chances.sum()
            row = PreparedRows(
                np.zeros((1, 3)),
                y=np.array([4 * b - 1]),
                event=np.array([3], np.uint8),
                start=np.array([4 * a - 1]),
            )
            counts = plan.sums(GRID, theta, False).sums(row)
            found = units(plan, counts[[0, 2, 3]][:, None])[:, 0]
            # The sum's own error at the cut: one cell of a thousand.
            np.testing.assert_allclose(found, want, atol=4e-3)
