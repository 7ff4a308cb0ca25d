# SPDX-License-Identifier: BSD-3-Clause
"""Errors, processor time and memory of every reader of the package on damaged documents."""

import gc
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from ..._memory import forget_peak, process_megabytes
from ..._tables import Table
from ._parsers import Outcome, all_parsers, fuzz, quick_folder

INPUTS = {False: 100_000, True: 50}
_WARM = 50


def run(*, small: bool = False) -> None:
    """Print a row for every reader; a small run has the first of them, in this process."""
    table = Table(
        *(("parser", "<20"), ("inputs", ">8"), ("accepted", ">9"), ("clean errors", ">13"), ("others", ">7")),
        *(("slowest CPU / s", ">16.3f"), ("memory / MB", ">12.1f")),
    )
    measure, n_parsers = (_measure, 1) if small else (_in_a_process, None)
    with quick_folder() as folder:
        for number, parser in enumerate(all_parsers(folder)[:n_parsers]):
            found, grown = measure(folder, number, INPUTS[small])
            others = sum(found.others.values())
            table.row(parser.name, found.inputs, found.accepted, found.clean, others, found.slowest, grown)
            for kind, count in found.others.most_common(10):
                print(f"    {count} of {kind[:300]}", flush=True)


def _in_a_process(folder: Path, number: int, n_inputs: int) -> tuple[Outcome, float]:
    """Run one parser where the largest memory is its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measure, folder, number, n_inputs).result()


def _measure(folder: Path, number: int, n_inputs: int) -> tuple[Outcome, float]:
    """Return what the inputs did, and the megabytes that they took."""
    own = folder / str(number)
    own.mkdir()
    parser = all_parsers(own)[number]
    fuzz(parser, _WARM, seed=1)  # imports, caches
    # What is there now is not looked through again: a collection of it would count as time of an input.
    gc.collect()
    gc.freeze()
    before = process_megabytes("VmRSS")
    forget_peak()
    found = fuzz(parser, n_inputs)
    return found, process_megabytes("VmHWM") - before
