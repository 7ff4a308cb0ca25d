# SPDX-License-Identifier: BSD-3-Clause
"""Whose word a report takes: the package's own classes, as written, and classes that declare themselves."""

import json
import sys
from abc import ABCMeta
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from skprivate import (
    BoundsScaler,
    DPTreeClassifier,
    PrivacyLedger,
    PrivateGridSearch,
    TableDomain,
    TQMATransformer,
    config_context,
    privacy_report,
)
from skprivate.accounting import PrivacyReport, privacy_section, study_page
from skprivate.audit import check_private_estimator
from skprivate.base import PrivateEstimatorMixin, StatelessMixin
from skprivate.base._pipeline_report import reads_rows
from skprivate.exceptions import PrivacyLeakError, PrivacyLeakWarning
from skprivate.preprocessing import DomainEncoder

X = np.random.default_rng(0).uniform(size=(200, 2))
Y = np.arange(200) % 2
PARAMETERS = {"max_depth": 1, "bounds": (0, 1), "classes": [0, 1]}
UNDECLARED = "is undeclared: a subclass may do anything"
CHANGED = "was changed after its definition"
DEPTHS = {"model__max_depth": [1]}


class KeepsRows(TQMATransformer):
    def fit(self, X, y=None):
        self.rows_ = X
        return super().fit(X)


class KeepsMean(DPTreeClassifier):
    def fit(self, X, y, is_public=None, groups=None):
        super().fit(X, y)
        self.mean_ = X.mean(axis=0)
        return self


