# SPDX-License-Identifier: BSD-3-Clause
"""A private description: exact without noise, its sensitivity, an audit, the ledger, bad input, pages."""

import itertools
import json
import math
import pickle
from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import skprivate
from skprivate import PrivacyLedger, private_describe
from skprivate.accounting._privacy_amounts import show
from skprivate.audit import audit_epsilon, record_releases
from skprivate.domain import TableDomain
from skprivate.evaluation import TableDescription
from skprivate.evaluation._counts import DIGITS
from skprivate.exceptions import BudgetExceededError, UtilityWarning
from skprivate.noise import DiscreteLaplaceMechanism

DOMAIN = TableDomain(
    {
        "age": (0, 100),
        "job": ["clerk", "smith"],
        "ill": bool,
        "since": ("2001-01-01", "2021-01-01"),
        "time": (0, 10),
    },
    missing_values=["?"],
)
OPTIONS = {"crosstabs": [("job", "ill"), (("age", [30]), "ill")], "survival": ("time", "ill", "job")}
N_TABLES = 8
# So little noise that a count is wrong by half a row with a probability below 1e-40.
NO_NOISE = 1e4


def make_rows(n=400):
    rng = np.random.default_rng(0)
    return {
        "age": [float(age) if age < 90 else None for age in rng.integers(0, 101, size=n)],
        "job": rng.choice(["clerk", "smith", "?", "thief"], size=n, p=[0.5, 0.3, 0.1, 0.1]).tolist(),
        "ill": rng.choice([True, False], size=n).tolist(),
        "since": [date(2001 + int(year), 6, 1) for year in rng.integers(0, 20, size=n)],
        "time": rng.uniform(0, 12, size=n).tolist(),
    }


def exact(**options):
    return private_describe(make_rows(), DOMAIN, NO_NOISE, **options)


class TestWithoutNoise:
    def test_survival_brackets_kaplan_meier(self):
        rng = np.random.default_rng(2)
        deaths, ends = rng.exponential(5, size=5000), rng.uniform(0, 12, size=5000)
        times, seen = np.minimum(deaths, ends), deaths <= ends
        domain = TableDomain({"time": (0, 10), "event": bool})
        told = private_describe(
            {"time": times, "event": seen}, domain, NO_NOISE, columns=[], survival=("time", "event"), n_bins=4
        )
        at = np.sort(times[seen])
        at_risk = len(times) - np.searchsorted(np.sort(times), at)
        for end, share in zip(told.survival.times, told.survival.curves[""], strict=True):
            assert share.lower < np.prod((1 - 1 / at_risk)[at <= end]) < share.upper

    def test_means_and_quantiles_of_numbers_on_the_grid(self):
        ages = [age for age in make_rows()["age"] if age is not None]
        told = exact(n_bins=100).columns["age"]
        assert told.mean.value == pytest.approx(np.mean(ages), abs=1e-2)
        assert told.std.value == pytest.approx(np.std(ages), abs=1e-2)
        for level in (0.25, 0.5, 0.75):
            assert told.quantiles[level].value == pytest.approx(np.quantile(ages, level), abs=1)

    def test_rounding_to_a_coarse_grid_moves_no_mean(self):
        # 40,000 coins of standard deviation 16.4: a false alarm, five deviations, once in a million.
        rows = {"age": np.full(40_000, 23.0)}
        told = private_describe(rows, TableDomain({"age": (0, 100)}), NO_NOISE, n_bins=2).columns["age"]
        assert told.mean.value == pytest.approx(23, abs=5 * 25 / 200)

    def test_survival_falls_to_nothing(self):
        rows = {"time": [0.4] * 500 + [0.6] * 500, "event": [True] * 1000}
        domain = TableDomain({"time": (0, 1), "event": bool})
        told = private_describe(rows, domain, NO_NOISE, columns=[], survival=("time", "event"), n_bins=4)
        values = [(share.value, share.upper) for share in told.survival.curves[""]]
        assert np.allclose(values, [(1, 1), (0.5, 0.526), (0, 0), (0, 0)], atol=5e-3)

    @pytest.mark.parametrize("status", [[1, 2], (1, 2), ["1", "2"]])
    def test_survival_of_declared_codes_is_that_of_booleans(self, status):
        rng = np.random.default_rng(0)
        rows = {"time": rng.uniform(0, 10, 500), "status": rng.integers(1, 3, 500)}
        happened = "2" if status == ["1", "2"] else 2
        settings = {"columns": [], "survival": ("time", "status"), "n_bins": 5}
        coded = private_describe(
            rows, TableDomain({"time": (0, 10), "status": status}), NO_NOISE, happened=happened, **settings
        )
        rows["status"] = rows["status"] == 2
        plain = private_describe(rows, TableDomain({"time": (0, 10), "status": bool}), NO_NOISE, **settings)
        found = [[share.value for share in one.survival.curves[""]] for one in (coded, plain)]
        np.testing.assert_allclose(*found, atol=5e-3)


