# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints: a driver that is killed goes on with what it released, and is charged once."""

import json

import numpy as np
import pytest

from skprivate import DPLogLocationScaleRegressor, PrivacyLedger
from skprivate.linear_model._censored.histograms import PARTS
from skprivate.utils._json_documents import unpack_integers
from tests.rounds.examples import (
    LIFE,
    ROWS,
    Killed,
    Mortal,
    assert_same,
    fit_to,
    is_round,
    parts_of,
    unfitted,
)

pytestmark = pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")


@pytest.mark.parametrize(
    ("name", "dies_at"),
    [("moments", 1), ("tree of persons", 1), ("censored", 1), ("censored", 2), ("censored", 3)]
    + [("censored persons", 2), ("logit", 3)],
)
def test_a_driver_that_is_killed_goes_on_and_nothing_is_charged_twice(name, dies_at, tmp_path):
    ledger, path = PrivacyLedger(tmp_path / "a.ledger", epsilon=100, delta=1e-3), tmp_path / "run"
    estimator = unfitted(name).set_params(ledger=ledger)

    def fit(dies_at=0):
        return fit_to(name, Mortal(parts_of(name, [100], 1), dies_at), estimator, checkpoint=path)

    with pytest.raises(Killed):
        fit(dies_at)
    assert path.exists()
    assert len(ledger.entries()) == 1
    assert_same(fit(), name)
    assert len(ledger.entries()) == 1
    assert not path.exists()
    # Another fit is another run.
    fit()
    assert len(ledger.entries()) == 2


@pytest.fixture
def fit(tmp_path):
    def fit(dies_at, epsilon=4.0, rows=ROWS, **changed):
        model = DPLogLocationScaleRegressor(epsilon, **{**LIFE, **changed})
        return fit_to("censored", Mortal([rows], dies_at), model, checkpoint=tmp_path / "run")

    return fit


def test_a_checkpoint_of_another_fit_is_refused(fit, tmp_path, monkeypatch):
    path = tmp_path / "run"
    with pytest.raises(Killed):
        fit(2)
    before = path.read_bytes()
    for changed in ({"epsilon": 2.0}, {"rows": ROWS[:-1]}):
        with pytest.raises(ValueError, match="of another fit"):
            fit(0, **changed)
    path.write_bytes(before[:-20])
    with pytest.raises(ValueError, match="cannot be used"):
        fit(0)
    path.write_bytes(before)
    with monkeypatch.context() as patch:
        patch.setattr("skprivate.rounds._driver.__version__", "0.0.9")
        with pytest.raises(ValueError, match="another version"):
            fit(0)
    assert fit(0).n_iter_ >= 2


def test_another_ledger_hears_of_the_whole_cost(fit, tmp_path):
    first, second = (PrivacyLedger(tmp_path / f"{name}.ledger", epsilon=5) for name in "ab")
    with pytest.raises(Killed):
        fit(3, ledger=first)
    fit(0, ledger=second)
    assert first.remaining()[0] == second.remaining()[0] == 1


def test_two_drivers_do_not_go_on_from_one_checkpoint(fit, tmp_path):
    class Calling(Mortal):
        def map_partitions(self, function):
            if is_round(function):
                with pytest.raises(BlockingIOError, match="another fit"):
                    fit(0)
            return super().map_partitions(function)

    assert_same(fit_to("moments", Calling([ROWS]), checkpoint=tmp_path / "run"), "moments")


def test_without_a_seed_a_run_goes_on_with_what_it_released(fit, tmp_path):
    released = []
    for _ in range(2):
        with pytest.raises(Killed):
            fit(2, random_state=None)
        released.append((tmp_path / "run").read_text())
    release = fit(0, random_state=None).release_.histogram
    # The first round was released once; noise of two runs would differ.
    assert release.counts.shape == (2, 64)
    kept = [unpack_integers(json.loads(text)["rounds"][0][2], (2 * 64 + 1,)) for text in released]
    np.testing.assert_array_equal(kept[0], kept[1])
    # The last count is of events below the lower bound, which are in the first bin.
    release.counts[1, 0] -= release.below
    np.testing.assert_array_equal(kept[0], np.append(release.counts, release.below) * PARTS)
