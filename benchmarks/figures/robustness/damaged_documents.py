# SPDX-License-Identifier: BSD-3-Clause
"""Errors, processor time and memory of every reader of the package on damaged documents.

``SKPRIVATE_FUZZ_INPUTS`` is the number of inputs of each parser (default 100000), and
``SKPRIVATE_FUZZ_PARSERS`` names those that are tried, between commas (default: all).
"""

import gc
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from ..._memory import forget_peak, process_megabytes
from ..._tables import Table
from ._parsers import Outcome, all_parsers, fuzz, quick_folder

INPUTS = int(os.environ.get("SKPRIVATE_FUZZ_INPUTS", "100000"))
CHOSEN = os.environ.get("SKPRIVATE_FUZZ_PARSERS", "")
_WARM = 50


def run() -> None:
    table = Table(
        *(("parser", "<20"), ("inputs", ">8"), ("accepted", ">9"), ("clean errors", ">13"), ("others", ">7")),
        *(("slowest CPU / s", ">16.3f"), ("memory / MB", ">12.1f")),
    )
    with quick_folder() as folder:
        for number, parser in enumerate(all_parsers(folder)):
            if not CHOSEN or parser.name in CHOSEN.split(","):
                found, grown = _in_a_process(folder, number)
                others = sum(found.others.values())
                cells = (found.inputs, found.accepted, found.clean, others, found.slowest, grown)
                table.row(parser.name, *cells)
                for kind, count in found.others.most_common(10):
                    print(f"    {count} of {kind[:300]}", flush=True)


def _in_a_process(folder: Path, number: int) -> tuple[Outcome, float]:
    """Run one parser where the largest memory is its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measure, folder, number).result()


def _measure(folder: Path, number: int) -> tuple[Outcome, float]:
    """Return what the inputs did, and the megabytes that they took."""
    os.makedirs(own := folder / str(number))
    parser = all_parsers(own)[number]
    fuzz(parser, _WARM, seed=1)  # imports, caches
    # What is there now is not looked through again: a collection of it would count as time of an input.
    gc.collect()
    gc.freeze()
    before = process_megabytes("VmRSS")
    forget_peak()
    found = fuzz(parser, INPUTS)
    return found, process_megabytes("VmHWM") - before
