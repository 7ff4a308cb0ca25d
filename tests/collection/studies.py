# SPDX-License-Identifier: BSD-3-Clause
"""Specifications, plans, rows and changed documents that the tests of the deployment share."""

import json

import numpy as np
import pandas as pd

from skprivate import LocallyPrivateTreeClassifier, LocallyPrivateTreeRegressor
from skprivate.collection import ReportWriter, TreeSpecification
from skprivate.domain import TableDomain
from skprivate.partition import Partition, build_partition
from skprivate.randomizers import KRRRandomizer, make_randomizer
from skprivate.utils._json_documents import digest

#: A value that no message may show.
SECRET = 4711.0815
NAMES = ["a", "b"]
ROOT = Partition.from_splits([-1], [], [0.0, 0.0], [1.0, 1.0])
N_PUBLIC, N_PRIVATE = 60, 400


# Specifications


def make_specification(mechanism="hadamard", *, classes=(0, 1), depth=3, epsilon=1.0, **kwargs):
    """A question about labels, with 2^depth cells on [0, 1] x [0, 2]."""
    box = {"lower": [0, 0], "upper": [1, 2], "n_labels": len(classes)}
    partition = build_partition(np.zeros((0, 2)), [], max_depth=depth, **box)
    randomizer = make_randomizer(mechanism, epsilon, partition.n_leaves, len(classes))
    return TreeSpecification(partition, randomizer, classes, **kwargs)


def number_specification(randomizer=None, bounds_y=(0.0, 10.0)):
    """A question about a number, in one cell."""
    randomizer = KRRRandomizer(1.0, 1, 5) if randomizer is None else randomizer
    return TreeSpecification(ROOT, randomizer, features=NAMES, label="cost", bounds_y=bounds_y)


def make_domain(**columns):
    declared = {"age": (17, 90), "job": ["clerk", "smith"], "since": ("2001-01-01", "2020-12-31")}
    return TableDomain(declared | columns, missing_values=["?"])


def domain_specification(domain=None, epsilon=60.0, **kwargs):
    """A question with declared columns; reports of so large an epsilon are the categories themselves."""
    domain = make_domain() if domain is None else domain
    lower, upper = domain.bounds
    empty = np.zeros((0, len(lower)))
    box = {"lower": lower, "upper": upper, "groups": domain.groups}
    partition = build_partition(empty, [], max_depth=len(lower), **box)
    kwargs = {"label": "sick", "domain": domain} | kwargs
    return TreeSpecification(partition, KRRRandomizer(epsilon, partition.n_leaves), ["no", "yes"], **kwargs)


def draw(specification, *args, seed=0, **options):
    """Seeded reports of many rows."""
    return np.concatenate(list(specification.randomize_many(*args, random_state=seed, **options)))


# Plans and their rows


def label_plan(mechanism="hadamard", **kwargs):
    return LocallyPrivateTreeClassifier(2.0, mechanism=mechanism, **{"max_depth": 3, **kwargs})


def label_rows():
    """Rows of two columns and their labels of 0, 1 and 2, of which the first are public."""
    X = np.random.default_rng(0).uniform(size=(N_PUBLIC + N_PRIVATE, 2))
    return X, (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 0.7)


def number_plan(**options):
    return LocallyPrivateTreeRegressor(3.0, **{"bounds_X": (0, 1), "bounds_y": (-5, 15), **options})


def number_rows(n, n_columns=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, n_columns))
    return X, 10 * (X[:, 0] > 0.4) + rng.normal(size=n)


def named(rows):
    return pd.DataFrame(rows, columns=[*NAMES, "c"][: rows.shape[1]])


# Files and documents


def write_reports(path, specification, *batches):
    with ReportWriter(path, specification) as writer:
        for batch in batches:
            writer.write(batch)
    return path


def with_hash(state, **changes):
    """A specification's document with other fields, and the hash that fits."""
    changed = {name: value for name, value in (state | changes).items() if name != "hash"}
    return changed | {"hash": digest(changed)}


def resealed(data, **changes):
    """A state or a memory with other fields, and the checksum that fits; ``tree__rule`` is an inner field."""
    state = json.loads(data)
    for path, value in changes.items():
        *outer, name = path.split("__")
        place = state[outer[0]] if outer else state
        place[name] = value
    del state["checksum"]
    return json.dumps(state | {"checksum": digest(state)}).encode()
