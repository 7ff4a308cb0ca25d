# SPDX-License-Identifier: BSD-3-Clause
"""Scores of predicted probabilities, one record for each fit, and the file that keeps the records."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from .data import make_split
from .method import Prediction
from .methods import METHODS

# The least probability that log loss is taken of; rows below it are counted in a column of their own.
LEAST = 1e-15

Record = dict[str, Any]
#: Data set, setting, method and epsilon.
Cell = tuple[str, str, str, float]


def score(prediction: Prediction, y: NDArray[Any]) -> dict[str, float]:
    """Return the scores of labels or of numbers, the seconds of the fit, and whether it warned.

    Seconds and the coverage of intervals are left out where nobody measured them.
    """
    scores = of_numbers(prediction.labels, y) if prediction.proba is None else of_labels(prediction, y)
    measured = {"seconds": prediction.seconds, "coverage": prediction.coverage}
    scores |= {name: value for name, value in measured.items() if np.isfinite(value)}
    return scores | {"warned": float(prediction.warned)}


def of_numbers(found: NDArray[Any], y: NDArray[Any]) -> dict[str, float]:
    """Return the share of explained variance and the root mean squared error."""
    squared = np.mean((found - y) ** 2)
    return {"r2": float(1 - squared / y.var()), "rmse": float(np.sqrt(squared))}


def of_labels(prediction: Prediction, y: NDArray[Any]) -> dict[str, float]:
    """Return accuracy, log loss, AUC, and the shares of rows that log loss has no mercy for.

    Labels are 0, 1, ... and number the columns. AUC is that of label 1, with more labels the mean over labels
    of one against the rest. ``sure``: rows with a probability of exactly 0 or 1; ``sure_wrong``: rows whose
    own label has probability 0, or no number, which log loss takes for 1e-15.
    """
    given = np.asarray(prediction.proba)
    proba = np.nan_to_num(given)
    own = proba[np.arange(len(y)), y]
    return {
        "accuracy": float(np.mean(prediction.labels == y)),
        "log_loss": float(-np.log(np.maximum(own, LEAST)).mean()),
        "auc": area(proba, y),
        "sure": float(np.mean(((given == 0) | (given == 1)).any(axis=1))),
        "sure_wrong": float(np.mean(own < LEAST)),
    }


def area(proba: NDArray[np.float64], y: NDArray[Any]) -> float:
    """Return the area under the ROC curve; labels without a test row are left out of the mean."""
    columns = (1,) if proba.shape[1] == 2 else range(proba.shape[1])
    areas = [roc_auc_score(y == k, proba[:, k]) for k in columns if 0 < np.sum(y == k) < len(y)]
    return float(np.mean(areas))


@dataclass(frozen=True)
class Task:
    """A method on one split, at the epsilons that are still to do."""

    data: str
    setting: str
    split: int
    method: str
    epsilons: tuple[float, ...]

    def run(self) -> list[Record]:
        """Return one record for each epsilon; one that tells of an error where the method failed."""
        split = make_split(self.data, self.setting, self.split)
        place = {"data": self.data, "public": self.setting, "method": self.method, "split": self.split}
        try:
            found = list(METHODS[self.method].predict(split, self.epsilons))
        except Exception as error:  # a benchmark of hours goes on, and its table says what failed
            return [{**place, "error": f"{type(error).__name__}: {error}"[:300]}]
        return [{**place, "epsilon": one.epsilon, **score(one, split.y_test)} for one in found]


class Records:
    """Records by cell and split; they are appended to a file as they come, if there is one."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._cells: dict[Cell, dict[int, Record]] = {}
        self.errors: list[Record] = []
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._keep(json.loads(line))

    def add(self, records: Iterable[Record]) -> None:
        """Keep records, and append them to the file as lines of JSON."""
        records = list(records)
        for record in records:
            self._keep(record)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(record) + "\n" for record in records)

    def _keep(self, record: Record) -> None:
        if "error" in record:
            self.errors.append(record)
            return
        cell = (record["data"], record["public"], record["method"], record["epsilon"])
        self._cells.setdefault(cell, {})[record["split"]] = record

    def borrow(self, other: "Records", kinds: Sequence[str]) -> None:
        """Take the records of methods of some kinds where there are none here; they are not written."""
        for cell, records in other._cells.items():
            if METHODS[cell[2]].kind in kinds:
                self._cells.setdefault(cell, records)

    def missing(self, data: str, setting: str, split: int, method: str, epsilons: Sequence[float]) -> Task:
        """Return what is still to do of a method on a split."""
        wanted = (e for e in epsilons if split not in self._cells.get((data, setting, method, e), {}))
        return Task(data, setting, split, method, tuple(wanted))

    def at(self, cell: Cell) -> dict[int, Record]:
        """Return the records of a cell by split; peers and ceilings have theirs without public rows."""
        data, setting, method, epsilon = cell
        if method in METHODS and METHODS[method].shows_elsewhere():
            setting = "0"
        return self._cells.get((data, setting, method, epsilon), {})

    def values(self, cell: Cell, score: str) -> NDArray[np.float64]:
        """Return a score of every split that has it."""
        return np.array([record[score] for record in self.at(cell).values() if score in record])

    def names(self, place: int) -> list[Any]:
        """Return the data sets (0), settings (1), methods (2) or epsilons (3) that there are records of."""
        return list(dict.fromkeys(cell[place] for cell in self._cells))


def differences(first: dict[int, Record], second: dict[int, Record], score: str) -> NDArray[np.float64]:
    """Return first minus second on the splits where both have the score."""
    shared = [k for k in first if score in first[k] and score in second.get(k, {})]
    return np.array([first[k][score] - second[k][score] for k in shared])
