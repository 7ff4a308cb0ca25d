# SPDX-License-Identifier: BSD-3-Clause
"""Records of planted bugs and of controls, the data that they are fitted to, and the decorators.

The docstring of a class says what is planted; of a bug also what leaks; of one that is hard to find, why.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from skprivate import BoundsScaler, DPTreeClassifier, LocallyPrivateTreeClassifier

from .honest import Classifier
from .honest_classifiers import DPStandardizer


@dataclass(frozen=True)
class Record:
    name: str
    what: str
    kind: str
    factory: Callable[[], Any]
    make_data: Callable[[Any], tuple]
    leak: str = ""
    why_hard: str = ""
    needs: str = ""  # what the battery must do besides calling fit on arrays: "groups", "ledger", ...


PLANTS: list[Record] = []
CONTROLS: list[Record] = []


def reg_data(rng):
    return rng.uniform(size=(60, 3)), rng.uniform(size=60)


def clf_data(rng):
    X = rng.uniform(size=(60, 3))
    return X, (X[:, 0] + rng.normal(0, 0.3, 60) > 0.5).astype(int)


def clf3_data(rng):
    X = rng.uniform(size=(60, 3))
    return X, rng.choice(3, p=[0.5, 0.45, 0.05], size=60)


THREE = dict(classes=[0, 1, 2], data=clf3_data)


def _defaults(cls):
    if issubclass(cls, (DPTreeClassifier, LocallyPrivateTreeClassifier)):
        return dict(bounds=(0.0, 1.0), classes=[0, 1], max_depth=2), clf_data
    if issubclass(cls, BoundsScaler):
        return dict(bounds=(0.0, 1.0)), reg_data
    if issubclass(cls, Classifier):
        return dict(bounds_X=(0.0, 1.0), classes=[0, 1]), clf_data
    if issubclass(cls, DPStandardizer):
        return dict(bounds_X=(0.0, 1.0)), reg_data
    return dict(bounds_X=(0.0, 1.0), bounds_y=(0.0, 1.0)), reg_data


def plant(kind, *, data=None, needs="", **params):
    """Put a class, made with these parameters, on the list of its kind."""

    def decorate(cls):
        known, default_data = _defaults(cls)
        texts = [" ".join(text.split()).rstrip(".") for text in inspect.getdoc(cls).split("\n\n")]
        what, leak, why_hard = [*texts, "", ""][:3]
        factory = functools.partial(cls, **known | params)
        record = Record(cls.__name__, what, kind, factory, data or default_data, leak, why_hard, needs)
        (CONTROLS if kind == "control" else PLANTS).append(record)
        return cls

    return decorate


control = functools.partial(plant, "control")
