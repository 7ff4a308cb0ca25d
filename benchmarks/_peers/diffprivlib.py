# SPDX-License-Identifier: BSD-3-Clause
"""Times, scores and audits of the estimators of diffprivlib, on the scikit-learn that it supports.

``python -m benchmarks._peers.diffprivlib speed ROWS`` prints JSON, ``audit`` a table, ``predictions`` writes
those of an estimator on given rows. Of skprivate, ``audit`` needs the noise and the audit rooms, which import
on older releases of scikit-learn too.
"""

import importlib
import json
import sys
import warnings
from functools import partial
from itertools import product
from time import process_time
from typing import Any

import numpy as np

from .._timing import median_seconds, timed
from ..figures.auditing._report import show
from .tasks import REPEATS, tasks

EPSILON = 1.5
BOX = {"bounds": ([-1.0, -1.0], [1.0, 1.0])}
LABELS = {**BOX, "classes": np.array([0, 1]), "max_depth": 2}
#: What is audited.
ESTIMATORS: dict[str, dict[str, Any]] = {
    "StandardScaler": BOX,
    "GaussianNB": BOX,
    "LinearRegression": {"bounds_X": BOX["bounds"], "bounds_y": (-1.0, 1.0)},
    "LogisticRegression": {"data_norm": 2.0},
    "PCA": {**BOX, "data_norm": 2.0, "n_components": 1},
    "KMeans": {**BOX, "n_clusters": 2},
    "DecisionTreeClassifier": LABELS,
    "RandomForestClassifier": {**LABELS, "n_estimators": 2},
}

#: Checks that judge skprivate's own protocol, which nobody else has to follow.
NOT_THEIRS = {
    "check_privacy_spent": "the statement is ours: its own epsilon and its own warnings, in our words",
    "check_seeded_fit_is_not_private": "that a seed takes the claim away is our rule",
    "check_pipeline_steps": "privacy_report knows the estimators of skprivate only",
}
_SPLITS = {"check_large_epsilon": "splits are drawn at random, whatever epsilon is"}
NOTES = {
    "KMeans": {"check_large_epsilon": "clusters have no order, so labels may be swapped"},
    "DecisionTreeClassifier": _SPLITS,
    "RandomForestClassifier": _SPLITS,
}


def speed(n_rows: str) -> None:
    """Print seconds and scores of its estimators, by task and name."""
    import diffprivlib.models as models

    found: dict[str, Any] = {}
    for task in tasks(int(n_rows)):
        box = tuple(np.full(task.X.shape[1], end) for end in (-1.0, 1.0))
        labels = {"bounds": box, "classes": np.array([0, 1])}
        kinds: dict[str, Any] = {
            "GaussianNB": {"bounds": box},
            "DecisionTreeClassifier": labels,
            "RandomForestClassifier": labels | {"n_estimators": 10},
        }
        if task.kind == "regression":
            kinds = {"LinearRegression": {"bounds_X": box, "bounds_y": task.bounds_y}}
        for name, options in kinds.items():
            model = getattr(models, name)(epsilon=1.0, **options)
            took = median_seconds(partial(model.fit, task.X, task.y), REPEATS, process_time)
            found.setdefault(task.kind, {})[f"diffprivlib {name}"] = [took, task.score(model)]
    print(json.dumps(found))


def stated(cls: type, relation: str) -> type:
    """Return the class with a statement in our words: its epsilon; not private where it warned of a leak."""
    from skprivate.accounting import PrivacySpent

    def fit(self: Any, X: Any, y: Any = None) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            cls.fit(self, X, y)  # type: ignore[attr-defined]
        leaks = [one for one in caught if "PrivacyLeak" in one.category.__name__]
        for one in caught:
            warnings.warn(one.message, one.category, stacklevel=2)
        self.privacy_spent_ = PrivacySpent(
            mechanism="diffprivlib",
            epsilon=self.epsilon,
            relation=relation,
            noise_scale=None,
            noise_source="os-entropy",
            deployment="curator",
            # Neighbours of one size: it is public.
            unprotected={"rows": len(X)} if relation == "replace-one" else {},
            claim="not-private" if leaks else "dp",
            reasons=("it warned of a leak",) if leaks else (),
        )
        return self

    same_name = type(cls.__name__, (cls,), {"fit": fit, "__module__": __name__})
    # Pickles find it by its name.
    globals()[cls.__name__] = same_name
    return same_name


def audit() -> None:
    """Run the battery on every estimator, under either relation, and print what fails."""
    import diffprivlib
    import diffprivlib.models as models
    import sklearn

    from skprivate.audit import AuditCase, check_private_estimator

    print(f"diffprivlib {diffprivlib.__version__} on scikit-learn {sklearn.__version__}, epsilon {EPSILON}")
    for relation, (name, options) in product(("replace-one", "add-remove"), ESTIMATORS.items()):
        model = stated(getattr(models, name), relation)(epsilon=EPSILON, **options)
        case = AuditCase.of(model, n_trials=1000, notes=NOT_THEIRS | NOTES.get(name, {}))
        show(f"{name}, neighbours: {relation}", check_private_estimator(case, on_fail=None))


def predictions(name: str, rows: str, found: str) -> None:
    """Fit an estimator at several epsilons on the rows of a file; write what it says of test rows.

    The seconds of its fits are written too. Its noise is its own, unseeded. Bounds, and the labels where it
    takes them, are declared; logistic regression gets rows in the unit ball with a constant among them.
    """
    import diffprivlib.models as models

    given = np.load(rows)
    box = given["lower"], given["upper"]
    known: dict[str, Any] = {"bounds": box}
    if name in ("DecisionTreeClassifier", "RandomForestClassifier"):
        known["classes"] = given["classes"]
    elif name == "LogisticRegression":
        known = {"data_norm": 1.0, "fit_intercept": False}
    elif name == "LinearRegression":
        known = {"bounds_X": box, "bounds_y": tuple(given["target_range"])}
    said, seconds = [], []
    for epsilon in given["epsilons"]:
        model = getattr(models, name)(epsilon=float(epsilon), **known)
        took, _ = timed(partial(model.fit, given["X"], given["y"]))
        seconds.append(took)
        said.append(getattr(model, "predict_proba", model.predict)(given["X_test"]))
    np.savez(found, found=said, seconds=seconds)


def main() -> None:
    warnings.simplefilter("ignore")
    task, *given = sys.argv[1:]
    {"speed": speed, "audit": audit, "predictions": predictions}[task](*given)


if __name__ == "__main__":
    # By its full name: classes that are made here are found by pickle there.
    importlib.import_module("benchmarks._peers.diffprivlib").main()
