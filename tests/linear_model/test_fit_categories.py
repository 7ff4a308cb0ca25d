# SPDX-License-Identifier: BSD-3-Clause
"""Fits to a domain whose category is coded by one column a level: these add up to one."""

import warnings

import numpy as np
import pytest

from skprivate.domain import TableDomain
from skprivate.exceptions import UtilityWarning
from skprivate.linear_model import DPLogLocationScaleRegressor
from tests.marks import slow

LEVELS = ("a", "b", "c")
DOMAIN = TableDomain({"load": (0.0, 10.0), "kind": list(LEVELS)})
EFFECTS, SLOPE, SCALE = np.array([0.0, 0.5, -0.4]), -0.1, 0.4
N, BOUNDS_Y = 50_000, (0.05, 400.0)
PLACES = [{"load": 2.0, "kind": "a"}, {"load": 8.0, "kind": "b"}, {"load": 5.0, "kind": "c"}]
SEEDS, COMPARED = range(32), range(8)


def table(seed, censored):
    rng = np.random.default_rng([7, seed])
    load, kind = rng.uniform(0.0, 10.0, N), rng.choice(3, N, p=[0.5, 0.3, 0.2])
    times = np.exp(2.0 + SLOPE * load + EFFECTS[kind] + SCALE * np.log(rng.exponential(size=N)))
    encoded = np.column_stack([load, np.eye(3)[kind]])
    if not censored:
        return encoded, times
    ends = np.exp(rng.uniform(1.0, 3.0, N))
    y = np.empty(N, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = times <= ends, np.minimum(times, ends)
    return encoded, y


def rows_of(encoded):
    return {"load": encoded[:, 0], "kind": np.array(LEVELS)[encoded[:, 1:].argmax(axis=1)]}


def fits(seed, censored, **options):
    """A fit through the domain, and of some tables one to all columns but that of the first level."""
    encoded, y = table(seed, censored)
    options = {"epsilon": 4.0, "bounds_y": BOUNDS_Y, "random_state": 100 + seed, **options}
    declared = DPLogLocationScaleRegressor(domain=DOMAIN, **options).fit(rows_of(encoded), y)
    if seed not in COMPARED:
        return declared, None
    bounds = ([0.0, 0.0, 0.0], [10.0, 1.0, 1.0])
    return declared, DPLogLocationScaleRegressor(bounds_X=bounds, **options).fit(encoded[:, [0, 2, 3]], y)


@pytest.mark.parametrize(
    ("censored", "options", "most_warnings"),
    # Rounds of one or two of these censored fits do not settle: they warn, as they should. Of complete ones
    # the law of one is rejected, as in one of 100: the fit and its quantiles warn.
    [slow(False, {}, 2), (False, {"max_iter": 1}, 0), slow(True, {}, 2)],
    ids=["looks", "one release", "censored"],
)
def test_intervals_are_those_without_a_level(censored, options, most_warnings):
    """If intervals hold in .9 of 32 tables, alike all three, fewer than 54 of 96 do in under 1e-6 of runs."""
    true = 2.0 + np.array([SLOPE * 2, SLOPE * 8, SLOPE * 5]) + EFFECTS + SCALE * np.log(np.log(2.0))
    held, widths, differences = 0, [], []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for seed in SEEDS:
            declared, by_hand = fits(seed, censored, **options)
            rows = {name: [place[name] for place in PLACES] for name in ("load", "kind")}
            intervals = np.log(declared.predict_quantile(rows, 0.5, return_interval=True)[1])
            held += np.sum((intervals[:, 0] <= true) & (true <= intervals[:, 1]))
            if by_hand is None:
                continue
            others = DOMAIN.encode(PLACES)[:, [0, 2, 3]]
            narrow = np.log(by_hand.predict_quantile(others, 0.5, return_interval=True)[1])
            widths.append(np.diff(intervals).ravel() / np.diff(narrow).ravel())
            slopes = declared.replicates_[:, 2:]
            differences.append(
                (slopes[:, 2:] - slopes[:, 1:2]).std(axis=0) / by_hand.replicates_[:, 3:].std(axis=0)
            )
    assert len([one for one in caught if issubclass(one.category, UtilityWarning)]) <= most_warnings
    assert held >= 54
    assert np.all(np.median(widths, axis=0) < 1.3)
    assert np.all(np.median(differences, axis=0) < 1.3)
