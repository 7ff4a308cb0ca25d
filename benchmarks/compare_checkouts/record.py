# SPDX-License-Identifier: BSD-3-Clause
"""What a worker notes down about one case: the fit, predictions on fixed queries, and all statements."""

import contextlib
import json
import os
import pickle
import random
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from .encode import clean, encode, fitted, page, read
from .names import public

FIT, PREDICTIONS, STATEMENTS = "fit", "predictions", "statements"
SEEDS = (0, 1, 2)
_TEXTS: tuple[str, ...] = ("__str__", "__repr__", "headline", "statement")
_TABLES = ("to_dict", "to_registry")
_PAGES = ("_repr_html_", "to_html")
# Methods of fitted estimators that take queries alone, and what else is passed.
_ANSWERS: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("predict", "predict_proba", "predict_log_proba", "decision_function", "apply")},
    **{name: {} for name in ("transform", "inverse_transform", "predict_mean", "responses", "support")},
    **{name: {} for name in ("site_responses", "observe")},
    "predict_quantile": {"q": [0.1, 0.5, 0.9]},
    "predict_survival_function": {"return_array": True},
    "predict_cumulative_hazard_function": {"return_array": True},
}
# One stream for all cases: their names may change.
_ENTROPY = "entropy of the system"


class Recorder:
    """Collects, per estimator and case, what was fitted, predicted and stated."""

    def __init__(self) -> None:
        self.cases: dict[str, dict[str, Any]] = {}
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def case(self, estimator: str, name: str, level: int = 2) -> Iterator["Case"]:
        """Run one case on seeded randomness of the system; an error is part of what is recorded."""
        case, start = Case(level), time.process_time()
        with seeded_system(_ENTROPY), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield case
            except Exception as error:
                case.put(STATEMENTS, "raised", describe(error))
        # Once each, whatever the number of calls between them.
        messages = {f"{entry.category.__name__}: {clean(str(entry.message))}" for entry in caught}
        case.put(STATEMENTS, "warnings", sorted(messages))
        if name in self.cases.setdefault(estimator, {}):
            raise RuntimeError(f"two cases of {estimator} are called {name}.")
        self.cases[estimator][name] = case.parts
        self.seconds[estimator] = self.seconds.get(estimator, 0.0) + time.process_time() - start

    def save(self, path: Path) -> None:
        """Write the canonical JSON."""
        content = {"cases": self.cases, "seconds": self.seconds}
        path.write_text(json.dumps(content, sort_keys=True, indent=0))


class Case:
    """What one case yields, in three parts; of statements the dict (0), all texts (1), pages too (2).

    Seeds beyond the first say nothing new about texts; what is claimed depends on having one.
    """

    def __init__(self, level: int = 2) -> None:
        self.level = level
        self.parts: dict[str, dict[str, Any]] = {FIT: {}, PREDICTIONS: {}, STATEMENTS: {}}

    def put(self, part: str, key: str, value: Any) -> None:
        """Note down a value."""
        self.parts[part][key] = encode(value)

    def attempt(self, part: str, key: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Note down what a call returns, or the text of its error."""
        try:
            value = function(*args, **options)
        except Exception as error:
            self.put(part, key, describe(error))
            return None
        self.put(part, key, value)
        return value

    def statement(self, key: str, statement: Any) -> None:
        """Note down every form of a record."""
        for name in (*_TEXTS, *_TABLES) if self.level else ("to_dict",):
            if hasattr(statement, name):
                self.attempt(STATEMENTS, f"{key}.{name}", getattr(statement, name))
        for name in _PAGES if self.level > 1 else ():
            if hasattr(statement, name):
                self.attempt(STATEMENTS, f"{key}.{name}", lambda name=name: page(getattr(statement, name)()))
        if self.level > 1:
            self.attempt(STATEMENTS, f"{key}.privacy_section", public("privacy_section"), statement)

    def estimator(self, model: Any, queries: Any = None, targets: Any = None) -> None:
        """Note down everything about a fitted estimator."""
        for name, value in fitted(model).items():
            self.put(FIT, name, value)
        if self.level > 1:
            self._parameters(model)
        for name in ("privacy_spent_", "disclosure_risk_"):
            if (statement := getattr(model, name, None)) is not None:
                self.statement(name, statement)
        if self.level:
            self.statement("report", public("privacy_report")(model))
        if queries is not None:
            self._answers(model, queries, targets)

    def _parameters(self, model: Any) -> None:
        self.put(STATEMENTS, "get_params", model.get_params())
        # Sorted: scikit-learn orders parameters by their names, which may have changed.
        self.put(STATEMENTS, "repr", sorted(re.split(r"[\s,()]+", clean(repr(model)))))
        self.attempt(STATEMENTS, "html", lambda: page(model._repr_html_()))
        self.attempt(STATEMENTS, "roles", public("parameter_roles"), model)
        for any_public in (False, True) if hasattr(model, "planned_cost") else ():
            self.attempt(STATEMENTS, f"planned cost, {any_public}", model.planned_cost, any_public)
        self.attempt(STATEMENTS, "tags", model.__sklearn_tags__)
        self.attempt(STATEMENTS, "clone", lambda: dict.fromkeys(clone(model).get_params(), "kept"))

    def _answers(self, model: Any, queries: Any, targets: Any) -> None:
        for name, options in _ANSWERS.items():
            if hasattr(model, name):
                self.attempt(PREDICTIONS, name, getattr(model, name), queries, **options)
        if hasattr(model, "predict_quantile"):
            options = {"q": 0.1, "return_interval": True}
            self.attempt(PREDICTIONS, "interval", model.predict_quantile, queries[:3], **options)
        if hasattr(model, "get_feature_names_out"):
            self.attempt(PREDICTIONS, "names out", model.get_feature_names_out)
        if targets is not None and hasattr(model, "score"):
            self.attempt(PREDICTIONS, "score", model.score, queries, targets)
        if getattr(model, "releases_state", True) and hasattr(model, "predict"):
            copied = lambda: pickle.loads(pickle.dumps(model)).predict(queries)  # noqa: E731
            self.attempt(PREDICTIONS, "predict of a pickle", copied)


def describe(error: BaseException) -> str:
    """Return an error as one text."""
    return f"{type(error).__name__}: {clean(str(error))}"


@contextlib.contextmanager
def seeded_system(seed: str) -> Iterator[None]:
    """Replace the system's entropy by a stream that a text determines; never outside such a comparison."""
    source = random.Random(seed)
    original, own = os.urandom, read(random, "_urandom")
    np.random.seed(len(seed))  # noqa: NPY002
    random.seed(seed)
    os.urandom = random._urandom = _fresh(source)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        os.urandom, random._urandom = original, own  # type: ignore[attr-defined]


def _fresh(source: random.Random) -> Callable[[int], bytes]:
    # A copy of its own for every caller: who draws noise overwrites the bytes.
    return lambda size: bytes(bytearray(source.randbytes(size)))


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Make a temporary folder, the name of which is left out of what is recorded."""
    with tempfile.TemporaryDirectory(prefix="cmp-") as name:
        yield Path(name)
