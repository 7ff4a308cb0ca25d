# SPDX-License-Identifier: BSD-3-Clause
"""The command that runs a comparison: its options, the records that it keeps, and the fits still to do."""

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path

from joblib import Parallel, delayed

from .comparison import print_comparison
from .data import SETTINGS, differs
from .methods import chosen_methods
from .scores import Records, Task
from .sources import NAMES, missing

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
N_SPLITS = 10


@dataclass(frozen=True)
class Comparison:
    """A benchmark: its name for users, data sets, methods, what it prints of the records, and defaults."""

    name: str
    data: tuple[str, ...]
    methods: tuple[str, ...]
    show: Callable[[Records], None]
    settings: tuple[str, ...] = tuple(SETTINGS)
    epsilons: tuple[float, ...] = EPSILONS
    n_splits: int = N_SPLITS

    def run(self, arguments: Sequence[str] = ()) -> None:
        """Print all tables, or what the options ask for."""
        options = self._parser().parse_args(arguments)
        if options.compare:
            print_comparison(*(Records(path) for path in options.compare))
            return
        records = Records(options.out)
        tasks = [task for task in self._tasks(options, records) if task.epsilons]
        pool = Parallel(n_jobs=int(os.environ.get("N_JOBS", "1")), return_as="generator_unordered")
        for found in pool(delayed(methodcaller("run"))(task) for task in tasks):
            records.add(found)
        self.show(records)

    def _tasks(self, options: argparse.Namespace, records: Records) -> Iterator[Task]:
        methods = {
            name: method
            for name, method in chosen_methods(self.methods).items()
            if (not options.methods or any(part in name for part in options.methods))
            and not any(part in name for part in options.without)
        }
        if not methods:
            return
        gone = missing(options.data)
        if gone:
            print("Left out, for their files are not here: " + ", ".join(gone))
        for data in (name for name in options.data if name not in gone):
            for split in range(options.first, options.splits):
                for setting in (s for s in options.public if differs(data, s)):
                    for name, method in methods.items():
                        if method.runs_at(setting):
                            epsilons = method.epsilons(options.epsilons)
                            yield records.missing(data, setting, split, name, epsilons)

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{self.name}")
        add = parser.add_argument
        add("--data", nargs="+", choices=NAMES, default=self.data, help="data sets (default: all)")
        add("--public", nargs="+", choices=SETTINGS, default=self.settings, help="public rows")
        add("--methods", nargs="+", default=(), help="parts of names, such as 'central' or 'forest'")
        add("--without", nargs="+", default=(), help="parts of names that are left out")
        add("--epsilons", nargs="+", type=float, default=self.epsilons)
        add("--splits", type=int, default=self.n_splits, help=f"number of splits (default: {self.n_splits})")
        add("--first", type=int, default=0, help="the first of them (default: 0)")
        add("--out", type=Path, help="lines of JSON; what they hold is not done again")
        paths = {"nargs": 2, "type": Path, "metavar": ("OLD", "NEW")}
        add("--compare", **paths, help="print two such files side by side")  # type: ignore[arg-type]
        return parser
