# SPDX-License-Identifier: BSD-3-Clause
"""Curators of reports: public rows and design, counting, and the released tree."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from .._typing import CentralRelation
from ..domain._labels import refuse_label_types
from ..exceptions import PrivacyLeakError
from ..rounds._rows import refuse_other_forms
from ..rounds._tables import count_columns
from ..tree import LocallyPrivateTreeRegressor
from ..tree._release import TreeDesign, shape_by_reports
from ..tree._splits_by_clients import FIRST_SHARE, FirstPhase
from ..utils import as_labels, check_epsilon, check_int
from ..utils._private_fit import redact_errors
from ..utils._public_module import public_module
from ..utils._tables import validate_data
from ._curator_state import CuratorState, LocalTree, check_tree
from ._external_counts import ExternalCounts, ExternalMechanism, ExternalNoise, describe_external_spending
from ._report_counter import ReportCounter


@public_module("skprivate.collection")
class TreeCurator(ReportCounter):
    """Plans a locally private tree from public data, and estimates its leaves from clients' reports.

    It is always strict: bounds of X, and classes or bounds of y, come from public rows or are declared.
    Several curators of one specification can count separately and be merged. `to_bytes` saves a curator,
    which can continue later.

    Parameters
    ----------
    tree : LocallyPrivateTreeClassifier or LocallyPrivateTreeRegressor
        Unfitted: its parameters are the plan. ``random_state`` and ``ledger`` must be None: the clients draw
        the noise, and their budget is spent. With ``domain`` clients are asked for the columns that it
        declares.
    X : array-like of shape (n_public, n_features), default=None
        Public rows; with a domain, a raw table. None: there are no public rows, and ``tree`` declares bounds
        or a domain, and classes or bounds of y.
    y : array-like of shape (n_public,), default=None
        Their labels or numbers.
    n_clients : int
        Expected number of reports, at least 1; the automatic depth depends on it.
    features : sequence of str, default=None
        Names of the columns. None: those of the domain, of X if it has names, or of ``bounds`` if that is a
        dict.
    label : str, default="label"
        Name of the target's column.

    Attributes
    ----------
    specification : TreeSpecification
        The specification to publish.
    n_reports : int
        Number of counted reports.
    history : dict of str to (int, int)
        Batch id -> number of its counted reports, and of all its reports.

    Raises
    ------
    PrivacyLeakError
        Bounds or classes would be read from private rows.
    TypeError, ValueError
        Rows or parameters are invalid.

    See Also
    --------
    TreeClient : Answers the specification.
    ReportWriter : Writes reports to a file.
    LocallyPrivateTreeClassifier : The result of `release`; its ``fit`` simulates the whole collection.
    LocallyPrivateTreeRegressor : The same for clients that report numbers.

    Notes
    -----
    **Privacy.** Relation: local (or label, with ``protect="label"``). A curator sees public rows and reports,
    each of which was made private on its client's device. Nothing that a curator does can cost more than the
    clients' epsilon. `release` is post-processing, and may be called any number of times, also while reports
    still arrive. The curator cannot check that every client ran the specified mechanism, and only once. Not
    protected: the number of reports, and who sent one.

    Proof: :doc:`/proofs/tree_release`.

    Every file of reports has a random batch id. Reports that arrive without a file are counted under an id
    that this curator draws at the first of them; a copy of the curator draws another. `merge` refuses
    curators that share an id, so that nothing is counted twice. Copies of a curator that has counted nothing
    share no id: plan once, copy the state to every worker, and merge at the end. Threads that share a curator
    wait for each other.

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
        """Number of counted reports."""
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
        """Return a curator with external counts, for example from a secure aggregation service.

        The service counts rows by leaf and label on this specification's partition. The reports of this
        curator are not used. Set ``max_depth``: the automatic depth is for reports.

        Parameters
        ----------
        counts : array-like of shape (n_leaves, n_labels)
            Finite numbers that include the noise; column m is the label ``classes[m]``.
        mechanism : {"laplace", "discrete-laplace", "gaussian"}
            Distribution of the noise that the service added independently to every count. "gaussian" is on
            the reals or on the integers.
        epsilon : float or Fraction, default=None
            Privacy loss of one unit by all counts together. None: derived from `noise_variance`.
        noise_variance : float, default=None
            Variance of the noise in one count, above 0. None: derived from `epsilon`, for Laplace noise only.
        delta : float, default=0
            Delta of the guarantee: above 0 with "gaussian", and otherwise 0.
        relation : {"replace-one", "add-remove"}, default="replace-one"
            Neighbouring relation of the service.
        max_rows_per_unit : int, default=None
            Largest number of rows of one person that the service counts, if it protects persons. None: it
            protects rows.

        Returns
        -------
        curator : TreeCurator
            It is only for `release`: it accepts no reports, and cannot be saved or merged.

        Raises
        ------
        TypeError, ValueError
            The specification asks for a number. The counts have another shape, are not finite, or have no
            positive sum. A parameter is out of range, or `epsilon` and `noise_variance` contradict each
            other.

        Notes
        -----
        **Privacy.** Epsilon and the variance of the noise are derived from each other, for counts in which a
        row is 0 or 1. Neither can be claimed without the other. Whether the service added this noise cannot
        be checked here.
        """
        if self.specification.bounds_y is not None:
            raise ValueError("external counts are of labels, and this specification asks for a number.")
        noise = ExternalNoise.of(mechanism, epsilon, noise_variance, delta, relation, max_rows_per_unit)
        curator = type(self).__new__(type(self))
        curator._start(self._state.without_reports())
        curator._external = ExternalMechanism(self._state.randomizer, noise).check(counts)
        return curator

    def release(self) -> LocalTree:
        """Return the tree of the reports so far.

        It is a function of reports and public data, so it costs nothing. Call it again after more reports
        have arrived.

        Returns
        -------
        tree : LocallyPrivateTreeClassifier or LocallyPrivateTreeRegressor
            Fitted; ``privacy_spent_.deployment`` is "collected".

        Raises
        ------
        ValueError
            There are no reports, or the counts are impossible.
        """
        state, tree = self._state, clone(self._state.tree)
        external = self._external
        if external is not None:
            # It has the members of a `ReleaseMechanism`.
            design = replace(state.design, randomizer=external.mechanism)  # type: ignore[arg-type]
            spent = describe_external_spending(tree, design, external)
            tree._adopt(design, external.values.copy(), external.n_rows, spent)
            return tree
        if not state.n_reports:
            raise ValueError("there are no reports yet: count some with update or update_file first.")
        spent = tree._describe_spending(
            state.design, state.n_reports, False, [], source="os-entropy", deployment="collected"
        )
        tree._adopt(state.design, state.counts.copy(), state.n_reports, spent)
        return tree

    def _open_state(self) -> CuratorState:
        """Return the state, if reports may be added to it."""
        if self._external is not None:
            raise ValueError("a curator of from_counts holds finished counts: only release it.")
        return self._state


