# SPDX-License-Identifier: BSD-3-Clause
"""Compile the kernels for other machines with zig, and run the loops of their `.pxd` in emulators.

``make cross`` runs it; a target without an emulator is only compiled. Objects only: modules are linked and
imported on the workflows' own machines. Python's headers are those of this machine, but for `pyconfig.h`,
which Python's build writes for one machine: a short one takes the sizes of types from the compiler. That is
enough to compile against, and proves nothing of how Python is built there.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ZIG = f"{shlex.quote(sys.executable)} -m ziglang cc"
# A command that runs a program of the target; None where there is none.
TARGETS = {
    "aarch64-linux-musl": "qemu-aarch64-static",
    "x86_64-windows-gnu": "wine",
    "aarch64-macos": None,
    "wasm32-wasi": None,
}
# What setup.py says too. Cython's code compares and declares more than it needs to on a machine of 32 bits.
FLAGS = ["-O3", "-g0", "-ffp-contract=off", "-Wall", "-Werror", "-Wno-unused-function"]
TESTS = (
    "tests/collaborative/local_average/test_smooth_kernels.py",
    "tests/rounds/plans/test_moment_kernels.py",
)
PYCONFIG = """
#define SIZEOF_SHORT __SIZEOF_SHORT__
#define SIZEOF_INT __SIZEOF_INT__
#define SIZEOF_LONG __SIZEOF_LONG__
#define SIZEOF_LONG_LONG __SIZEOF_LONG_LONG__
#define SIZEOF_VOID_P __SIZEOF_POINTER__
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_WCHAR_T __SIZEOF_WCHAR_T__
#define SIZEOF_FLOAT __SIZEOF_FLOAT__
#define SIZEOF_DOUBLE __SIZEOF_DOUBLE__
#define ALIGNOF_LONG __SIZEOF_LONG__
#define ALIGNOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_TIME_T 8
#define HAVE_SSIZE_T 1
#define HAVE_SYS_STAT_H 1
#define WITH_DOC_STRINGS 1
#ifdef _WIN32
#define MS_WINDOWS
#define MS_WIN64
#define NT_THREADS
#define HAVE_DECLSPEC_DLL
#define Py_ENABLE_SHARED
#elif defined(__wasi__)
#define HAVE_PTHREAD_STUBS 1
#else
#define HAVE_PTHREAD_H 1
#define HAVE_SYS_TIME_H 1
#endif
"""


def make_headers(folder: Path) -> None:
    """Copy Python's headers: the others include `pyconfig.h` from their own folder."""
    shutil.copytree(sysconfig.get_path("include"), folder, dirs_exist_ok=True)
    (folder / "pyconfig.h").write_text(PYCONFIG, encoding="utf-8")


def compile_kernels(target: str, headers: Path, objects: Path) -> list[str]:
    """Return the names of the kernels that do not compile; the compiler has said why."""
    failed = []
    for source in sorted((ROOT / "build" / "c").rglob("*.c")):
        command = [*shlex.split(ZIG), "-target", target, *FLAGS, "-isystem", str(headers), "-c", str(source)]
        if subprocess.run([*command, "-o", str(objects / f"{source.stem}.o")], check=False).returncode:
            failed.append(source.stem)
    return failed


def run_loops(target: str, runner: str) -> bool:
    """Return whether the loops compute what NumPy does, in an emulator."""
    # wine writes what it lacks to standard error.
    environment = {"CC": f"{ZIG} -target {target}", "RUNNER": runner, "WINEDEBUG": "-all"}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--rootdir", str(ROOT), *TESTS]
    return not subprocess.run(command, env=os.environ | environment, cwd=ROOT, check=False).returncode


def main(targets: list[str]) -> bool:
    """Return whether all compile, and the loops compute the same."""
    good = True
    with tempfile.TemporaryDirectory() as name:
        headers = Path(name) / "include"
        make_headers(headers)
        for target in targets or TARGETS:
            failed = compile_kernels(target, headers, Path(name))
            print(
                f"{target}: {'do not compile: ' + ', '.join(failed) if failed else 'all compile'}", flush=True
            )
            runner = TARGETS[target]
            ran = bool(runner and shutil.which(runner))
            passed = run_loops(target, str(runner)) if ran else True
            print(
                f"{target}: the loops {('passed' if passed else 'FAILED') if ran else 'were not run'}",
                flush=True,
            )
            good = good and not failed and passed
    return good


if __name__ == "__main__":
    sys.exit(not main(sys.argv[1:]))
