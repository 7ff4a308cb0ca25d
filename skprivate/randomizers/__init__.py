# SPDX-License-Identifier: BSD-3-Clause
"""Local randomizers: one client's report, the curator's aggregation, unbiased estimates.

A client needs numpy only: nothing here imports scikit-learn or SciPy.
"""

from ._base import LocalRandomizer
from ._bit_vectors import SubsetRandomizer, UnaryRandomizer
from ._column import ColumnRandomizer
from ._factory import make_randomizer, randomizer_from_dict
from ._hadamard import HadamardRandomizer
from ._krr import KRRRandomizer
from ._label import LabelRandomizer
from ._laplace import LaplaceRandomizer, SignedLaplaceRandomizer

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
