# SPDX-License-Identifier: BSD-3-Clause
"""Sizes and gaps of the registry entry, label and JSON that an estimator of every family states."""

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

from .._tables import Table
from .._timing import seconds

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
    first = seconds(PackageRecord.current)
    print(f"fingerprint of the package, once per process: {1e3 * first:.1f} ms")
    table = Table(
        *(("statement", "<18"), ("flavour", "<30"), ("epsilon", ">9.4g"), ("TODO", ">5")),
        *(("label, bytes", ">13"), ("JSON", ">7")),
    )
    for name, statement in statements():
        entry = statement.to_registry(**WHO_AND_WHY)
        (folder / f"{name}.yaml").write_text(str(entry), encoding="utf-8")
        page = statement.to_html()
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
        flavour = entry["deployment"]["dp_flavor"]["name"]
        epsilon = entry["deployment"]["privacy_loss"]["privacy_parameters"].get("epsilon", "none")
        json_is = write_json(folder / f"{name}.json", statement)
        table.row(name, flavour, epsilon, len(entry.missing), len(page), json_is)
    print(f"files: {folder}")


def write_json(path: Path, statement: Any) -> str:
    """Write what a machine reads, and return whether there is any; the schema must accept it."""
    if not hasattr(statement, "to_dict"):
        return "none"
    machine = json.dumps(statement.to_dict(), indent=2)
    path.write_text(machine, encoding="utf-8")
    jsonschema.Draft202012Validator(statement_schema()).validate(json.loads(machine))
    return "valid"
