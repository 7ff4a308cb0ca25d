# SPDX-License-Identifier: BSD-3-Clause
"""Curator of a collection: publishes a specification, adds up reports, releases the tree."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from .._typing import CentralRelation, IntArray
from ..tree import LocallyPrivateTreeClassifier
from ..utils import check_int
from ..utils._atomic_state import one_thread_at_a_time
from ..utils._public_module import public_module
from ._checkpoint import SavedCurator
from ._client import ClientOptions, TreeClient
from ._collection_design import design_collection
from ._curator_state import CuratorState, check_tree
from ._external_counts import ExternalCounts, ExternalMechanism, ExternalNoise, describe_external_spending
from ._report_files import ReportReader

# Bytes of small reports that are added up together.
_BYTES_AT_ONCE = 2**20
_SECONDS_BETWEEN_CHECKPOINTS = 5.0
_LARGEST_COUNT = 2**63 - 1


@public_module("skprivate.collection")
class TreeCurator(SavedCurator):
    """Plans a locally private tree from public data, and fills it with reports that clients send.

    Always strict: bounds and classes come from public rows or are declared. Curators of one specification can
    work apart and be merged; each is saved by `to_bytes`, and goes on where it was.

    Parameters
    ----------
    tree : LocallyPrivateTreeClassifier
        Unfitted: its parameters are the plan. ``random_state`` and ``ledger`` must be None: the clients draw,
        and the clients pay. With ``domain`` clients are asked for the columns that it declares, as they are.
    X : array-like of shape (n_public, n_features), default=None
        Public rows; with a domain, a raw table. None: there are none, and ``tree`` declares bounds, or a
        domain, and classes.
    y : array-like of shape (n_public,), default=None
        Their labels.
    n_clients : int
        Number of reports that are expected, at least 1; the automatic depth depends on it.
    features : sequence of str, default=None
        Names of the columns. None: those of the domain, of X, where it has names, or of ``bounds``, where
        that is a dict.
    label : str, default="label"
        Name of the label's column.

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

    def __init__(
        self,
        tree: LocallyPrivateTreeClassifier,
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
        self._state = state
        self._external: ExternalCounts | None = None
        self._checkpoint = None
        # A copy counts on under an id of its own: equal counts of one id are those of the same reports.
        # With the process that drew it: a fork counts on under another id.
        self._own_stream: tuple[int, str] | None = None
        self.specification = state.specification

    @property
    def n_reports(self) -> int:
        """Number of reports counted."""
        return self._state.n_reports if self._external is None else self._external.n_rows

    @property
    def history(self) -> dict[str, tuple[int, int]]:
        """Batch id -> number of its reports that are counted, and that it has."""
        return dict(self._state.history)

    def client(self, **options: Unpack[ClientOptions]) -> TreeClient:
        """Return a client of this specification; options as in `TreeClient`."""
        return TreeClient(self.specification, **options)

    def update(self, reports: Any) -> None:
        """Count reports that come without a file.

        Parameters
        ----------
        reports : bytes-like, ndarray of shape (n, \\*report_shape), or iterable of these
            One or several reports, as clients, the randomizer and `TreeSpecification.randomize_many` return
            them; passed twice, they count twice.

        Raises
        ------
        TypeError, ValueError
            One cannot be a report of this specification, or the counts are external (`from_counts`); none is
            counted then.
        """
        randomizer = self._open_state().randomizer
        counts, n = np.zeros(randomizer.counts_shape, dtype=np.int64), 0
        for batch in self._batches(reports):
            counts = _add_counts(counts, randomizer.aggregate(batch))
            n += len(batch)
        if n:
            self._count(counts, n)

    @one_thread_at_a_time
    def _count(self, counts: IntArray, n: int) -> None:
        state = self._open_state()
        process, own = os.getpid(), self._own_stream
        stream = own[1] if own is not None and own[0] == process else os.urandom(16).hex()
        counted = state.history.get(stream, (0, 0))[0] + n
        counts = _add_counts(state.counts, counts)
        # First, so that an interrupt between them leaves no report under an id that is drawn anew.
        self._own_stream = process, stream
        self._state = state.with_counts(counts, {stream: (counted, counted)}, stream)

    @one_thread_at_a_time
    def update_file(
        self,
        path: str | os.PathLike[str],
        progress: Callable[[int, int], object] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> bool:
        """Count the reports of a file, unless they are counted already.

        Parameters
        ----------
        path : str or path-like
            As a `ReportWriter` wrote it. Memory does not grow with it.
        progress : callable, default=None
            Called as ``progress(counted, total)`` after every piece.
        checkpoint : str or path-like, default=None
            Where to `save`, every few seconds and at the end, also if the batch was counted before: what this
            method returned for is in the file. A curator that is killed goes on from there (`from_file`) with
            the same reports. The file is held until `close`.

        Returns
        -------
        counted : bool
            False if the batch was counted before, and so was dropped.

        Raises
        ------
        OSError, ValueError
            The file cannot be read, is cut short, foreign, of a newer version or another specification's, or
            a report in it is impossible; the message names the file and the byte. What was counted before
            stays valid. Or the counts are external (`from_counts`). Or the checkpoint is refused, as by
            `save`, and then nothing is counted.
        """
        state = self._open_state()
        if checkpoint is not None:
            self._hold(checkpoint)
        with ReportReader(path, self.specification) as reader:
            counted, total = state.history.get(reader.batch_id, (0, reader.n_reports))
            if total != reader.n_reports:
                raise reader.error(64, f"a batch of this id had {total} reports, not {reader.n_reports}")
            if counted == total and reader.batch_id in state.history:
                # The attempt that counted it may have ended before it was saved, or saved elsewhere.
                self._save_if_asked(checkpoint)
                return False
            saved = time.monotonic()
            for first, reports in reader.chunks(counted):
                if self._state.history.get(reader.batch_id, (0, total))[0] != first:
                    raise reader.error(
                        reader.byte_offset(first), "this batch was counted by another call meanwhile"
                    )
                try:
                    counts = state.randomizer.aggregate(reports)
                    counted = first + len(reports)
                    counts = _add_counts(self._state.counts, counts)
                    self._state = self._state.with_counts(counts, {reader.batch_id: (counted, total)})
                except ValueError as error:
                    raise reader.error(reader.byte_offset(first), f"from here on: {error}") from None
                if progress is not None:
                    progress(counted, total)
                if checkpoint is not None and time.monotonic() - saved > _SECONDS_BETWEEN_CHECKPOINTS:
                    self.save(checkpoint)
                    saved = time.monotonic()
            if not total:
                self._state = self._state.with_counts(self._state.counts, {reader.batch_id: (0, 0)})
        self._save_if_asked(checkpoint)
        return True

    def merge(self, other: "TreeCurator") -> None:
        """Add the counts of another curator, which stays as it is.

        Parameters
        ----------
        other : TreeCurator
            Of the same specification.

        Raises
        ------
        TypeError, ValueError
            No curator, another specification, a batch that both have counted in part or in full, or external
            counts (`from_counts`); nothing changes then.
        """
        if not isinstance(other, TreeCurator):
            raise TypeError(f"other must be a TreeCurator, not {type(other).__name__}.")
        # The other's state is one object, which is replaced and never changed: no lock of its own is needed.
        self._merge(other._open_state())

    @one_thread_at_a_time
    def _merge(self, theirs: CuratorState) -> None:
        mine = self._open_state()
        if theirs.specification != mine.specification:
            raise ValueError("the curators have different specifications: their counts do not add up.")
        shared = sorted(mine.history.keys() & theirs.history.keys())
        if shared:
            raise ValueError(
                f"both curators have counted the batch {shared[0]}, and {len(shared) - 1} more: merging them "
                "would count reports twice."
            )
        self._state = mine.with_counts(_add_counts(mine.counts, theirs.counts), theirs.history)

    def to_bytes(self) -> bytes:
        """Return the whole curator as JSON: public inputs, counts, and which batches they hold.

        Returns
        -------
        data : bytes
            To be written to a file by the caller, or by ``update_file(..., checkpoint=...)``.

        Raises
        ------
        TypeError, ValueError
            A parameter of the tree is of a type that JSON cannot hold, or the counts are external
            (`from_counts`).
        """
        return self._open_state().to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore a curator from `to_bytes`.

        Parameters
        ----------
        data : bytes
            Nothing in it is executed or trusted.

        Returns
        -------
        curator : TreeCurator

        Raises
        ------
        ValueError
            Damaged, foreign, or of a newer version.
        """
        curator = cls.__new__(cls)
        curator._start(CuratorState.from_bytes(data))
        return curator

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
            Counts of another shape, not finite, or without a positive sum; a parameter out of range;
            `epsilon` and `noise_variance` that belong to different noise.

        Notes
        -----
        **Privacy.** Epsilon and the variance of the noise are derived from one another, for counts in each of
        which a row is 0 or 1: neither can be claimed without the other. That the noise was added so is the
        service's word.
        """
        noise = ExternalNoise.of(mechanism, epsilon, noise_variance, delta, relation, max_rows_per_unit)
        curator = type(self).__new__(type(self))
        curator._start(self._state.without_reports())
        curator._external = ExternalMechanism(self._state.randomizer, noise).check(counts)
        return curator

    def release(self) -> LocallyPrivateTreeClassifier:
        """Return the tree that the reports so far make.

        A function of reports and public data, so it costs nothing and may be called again when more reports
        have come.

        Returns
        -------
        tree : LocallyPrivateTreeClassifier
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

    def __getstate__(self) -> dict[str, Any]:
        # A file has one holder, and a copy counts on under another id.
        return {**vars(self), "_checkpoint": None, "_own_stream": None}

    def __repr__(self) -> str:
        return f"TreeCurator({self.specification!r}, n_reports={self.n_reports})"

    def _batches(self, reports: Any) -> Iterator[NDArray[Any]]:
        if isinstance(reports, np.ndarray):
            yield reports
        elif isinstance(reports, bytes | bytearray | memoryview):
            yield self.specification.unpack(reports)
        elif isinstance(reports, str | Mapping) or not isinstance(reports, Iterable):
            raise TypeError("reports must be bytes, an array of reports, or an iterable of these.")
        else:
            for batch in _join_reports(reports, self._state.randomizer.report_bytes):
                yield self.specification.unpack(batch) if isinstance(batch, bytes) else batch


def _join_reports(pieces: Iterable[Any], size: int) -> Iterator[bytes | NDArray[Any]]:
    """Join reports in bytes into batches of about a mebibyte; arrays of reports are passed on."""
    held, length = [], 0
    for piece in pieces:
        if isinstance(piece, np.ndarray):
            yield piece
            continue
        if not isinstance(piece, bytes | bytearray | memoryview):
            raise TypeError(f"an iterable of reports must hold bytes or arrays, not {type(piece).__name__}.")
        if len(piece) % size:
            raise ValueError(f"a piece of {len(piece)} bytes is no whole number of reports of {size} bytes.")
        held.append(piece)
        length += len(piece)
        if length >= _BYTES_AT_ONCE:
            yield b"".join(held)
            held, length = [], 0
    yield b"".join(held)


def _add_counts(counts: IntArray, more: IntArray) -> IntArray:
    """Add exactly, or refuse: forged reports of the Laplace mechanisms can be huge."""
    # int(): the magnitude of the lowest int64 is none.
    largest = sum(max(int(part.max()), -int(part.min())) for part in (counts, more))
    if largest > _LARGEST_COUNT:
        raise ValueError("the counts would pass 2^63: some of these reports must be forged.")
    return counts + more
