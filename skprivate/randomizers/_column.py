# SPDX-License-Identifier: BSD-3-Clause
"""Reports about one column that the client draws: its bin there and its label, by subset selection."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import FloatArray, IntArray
from ..accounting import Blanket
from ..noise._mechanisms import Entropy
from ..noise._sampling_kernels import fill_below
from ..noise._stream_kernels import WordStream
from ..utils import check_int
from ..utils._public_module import public_module
from ._interface import LocalRandomizer
from ._response import SubsetRandomizer

# The number of a column is sent in two bytes.
_MOST_COLUMNS = 2**16
_COLUMN = np.dtype("<u2")


@public_module("skprivate.randomizers")
class ColumnRandomizer(LocalRandomizer):
    """Subset selection on (bin, label) of one column, which the client draws and reports.

    The column is drawn uniformly, independently of the data, and sent in the clear. The category of the
    client in that column, ``n_labels * bin + label``, is sent by subset selection. All reports together give
    estimates of the numbers of clients by column, bin and label.

    Parameters
    ----------
    epsilon : float or Fraction
        Privacy loss of one report, > 0 and finite.
    n_cells : int
        Number of bins of every column.
    n_labels : int, default=2
        Number of labels.
    n_columns : int, default=1
        Number of columns, at most 2^16.
    subset_size : int, default=None
        As in `SubsetRandomizer`, for the ``n_cells * n_labels`` categories of one column.

    Attributes
    ----------
    epsilon : Fraction
        Cost of a report: the request.
    n_columns : int
        Number of columns.
    subset_size : int
        Number of categories in a report.
    threshold : int
        The category is in the set if a uniform 64-bit word is below this.
    odds : Fraction
        The exact ratio of the probabilities of a report under a category in it and one outside, at most
        exp(epsilon).

    See Also
    --------
    SubsetRandomizer : The mechanism for the drawn column.

    Notes
    -----
    `randomize` and `simulate` take the categories of a client in ALL columns, of shape ``(n, n_columns)``. A
    report has two bytes for the column, and a bit for each category of one column. Counts have the shape
    ``(n_columns, n_cells * n_labels)``. `estimate` returns the shape ``(n_columns, n_cells, n_labels)``, for
    the clients that drew the column. `variance` and `leakage` are those of one column, assuming that n /
    n_columns of the n clients drew it.

    **Privacy.** Relation: local. The column has the same distribution whatever the client's data. Given the
    column, the report is one of subset selection: any two clients differ in the probability of a report by at
    most a factor ``odds``, which is certified in integers to be at most exp(epsilon). Only integers are
    compared, so there is no floating point to attack. The number of random words does not depend on the data,
    but the time of other operations may.

    Proof: :doc:`/proofs/subset`.

    References
    ----------
    Ye, Barg, Optimal schemes for discrete distribution estimation under locally differential privacy, IEEE
    Transactions on Information Theory 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate.randomizers import ColumnRandomizer
    >>> randomizer = ColumnRandomizer(epsilon=2.0, n_cells=4, n_labels=2, n_columns=2)
    >>> categories = np.tile([0, 7], (20000, 1))  # in the first bin of one column, in the last of the other
    >>> counts = randomizer.aggregate(randomizer.randomize(categories, random_state=0))
    >>> estimates = randomizer.estimate(counts, n=20000)
    >>> estimates.shape, bool(abs(estimates[1, 3, 1] - 10000) < 1000)
    ((2, 4, 2), True)
    """

    name = "column"
    _options = ("n_columns", "subset_size")

    def __init__(
        self,
        epsilon: float | Fraction,
        n_cells: int,
        n_labels: int = 2,
        *,
        n_columns: int = 1,
        subset_size: int | None = None,
    ) -> None:
        super().__init__(epsilon, n_cells, n_labels)
        self.n_columns = check_int(n_columns, "n_columns", least=1)
        if self.n_columns > _MOST_COLUMNS:
            raise ValueError(f"n_columns must be at most {_MOST_COLUMNS}, got {self.n_columns}.")
        self._inner = SubsetRandomizer(self.epsilon, n_cells, n_labels, subset_size=subset_size)
        self.subset_size, self.odds = self._inner.subset_size, self._inner.odds
        self.threshold = self._inner.threshold
        self.report_dtype = np.dtype(np.uint8)
        self.report_shape = (_COLUMN.itemsize + self._inner.report_bytes,)
        self.counts_shape = (self.n_columns, self.n_categories)

    def describe(self) -> str:
        """Return the mechanism and its resolved parameters in a few words.

        Returns
        -------
        description : str
        """
        return (
            f"subset selection on (bin, label) of one of {self.n_columns} columns, drawn without data "
            f"(K={self.n_categories}, d={self.subset_size})"
        )

    def blanket(self) -> Blanket | None:
        """Return the common part of all clients' reports: in every column that of subset selection.

        The column has the same distribution for all clients, so the masses add up to those of one column.

        Returns
        -------
        blanket : Blanket
        """
        return self._inner.blanket()

    @property
    def client_variance(self) -> float:
        """Variance that a client adds to the estimate of another category than its own in its column."""
        # A label's estimate has half the variance of a difference of two.
        return 0.5 * self._inner._pair_variances()[1]

    def clients_by_column(self, counts: ArrayLike) -> IntArray:
        """Return the number of clients that drew each column, which the reports contain.

        Parameters
        ----------
        counts : array-like of int of shape (n_columns, n_cells * n_labels)

        Returns
        -------
        n_clients : ndarray of int64 of shape (n_columns,)
        """
        return np.asarray(counts).sum(axis=1) // self.subset_size

    def column_variances(self, counts: ArrayLike) -> FloatArray:
        """Return the noise variance of the estimate of a category with few clients.

        Parameters
        ----------
        counts : array-like of int of shape (n_columns, n_cells * n_labels)

        Returns
        -------
        variances : ndarray of shape (n_columns,)
        """
        return self.client_variance * self.clients_by_column(counts).astype(np.float64)

    def _check_categories(self, categories: ArrayLike) -> IntArray:
        array = np.asarray(categories)
        if array.ndim != 2 or array.shape[1] != self.n_columns:
            raise ValueError(f"categories must have shape (n, {self.n_columns}), one for every column.")
        checked = super()._check_categories(array.ravel())
        return checked.reshape(-1, self.n_columns)

    def _randomize(self, categories: IntArray, entropy: Entropy) -> NDArray[Any]:
        n = len(categories)
        columns = np.empty(n, dtype=np.int64)
        # A number below n_columns takes up to two draws of as many bits, on average.
        words = 1 + n * 2 * self.n_columns.bit_length() // 64
        with WordStream(entropy, words) as stream:
            fill_below(columns, np.full(n, self.n_columns, dtype=np.int64), stream)
        reports = np.empty((n, *self.report_shape), dtype=np.uint8)
        reports[:, : _COLUMN.itemsize] = columns.astype(_COLUMN).view(np.uint8).reshape(n, -1)
        reports[:, _COLUMN.itemsize :] = self._inner._randomize(categories[np.arange(n), columns], entropy)
        return reports

    def _aggregate(self, reports: NDArray[Any]) -> IntArray:
        columns = np.ascontiguousarray(reports[:, : _COLUMN.itemsize]).view(_COLUMN).ravel()
        if len(columns) and columns.max() >= self.n_columns:
            raise ValueError(f"a report has no column of 0..{self.n_columns - 1}: another specification?")
        counts = np.zeros(self.counts_shape, dtype=np.int64)
        order = np.argsort(columns, kind="stable")
        ends = np.searchsorted(columns[order], np.arange(self.n_columns + 1))
        sets = np.ascontiguousarray(reports[order, _COLUMN.itemsize :])
        for column in range(self.n_columns):
            counts[column] = self._inner._aggregate(sets[ends[column] : ends[column + 1]])
        return counts

    def _estimate(self, counts: IntArray, n: int) -> FloatArray:
        own, other = map(float, self._inner._shares())
        clients = self.clients_by_column(counts)[:, np.newaxis].astype(np.float64)
        estimates: FloatArray = (counts.astype(np.float64) - clients * other) / (own - other)
        return estimates.reshape(-1, self.n_cells, self.n_labels)

    def _possible(self, counts: IntArray, n: int) -> bool:
        clients = self.clients_by_column(counts)
        each = all(self._inner._possible(own, int(total)) for own, total in zip(counts, clients, strict=True))
        return each and int(clients.sum()) == n

    def _leakage(self, prior: FloatArray) -> float:
        # The column leaks nothing; in every column the prior is that of its category.
        return self._inner._leakage(prior)

    def _even_variance(self) -> float:
        return self._inner._even_variance() / self.n_columns

    def _variance(self, label_counts: FloatArray) -> FloatArray:
        return self._inner._variance(label_counts) / self.n_columns
