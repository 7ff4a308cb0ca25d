# SPDX-License-Identifier: BSD-3-Clause
"""The privacy unit: numbering of groups, and the rows that stand for them."""

import numpy as np
import pandas as pd
import pytest

from skprivate.noise import check_entropy
from skprivate.utils import number_groups, select_rows

ALL = np.ones(6, dtype=bool)


class TestNumberGroups:
    @pytest.mark.parametrize(
        "groups",
        [
            [7, 3, 7, 3, 3, 1],
            np.array(["b", "a", "b", "a", "a", "c"]),
            ["b", 1, "b", 1.0, 1, "c"],
            pd.Series(["b", "a", "b", "a", "a", "c"], dtype="category"),
            pd.Series([7, 3, 7, 3, 3, 1], dtype="Int64"),
            [frozenset("b"), frozenset("a"), frozenset("b"), frozenset("a"), frozenset("a"), frozenset("c")],
            np.array([7, 3, 7, 3, 3, 1], dtype="datetime64[D]"),
            [(1, 2), (3, 4), (1, 2), (3, 4), (3, 4), (5, 6)],
        ],
        ids=lambda groups: type(groups).__name__,
    )
    def test_equal_groups_share_a_number(self, groups):
        if isinstance(groups, list) and isinstance(groups[0], tuple):
            groups = pd.Series(groups)
        codes = number_groups(groups, ALL)
        assert sorted(set(codes)) == [0, 1, 2]
        assert [codes[0] == codes[2], codes[1] == codes[3] == codes[4]] == [True, True]

    def test_public_rows_need_none(self):
        private = np.array([True, False, True, True, False, True])
        groups = ["a", None, "b", "a", float("nan"), "b"]
        assert number_groups(groups, private).tolist() == [0, 1, 0, 1]
        assert number_groups(None, private) is None

    @pytest.mark.parametrize(
        "missing", [None, float("nan"), pd.NA, np.datetime64("NaT", "ns")], ids=["None", "nan", "NA", "NaT"]
    )
    def test_a_private_row_without_a_group_is_refused(self, missing):
        groups = pd.Series(["a", missing, "b", "a", "c", "b"], dtype=object)
        with pytest.raises(ValueError, match="missing values"):
            number_groups(groups, ALL)
        with pytest.raises(ValueError, match="missing values"):
            number_groups(np.array([1, np.nan, 1, 2, 2, 3]), ALL)

    def test_a_missing_date_is_missing_in_any_unit(self):
        for unit in ("D", "ns"):
            dates = np.array(["2026-01-01", "NaT", *["2026-01-02"] * 4], dtype=f"datetime64[{unit}]")
            with pytest.raises(ValueError, match="missing values"):
                number_groups(dates, ALL)

    def test_refusals_tell_no_group(self):
        with pytest.raises(TypeError, match="hashable") as caught:
            number_groups(pd.Series([["secret"]] * 6), ALL)
        assert "secret" not in str(caught.value)
        assert caught.value.__context__ is None
        with pytest.raises(ValueError, match="groups must have shape"):
            number_groups([1, 2], ALL)


class TestSelectRows:
    def test_at_most_so_many_per_group_each_from_its_own(self):
        codes = np.random.default_rng(1).integers(0, 20, size=300)
        codes[:20] = np.arange(20)
        for cap in (1, 2, 50):
            kept = select_rows(codes, cap, check_entropy(3).random_bytes)
            np.testing.assert_array_equal(np.bincount(codes[kept]), np.minimum(np.bincount(codes), cap))
            assert len(set(kept)) == len(kept)

    def test_every_row_of_a_group_has_the_same_chance(self):
        # 20,000 draws among 5 rows; chi-square with 4 degrees of freedom above 33.4: probability 1e-6.
        codes = np.repeat(np.arange(20_000), 5)
        kept = select_rows(codes, 1, check_entropy(4).random_bytes)
        seen = np.bincount(kept % 5, minlength=5)
        assert np.sum((seen - 4000) ** 2 / 4000) < 33.4

    def test_every_bit_of_a_key_counts(self):
        # Two rows of a group whose keys differ in one bit of 64: the smaller key stays.
        for bit in range(64):
            keys = np.array([2**bit, 0, 0, 2**bit], dtype=np.uint64)
            assert select_rows(np.array([0, 0, 1, 1]), 1, lambda n: keys.tobytes()[:n]).tolist() == [1, 2]  # noqa: B023
