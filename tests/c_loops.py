# SPDX-License-Identifier: BSD-3-Clause
"""Programs around the C loops of a `.pxd`, compiled for each width of vectors by a compiler of choice.

``CC`` names the compiler, and ``RUNNER`` a command that runs what it makes, if this machine does not:
`.ci/cross_compile.py` sets both.
"""

import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import skprivate

COMPILER = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
RUNNER = shlex.split(os.environ.get("RUNNER", ""))
# What setup.py says too; -Wall, because these loops are compiled nowhere else without Cython's warnings off.
FLAGS = ["-O3", "-ffp-contract=off", "-Wall", "-Werror"]
#: One value, two values, and what the compiler chooses: vectors as wide as the processor's.
WIDTHS = ("-DSKP_WIDTH=1", "-DSKP_WIDTH=2", "-USKP_WIDTH")


def read_loops(name: str) -> str:
    """Return the C code of a `.pxd` of the package."""
    text = (Path(skprivate.__file__).parent / name).read_text(encoding="utf-8")
    found = re.search(r'r"""\n(.*?)"""', text, re.DOTALL)
    assert found is not None
    return found.group(1)


def compile_program(source: str, width: str, folder: Path) -> None:
    """Compile a program that reads a file of float64 and writes another; skip where nothing compiles."""
    if not shutil.which(COMPILER[0]):
        pytest.skip("no C compiler")
    (folder / "main.c").write_text(source, encoding="utf-8")
    # Windows runs nothing without a suffix.
    command = [*COMPILER, *FLAGS, width, "main.c", "-o", "main.exe", "-lm"]
    subprocess.run(command, cwd=folder, check=True)


def run_program(folder: Path, case: bytes) -> np.ndarray:
    """Return what a compiled program writes."""
    (folder / "case").write_bytes(case)
    subprocess.run([*RUNNER, str(folder / "main.exe"), "case", "answer"], cwd=folder, check=True)
    return np.fromfile(folder / "answer")
