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


def compile_flags(family: str, name: str) -> list[str]:
    """Return what a family of compilers, as setuptools calls it, needs for one extension.

    A contracted product would round a row differently in a lane and in a remainder. MSVC contracts none since
    Visual Studio 2022: /fp:precise, its default, says so. Behind clang-cl, which setuptools does not look for
    but takes where it goes by cl.exe's name, CC says so; /fp:precise contracts there.
    """
    if family == "msvc":
        clang = "clang" in os.environ.get("CC", "")
        return ["/Od" if DEBUG else "/O2", "/fp:precise", *["/clang:-ffp-contract=off"] * clang]
    # It makes and releases views, and loops over nothing: -O3 is a third larger, -Os slower by 20 ns a call.
    level = "-O1" if name == SHARED else "-O3"
    # Debugging information takes a fifth of the compiler's time.
    return [*(["-O2", "-g"] if DEBUG else [level, "-g0"]), "-ffp-contract=off"]


def link_flags(family: str) -> list[str]:
    # Symbols that nothing looks up are a seventh of a library; Apple's linker has no such option any more.
    return [] if DEBUG or family == "msvc" or sys.platform == "darwin" else ["-Wl,-s"]


class BuildKernels(build_ext):
    """Compile on all cores; an editable installation compiles what has changed."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()
        if self.editable_mode:
            # pip's own folder is a new one each time, so that nothing in it could be newer than its source.
            tags = f"{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
            self.build_lib = self.build_temp = f"{GENERATED}-{tags}"

    def build_extensions(self) -> None:
        family = self.compiler.compiler_type
        for extension in self.extensions:
            extension.extra_compile_args = compile_flags(family, extension.name)
            extension.extra_link_args = link_flags(family)
        super().build_extensions()


def kernel(name: str, path: Path) -> Extension:
    return Extension(name, [path.as_posix()], depends=["setup.py"])


def kernels() -> list[Extension]:
    extensions = [
        kernel(".".join(path.with_suffix("").parts), path)
        for path in sorted(Path("skprivate").rglob("*_kernels.pyx"))
    ]
    shared = kernel(SHARED, Path("skprivate/_cyutility.c"))
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
