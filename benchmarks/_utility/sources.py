# SPDX-License-Identifier: BSD-3-Clause
"""Tables on which models are compared: real ones, and simulated ones with a known weakness of models."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, make_classification, make_friedman1

from skprivate.datasets import fetch_census, fetch_diabetes_outcome, fetch_warfarin, make_posterior_drift
from skprivate.domain import NumberColumn, TableDomain

from .adult import LOGGED, adult_domain, read_adult
from .packaged import LABELS, NUMBERS, read_packaged

Bounds = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows with labels 0, 1, ... or numbers, and what is public about them.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
    is_public : ndarray of shape (n,)
        Mask of the rows that came as public, which may be none.
    categories : tuple of tuple of int
        Groups of columns of 0 and 1 that are the levels of one feature.
    table, domain : DataFrame and TableDomain, or None
        The rows before they were encoded, and what is declared of them.
    declared : (lower, upper), or None
        Public bounds of the columns.
    target_range : (float, float), or None
        Public bounds of the target, where it is a number.
    logged : tuple of int
        Columns with a long tail, of which linear models take the logarithm.
    """

    X: NDArray[np.float64]
    y: NDArray[Any]
    is_public: NDArray[np.bool_]
    categories: tuple[tuple[int, ...], ...] = ()
    table: Any = None
    domain: TableDomain | None = None
    declared: Bounds | None = None
    target_range: tuple[float, float] | None = None
    logged: tuple[int, ...] = field(default=())

    @property
    def bounds(self) -> Bounds:
        """Public bounds; undeclared, the least and greatest value, which the comparison calls public."""
        if self.declared is not None:
            return self.declared
        lower, upper = self.X.min(axis=0), self.X.max(axis=0)
        return lower, np.where(upper > lower, upper, lower + 1)

    @property
    def classes(self) -> tuple[int, ...]:
        """Labels; none where the target is a number."""
        return () if self.target_range else tuple(range(int(self.y.max()) + 1))


def one_hot_groups(names: Any) -> tuple[tuple[int, ...], ...]:
    """Columns named ``feature=value``, grouped by feature."""
    coded = [(i, str(name).split("=")[0]) for i, name in enumerate(names) if "=" in str(name)]
    return tuple(tuple(i for i, _ in group) for _, group in groupby(coded, key=lambda pair: pair[1]))


def _fetched(data: Any) -> LabelledRows:
    X = np.asarray(data.data, dtype=np.float64)
    y = np.unique(data.target, return_inverse=True)[1].astype(np.int64)
    return LabelledRows(X, y, np.asarray(data.is_public), one_hot_groups(data.feature_names))


def _private(X: Any, y: Any, categories: tuple[tuple[int, ...], ...] = (), **known: Any) -> LabelledRows:
    rows = np.ascontiguousarray(X, dtype=np.float64)
    labels = np.asarray(y, dtype=np.float64 if "target_range" in known else np.int64)
    return LabelledRows(rows, labels, np.zeros(len(rows), dtype=bool), categories, **known)


def _declared(
    table: pd.DataFrame, y: Any, domain: TableDomain, logged: tuple[str, ...] = (), **more: Any
) -> LabelledRows:
    names = domain.encoded_names
    known = {"table": table, "domain": domain, "declared": domain.bounds, **more}
    places = tuple(names.index(name) for name in logged)
    return _private(domain.encode(table), y, one_hot_groups(names), logged=places, **known)


def _linear() -> LabelledRows:
    options = {"n_informative": 6, "n_redundant": 2, "class_sep": 0.8, "random_state": 1}
    return _private(*make_classification(50_000, 10, **options))


def _friedman() -> LabelledRows:
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(100_000, 10))
    score = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return _private(X, score + 2 * rng.normal(size=len(X)) > 14.4)


def _drift() -> LabelledRows:
    return LabelledRows(*make_posterior_drift(10_000, 500, gamma=0.5, random_state=2))


def _flip(rng: np.random.Generator, logit: NDArray[np.float64]) -> NDArray[np.bool_]:
    return rng.uniform(size=len(logit)) < 1 / (1 + np.exp(-logit))


def _skewed() -> LabelledRows:
    """Eight columns with heavy right tails (log-normal), and a label of which about 4 % are 1."""
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(20_000, 8))
    logit = -4.8 + 1.5 * scores[:, 0] + scores[:, 1] + 1.2 * (scores[:, 2] > 1)
    return _private(np.exp(1.5 * scores), _flip(rng, logit))


