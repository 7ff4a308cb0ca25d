# SPDX-License-Identifier: BSD-3-Clause
"""Simulated lifetimes, seen in every way in which a lifetime may be observed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skprivate.datasets._simulations import _errors

FloatArray = NDArray[np.float64]

ERRORS = {"weibull": "sev", "loglogistic": "logistic", "lognormal": "normal"}
COEF = np.array([0.5, -0.4, -0.8])
INTERCEPT, SCALE = 8.0, 0.5
#: Bounds that hold of all rows, and are known in public.
BOUNDS_X = np.array([-1.0, -3.0, 0.0]), np.array([1.0, 3.0, 1.0])
BOUNDS_Y = float(np.exp(INTERCEPT - 7)), float(np.exp(INTERCEPT + 6))


def structured(**fields: Any) -> NDArray[Any]:
    """Return a structured target of these fields."""
    values = {name: np.asarray(column) for name, column in fields.items()}
    return np.rec.fromarrays(values.values(), dtype=[(name, one.dtype) for name, one in values.items()])


@dataclass(frozen=True, eq=False)
class Observed:
    """Lifetimes after `lower`, or at it where both are equal, and up to `upper`; watched from `entry` on."""

    X: FloatArray
    lower: FloatArray
    upper: FloatArray
    entry: FloatArray | None
    kinds: tuple[str, ...]

    @property
    def event(self) -> NDArray[np.bool_]:
        return self.lower == self.upper

    def target(self) -> NDArray[Any]:
        """Return the target in our form: (event, time) where no row needs more."""
        if {"left", "interval"} & set(self.kinds):
            fields = {"lower": self.lower, "upper": self.upper}
        else:
            fields = {"event": self.event, "time": self.lower}
        if self.entry is not None:
            fields["entry"] = self.entry
        return structured(**fields)


def lifetimes(distribution: str, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Draw rows of a uniform, a normal and a binary column, and their lifetimes."""
    columns = rng.uniform(-1, 1, n), np.clip(rng.standard_normal(n), -3, 3), rng.random(n) < 0.4
    X = np.column_stack(columns).astype(np.float64)
    return X, np.exp(INTERCEPT + X @ COEF + SCALE * _errors(ERRORS[distribution], n, rng))


def observe(what: str, distribution: str, n: int, seed: int) -> Observed:
    """Draw lifetimes, and observe them as one of `WAYS` says."""
    rng = np.random.default_rng([seed, 20261123])
    kinds, watch = WAYS[what]
    if "entry" not in kinds:
        X, life = lifetimes(distribution, n, rng)
        return Observed(X, *watch(life, rng), None, kinds)
    # Whose watch ends before it begins is never seen: of more rows, the first n that are.
    X, life = lifetimes(distribution, 3 * n, rng)
    entry = np.where(rng.random(len(life)) < 0.3, 0.0, np.exp(rng.uniform(6.0, 8.0, len(life))))
    lower, upper = watch(life, rng)
    seen = np.flatnonzero((life > entry) & ((lower > entry) | (upper < np.inf)))[:n]
    lower = np.where(lower == upper, lower, np.maximum(lower, entry))
    return Observed(X[seen], lower[seen], upper[seen], entry[seen], kinds)


def _exact(life: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    return life, life


def _right(share: float) -> Any:
    """Return what ends the watch at ages that leave about a share of the machines alive."""

    def watch(life: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        offset = np.exp(rng.uniform(-1, 1, len(life)))
        end = offset * np.quantile(life / offset, 1 - share)
        return np.minimum(life, end), np.where(life <= end, life, np.inf)

    return watch


def _left(life: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Thirty in a hundred have failed before somebody looks; the others are watched until they fail."""
    offset = np.exp(rng.uniform(-1, 1, len(life)))
    first = offset * np.quantile(life / offset, 0.3)
    return np.where(life <= first, 0.0, life), np.maximum(life, first)


def _interval(life: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Inspections whose times grow by 1.5 each, from a time of the machine's own on."""
    step = np.log(1.5)
    first = rng.uniform(0, step, len(life))
    number = np.floor((np.log(life) - first) / step)
    return np.exp(first + number * step), np.exp(first + (number + 1) * step)


def _inspected(life: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Six inspections at equal distances: known to lie before the first, between two, or after the last."""
    step = np.exp(rng.uniform(INTERCEPT - 1.5, INTERCEPT - 0.5, len(life)))
    number = np.minimum(np.floor(life / step), 6)
    return number * step, np.where(number < 6, (number + 1) * step, np.inf)


def _mixed(life: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """A third watched until they fail or the watch ends, a third inspected, a third looked at late."""
    parts = [watch(life, rng) for watch in (_right(0.3), _inspected, _left)]
    which = rng.integers(len(parts), size=len(life))
    lower, upper = (np.choose(which, [part[end] for part in parts]) for end in (0, 1))
    return lower, upper


#: Name -> the kinds of observation that occur, and what is known of a lifetime.
WAYS: dict[str, tuple[tuple[str, ...], Any]] = {
    "exact": (("exact",), _exact),
    "right 30 %": (("exact", "right"), _right(0.3)),
    "right 80 %": (("exact", "right"), _right(0.8)),
    "left 30 %": (("exact", "left"), _left),
    "intervals": (("interval",), _interval),
    "inspections": (("right", "left", "interval"), _inspected),
    "mixed": (("exact", "right", "left", "interval"), _mixed),
    "exact, entry": (("exact", "entry"), _exact),
    "right 30 %, entry": (("exact", "right", "entry"), _right(0.3)),
    "inspections, entry": (("right", "left", "interval", "entry"), _inspected),
    "mixed, entry": (("exact", "right", "left", "interval", "entry"), _mixed),
}
