# SPDX-License-Identifier: BSD-3-Clause
"""Curator of the first of two phases: reports about columns, which shape the tree that other clients fill."""

from collections.abc import Sequence

from sklearn.base import clone

from ..utils import check_int
from ..utils._public_module import public_module
from ._collection_design import design_splits
from ._curator import TreeCurator
from ._curator_state import CuratorState, LocalTree, check_tree
from ._report_counter import ReportCounter


@public_module("skprivate.collection")
class SplitCurator(ReportCounter):
    """Plans a locally private tree without public rows, whose splits some of the clients shape.

    It publishes a specification about the bins of columns, or with a domain about the levels, bins and
    missing cells of declared columns, counts the reports of the clients that answer it, and then hands out
    the `TreeCurator` of the second phase (`shape`), whose specification is for all other clients. Always
    strict: bounds, or a domain, and classes are declared.

    Parameters
    ----------
    tree : LocallyPrivateTreeClassifier or LocallyPrivateTreeRegressor
        Unfitted: its parameters are the plan. ``random_state`` and ``ledger`` must be None, and ``protect``
        "record". With ``split_share`` as a number that share of the clients is asked first; "auto" is 0.6.
    n_clients : int
        Number of clients of both phases that are expected.
    features : sequence of str, default=None
        Names of the columns. None: those of the domain, or of ``bounds``, where that is a dict.
    label : str, default="label"
        Name of the target's column.

    Attributes
    ----------
    specification : TreeSpecification
        What to publish to the clients of the first phase.
    n_wanted : int
        Number of reports that the plan is for.
    n_reports : int
        Number of reports counted.
    history : dict of str to (int, int)
        Batch id -> number of its reports that are counted, and that it has.

    Raises
    ------
    PrivacyLeakError
        Bounds, or classes or bounds of y, are not declared.
    TypeError, ValueError
        Unusable parameters, or so few clients that their reports would shape nothing.

    See Also
    --------
    TreeCurator : The second phase; and the only one where there are public rows, or splits drawn at random.
    TreeClient : Answers a specification.

    Notes
    -----
    **Privacy.** Relation: local. Every report, of either phase, is epsilon-private whatever the earlier
    reports were: the second specification is a function of them, and is public before a client of the
    second phase answers. A person is asked in ONE phase: decide by a coin, by an id, or by who comes first,
    and never by the data. Whoever answers both specifications has spent twice epsilon. A `TreeClient` with
    a memory that both phases share refuses that, unless ``lifetime_epsilon`` allows it.

    Proof: :doc:`/proofs/tree_release`.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import LocallyPrivateTreeClassifier
    >>> from skprivate.collection import SplitCurator
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(20000, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 1, "yes", "no")
    >>> plan = LocallyPrivateTreeClassifier(epsilon=2.0, bounds=([0, 0], [1, 1]), classes=["no", "yes"])
    >>> first = SplitCurator(plan, n_clients=20000)
    >>> first.n_wanted
    12000
    >>> first.update(first.specification.randomize_many(X[:12000], y[:12000]))  # on 12,000 phones
    >>> second = first.shape(n_clients=8000)
    >>> second.update(second.specification.randomize_many(X[12000:], y[12000:]))  # on 8,000 others
    >>> tree = second.release()
    >>> tree.n_reports_, bool(tree.score(X, y) > 0.85)
    (8000, True)
    """

    _shapes = True

    def __init__(
        self,
        tree: LocalTree,
        *,
        n_clients: int,
        features: Sequence[str] | None = None,
        label: str = "label",
    ) -> None:
        n_clients = check_int(n_clients, "n_clients", least=1)
        plan = check_tree(tree)
        self._start(CuratorState.empty(plan, design_splits(plan, n_clients, features), label))

    @property
    def n_wanted(self) -> int:
        """Number of reports that the plan is for."""
        first = self._state.design.first_phase
        return 0 if first is None else first.n_reports

    def shape(self, *, n_clients: int) -> TreeCurator:
        """Return the curator of the second phase, on a partition that the reports so far shape.

        A function of reports and public data, so it costs nothing. It may be called again when more reports
        have come, but only one of the second specifications should be published.

        Parameters
        ----------
        n_clients : int
            Number of clients that are expected to answer the second specification; the depth depends on it.

        Returns
        -------
        curator : TreeCurator

        Raises
        ------
        ValueError
            There are no reports.
        """
        n_clients = check_int(n_clients, "n_clients", least=1)
        state = self._state
        if state.design.first_phase is None or not state.n_reports:
            raise ValueError("there are no reports yet: nothing can be shaped.")
        first = state.design.first_phase.with_counts(state.counts.copy(), state.n_reports)
        design = clone(state.tree)._shape_by_reports(state.design, first, n_clients)
        curator = TreeCurator.__new__(TreeCurator)
        curator._start(CuratorState.empty(state.tree, design, state.specification.label))
        return curator
