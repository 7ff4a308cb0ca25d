# SPDX-License-Identifier: BSD-3-Clause
"""The names that a page of the reference documents; it needs no Sphinx."""

import re

_MODULE = re.compile(r"\.\. currentmodule:: (\S+)")
_NAME = re.compile(r"   ([A-Za-z]\S*)")


def documented_names(page: str) -> list[str]:
    """Return the full names that the tables of a page (its text) document, in their order."""
    names, module = [], ""
    for line in page.splitlines():
        if found := _MODULE.fullmatch(line):
            module = found[1]
        elif found := _NAME.fullmatch(line):
            names.append(f"{module}.{found[1]}")
    return names
