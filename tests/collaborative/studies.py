# SPDX-License-Identifier: BSD-3-Clause
"""A study of several sites in one process, whose transport a test may bend."""

import numpy as np
import pandas as pd

from skprivate import DPNormalLLSRegressor
from skprivate.collaborative import MaskedSites, SiteKey, SiteState
from skprivate.rounds import TableSource

NAMES = ("north", "south", "west")
FEATURES = ["age", "dose"]
COLUMNS = {"features": FEATURES, "target": "y"}
MODEL = DPNormalLLSRegressor(2.0, bounds_X=(0, 1), bounds_y=(-2, 4), random_state=0)


def make_rows(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.uniform(size=(n, 2)), columns=FEATURES)
    rows["y"] = rows["age"] - rows["dose"] + rng.normal(size=n) / 2
    rows["label"] = (rows["y"] > 0).astype(int)
    rows["days"], rows["died"] = np.ceil(50 * rng.exponential(size=n)).clip(1, 100), rng.uniform(size=n) < 0.7
    rows["sex"] = rng.choice(["f", "m"], size=n)
    rows["person"] = [f"p{number // 2}" for number in range(n)]
    return rows


class Study:
    """States on disk, tables, and sites as the driver has them."""

    def __init__(self, folder, fits=None, names=NAMES, **more):
        self.folder, self.names, self.key, self.sent = folder, names, SiteKey.generate(), []
        rows = make_rows()
        # Blocks of whole persons, of unequal sizes.
        ends = np.round(np.linspace(0, 1, len(names) + 1) ** 1.5 * len(rows) / 2).astype(int) * 2
        self.rows, self.models = rows, {}
        self.tables = {name: rows[start:end] for name, start, end in zip(names, ends, ends[1:], strict=False)}
        self.states = {name: SiteState(folder / name) for name in names}
        fits = [MaskedSites.plan_fit(MODEL, n_rows=3000, **COLUMNS)] if fits is None else fits
        publics = {name: state.public for name, state in self.states.items()}
        self.roster = MaskedSites.roster(publics, self.key.public, fits, **more)
        for state in self.states.values():
            state.enrol(self.roster, MaskedSites.fingerprint_of(self.roster))
        self.sites = self.driver()

    def driver(self, **options):
        return MaskedSites(self.post, self.roster, self.key, **{"patience": 0.0, **options})

    def post(self, name, request):
        reply = self.states[name].answer(request, self.tables.get(name), self.models.get(name))
        self.sent.append((name, request, reply))
        return reply

    def restart(self, name, **options):
        self.states[name] = SiteState(self.folder / name, **options)
        return self.states[name]

    def source(self, **columns):
        return TableSource(self.sites, **(columns or COLUMNS))
