# SPDX-License-Identifier: BSD-3-Clause
"""Accumulator over batches of counts by leaf and label, or of sums of numbers, which are released once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import clone

from .._config import get_config
from .._typing import FloatArray, IntArray
from ..noise import check_entropy
from ..rounds._accumulator import PlanAccumulator
from ..rounds._driver import Rounds
from ..rounds._fit import known_columns
from ..rounds._plans.masses import WEIGHT_STEPS
from ..rounds._schema import RowSchema
from ..rounds._sources import SourceFacts
from ..rounds._tables import TableColumns, has_names
from ..utils import check_int, check_positive
from ..utils._private_fit import redact_errors, refused_within_another
from ..utils._public_module import public_module
from ..utils._tables import numbers_of
from ._estimator import PrivateTree

CentralTree = TypeVar("CentralTree", bound=PrivateTree)


@public_module("skprivate.tree")
class LeafCountAccumulator(PlanAccumulator):
    """Accumulates the counts or sums of a private tree, batch by batch.

    Rows may come from files larger than memory, or from many workers. Each worker fills an accumulator with
    the same parameters. The accumulators are merged, and `release` makes the one private fit. With a seed it
    equals one ``fit`` with ``split_share=0`` to the same rows, bit for bit, for any batches in any order.
    Rows that are read only once cannot choose the splits first. If one program can reach all rows,
    `skprivate.rounds.fit_rounds` does the same in one call. It also protects persons with several rows.

    Parameters
    ----------
    tree : DPTreeClassifier or DPTreeRegressor
        Unfitted, with declared bounds and classes, or bounds of X and y, or with `public` rows. Only its
        parameters are used.
    n_rows : int
        Number of private rows in all batches together. It is public: the depth depends on it.
    public : tuple (X, y), default=None
        Public rows, which shape the tree.
    feature_names : list of str, default=None
        Names of the columns of X, in their order. None: those of the public rows, or none.
    target : str, default=None
        Name of the column of targets, for batches that hold it.
    max_sample_weight : float, default=None
        Public bound on the weights of rows in `update`. None: rows have no weights. A row of weight w counts
        as w rows, and the noise is that of the largest weight.

    Attributes
    ----------
    batch_ids : tuple of str
        Ids of the batches that were added, sorted.
    released : bool
        Whether the counts were released and then wiped.

    See Also
    --------
    skprivate.rounds.fit_rounds : The same for sources that can be read several times.
    skprivate.linear_model.MomentAccumulator : The same for regressions.

    Notes
    -----
    **Privacy.** The guarantee is that of the tree. With ``max_sample_weight``, a weight is rounded to a
    multiple of a 1024th of it, from 0 to 1024 parts, and multiplies the contribution of its row. Replacing a
    row changes the sums by at most twice the contribution of a row of the largest weight, in L1. The noise is
    scaled to that. The sum of all weights is as private as the rest. ``fit`` takes no weights, because their
    bound has to be declared. The part of sampling in errors and intervals is computed as if all weights were
    the largest. The object and its bytes hold exact counts and sums of private rows until `release` wipes
    them. Keep them within the trust boundary.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.tree import LeafCountAccumulator
    >>> rng = np.random.default_rng(0)
    >>> tree = DPTreeClassifier(epsilon=1.0, max_depth=2, bounds=([0, 0], [1, 1]), classes=[0, 1])
    >>> counts = LeafCountAccumulator(tree, n_rows=20000)
    >>> for day in range(4):
    ...     X = rng.uniform(size=(5000, 2))
    ...     counts = counts.update(X, (X[:, 0] > 0.5).astype(int), batch_id=f"day {day}")
    >>> counts
    LeafCountAccumulator(n_features=2, batches=4)
    >>> fitted = counts.release(tree)
    >>> fitted.n_leaves_, counts.released
    (4, True)
    """

    _kind = "leaf counts"

    def __init__(
        self,
        tree: PrivateTree,
        n_rows: int,
        *,
        public: Any = None,
        feature_names: Sequence[str] | None = None,
        target: str | None = None,
        max_sample_weight: float | None = None,
    ) -> None:
        cap = max_sample_weight
        self._max_weight = None if cap is None else float(check_positive(cap, "max_sample_weight"))
        names = None if feature_names is None else tuple(feature_names)
        self._columns, self._public = TableColumns(names, target), public
        count = check_int(n_rows, "n_rows", least=1)
        schema, open_rounds = self._open(clone(tree), count)
        rounds = open_rounds("os-entropy")
        plan = next(rounds).plan
        rounds.close()
        self._start(schema, plan, count)

    def _restore(self, schema: RowSchema) -> None:
        self._columns, self._public, self._max_weight = schema.columns, None, None

    @redact_errors
    def update(self, X: Any, y: Any = None, *, sample_weight: Any = None, batch_id: Any = None) -> Self:
        """Add the rows of a batch. After an error, none of them are added.

        Parameters
        ----------
        X, y, batch_id
            As in `skprivate.linear_model.MomentAccumulator.update`: a table, its target, and a public name of
            the batch.
        sample_weight : array-like of shape (n,), default=None
            Clipped to [0, max_sample_weight] without a warning, and rounded down to a multiple of a 1024th of
            it. None: 1 for every row.

        Returns
        -------
        self : LeafCountAccumulator

        Raises
        ------
        ImportError, RuntimeError, TypeError, ValueError
            As in `MomentAccumulator.update`. Also for weights without ``max_sample_weight``, for a number of
            weights that differs from that of the rows, and outside strict mode for NaN. The message contains
            no value.
        """
        if sample_weight is not None and self._max_weight is None:
            raise ValueError("sample_weight needs a public cap, max_sample_weight.")
        if self._max_weight is None:
            return super().update(X, y, batch_id=batch_id)
        return self._update_weighted(X, y, sample_weight, batch_id)

    @refused_within_another
    def _update_weighted(self, X: Any, y: Any, sample_weight: Any, batch_id: Any) -> Self:
        held, batch, plan = self._require_unreleased(), self._check_id(batch_id), self._task.plan
        self._check_columns(X)
        strict = get_config()["strict"]
        weights = None if sample_weight is None else np.atleast_1d(numbers_of(sample_weight, "sample_weight"))
        if weights is not None and not strict and np.isnan(weights).any():
            raise ValueError("sample_weight must hold finite numbers.")
        n_rows, values = 0, np.zeros_like(held)
        for rows, units in self._task.schema.read(X if y is None else (X, y)):
            own = np.ones(units) if weights is None else weights[n_rows : n_rows + units]
            n_rows += units
            if len(own) != units:
                break
            plan.check_room(n_rows)
            values += plan.sums(replace(rows, steps=self._steps(own)))
        if weights is not None and len(weights) != n_rows:
            raise ValueError("sample_weight must hold one number per row.")
        self._add(held + values, self._check_count(self._n_rows + n_rows), batch, batch_id)
        return self

    def _steps(self, weights: FloatArray) -> FloatArray:
        """Return weights in whole steps of their bound; a missing weight is 0."""
        assert self._max_weight is not None
        parts = np.clip(np.nan_to_num(weights, nan=0.0) / self._max_weight, 0.0, 1.0)
        return np.floor(parts * WEIGHT_STEPS)

    def to_bytes(self) -> bytes:
        """Return the accumulator as JSON. It holds exact sums over private rows: never publish it.

        Raises
        ------
        NotImplementedError
            With ``max_sample_weight``: pickle it instead.
        """
        if self._max_weight is not None:
            raise NotImplementedError("an accumulator of weighted rows has no bytes: pickle it.")
        return super().to_bytes()

    def _join(self, other: Any) -> tuple[IntArray, dict[str, Any]]:
        if self._max_weight != other._max_weight:
            raise ValueError("the accumulators have different parameters: their sums do not add up.")
        return super()._join(other)

    def _open(self, tree: PrivateTree, n_rows: int) -> tuple[RowSchema, Callable[[str], Rounds[None]]]:
        if not isinstance(tree, PrivateTree) or tree._deployment != "curator":
            raise TypeError(
                f"tree must be a DPTreeClassifier or a DPTreeRegressor, not {type(tree).__name__}."
            )
        tree._validate_params()
        if tree.split_share != "auto" and tree.split_share > 0:
            raise ValueError(
                "rows that are read once cannot choose splits: pass split_share=0, or fit_rounds the tree."
            )
        tree.split_share = 0
        tree._max_sample_weight = self._max_weight
        features = self._columns.features
        width = known_columns(tree) if features is None else len(features)
        if self._public is not None:
            X = self._public[0]
            width = X.shape[1] if hasattr(X, "shape") else len(X[0])
            features = tuple(X.columns) if features is None and has_names(X) else features
        if width is None:
            raise ValueError(
                "the number of columns is unknown: pass feature_names, or bounds of every column."
            )
        facts = SourceFacts(n_rows, n_rows, features, width, True, (), None)
        return tree._open_source(facts.complete(self._columns), facts, self._public)

    @redact_errors
    @refused_within_another
    def release(self, tree: CentralTree, public: Any = None) -> CentralTree:
        """Fit a tree to the accumulated rows, once; then wipe the counts.

        Parameters
        ----------
        tree : DPTreeClassifier or DPTreeRegressor
            Unfitted, with the columns, bounds, classes and cells of the accumulator.
        public : tuple (X, y), default=None
            The public rows, if the accumulator was restored from bytes, which do not hold them.

        Returns
        -------
        fitted : DPTreeClassifier or DPTreeRegressor
            A fitted clone. The ledger is charged before noise is drawn.

        Raises
        ------
        RuntimeError
            The counts were already released.
        BudgetExceededError, LedgerError
            The ledger refuses the charge. The counts are kept.
        TypeError, ValueError
            The tree is not that of the accumulator, or the number of rows is not the declared one. The counts
            are kept.
        """
        self._require_unreleased()
        if self._n_rows != self._max_rows:
            raise ValueError("the number of rows is not n_rows, which is public: declare the right number.")
        self._public = self._public if public is None else public
        fitted: CentralTree = clone(tree)
        fitted.announce_leaks([])
        schema, open_rounds = self._open(fitted, self._max_rows)
        if replace(schema, strict=False).to_dict() != replace(self._task.schema, strict=False).to_dict():
            raise ValueError("the tree is not that of the accumulator: classes, bounds or columns differ.")
        entropy = check_entropy(fitted.random_state)
        self._drive(open_rounds(entropy.source), entropy, fitted.charge)
        self._wipe(fitted)
        return fitted
