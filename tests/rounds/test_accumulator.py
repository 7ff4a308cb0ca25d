# SPDX-License-Identifier: BSD-3-Clause
"""Accumulators of a plan's sums: the bits of `fit`, and refusals that lose nothing."""

import pickle

import pandas as pd
import pytest

from skprivate import DPTreeClassifier, PrivacyLedger
from skprivate.tree import LeafCountAccumulator
from tests.rounds.examples import NAMES, PUBLIC, assert_same, private_rows, unfitted

ROWS = private_rows("public rows")[[*NAMES, "ill"]]
TREE = unfitted("public rows")
N_ROWS = len(ROWS)


def accumulator(n_rows=N_ROWS):
    return LeafCountAccumulator(TREE, n_rows, public=PUBLIC, target="ill")


def test_merged_batches_give_the_bits_of_fit(tmp_path):
    first = accumulator().update(ROWS[:100], batch_id=1)
    second = accumulator().update(ROWS[100:][NAMES], ROWS[100:]["ill"], batch_id=2)
    ledger = PrivacyLedger(tmp_path / "a.ledger", epsilon=5)
    merged = LeafCountAccumulator.from_bytes(first.to_bytes()).merge(second)
    fitted = merged.release(unfitted("public rows").set_params(ledger=ledger), public=PUBLIC)
    assert_same(fitted, "public rows")
    assert len(ledger.entries()) == 1
    assert merged.released


def test_batches_are_read_by_name():
    counts = accumulator().update(ROWS[:100]).update(ROWS[100:][["ill", *NAMES[::-1]]])
    assert_same(counts.release(TREE), "public rows")


def test_refusals_lose_nothing():
    counts = accumulator().update(ROWS[:100], batch_id=1)
    with pytest.raises(ValueError, match="n_rows"):
        counts.release(TREE)
    with pytest.raises(ValueError, match="added before"):
        counts.update(ROWS[100:], batch_id=1)
    with pytest.raises(ValueError, match="more rows than declared"):
        counts.update(pd.concat([ROWS, ROWS]))
    with pytest.raises(ValueError, match="different parameters"):
        counts.merge(accumulator(len(ROWS) + 1))
    with pytest.raises(ValueError, match="both accumulators hold the batch 1"):
        counts.merge(pickle.loads(pickle.dumps(counts)))
    counts.update(ROWS[100:])
    with pytest.raises(ValueError, match="another plan"):
        counts.release(DPTreeClassifier(1.0, bounds=(-3, 3), max_depth=1))
    for changed in ({"classes": ["no", "yes", "zz"]}, {"bounds": (-4, 4)}):
        with pytest.raises(ValueError, match=r"not that of the accumulator|another plan"):
            counts.release(unfitted("public rows").set_params(**changed))
    assert counts.release(TREE).n_reports_ == len(ROWS)
