# SPDX-License-Identifier: BSD-3-Clause
"""Memory: the peak of what Python and NumPy allocate in a call, and what Linux counts for this process."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path


def peak_bytes(task: Callable[[], object]) -> int:
    """Return the most memory that one call allocates beyond what is there."""
    tracemalloc.start()
    try:
        task()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def process_megabytes(name: str) -> float:
    """Return a figure of /proc/self/status: "VmRSS", the memory now, or "VmHWM", its peak; Linux only."""
    # Not getrusage: a child's figure starts at that of its parent.
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (value,) = (line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return int(value) / 1024


def forget_peak() -> None:
    """Let "VmHWM" count from now on; Linux only."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
