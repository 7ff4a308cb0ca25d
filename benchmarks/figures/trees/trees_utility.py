# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy, log loss and AUC of private trees beside base rates, models of public rows alone, and peers.

``python -m benchmarks.figures.trees.trees_utility --help`` lists the options: parts of the comparison, a file
that keeps the records and from which an interrupted run goes on, and the comparison of two such files, as two
checkouts wrote them. N_JOBS processes work at it; DIFFPRIVLIB_PYTHON is a Python that has diffprivlib.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from operator import methodcaller
from pathlib import Path

from joblib import Parallel, delayed

from ..._tree_utility.comparison import print_comparison
from ..._tree_utility.data import NAMES, SETTINGS
from ..._tree_utility.methods import chosen_methods
from ..._tree_utility.report import print_tables
from ..._tree_utility.scores import Records, Task

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
N_SPLITS = 10


def run(arguments: Sequence[str] = ()) -> None:
    """Print all tables, or what the options ask for."""
    options = _parser().parse_args(arguments)
    if options.compare:
        print_comparison(*(Records(path) for path in options.compare))
        return
    records = Records(options.out)
    tasks = [task for task in _tasks(options, records) if task.epsilons]
    pool = Parallel(n_jobs=int(os.environ.get("N_JOBS", "1")), return_as="generator_unordered")
    for found in pool(delayed(methodcaller("run"))(task) for task in tasks):
        records.add(found)
    print_tables(records)


def _tasks(options: argparse.Namespace, records: Records) -> Iterator[Task]:
    methods = {
        name: method
        for name, method in chosen_methods().items()
        if (not options.methods or any(part in name for part in options.methods))
        and not any(part in name for part in options.without)
    }
    for data in options.data:
        for split in range(options.first, options.splits):
            for setting in options.public:
                for name, method in methods.items():
                    if method.runs_at(setting):
                        epsilons = method.epsilons(options.epsilons)
                        yield records.missing(data, setting, split, name, epsilons)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures.trees.trees_utility")
    parser.add_argument("--data", nargs="+", choices=NAMES, default=NAMES, help="data sets (default: all)")
    parser.add_argument("--public", nargs="+", choices=SETTINGS, default=tuple(SETTINGS), help="public rows")
    parser.add_argument(
        "--methods", nargs="+", default=(), help="parts of names, such as 'central' or 'forest'"
    )
    parser.add_argument("--without", nargs="+", default=(), help="parts of names that are left out")
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--splits", type=int, default=N_SPLITS, help="number of splits (default: 10)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (default: 0)")
    parser.add_argument("--out", type=Path, help="lines of JSON; what they hold is not done again")
    parser.add_argument(
        *("--compare",), nargs=2, type=Path, metavar=("OLD", "NEW"), help="print two such files side by side"
    )
    return parser


if __name__ == "__main__":
    import sys

    run(sys.argv[1:])
