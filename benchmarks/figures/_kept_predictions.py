# SPDX-License-Identifier: BSD-3-Clause
"""What models say of test rows, kept in a file, so that they can be evaluated again without another fit."""

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Data set, setting, method, epsilon of the fit (0: no noise) and split.
Place = tuple[str, str, str, float, int]
#: A figure, and the ends of its interval.
Estimate = tuple[float, float, float]
FIELDS = ("data", "setting", "method", "epsilon", "split")


def _packed(values: NDArray[np.float64]) -> str:
    return base64.b85encode(zlib.compress(np.ascontiguousarray(values, dtype="<f8").tobytes())).decode()


def _unpacked(text: str) -> NDArray[np.float64]:
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype="<f8")


@dataclass(frozen=True)
class Published:
    """Where a published evaluation stands: the fit, the epsilon of the evaluation, and which test rows."""

    place: Place
    epsilon: float
    rows: str


class KeptPredictions:
    """Predictions by place, evaluations of them as published, and errors; a file gets each as it comes."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._values: dict[Place, str] = {}
        self.published: dict[Published, dict[str, Estimate]] = {}
        self.errors: dict[str, None] = {}
        if path is not None and path.exists():
            with path.open(encoding="utf-8") as lines:
                for line in lines:
                    self._keep(json.loads(line))

    def __contains__(self, place: Place) -> bool:
        return place in self._values

    def __iter__(self) -> Iterator[Place]:
        return iter(self._values)

    def values(self, place: Place) -> NDArray[np.float64]:
        """Return the probabilities of label 1, or the numbers, of the test rows of a split."""
        return _unpacked(self._values[place])

    def add(self, place: Place, values: NDArray[np.float64]) -> None:
        """Keep what a model says of the test rows."""
        self._write({**dict(zip(FIELDS, place, strict=True)), "values": _packed(values)})

    def publish(self, where: Published, estimates: dict[str, Estimate]) -> None:
        """Keep an evaluation: what is released once stays what it is."""
        at = dict(zip(FIELDS, where.place, strict=True))
        self._write({**at, "paid": where.epsilon, "rows": where.rows, "estimates": estimates})

    def fail(self, place: Place, error: Exception) -> None:
        """Keep that a method failed; it is tried again by the next run."""
        text = f"{place[2]} on {place[0]}, {place[1]}: {type(error).__name__}: {error}"[:300]
        self._write({"error": text})

    def _write(self, record: dict[str, Any]) -> None:
        self._keep(record)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")

    def _keep(self, record: dict[str, Any]) -> None:
        if "error" in record:
            self.errors[record["error"]] = None
            return
        place: Place = tuple(record[name] for name in FIELDS)
        if "values" in record:
            self._values[place] = record["values"]
        else:
            where = Published(place, record["paid"], record["rows"])
            self.published[where] = {name: tuple(found) for name, found in record["estimates"].items()}


def fill(
    kept: KeptPredictions,
    fit: tuple[str, str, str, int],
    epsilons: Iterable[float],
    predict: Callable[[tuple[float, ...]], Iterable[tuple[float, NDArray[np.float64]]]],
) -> None:
    """Ask a method on a split for what is not kept yet; a benchmark of hours goes on where one fails."""
    places = {epsilon: (*fit[:3], epsilon, fit[3]) for epsilon in epsilons}
    missing = tuple(epsilon for epsilon, place in places.items() if place not in kept)
    if not missing:
        return
    try:
        for epsilon, values in predict(missing):
            kept.add(places[epsilon], np.asarray(values, dtype=np.float64))
    except Exception as error:  # its table says what failed
        kept.fail(places[missing[0]], error)
