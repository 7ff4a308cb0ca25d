# SPDX-License-Identifier: BSD-3-Clause
"""The house: imports run down only, and rooms on one floor do not import each other."""

import ast
from collections.abc import Iterator
from pathlib import Path

import skprivate

TOP = Path(skprivate.__file__).parent
# The estimators' base is one floor in several files.
BASE_FILES = {"_planning", "_html_repr", "_trusted_types", "_pipeline_report", "_public_steps", "_stateless"}
FLOORS = (
    {"exceptions", "_config"},
    {"utils"},
    {"noise", "metrics"},
    {"accounting"},
    {"randomizers"},
    {"base", *BASE_FILES},
    {"preprocessing"},
    {"tree", "linear_model", "collaborative", "games", "model_selection", "audit"},
    {"datasets", "inspection"},  # apart: below nobody
    {"__init__", "_demo_games", "_demo_life", "_demo_parties"},
    {"__main__"},
)
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
BASE = {("base", name) for name in BASE_FILES - {"_stateless"}} | {
    ("_pipeline_report", "_html_repr"),
    ("_pipeline_report", "_public_steps"),
    ("_pipeline_report", "_stateless"),
    ("_stateless", "_public_steps"),
}
# What is attacked is imported where the attack runs.
LAZY = {("audit", "games"), ("audit", "collaborative")}
FILES = sorted(TOP.rglob("*.py"))


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Rooms that a file imports, and whether it does so inside a function or for types only."""
    package = path.relative_to(TOP.parent).parts[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    later = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        for name in imported(node, package):
            parts = name.split(".")
            if parts[0] == "skprivate" and len(parts) > 1 and is_room(parts[1]):
                yield parts[1], node in later


def imported(node: ast.AST, package: tuple[str, ...]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    above = package[: len(package) - node.level + 1] if node.level else ()
    base = ".".join((*above, node.module or "")).rstrip(".")
    return [f"{base}.{alias.name}" for alias in node.names]


def is_room(name: str) -> bool:
    return (TOP / name).is_dir() or (TOP / f"{name}.py").exists()


def room_of(path: Path) -> str:
    return path.relative_to(TOP).with_suffix("").parts[0]


def test_every_room_has_a_floor():
    assert {room_of(path) for path in FILES} == set(FLOOR_OF)


def allowed(own: str, room: str, *, later: bool) -> bool:
    below = FLOOR_OF[room] < FLOOR_OF[own]
    return room == own or below or (own, room) in BASE or (later and (own, room) in LAZY)


def test_imports_run_down():
    found = [(path, room_of(path), room, later) for path in FILES for room, later in imports(path)]
    wrong = [
        f"{path.relative_to(TOP)} imports {room}"
        for path, own, room, later in found
        if not allowed(own, room, later=later)
    ]
    assert not wrong


def test_the_walk_sees_what_is_imported():
    extraction = set(imports(TOP / "audit" / "_attacks" / "extraction.py"))
    assert extraction >= {("collaborative", True), ("utils", False)}
    assert ("accounting", False) in set(imports(TOP / "base.py"))
    assert ("base", False) in set(imports(TOP / "tree" / "_base.py"))


def test_only_audits_need_a_room_of_their_own_floor():
    needed = {(room_of(path), room) for path in FILES for room, _ in imports(path)}
    assert needed >= LAZY | BASE
