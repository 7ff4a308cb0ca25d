# SPDX-License-Identifier: BSD-3-Clause
"""Accumulator of the counts by leaf and label, or of sums of numbers, of batches, which are released once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from sklearn.base import clone

from ..noise import check_entropy
from ..rounds._accumulator import PlanAccumulator
from ..rounds._driver import Rounds
from ..rounds._inspection import SourceFacts
from ..rounds._reading.batches import has_names
from ..rounds._reading.columns import TableColumns
from ..rounds._reading.schema import RowSchema
from ..utils import check_int
from ..utils._atomic_state import refused_within_another
from ..utils._private_fit import redact_errors
from ..utils._public_module import public_module
from ._central import BaseCentralTree

CentralTree = TypeVar("CentralTree", bound=BaseCentralTree)


@public_module("skprivate.tree")
class LeafCountAccumulator(PlanAccumulator):
    """Accumulates the counts that a private tree is made of, batch by batch.

    Rows may come from files larger than memory, or from many workers: each fills an accumulator of the same
    parameters, they are merged, and `release` makes the one private fit. It is that of one ``fit`` with
    ``split_share=0`` to the same rows, bit for bit with a seed, whatever the batches and their order: rows
    that are read once cannot choose the splits first. For rows that one program can
    reach, `skprivate.rounds.fit_rounds` does the same in one call; it also protects persons of several rows.

    Parameters
    ----------
    tree : DPTreeClassifier or DPTreeRegressor
        Unfitted, with declared bounds and classes, or bounds of X and y, or `public` rows; only its
        parameters are used.
    n_rows : int
        Number of private rows in all batches together, which is public: the depth follows from it.
    public : tuple (X, y), default=None
        Public rows, which shape the tree.
    feature_names : list of str, default=None
        Names of the columns of X, in their order. None: those of the public rows, or none.
    target : str, default=None
        Name of the column of targets, for batches that hold it.

    Attributes
    ----------
    batch_ids : tuple of str
        Ids of the batches that are in, sorted.
    released : bool
        Whether the counts were released, and wiped.

    See Also
    --------
    skprivate.rounds.fit_rounds : The same for sources that can be read again.
    skprivate.linear_model.MomentAccumulator : The same for regressions.

    Notes
    -----
    **Privacy.** As that of the tree. The object and its bytes hold exact counts and sums of private rows,
    until `release` wipes them: they stay within the trust boundary.

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
        tree: BaseCentralTree,
        n_rows: int,
        *,
        public: Any = None,
        feature_names: Sequence[str] | None = None,
        target: str | None = None,
    ) -> None:
        names = None if feature_names is None else tuple(feature_names)
        self._columns, self._public = TableColumns(names, target), public
        count = check_int(n_rows, "n_rows", least=1)
        schema, open_rounds = self._open(clone(tree), count)
        rounds = open_rounds("os-entropy")
        plan = next(rounds).plan
        rounds.close()
        self._start(schema, plan, count)

    def _restore(self, schema: RowSchema) -> None:
        self._columns, self._public = schema.columns, None

    def _open(self, tree: BaseCentralTree, n_rows: int) -> tuple[RowSchema, Callable[[str], Rounds[None]]]:
        if not isinstance(tree, BaseCentralTree):
            raise TypeError(
                f"tree must be a DPTreeClassifier or a DPTreeRegressor, not {type(tree).__name__}."
            )
        tree._validate_params()
        if tree.split_share != "auto" and tree.split_share > 0:
            raise ValueError(
                "rows that are read once cannot pay for splits: pass split_share=0, or fit_rounds the tree."
            )
        tree.split_share = 0
        features = self._columns.features
        width = tree._known_columns() if features is None else len(features)
        if self._public is not None:
            X = self._public[0]
            width = X.shape[1] if hasattr(X, "shape") else len(X[0])
            features = tuple(X.columns) if features is None and has_names(X) else features
        if width is None:
            raise ValueError(
                "the number of columns is unknown: pass feature_names, or bounds of every column."
            )
        facts = SourceFacts(n_rows, n_rows, features, width, True, False, None)
        return tree._open_source(facts.complete(self._columns), facts, self._public)

    @redact_errors
    @refused_within_another
    def release(self, tree: CentralTree, public: Any = None) -> CentralTree:
        """Fit a tree to the rows so far, once; then the counts are wiped.

        Parameters
        ----------
        tree : DPTreeClassifier or DPTreeRegressor
            Unfitted; its columns, bounds, classes and cells are those that the accumulator was made with.
        public : tuple (X, y), default=None
            The public rows, for an accumulator that was restored from bytes, which do not hold them.

        Returns
        -------
        fitted : DPTreeClassifier or DPTreeRegressor
            A fitted clone. Its ledger is charged before noise is drawn.

        Raises
        ------
        RuntimeError
            The counts were released.
        BudgetExceededError, LedgerError
            The ledger refused; the counts are still there.
        TypeError, ValueError
            The tree is not the one of the accumulator, or the rows are not as many as was declared; the
            counts are still there.
        """
        self._require_unreleased()
        if self._n_rows != self._max_rows:
            raise ValueError(
                "the rows are not as many as was declared: n_rows is public, and the tree states it."
            )
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
