# SPDX-License-Identifier: BSD-3-Clause
"""The privacy section of a model card, also in a card of skops."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skops.card import Card

from skprivate import DPTreeClassifier, LocalAverageRegressor, TQMATransformer, privacy_report
from skprivate.accounting import PrivacySpent, add_privacy_section, privacy_section

X = np.random.default_rng(0).uniform(size=(300, 2))
Y = (X[:, 0] > 0.5).astype(int)
TREE = DPTreeClassifier(bounds=(0, 1), classes=[0, 1])


def test_section_in_a_card():
    tree = TREE.fit(X, Y)
    card = add_privacy_section(Card(tree))
    assert card.select("Privacy").content == privacy_section(tree.privacy_spent_)
    assert "| epsilon | 1 |" in card.render()
    # Changed, not doubled.
    add_privacy_section(card, tree.privacy_spent_.with_audit(0.5, 0.999, "x"))
    assert card.render().count("| epsilon | 1 |") == 1
    assert "audited at \\>= 0.5" in card.render()


def test_a_pipeline_needs_its_report():
    pipeline = make_pipeline(StandardScaler(), TREE).fit(X, Y)
    with pytest.raises(TypeError, match=r"Pipeline holds no privacy statement.*privacy_report"):
        add_privacy_section(Card(pipeline))
    text = privacy_section(privacy_report(pipeline))
    assert text.startswith("**claim: not-private**")
    assert "the whole is NOT PRIVATE" in text


def test_a_wrapper_does_not_borrow_the_statement():
    class Delegating:
        def __getattr__(self, name):
            return getattr(TREE.fit(X, Y), name)

    with pytest.raises(TypeError, match="Delegating holds no privacy statement"):
        privacy_section(Delegating())


def test_coarsening():
    text = privacy_section(TQMATransformer(bounds=(0, 1)).fit(X))
    assert "not differential privacy" in text
    assert "epsilon" not in text


@pytest.mark.parametrize("estimator", [TREE, StandardScaler().fit(X), "text", None, LocalAverageRegressor()])
def test_without_a_statement(estimator):
    unfitted = DPTreeClassifier() if estimator is TREE else estimator
    with pytest.raises(TypeError, match="holds no privacy statement"):
        privacy_section(unfitted)


def test_something_else_than_a_card():
    with pytest.raises(TypeError, match=r"card must be a skops\.card\.Card, not str"):
        add_privacy_section("card", TREE)


def test_texts_are_escaped():
    spent = PrivacySpent(
        mechanism="a | b <script> *x* [y](z) # title",
        epsilon=1,
        relation="local",
        noise_scale=None,
        noise_source="os-entropy",
        deployment="collected",
        claim="dp",
    )
    text = privacy_section(spent)
    assert "a \\| b \\<script\\> \\*x\\* \\[y\\]\\(z\\) \\# title" in text
