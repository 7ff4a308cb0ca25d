# SPDX-License-Identifier: BSD-3-Clause
"""Reports on several steps add up what means the same; the privacy section of a model card, also of skops."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skops.card import Card

from skprivate import DPTreeClassifier, privacy_report
from skprivate.accounting import add_privacy_section, privacy_section
from tests.accounting.records import report, spend

X = np.random.default_rng(0).uniform(size=(300, 2))
Y = (X[:, 0] > 0.5).astype(int)
TREE = DPTreeClassifier(bounds=(0, 1), classes=[0, 1])


def test_amounts_add_up():
    statement = report(spend(Fraction(1, 3)), spend(Fraction(1, 6), 0.25)).to_dict()
    assert statement["guarantee"]["epsilon"] == {"exact": "1/2", "value": 0.5}
    assert statement["guarantee"]["delta"]["value"] == 0.25


def test_different_relations_have_no_sum():
    mixed = report(spend(), spend(relation="add-remove"))
    assert mixed.effective_epsilon == math.inf
    assert "epsilon =" not in mixed.headline()
    assert "do not add up" in str(mixed).splitlines()[0]
    # A report that hides its unit hides that the unit is replaced.
    implied = report(spend(Fraction(1, 3), relation="local"), spend(Fraction(1, 3)))
    assert implied.effective_epsilon == pytest.approx(2 / 3)
    assert implied.headline().startswith("claim: dp, epsilon = 0.666667, relation: replace-one")


def test_a_pipeline_needs_its_report():
    pipeline = make_pipeline(StandardScaler(), TREE).fit(X, Y)
    with pytest.raises(TypeError, match=r"Pipeline holds no privacy statement.*privacy_report"):
        add_privacy_section(Card(pipeline))
    text = privacy_section(privacy_report(pipeline))
    assert text.startswith("**claim: not-private**")
    assert "the whole object is NOT PRIVATE" in text
