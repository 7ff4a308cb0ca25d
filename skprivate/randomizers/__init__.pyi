# SPDX-License-Identifier: BSD-3-Clause
"""Names of `skprivate.randomizers` and their modules."""

from ._column import ColumnRandomizer as ColumnRandomizer
from ._factory import make_randomizer as make_randomizer
from ._factory import randomizer_from_dict as randomizer_from_dict
from ._interface import LocalRandomizer as LocalRandomizer
from ._laplace import LaplaceRandomizer as LaplaceRandomizer
from ._laplace import SignedLaplaceRandomizer as SignedLaplaceRandomizer
from ._response import HadamardRandomizer as HadamardRandomizer
from ._response import KRRRandomizer as KRRRandomizer
from ._response import LabelRandomizer as LabelRandomizer
from ._response import SubsetRandomizer as SubsetRandomizer
from ._response import UnaryRandomizer as UnaryRandomizer

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
