# SPDX-License-Identifier: BSD-3-Clause
"""Warfarin doses under swaps and noise, and by neural networks: Figure 8, Table 5 of the collaborative paper.

The paper's NN is noise on queries and noise on answers; neural networks as the parties' models are a row of
their own, which the paper has not.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.utils import Bunch

from skprivate.collaborative import BSTDAggregator, CollaborativeRegressor
from skprivate.datasets import fetch_warfarin
from skprivate.exceptions import DisclosureWarning
from skprivate.metrics import correct_orientation_score, record_linkage_score
from skprivate.preprocessing import BoundsScaler, TQMATransformer

from ..._pictures import bars, new_panels, write
from ..._tables import Table
from .._collaborative import drawn_kernels
from .._perturbation import Perturbation, laplace_noise, multiplicative_noise
from ..warfarin import DEPTH, FIXED, GROUPS, MU, N_PARTIES, TEST, TRAIN, WINDOW, accuracy, with_codes
from ._noise import SWAP_SEED, Noise, laplace, linkage, multiplicative, shares_of, synthesis

FloatArray = NDArray[np.float64]

#: CO of noisy queries and variance of the noise on answers, as the paper states them for NN.
CO, VARIANCE = 3.97, 0.03
#: Of Laplace noise on answers in TN: the paper does not say which.
EPSILON = 10.0
HIDDEN, PENALTIES = (16,), (0.001, 0.01, 0.1, 1.0)
#: By group (low, high): RMSE, predicted and correctly predicted extreme doses.
PAPER = {
    "CMPP": ((0.0569, 49, 38), (0.1259, 5, 3)),
    "TB": ((0.0567, 50, 38), (0.1261, 5, 3)),
    "NN": ((0.0609, 45, 34), (0.1194, 9, 5)),
}


def noisy_queries(
    perturb: Perturbation, data: Bunch, X: FloatArray, strength: float, seed: int
) -> FloatArray:
    """Return queries with noise on every quasi-identifier, in units of its range."""
    lower, width = data.bounds[0], data.bounds[1] - data.bounds[0]
    unit, rng = (X - lower) / width, np.random.default_rng((seed, 5))
    for column in range(len(data.quasi_identifiers)):
        unit = perturb(unit, column, strength, rng)
    return lower + width * unit


def orientation(data: Bunch, X: FloatArray, sent: FloatArray) -> float:
    """Return the mean CO of the quasi-identifiers, in percent, within mu of their ranges."""
    n = len(data.quasi_identifiers)
    widths = (data.bounds[1] - data.bounds[0])[:n]
    return float(np.mean(correct_orientation_score(X[:, :n], sent[:, :n], mu=MU * widths)))


def matched_queries(perturb: Perturbation, data: Bunch, X: FloatArray, seed: int) -> FloatArray:
    """Return queries with the noise of least strength at which the mean CO is the paper's."""
    for strength in np.geomspace(1e-4, 1e2, 61):
        sent = noisy_queries(perturb, data, X, float(strength), seed)
        if orientation(data, X, sent) <= CO:
            return sent
    raise RuntimeError("no noise hides the quasi-identifiers")


def unit_variance(platform: Any, X: FloatArray) -> Noise:
    """Return multiplicative noise of the paper's variance, whatever the shares."""
    return multiplicative(VARIANCE / float(shares_of(platform, X).var()))


