# SPDX-License-Identifier: BSD-3-Clause
"""The part of the demonstration about hospitals that predict together: error and linkage against depth."""

import warnings
from typing import Any

import numpy as np

from .._typing import FloatArray
from ..audit import ModelExtractionAttack
from ..collaborative import CollaborativeRegressor, LocalAverageRegressor
from ..datasets import make_parties
from ..exceptions import DisclosureWarning
from ..metrics import correct_orientation_score
from ..preprocessing import TQMATransformer
from .summary import Axis, Baseline, Curve, Panel, Scores, Summary, print_table, progress

# Depths of the coarsening, and numbers of rows, hospitals and queries. Set by hand.
DEPTHS = (1, 2, 3, 4, 5, 6, 7, 8)
N_ROWS, N_HOSPITALS, N_QUERIES = 10_000, 20, 1_000
TITLE = (
    f"Dose of a patient, SIMULATED: {N_HOSPITALS} hospitals with {N_ROWS:,} patients, one attribute coarsened"
)
#: Columns of the table.
ALONE, TOGETHER, COARSENED, LINKABLE = "one alone", "together", "coarsened", "linkable, %"


def run(repetitions: int) -> None:
    """Print a table of errors and linkable shares, and what an operator gains by a copy."""
    print("\nHospitals that predict together. This is NOT differential privacy. Queries are coarsened. With")
    print("a table that is right up to 0.1 % of the range, the share in the last column can be linked.")
    print(f"\n{TITLE}")
    print_table("depth", DEPTHS, evaluate(repetitions), ".4g")
    print("\nAn operator copies one hospital's model. Near 1 times, the copy is as good as the hospital:")
    print(attack())


def evaluate(repetitions: int) -> Scores:
    """Return root mean squared errors, and the share of linkable values, of shape (n_depths, repetitions)."""
    scores = {name: np.zeros((len(DEPTHS), repetitions)) for name in (ALONE, TOGETHER, COARSENED, LINKABLE)}
    for repetition in progress(range(repetitions), repetitions):
        platform, queries, truth = draw(repetition)
        # Hospital 0, with a bandwidth for its own patients.
        X, y, hospitals = make_parties(N_ROWS, N_HOSPITALS, random_state=repetition)
        own = LocalAverageRegressor(bounds=(0, 1)).fit(X[hospitals == 0], y[hospitals == 0])
        scores[ALONE][:, repetition] = _error(own, queries, truth)
        scores[TOGETHER][:, repetition] = _error(platform, queries, truth)
        for row, depth in enumerate(DEPTHS):
            coarse = TQMATransformer(depth, (0, 1), [0]).fit_transform(queries)
            scores[COARSENED][row, repetition] = _error(platform, coarse, truth)
            scores[LINKABLE][row, repetition] = correct_orientation_score(queries, coarse)[0]
    return scores


def draw(seed: int) -> tuple[CollaborativeRegressor, FloatArray, FloatArray]:
    """Return a fitted platform, queries and the truth about them."""
    X, y, hospitals = make_parties(N_ROWS, N_HOSPITALS, random_state=seed)
    queries, truth, _ = make_parties(N_QUERIES, 1, noise=0, random_state=1_000 + seed)
    platform = CollaborativeRegressor(LocalAverageRegressor(bounds=(0, 1)))
    with warnings.catch_warnings():
        # The largest hospital is known by its size: `attack` shows the use that an operator makes of it.
        warnings.simplefilter("ignore", DisclosureWarning)
        return platform.fit(X, y, sites=hospitals), queries, truth


def _error(model: Any, queries: FloatArray, truth: FloatArray) -> float:
    return float(np.sqrt(((model.predict(queries) - truth) ** 2).mean()))


def attack() -> str:
    """Return what an operator gains by a copy of the largest hospital's model."""
    platform, queries, truth = draw(0)
    return str(ModelExtractionAttack(random_state=0).run(platform, queries, truth, bounds=(0, 1)))


def summarise(repetitions: int) -> Summary:
    """Return errors against the share of queried values that can be linked."""
    scores = evaluate(repetitions)
    alone, together, coarsened, linkable = (values.mean(axis=1) for values in scores.values())
    helps = (coarsened < alone).all()
    return Summary(
        message=f"Hospitals {'' if helps else 'may '}err less together",
        data=f"{N_HOSPITALS} SIMULATED; NOT differential privacy",
        rows={
            "% of queried values to be linked": linkable[::2],
            "error, together, coarsened queries": coarsened[::2],
        },
        baselines=[
            Baseline("one hospital alone", alone[0]),
            Baseline("together, exact queries", together[0], side="below, right"),
        ],
        panel=Panel(
            Axis("queried values that an outsider can link, %", "log", (0.3, 1, 3, 10, 30, 100), (0.3, 130)),
            Axis("error of a dose", "linear", (0.02, 0.03, 0.04, 0.05), (0.02, 0.052)),
            [Curve("together, coarsened queries", linkable, coarsened, at=1, side="above, right")],
        ),
    )