@public_module("skprivate.collection")
class SplitCurator(ReportCounter):
    """Plans a locally private tree without public rows, with splits from the reports of some clients.

    Its specification asks for the bins of columns, or with a domain for the levels, bins and missing cells of
    declared columns. The curator counts the reports of the clients that answer it. Then `shape` returns the
    `TreeCurator` of the second phase, whose specification is for all other clients. It is always strict:
    bounds or a domain, and classes or bounds of y, must be declared.

    Parameters
    ----------
    tree : LocallyPrivateTreeClassifier or LocallyPrivateTreeRegressor
        Unfitted: its parameters are the plan. ``random_state`` and ``ledger`` must be None, and ``protect``
        "record". If ``split_share`` is a number, that share of the clients is asked first; "auto" is 0.6.
    n_clients : int
        Expected number of clients of both phases.
    features : sequence of str, default=None
        Names of the columns. None: those of the domain, or of ``bounds`` if that is a dict.
    label : str, default="label"
        Name of the target's column.

    Attributes
    ----------
    specification : TreeSpecification
        The specification to publish to the clients of the first phase.
    n_wanted : int
        Number of reports for which the plan is made.
    n_reports : int
        Number of counted reports.
    history : dict of str to (int, int)
        Batch id -> number of its counted reports, and of all its reports.

    Raises
    ------
    PrivacyLeakError
        Bounds, or classes or bounds of y, are not declared.
    TypeError, ValueError
        Parameters are invalid, or there are too few clients for reports that shape the tree.

    See Also
    --------
    TreeCurator : The second phase, or the only one with public rows or with splits drawn at random.
    TreeClient : Answers a specification.

    Notes
    -----
    **Privacy.** Relation: local. Every report of either phase is epsilon-private, whatever the earlier
    reports were: the second specification is a function of them, and is public before a client of the second
    phase answers. Ask every person in ONE phase only. Choose the phase by a coin, by an id, or by the order
    of arrival, and never by the data. A person who answers both specifications spends twice epsilon. A
    `TreeClient` with a memory that both phases share refuses to do so, unless ``lifetime_epsilon`` allows it.

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
        self, tree: LocalTree, *, n_clients: int, features: Sequence[str] | None = None, label: str = "label"
    ) -> None:
        n_clients = check_int(n_clients, "n_clients", least=1)
        plan = check_tree(tree)
        self._start(CuratorState.empty(plan, design_splits(plan, n_clients, features), label))

    @property
    def n_wanted(self) -> int:
        """Number of reports for which the plan is made."""
        first = self._state.design.first_phase
        return 0 if first is None else first.n_reports

    def shape(self, *, n_clients: int) -> TreeCurator:
        """Return the curator of the second phase, with a partition from the reports so far.

        It is a function of reports and public data, so it costs nothing. It may be called again after more
        reports have arrived, but publish only one of the second specifications.

        Parameters
        ----------
        n_clients : int
            Expected number of clients that answer the second specification; the depth depends on it.

        Returns
        -------
        curator : TreeCurator

        Raises
        ------
        ValueError
            There are no reports.
        """
        n_clients = check_int(n_clients, "n_clients", least=1)
        state, plan = self._state, self._state.design.first_phase
        if plan is None or not state.n_reports:
            raise ValueError("there are no reports yet: count some with update or update_file first.")
        first = replace(plan, counts=state.counts.copy(), n_reports=state.n_reports)
        design = shape_by_reports(clone(state.tree), state.design, first, n_clients)
        curator = TreeCurator.__new__(TreeCurator)
        curator._start(CuratorState.empty(state.tree, design, state.specification.label))
        return curator


# Design of a collection before it is published, from public rows.


@redact_errors
def design_collection(
    tree: LocalTree, X: Any, y: Any, n_clients: int, features: Sequence[str] | None
) -> TreeDesign:
    """Return the public design of a tree by the steps of ``fit``, but with all clients for the leaves."""
    if X is None and tree.split_share != "auto" and tree.split_share > 0:
        raise ValueError(
            "without public rows, clients that shape the tree answer a specification of their own: plan with "
            "SplitCurator, or pass split_share=0 for splits that are drawn at random."
        )
    plan = clone(tree).set_params(split_share=0) if X is None else tree
    return _design(plan, X, y, n_clients, features)


@redact_errors
def design_splits(tree: LocalTree, n_clients: int, features: Sequence[str] | None) -> TreeDesign:
    """Return the public design of a tree that reports will shape: its first phase."""
    automatic = tree.split_share == "auto"
    # The user has asked for it, so it also happens with few columns, which a fit would halve in turn.
    plan = clone(tree).set_params(split_share=float(FIRST_SHARE)) if automatic else tree
    design = _design(plan, None, None, n_clients, features)
    groups = () if tree.domain is None else tree.domain.groups
    public = n_clients, len(design.classes), design.bounds, groups
    enough = not automatic or FirstPhase.plan(check_epsilon(tree.epsilon), "auto", *public)
    if design.first_phase is None or not enough:
        raise ValueError(
            "reports of a share of these clients cannot shape a tree: there are too few clients for this "
            "epsilon, or the plan asks for random splits, or label privacy. Plan with TreeCurator, or pass "
            "split_share."
        )
    return design


def _design(tree: LocalTree, X: Any, y: Any, n_clients: int, features: Sequence[str] | None) -> TreeDesign:
    if (X is None) != (y is None):
        raise ValueError(f"X and y belong together: pass public rows with their {tree._targets}, or neither.")
    # The steps set attributes of a fit, on a copy that is not kept.
    worker, domain = clone(tree), tree.domain
    worker._check_domain()
    if domain is not None and features is not None and tuple(features) != domain.names:
        raise ValueError("features must be the columns of the domain, in their order.")
    if X is None:
        # Both are needed: with protect="label" a fit may read bounds from rows, but here there are none.
        bounds = tree._declared_bounds
        declared = {tree._bounds_parameter: bounds if domain is None else domain}
        declared[tree._target_parameter] = getattr(tree, tree._target_parameter)
        missing = [name for name, value in declared.items() if value is None]
        if missing:
            raise PrivacyLeakError(f"without public rows {' and '.join(missing)} must be declared.")
        names = _names_without_rows(bounds, features) if domain is None else list(domain.encoded_names)
        X = np.empty((0, len(names) if names else _n_columns(bounds)))
        y = np.empty(0, dtype=np.float64 if isinstance(tree, LocallyPrivateTreeRegressor) else object)
        worker.n_features_in_ = X.shape[1]
    else:
        numbers = isinstance(tree, LocallyPrivateTreeRegressor)
        if numbers:
            refuse_other_forms(y)
        else:
            refuse_label_types(y, tree.classes)
        y = y if numbers else as_labels(y)
        options: dict[str, Any] = {"dtype": np.float64, "order": "C", "y_numeric": numbers}
        X, y = validate_data(worker, worker._encode_rows(X), y, **options)
        y = np.asarray(y, dtype=np.float64) if numbers else y
        own = getattr(worker, "feature_names_in_", None)
        names = _names_of_rows(own, features, X.shape[1]) if domain is None else []
    if names:
        worker.feature_names_in_ = np.array(names, dtype=object)
    rows = worker._part_rows(X, y, np.ones(len(X), dtype=bool), None)
    return worker._design(rows, n_clients)


def _names_of_rows(found: Any, given: Sequence[str] | None, n_columns: int) -> list[str]:
    own = [] if found is None else [str(name) for name in found]
    names = own if given is None else list(given)
    if own and names != own:
        raise ValueError(f"features must be the columns of X in their order: {', '.join(own)}.")
    if given is not None and len(names) != n_columns:
        raise ValueError(f"features has {len(names)} names, but X has {n_columns} columns.")
    return names


def _names_without_rows(bounds: Any, given: Sequence[str] | None) -> list[str]:
    if given is not None:
        return list(given)
    by_name = isinstance(bounds, Mapping) and all(isinstance(name, str) for name in bounds)
    return list(bounds) if by_name else []


def _n_columns(bounds: Any) -> int:
    """Return the number of columns of declared bounds."""
    found = count_columns(bounds)
    if found is None:
        raise ValueError("features must name the columns: the bounds do not say how many there are.")
    return found