EXTREMES = {
    "age": [-1e308, 0, 33.3, 100, 1e308, math.inf, -math.inf, math.nan, None, "?", "text", 10**400],
    "job": ["clerk", " smith ", "thief", "", None, "?", 7, math.nan, b"clerk", [1]],
    "ill": [True, "no", 2, None, "?", "maybe", math.inf],
    "since": [date(1, 1, 1), date(9999, 12, 31), "2010-01-01", "?", None, "soon", 3, pd.NaT],
    "time": [0, -5, 10, 10.0001, math.inf, math.nan, None, "late"],
}


def counts_of(rows, **options):
    """Return the counts before the noise, in steps, and what is said; one seed, so the coins are the same."""
    with record_releases() as recording, skprivate.config_context(strict=False):
        told = private_describe(rows, DOMAIN, 50.0, random_state=3, **OPTIONS, **options)
    (release,) = recording.releases
    return release.exact.astype(np.int64), told.privacy_spent


LEVELS = [
    {"n_bins": 7},
    {"n_bins": 7, "relation": "add-remove"},
    {"n_bins": (3, 3)},
    {"n_bins": (3, 2), "mechanism": "gaussian", "delta": 1e-6},
]


@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
@pytest.mark.parametrize("options", LEVELS, ids=["flat", "add-remove", "tree", "tree, gaussian"])
def test_no_row_moves_the_counts_by_more_than_it_may(options):
    rows, rng = make_rows(40), np.random.default_rng(5)
    power = 2 if "delta" in options else 1
    here, spent = counts_of(rows, **options)
    if options["n_bins"] == 7:
        assert here.sum() == 40 * N_TABLES << DIGITS
    worst = 0
    candidates = list(itertools.zip_longest(*EXTREMES.values()))
    candidates += [
        [rng.choice(np.array(cells, dtype=object)) for cells in EXTREMES.values()] for _ in range(40)
    ]
    for cells in candidates:
        other = {name: [*values[:-1], cell] for (name, values), cell in zip(rows.items(), cells, strict=True)}
        moved = np.abs(here - counts_of(other, **options)[0]) ** power
        worst = max(worst, int(moved.sum()))
    # A row that is replaced moves as much as the noise is planned for; under add-remove that is half of it.
    (release,) = spent.releases
    assert worst == release.sensitivity * (2 if "relation" in options else 1)
    assert (2 * N_TABLES - 1) * 2 ** (power * DIGITS) < worst <= 2 * N_TABLES * 2 ** (power * DIGITS)


def test_the_noise_is_that_of_all_tables():
    told = private_describe(make_rows(4000), DOMAIN, 1.0, **OPTIONS)
    spent = told.privacy_spent
    assert spent.epsilon == 1
    # Weights of levels are rounded down.
    assert 2 * N_TABLES - 0.1 < spent.sensitivity / 2**DIGITS <= 2 * N_TABLES
    assert spent.noise_scale == spent.sensitivity
    assert told.noise_std == pytest.approx(2 * N_TABLES * math.sqrt(2), rel=1e-2)
    assert (spent.relation, spent.unit, spent.claim) == ("replace-one", "row", "dp")
    gaussian = private_describe(make_rows(4000), DOMAIN, 1.0, delta=1e-6, **OPTIONS)
    assert gaussian.noise_std < told.noise_std
    assert gaussian.privacy_spent.delta == Fraction(1e-6)


def audit(confidence):
    """Audit the share of a level about a row of either; the privacy loss of this pair is epsilon."""
    domain, draws = TableDomain({"x": bool}), []
    for end in (False, True):
        rows = {"x": np.array([False] * 20 + [True] * 20 + [end])}
        told = [
            private_describe(rows, domain, 1.5, random_state=2 * trial + end)
            .columns["x"]
            .levels["true"]
            .value
            for trial in range(1500)
        ]
        draws.append(told)
    likelier = {"event": lambda shares: shares > 20.9 / 41}
    return audit_epsilon(*draws[::-1], predicted=1.5, confidence=confidence, **likelier)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
