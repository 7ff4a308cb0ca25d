# SPDX-License-Identifier: BSD-3-Clause
"""Boosting, logistic regression and label privacy beside trees, models of public rows, and peers.

``python -m benchmarks.figures.additive --help`` lists the options, those of ``trees_utility``. Scores are
accuracy, AUC and log loss, or R2 and the root mean squared error, and the seconds of a fit; then the paired
differences of ours from every other method. Schedules were chosen on census, linear50k, friedman100k,
diabetes, rice and cancer; the other tables are new to them. On Adult a published figure is an error of
17.1 % at epsilon .54 (arXiv 2309.12041).
"""

from collections.abc import Sequence

from .._utility.command import Comparison
from .._utility.methods import ADDITIVE
from .._utility.pairs import print_differences
from .._utility.report import print_tables
from .._utility.scores import Records

DATA = (
    *("adult", "census", "linear50k", "cancer", "rice", "diabetes", "friedman100k"),
    *("skewed20k", "binary20k", "rare50k", "waveform20k", "digits", "warfarin", "curve20k"),
)


def show(records: Records) -> None:
    """Print scores, then differences."""
    print_tables(records)
    print_differences(records)


def run(arguments: Sequence[str] = ()) -> None:
    """Print all tables, or what the options ask for."""
    Comparison("figures.additive", DATA, ADDITIVE, show).run(arguments)


if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