class Patients:
    """One split of the patients over parties and a test group, and the platforms of the parties."""

    def __init__(self, data: Bunch, seed: int) -> None:
        self.data, self.seed = data, seed
        order = np.random.default_rng(1000 + seed).permutation(len(data.data))
        n_train, n_test = round(TRAIN * len(order)), round(TEST * len(order))
        train, test = order[:n_train], order[-n_test:]
        self.X, self.dose = data.data[test], data.target[test]
        self.lower, self.upper = data.target_range
        self.rows, self.scaled = data.data[train], self.to_scale(data.target[train])
        rng = np.random.default_rng(seed)
        self.sites = rng.permutation(n_train) % N_PARTIES
        self.averages = self.platform(drawn_kernels(N_PARTIES, rng, data.bounds))
        self.networks = self.platform(network(data, 60_000 + seed))

    def to_scale(self, dose: FloatArray) -> FloatArray:
        return (dose - self.lower) / (self.upper - self.lower)

    def platform(self, local: Any) -> CollaborativeRegressor:
        swap = BSTDAggregator(*WINDOW, active_rule="box", random_state=SWAP_SEED + self.seed)
        return CollaborativeRegressor(local, aggregator=swap).fit(self.rows, self.scaled, self.sites)

    def coarsened(self) -> FloatArray:
        names = {
            j: tuple(side[j] for side in self.data.bounds) for j in range(len(self.data.quasi_identifiers))
        }
        return (
            TQMATransformer(DEPTH, bounds=names, quasi_identifiers=list(names)).fit(self.X).transform(self.X)
        )

    def predictions(self) -> dict[str, FloatArray]:
        """Return the predicted doses by method, and set CO and RL of those that protect both sides."""
        X, coarsened = self.X, self.coarsened()
        multiplied = matched_queries(multiplicative_noise, self.data, X, self.seed)
        added = matched_queries(laplace_noise, self.data, X, self.seed)
        noise, private = unit_variance(self.averages, multiplied), laplace(EPSILON)
        self.risks = {
            "TB": (self.orientation(coarsened), self.swap_linkage(coarsened)),
            "NN": (self.orientation(multiplied), self.noise_linkage(multiplied, noise)),
            "NB, Laplace": (self.orientation(added), self.swap_linkage(added)),
            "TN, Laplace": (self.orientation(coarsened), self.noise_linkage(coarsened, private)),
        }
        scaled = {
            "fixed 35 mg/week": np.full(len(X), self.to_scale(np.array(FIXED))),
            "linear regression": LinearRegression().fit(self.rows, self.scaled).predict(X),
            "CMPP": self.averages.predict(X),
            "TB": self.averages.predict(coarsened),
            "NN": self.noisy(multiplied, noise),
            "NB, Laplace": self.averages.predict(added),
            "TN, Laplace": self.noisy(coarsened, private),
            "CMPP, neural networks": self.networks.predict(X),
            "TB, neural networks": self.networks.predict(coarsened),
        }
        return {name: self.lower + (self.upper - self.lower) * values for name, values in scaled.items()}

    def noisy(self, sent: FloatArray, noise: Noise) -> FloatArray:
        shares = noise(shares_of(self.averages, sent), np.random.default_rng((self.seed, 6)))
        return synthesis(shares, self.averages.site_sizes_)

    def orientation(self, sent: FloatArray) -> float:
        return orientation(self.data, self.X, sent)

    def swap_linkage(self, sent: FloatArray) -> float:
        sizes = self.averages.site_sizes_
        submitted = shares_of(self.averages, sent) * sizes.sum() / sizes.mean()
        return record_linkage_score(submitted, self.averages.observe(sent))

    def noise_linkage(self, sent: FloatArray, noise: Noise) -> float:
        return linkage(self.averages, sent, noise, (self.seed, 7))


def network(data: Bunch, seed: int) -> Any:
    """Return a small neural network on columns in their declared bounds; every party chooses its penalty."""
    layers = MLPRegressor(hidden_layer_sizes=HIDDEN, solver="lbfgs", max_iter=300, random_state=seed)
    return GridSearchCV(make_pipeline(BoundsScaler(data.bounds), layers), {"mlpregressor__alpha": PENALTIES})


def run(seeds: int = 20, save: Path | None = None) -> None:
    data = with_codes(fetch_warfarin())
    rows: dict[str, list[list[float]]] = {}
    risks: dict[str, list[tuple[float, float]]] = {}
    with warnings.catch_warnings():
        # Of small sites, and of networks that stop at their last step.
        warnings.simplefilter("ignore", DisclosureWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        for seed in range(seeds):
            patients = Patients(data, seed)
            for name, predicted in patients.predictions().items():
                # The paper scales doses by their own range; here that is for the report alone.
                scale = float(np.ptp(data.target))
                rows.setdefault(name, []).append(accuracy(patients.dose, predicted, scale))
            for name, risk in patients.risks.items():
                risks.setdefault(name, []).append(risk)
    found = {name: np.mean(values, axis=0) for name, values in rows.items()}
    print(f"{len(data.data)} patients, {N_PARTIES} parties, {seeds} splits, race and drugs one number each")
    print(f"noise on queries at a CO of {CO} %, answers: variance {VARIANCE} (NN), epsilon {EPSILON:g} (TN)")
    _show(found, {name: np.mean(values, axis=0) for name, values in risks.items()})
    if save is not None:
        draw(found, save)


def _show(found: dict[str, FloatArray], risks: dict[str, FloatArray]) -> None:
    table = Table(
        ("method", "<23"), ("CO %", ">6.2f"), ("RL %", ">6.2f"),
        ("RMSE low", ">9.4f"), ("RMSE high", ">9.4f"),
        ("low pred./correct", ">17"), ("high pred./correct", ">18"),
        *((f"ideal % {group}", ">14.1f") for group in GROUPS), indent=2,
    )  # fmt: skip
    for name, row in found.items():
        low, high = (f"{row[i]:.1f}/{row[i + 1]:.1f}" for i in (12, 14))
        table.row(name, *risks.get(name, (None, None)), row[0], row[2], low, high, *row[[3, 6, 9]])
        if name in PAPER:
            (rmse_low, *of_low), (rmse_high, *of_high) = PAPER[name]
            counts = ("/".join(map(str, numbers)) for numbers in (of_low, of_high))
            printed = {"TB": (3.82, 3.73), "NN": (3.97, None)}.get(name, (None, None))
            table.row("  the paper", *printed, rmse_low, rmse_high, *counts, None, None, None)


def draw(found: dict[str, FloatArray], folder: Path) -> None:
    """Draw shares of ideal, too low and too high doses by group, as Figure 8 does."""
    figure, panels = new_panels([f"{group} dose" for group in GROUPS], columns=1)
    figure.set_size_inches(11, 10)
    for place, panel in enumerate(panels):
        shares = {
            kind: {name: row[3 + 3 * place + i] for name, row in found.items()}
            for i, kind in enumerate(("ideal", "too low", "too high"))
        }
        bars(panel, shares, "%")
    write(figure, folder, "collaborative_table_5")
