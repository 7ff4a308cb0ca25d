# SPDX-License-Identifier: BSD-3-Clause
"""Local randomizers: one client's report, the curator's aggregation, unbiased estimates.

A client needs numpy only: nothing here imports scikit-learn or SciPy.
"""

from ._column import ColumnRandomizer
from ._factory import make_randomizer, randomizer_from_dict
from ._interface import LocalRandomizer
from ._laplace import LaplaceRandomizer, SignedLaplaceRandomizer
from ._response import HadamardRandomizer, KRRRandomizer, LabelRandomizer, SubsetRandomizer, UnaryRandomizer

__all__ = [
    "ColumnRandomizer",
    "HadamardRandomizer",
    "KRRRandomizer",
    "LabelRandomizer",
    "LaplaceRandomizer",
    "LocalRandomizer",
    "SignedLaplaceRandomizer",
    "SubsetRandomizer",
    "UnaryRandomizer",
    "make_randomizer",
    "randomizer_from_dict",
]