def test_the_audit_passes_the_noise_and_catches_half_of_it(monkeypatch):
    # Seeds are fixed; those of right noise fail with a probability of at most 1e-9.
    assert audit(1 - 1e-9).passed
    randomize = DiscreteLaplaceMechanism.randomize

    def half(self, values, random_state=None):
        return randomize(DiscreteLaplaceMechanism.from_scale(self.scale // 2), values, random_state)

    monkeypatch.setattr(DiscreteLaplaceMechanism, "randomize", half)
    found = audit(0.999)
    print(found)
    assert not found.passed


class TestLedger:
    def test_is_charged_once_and_names_the_function(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "ledger", epsilon=2)
        told = private_describe(make_rows(), DOMAIN, 1.5, columns=["ill"], ledger=ledger)
        (entry,) = ledger.entries()
        assert entry.estimator == "private_describe"
        assert entry.epsilon == told.privacy_spent.epsilon <= 1.5
        with pytest.raises(BudgetExceededError):
            private_describe(make_rows(), DOMAIN, 1.5, columns=["ill"], ledger=ledger)
        assert len(ledger.entries()) == 1

    def test_refuses_before_noise_is_drawn(self, tmp_path):
        with record_releases() as recording, pytest.raises(BudgetExceededError):
            private_describe(
                make_rows(),
                DOMAIN,
                1.5,
                columns=["ill"],
                ledger=PrivacyLedger(tmp_path / "ledger", epsilon=1),
            )
        assert not recording.releases


def test_strict_mode_reads_every_cell_and_refuses_seeds():
    longest = max(map(len, EXTREMES.values()))
    rows = {name: (cells * longest)[:longest] * 40 for name, cells in EXTREMES.items()}
    with skprivate.config_context(strict=True):
        told = private_describe(rows, DOMAIN, 50.0, **OPTIONS)
        with pytest.raises(skprivate.exceptions.PrivacyLeakError):
            private_describe(rows, DOMAIN, 50.0, random_state=0)
    assert told.privacy_spent.private
    assert not private_describe(rows, DOMAIN, 50.0, random_state=0).privacy_spent.private


def test_without_a_public_number_of_rows_it_is_estimated():
    rows, spread = make_rows(4000), []
    for seed in range(20):
        told = private_describe(rows, DOMAIN, 2.0, relation="add-remove", random_state=seed)
        assert "n_rows" not in told.privacy_spent.unprotected
        assert (told.n_bins, told.n_levels) == (4095, 3)
        spread.append((told.n_rows.value - 4000) / (told.n_rows.upper - told.n_rows.lower))
    # A normal error of this interval has a standard deviation of 0.3; seeds are fixed.
    assert 0.1 < np.std(spread) < 0.6


def test_what_the_noise_hides_is_said():
    with pytest.warns(UtilityWarning, match="The noise hides"):
        told = private_describe(make_rows(), DOMAIN, 0.4)
    hidden = [line for line in told.lines() if not line.estimate.above_noise]
    assert hidden
    assert str(told).count("hidden: the noise is larger") == len(hidden)
    assert told.to_html().count("hidden: the noise is larger") == len(hidden)
    assert (~told.to_frame()["above_noise"]).sum() == len(hidden)


def test_a_description_holds_no_rows():
    told = private_describe(make_rows(4000), DOMAIN, 5.0, **OPTIONS)
    text = pickle.dumps(told)
    again = pickle.loads(text)
    assert isinstance(again, TableDescription)
    assert again.lines() == told.lines()
    # 4,000 rows of five columns would take more.
    assert len(text) < 40_000
    with pytest.raises(AttributeError):
        told.confidence = 0.5
    with pytest.raises(TypeError):
        told.columns["age"] = None
    with pytest.raises(KeyError, match="no crosstab"):
        told.crosstab("ill", "job")


def test_frame_dict_and_text():
    told = private_describe(make_rows(4000), DOMAIN, 5.0, **OPTIONS)
    frame = told.to_frame()
    assert list(frame) == ["column", "statistic", "value", "lower", "upper", "above_noise", "text"]
    assert ((frame["lower"] <= frame["value"]) & (frame["value"] <= frame["upper"])).all()
    plain = json.loads(json.dumps(told.to_dict()))
    assert plain["statistics"] == frame.to_dict("records")
    assert plain["privacy_spent"] == told.privacy_spent.to_dict()
    text = str(told)
    assert text.startswith("4000 rows")
    assert f"Epsilon {show(told.privacy_spent.epsilon)} for all" in text
    (since,) = frame.loc[(frame["column"] == "since") & (frame["statistic"] == "mean"), "text"]
    assert date(2009, 1, 1) < date.fromisoformat(since) < date(2013, 1, 1)


def test_groups_count_so_many_rows_of_a_person():
    rows = make_rows(3000)
    persons = [0] * 2000 + list(range(1000))
    with record_releases() as recording:
        told = private_describe(
            rows, DOMAIN, 50.0, groups=persons, max_rows_per_group=2, columns=["ill", "job"]
        )
    counts = recording.releases[0].exact >> DIGITS
    # Person 0 keeps two rows, the other 999 their one.
    assert counts.sum() == 2 * (2 + 999)
    spent = told.privacy_spent
    assert (spent.unit, spent.max_rows_per_unit) == ("group", 2)
    assert spent.sensitivity == (2 * 2 * 2) << DIGITS
    assert "n_rows" not in spent.unprotected
    single = private_describe(rows, DOMAIN, NO_NOISE, columns=["ill"]).columns["ill"].levels["true"]
    double = (
        private_describe(
            rows, DOMAIN, NO_NOISE, columns=["ill"], groups=list(range(3000)), max_rows_per_group=2
        )
        .columns["ill"]
        .levels["true"]
    )
    ratio = (double.upper - double.lower) / (single.upper - single.lower)
    assert ratio == pytest.approx(math.sqrt(2), rel=0.02)
