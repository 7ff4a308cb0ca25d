# SPDX-License-Identifier: BSD-3-Clause
"""Draws mutants: source files of the package in which one expression or statement is changed."""

import ast
import copy
import random
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
#: No behaviour that tests could see: tables of exported names, the demonstration.
_LEFT_OUT = ("__init__.py", "__main__.py", "_demo/")


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Attributes
    ----------
    path : str
        File below the package's folder.
    line : int
    old, new : str
        Text of the place before and after.
    source : str
        The whole changed file.
    """

    path: str
    line: int
    old: str
    new: str
    source: str

    @property
    def room(self) -> str:
        """First folder of the path; of a file beside the rooms, the file."""
        return Path(self.path).with_suffix("").parts[0]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {' '.join(self.old.split())} -> {' '.join(self.new.split())}"


def draw_mutants(
    package: Path, count: int, seed: int, rooms: Collection[str] = (), each: int = 0
) -> list[Mutant]:
    """Return mutants of files that are drawn by their number of places, at most one of a line.

    With `rooms`, of these alone; with `each`, at least so many of every room, whatever `count` is.
    """
    places = [place for path in _files(package) for place in _places(package, path)]
    random.Random(seed).shuffle(places)
    chosen = {(mutant.path, mutant.line): mutant for mutant in reversed(places)}
    ordered = [mutant for mutant in places if chosen[mutant.path, mutant.line] is mutant]
    drawn, seen, others = [], Counter[str](), []
    for mutant in ordered:
        if not rooms or mutant.room in rooms:
            seen[mutant.room] += 1
            (drawn if seen[mutant.room] <= each else others).append(mutant)
    return drawn + others[: max(count - len(drawn), 0)]


def _files(package: Path) -> list[Path]:
    paths = sorted(package.rglob("*.py"))
    return [p for p in paths if not any(part in p.relative_to(package).as_posix() for part in _LEFT_OUT)]


def _places(package: Path, path: Path) -> Iterator[Mutant]:
    source = path.read_text(encoding="utf-8")
    name = path.relative_to(package).as_posix()
    for node in _behaviour(ast.parse(source)):
        for changed in _changes(node):
            start, end = _offsets(source, node)
            old, new = source[start:end], changed if isinstance(changed, str) else ast.unparse(changed)
            yield Mutant(name, node.lineno, old, new, source[:start] + new + source[end:])


def _behaviour(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those of annotations and f-strings."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield child
                yield from _behaviour(child)


def _changes(node: ast.AST) -> Iterator[ast.AST | str]:
    changed = copy.copy(node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _SWAPS:
        changed.ops = [_SWAPS[type(node.ops[0])]()]
        yield f"({ast.unparse(changed)})"
    elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in _SWAPS:
        changed.op = _SWAPS[type(node.op)]()
        yield f"({ast.unparse(changed)})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield repr(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield repr(node.value + 1)
    elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield "return None"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "pass"


def _offsets(source: str, node: ast.AST) -> tuple[int, int]:
    lines = source.splitlines(keepends=True)

    def offset(line: int, column: int) -> int:
        # Columns count bytes.
        return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())

    return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)
