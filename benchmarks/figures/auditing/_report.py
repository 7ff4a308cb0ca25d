# SPDX-License-Identifier: BSD-3-Clause
"""The result of the battery on one estimator, as one line and a line for each check that failed."""

from collections import Counter
from typing import Any


def show(name: str, results: list[dict[str, Any]]) -> None:
    """Print how many checks passed, failed and were skipped, their seconds, and why they failed."""
    found = Counter(one["status"] for one in results)
    counts = ", ".join(f"{found[status]} {status}" for status in ("passed", "failed", "skipped"))
    print(f"{name}: {counts}, {sum(one['seconds'] for one in results):.1f} s", flush=True)
    for one in results:
        if one["status"] == "failed":
            print(f"  {one['check_name']}: {one['reason'][:160]}", flush=True)
