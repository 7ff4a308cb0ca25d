# SPDX-License-Identifier: BSD-3-Clause
"""The releases of a run: they compose to its total, and everything that prints a statement shows them."""

import json
from fractions import Fraction

import jsonschema
import numpy as np
import pytest

from skprivate import DPLogisticRegression
from skprivate.accounting import PrivacyLedger, PrivacySpent, ReleaseRecord, statement_schema, study_page
from skprivate.audit import record_releases
from skprivate.base import PrivateEstimatorMixin
from tests.accounting.records import gaussian, laplace, spend
from tests.catalogue import INSTANCES, arguments


def make(*releases, **changes):
    return spend(1, mechanism="several", releases=releases, **changes)


ZCDP = {"delta": Fraction(1, 10**6), "rho": Fraction(1, 8)}


class TestComposition:
    @pytest.mark.parametrize(
        ("releases", "changes"),
        [
            ([laplace(1)], {}),
            ([laplace(0.25), laplace(0.75)], {}),
            ([laplace(0.25, times=4)], {}),
            ([laplace(0.5), laplace(0.5, rows="a"), laplace(0.25, rows="b"), laplace(0.25, rows="b")], {}),
            ([laplace(0.25, times=Fraction(5, 2)), laplace(0.375)], {}),
            ([gaussian(0.0625), gaussian(0.03125, times=2)], ZCDP),
            ([], {}),
        ],
    )
    def test_shares_that_add_up(self, releases, changes):
        spent = make(*releases, **changes)
        assert spent.releases == tuple(releases)
        again = PrivacySpent.from_dict(json.loads(json.dumps(spent.to_dict())))
        assert again == spent

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
    def test_text(self):
        assert (
            "\n  release 1: first counts: discrete Laplace, L1 sensitivity 2, noise scale 8; epsilon 0.25"
            in str(LISTED)
        )

    def test_html_is_folded_and_escaped(self):
        for page in (LISTED.to_html(), LISTED._repr_html_()):
            assert "<details><summary>Releases: 2</summary>" in page
            assert "second &lt;counts&gt;" in page
        assert "Releases" not in make().to_html()

    def test_study_page(self, tmp_path):
        ledger = PrivacyLedger(tmp_path / "study.ledger")
        ledger.charge(LISTED, "E")
        assert "<summary>Releases: 2</summary>" in study_page(ledger, [LISTED])

    def test_schema(self):
        validator = jsonschema.Draft202012Validator(statement_schema())
        validator.validate(LISTED.to_dict())
        both = LISTED.to_dict()
        both["releases"][0]["rho"] = both["releases"][0]["epsilon"]
        assert not validator.is_valid(both)

    def test_a_changed_file_is_refused(self):
        statement = LISTED.to_dict()
        statement["releases"].pop()
        with pytest.raises(ValueError, match="must add up"):
            PrivacySpent.from_dict(statement)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, one in INSTANCES.items()
        if isinstance(one.estimator, PrivateEstimatorMixin)
        and one.estimator.releases_all_draws
        and "epsilon" in one.estimator.get_params()
    ],
)
@pytest.mark.filterwarnings("ignore::skprivate.exceptions.UtilityWarning")
def test_every_fit_lists_every_draw(name):
    """The composition is checked where the statement is made; here, that no draw is missing from the list."""
    instance = INSTANCES[name]
    with record_releases() as recording:
        fitted = instance.estimator.fit(**arguments(instance))
    releases = fitted.privacy_spent_.releases
    assert len(recording.calls) == sum(one.times * one.draws for one in releases) > 0


def test_fits_state_no_more_gaussian_noise_than_they_draw():
    """At weight 1; a sigma in whole numbers would be 2, where less than 1.7 is drawn."""
    X = np.random.default_rng(0).uniform(size=(300, 2))
    model = DPLogisticRegression(50.0, delta=1e-6, bounds=(0, 1), classes=[0, 1], relation="add-remove")
    for one in model.fit(X, X[:, 0] > 0.5).privacy_spent_.releases:
        assert float(one.sensitivity / one.noise_scale**2 / 2) == pytest.approx(float(one.rho), rel=1e-5)
