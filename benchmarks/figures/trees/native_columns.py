# SPDX-License-Identifier: BSD-3-Clause
"""Private trees on columns as they are declared, against one-hot columns and codes, with their baselines.

"max-edge" takes columns as they are declared, "codes" takes levels for numbers in the order of declaration.
"""

from ..._utility.comparison import compare, print_differences, print_tables
from ..._utility.methods import BASE, CODED

DATA = ("levels8k", "diabetes with holes", "rare50k", "adult")
NATIVE = ("central, max-edge", "local, max-edge")
METHODS = (*NATIVE, *CODED, BASE, "tree, public rows", "boosting, public rows")
SETTINGS = ("500", "0")
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)


def run(seeds: int = 10, *, small: bool = False) -> None:
    """Print scores, then the differences of declared columns from the others."""
    found = compare(DATA[:1] if small else DATA, METHODS, SETTINGS, seeds, EPSILONS, small)
    print_tables(found)
    print_differences(found, NATIVE)
