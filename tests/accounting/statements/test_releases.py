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
from skprivate.noise import DiscreteGaussianMechanism, DiscreteLaplaceMechanism
from tests.catalogue import INSTANCES, arguments


def laplace(share, name="counts", **more):
    return ReleaseRecord.of(name, DiscreteLaplaceMechanism(share, sensitivity=2), Fraction(share), **more)


def gaussian(share, name="counts", **more):
    mechanism = DiscreteGaussianMechanism(rho=share, squared_sensitivity=2)
    return ReleaseRecord.of(name, mechanism, Fraction(share), **more)


def make(*releases, **changes):
    fields = {
        "mechanism": "several",
        "epsilon": Fraction(1),
        "relation": "replace-one",
        "noise_scale": None,
        "noise_source": "os-entropy",
        "deployment": "curator",
        "claim": "dp",
    }
    return PrivacySpent(releases=releases, **(fields | changes))


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

    @pytest.mark.parametrize(
        ("releases", "changes"),
        [
            ([laplace(0.5)], {}),
            ([laplace(1), laplace(0.25)], {}),
            ([laplace(0.25, times=3)], {}),
            ([laplace(1, rows="a"), laplace(0.5, rows="b"), laplace(0.25)], {}),
            ([gaussian(0.0625)], ZCDP),
        ],
    )
    def test_shares_that_do_not(self, releases, changes):
        with pytest.raises(ValueError, match="must add up to the total"):
            make(*releases, **changes)

    def test_gaussian_noise_has_a_delta(self):
        with pytest.raises(ValueError, match="delta must be above 0"):
            make(gaussian(0.125), rho=Fraction(1, 8))

    def test_shares_of_another_kind(self):
        with pytest.raises(ValueError, match="shares of rho where the run has one"):
            make(gaussian(1))
        with pytest.raises(ValueError, match="shares of rho where the run has one"):
            make(laplace(0.125), **ZCDP)
        with pytest.raises(TypeError, match="a tuple of ReleaseRecord"):
            make("counts")

    def test_a_list_that_is_made_on_the_way(self):
        spent = make().with_releases([laplace(0.25), laplace(0.25), laplace(0.125, "sums")])
        names = [(one.name, one.total, one.draws) for one in spent.releases]
        assert names == [
            ("counts", Fraction(1, 2), 1),
            ("sums", Fraction(1, 8), 1),
            ("not used", Fraction(3, 8), 0),
        ]
        with pytest.raises(ValueError, match="must add up to the total"):
            make().with_releases([laplace(0.75), laplace(0.5)])


class TestRecord:
    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"epsilon": 1, "rho": 1}, "and not of both"),
            ({}, "and not of both"),
            ({"epsilon": 1, "sensitivity": 3, "noise_scale": 2}, "too small for its share"),
            ({"rho": 1, "sensitivity": 3, "noise_scale": 2}, "too small for its share"),
            ({"rho": 1, "sensitivity": 9, "noise_scale": 2, "mechanism": "discrete Gaussian"}, "too small"),
            ({"epsilon": 1, "sensitivity": 1, "noise_scale": 9, "mechanism": "discrete Gaussian"}, "of rho"),
            ({"epsilon": 1, "mechanism": "discrete Gaussian"}, "of rho"),
            ({"epsilon": 1000, "sensitivity": 1000, "noise_scale": 1, "times": Fraction(1, 1000)}, "times"),
            ({"epsilon": 1, "draws": 0}, "nothing is drawn"),
            ({"epsilon": 1, "draws": 0, "mechanism": "none", "noise_scale": 1}, "nothing is drawn"),
            ({"epsilon": 0}, "epsilon must be greater"),
            ({"epsilon": 1, "draws": -1}, "draws"),
            ({"epsilon": 1, "name": " "}, "name must not be empty"),
            ({"epsilon": 1, "rows": ""}, "rows must not be empty"),
        ],
    )
    def test_bad_fields(self, fields, message):
        with pytest.raises(ValueError, match=message):
            ReleaseRecord(**{"name": "counts", "mechanism": "discrete Laplace", **fields})

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
