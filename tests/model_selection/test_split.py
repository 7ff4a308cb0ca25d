# SPDX-License-Identifier: BSD-3-Clause
"""PublicPrivateSplit: public rows always train, private rows are tested once each."""

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, ShuffleSplit, cross_val_score

from skprivate import PublicPrivateSplit
from skprivate.exceptions import DisclosureWarning


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=12, max_size=60).filter(
        lambda rows: min(sum(not p and y for p, y in rows), sum(not p and not y for p, y in rows)) >= 3
    )
)
def test_partition_of_the_private_rows(rows):
    is_public, y = (np.array(column) for column in zip(*rows, strict=True))
    splits = list(PublicPrivateSplit(3).split(np.zeros((len(y), 1)), y, is_public=is_public))
    assert len(splits) == 3
    for train, test in splits:
        assert not is_public[test].any()
        assert set(np.flatnonzero(is_public)) <= set(train)
        assert sorted([*train, *test]) == list(range(len(y)))
    tested = np.concatenate([test for _, test in splits])
    assert sorted(tested) == list(np.flatnonzero(~is_public))


def test_folds_are_stratified_by_private_labels():
    y = np.repeat([0, 1, 1], [20, 20, 10])
    is_public = np.arange(50) >= 40
    for _, test in PublicPrivateSplit(4).split(np.zeros((50, 1)), y, is_public=is_public):
        assert y[test].mean() == 0.5


def test_without_a_mask_every_row_is_private_and_a_warning_says_so():
    with pytest.warns(UserWarning, match="enable_metadata_routing"):
        tests = [test for _, test in PublicPrivateSplit(2).split(np.zeros((6, 1)))]
    assert sorted(np.concatenate(tests)) == list(range(6))


def test_inner_splitter_and_groups():
    groups = np.repeat([0, 1, 2, 3], 3)
    is_public = np.zeros(12, dtype=bool)
    is_public[[0, 4]] = True
    splitter = PublicPrivateSplit(GroupKFold(2))
    assert splitter.get_n_splits(groups=groups, is_public=is_public) == 2
    for train, test in splitter.split(np.zeros((12, 1)), groups=groups, is_public=is_public):
        shared = set(groups[train[~is_public[train]]]) & set(groups[test])
        assert not shared
    assert PublicPrivateSplit(ShuffleSplit(7, random_state=0)).get_n_splits() == 7


def test_groups_are_handed_only_to_those_who_split_by_them():
    groups = np.repeat(np.arange(6), 2)
    X, is_public = np.zeros((12, 1)), np.zeros(12, dtype=bool)
    for _, test in PublicPrivateSplit(3).split(X, np.arange(12) % 2, groups, is_public):
        assert len(test) == 4
    with pytest.raises(ValueError, match="groups"):
        next(PublicPrivateSplit(GroupKFold(2)).split(X, is_public=is_public))


def test_no_warning_tells_a_private_count():
    y = np.array([0] * 20 + [1] * 3)
    splits = PublicPrivateSplit(5).split(np.zeros((23, 1)), y, is_public=np.zeros(23, dtype=bool))
    assert len(list(splits)) == 5


def test_routed_mask_reaches_the_splitter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.arange(60) % 2
    is_public = np.arange(60) < 20
    sizes = []

    def count(estimator, X_test, y_test):
        sizes.append(len(X_test))
        return 0.0

    with sklearn.config_context(enable_metadata_routing=True):
        cross_val_score(
            LogisticRegression(),
            X,
            y,
            cv=PublicPrivateSplit(4),
            scoring=count,
            params={"is_public": is_public},
        )
    assert sizes == [10] * 4


@pytest.mark.filterwarnings("ignore:No is_public reached:UserWarning")
def test_groups_that_reach_no_estimator_are_a_caution():
    groups, split = np.arange(12) // 2, PublicPrivateSplit(GroupKFold(2))
    with pytest.warns(DisclosureWarning, match="a row, not a group"):
        list(split.split(np.zeros((12, 1)), None, groups))
    with sklearn.config_context(enable_metadata_routing=True):
        list(split.split(np.zeros((12, 1)), None, groups))
    list(split.split(np.zeros((12, 1)), None, groups, np.arange(12) < 2))
    list(PublicPrivateSplit(ShuffleSplit(2)).split(np.zeros((12, 1)), None, groups))
