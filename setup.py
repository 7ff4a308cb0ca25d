# SPDX-License-Identifier: BSD-3-Clause
"""Extension modules; everything else is in pyproject.toml."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("SKPRIVATE_DEBUG_KERNELS", "0") == "1"
SHARED = "skprivate._cyutility"
# A contracted product would round a row differently in a lane and in a remainder.
FLAGS = [] if os.name == "nt" else ["-O2" if DEBUG else "-O3", "-ffp-contract=off"]

extensions = [
    Extension(".".join(path.with_suffix("").parts), [path.as_posix()], extra_compile_args=FLAGS)
    for path in sorted(Path("skprivate").rglob("*_kernels.pyx"))
]

setup(
    ext_modules=cythonize(
        [*extensions, Extension(SHARED, ["skprivate/_cyutility.c"], extra_compile_args=FLAGS)],
        shared_utility_qualified_name=SHARED,
        compiler_directives={
            "language_level": 3,
            "boundscheck": DEBUG,
            "wraparound": False,
            "initializedcheck": False,
            "nonecheck": False,
            "cdivision": True,
            "freethreading_compatible": True,
        },
    )
)
