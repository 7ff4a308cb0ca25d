# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy, log loss and AUC of private trees beside base rates, models of public rows alone, and peers.

DIFFPRIVLIB_PYTHON is a Python that has diffprivlib.
"""

from ..._utility.comparison import compare, print_tables
from ..._utility.methods import TREES

SETTINGS = ("500", "50", "0", "500 permuted")
DATA = (
    *("census", "diabetes", "cancer", "digits", "linear50k", "friedman100k", "drift10k", "skewed20k"),
    "binary20k",
)


def run(seeds: int = 10, *, small: bool = False) -> None:
    """Print all tables."""
    data, settings = (("digits",), ("50", "0")) if small else (DATA, SETTINGS)
    print_tables(compare(data, TREES, settings, seeds, small=small))
