# SPDX-License-Identifier: BSD-3-Clause
"""Private trees on columns as they are declared, against one-hot columns and codes, with their baselines.

TABLES in the environment names tables, by parts of their names and split by commas; N_JOBS processes work.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from skprivate import DPTreeClassifier, LocallyPrivateTreeClassifier
from skprivate.domain import CategoricalColumn, TableDomain

from ..._tables import Table, across, mean_and_error
from ._native_tables import TABLES, RawSplit

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
SCORES = ("accuracy", "log loss", "AUC")
TREES = {"central": DPTreeClassifier, "local": LocallyPrivateTreeClassifier}
CODINGS = ("native", "one-hot", "codes")
# No probability is 0 in a log loss: a tree without privacy says 0 and 1.
_LEAST = 1e-3


def _scores(split: RawSplit, shares: NDArray[np.float64]) -> list[float]:
    """Return accuracy, log loss, and for two classes the AUC, of probabilities of the test rows."""
    shares = np.clip(shares, _LEAST, 1)
    shares /= shares.sum(axis=1, keepdims=True)
    found = [float(np.mean(shares.argmax(axis=1) == split.y_test))]
    found.append(float(log_loss(split.y_test, shares, labels=list(split.classes))))
    two = len(split.classes) == 2
    return [*found, float(roc_auc_score(split.y_test, shares[:, 1])) if two else np.nan]


def _with_order(domain: TableDomain) -> TableDomain:
    """Return the domain whose levels are codes, in the order in which they are declared."""
    columns = {
        name: CategoricalColumn(
            column.levels,
            ordered=True,
            missing=column.missing,
            missing_values=column.missing_values,
        )
        if isinstance(column, CategoricalColumn)
        else column
        for name, column in domain.columns.items()
    }
    return TableDomain(columns)


def _tree(kind: Any, coding: str, with_public: bool) -> Callable[[RawSplit, float], list[float]]:
    def method(split: RawSplit, epsilon: float) -> list[float]:
        known: dict[str, Any] = {"domain": split.domain}
        table, test = split.table, split.table_test
        if coding == "codes":
            known = {"domain": _with_order(split.domain)}
        elif coding == "one-hot":
            # What a pipeline with a DomainEncoder hands on.
            known = {"bounds": split.domain.bounds}
            table, test = split.domain.encode(table), split.domain.encode(test)
        # Without the mask the same rows are there, all private; a share of less than a tenth.
        mask = split.is_public if with_public else None
        tree = kind(epsilon, classes=list(split.classes), random_state=1000 + split.seed, **known)
        return _scores(split, tree.fit(table, split.y, is_public=mask).predict_proba(test))

    return method


def _on_public(model: Any) -> Callable[[RawSplit, float], list[float]]:
    """scikit-learn's model of the public rows, whose levels are categories; without privacy."""

    def method(split: RawSplit, epsilon: float) -> list[float]:
        ordered, known = _with_order(split.domain), split.domain
        columns, test = (ordered.read_columns(table) for table in (split.table, split.table_test))
        X, X_test = (np.stack([values for values, _ in one.values()], axis=1) for one in (columns, test))
        fitted = model
        if isinstance(model, HistGradientBoostingClassifier):
            marks = [isinstance(column, CategoricalColumn) for column in known.columns.values()]
            fitted = HistGradientBoostingClassifier(categorical_features=marks, random_state=0)
        fitted.fit(X[split.is_public], split.y[split.is_public])
        shares = np.zeros((len(X_test), len(split.classes)))
        shares[:, fitted.classes_] = fitted.predict_proba(X_test)
        return _scores(split, shares)

    return method


def _methods() -> Iterator[tuple[str, Callable[[RawSplit, float], list[float]], bool]]:
    """Yield names, methods, and whether epsilon has an effect."""
    for public in (False, True):
        for trust, kind in TREES.items():
            for coding in CODINGS:
                rows = "public rows" if public else "no public rows"
                yield f"{trust}, {rows}, {coding}", _tree(kind, coding, public), True
    yield "base rate", _on_public(DummyClassifier(strategy="prior")), False
    yield "tree, public rows alone", _on_public(DecisionTreeClassifier(max_depth=6, random_state=0)), False
    yield "boosting, public rows alone", _on_public(HistGradientBoostingClassifier()), False


def _all_scores(make: Callable[[int], RawSplit], seed: int) -> NDArray[np.float64]:
    """Return the scores of one split, of shape (methods, epsilons, scores)."""
    split, found = make(seed), []
    for _, method, varies in _methods():
        each = [method(split, epsilon) for epsilon in (EPSILONS if varies else EPSILONS[:1])]
        found.append(each if varies else each * len(EPSILONS))
    return np.array(found)


def run() -> None:
    """Print means and standard errors, and the difference of native columns to one-hot ones."""
    wanted = [part for part in os.environ.get("TABLES", "").split(",") if part]
    names = [name for name, *_ in _methods()]
    for name, (make, seeds) in TABLES.items():
        if wanted and not any(part in name for part in wanted):
            continue
        jobs = Parallel(n_jobs=int(os.environ.get("N_JOBS", "1")))
        found = np.stack(jobs(delayed(_all_scores)(make, seed) for seed in range(seeds)))
        split = make(0)
        print(
            f"\n{name}: {int((~split.is_public).sum())} private rows, and "
            f"{int(split.is_public.sum())} that are public or private; {seeds} splits"
        )
        for place, score in enumerate(SCORES):
            if np.isnan(found[..., place]).any():
                continue
            print(f" {score}")
            table = Table(("epsilon", "<34"), *across(EPSILONS, ">13"), indent=2)
            for row, method in enumerate(names):
                table.row(method, *map(mean_and_error, found[:, row, :, place].T))
                if method.endswith("one-hot"):
                    gain = found[:, row - 1, :, place] - found[:, row, :, place]
                    table.row("    native - one-hot", *map(mean_and_error, gain.T))
