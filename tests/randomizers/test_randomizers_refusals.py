# SPDX-License-Identifier: BSD-3-Clause
"""What randomizers refuse: parameters, categories, forged reports, counts, descriptions and priors."""

from fractions import Fraction

import numpy as np
import pytest

from skprivate.randomizers import (
    ColumnRandomizer,
    HadamardRandomizer,
    KRRRandomizer,
    LabelRandomizer,
    LaplaceRandomizer,
    SignedLaplaceRandomizer,
    SubsetRandomizer,
    UnaryRandomizer,
    make_randomizer,
    randomizer_from_dict,
)

COUNTED = [KRRRandomizer, SubsetRandomizer, UnaryRandomizer, LabelRandomizer]
SEVERAL = [HadamardRandomizer, *COUNTED]
NOISY = [LaplaceRandomizer, SignedLaplaceRandomizer]
HADAMARD, LAPLACE, COLUMN = (
    HadamardRandomizer(1.0, 4),
    LaplaceRandomizer(1.0, 4),
    ColumnRandomizer(1.5, 4, 3, n_columns=5),
)


def zeros(*shape, dtype=np.int64):
    return np.zeros(shape, dtype=dtype)


def numbers(*values, dtype=np.uint16):
    return np.array(values, dtype=dtype)


def forged_column(place, byte):
    """Ten reports about columns, of which one has another byte."""
    reports = COLUMN.randomize(zeros(10, 5), random_state=1)
    reports[3, place] = byte
    return reports


def spoilt_set(kind, change):
    """A report of 9 categories, and another of which the last byte is changed."""
    reports = kind(1.0, 3, 3).randomize([0, 0], random_state=0)
    reports[1, -1] = change(reports[1, -1])
    return reports


SETS = {kind: kind(1.0, 3, 3) for kind in (SubsetRandomizer, UnaryRandomizer)}
PARAMETERS = [
    *((kind, (1.0, 4, 3), {}, f"supported by mechanism='{kind.name}'") for kind in NOISY),
    *((kind, (1e-25, 3, 3), {}, "epsilon is too small") for kind in SEVERAL),
    *((kind, (Fraction(1, 10**400), 3, 3), {}, "epsilon is too small") for kind in SEVERAL),
    *((kind, (1.0, 2**31, 3), {}, r"must be at most 2\^3[12]") for kind in SEVERAL),
    (LaplaceRandomizer, (3e-12, 2), {}, "epsilon is too small"),
    *((HadamardRandomizer, (1.0, 4), {"n_blocks": b}, "n_blocks must be") for b in (0, 3, 8)),
    (HadamardRandomizer, (1.0, 4, 3), {"signed": True}, "for two labels"),
    *((SubsetRandomizer, (1.0, 2, 3), {"subset_size": d}, "subset_size must be") for d in (0, 4)),
    (ColumnRandomizer, (1.0, 4), {"n_columns": 2**16 + 1}, "at most 65536"),
    *(
        (make_randomizer, (name, 1.0, 6), {}, "mechanism must be one of 'auto', 'hadamard', 'krr'")
        for name in ("label-rr", "Hadamard", None)
    ),
    (make_randomizer, ("auto", 1.0, 4, 1), {}, "at least 2"),
]


@pytest.mark.parametrize(("call", "arguments", "options", "match"), PARAMETERS)
def test_parameters(call, arguments, options, match):
    with pytest.raises(ValueError, match=match):
        call(*arguments, **options)