def _binary() -> LabelledRows:
    """Ten columns of 0 and 1, a factor of six levels as six more; two columns act only together."""
    rng = np.random.default_rng(6)
    bits, level = rng.integers(0, 2, (20_000, 10)), rng.integers(0, 6, 20_000)
    effect = np.array([-0.9, -0.5, 0.0, 0.0, 0.5, 0.9])[level]
    logit = 1.5 * (2 * (bits[:, 0] ^ bits[:, 1]) - 1) + effect + 0.8 * (bits[:, 2] - bits[:, 3])
    X = np.column_stack([bits, level[:, np.newaxis] == np.arange(6)])
    return _private(X, _flip(rng, logit), (tuple(range(10, 16)),))


def _rare() -> LabelledRows:
    """Payments: an amount (log-normal), an hour, factors, missing cells; about 1 % of the labels are 1."""
    rng = np.random.default_rng(9)
    n = 50_000
    kinds, countries = [f"k{i}" for i in range(8)], [f"c{i}" for i in range(12)]
    kind, country = rng.integers(8, size=n), rng.choice(12, size=n, p=np.r_[0.4, np.full(11, 0.6 / 11)])
    size, hour, age = rng.normal(size=n), rng.integers(24, size=n), rng.exponential(40.0, n)
    logit = (
        -6.3 + 1.1 * size + 1.3 * (hour < 6) + np.linspace(-1, 2, 8)[kind] + 1.2 * (country > 8) - age / 60
    )
    y, known = _flip(rng, logit), rng.uniform(size=n) > 0.05
    table = pd.DataFrame(
        {
            "amount": np.exp(4 + 1.5 * size),
            "hour": hour,
            "account_age": np.where(known, age, np.nan),
            "kind": np.array(kinds)[kind],
            "country": np.array(countries)[country],
        }
    )
    numbers: dict[str, Any] = {"amount": (0, 20_000), "hour": (0, 23), "account_age": (0, 365)}
    domain = TableDomain({**numbers, "kind": kinds, "country": countries}, missing="fill")
    return _declared(table, y, domain, ("amount",))


def _warfarin() -> LabelledRows:
    data = fetch_warfarin()
    lower, upper = data.bounds
    groups = (tuple(j for j, name in enumerate(data.feature_names) if str(name).startswith("race")),)
    known = {"declared": (np.asarray(lower), np.asarray(upper)), "target_range": data.target_range}
    return _private(data.data, data.target, groups if len(groups[0]) > 1 else (), **known)


def _curve(n: int, noise: float, seed: int, margin: float) -> LabelledRows:
    """Friedman's first function, which lies in [0, 30], and noise of which four deviations are declared."""
    X, y = make_friedman1(n, 10, noise=noise, random_state=seed)
    return _private(X, y, declared=(np.zeros(10), np.ones(10)), target_range=(-margin, 30.0 + margin))


def _steps() -> LabelledRows:
    """Nine boxes of two of five columns, each with its number in [0, 10], and noise of a tenth of that."""
    rng = np.random.default_rng(12)
    X = rng.uniform(size=(20_000, 5))
    heights = np.array([[2.0, 8.0, 0.0], [6.0, 3.0, 10.0], [1.0, 9.0, 5.0]])
    first, second = np.searchsorted([0.3, 0.7], X[:, 0]), np.searchsorted([0.45, 0.8], X[:, 1])
    y = heights[first, second] + rng.normal(size=len(X))
    return _private(X, y, declared=(np.zeros(5), np.ones(5)), target_range=(-4.0, 14.0))


def _tail() -> LabelledRows:
    """A cost with a heavy tail (log-normal, most below 80), of which [0, 800] is declared; skewed columns."""
    rng = np.random.default_rng(13)
    scores = rng.normal(size=(20_000, 6))
    mean = 1 + 0.7 * scores[:, 0] + 0.8 * (scores[:, 1] > 0.5) - 0.5 * (scores[:, 2] * scores[:, 3] > 0)
    X = np.column_stack([np.exp(scores[:, :3]), scores[:, 3:]])
    bounds = np.array([0, 0, 0, -4, -4, -4], dtype=np.float64), np.array([20.0, 20, 20, 4, 4, 4])
    y = np.exp(mean + 0.5 * rng.normal(size=len(X)))
    return _private(X, y, declared=bounds, target_range=(0.0, 800.0))


