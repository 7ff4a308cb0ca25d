# SPDX-License-Identifier: BSD-3-Clause
"""Boosting, logistic regression and label privacy beside trees, models of public rows, and peers.

Scores are accuracy, AUC and log loss, or R2 and the root mean squared error, and the seconds of a fit; then
the paired differences of ours from every other method. Schedules were chosen on census, linear50k,
friedman100k, diabetes, cancer and rice, which is not among these; the other tables are new to them. On Adult
a published figure is an error of 17.1 % at epsilon .54 (arXiv 2309.12041). DIFFPRIVLIB_PYTHON is a Python
that has diffprivlib.
"""

from .._utility.comparison import compare, print_differences, print_tables
from .._utility.data import SETTINGS
from .._utility.methods import ADDITIVE

DATA = (
    *("adult", "census", "linear50k", "cancer", "diabetes", "friedman100k"),
    *("skewed20k", "binary20k", "rare50k", "waveform20k", "digits", "warfarin", "curve20k"),
)
SMALL = ("rare50k", "curve20k")


def run(seeds: int = 10, *, small: bool = False) -> None:
    """Print scores, then differences."""
    settings = ("50", "0") if small else SETTINGS
    found = compare(SMALL if small else DATA, ADDITIVE, settings, seeds, small=small)
    print_tables(found)
    print_differences(found)