class Centred(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Reads rows without paying, and hands them on as they are."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return X

    def __sklearn_is_fitted__(self):
        return True


class EqualsAnother(ABCMeta):
    """Calls its classes equal to one of scikit-learn's, and everything an instance of them."""

    like = Normalizer

    def __eq__(cls, other):
        return other is cls.like or other is cls

    def __hash__(cls):
        return hash(cls.like)

    def __instancecheck__(cls, instance):
        return True


class EqualsNormalizer(Centred, metaclass=EqualsAnother):
    norm = "l2"


class EqualsPipeline(Pipeline, metaclass=EqualsAnother):
    like = Pipeline

    def fit_transform(self, X, y=None, **params):
        self.mean_ = X.mean(axis=0)
        return super().fit_transform(X, y, **params)


class SaysTQMA(Centred):
    """``isinstance`` asks ``__class__``, too."""

    __class__ = StatelessMixin
    disclosure_risk_ = TQMATransformer(bounds=(0, 1)).fit(X).disclosure_risk_

    def __sklearn_clone__(self):
        return SaysTQMA()


class ForgedPromise(StatelessMixin, Centred):
    __module__ = "skprivate.tree"


class ForgedName(TQMATransformer):
    __module__ = "skprivate.preprocessing"


ForgedName.__name__ = ForgedName.__qualname__ = "TQMATransformer"


def with_own_fit_transform():
    """A clone is the object itself, so that searches and column transformers keep what was put on it."""
    step = TQMATransformer(bounds=(0, 1))
    step.fit_transform = lambda rows, y=None: step.fit(rows).transform(rows) * rows.mean(axis=0)
    step.__sklearn_clone__ = lambda: step
    return step


def with_another_class():
    step = TQMATransformer(bounds=(0, 1))
    step.__class__ = KeepsRows
    return step


def with_a_risk():
    """A scaler of scikit-learn that says of itself that nothing leaks."""
    step = StandardScaler()
    step.disclosure_risk_ = SaysTQMA.disclosure_risk_
    step.__sklearn_clone__ = lambda: step
    return step


FRONTS = [
    (lambda: KeepsRows(bounds=(0, 1)), UNDECLARED),
    (with_own_fit_transform, "methods of its own"),
    (with_another_class, UNDECLARED),
    (with_a_risk, UNDECLARED),
    (EqualsNormalizer, "without spending budget"),
    (lambda: EqualsPipeline([("same", "passthrough")]), "without spending budget"),
    (SaysTQMA, UNDECLARED),
    (ForgedPromise, "names a module of skprivate"),
    (lambda: ForgedName(bounds=(0, 1)), "names a module of skprivate"),
]


def tree(kind=DPTreeClassifier, **parameters):
    return kind(**{**PARAMETERS, "bounds": (-9, 9), **parameters})


def behind(step, model=None):
    return Pipeline([("front", step), ("model", tree() if model is None else model)])


def reasons(fitted):
    return " | ".join(step.reason for step in privacy_report(fitted).uncovered)


# A search refuses whatever states no price before the fit, as TQMATransformer.
@pytest.mark.parametrize(
    ("front", "reason"),
    [FRONTS[place] for place in (3, 4, 5, 7)],
    ids=["risk", "equal", "pipeline", "forged"],
)
def test_a_step_is_a_leak_of_a_private_search(front, reason, tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger")
    search = PrivateGridSearch(behind(front()), DEPTHS, ledger=ledger)
    with config_context(strict=True), pytest.raises(PrivacyLeakError, match=reason):
        search.fit(X, Y)
    assert not ledger.entries()
    with pytest.warns(PrivacyLeakWarning, match=reason):
        search.fit(X, Y)
    assert not search.privacy_spent_.private
    assert reason in " ".join(privacy_report(search).reasons)


def forged():
    kind = type("DPTreeClassifier", (KeepsMean,), {"__module__": "skprivate.tree"})
    return tree(kind)


def forged_declaration():
    bases = (KeepsMean, PrivateEstimatorMixin)
    return tree(type("DPTreeClassifier", bases, {"__module__": "skprivate.tree"}))


def swapped():
    model = tree()
    model.__class__ = KeepsMean
    return model


def with_own_predict():
    model = tree()
    model.predict = lambda rows: Y[: len(rows)]
    model.__sklearn_clone__ = lambda: model
    return model


MODELS = [
    (lambda: tree(KeepsMean), UNDECLARED),
    (swapped, UNDECLARED),
    (forged, "names a module of skprivate"),
    (forged_declaration, "names a module of skprivate"),
    (with_own_predict, "methods of its own"),
]


@pytest.mark.parametrize(("model", "reason"), MODELS)
def test_a_model_is_a_leak_of_a_private_search(model, reason, tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger")
    search = PrivateGridSearch(model(), {"max_depth": [1]}, ledger=ledger)
    with config_context(strict=True), pytest.raises(PrivacyLeakError, match=reason):
        search.fit(X, Y)
    assert not ledger.entries()
    with pytest.warns(PrivacyLeakWarning, match=reason):
        search.fit(X, Y)
    assert not search.privacy_spent_.private
    assert ledger.spent()[0] == search.privacy_spent_.epsilon
    assert not privacy_report(search.best_estimator_).private
    with config_context(strict=True), pytest.raises(PrivacyLeakError, match=reason):
        PrivateGridSearch(behind(BoundsScaler((0, 1)), model()), DEPTHS).fit(X, Y)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (BoundsScaler, "transform"),
        (BoundsScaler, "fit_transform"),
        (Normalizer, "transform"),
        (Pipeline, "fit"),
        (DPTreeClassifier, "fit"),
        (DPTreeClassifier, "__getstate__"),
        (PrivateEstimatorMixin, "charge"),
        (TransformerMixin, "fit_transform"),
    ],
)
def test_a_class_that_was_written_into_is_not_believed(kind, name, monkeypatch):
    steps = Pipeline([("scaler", BoundsScaler((0, 1))), ("unit", Normalizer()), ("model", tree())]).fit(X, Y)
    assert privacy_report(steps).private
    with monkeypatch.context() as patch:
        patch.setattr(kind, name, lambda self, *args, **kwargs: self)
        assert f"{CHANGED}: others wrote into the class {kind.__name__}" in reasons(steps)
        assert not privacy_report(steps).private
    assert privacy_report(steps).private


def test_rows_that_a_class_declares_to_hold_cannot_be_declared_away():
    class Holder(StatelessMixin, Centred):
        releases_state = False

    holder = Holder().fit(X)
    holder.releases_state = True
    assert "holds rows of a site" in reads_rows(holder)


class KeepingDomain(TableDomain):
    def get_params(self, deep=True):
        """Looks like an estimator, which a report would judge by itself."""
        return {}

    def __sklearn_clone__(self):
        return self

    def encode(self, *tables, **options):
        vars(self)["kept"] = [np.asarray(table) for table in tables]
        return super().encode(*tables, **options)


def domain_with_own_encode():
    domain = TableDomain({"a": (0, 1), "b": (0, 1)})
    vars(domain)["encode"] = lambda *tables, **options: TableDomain.encode(domain, *tables, **options)
    return domain


@pytest.mark.parametrize(
    "domain", [lambda: KeepingDomain({"a": (0, 1), "b": (0, 1)}), domain_with_own_encode]
)
def test_a_domain_is_believed_by_its_very_class_too(domain, tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b"])
    known = TableDomain({"a": (0, 1), "b": (0, 1)})
    reason = "has a domain with methods of others"

    def models(domain):
        model = DPTreeClassifier(max_depth=1, domain=domain, classes=[0, 1])
        return model, Pipeline([("encoded", DomainEncoder(domain)), ("model", tree())])

    for honest, model in zip(models(known), models(domain()), strict=True):
        assert privacy_report(honest.fit(frame, Y)).private
        assert reason in reasons(model.fit(frame, Y))
        name = "max_depth" if isinstance(model, DPTreeClassifier) else "model__max_depth"
        ledger = PrivacyLedger(tmp_path / name)
        with config_context(strict=True), pytest.raises(PrivacyLeakError, match=reason):
            PrivateGridSearch(model, {name: [1]}, ledger=ledger).fit(frame, Y)
        assert not ledger.entries()


def test_a_ledger_of_ones_own_sees_no_row(tmp_path):
    class OwnLedger(PrivacyLedger):
        pass

    assert privacy_report(tree(ledger=OwnLedger(tmp_path / "ledger")).fit(X, Y)).private


def test_a_module_that_only_has_a_name_of_ours_exports_nothing(monkeypatch):
    module = ModuleType("skprivate.forged")
    module.Forged = type("Forged", (StatelessMixin, Centred), {"__module__": module.__name__})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert "names a module of skprivate" in reads_rows(module.Forged())


def test_labels_and_cards_of_an_undeclared_class_claim_nothing(tmp_path):
    keeping = tree(KeepsMean).fit(X, Y)
    assert keeping.privacy_spent_.private
    page = keeping._repr_html_()
    assert "NOT PRIVATE" in page
    assert UNDECLARED in page
    assert "Differential privacy (claimed" not in page
    with pytest.raises(TypeError, match=f"KeepsMean {UNDECLARED}"):
        privacy_section(keeping)
    with pytest.raises(TypeError, match=f"'table' {UNDECLARED}"):
        study_page(PrivacyLedger(tmp_path / "ledger"), {"table": keeping})
    assert "mechanism" in privacy_section(keeping.privacy_spent_)


class Vouched(KeepsMean, PrivateEstimatorMixin):
    """Its author stands for it; whether rightly, a report does not say."""


class Steady(StatelessMixin, Centred):
    def fit(self, X, y=None):
        return self


def test_a_report_says_whose_word_it_takes():
    fitted = behind(Steady(), tree(Vouched)).fit(X, Y)
    report = privacy_report(fitted)
    assert report.private
    said = [
        f"front (Steady): stateless: learns nothing from rows, as declared by module {__name__}",
        f"model (Vouched): covered: the noise is in the budget, as declared by module {__name__}",
    ]
    assert [str(step) for step in report.steps] == said
    for shown in (str(report), report.to_html(), report._repr_html_(), json.dumps(report.to_dict())):
        assert shown.count(f"as declared by module {__name__}") >= 2
    assert PrivacyReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report
    assert f"as declared by module {__name__}" in fitted[-1]._repr_html_()
    assert "as declared by module tests" in privacy_section(fitted[-1])
    assert "as declared by" not in str(privacy_report(behind(BoundsScaler((0, 1))).fit(X, Y)))


def test_a_private_search_says_whose_word_it_takes():
    search = PrivateGridSearch(behind(Steady(), tree(Vouched)), DEPTHS).fit(X, Y)
    report = privacy_report(search)
    assert report.private
    for name in ("Steady", "Vouched"):
        assert f"{name} inside it as declared by module {__name__}" in str(report)


def test_a_report_says_that_a_public_model_saw_private_rows():
    model = tree(public_model=LogisticRegression())
    is_public, labels = np.arange(200) < 80, (X[:, 0] > 0.5).astype(int)
    search = PrivateGridSearch(behind(Steady(), model), DEPTHS)
    for fitted in (model.fit(X, labels, is_public=is_public), search.fit(X, labels, is_public=is_public)):
        said = "its public model, LogisticRegression, predicts private rows, as declared by you"
        assert said in str(privacy_report(fitted))
    assert "as declared by you" not in str(privacy_report(tree().fit(X, Y)))


def test_the_battery_wants_a_statement_of_an_undeclared_step():
    def failed(step):
        results = check_private_estimator(step, {"X": X}, only=["check_privacy_spent"], on_fail=None)
        return [str(one["reason"]) for one in results if one["status"] == "failed"]

    assert failed(BoundsScaler((0, 1))) == []
    assert failed(type("Promised", (BoundsScaler, StatelessMixin), {})((0, 1))) == []
    (reason,) = failed(type("Further", (BoundsScaler,), {})((0, 1)))
    assert "nothing states the spent budget" in reason
