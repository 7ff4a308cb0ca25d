# SPDX-License-Identifier: BSD-3-Clause
"""Every reader of the package on damaged documents: clean errors, little processor time and memory.

``SKPRIVATE_FUZZ_INPUTS`` is the number of inputs of each parser (default 100000), and
``SKPRIVATE_FUZZ_PARSERS`` names those that are tried, between commas (default: all).
"""

import gc
import multiprocessing
import os
from pathlib import Path
from typing import Any

from ._parsers import all_parsers, fuzz, quick_folder

INPUTS = int(os.environ.get("SKPRIVATE_FUZZ_INPUTS", "100000"))
CHOSEN = os.environ.get("SKPRIVATE_FUZZ_PARSERS", "")
_WARM = 50


def run() -> None:
    header = "parser", "inputs", "accepted", "clean errors", "others", "slowest CPU / s", "memory / MB"
    print("{:<20}{:>9}{:>10}{:>14}{:>8}{:>17}{:>13}".format(*header))
    with quick_folder() as folder:
        for number, parser in enumerate(all_parsers(folder)):
            if not CHOSEN or parser.name in CHOSEN.split(","):
                _in_a_process(folder, number)


def _in_a_process(folder: Path, number: int) -> None:
    """Run one parser where the largest memory is its own."""
    process: Any = multiprocessing.get_context("spawn").Process(target=_measure, args=(folder, number))
    process.start()
    process.join()


def _memory(name: str) -> float:
    """Return a number of megabytes that Linux tells of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (value,) = (line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return int(value) / 1024


def _measure(folder: Path, number: int) -> None:
    os.makedirs(own := folder / str(number))
    parser = all_parsers(own)[number]
    fuzz(parser, _WARM, seed=1)  # imports, caches
    # What is there now is not looked through again: a collection of it would count as time of an input.
    gc.collect()
    gc.freeze()
    before = _memory("VmRSS")
    # Linux: the largest is that since now.
    Path("/proc/self/clear_refs").write_text("5")
    found = fuzz(parser, INPUTS)
    grown = _memory("VmHWM") - before
    others = sum(found.others.values())
    line = f"{parser.name:<20}{found.inputs:>9}{found.accepted:>10}{found.clean:>14}{others:>8}"
    print(f"{line}{found.slowest:>17.3f}{grown:>13.1f}", flush=True)
    for kind, count in found.others.most_common(10):
        print(f"    {count} of {kind[:300]}", flush=True)
