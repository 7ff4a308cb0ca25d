# SPDX-License-Identifier: BSD-3-Clause
"""Estimators that are fitted to sources, their rows, and engines that fail."""

import functools
import itertools
import pickle
import zlib

import numpy as np
import pandas as pd
import pytest

from skprivate import (
    DPLogisticLLSRegressor,
    DPLogisticRegression,
    DPLogLocationScaleRegressor,
    DPNormalLLSRegressor,
    DPSEVRegressor,
    DPTreeClassifier,
)
from skprivate.rounds import TableSource, fit_rounds

N = 600
NAMES = ["load", "heat", "age"]
LIFE = {"bounds_X": (-3.0, 3.0), "bounds_y": (0.1, 50.0), "random_state": 3}
LABELS = {"bounds": (-3.0, 3.0), "classes": ["no", "yes"], "random_state": 3}


def make_rows():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(N, 3)), columns=NAMES)
    life = np.exp(1 + 0.3 * rows["load"] + 0.2 * np.log(rng.exponential(size=N)))
    rows["life"], rows["seen"] = life, rng.random(N) < 0.7
    rows["ill"] = np.where(rows["load"] > 0, "yes", "no")
    rows["person"] = [f"person {code}" for code in rng.integers(0, 150, N)]
    return rows


ROWS = make_rows()
KNOWN = ROWS[:40]
PUBLIC = (KNOWN[NAMES], KNOWN["ill"])
PERSONS = {"groups": "person", "groups_within_tables": True}
#: Name -> (unfitted estimator, target, keywords of the source).
CASES = {
    "moments": (DPLogLocationScaleRegressor(2.0, **LIFE), "life", {}),
    "gaussian": (DPSEVRegressor(2.0, mechanism="gaussian", delta=1e-6, **LIFE), "life", {}),
    "logistic": (DPLogisticLLSRegressor(2.0, relation="add-remove", **LIFE), "life", {}),
    "norm": (DPNormalLLSRegressor(2.0, x_norm=2.0, bounds_y=(0.1, 50.0), random_state=3), "life", {}),
    "censored": (DPLogLocationScaleRegressor(4.0, **LIFE), "life", {"event": "seen"}),
    "persons": (DPSEVRegressor(4.0, max_rows_per_group=2, **LIFE), "life", PERSONS),
    "censored persons": (
        DPLogLocationScaleRegressor(4.0, distribution="lognormal", max_rows_per_group=2, **LIFE),
        "life",
        {"event": "seen", **PERSONS},
    ),
    "logit": (DPLogisticRegression(4.0, delta=1e-6, **LABELS), "ill", {}),
    "logit of persons": (
        DPLogisticRegression(4.0, relation="add-remove", max_rows_per_group=2, **LABELS),
        "ill",
        PERSONS,
    ),
    "public rows": (DPTreeClassifier(1.0, bounds=(-3, 3), random_state=3), "ill", {}),
    "no public rows": (DPTreeClassifier(1.0, max_depth=3, **LABELS), "ill", {}),
    "tree of persons": (
        DPTreeClassifier(1.0, bounds=(-3, 3), max_rows_per_group=2, random_state=3),
        "ill",
        PERSONS,
    ),
}
WITH_PUBLIC_ROWS = {"public rows", "tree of persons"}
RELEASED = ("coef_", "intercept_", "scale_", "coef_interval_")
RELEASED += ("report_counts_", "leaf_proba_", "public_weight_")


def unfitted(name):
    return pickle.loads(pickle.dumps(CASES[name][0]))


@functools.cache
def reference(name):
    """Return what `fit` makes of the rows in memory."""
    _, target, options = CASES[name]
    y = ROWS[target]
    if "event" in options:
        kinds = [("event", bool), ("time", float)]
        y = np.array(list(zip(ROWS["seen"], ROWS["life"], strict=True)), dtype=kinds)
    given = {"groups": ROWS["person"]} if "groups" in options else {}
    if name in WITH_PUBLIC_ROWS:
        given["is_public"] = np.arange(N) < len(KNOWN)
    return unfitted(name).fit(ROWS[NAMES], y, **given)


def fit_to(name, tables, estimator=None, *, checkpoint=None, **more):
    """Fit to tables of the private rows, of which only those of some names are features."""
    _, target, options = CASES[name]
    source = TableSource(tables, target=target, features=NAMES, **options, **more)
    public = PUBLIC if name in WITH_PUBLIC_ROWS else None
    estimator = unfitted(name) if estimator is None else estimator
    return fit_rounds(estimator, source, public=public, checkpoint=checkpoint)


def private_rows(name):
    return ROWS[len(KNOWN) :] if name in WITH_PUBLIC_ROWS else ROWS


def parts_of(name, cuts, order):
    """Split the private rows: by person where persons are protected, else anywhere."""
    rows = private_rows(name)
    if "groups" in CASES[name][2]:
        codes = rows["person"].map(lambda person: zlib.crc32(person.encode())) % (len(cuts) + 1)
        parts = [rows[codes == code] for code in range(len(cuts) + 1)]
    else:
        rows = rows.sample(frac=1, random_state=order % 7)
        ends = [0, *sorted(cut % len(rows) for cut in cuts), len(rows)]
        parts = [rows.iloc[first:last] for first, last in itertools.pairwise(ends)]
    return [parts[place] for place in np.random.default_rng(order).permutation(len(parts))]


def assert_same(one, name):
    """Compare with what `fit` makes of the rows in memory, bit for bit."""
    other = reference(name)
    for released in RELEASED:
        assert hasattr(one, released) == hasattr(other, released)
        if hasattr(one, released):
            np.testing.assert_array_equal(getattr(one, released), getattr(other, released), err_msg=released)
    assert str(one.privacy_spent_) == str(other.privacy_spent_)
    assert one.n_features_in_ == other.n_features_in_
    assert one.feature_names_in_.tolist() == other.feature_names_in_.tolist()


def is_round(function):
    """Tell a round from a look at the tables."""
    return "Partition" in type(function).__name__


class Engine:
    """An engine whose tasks fail, and are run again, and whose answers come in another order, twice."""

    def __init__(self, tables):
        self.tables, self.calls = tables, 0

    def map_partitions(self, function):
        function = pickle.loads(pickle.dumps(function))
        answers = []
        for place, table in enumerate(self.tables):
            self.calls += 1
            with pytest.raises(ZeroDivisionError):
                function(table, place) and 1 / 0
            answers.append(function(table, place))
        return iter([*reversed(answers), *answers])


class Killed(Exception):
    pass


class Mortal:
    """Tables whose driver is killed at one of its rounds."""

    def __init__(self, tables, dies_at=0):
        self.tables, self.left = tables, dies_at

    def map_partitions(self, function):
        if is_round(function):
            self.left -= 1
            if not self.left:
                raise Killed
        return [function(table, place) for place, table in enumerate(self.tables)]
