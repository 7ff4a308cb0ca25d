# SPDX-License-Identifier: BSD-3-Clause
"""State of a curator, and its form in JSON: public inputs, counts, and the history of batches."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from .._typing import FloatArray, IntArray
from ..accounting import EstimatedBounds
from ..accounting._privacy_amounts import from_text, to_text
from ..accounting._statements.spent import decode_estimate, encode_estimate
from ..domain import TableDomain
from ..partition import RULES, ColumnBins, Partition, TableCells
from ..randomizers import LocalRandomizer
from ..rounds._rows import check_target_bounds, check_target_width
from ..tree import LocallyPrivateTreeClassifier, LocallyPrivateTreeRegressor
from ..tree._public_model import LeafModel
from ..tree._release import ReleaseMechanism, TreeDesign
from ..tree._rows import NumberCells
from ..tree._splits_by_clients import FirstPhase, PlannedLeaves
from ..utils import check_epsilon
from ..utils._compat import validate_parameter_constraints
from ..utils._json_documents import (
    UNREADABLE,
    Fields,
    as_bytes,
    pack_integers,
    restore_sealed,
    seal_document,
    unpack_integers,
)
from ..utils._public_module import public_module
from ._specification import TreeSpecification

_FORMAT = "skprivate.curator"
_VERSION = 4
_FIELDS = (
    *("specification", "tree", "rule", "bounds", "named", "public_counts"),
    *("counts", "history", "stream", "public", "first"),
)
_PUBLIC_FIELDS = ("slope", "model", "row_variance", "total_variance")


LocalTree = LocallyPrivateTreeClassifier | LocallyPrivateTreeRegressor


@public_module("skprivate.collection")
@dataclass(frozen=True)
class CuratorState:
    """The whole state of a `TreeCurator`.

    It is never changed in place. A curator replaces its state by one assignment, so that counts and history
    agree after an interrupt.

    Attributes
    ----------
    tree : LocallyPrivateTreeClassifier or LocallyPrivateTreeRegressor
        Unfitted.
    design : TreeDesign
    specification : TreeSpecification
    counts : ndarray of int64
        Sum over all reports.
    history : mapping of str to (int, int)
        Batch id -> number of its reports in `counts`, and of all its reports.
    stream : str or None
        Batch id of reports without a file.
    """

    tree: LocalTree
    design: TreeDesign
    specification: TreeSpecification
    counts: IntArray
    history: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    stream: str | None = None

    @classmethod
    def empty(cls, tree: LocalTree, design: TreeDesign, label: str) -> Self:
        """Return the state before the first report."""
        randomizer: Any = design.randomizer
        cells: Partition | ColumnBins | TableCells = design.partition
        if design.first_phase is not None and design.first_phase.counts is None:
            cells, randomizer = design.first_phase.bins, design.first_phase.randomizer
        features = design.feature_names if tree.domain is None else None
        target: dict[str, Any] = {"classes": design.classes}
        if isinstance(tree, LocallyPrivateTreeRegressor):
            target = {"bounds_y": tuple(design.classes.tolist())}
        specification = TreeSpecification(
            cells, randomizer, features=features, label=label, domain=tree.domain, **target
        )
        return cls(tree, design, specification, np.zeros(randomizer.counts_shape, dtype=np.int64))

    def without_reports(self) -> Self:
        """Return a state of the same collection without reports."""
        return replace(self, counts=np.zeros_like(self.counts), history={}, stream=None)

    def with_counts(
        self, counts: IntArray, batches: Mapping[str, tuple[int, int]], stream: str | None = None
    ) -> Self:
        """Return the state with other counts, and with the numbers of reports of some batches."""
        history = {**self.history, **batches}
        return replace(self, counts=counts, history=history, stream=stream or self.stream)

    @property
    def shapes(self) -> bool:
        """Whether the reports shape the tree; otherwise they fill its leaves."""
        return not isinstance(self.specification.partition, Partition)

    @property
    def randomizer(self) -> LocalRandomizer:
        """The randomizer of every client."""
        return self.specification.randomizer

    @property
    def n_reports(self) -> int:
        """Number of reports in `counts`."""
        return sum(counted for counted, _ in self.history.values())

    def to_bytes(self) -> bytes:
        """Return the state as JSON."""
        design, numbers = self.design, self.specification.bounds_y is not None
        # After a first phase the model is made from its reports.
        model = design.leaf_model if design.first_phase is None else None
        public_counts: Any = np.asarray(design.public_counts, dtype=np.float64 if numbers else np.int64)
        content = {
            "specification": self.specification.to_dict(),
            "tree": {
                name: _encode_parameter(value)
                for name, value in self.tree.get_params(deep=False).items()
                # A fitted model stays with the curator that fitted it; its leaf means are stored below.
                if name != "public_model"
            },
            "rule": design.rule,
            "bounds": [side.tolist() for side in design.bounds],
            "named": design.feature_names is not None,
            "public_counts": public_counts.ravel().tolist() if numbers else pack_integers(public_counts),
            "counts": pack_integers(self.counts),
            "history": {batch: list(numbers) for batch, numbers in self.history.items()},
            "stream": self.stream,
            "public": {
                "slope": design.public_slope,
                "model": None if model is None else model.to_dict(),
                "row_variance": design.public_row_variance,
                "total_variance": design.public_total_variance,
            },
            "first": None if design.first_phase is None else design.first_phase.to_dict(),
        }
        return seal_document(_FORMAT, _VERSION, content)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore a state; everything in it is checked."""
        data = as_bytes(data)
        try:
            return restore_sealed(data, _FORMAT, _VERSION, _FIELDS, cls._from_dict)
        except UNREADABLE as error:
            raise ValueError(f"this is not a valid state of a curator: {error}") from error

    @classmethod
    def _from_dict(cls, state: dict[str, Any]) -> Self:
        fields = Fields(state, ("format", "version", *_FIELDS))
        specification = TreeSpecification.from_dict(state["specification"])
        parameters = {name: _decode_parameter(value) for name, value in fields.mapping("tree").items()}
        bounds_y = specification.bounds_y
        kind = LocallyPrivateTreeClassifier if bounds_y is None else LocallyPrivateTreeRegressor
        tree = check_tree(kind(**parameters))
        names = ("lower", "upper")
        sides = Fields(dict(zip(names, _pair(state["bounds"]), strict=True)), names, what="the bounds")
        lower, upper = (np.array(sides.numbers(name), dtype=np.float64) for name in names)
        domain = specification.domain
        columns = specification.features if domain is None else domain.encoded_names
        partition, randomizer, first = _restore_leaves(tree, specification, fields)
        classes = np.asarray(specification.classes if bounds_y is None else bounds_y)
        shape = partition.n_leaves, len(classes)
        public_counts = (
            unpack_integers(fields.text("public_counts"), shape)
            if bounds_y is None
            else np.array(fields.numbers("public_counts", shape[0] * shape[1])).reshape(shape)
        )
        design = TreeDesign(
            partition=partition,
            randomizer=randomizer,
            classes=classes,
            bounds=(lower, upper),
            rule=fields.text("rule"),
            public_counts=public_counts,
            feature_names=columns if fields.flag("named") else None,
            first_phase=first,
            cells=_cells_of(tree, specification),
        )
        if first is not None and first.counts is not None:
            design = replace(design, leaf_model=first.fit_model(tree.partition_seed).on_leaves(partition))
        design = _restore_public_side(design, fields.mapping("public"))
        history = {batch: _check_numbers(*_pair(pair)) for batch, pair in fields.mapping("history").items()}
        stream = fields.maybe(fields.text, "stream")
        if stream is not None and stream not in history:
            raise ValueError("the history does not hold its own stream")
        counts = unpack_integers(fields.text("counts"), specification.randomizer.counts_shape)
        if tree.domain != domain:
            raise ValueError("the plan and the specification declare different columns")
        _check_agreement(tree, design)
        return cls(tree, design, specification, counts, history, stream)


