# SPDX-License-Identifier: BSD-3-Clause
"""A registry file, a JSON statement and a label of every family's estimator, written to a new folder."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import jsonschema
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skprivate import (
    CollaborativeLARRegressor,
    DPLogLocationScaleRegressor,
    DPTreeClassifier,
    LocallyPrivateTreeClassifier,
    PrivateNashSolver,
    QuadraticAggregativeGame,
    privacy_report,
)
from skprivate.accounting import PackageRecord, statement_schema

from ._timing import seconds

WHO_AND_WHY = {
    "name": "Example",
    "data_curator": "Nobody: simulated rows",
    "intended_use": "To show what is stated",
    "release_type": "One release",
}


def statements() -> Iterator[tuple[str, Any]]:
    """Names, and what every family states after a fit on simulated rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 2))
    y = (X[:, 0] > 0.5).astype(int)
    declared = {"bounds": (0, 1), "classes": [0, 1]}
    public = np.arange(len(X)) < 100
    local = LocallyPrivateTreeClassifier(epsilon=2, **declared).fit(X, y, is_public=public)
    yield "tree_local", local.privacy_spent_
    yield "tree_curator", DPTreeClassifier(**declared).fit(X, y).privacy_spent_
    yield "tree_seeded", DPTreeClassifier(random_state=0, **declared).fit(X, y).privacy_spent_
    life = DPLogLocationScaleRegressor(epsilon=4, bounds_X=(0, 1), bounds_y=(0.01, 20))
    yield "life", life.fit(X, np.exp(X[:, 0]) * rng.weibull(2, size=len(X))).privacy_spent_
    platform = CollaborativeLARRegressor(bandwidth=0.05, bounds=(0, 1))
    platform.fit(X, X[:, 0] * X[:, 1], sites=np.arange(len(X)) % 12)
    for number, risk in enumerate(platform.disclosure_risk_):
        yield f"platform_{number}", risk
    game = QuadraticAggregativeGame(P=1.0, Q=0.5, r=[-0.6, 0.1, 0.4, 0.9], r_bounds=(-1, 1))
    yield "game", PrivateNashSolver(max_iter=50).fit(game).privacy_spent_
    pipeline = make_pipeline(StandardScaler(), DPTreeClassifier(**declared))
    yield "pipeline_unpaid", privacy_report(pipeline.fit(X, y))


def run() -> None:
    folder = Path(mkdtemp(prefix="skprivate-statements-"))
    validator = jsonschema.Draft202012Validator(statement_schema())
    first = seconds(PackageRecord.current)
    print(f"fingerprint of the package, once per process: {1e3 * first:.1f} ms")
    print(f"{'statement':18s}{'flavour':30s}{'epsilon':>9s}{'TODO':>6s}{'label, bytes':>14s}{'JSON':>8s}")
    for name, statement in statements():
        entry = statement.to_registry(**WHO_AND_WHY)
        (folder / f"{name}.yaml").write_text(str(entry), encoding="utf-8")
        page = statement.to_html()
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
        valid = "none"
        if hasattr(statement, "to_dict"):
            machine = json.dumps(statement.to_dict(), indent=2)
            (folder / f"{name}.json").write_text(machine, encoding="utf-8")
            validator.validate(json.loads(machine))
            valid = "valid"
        deployment = entry["deployment"]
        epsilon = deployment["privacy_loss"]["privacy_parameters"].get("epsilon", "none")
        flavour = deployment["dp_flavor"]["name"]
        shown = epsilon if isinstance(epsilon, str) else f"{epsilon:.4g}"
        print(f"{name:18s}{flavour:30s}{shown:>9s}{len(entry.missing):6d}{len(page):14d}{valid:>8s}")
    print(f"files: {folder}")
