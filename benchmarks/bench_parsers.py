# SPDX-License-Identifier: BSD-3-Clause
"""Every reader of the package on damaged documents: clean errors, within a second and little memory.

``SKPRIVATE_FUZZ_INPUTS`` is the number of inputs of each parser (default 100000).
"""

import gc
import multiprocessing
import os
from pathlib import Path
from typing import Any

from ._parsers import all_parsers, fuzz, quick_folder

INPUTS = int(os.environ.get("SKPRIVATE_FUZZ_INPUTS", "100000"))
_WARM = 50


def run() -> None:
    header = "parser", "inputs", "accepted", "clean errors", "others", "slowest / s", "memory / MB"
    print("{:<20}{:>9}{:>10}{:>14}{:>8}{:>13}{:>13}".format(*header))
    with quick_folder() as folder:
        for number in range(len(all_parsers(folder))):
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
    gc.collect()
    before = _memory("VmRSS")
    # Linux: the largest is that since now.
    Path("/proc/self/clear_refs").write_text("5")
    found = fuzz(parser, INPUTS)
    grown = _memory("VmHWM") - before
    others = sum(found.others.values())
    line = f"{parser.name:<20}{found.inputs:>9}{found.accepted:>10}{found.clean:>14}{others:>8}"
    print(f"{line}{found.slowest:>13.3f}{grown:>13.1f}", flush=True)
    for kind, count in found.others.most_common(10):
        print(f"    {count} of {kind[:300]}", flush=True)
