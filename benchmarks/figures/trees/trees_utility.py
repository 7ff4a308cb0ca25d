# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy, log loss and AUC of private trees beside base rates, models of public rows alone, and peers.

``python -m benchmarks.figures.trees.trees_utility --help`` lists the options: parts of the comparison, a file
that keeps the records and from which an interrupted run goes on, and the comparison of two such files, as two
checkouts wrote them. N_JOBS processes work at it; DIFFPRIVLIB_PYTHON is a Python that has diffprivlib.
"""

from collections.abc import Sequence

from ..._utility.command import Comparison
from ..._utility.methods import TREES
from ..._utility.report import print_tables

SETTINGS = ("500", "50", "0", "500 permuted")
DATA = (
    *("census", "diabetes", "cancer", "digits", "linear50k", "friedman100k", "drift10k", "skewed20k"),
    "binary20k",
)


def run(arguments: Sequence[str] = ()) -> None:
    """Print all tables, or what the options ask for."""
    Comparison("figures.trees.trees_utility", DATA, TREES, print_tables, SETTINGS).run(arguments)


if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
