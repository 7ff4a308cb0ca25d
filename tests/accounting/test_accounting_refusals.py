# SPDX-License-Identifier: BSD-3-Clause
"""Every input that the room refuses: what is called, the error, its message, and the wrong values."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skprivate import DPTreeClassifier, LocalAverageRegressor
from skprivate.accounting import (
    Blanket,
    DisclosureRisk,
    PackageRecord,
    PrivacyGuarantee,
    PrivacyLedger,
    PrivacyReport,
    PrivacySpent,
    ReleaseRecord,
    add_privacy_section,
    compose,
    joint_channel,
    max_information,
    maximal_leakage,
    pml_from_ldp,
    pml_guarantee,
    pml_laplace,
    pml_laplace_query,
    pointwise_maximal_leakage,
    prior_ratio,
    privacy_section,
    shuffle_amplification,
    study_page,
)
from skprivate.accounting._privacy_amounts import from_text, running_sum_from_text
from skprivate.exceptions import PrivacyUnboundedError
from skprivate.randomizers import HadamardRandomizer, LabelRandomizer
from tests.accounting.records import EXPOSED, SEEDED, gaussian, laplace, report, spend
from tests.refusals import FIELD, cases, give

NAN, INF = math.nan, math.inf
FORGED = "x\nTotal: epsilon = 0"
SPENT = spend()
RISK = {"protection": "a", "attack": "b", "metric": "c", "bound": {"age": 6.4}, "assumption": "d"}
GUARANTEE = {"epsilon": 0.5, "status": "exact", "criterion": "pml", "subject": "a", "prior": "b"}
PACKAGE = {"name": "a", "version": "b", "sha256_sources": "c", "sha256_kernels": "d"}
RELEASE = {"name": "counts", "mechanism": "discrete Laplace"}
RECORD = "purpose", "person", "approver", "expiry"
ZCDP = {"delta": Fraction(1, 10**6), "rho": Fraction(1, 8)}
CHANNEL = [[0, 1], [0.5, 0.5], [0.5, 0.5]]


def guarantee(**changes):
    return PrivacyGuarantee(**(GUARANTEE | changes))


def under_prior(*arguments, **changes):
    return guarantee().under_prior(*arguments, **changes)


def risk(**changes):
    return DisclosureRisk(**(RISK | changes))


def package(**changes):
    return PackageRecord(**(PACKAGE | changes))


def release(**changes):
    return ReleaseRecord(**(RELEASE | changes))


def audited(bound, confidence=0.9, method="x"):
    return SPENT.with_audit(bound, confidence, method)


def composed(*releases, **changes):
    return spend(1, **changes, releases=releases)


def charge_of_an_id(ledger, charge_id):
    ledger.charge(SPENT, "Tree", charge_id=charge_id)


def block(name):
    """Charge a ledger within one of its blocks."""

    def charge_within(ledger, *arguments, **texts):
        with getattr(ledger, name)(*arguments, **texts):
            ledger.charge(SPENT, "Tree")

    charge_within.__qualname__ = name
    return charge_within


FINITE = "scale must be finite and above 0"
SHAPE = "values must have shape"
FLOOR = "p_min must be finite and above 0"
#: A dict of wrong values is of keywords, a tuple of positions.
REFUSED = [
    (from_text, ValueError, "not an amount", "", "1", "1/0", "1/2/3", "-1/2", " 1/2", "1/2\n", "٣/4", None),
    (running_sum_from_text, ValueError, "amount", None, "", "1/2+", "1/0+0", "1/2+-1", "1/2+1/2", "1/2+0+0"),
    (compose, TypeError, "several PrivacySpent or LedgerEntry, not one PrivacySpent", SPENT),
    (compose, TypeError, "PrivacySpent or LedgerEntry, got float", [1.0]),
    (compose, ValueError, "method must be one of", ([], "sum")),
    (compose, TypeError, "method must be a str", ([], 3)),
    (compose, ValueError, "give none", ([], "basic", 1e-6)),
    (compose, ValueError, "needs a delta", ([], "rdp")),
    (compose, ValueError, "greater than 0", ([], "pld", 0.0)),
    (compose, ValueError, "below 1", ([], "rdp", 1.0)),
    (shuffle_amplification, ValueError, "epsilon", (0.0, 10, 1e-6), (INF, 10, 1e-6)),
    (shuffle_amplification, TypeError, "epsilon", ("1", 10, 1e-6)),
    (shuffle_amplification, ValueError, "n must be at least 1", (1.0, 0, 1e-6)),
    (shuffle_amplification, TypeError, "n must be an int", (1.0, 10.0, 1e-6)),
    (shuffle_amplification, ValueError, "no pure epsilon", (1.0, 10, 0.0)),
    (shuffle_amplification, ValueError, "delta", (1.0, 10, 1.0), (1.0, 10, -0.1)),
    (shuffle_amplification, TypeError, "must be a local randomizer, not str", (1.0, 10, 1e-6, "hadamard")),
    (shuffle_amplification, ValueError, "costs 2", (1.0, 10, 1e-6, HadamardRandomizer(2.0, 4))),
    (shuffle_amplification, ValueError, "costs 1", (2.0, 10, 1e-6, HadamardRandomizer(1.0, 4))),
    (shuffle_amplification, ValueError, "smallest cell", (1.0, 10, 1e-6, LabelRandomizer(1.0, 4))),
    (Blanket, ValueError, "must be", (Fraction(1), Fraction(1, 4)), (Fraction(3), Fraction(0))),
    (Blanket, ValueError, "masses are too large", (Fraction(3), Fraction(1, 3))),
    (Blanket, ValueError, "both must be", (Fraction(3), Fraction(1, 4), Fraction(-1, 8))),
    (Blanket, TypeError, "apart must be", (Fraction(3), "1/4")),
    (Blanket.of_total_variation, ValueError, "must be greater than", Fraction(1), (Fraction(3), Fraction(0))),
    # Leakage.
    (pml_from_ldp, ValueError, "epsilon", (-1, 0.5), (NAN, 0.5)),
    (pml_from_ldp, TypeError, "epsilon", ("1", 0.5), (True, 0.5)),
    (pml_from_ldp, ValueError, "p_min", (1, 0), (1, 1.5), (1, NAN)),
    (pml_from_ldp, TypeError, "p_min", (1, None)),
    (joint_channel, ValueError, "at least one", ()),
    (joint_channel, ValueError, "same number of inputs", (CHANNEL, [[1.0], [1.0]])),
    (joint_channel, ValueError, "10\\^7", tuple([np.full((2, 100), 0.01)] * 4)),
    *((maximal_leakage, ValueError, "channel", it) for it in ([1], [[]], [[2, -1]], [[NAN, 1]])),
    (pointwise_maximal_leakage, ValueError, "row of channel must sum", ([[0.5, 0.6]], [1])),
    (pointwise_maximal_leakage, TypeError, "channel", ([["a", "b"]], [1])),
    (pointwise_maximal_leakage, ValueError, "shape", (np.eye(2), [[1, 0]]), (np.eye(2), None)),
    (pml_guarantee, ValueError, "prior must have shape", (np.eye(2), [1, 0, 0]), (np.eye(2), None)),
    (pointwise_maximal_leakage, ValueError, "prior must sum", (np.eye(2), [0.5, 0.6]), (np.eye(2), [0, 0])),
    (pointwise_maximal_leakage, ValueError, "prior", (np.eye(2), [-0.5, 1.5]), (np.eye(2), [INF, 0.5])),
    (pointwise_maximal_leakage, TypeError, "prior", (np.eye(2), [True, False])),
    (pml_guarantee, ValueError, "channel", ([[0.5, 0.6]], [1])),
    (maximal_leakage, ValueError, "row of channel must sum", ([[0.5, 0.6]], [1]), [[0.5, 0.6]]),
    (maximal_leakage, ValueError, "prior must", (np.eye(2), [0.5, 0.6]), (np.eye(2), [1, 0, 0])),
    (max_information, ValueError, "prior", []),
    (pml_guarantee, ValueError, "not closed under post-processing.*envelope", ([[1]], [1], "tail", 0.1)),
    (pml_guarantee, ValueError, "envelope", ([[1]], [1], "tail", None)),
    (pml_guarantee, ValueError, "kind", ([[1]], [1], "worst", None)),
    (pml_guarantee, ValueError, "delta", *(([[1]], [1], "envelope", it) for it in (None, 0.0, 1.0, NAN))),
    (pml_guarantee, ValueError, "delta", ([[1]], [1], "almost_sure", 0.1), ([[1]], [1], "average", 0.1)),
    (prior_ratio, ValueError, "never seen", ([3, 0], 0.9), ([3, -1], 0.9)),
    (prior_ratio, TypeError, "counts", ([0.5, 0.5], 0.9), ([[1, 2]], 0.9), ([], 0.9)),
    (prior_ratio, ValueError, "confidence", ([3, 4], 1.0), ([3, 4], 0.0)),
    (prior_ratio, TypeError, "confidence", ([3, 4], "high")),
    (pml_laplace, ValueError, "scale", (0, (0, 1)), (INF, (0, 1)), (Fraction(1, 10**400), (0, 1))),
    (pml_laplace, TypeError, "scale", ("1", (0, 1))),
    (pml_laplace, ValueError, "scale|prior", (5e-324, ([0, 1], [0.5, 0.5]))),
    (pml_laplace, ValueError, "prior", *((1, it) for it in ((1, 1), (0, INF), (NAN, 1)))),
    (pml_laplace, ValueError, "prior", (1, stats.randint(0, 10**7))),
    (pml_laplace, ValueError, "prior", (1, ([0, 1], [0.5])), (1, ([0, 1], [0.5, 0.6]))),
    (pml_laplace, ValueError, "prior", (1, ([0, INF], [0.5, 0.5])), (1, ([[0, 1]], [[0.5, 0.5]]))),
    (pml_laplace, TypeError, "prior", (1, [0.2, 0.3, 0.5]), (1, 0.5)),
    (pml_laplace_query, ValueError, FINITE, (0, [0, 1], 0.1), (NAN, [0, 1], 0.1), (INF, [0, 1], 0.1)),
    (pml_laplace_query, ValueError, FINITE, ([1, 0], np.eye(2), 0.1)),
    (pml_laplace_query, ValueError, "one of each of 2 queries", ([1, 1, 1], np.eye(2), 0.1)),
    (pml_laplace_query, ValueError, "one of each of 1 queries", ([1, 1], [0, 1], 0.1)),
    (pml_laplace_query, ValueError, "scale must be an array of numbers", (Fraction(10**400), [0, 1], 0.1)),
    (pml_laplace_query, TypeError, "scale must hold numbers", ("1", [0, 1], 0.1), (True, [0, 1], 0.1)),
    (pml_laplace_query, ValueError, "values must be finite", (1, [0, NAN], 0.1), (1, [[0, INF]], 0.1)),
    (pml_laplace_query, ValueError, "subtract one of the values from all", (1, [2**53, 2**53 + 1], 0.1)),
    (pml_laplace_query, ValueError, "subtract one", (1, np.array([0, 2**53 + 1], dtype=np.uint64), 0.1)),
    (pml_laplace_query, ValueError, "subtract one", (1, [2**53, 2**53 + Fraction(1, 4)], 0.1)),
    (pml_laplace_query, ValueError, "within 1e-12 scales", ([1, 1e-9], [[0, Fraction(1, 3)], [0, 1]], 0.1)),
    (pml_laplace_query, ValueError, SHAPE, (1, [], 0.1), (1, 3, 0.1), (1, np.zeros((2, 0)), 0.1)),
    (pml_laplace_query, ValueError, SHAPE, (1, np.zeros((2, 2, 2)), 0.1)),
    (pml_laplace_query, TypeError, "values must hold numbers", (1, ["0", "1"], 0.1), (1, [0, {}], 0.1)),
    (pml_laplace_query, ValueError, "values must be an array of numbers", (1, [[0, 1], [1]], 0.1)),
    (pml_laplace_query, ValueError, FLOOR, *((1, [0, 1], it) for it in (0, -0.1, NAN, [0.5, 0], None))),
    (pml_laplace_query, ValueError, r"floors of 3 values that add up to 1\.02 leave", (1, [0, 1, 2], 0.34)),
    (pml_laplace_query, ValueError, r"floors of 2 values that add up to 1\.1 leave", (1, [0, 1], [0.7, 0.4])),
    (pml_laplace_query, ValueError, "one of each of 2 values", (1, [0, 1], [0.1, 0.1, 0.1])),
    (pml_laplace_query, TypeError, "p_min must hold probabilities", (1, [0, 1], "0.1")),
    # Fields of statements.
    (spend, ValueError, FIELD, *({"epsilon": it} for it in (0, -1, INF, -INF, NAN))),
    (spend, ValueError, FIELD, {"epsilon": -INF, **EXPOSED}, {"delta": 1}, {"delta": -0.1}, {"rho": 0}),
    (spend, TypeError, FIELD, *({"epsilon": it} for it in ("1", True, None)), {"leakage": 0.5}),
    (spend, ValueError, FIELD, {"mechanism": ""}, {"relation": "neighbours"}, {"unit": "person"}),
    (spend, TypeError, FIELD, {"mechanism": None}, {"relation": ["local"]}, {"sensitivity": 1.5}),
    (spend, ValueError, FIELD, {"noise_source": "numpy"}, {"deployment": "cloud"}, {"claim": "certified"}),
    (spend, ValueError, FIELD, {"max_rows_per_unit": 2}, {"max_rows_per_unit": 2, "unit": "player"}),
    (spend, ValueError, FIELD, {"max_rows_per_unit": 0, "unit": "group"}, {"sensitivity": 0}),
    (spend, TypeError, FIELD, {"max_rows_per_unit": 1.5, "unit": "group"}, {"noise_scale": True}),
    (spend, ValueError, FIELD, {"noise_scale": -1}, {"reasons": ("why",)}),
    (spend, TypeError, FIELD, {"public_inputs": "bounds"}, {"public_inputs": (1,)}),
    (spend, ValueError, "reasons", {"claim": "not-private"}, {"claim": "not-private", "reasons": ("",)}),
    (spend, TypeError, "reasons", {"claim": "not-private", "reasons": "seeded"}),
    (spend, ValueError, "seeded", {"noise_source": "seeded"}),
    (spend, TypeError, FIELD, *({"unprotected": it} for it in ([("n", 1)], {1: 1}, {"n": object()}))),
    (spend, TypeError, "must be of type AuditRecord", {"audit": 0.5}),
    (spend, TypeError, "must be of type PackageRecord", {"package": "0.1.0"}),
    (SPENT.given_prior, ValueError, "prior must be", 0, -0.1, 1.5, NAN, Fraction(3, 2)),
    (SPENT.given_prior, ValueError, "prior", [0.5, 0.6], [[0.5, 0.5]], [], [-1, 2], [NAN, 1]),
    (audited, ValueError, "lower_bound", -1, INF, NAN),
    (audited, TypeError, "lower_bound", False, "1"),
    (audited, ValueError, "confidence", (0.1, 0), (0.1, 1)),
    (audited, ValueError, "method", (0.1, 0.9, "")),
    (audited, TypeError, "method", (0.1, 0.9, None)),
    (package, ValueError, "version must not be empty", {"version": " "}),
    (guarantee, ValueError, FIELD, {"epsilon": -0.1}, {"epsilon": NAN}, {"status": "sure"}),
    (guarantee, TypeError, FIELD, *({"epsilon": it} for it in ("1", None, True)), {"status": 1}),
    (guarantee, ValueError, FIELD, {"criterion": "tail"}, {"subject": ""}, {"prior": ""}),
    (guarantee, TypeError, FIELD, {"subject": None}, {"prior": None}, {"method": 3}),
    (guarantee, ValueError, FIELD, *({"allowance": it} for it in (0.6, -0.1, NAN))),
    (guarantee, ValueError, FIELD, *({"lower": it} for it in (0.6, -1, NAN))),
    (guarantee, ValueError, FIELD, *({"confidence": it, "status": "estimate"} for it in (1.0, NAN))),
    (guarantee, ValueError, "prior", {"criterion": "dp"}),
    (guarantee, ValueError, "confidence", {"status": "estimate"}, {"confidence": 0.9}),
    (under_prior, ValueError, "rho", 0, -0.5, 1.01, NAN, INF, Fraction(1, 10**400)),
    (partial(under_prior, 0.5), ValueError, "confidence", *({"confidence": it} for it in (0, 1, -1, NAN))),
    *(
        (guarantee(criterion=criterion, prior=prior).under_prior, ValueError, "criterion 'pml'", 0.5)
        for criterion, prior in (("dp", ""), ("corollary1", "uniform"))
    ),
    (risk, ValueError, "percentage", *({"bound": {"a": it}} for it in (-1.0, 100.1, NAN))),
    (release, ValueError, "but not of both", {"epsilon": 1, "rho": 1}, {}),
    (release, ValueError, "too small for its share", {"epsilon": 1, "sensitivity": 3, "noise_scale": 2}),
    (release, ValueError, "too small for its share", {"rho": 1, "sensitivity": 3, "noise_scale": 2}),
    *(
        (partial(release, mechanism="discrete Gaussian"), ValueError, message, wrong)
        for message, wrong in (
            ("too small", {"rho": 1, "sensitivity": 9, "noise_scale": 2}),
            ("of rho", {"epsilon": 1, "sensitivity": 1, "noise_scale": 9}),
            ("of rho", {"epsilon": 1}),
        )
    ),
    (partial(release, sensitivity=9, noise_scale=1, epsilon=9), ValueError, FIELD, {"times": Fraction(1, 9)}),
    (release, ValueError, "draws=0 must have", {"epsilon": 1, "draws": 0}),
    (partial(release, mechanism="none", noise_scale=1, epsilon=1), ValueError, "no noise", {"draws": 0}),
    (release, ValueError, "epsilon must be greater", {"epsilon": 0}),
    (release, ValueError, "draws", {"epsilon": 1, "draws": -1}),
    (release, ValueError, "name must not be empty", {"epsilon": 1, "name": " "}),
    (release, ValueError, "rows must not be empty", {"epsilon": 1, "rows": ""}),
    *(
        (composed, ValueError, "must add up to the total", releases)
        for releases in (
            (laplace(0.5),),
            (laplace(1), laplace(0.25)),
            (laplace(0.25, times=3),),
            (laplace(1, rows="a"), laplace(0.5, rows="b"), laplace(0.25)),
        )
    ),
    (partial(composed, **ZCDP), ValueError, "must add up to the total", gaussian(0.0625)),
    (partial(composed, rho=Fraction(1, 8)), ValueError, "delta must be above 0", gaussian(0.125)),
    (composed, ValueError, "shares of rho if the run has a rho", gaussian(1)),
    (partial(composed, **ZCDP), ValueError, "shares of rho if the run has a rho", laplace(0.125)),
    (composed, TypeError, "a tuple of ReleaseRecord", "counts"),
    (spend(1).with_releases, ValueError, "must add up to the total", [laplace(0.75), laplace(0.5)]),
    # Control characters.
    (spend, ValueError, "control character", {"mechanism": FORGED}, {"public_inputs": (FORGED,)}),
    (spend, ValueError, "control character", {"unprotected": {FORGED: 1}}, {**EXPOSED, "reasons": (FORGED,)}),
    (PrivacySpent.from_dict, ValueError, "control character", (SPENT.to_dict() | {"mechanism": FORGED},)),
    (audited, ValueError, "control character", (1, 0.9, FORGED)),
    (SPENT.to_registry, ValueError, "control character", {"name": FORGED}, {"registry_authors": [FORGED]}),
    (package, ValueError, "control character", *({name: FORGED} for name in PACKAGE)),
    (guarantee, ValueError, "control character", *({it: FORGED} for it in ("subject", "prior", "method"))),
    (risk, ValueError, "control character", *({name: FORGED} for name in RISK if name != "bound")),
    # Entries of the registry, pages and cards.
    (SPENT.to_registry, TypeError, "'epsilons', which is not a field of the registry", {"epsilons": "1"}),
    (SPENT.to_registry, TypeError, "states 'privacy_parameters' itself", {"privacy_parameters": {}}),
    (SPENT.to_registry, TypeError, "states 'mechanisms' itself", {"mechanisms": "magic"}),
    (SPENT.to_registry, TypeError, "states 'model_name' itself", {"model_name": "Local"}),
    (SPENT.to_registry, ValueError, "name must not be empty", {"name": ""}),
    (SPENT.to_registry, TypeError, "name must be a str", {"name": 3}),
    (SPENT.to_registry, TypeError, "registry_authors must be a str", {"registry_authors": []}),
    (SPENT.to_registry, ValueError, "registry_authors must not be empty", {"registry_authors": ["A", ""]}),
    (report().to_registry, TypeError, "states 'mechanisms' itself", {"mechanisms": "magic"}),
    (risk().to_registry, TypeError, "states 'mechanisms' itself", {"mechanisms": "magic"}),
    (guarantee().to_registry, TypeError, "states 'mechanisms' itself", {"mechanisms": "magic"}),
    (privacy_section, TypeError, "holds no privacy statement", DPTreeClassifier(), StandardScaler()),
    (privacy_section, TypeError, "holds no privacy statement", "text", None, LocalAverageRegressor()),
    (add_privacy_section, TypeError, r"card must be a skops\.card\.Card, not str", ("card", SPENT)),
    (PrivacyReport.from_dict, TypeError, "must be a mapping, got list", []),
    (PrivacySpent.from_dict, TypeError, "must be a mapping, got list", []),
    (PrivacyLedger, TypeError, "str", None, 1, b"ledger"),
    (study_page, TypeError, "ledger must be", "study.ledger"),
]


LEDGER_REFUSED = [
    (PrivacyLedger, ValueError, FIELD, *({"epsilon": it} for it in (0, -1.0, INF, NAN)), {"delta": 1e-6}),
    (PrivacyLedger, TypeError, FIELD, {"epsilon": "1"}, {"epsilon": True}, {"delta": None, "epsilon": 1}),
    (PrivacyLedger, ValueError, FIELD, {"delta": 1, "epsilon": 1}, {"delta": -0.1, "epsilon": 1}),
    (PrivacyLedger, ValueError, FIELD, {"max_failures": -1}),
    (PrivacyLedger, TypeError, FIELD, {"max_failures": 1.0}, {"max_failures": True}),
    (PrivacyLedger.charge, TypeError, "spent", (1.0, "Tree")),
    (PrivacyLedger.charge, TypeError, "estimator", (SPENT, None)),
    (PrivacyLedger.charge, ValueError, "estimator", (SPENT, "")),
    (PrivacyLedger.charge, ValueError, "surrogates", (SPENT, "Tree \ud800"), (SPENT, "\udcff")),
    (PrivacyLedger.charge, ValueError, "control character", (SPENT, FORGED)),
    (PrivacyLedger.charge, PrivacyUnboundedError, "nothing was written", (spend(INF, **SEEDED), "Solver")),
    (charge_of_an_id, TypeError, "charge_id", 7),
    (charge_of_an_id, ValueError, "charge_id", "", " ", "lone \udcff"),
    (charge_of_an_id, ValueError, "control character", FORGED),
    (PrivacyLedger.count_failure, TypeError, "estimator", None),
    (PrivacyLedger.count_failure, ValueError, "estimator", ""),
    (PrivacyLedger.count_failure, ValueError, "control character", FORGED),
    (block("label"), TypeError, "label", 1, None),
    (block("label"), ValueError, "label", " "),
    (block("label"), ValueError, "surrogates", "\udcff"),
    (block("label"), ValueError, "control character", FORGED),
    (block("data"), TypeError, "group", 3),
    (block("data"), ValueError, "group", "", " "),
    (block("data"), ValueError, "control character", FORGED),
    (block("record"), ValueError, "at least one", {}),
    (block("record"), TypeError, FIELD, *({name: 1} for name in RECORD)),
    (block("record"), ValueError, FIELD, *({name: it} for name in RECORD for it in (" ", "\ud800", FORGED))),
    (study_page, TypeError, "mapping or a sequence", "spent"),
    (study_page, TypeError, "'model' must be", ({"model": 1},)),
    # What is in it is not known here.
    (study_page, TypeError, r"pass .*privacy_report\(", ({"model": make_pipeline(StandardScaler())},)),
    (study_page, TypeError, "each name", ({1: SPENT},)),
    (study_page, ValueError, "title", {"title": " "}),
    (study_page, TypeError, "signatures", {"signatures": "Head"}),
    (study_page, ValueError, "control character", {"title": FORGED}, {"signatures": [FORGED]}),
    (study_page, ValueError, "control character", ({FORGED: SPENT},)),
]


@pytest.mark.parametrize(("call", "error", "match", "wrong"), cases(REFUSED))
def test_it_is_refused(call, error, match, wrong):
    with pytest.raises(error, match=match):
        give(call, wrong)


@pytest.mark.parametrize(("call", "error", "match", "wrong"), cases(LEDGER_REFUSED))
def test_a_ledger_refuses_it_and_charges_nothing(path, call, error, match, wrong):
    ledger = path if call is PrivacyLedger else PrivacyLedger(path, epsilon=1)
    with pytest.raises(error, match=match):
        give(call, wrong, ledger)
    assert path.exists() is (call is not PrivacyLedger)
    if path.exists():
        assert (ledger.spent(), ledger.entries(), ledger.n_failures) == ((0, 0), [], 0)


def test_a_refused_value_is_not_repeated_in_the_message():
    class Secret:
        def __repr__(self):
            return "sentinel"

    with pytest.raises(TypeError) as caught:
        spend(unprotected={"rows": Secret()})
    assert "sentinel" not in str(caught.value)


@pytest.mark.parametrize("add", [lambda g: g + g, lambda g: g + 1.0, lambda g: 1.0 + g])
def test_leakages_are_not_added(add):
    with pytest.raises(TypeError, match=r"do not add up.*joint_channel"):
        add(guarantee())
