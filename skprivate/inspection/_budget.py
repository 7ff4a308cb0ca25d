# SPDX-License-Identifier: BSD-3-Clause
"""Display of a ledger: cumulative epsilon or delta by label or estimator, against the ceiling."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from ..accounting import PrivacyLedger
from ..accounting._checks import check_choice
from ..utils._public_module import public_module
from ._matplotlib import new_axes

By = Literal["label", "estimator"]
Quantity = Literal["epsilon", "delta"]
Against = Literal["time", "fits"]


@public_module("skprivate.inspection")
class BudgetDisplay:
    """What a ledger has spent, stacked by label or estimator, against its ceiling.

    It is recommended to use `from_ledger`; parameters are stored as attributes.

    Parameters
    ----------
    times : sequence of datetime of length n_entries
        When the entries were charged, oldest first.
    groups : sequence of str of length n_entries
        The group of every entry.
    amounts : array-like of shape (n_entries,)
        What every entry spent.
    ceiling : float or None, default=None
        The ledger's ceiling.
    quantity : {"epsilon", "delta"}, default="epsilon"
        What the amounts are of.
    n_not_private : int, default=0
        Number of entries that are not private.
    n_kinds : int, default=1
        Number of different relations and units among the entries.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the picture.
    figure_ : matplotlib Figure
        The figure of the axes.
    areas_ : list of matplotlib PolyCollection
        One area for each group, the first charged at the bottom; empty if the ledger is.
    ceiling_line_ : matplotlib Line2D or None
        The ceiling.

    See Also
    --------
    skprivate.PrivacyLedger : What is drawn.

    Notes
    -----
    **Privacy.** A picture of what the ledger's file says; it costs nothing. Labels, names and times are
    public by nature. The total is by basic composition, as if all entries touched the same rows; the title
    says where relations or units differ, and the total holds for none of them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from matplotlib.figure import Figure
    >>> from skprivate import PrivacyLedger, PrivacySpent
    >>> from skprivate.inspection import BudgetDisplay
    >>> spent = PrivacySpent(
    ...     mechanism="discrete Laplace", epsilon=0.5, relation="replace-one", noise_scale=4,
    ...     noise_source="os-entropy", deployment="curator", claim="dp")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = PrivacyLedger(Path(folder, "study.ledger"), epsilon=2)
    ...     for study in ("pilot", "main", "main"):
    ...         with ledger.label(study):
    ...             ledger.charge(spent, "DPTreeClassifier")
    ...     display = BudgetDisplay.from_ledger(ledger, ax=Figure().subplots())
    >>> display.totals()
    {'pilot': 0.5, 'main': 1.0}
    """

    def __init__(
        self,
        *,
        times: Sequence[datetime],
        groups: Sequence[str],
        amounts: Any,
        ceiling: float | None = None,
        quantity: Quantity = "epsilon",
        n_not_private: int = 0,
        n_kinds: int = 1,
    ) -> None:
        self.times = times
        self.groups = groups
        self.amounts = amounts
        self.ceiling = ceiling
        self.quantity = quantity
        self.n_not_private = n_not_private
        self.n_kinds = n_kinds

    @classmethod
    def from_ledger(
        cls,
        ledger: PrivacyLedger,
        *,
        by: By = "label",
        quantity: Quantity = "epsilon",
        against: Against = "time",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw what a ledger has spent.

        Parameters
        ----------
        ledger : PrivacyLedger
            It is read once.
        by : {"label", "estimator"}, default="label"
            What makes a group. Entries without a label are the group "no label".
        quantity : {"epsilon", "delta"}, default="epsilon"
            What is added up.
        against : {"time", "fits"}, default="time"
            The horizontal axis: when an entry was charged, in UTC, or its number.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            Keywords of `matplotlib.axes.Axes.fill_between`, such as ``alpha``.

        Returns
        -------
        display : BudgetDisplay

        Raises
        ------
        TypeError, ValueError
            Something else than a ledger, or a choice that is none of those above.
        LedgerError
            The ledger's file cannot be read.
        ImportError
            Matplotlib is not installed.
        """
        if not isinstance(ledger, PrivacyLedger):
            raise TypeError(f"ledger must be a PrivacyLedger, got {type(ledger).__name__}.")
        check_choice(by, "by", get_args(By))
        check_choice(quantity, "quantity", get_args(Quantity))
        check_choice(against, "against", get_args(Against))
        entries = ledger.entries()
        has_ceiling = ledger.epsilon is not None
        display = cls(
            times=[entry.time for entry in entries],
            groups=[str(getattr(entry, by) or "no label") for entry in entries],
            amounts=[float(getattr(entry, quantity)) for entry in entries],
            ceiling=float(getattr(ledger, quantity)) if has_ceiling else None,
            quantity=quantity,
            n_not_private=sum(not entry.private for entry in entries),
            n_kinds=len({(entry.relation, entry.unit) for entry in entries}),
        )
        return display.plot(ax=ax, against=against, **kwargs)

    def totals(self) -> dict[str, float]:
        """Return what every group spent, in the order in which they were first charged.

        Returns
        -------
        totals : dict of str to float
            Rounded sums; the ledger has the exact ones.
        """
        totals = dict.fromkeys(self.groups, 0.0)
        for group, amount in zip(self.groups, self.amounts, strict=True):
            totals[group] += amount
        return totals

    def plot(self, ax: Any = None, *, against: Against = "time", **kwargs: Any) -> Self:
        """Draw the areas.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        against : {"time", "fits"}, default="time"
            The horizontal axis.
        **kwargs : dict
            Keywords of `matplotlib.axes.Axes.fill_between`.

        Returns
        -------
        self : BudgetDisplay

        Raises
        ------
        ImportError
            Matplotlib is not installed.
        """
        check_choice(against, "against", get_args(Against))
        self.ax_ = ax = new_axes(ax, type(self).__name__)
        self.figure_ = ax.figure
        self.areas_ = self._draw_areas(against, kwargs)
        self.ceiling_line_ = None
        if self.ceiling is not None:
            style = {"color": "black", "linestyle": "--", "label": f"ceiling {self.ceiling:.6g}"}
            self.ceiling_line_ = ax.axhline(self.ceiling, **style)
        ax.set_xlabel("time (UTC)" if against == "time" else "number of entries")
        ax.set_ylabel(f"{self.quantity} spent")
        # Room above for the legend, which would hide the ceiling.
        ax.set_ylim(0, 1.3 * max(self.ceiling or 0, sum(self.amounts)) or 1)
        ax.set_title(self._title())
        if self.areas_ or self.ceiling_line_:
            ax.legend(loc="upper left")
        return self

    def _draw_areas(self, against: Against, style: dict[str, Any]) -> list[Any]:
        if not len(self.times):
            return []
        names, sums = self._cumulative()
        tops = np.cumsum(sums, axis=0)
        areas = []
        for name, bottom, top in zip(names, tops - sums, tops, strict=True):
            label = f"{name}: {top[-1] - bottom[-1]:.6g}"
            options = {"step": "post", "label": label} | style
            areas.append(self.ax_.fill_between(self._positions(against), bottom, top, **options))
        if against == "time":
            self._format_times()
        return areas

    def _format_times(self) -> None:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator()
        self.ax_.xaxis.set_major_locator(locator)
        self.ax_.xaxis.set_major_formatter(ConciseDateFormatter(locator))

    def _positions(self, against: Against) -> list[Any]:
        """Where every entry begins, and where the last one ends: a charge holds until the next one."""
        if against == "fits":
            return list(range(len(self.times) + 1))
        first, last = self.times[0], self.times[-1]
        return [*self.times, last + max((last - first) / 50, timedelta(seconds=1))]

    def _cumulative(self) -> tuple[list[str], NDArray[np.float64]]:
        """Names of the groups, and their sums at every position, of shape (n_groups, n_entries + 1)."""
        names = list(dict.fromkeys(self.groups))
        own = np.array(names)[:, None] == np.array(self.groups)[None, :]
        sums = np.cumsum(own * np.asarray(self.amounts, dtype=np.float64), axis=1)
        return names, np.hstack([sums, sums[:, -1:]])

    def _title(self) -> str:
        title = f"{len(self.times)} entries"
        if self.n_not_private:
            title += f", {self.n_not_private} of them NOT PRIVATE"
        # As in the ledger's report: such a sum means nothing by itself.
        return f"{title}\nrelations or units differ: see compose" if self.n_kinds > 1 else title
