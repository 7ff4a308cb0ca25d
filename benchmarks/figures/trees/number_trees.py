# SPDX-License-Identifier: BSD-3-Clause
"""R2 of private trees of numbers beside private peers, models of public rows alone, and no privacy.

friedman50k: ten columns, noise 1; warfarin: doses of 5,527 patients; steps20k: nine boxes in two of five
columns; tail20k: a log-normal cost, bounds ten times too wide; holes20k: levels, missing cells. Splits are
the same for all methods, and noise is drawn anew.
"""

from ..._utility.comparison import compare, print_differences, print_tables
from ..._utility.methods import NUMBER_TREES, NUMBERS

DATA = ("friedman50k", "warfarin", "steps20k", "tail20k", "holes20k")
SETTINGS = ("500", "0")
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)


def run(seeds: int = 4, *, small: bool = False) -> None:
    """Print scores and the coverage of the leaves' intervals, then differences."""
    found = compare(DATA[-1:] if small else DATA, NUMBERS, SETTINGS, seeds, EPSILONS, small)
    print_tables(found)
    print_differences(found, NUMBER_TREES)