def _holes() -> LabelledRows:
    """Wages: a factor of eight levels without order, one of three, numbers of which a sixth is missing."""
    rng = np.random.default_rng(14)
    n = 20_000
    trades, regions = [f"t{i}" for i in range(8)], ["north", "south", "west"]
    trade, region = rng.integers(8, size=n), rng.choice(3, size=n, p=[0.6, 0.3, 0.1])
    years, hours, age = rng.exponential(8, n), rng.normal(35, 8, n), rng.uniform(18, 67, n)
    # Years are missing where they are many; hours at random.
    known_years = rng.uniform(size=n) > np.where(years > 15, 0.6, 0.08)
    known_hours = rng.uniform(size=n) > 0.16
    effect = np.array([0.0, 14, -6, 9, -2, 18, 3, -10])[trade] + np.array([0.0, 5, -4])[region]
    y = 24 + effect + 0.9 * np.minimum(years, 25) + 0.4 * (hours - 35) * (trade % 2) + 5 * rng.normal(size=n)
    table = pd.DataFrame(
        {
            "trade": np.array(trades)[trade],
            "region": np.array(regions)[region],
            "years": np.where(known_years, years, np.nan),
            "hours": np.where(known_hours, hours, np.nan),
            "age": age,
        }
    )
    numbers: dict[str, Any] = {"years": (0, 45), "hours": (0, 80), "age": (18, 67)}
    domain = TableDomain({"trade": trades, "region": regions, **numbers}, missing="indicator")
    return _declared(table, y, domain, target_range=(0.0, 100.0))


def _levels() -> LabelledRows:
    """Twelve levels without an order, of which four turn the label round."""
    rng = np.random.default_rng(15)
    level, names = rng.integers(12, size=8_000), np.array([f"level {i:02d}" for i in range(12)])
    y = rng.uniform(size=len(level)) < np.where(np.isin(level, (1, 4, 6, 9)), 0.9, 0.1)
    return _declared(pd.DataFrame({"kind": names[level]}), y, TableDomain({"kind": names.tolist()}))


def _diabetes_with_holes() -> LabelledRows:
    """Diabetes, where a value of 0 stands for a missing one in five columns."""
    rows = _fetched(fetch_diabetes_outcome())
    bounds = {
        **{"Pregnancies": (0, 20), "Glucose": (0, 250), "BloodPressure": (0, 140)},
        **{"SkinThickness": (0, 120), "Insulin": (0, 900), "BMI": (0, 80)},
        **{"DiabetesPedigreeFunction": (0, 3), "Age": (18, 100)},
    }
    columns: dict[str, Any] = dict(bounds)
    for name in ("Glucose", "BloodPressure", "SkinThickness", "Insulin", "BMI"):
        columns[name] = NumberColumn(*bounds[name], missing="indicator", missing_values=[0])
    table = pd.DataFrame(rows.X, columns=list(bounds))
    found = _declared(table, rows.y, TableDomain(columns))
    return replace(found, is_public=rows.is_public)


def _packaged(name: str) -> LabelledRows:
    table, target, domain, known = read_packaged(name)
    return _declared(table, target, domain, **known)


_SOURCES: dict[str, Callable[[], LabelledRows]] = {
    **{name: lambda name=name: _packaged(name) for name in LABELS | NUMBERS},  # type: ignore[misc]
    "adult": lambda: _declared(*read_adult(), adult_domain(), LOGGED),
    "census": lambda: _fetched(fetch_census()),
    "linear50k": _linear,
    "cancer": lambda: _private(*load_breast_cancer(return_X_y=True)),
    "diabetes": lambda: _fetched(fetch_diabetes_outcome()),
    "friedman100k": _friedman,
    "drift10k": _drift,
    "skewed20k": _skewed,
    "binary20k": _binary,
    "rare50k": _rare,
    "digits": lambda: _private(*load_digits(return_X_y=True)),
    "warfarin": _warfarin,
    "curve20k": lambda: _curve(20_000, 2.0, 5, 5.0),
    "friedman50k": lambda: _curve(50_000, 1.0, 11, 4.0),
    "steps20k": _steps,
    "tail20k": _tail,
    "holes20k": _holes,
    "levels8k": _levels,
    "diabetes with holes": _diabetes_with_holes,
}
NOTE = (
    "Real: adult (13 columns of text and numbers, all rows), census (the same people: complete rows,\n"
    "encoded; those born abroad are public), diabetes (with public rows),\n"
    "cancer and digits (scikit-learn's), warfarin (a dose). Simulated: linear50k, friedman100k, drift10k\n"
    "(with public rows whose probabilities differ), skewed20k (log-normal columns, 4 % of labels are 1),\n"
    "binary20k (columns of 0 and 1, an interaction), rare50k (payments: factors, a tail, missing cells,\n"
    "1 % are 1), curve20k (a number). Others come with packages, of which\n"
    "bounds are declared that are rounded outward to one digit (benchmarks/_utility/packaged.py)."
)


@lru_cache(maxsize=2)
def load(name: str) -> LabelledRows:
    """Return a table by its name."""
    return _SOURCES[name]()


def present(names: Iterable[str]) -> list[str]:
    """Return the tables whose files are here; name the others, and raise if it is all of them."""
    found, gone, error = [], [], None
    for name in names:
        try:
            load(name)
            found.append(name)
        except FileNotFoundError as one:
            gone.append(name)
            error = one
    if gone:
        print("Left out, for their files are not here: " + ", ".join(gone))
    if error and not found:
        raise error
    return found
