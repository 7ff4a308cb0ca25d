# SPDX-License-Identifier: BSD-3-Clause
"""Sites under masks as a source: the bits of the pooled fit, one charge, errors that name sites."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from skprivate import (
    DPBoostingClassifier,
    DPLogisticRegression,
    DPLogLocationScaleRegressor,
    DPTreeClassifier,
    DPTreeRegressor,
    PrivacyLedger,
    life_data,
    private_describe,
)
from skprivate.collaborative import CollaborativeSite, LocalAverageRegressor, MaskedSites
from skprivate.collaborative import _masked_sites as module
from skprivate.collaborative._protocols.consortium import Consortium
from skprivate.domain import TableDomain
from skprivate.exceptions import ConsentError
from skprivate.rounds import TableSource, fit_rounds
from tests.collaborative.studies import COLUMNS, FEATURES, MODEL, NAMES, Study

LABELS = {"features": FEATURES, "target": "label"}
LIVES = {"features": FEATURES, "target": "days", "event": "died"}
BOUNDS = {"bounds": (0, 1), "classes": [0, 1]}
FITS = {
    "tree": (DPTreeClassifier(1.0, **BOUNDS, random_state=0), LABELS),
    "tree of numbers": (DPTreeRegressor(1.0, bounds_X=(0, 1), bounds_y=(-2, 4), random_state=0), COLUMNS),
    "boosting": (DPBoostingClassifier(1.0, **BOUNDS, random_state=0), LABELS),
    "logistic": (DPLogisticRegression(1.0, **BOUNDS, random_state=0), LABELS),
    "moments": (MODEL, COLUMNS),
    "lives": (
        DPLogLocationScaleRegressor(1.0, bounds_X=(0, 1), bounds_y=(1, 100), random_state=0),
        LIVES,
    ),
    "persons": (
        clone(MODEL).set_params(max_rows_per_group=2),
        COLUMNS | {"groups": "person", "groups_within_tables": True},
    ),
}
DOMAIN = TableDomain({"days": (0, 100), "died": bool, "sex": ["f", "m"]})
CURVE = {"columns": ["sex"], "survival": ("days", "died", "sex"), "random_state": 0}
GAP = pd.DataFrame({"age": [0.2, 0.9], "dose": [0.5, 0.1]})


def pooled(model, columns, rows):
    y = rows[columns["target"]]
    y = life_data(rows, time="days", event="died") if "event" in columns else y
    groups = {"groups": rows["person"]} if "groups" in columns else {}
    return clone(model).fit(rows[FEATURES], y, **groups)


def same(model, other, rows):
    method = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    predictions = (getattr(one, method)(rows[FEATURES]) for one in (model, other))
    np.testing.assert_array_equal(*predictions)
    assert model.privacy_spent_ == other.privacy_spent_


@pytest.fixture(scope="module")
def every_fit(tmp_path_factory):
    fits = [MaskedSites.plan_fit(model, n_rows=3000, **columns) for model, columns in FITS.values()]
    fits.append(MaskedSites.plan_description(DOMAIN, 1.0, **CURVE))
    return Study(tmp_path_factory.mktemp("study"), fits)


class TestTheSameBits:
    @pytest.mark.parametrize("name", FITS)
    def test_as_the_pooled_fit(self, every_fit, name):
        model, columns = FITS[name]
        elsewhere = fit_rounds(clone(model), every_fit.source(**columns))
        same(elsewhere, pooled(model, columns, every_fit.rows), every_fit.rows)

    def test_of_a_description_with_survival_curves(self, every_fit, tmp_path):
        ledger = PrivacyLedger(tmp_path / "ledger", epsilon=1.0)
        found = private_describe(TableSource(every_fit.sites), DOMAIN, 1.0, ledger=ledger, **CURVE)
        assert found == private_describe(every_fit.rows[list(DOMAIN.names)], DOMAIN, 1.0, **CURVE)
        assert len(ledger.entries()) == 1


class TestWhatTravels:
    def test_no_site_s_sum_is_in_what_the_driver_reads(self, tmp_path):
        study, opened = Study(tmp_path), []
        fit_rounds(clone(MODEL), study.source())
        consortium, exact = Consortium(study.roster), {len(table) for table in study.tables.values()}
        for name, request, reply in study.sent:
            plain = consortium.read_request(name, study.states[name]._key, request)
            content = consortium.read_reply(study.key, name, plain, reply)[1:]
            if b'"sums"' in plain:
                opened.append(np.frombuffer(content, dtype="<u8"))
        words = np.concatenate(opened)
        assert not set(words.tolist()) & exact
        # Uniform words are above 2^63 half of the time: six deviations, false alarms once in 1e9.
        assert abs((words >= 2**63).mean() - 0.5) < 3 / np.sqrt(len(words))


class TestBeforeTheCharge:
    def refused(self, study, match, **changes):
        ledger = PrivacyLedger(study.folder / "ledger", epsilon=5.0)
        model = clone(MODEL).set_params(ledger=ledger, **changes)
        with pytest.raises(ConsentError, match=match):
            fit_rounds(model, study.source())
        assert not ledger.entries()

    def test_a_site_that_is_down_is_named(self, tmp_path):
        study = Study(tmp_path)
        del study.states["south"]
        self.refused(study, r"site 'south' is missing \(KeyError\)")
        with pytest.raises(ConsentError, match="site 'south'"):
            study.sites.check()

    def test_another_version_a_full_disk_and_other_columns(self, tmp_path, monkeypatch):
        study = Study(tmp_path)
        monkeypatch.setattr(module, "__version__", "0.0")
        self.refused(study, "another one")
        monkeypatch.undo()
        study.restart("west")
        monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10}))
        self.refused(study, "Nothing was charged: .*'west': its disk is full")
        monkeypatch.undo()
        study.tables["south"] = study.tables["south"].drop(columns="dose")
        self.refused(study, "site 'south' refused: this request could not")

    def test_parameters_that_are_not_the_roster_s(self, tmp_path):
        study = Study(tmp_path)
        self.refused(study, "outside the study", bounds_X=(0, 2))
        self.refused(study, "outside the study", bounds_y=(-2, 5))
        with pytest.raises(TypeError, match="has no rounds"):
            MaskedSites.plan_fit(LogisticRegression(), n_rows=10, features=["a"])


class TestStops:
    def test_a_fit_goes_on_for_one_charge_and_a_second_driver_is_refused(self, tmp_path):
        study, ledger = Study(tmp_path), PrivacyLedger(tmp_path / "ledger", epsilon=2.0)
        model, answered = clone(MODEL).set_params(ledger=ledger), []

        def stopping(name, request):
            answered.append(name)
            if len(answered) > 13:
                raise TimeoutError
            return study.post(name, request)

        sites = MaskedSites(stopping, study.roster, study.key, patience=0)
        checkpoint = tmp_path / "checkpoint"
        with pytest.raises(ConsentError, match="Nothing was opened"):
            fit_rounds(model, TableSource(sites, **COLUMNS), checkpoint=checkpoint)
        assert len(ledger.entries()) == 1
        for name in NAMES:
            study.restart(name)
        with pytest.raises(ConsentError, match="as often as the roster allows"):
            fit_rounds(clone(MODEL), study.source())
        found = fit_rounds(model, study.source(), checkpoint=checkpoint)
        same(found, pooled(MODEL, COLUMNS, study.rows), study.rows)
        # A driver that is killed before it has saved the model gets it again.
        same(fit_rounds(clone(model), study.source(), checkpoint=checkpoint), found, study.rows)
        assert len(ledger.entries()) == 1

    def test_of_two_drivers_at_once_the_second_is_refused_and_pays_nothing(self, tmp_path):
        study, second = Study(tmp_path), PrivacyLedger(tmp_path / "ledger", epsilon=2.0)
        late = []

        def post(name, request):
            plain = study.sites._study.read_request(name, study.states[name]._key, request)
            if name == "south" and b'"ask":"begin"' in plain:
                with pytest.raises(ConsentError, match=r"site 'north' refused: .* as often as") as caught:
                    fit_rounds(clone(MODEL).set_params(ledger=second), study.source())
                late.append(caught)
            return study.post(name, request)

        sites = MaskedSites(post, study.roster, study.key, patience=0)
        found = fit_rounds(clone(MODEL), TableSource(sites, **COLUMNS))
        same(found, pooled(MODEL, COLUMNS, study.rows), study.rows)
        assert (len(late), len(second.entries())) == (1, 0)

    def test_a_description_goes_on_for_one_charge(self, tmp_path):
        study = Study(tmp_path, [MaskedSites.plan_description(DOMAIN, 1.0, **CURVE)])
        ledger = PrivacyLedger(tmp_path / "ledger", epsilon=1.0)
        options = {"ledger": ledger, "checkpoint": tmp_path / "checkpoint", **CURVE}
        asked = []
        study.sites._post = lambda name, request: (
            asked.append(name) or (study.post(name, request) if len(asked) <= 9 else 1 / 0)
        )
        with pytest.raises(ConsentError, match="Nothing was opened"):
            private_describe(TableSource(study.sites), DOMAIN, 1.0, **options)
        assert len(ledger.entries()) == 1
        found = private_describe(TableSource(study.driver()), DOMAIN, 1.0, **options)
        assert found == private_describe(study.rows[list(DOMAIN.names)], DOMAIN, 1.0, **CURVE)
        with pytest.raises(ConsentError, match="outside the study"):
            private_describe(TableSource(study.driver()), DOMAIN, 1.0, crosstabs=[("sex", "died")], **CURVE)
        assert len(ledger.entries()) == 1

    @pytest.mark.parametrize("kind", ["doubled", "old reply", "cut", "altered", "lost", "of another site"])
    def test_a_transport_that_errs_now_and_then_changes_nothing(self, tmp_path, kind):
        study, count = Study(tmp_path), iter(range(10**6))

        def post(name, request):
            bad, reply = next(count) % 3 == 0, study.post(name, request)
            if not bad:
                return reply
            if kind == "lost":
                raise TimeoutError
            others = [old for site, _, old in study.sent if (site == name) == (kind == "old reply")]
            altered = reply[:40] + bytes([reply[40] ^ 1]) + reply[41:]
            bent = {"doubled": study.post(name, request), "cut": reply[:-1], "altered": altered}
            return bent.get(kind, others[0] if others else b"")

        sites = MaskedSites(post, study.roster, study.key, patience=30)
        found = fit_rounds(clone(MODEL), TableSource(sites, **COLUMNS))
        same(found, pooled(MODEL, COLUMNS, study.rows), study.rows)


class TestPredictions:
    def join(self, tmp_path, make, **options):
        study = Study(tmp_path, predictions=MaskedSites.plan_predictions(FEATURES, n_rows=3000, **options))
        study.models = {name: make(table) for name, table in study.tables.items()}
        return study

    def test_are_refined_to_all_rows_and_weighted_by_them(self, tmp_path):
        totals = []

        def make(table):
            def model(total):
                totals.append(total)
                average = LocalAverageRegressor(bandwidth=0.3, refine_to=total, bounds=(0, 1))
                return CollaborativeSite("own", average.fit(table[FEATURES], table["y"]), len(table))

            return model

        study = self.join(tmp_path, make)
        found = study.sites.predict(GAP)
        parts = [model(3000) for model in study.models.values()]
        exact = sum(part.n_samples * part.respond(GAP)[:, 0] for part in parts) / 3000
        np.testing.assert_allclose(found, exact, rtol=1e-12)
        study.sites.predict(GAP)
        # Once for the queries, once here.
        assert totals == [3000] * 6

    def test_a_site_counts_as_the_cap_says_and_not_where_it_has_no_rows(self, tmp_path):
        def make(table):
            near = table["age"] < (0.5 if len(table) < 1000 else 2)
            average = LocalAverageRegressor("epanechnikov", bandwidth=0.1, bounds=(0, 1))
            return CollaborativeSite("own", average.fit(table[FEATURES][near], table["y"][near]), len(table))

        study = self.join(tmp_path, make, most_rows=700)
        values = {name: model.respond(GAP)[:, 0] for name, model in study.models.items()}
        sizes = {name: min(700, len(table)) * ~np.isnan(values[name]) for name, table in study.tables.items()}
        exact = sum(np.nan_to_num(values[name]) * sizes[name] for name in NAMES) / sum(sizes.values())
        assert sum(sizes.values())[1] < sum(sizes.values())[0]
        np.testing.assert_allclose(study.sites.predict(GAP), exact, rtol=1e-12)

    def test_probabilities_of_classifiers(self, tmp_path):
        def make(table):
            model = LogisticRegression().fit(table[FEATURES], table["label"])
            return CollaborativeSite("own", model, len(table))

        study = self.join(tmp_path, make, classes=[0, 1])
        found = study.sites.predict(GAP)
        parts = [(len(study.tables[name]), study.models[name].respond(GAP)) for name in NAMES]
        np.testing.assert_allclose(found, sum(n * part for n, part in parts) / 3000, rtol=1e-12)
        del study.states["south"]
        with pytest.raises(ConsentError, match="site 'south' is missing"):
            study.sites.predict(GAP)
