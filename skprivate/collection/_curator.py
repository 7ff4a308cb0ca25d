# SPDX-License-Identifier: BSD-3-Clause
"""Curator of a collection: publishes a specification, adds up reports, releases the tree."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from numpy.typing import ArrayLike
from sklearn.base import clone

from .._typing import CentralRelation
from ..utils import check_int
from ..utils._public_module import public_module
from ._collection_design import design_collection
from ._curator_state import CuratorState, LocalTree, check_tree
from ._external_counts import ExternalCounts, ExternalMechanism, ExternalNoise, describe_external_spending
from ._report_counter import ReportCounter


@public_module("skprivate.collection")
class TreeCurator(ReportCounter):
    """Plans a locally private tree from public data, and fills it with reports that clients send.

    Always strict: bounds of X, and classes or bounds of y, come from public rows or are declared. Curators of
    one specification can work apart and be merged; each is saved by `to_bytes`, and goes on where it was.

    Parameters
    ----------
    tree : LocallyPrivateTreeClassifier or LocallyPrivateTreeRegressor
        Unfitted: its parameters are the plan. ``random_state`` and ``ledger`` must be None: the clients draw,
        and the clients pay. With ``domain`` clients are asked for the columns that it declares, as they are.
    X : array-like of shape (n_public, n_features), default=None
        Public rows; with a domain, a raw table. None: there are none, and ``tree`` declares bounds, or a
        domain, and classes or bounds of y.
    y : array-like of shape (n_public,), default=None
        Their labels or numbers.
    n_clients : int
        Number of reports that are expected, at least 1; the automatic depth depends on it.
    features : sequence of str, default=None
        Names of the columns. None: those of the domain, of X, where it has names, or of ``bounds``, where
        that is a dict.
    label : str, default="label"
        Name of the target's column.

    Attributes
    ----------
    specification : TreeSpecification
        What to publish.
    n_reports : int
        Number of reports counted.
    history : dict of str to (int, int)
        Batch id -> number of its reports that are counted, and that it has.

    Raises
    ------
    PrivacyLeakError
        Bounds or classes would have to be read from private rows.
    TypeError, ValueError
        Unusable rows or parameters.

    See Also
    --------
    TreeClient : Answers the specification.
    ReportWriter : Puts answers into a file.
    LocallyPrivateTreeClassifier : What `release` returns; its ``fit`` simulates all this in one place.
    LocallyPrivateTreeRegressor : The same, where clients report numbers.

    Notes
    -----
    **Privacy.** Relation: local (or label, with ``protect="label"``); a curator sees public rows and reports,
    each of which was made private on its client's device, so nothing that a curator does can cost more than
    the clients' epsilon: `release` is post-processing and may be called as often as one likes, also while
    reports still come in. That the clients ran what was specified, each of them once, is their claim and
    cannot be checked from here. Not protected: the number of reports, and who sent one.

    Proof: :doc:`/proofs/tree_release`.

    Every file of reports has a random batch id, and reports that come without a file are counted under an id
    that this curator draws at the first of them, a copy another. A merge of curators that share an id is
    refused, so that nothing is counted twice. Copies of a curator that has counted nothing share none: plan
    once, copy the state to every worker, merge at the end. Threads that share a curator wait for each other.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import LocallyPrivateTreeClassifier
    >>> from skprivate.collection import TreeCurator
    >>> rng = np.random.default_rng(0)
    >>> X_public = rng.uniform(size=(100, 2))
    >>> y_public = X_public[:, 0] > 0.5
    >>> plan = LocallyPrivateTreeClassifier(epsilon=4.0, bounds=(0, 1))
    >>> curator = TreeCurator(plan, X_public, y_public, n_clients=500)
    >>> for x in rng.uniform(size=(500, 2)):  # on 500 phones
    ...     curator.update(curator.client().randomize(x, x[0] > 0.5))
    >>> tree = curator.release()
    >>> tree.privacy_spent_.deployment, tree.n_reports_
    ('collected', 500)
    >>> tree.predict([[0.1, 0.5], [0.9, 0.5]])
    array([False,  True])
    """

    _shapes = False

    def __init__(
        self,
        tree: LocalTree,
        X: Any = None,
        y: Any = None,
        *,
        n_clients: int,
        features: Sequence[str] | None = None,
        label: str = "label",
    ) -> None:
        n_clients = check_int(n_clients, "n_clients", least=1)
        plan = check_tree(tree)
        design = design_collection(plan, X, y, n_clients, features)
        self._start(CuratorState.empty(plan, design, label))

    def _start(self, state: CuratorState) -> None:
        super()._start(state)
        self._external: ExternalCounts | None = None

    @property
    def n_reports(self) -> int:
        """Number of reports counted."""
        return self._state.n_reports if self._external is None else self._external.n_rows

    def from_counts(
        self,
        counts: ArrayLike,
        *,
        mechanism: Literal["laplace", "discrete-laplace", "gaussian"],
        epsilon: float | Fraction | None = None,
        noise_variance: float | Fraction | None = None,
        delta: float | Fraction = 0,
        relation: CentralRelation = "replace-one",
        max_rows_per_unit: int | None = None,
    ) -> "TreeCurator":
        """Return a curator that holds counts from elsewhere, those of a secure aggregation service, say.

        The service counts rows by leaf and label on this specification's partition; the reports of this
        curator are not used. Choose ``max_depth`` by hand: the automatic depth is for reports.

        Parameters
        ----------
        counts : array-like of shape (n_leaves, n_labels)
            Finite numbers, with the noise that was added; column m is the label ``classes[m]``.
        mechanism : {"laplace", "discrete-laplace", "gaussian"}
            The noise that the service added to every count, independently; "gaussian" is on the reals or on
            the integers.
        epsilon : float or Fraction, default=None
            Privacy loss of one unit by all counts together. None: what follows from `noise_variance`.
        noise_variance : float, default=None
            Variance of the noise in one count, above 0. None: what follows from `epsilon`, for Laplace noise.
        delta : float, default=0
            With "gaussian", above 0.
        relation : {"replace-one", "add-remove"}, default="replace-one"
            Which data sets the service calls neighbours.
        max_rows_per_unit : int, default=None
            Rows of one person that the service counts at most, where it protects persons. None: it protects
            rows.

        Returns
        -------
        curator : TreeCurator
            For `release` alone: it takes no reports, and is not saved or merged.

        Raises
        ------
        TypeError, ValueError
            The specification asks for a number; counts of another shape, not finite, or without a positive
            sum; a parameter out of range; `epsilon` and `noise_variance` that belong to different noise.

        Notes
        -----
        **Privacy.** Epsilon and the variance of the noise are derived from one another, for counts in each of
        which a row is 0 or 1: neither can be claimed without the other. That the noise was added so is the
        service's word.
        """
        if self.specification.bounds_y is not None:
            raise ValueError("external counts are of labels, and this specification asks for a number.")
        noise = ExternalNoise.of(mechanism, epsilon, noise_variance, delta, relation, max_rows_per_unit)
        curator = type(self).__new__(type(self))
        curator._start(self._state.without_reports())
        curator._external = ExternalMechanism(self._state.randomizer, noise).check(counts)
        return curator

    def release(self) -> LocalTree:
        """Return the tree that the reports so far make.

        A function of reports and public data, so it costs nothing and may be called again when more reports
        have come.

        Returns
        -------
        tree : LocallyPrivateTreeClassifier or LocallyPrivateTreeRegressor
            Fitted; ``privacy_spent_.deployment`` is "collected".

        Raises
        ------
        ValueError
            There are no reports, or impossible counts.
        """
        state, tree = self._state, clone(self._state.tree)
        external = self._external
        if external is not None:
            design = replace(state.design, randomizer=external.mechanism)
            spent = describe_external_spending(tree, design, external)
            tree._adopt(design, external.values.copy(), external.n_rows, spent)
            return tree
        if not state.n_reports:
            raise ValueError("there are no reports yet: nothing can be released.")
        spent = tree._describe_spending(
            state.design, state.n_reports, False, [], source="os-entropy", deployment="collected"
        )
        tree._adopt(state.design, state.counts.copy(), state.n_reports, spent)
        return tree

    def _open_state(self) -> CuratorState:
        """Return the state, to which reports may be added."""
        if self._external is not None:
            raise ValueError("a curator that was made from_counts holds a finished sum: only release it.")
        return self._state
