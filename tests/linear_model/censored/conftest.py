# SPDX-License-Identifier: BSD-3-Clause
"""Censored lives, and plans of their fits."""

import numpy as np

from benchmarks.figures.life_data.censored import fit_censored
from skprivate.linear_model._censored.rounds import plan_censored
from skprivate.linear_model._distributions import SEV
from skprivate.linear_model._moments.released_moments import MomentWeights, Neighbours, unscale
from skprivate.noise._mechanisms import FitBudget
from skprivate.rounds._plans.moments import MomentGrid

SIGMA = 0.5


def fleet(n, censored, seed=0, distribution=SEV, d=5):
    """Features, log times, events and slopes; times end at one moment, or at random ones for odd seeds."""
    rng = np.random.default_rng(seed)
    X = np.clip(rng.standard_normal((n, d)), -4, 4)
    coef = rng.standard_normal(d)
    coef /= np.linalg.norm(coef)
    y = X @ coef + SIGMA * distribution.quantile(rng.uniform(size=n))
    if censored >= 1:
        return X, np.minimum(y, 0.0), np.zeros(n, dtype=bool), coef
    offset = rng.uniform(-1.5, 1.5, n) if seed % 2 else np.zeros(n)
    end = offset + np.quantile(y - offset, 1 - censored)
    return X, np.minimum(y, end), y <= end, coef


def make_grid(d=5):
    return MomentGrid(lower=np.full(d, -4.0), upper=np.full(d, 4.0), target=(-5.0, 5.0), exponent=20)


def make_plan(epsilon, distribution=SEV, d=5, n=None, mechanism="laplace", relation="replace-one", **options):
    neighbours = Neighbours(weights=MomentWeights(2, 1, d), relation=relation)
    if n is not None:
        options["n_rows"] = n
    budget = FitBudget.of(epsilon, 1e-6 if mechanism == "gaussian" else 0, mechanism)
    return plan_censored(make_grid(d), distribution, budget, neighbours, **options)


def fitted(n, censored, seed, epsilon=1.0, distribution=SEV, **options):
    """Errors of the 10 % life (in scales) and of the slopes (relative), and the release."""
    X, time, event, coef = fleet(n, censored, seed, distribution)
    release = fit_censored(make_plan(epsilon, distribution, n=n, **options), X, time, event, 1000 + seed)
    slopes, intercept, scale = unscale(release.fit, make_grid())
    q = float(distribution.quantile(0.1))
    miss = abs(intercept + scale * q - SIGMA * q) / SIGMA
    return miss, np.linalg.norm(slopes - coef) / np.linalg.norm(coef), release
