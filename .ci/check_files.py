#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Say which of the named files do not parse, or hold conflict marks or white space at ends of lines."""

import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

PARSERS: dict[str, Callable[[str], object]] = {
    ".cff": yaml.safe_load,
    ".toml": tomllib.loads,
    ".yaml": yaml.safe_load,
    ".yml": yaml.safe_load,
}
MARKS = {
    "a conflict mark": re.compile(r"^(<{7}|>{7}) ", re.MULTILINE),
    "white space at the end of a line": re.compile(r"[ \t]+$", re.MULTILINE),
}


def faults(path: Path) -> Iterator[str]:
    """Yield what is wrong with a file, one line each."""
    text = path.read_text(encoding="utf-8")
    for name, mark in MARKS.items():
        if found := mark.search(text):
            yield f"{path}:{text.count(chr(10), 0, found.start()) + 1}: {name}"
    try:
        PARSERS.get(path.suffix, str)(text)
    except (yaml.YAMLError, tomllib.TOMLDecodeError) as error:
        yield f"{path}: {' '.join(str(error).split())}"


if __name__ == "__main__":
    found = [fault for name in sys.argv[1:] for fault in faults(Path(name))]
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
