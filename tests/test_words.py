# SPDX-License-Identifier: BSD-3-Clause
"""Words that the glossary retired are in no page, docstring, comment or message."""

import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parent.parent
GLOSSARY = (ROOT / "doc/glossary.rst").read_text(encoding="utf-8")
RETIRED = re.findall(r"^``(.+?)``", GLOSSARY.partition(".. _retired-words:")[2], re.M)
WORDS = re.compile(rf"\b(?:{'|'.join(map(re.escape, RETIRED))})\b", re.I)
MADE = {"_build", "auto_examples", "generated"}
FILES = [
    *ROOT.glob("*.md"),
    *(path for path in (ROOT / "doc").rglob("*.rst") if not MADE & set(path.parts)),
    *(ROOT / "examples").glob("*.py"),
    *(path for path in (ROOT / "skprivate").rglob("*") if path.suffix in (".py", ".pyx")),
]
# Names: code, links, fields of records, a title, and the parameter of stress columns: physical laws.
NAMES = re.compile(
    r"``[^`]+``|`[^`]+`|\{[^{}]*\}|^\.\. _.*|^ *(>>>|\.\.\.) .*|^ *\w+ : .*"
    r"|law of succession|(its|physical|of) law|law must|\"law\"",
    re.M,
)


def prose_of(path):
    """Return a page, or the comments and texts of a module, without names."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        prose = {"COMMENT", "STRING", "FSTRING_MIDDLE"}
        text = "\n".join(token.string for token in tokens if tokenize.tok_name[token.type] in prose)
    return NAMES.sub("", text)


def test_no_retired_word_is_used():
    assert len(RETIRED) >= 12
    found = [(str(path.relative_to(ROOT)), word) for path in FILES for word in WORDS.findall(prose_of(path))]
    assert found == []
