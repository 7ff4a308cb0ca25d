# SPDX-License-Identifier: BSD-3-Clause
"""Refuse a Python or a scikit-learn that is too old in one line, before an import fails inside.

An installer refuses them too, unless its checks are switched off, or scikit-learn is replaced later.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

#: The same versions as in pyproject.toml.
OLDEST_PYTHON = (3, 11)
OLDEST_SCIKIT_LEARN = (1, 6)


def check_python(found: tuple[int, ...]) -> None:
    """Raise ImportError for a version of Python that is too old."""
    if found[:2] < OLDEST_PYTHON:
        raise ImportError(_refusal("Python", OLDEST_PYTHON, ".".join(map(str, found[:3]))))


def check_scikit_learn() -> None:
    """Raise ImportError for a scikit-learn that is too old. Without scikit-learn, clients still work.

    Its version is read from the file, since an import takes a second. Metadata of an installation take ten
    times as long to find as the file itself, and may belong to another installation.
    """
    spec = importlib.util.find_spec("sklearn")
    if spec is None or spec.origin is None:
        return
    try:
        text = Path(spec.origin).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):  # imported from an archive
        return
    found = re.search(r'^__version__ = "((\d+)\.(\d+)[^"]*)"', text, re.MULTILINE)
    if found and (int(found[2]), int(found[3])) < OLDEST_SCIKIT_LEARN:
        raise ImportError(_refusal("scikit-learn", OLDEST_SCIKIT_LEARN, found[1]))


def _refusal(name: str, oldest: tuple[int, int], found: str) -> str:
    return f"skprivate needs {name} {oldest[0]}.{oldest[1]} or newer, and this is {name} {found}."


check_python(sys.version_info[:3])
check_scikit_learn()
