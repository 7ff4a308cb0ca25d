# SPDX-License-Identifier: BSD-3-Clause
"""Memory of this process, as Linux counts it."""

from pathlib import Path


def process_megabytes(name: str) -> float:
    """Return a figure of /proc/self/status: "VmRSS", the memory now, or "VmHWM", its peak; Linux only."""
    # Not getrusage: a child's figure starts at that of its parent.
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (value,) = (line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return int(value) / 1024


def forget_peak() -> None:
    """Let "VmHWM" count from now on; Linux only."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
