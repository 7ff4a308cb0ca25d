#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that a tag is the package's version, and print the section of the changelog for it, in Markdown.

Run ``python .ci/release.py v1.2.3``. It needs nothing installed.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def version() -> str:
    """Return the version that skprivate/_version.py states."""
    text = (ROOT / "skprivate" / "_version.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    return found[1] if found else sys.exit("skprivate/_version.py states no version")


def section(changelog: str, release: str) -> str:
    """Return what the changelog says of a release; empty if it has no such heading."""
    parts = re.split(r"^(\S+)\n-{3,}\n", changelog, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(release, "").strip()


def to_markdown(text: str) -> str:
    """Return text of our changelog as Markdown: headings, and roles without their names."""
    text = re.sub(r"^(.+)\n~{3,}$", r"### \1", text, flags=re.MULTILINE)
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)


def main(tag: str) -> None:
    """Print the notes of the release that a tag names, or exit with one line that says what is wrong."""
    if not re.fullmatch(r"v\d+\.\d+\.\d+", tag):
        sys.exit(f"The tag is {tag}; a release has a tag such as v1.2.3.")
    if tag != f"v{version()}":
        sys.exit(f"The tag is {tag}, and the version in skprivate/_version.py is {version()}.")
    notes = section((ROOT / "doc" / "whats_new.rst").read_text(encoding="utf-8"), version())
    if not notes:
        sys.exit(f"doc/whats_new.rst says nothing under a heading {version()}.")
    print(to_markdown(notes))


if __name__ == "__main__":
    main(*sys.argv[1:])
