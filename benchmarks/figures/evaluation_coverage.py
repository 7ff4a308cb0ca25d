# SPDX-License-Identifier: BSD-3-Clause
"""Coverage and width of the intervals of `private_evaluate`, on models of scikit-learn.

Run with ``python -m benchmarks.figures.evaluation_coverage [--runs 300] [--cases rare constant]``. Rows are
drawn with replacement from a pool whose exact values are the truth: so the intervals must count sampling and
noise. "exact" is the width of the interval of the same rows at epsilon 1,000, next to no noise; the last
columns are errors of the AUC, of the release and of the rows themselves.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB

from skprivate import private_evaluate

CLIP = 1e-3
EPSILONS = (0.1, 0.5, 1.0)
SIZES = (500, 5_000, 50_000)
POOL = 100_000


class ScoresOfRows:
    """A finished model whose scores are looked up: X holds those of the model that was trained."""

    classes_ = np.array([0, 1])

    def predict(self, X: Any) -> Any:
        """Return labels."""
        return (X[:, 0] > 0.5).astype(int)

    def predict_proba(self, X: Any) -> Any:
        """Return the looked-up scores."""
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def simulate(model: Any, rate: float, separation: float, noise: float, seed: int) -> tuple[Any, Any]:
    """Train a model on 2,000 rows, and return scores and labels of a pool."""
    X, y = make_classification(
        POOL + 2_000,
        10,
        n_informative=5,
        n_redundant=3,
        weights=[1 - rate],
        class_sep=separation,
        flip_y=noise,
        random_state=seed,
    )
    model.fit(X[:2_000], y[:2_000])
    return model.predict_proba(X[2_000:])[:, 1], y[2_000:]


def random_scores() -> tuple[Any, Any]:
    """Return scores of a model that was trained on labels without any relation to the columns."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(POOL + 300, 5)), rng.integers(0, 2, POOL + 300)
    model = LogisticRegression().fit(X[:300], y[:300])
    return model.predict_proba(X[300:])[:, 1], y[300:]


def breast_cancer() -> tuple[Any, Any]:
    """Return scores of a forest on the half of the breast cancer data that it was not trained on."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(6).permutation(len(X))
    train, test = order[: len(X) // 2], order[len(X) // 2 :]
    model = RandomForestClassifier(random_state=0).fit(X[train], y[train])
    return model.predict_proba(X[test])[:, 1], y[test]


CASES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "logistic": lambda: simulate(LogisticRegression(), 0.4, 0.7, 0.1, 0),
    "boosting": lambda: simulate(HistGradientBoostingClassifier(random_state=0), 0.2, 1.0, 0.05, 1),
    "rare": lambda: simulate(LogisticRegression(), 0.01, 0.7, 0.0, 2),
    "separable": lambda: simulate(HistGradientBoostingClassifier(random_state=0), 0.5, 4.0, 0.0, 3),
    "miscalibrated": lambda: simulate(GaussianNB(), 0.3, 0.7, 0.1, 4),
    "random": random_scores,
    "constant": lambda: simulate(DummyClassifier(), 0.3, 1.0, 0.0, 7),
    "forest, real": breast_cancer,
}


def exact_values(p: Any, y: Any) -> dict[str, float]:
    """Return every statistic of scores that are clipped as the release clips them."""
    p = np.clip(p, CLIP, 1 - CLIP)
    losses = np.where(y == 1, -np.log(p), -np.log1p(-p))
    odds = np.log(p / (1 - p))[:, None]
    slope = np.nan
    if np.ptp(odds) > 0:
        slope = float(LogisticRegression(C=1e6, max_iter=1_000).fit(odds, y).coef_[0, 0])
    return {
        "accuracy": float(((p > 0.5) == y).mean()),
        "balanced_accuracy": float(balanced_accuracy_score(y, p > 0.5)),
        "auc": float(roc_auc_score(y, p)),
        "brier": float(((p - y) ** 2).mean()),
        "log_loss": float(losses.mean()),
        "calibration_in_the_large": float((y - p).mean()),
        "calibration_slope": slope,
    }


def run(
    p: Any, y: Any, n: int, epsilon: float, runs: int, truth: dict[str, float]
) -> Iterator[tuple[str, float, float, float]]:
    """Yield, by statistic, coverage, mean width and the width of the same rows without noise."""
    inside: dict[str, list[bool]] = {name: [] for name in truth}
    widths: dict[str, list[float]] = {name: [] for name in truth}
    exact: dict[str, list[float]] = {name: [] for name in truth}
    errors: list[float] = []
    rng = np.random.default_rng(n)
    for k in range(runs):
        rows = rng.integers(0, len(p), n)
        found = private_evaluate(ScoresOfRows(), p[rows, None], y[rows], epsilon).metrics
        for name, value in truth.items():
            inside[name].append(found[name].lower - 1e-9 <= value <= found[name].upper + 1e-9)
            widths[name].append(found[name].upper - found[name].lower)
        if k < 30:
            without = private_evaluate(ScoresOfRows(), p[rows, None], y[rows], 1_000.0).metrics
            for name in truth:
                exact[name].append(without[name].upper - without[name].lower)
        if 0 < y[rows].sum() < n and np.isfinite(found["auc"].value):
            errors.append(found["auc"].value - roc_auc_score(y[rows], p[rows]))
    for name, value in truth.items():
        if np.isfinite(value):
            yield name, np.mean(inside[name]), np.mean(widths[name]), np.mean(exact[name])
    if errors:
        yield "auc error (rms)", np.nan, float(np.sqrt(np.mean(np.square(errors)))), np.nan


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--epsilons", type=float, nargs="*", default=EPSILONS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'case':<14}{'n':>7}{'eps':>6}  {'statistic':<26}{'coverage':>9}{'width':>9}{'no noise':>9}")
    for case in arguments.cases:
        p, y = CASES[case]()
        truth = exact_values(p, y)
        for n in arguments.sizes:
            for epsilon in arguments.epsilons:
                for name, share, width, without in run(p, y, n, epsilon, arguments.runs, truth):
                    print(
                        f"{case:<14}{n:>7}{epsilon:>6}  {name:<26}{share:>9.3f}{width:>9.4f}{without:>9.4f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