VALUES = [
    (HADAMARD.randomize, [8], ValueError, "categories must lie"),
    (HADAMARD.randomize, [-1], ValueError, "categories must lie"),
    (HADAMARD.randomize, [[0, 1]], ValueError, "categories must be one"),
    (HADAMARD.randomize, [0.0], TypeError, "categories must be integers"),
    (COLUMN.randomize, zeros(9), ValueError, "one for every column"),
    (COLUMN.randomize, np.full((9, 5), 12), ValueError, "categories must lie"),
    (HADAMARD.aggregate, numbers(0, 8), ValueError, r"outside 0\.\.7"),
    (HADAMARD.aggregate, numbers(0, 1, dtype=np.uint32), TypeError, "another specification"),
    (HADAMARD.aggregate, zeros(2, 2, dtype=np.uint16), ValueError, r"shape \(n,\), got \(2, 2\)"),
    (HADAMARD.aggregate, np.ma.masked_array(numbers(0, 1), [1, 0]), TypeError, "masked"),
    *(
        (kind(1.0, 5, 3).aggregate, numbers(0, 14, 15), ValueError, r"outside 0\.\.14")
        for kind in (KRRRandomizer, LabelRandomizer)
    ),
    *(
        (SETS[kind].aggregate, spoilt_set(kind, lambda byte: byte | 2), ValueError, "beyond category 8")
        for kind in SETS
    ),
    *(
        (
            SETS[SubsetRandomizer].aggregate,
            np.full((1, 2), byte, dtype=np.uint8) & numbers(255, 1, dtype=np.uint8),
            ValueError,
            "another number of ones",
        )
        for byte in (0, 255)
    ),
    (LAPLACE.aggregate, zeros(3, 2, 4, dtype=float), TypeError, "must be int64"),
    (LAPLACE.aggregate, zeros(3, 2, 5), ValueError, r"shape \(n, 2, 4\)"),
    (LAPLACE.aggregate, np.full((2, 2, 4), 2**61), ValueError, "too large"),
    (LAPLACE.aggregate, np.full((1, 2, 4), -(2**63)), ValueError, "too large"),
    (COLUMN.aggregate, forged_column(0, 5), ValueError, "has no column"),
    (COLUMN.aggregate, forged_column(2, 255), ValueError, "number of ones"),
    *(
        (one.leakage, prior, error, "prior")
        for one in (KRRRandomizer(1.0, 2),)
        for prior, error in (
            ([0.5, 0.5], ValueError),
            (np.full((2, 2, 1), 0.25), ValueError),
            ([0.5, 0.5, 0.5, 0.5], ValueError),
            ([1.5, -0.5, 0, 0], ValueError),
            ([1, np.nan, 0, 0], ValueError),
            (["a", "b", "c", "d"], TypeError),
        )
    ),
    *(
        (lambda cells, one=one: one.variance(10, cells), cells, ValueError, "cell_counts must")
        for one in (HADAMARD, LAPLACE)
        for cells in ([1] * 4, [-1, 11, 0, 0], [np.nan] * 4, [[5, 5]])
    ),
]


@pytest.mark.parametrize(("call", "value", "error", "match"), VALUES)
def test_values(call, value, error, match):
    with pytest.raises(error, match=match):
        call(value)


@pytest.mark.parametrize("kind", [*SEVERAL, *NOISY])
def test_reports_of_another_specification_type_or_shape(kind):
    randomizer, other = kind(1.0, 5), kind(2.0, 5)
    reports = other.randomize([0, 1])
    with pytest.raises(ValueError, match="another specification"):
        randomizer.aggregate(reports, specification=other.specification)
    other.aggregate(reports, specification=other.specification)
    with pytest.raises(TypeError, match="another specification"):
        randomizer.aggregate(reports.astype(np.float32))
    with pytest.raises(ValueError, match="reports must have shape"):
        randomizer.aggregate(reports[..., None])
    with pytest.raises(ValueError, match="reports must have shape"):
        randomizer.aggregate(reports[()][0] if reports.ndim > 1 else np.array(reports[0]))


@pytest.mark.parametrize("kind", [*SEVERAL, ColumnRandomizer])
def test_counts_that_cannot_be(kind):
    randomizer = kind(1.0, 5)
    categories = zeros(7, 1) if kind is ColumnRandomizer else zeros(7)
    counts = randomizer.aggregate(randomizer.randomize(categories, random_state=1))
    randomizer.estimate(counts, 7)
    for ask in (randomizer.estimate, randomizer.estimate_cells):
        for wrong, n in ((counts, 0), (counts - 100, 7), (counts + 100, 7)):
            with pytest.raises(ValueError, match="cannot come from n reports"):
                ask(wrong, n)
        for wrong in (counts[1:] if counts.ndim == 1 else counts[:, 1:], counts.astype(float)):
            with pytest.raises(ValueError, match="counts must be the integers"):
                ask(wrong, 7)
        with pytest.raises(ValueError, match="n must be at least 0"):
            ask(counts, -1)


GOOD = {
    "mechanism": "hadamard",
    "epsilon": "1/2",
    "n_cells": 12,
    "n_labels": 2,
    "n_blocks": 1,
    "signed": True,
}
CHANGES = [
    *({"mechanism": name} for name in ("laplace", "auto", ["hadamard"])),
    *({"epsilon": text} for text in (0.5, "0.5", "2/4", "1e999999999", "1/0", "-1", "0")),
    *({"n_cells": number} for number in (12.0, True, "12", 0, 2**40)),
    *({"n_labels": number} for number in (1, None)),
    *({"n_blocks": number} for number in (3, None)),
    *({name: 1} for name in ("surplus", 1, "self")),
]


@pytest.mark.parametrize(
    "description",
    [
        *(GOOD | change for change in CHANGES),
        *({key: value for key, value in GOOD.items() if key != missing} for missing in GOOD),
        *(None, 3, "hadamard", [("mechanism", "krr")]),
    ],
    ids=str,
)
def test_descriptions(description):
    randomizer_from_dict(GOOD)
    with pytest.raises(ValueError, match="does not describe a randomizer"):
        randomizer_from_dict(description)
