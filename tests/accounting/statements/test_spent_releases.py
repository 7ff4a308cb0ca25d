# SPDX-License-Identifier: BSD-3-Clause
"""The releases of a run: they compose to its total, and everything that prints a statement shows them."""

from fractions import Fraction

import numpy as np
import pytest

from skprivate import DPLogisticRegression
from skprivate.accounting import PrivacyLedger, PrivacySpent, ReleaseRecord, study_page
from tests.accounting.records import laplace, spend


def make(*releases, **changes):
    return spend(1, mechanism="several", releases=releases, **changes)


class TestComposition:
    def test_a_list_that_is_made_on_the_way(self):
        spent = make().with_releases([laplace(0.25), laplace(0.25), laplace(0.125, "sums")])
        names = [(one.name, one.total, one.draws) for one in spent.releases]
        assert names == [
            ("counts", Fraction(1, 2), 1),
            ("sums", Fraction(1, 8), 1),
            ("not used", Fraction(3, 8), 0),
        ]


class TestRecord:
    def test_noise_that_suffices(self):
        fields = {"name": "counts", "sensitivity": 2}
        ReleaseRecord(mechanism="discrete Laplace", noise_scale=2, epsilon=1, **fields)
        ReleaseRecord(mechanism="discrete Laplace", noise_scale=2, rho=0.5, **fields)
        ReleaseRecord(mechanism="discrete Gaussian", noise_scale=1, rho=1, **fields)


LISTED = make(laplace(0.25, "first counts"), laplace(0.75, "second <counts>"))


class TestDisplays:
    def test_study_page(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "study.ledger")
        ledger.charge(LISTED, "E")
        assert "<summary>Releases: 2</summary>" in study_page(ledger, [LISTED])

    def test_a_changed_file_is_refused(self):
        statement = LISTED.to_dict()
        statement["releases"].pop()
        with pytest.raises(ValueError, match="must add up"):
            PrivacySpent.from_dict(statement)


def test_fits_state_no_more_gaussian_noise_than_they_draw():
    """At weight 1; a sigma in whole numbers would be 2, where less than 1.7 is drawn.

    Sigmas are multiples of 1/1024, from 2^20 on of 1, or finer; the next smaller one would not do.
    """
    X = np.random.default_rng(0).uniform(size=(300, 2))
    model = DPLogisticRegression(50.0, delta=1e-6, bounds=(0, 1), classes=[0, 1], relation="add-remove")
    for one in model.fit(X, X[:, 0] > 0.5).privacy_spent_.releases:
        step = Fraction(1, 1 if one.noise_scale >= 2**20 else 2**10)
        costs = [one.sensitivity / scale**2 / 2 for scale in (one.noise_scale, one.noise_scale - step)]
        assert float(costs[0]) <= one.rho * (1 + 1e-5)
        assert costs[1] > one.rho
