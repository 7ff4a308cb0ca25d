# SPDX-License-Identifier: BSD-3-Clause
"""An accumulator as JSON: written, and checked field by field when it is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from ..._typing import IntArray
from ...utils import check_characters
from ...utils._json_documents import (
    Fields,
    pack_integers,
    restore_in_silence,
    seal_document,
    unpack_integers,
)
from .plan import AccumulatorPlan

_FORMAT = "skprivate.moments"
_VERSION = 1
_FIELDS = ("plan", "feature_names", "target", "n_rows", "gram", "batches")


@dataclass(frozen=True)
class SavedMoments:
    """The content of an accumulator that is saved.

    Attributes
    ----------
    plan : AccumulatorPlan
    feature_names : tuple of str, or None
    target : str or None
        The name of the target's column.
    n_rows : int
    gram : ndarray of shape (n_features + 2, n_features + 2), int64
        Exact sums over private rows.
    batches : tuple of str
        Ids of the batches that are in the sums, sorted.
    """

    plan: AccumulatorPlan
    feature_names: tuple[str, ...] | None
    target: str | None
    n_rows: int
    gram: IntArray
    batches: tuple[str, ...]

    def to_bytes(self) -> bytes:
        """Return the moments as JSON."""
        content = {
            "plan": self.plan.to_dict(),
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "target": self.target,
            "n_rows": self.n_rows,
            "gram": pack_integers(self.gram),
            "batches": list(self.batches),
        }
        return seal_document(_FORMAT, _VERSION, content)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore the moments; ValueError, which repeats nothing, for what `to_bytes` would not write."""
        return restore_in_silence(data, _FORMAT, _VERSION, _FIELDS, cls._from_dict, "bytes of an accumulator")

    @classmethod
    def _from_dict(cls, content: dict[str, Any]) -> Self:
        fields = Fields(content, ("format", "version", *_FIELDS))
        sums = unpack_integers(fields.text("gram"), (-1,))
        # Before a plan is made, or room, for as many columns as it says.
        if len(sums) != (len(fields.mapping("plan")["grid"]["lower"]) + 2) ** 2:
            raise ValueError("the sums are not those of so many columns")
        plan = AccumulatorPlan.from_dict(fields.mapping("plan"))
        gram = sums.reshape(plan.grid.size, plan.grid.size)
        target = fields.maybe(fields.text, "target")
        names = check_names(fields.maybe(fields.texts, "feature_names"), None, target)
        if plan.domain is not None:
            if names != plan.domain.names:
                raise ValueError("the names are not those of the domain")
        elif names is not None and len(names) != plan.grid.n_features:
            raise ValueError("the names are not as many as the features")
        n_rows, batches = fields.integer("n_rows", 0, plan.max_rows), fields.texts("batches")
        if batches != sorted(set(batches)):
            raise ValueError("the batches must be sorted, and all different")
        _check_gram(gram, n_rows, plan)
        return cls(plan, names, target, n_rows, gram, tuple(batches))


def check_names(
    feature_names: Sequence[str] | None, bounds_X: Any, target: str | None
) -> tuple[str, ...] | None:
    """Return the names of the features, as given or those that the bounds have; all of them differ."""
    if feature_names is None and isinstance(bounds_X, Mapping) and bounds_X:
        feature_names = list(bounds_X) if all(isinstance(name, str) for name in bounds_X) else None
    if isinstance(feature_names, str) or not (target is None or isinstance(target, str)):
        raise TypeError("feature_names must be a list of names, and target a name.")
    if target is not None:
        check_characters(target, "target")
    if feature_names is None:
        return None
    names = tuple(feature_names)
    if not names or not all(isinstance(name, str) for name in names) or len({*names, target}) <= len(names):
        raise ValueError("feature_names and target must be different names.")
    for name in names:
        check_characters(name, "a name of feature_names")
    return names


def _check_gram(gram: IntArray, n_rows: int, plan: AccumulatorPlan) -> None:
    """Refuse sums that no rows make."""
    largest = n_rows * 4**plan.grid.exponent * plan.largest_weight
    total = int(gram[0, 0])
    possible = total == largest if plan.weights is None else 0 <= total <= largest
    if not possible or (gram != gram.T).any() or (gram > total).any() or (gram < -total).any():
        raise ValueError("the sums are impossible")