def check_tree(tree: Any) -> LocalTree:
    """Return a clone of the tree after the checks of parameters that ``fit`` makes."""
    if not isinstance(tree, LocalTree):
        raise TypeError(
            "tree must be a LocallyPrivateTreeClassifier or a LocallyPrivateTreeRegressor, not "
            f"{type(tree).__name__}."
        )
    for name in ("random_state", "ledger"):
        if getattr(tree, name) is not None:
            raise ValueError(f"{name} must be None: clients draw their own reports and account for them.")
    plan: LocalTree = clone(tree)
    validate_parameter_constraints(plan._parameter_constraints, plan.get_params(deep=False), "TreeCurator")
    plan._check_parameters()
    return plan


def _check_agreement(tree: LocalTree, design: TreeDesign) -> None:
    """Refuse a tree with another protection than its clients', and an impossible design."""
    randomizer: Any = design.randomizer
    if (check_epsilon(tree.epsilon), tree.protect == "label") != (
        randomizer.epsilon_requested,
        randomizer.relation == "label",
    ):
        raise ValueError("the plan and the specification protect differently")
    box = _box_of_rows(design.partition, tree.domain)
    if design.rule not in RULES or not all(map(np.array_equal, design.bounds, box)):
        raise ValueError("the rule or the bounds are not those of the partition")
    if isinstance(tree, LocallyPrivateTreeRegressor):
        bounds_y = float(design.classes[0]), float(design.classes[1])
        check_target_width(bounds_y)
        if tree.bounds_y is not None and check_target_bounds(tree.bounds_y, False) != bounds_y:
            raise ValueError("the plan and the specification declare different bounds of the target")
        told = isinstance(randomizer, PlannedLeaves) or randomizer.estimate_cells(
            np.zeros(randomizer.counts_shape, dtype=np.int64), 0
        )
        if told is None:
            raise ValueError("reports of this mechanism do not show how many clients a leaf holds")
    if (design.public_counts < 0).any():
        raise ValueError("a number of public rows is negative")


