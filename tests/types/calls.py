# SPDX-License-Identifier: BSD-3-Clause
"""A user's calls: type checkers pass the five of `right_calls`, and refuse each of the five of `wrong_calls`.

``make types`` reads this file as a user's, by ``mypy --strict`` and by pyright in its strict mode. Both also
refuse a ``type: ignore`` that hides no error: there it fails that a wrong call passes, too.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from skprivate import (
    CollaborativeLARRegressor,
    DPLogLocationScaleRegressor,
    DPTreeClassifier,
    LocallyPrivateTreeClassifier,
    PrivacyLedger,
    PrivateGridSearch,
    PrivateNashSolver,
    QuadraticAggregativeGame,
)

X = np.random.default_rng(0).uniform(size=(80, 2))
y = np.arange(80) % 2
game = QuadraticAggregativeGame(1.0, 0.5, [0.2, 0.4, 0.9], private="r", r_bounds=(0, 1))


def right_calls(folder: Path) -> list[NDArray[np.float64] | str]:
    tree = LocallyPrivateTreeClassifier(epsilon=2, rule="cart", bounds=(0, 1), classes=[0, 1]).fit(X, y)
    life = DPLogLocationScaleRegressor(distribution="lognormal", bounds_X=(0, 1), bounds_y=(1, 9))
    b10, interval = life.fit(X, y + 1).predict_quantile(X, 0.1, return_interval=True)
    platform = CollaborativeLARRegressor(kernel="knn", n_neighbors=5, bounds=(0, 1))
    answers = platform.fit(X, y, sites=np.arange(80) % 10).predict(X)
    guarantee = PrivateNashSolver("ye", max_iter=3).fit(game).privacy_guarantee(criterion="dp")
    ledger = PrivacyLedger(folder / "ledger.db", epsilon=10)
    candidates = DPTreeClassifier(bounds=(0, 1), classes=[0, 1])
    search = PrivateGridSearch(candidates, {"max_depth": [1, 2]}, scoring="accuracy", ledger=ledger)
    accuracy = search.fit(X, y).predict(X) == y
    return [tree.predict_proba(X), b10, interval[:, 0], answers, guarantee.statement(), accuracy * 1.0]


def wrong_calls() -> float:
    LocallyPrivateTreeClassifier(rule="nonsense")  # type: ignore[arg-type]
    DPLogLocationScaleRegressor(distribution="gumbel")  # type: ignore[arg-type]
    CollaborativeLARRegressor(kernal="knn")  # type: ignore[call-arg]
    PrivacyLedger("ledger.db", epsilon="1")  # type: ignore[arg-type]
    return PrivateNashSolver().fit(game).privacy_guarantee()  # type: ignore[return-value]
