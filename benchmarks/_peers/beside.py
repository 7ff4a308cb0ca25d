# SPDX-License-Identifier: BSD-3-Clause
"""Start of the comparison with diffprivlib in its environment: it needs an older scikit-learn."""

import os
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def beside(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str] | None:
    """Run `benchmarks._peers.diffprivlib` in its environment; None, and a line, where there is none."""
    python = os.environ.get("DIFFPRIVLIB_PYTHON")
    if not python:
        print("diffprivlib: set DIFFPRIVLIB_PYTHON to a Python that has it (make bench does)")
        return None
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [python, "-W", "ignore", "-m", "benchmarks._peers.diffprivlib", *arguments]
    found = subprocess.run(command, env=environment, cwd=ROOT, text=True, check=False, **options)
    if found.returncode:
        print(f"diffprivlib did not run with {python}: {(found.stderr or '').strip().splitlines()[-1:]}")
        return None
    return found
