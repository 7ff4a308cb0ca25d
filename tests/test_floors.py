# SPDX-License-Identifier: BSD-3-Clause
"""Imports run down and in no circle, folders hold at most fourteen modules, and tests mirror the package."""

import ast
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import skprivate

TOP = Path(skprivate.__file__).parent
FLOORS = (
    {"_typing", "_version"},
    {"exceptions", "_config", "_requirements"},
    {"utils"},
    {"noise", "metrics", "domain"},
    {"accounting"},
    {"randomizers"},
    {"partition"},
    {"base"},
    {"rounds"},
    {"preprocessing"},
    {"tree", "ensemble", "linear_model", "label_privacy", "collaborative", "games"},
    {"collection", "model_selection", "evaluation"},
    {"audit"},
    {"datasets", "inspection"},  # apart: below nobody
    {"__init__", "_demo"},
    {"__main__"},
    {"_command"},
)
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
MOST_MODULES = 14
#: Folders of tests that belong to no room: interrupted operations, and what type checkers read.
NO_ROOMS = {"interrupts", "types"}
SUFFIXES = {".py", ".pyx"}
FILES = sorted(path for path in TOP.rglob("*") if path.suffix in SUFFIXES)
ROOMS = sorted({TOP, *(path.parent for path in FILES)})

Graph = Mapping[str, set[str]]


def name_of(path: Path) -> str:
    """Return the dotted name below `skprivate`; a package goes by the name of its folder."""
    parts = path.relative_to(TOP).parts
    return (
        ".".join([*parts[:-1], *(part.partition(".")[0] for part in parts[-1:])])
        .removesuffix("__init__")
        .strip(".")
    )


MODULES = {name_of(path): path for path in FILES}


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of all that a file imports from the package, types and functions' imports too."""
    if path.suffix == ".pyx":
        return
    package = path.relative_to(TOP.parent).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*above, node.module or "")).rstrip(".")
            found = [(base, alias.name) for alias in node.names]
        else:
            continue
        for module, name in found:
            if module == "skprivate" or module.startswith("skprivate."):
                yield module.partition(".")[2], name


HANDED_ON = {
    (name_of(path), name): module
    for path in TOP.rglob("__init__.py*")
    if path.suffix in {".py", ".pyi"}
    for module, name in imported(path)
}


def home(module: str, name: str) -> str:
    """Return the module that a name comes from, where a package only hands it on."""
    whole = f"{module}.{name}".strip(".")
    if whole in MODULES:
        return whole
    while (module, name) in HANDED_ON:
        module = HANDED_ON[module, name]
    return module


def imports() -> Graph:
    """Module -> the modules that it imports from; packages hand on, and so are left out."""
    graph: dict[str, set[str]] = {}
    for path in FILES:
        if path.name != "__init__.py":
            graph[name_of(path)] = {home(*one) for one in imported(path)} - {name_of(path), ""}
    return graph


GRAPH = imports()


def circle(graph: Graph) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def inside(room: Path, graph: Graph) -> Graph:
    """Return who imports whom among the files and folders of one room."""
    prefix = f"{name_of(room)}." if room != TOP else ""

    def child(module: str) -> str | None:
        return module.removeprefix(prefix).split(".")[0] if module.startswith(prefix) else None

    found: dict[str, set[str]] = {}
    for module, others in graph.items():
        own = child(module)
        if own is not None:
            theirs = {child(other) for other in others}
            found.setdefault(own, set()).update(one for one in theirs if one not in (None, own))
    return found


def test_every_room_has_a_floor():
    assert {name.split(".")[0] or "__init__" for name in MODULES} == set(FLOOR_OF)


def test_imports_run_down():
    found = inside(TOP, GRAPH)
    wrong = {
        (own, other)
        for own, others in found.items()
        for other in others
        if not FLOOR_OF[other] < FLOOR_OF[own]
    }
    assert not wrong


def test_no_modules_import_in_a_circle():
    assert circle(GRAPH) == []


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: name_of(room) or "skprivate")
def test_no_files_and_folders_of_a_room_import_in_a_circle(room):
    assert circle(inside(room, GRAPH)) == []


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: name_of(room) or "skprivate")
def test_a_room_holds_at_most_fourteen_modules(room):
    modules = [path.name for path in room.iterdir() if path.suffix in SUFFIXES and path.name != "__init__.py"]
    assert len(modules) <= MOST_MODULES, modules


def files_without_a_module() -> list[str]:
    """Return files of tests whose names begin with no module, or folder, of the same place in the package."""
    found = []
    for path in sorted(Path(__file__).parent.glob("*/**/test_*.py")):
        *folders, file = path.relative_to(Path(__file__).parent).parts
        place: Path | None = TOP
        for folder in folders:
            place = place and next(
                (place / name for name in (folder, f"_{folder}") if (place / name).is_dir()), None
            )
        names = {one.stem.strip("_") for one in place.iterdir()} | {folders[-1]} if place else set()
        stem = file.removeprefix("test_").removesuffix(".py")
        if folders[0] not in NO_ROOMS and not any(f"{stem}_".startswith(f"{name}_") for name in names):
            found.append("/".join([*folders, file]))
    return found


def test_a_file_of_tests_is_named_after_what_it_tests():
    assert files_without_a_module() == []


def test_the_walk_sees_what_is_imported():
    # Through a package that hands a name on, at once or when asked for; inside a function; a whole module.
    assert "accounting._statements.spent" in GRAPH["tree._estimator"]
    assert "collaborative._local_average.regressor" in GRAPH["audit._attacks.on_platforms"]
    assert "games._games.affine_games" in GRAPH["audit._attacks.on_games"]
    assert "_config" in GRAPH["base._mixin"]


def test_a_circle_is_found():
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == {"a", "b", "c"}
    nested = {"x.a": {"x.b.one"}, "x.b.two": {"x.a"}, "x.b.one": set()}
    assert circle(nested) == []
    assert set(circle(inside(TOP / "x", nested))) == {"a", "b"}


def test_types_of_arrays_have_one_home():
    alias = re.compile(r"^\w+Array = NDArray\[", re.MULTILINE)
    homes = [name_of(path) for path in FILES if alias.search(path.read_text(encoding="utf-8"))]
    assert homes == ["_typing"]