def _box_of_rows(partition: Partition, domain: TableDomain | None) -> tuple[FloatArray, FloatArray]:
    """Return the box of the rows of a partition; derived columns have another box."""
    if domain is None or partition.derived is None:
        return partition.lower, partition.upper
    return domain.bounds


def _restore_leaves(
    tree: LocalTree, specification: TreeSpecification, fields: Fields
) -> tuple[Partition, ReleaseMechanism, FirstPhase | None]:
    """Return the partition, the mechanism of its leaves, and the first phase if there is one."""
    cells, randomizer = specification.partition, specification.randomizer
    plain = fields.maybe(fields.mapping, "first")
    first = None if plain is None else FirstPhase.from_dict(plain)
    if not isinstance(cells, Partition):
        if first is None or first.counts is not None:
            raise ValueError("the plan of the first phase is missing, or already finished")
        same = first.bins.to_dict() == cells.to_dict()
        if not same or first.randomizer.to_dict() != randomizer.to_dict():
            raise ValueError("the first phase is not that of the specification")
        root = Partition.from_splits([-1], [], cells.lower, cells.upper)
        return root, PlannedLeaves(first, tree.mechanism), first
    if first is not None:
        # Numbers are rounded to their bounds in the first phase, and to more levels in the second.
        n_labels = randomizer.n_labels if specification.bounds_y is None else 2
        fits = first.counts is not None and first.randomizer.n_labels == n_labels
        box = (first.bins.lower, first.bins.upper), _box_of_rows(cells, specification.domain)
        if not fits or not all(map(np.array_equal, *box)):
            raise ValueError("the first phase is not finished, or of another collection")
    return cells, randomizer, first


def _cells_of(tree: LocalTree, specification: TreeSpecification) -> NumberCells | None:
    """Return the cells of the levels in reports about the leaves; None for labels."""
    if isinstance(tree, LocallyPrivateTreeClassifier):
        return None
    # The levels are in the specification of the leaves; before that, the tree chooses them.
    answered = isinstance(specification.partition, Partition)
    return NumberCells.of_levels(specification.randomizer.n_labels) if answered else tree._cells()


def _restore_public_side(design: TreeDesign, content: dict[str, Any]) -> TreeDesign:
    fields = Fields(content, _PUBLIC_FIELDS, what="the public side")
    slope = fields.number("slope")
    if not 0 <= slope <= 1:
        raise ValueError("the slope of public rows lies outside 0 to 1")
    shape = (design.partition.n_leaves, len(design.classes))
    model = fields.maybe(fields.mapping, "model")
    if model is not None:
        design = replace(design, leaf_model=LeafModel.from_dict(model, *shape))
    row, total = fields.number("row_variance"), fields.number("total_variance")
    if not (0 < row <= 1 and 0 < total <= 1):
        raise ValueError("a variance of public rows lies outside 0 to 1")
    return replace(design, public_slope=slope, public_row_variance=row, public_total_variance=total)


def _pair(value: Any) -> list[Any]:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError("a pair is not a list of two")
    return value


def _check_numbers(counted: Any, total: Any) -> tuple[int, int]:
    if type(counted) is not int or type(total) is not int or not 0 <= counted <= total < 2**62:
        raise ValueError("a number of reports in the history is impossible")
    return counted, total


def _encode_parameter(value: Any) -> Any:
    """Return a constructor parameter as JSON for `_decode_parameter`."""
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Fraction):
        return {"fraction": to_text(value)}
    if isinstance(value, TableDomain):
        return {"domain": value.to_dict()}
    if isinstance(value, EstimatedBounds):
        return {"estimate": encode_estimate(value), "sides": [_encode_parameter(side) for side in value]}
    if isinstance(value, Mapping):
        return {"pairs": [[_encode_parameter(key), _encode_parameter(item)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return [_encode_parameter(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a parameter holds a {type(value).__name__}, which a file cannot hold")


def _decode_parameter(plain: Any) -> Any:
    if isinstance(plain, dict) and set(plain) == {"fraction"}:
        return from_text(plain["fraction"])
    if isinstance(plain, dict) and set(plain) == {"domain"}:
        return TableDomain.from_dict(plain["domain"])
    if isinstance(plain, dict) and set(plain) == {"estimate", "sides"}:
        return decode_estimate([_decode_parameter(side) for side in _pair(plain["sides"])], plain["estimate"])
    if isinstance(plain, dict):
        pairs = Fields(plain, ("pairs",), what="a parameter").items("pairs")
        return {_decode_parameter(key): _decode_parameter(item) for key, item in map(_pair, pairs)}
    return [_decode_parameter(item) for item in plain] if isinstance(plain, list) else plain
