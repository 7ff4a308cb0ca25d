# SPDX-License-Identifier: BSD-3-Clause
"""Say what a wheel lacks or holds too much of: ``python .ci/check_wheel.py WHEEL ...``."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
COMPILED = {".so", ".pyd"}
# About twice what the largest one takes, in bytes: debugging symbols alone would be more.
LARGEST = 2_500_000


def expected() -> Iterator[str]:
    """Yield the files of the source tree that each wheel holds as they are."""
    for pattern in ("*.py", "*.pyi", "*.pxd", "*.schema.json", "py.typed"):
        for path in (ROOT / "skprivate").rglob(pattern):
            yield path.relative_to(ROOT).as_posix()


def kernels() -> set[str]:
    """Return the compiled modules, without the suffixes that name a Python and a machine."""
    found = {path.relative_to(ROOT).with_suffix("").as_posix() for path in ROOT.rglob("skprivate/**/*.pyx")}
    return found | {"skprivate/_cyutility"}


def declared_version() -> str:
    """Return the version that the package says it has."""
    text = (ROOT / "skprivate" / "_version.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.*)"$', text, re.MULTILINE)[1]


def faults(wheel: Path) -> Iterator[str]:
    """Yield what is wrong with a wheel, repaired or not."""
    with ZipFile(wheel) as archive:
        # auditwheel adds the folders.
        names = {name for name in archive.namelist() if name[-1] != "/"}
        about = f"skprivate-{declared_version()}.dist-info/"
        described = archive.read(f"{about}METADATA").decode() if f"{about}METADATA" in names else ""
    names = {name for name in names if not name.startswith(about)}
    compiled = {name for name in names if PurePosixPath(name).suffix in COMPILED}
    found = {str(PurePosixPath(name).parent / name.split("/")[-1].split(".")[0]) for name in compiled}
    yield from (f"lacks {name}" for name in sorted(set(expected()) - names))
    yield from (f"holds {name}" for name in sorted(names - compiled - set(expected())))
    yield from (f"lacks the kernel {name}" for name in sorted(kernels() - found))
    yield from (f"holds the kernel {name}" for name in sorted(found - kernels()))
    if f"\nName: skprivate\nVersion: {declared_version()}\n" not in described:
        yield "says another name or version of itself"
    if wheel.stat().st_size > LARGEST:
        yield f"is larger than {LARGEST:,} bytes"


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    found = [f"{wheel} {fault}" for wheel in sys.argv[1:] for fault in faults(Path(wheel))]
    sys.exit("\n".join(found) or None)
