# SPDX-License-Identifier: BSD-3-Clause
"""Extension modules; everything else is in pyproject.toml."""

import os
import sys
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

DEBUG = os.environ.get("SKPRIVATE_DEBUG_KERNELS", "0") == "1"
SHARED = "skprivate._cyutility"
# Generated C files; those of a debugging build hold other code.
GENERATED = "build/debug" if DEBUG else "build/c"


def flags(level: str) -> list[str]:
    # Debugging information takes a fifth of the compiler's time.
    usual = ["-O2", "-g"] if DEBUG else [level, "-g0"]
    # A contracted product would round a row differently in a lane and in a remainder.
    return [] if os.name == "nt" else [*usual, "-ffp-contract=off"]


class BuildKernels(build_ext):
    """Compile on all cores; an editable installation compiles what has changed."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()
        if self.editable_mode:
            # pip's own folder is a new one each time, so that nothing in it could be newer than its source.
            tags = f"{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
            self.build_lib = self.build_temp = f"{GENERATED}-{tags}"


def kernel(name: str, path: Path, level: str) -> Extension:
    return Extension(name, [path.as_posix()], depends=["setup.py"], extra_compile_args=flags(level))


def kernels() -> list[Extension]:
    extensions = [
        kernel(".".join(path.with_suffix("").parts), path, "-O3")
        for path in sorted(Path("skprivate").rglob("*_kernels.pyx"))
    ]
    # It makes and releases views, and loops over nothing: -O3 takes three times as long and gains nothing.
    shared = kernel(SHARED, Path("skprivate/_cyutility.c"), "-O1")
    return cythonize(
        [*extensions, shared],
        build_dir=GENERATED,
        nthreads=min(len(extensions), os.cpu_count() or 1),
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


# Cython's worker processes import this file again where they are not forked.
if __name__ == "__main__":
    setup(ext_modules=kernels(), cmdclass={"build_ext": BuildKernels})
