# SPDX-License-Identifier: BSD-3-Clause
"""Display of a ledger: epsilon or delta by entry, label, estimator or group of data, against the ceiling."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, Self, get_args

import numpy as np

from ..accounting import PrivacyLedger
from ..accounting._statements.fields import check_choice
from ..utils._public_module import public_module
from ._matplotlib import new_axes

By = Literal["label", "estimator", "data", "entry"]
Quantity = Literal["epsilon", "delta"]
Against = Literal["time", "fits"]

# Names of groups of entries that have no label, or no group of data.
_WITHOUT = {"label": "no label", "data": "no group of data"}
# Number of entries that have room for labels below their bars, and the length of such a label in characters.
# These are for matplotlib's usual axes: 5 inches wide, with letters of 10 points, slanted.
_MOST_TICK_LABELS = 8
_LONGEST_TICK_LABEL = 14
# Largest share of the height that the legend takes above the picture, so that most is left for the bars.
# Before, it gets more columns, as many as names of estimators fit side by side on those axes.
_LARGEST_LEGEND = 0.4
_MOST_COLUMNS = 3


@public_module("skprivate.inspection")
@dataclass(kw_only=True, eq=False, repr=False)
class BudgetDisplay:
    """What a ledger has spent, entry by entry or stacked by group, against its ceiling.

    It is recommended to use `from_ledger`; parameters are stored as attributes.

    Parameters
    ----------
    times : sequence of datetime of length n_entries
        Times of the charges, oldest first.
    groups : sequence of str of length n_entries
        The group of every entry.
    amounts : array-like of shape (n_entries,)
        Amount that every entry spent.
    ceiling : float or None, default=None
        The ledger's ceiling.
    quantity : {"epsilon", "delta"}, default="epsilon"
        The quantity of the amounts.
    n_not_private : int, default=0
        Number of entries that are not private.
    n_kinds : int, default=1
        Number of different relations and units among the entries.
    by : {"label", "estimator", "data", "entry"}, default="label"
        "entry": one bar per entry, in the order of the charges. Each starts at the height of the one before
        and has the colour of its group, an estimator. Otherwise the kind of the groups, which are drawn as
        areas.
    private : sequence of bool of length n_entries, default=None
        Bars of entries that are not private are hatched. None: all are private.
    names : sequence of str of length n_entries, default=None
        Text below a bar, after its number, if there are few bars. None: no text.
    n_data : int, default=0
        Number of groups of disjoint data that were declared.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the picture.
    figure_ : matplotlib Figure
        The figure of the axes.
    areas_ : list of matplotlib PolyCollection
        One area for each group, the first charged at the bottom; empty if the ledger is, or with
        ``by="entry"``.
    bars_ : list of matplotlib BarContainer
        With ``by="entry"`` the bars of each group; otherwise empty.
    ceiling_line_ : matplotlib Line2D or None
        The ceiling.
    remaining_ : matplotlib Rectangle or None
        The rest up to the ceiling, hatched; None without a ceiling, and when it is reached.

    See Also
    --------
    skprivate.PrivacyLedger : What is drawn.

    Notes
    -----
    **Privacy.** A picture of the ledger's file; it costs nothing. Labels, names and times are public by
    nature. The total is by basic composition, as if all entries used the same rows. If relations or units
    differ, the title shows it, and the total holds for none of them. The title also shows if groups of data
    were declared disjoint: the ledger and its ceiling add them up all the same. `PrivacyLedger.composition`
    takes the largest of these groups.

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
    ...     entries = BudgetDisplay.from_ledger(ledger, by="entry", ax=Figure().subplots())
    >>> display.totals()
    {'pilot': 0.5, 'main': 1.0}
    >>> [(float(bar.get_y()), float(bar.get_height())) for bar in entries.bars_[0]]
    [(0.0, 0.5), (0.5, 0.5), (1.0, 0.5)]
    """

    times: Sequence[datetime]
    groups: Sequence[str]
    amounts: Any
    ceiling: float | None = None
    quantity: Quantity = "epsilon"
    n_not_private: int = 0
    n_kinds: int = 1
    by: By = "label"
    private: Sequence[bool] | None = None
    names: Sequence[str] | None = None
    n_data: int = 0

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
        by : {"label", "estimator", "data", "entry"}, default="label"
            Kind of the groups. Entries without a label are the group "no label", those without a group of
            data "no group of data". "entry": one bar per entry, in the colour of its estimator.
        quantity : {"epsilon", "delta"}, default="epsilon"
            What is added up.
        against : {"time", "fits"}, default="time"
            The horizontal axis: when an entry was charged, in UTC, or its number; with ``by="entry"`` always
            its number.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            Keywords of `matplotlib.axes.Axes.fill_between`, such as ``alpha``; with ``by="entry"`` of
            `matplotlib.axes.Axes.bar`.

        Returns
        -------
        display : BudgetDisplay

        Raises
        ------
        TypeError, ValueError
            The ledger is something else, or a choice is none of those above.
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
        group = "estimator" if by == "entry" else by
        display = cls(
            times=[entry.time for entry in entries],
            groups=[str(getattr(entry, group) or _WITHOUT[group]) for entry in entries],
            amounts=[float(getattr(entry, quantity)) for entry in entries],
            ceiling=float(getattr(ledger, quantity)) if has_ceiling else None,
            quantity=quantity,
            n_not_private=sum(not entry.private for entry in entries),
            n_kinds=len({(entry.relation, entry.unit) for entry in entries}),
            by=by,
            private=[entry.private for entry in entries],
            names=[entry.label or "" for entry in entries],
            n_data=len({entry.data for entry in entries} - {None}),
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
        """Draw the areas, or the bars of the entries.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        against : {"time", "fits"}, default="time"
            The horizontal axis.
        **kwargs : dict
            Keywords of `matplotlib.axes.Axes.fill_between`, with ``by="entry"`` of
            `matplotlib.axes.Axes.bar`.

        Returns
        -------
        self : BudgetDisplay

        Raises
        ------
        ImportError
            Matplotlib is not installed.
        """
        check_choice(against, "against", get_args(Against))
        self.ax_, self.figure_ = new_axes(ax, type(self).__name__)
        as_bars = self.by == "entry"
        self.areas_ = [] if as_bars else self._draw_areas(against, kwargs)
        self.bars_ = self._draw_bars(kwargs) if as_bars else []
        self._draw_ceiling()
        over = {"time": "time (UTC)", "fits": "number of entries"}[against]
        self.ax_.set_xlabel("entry, in the order of the charges" if as_bars else over)
        self.ax_.set_ylabel(f"{self.quantity} spent")
        self.ax_.set_title(self._title())
        self.ax_.set_ylim(0, self._highest())
        self._draw_legend()
        return self

    def _draw_ceiling(self) -> None:
        """Draw the ceiling, and hatch the rest up to it."""
        self.ceiling_line_ = self.remaining_ = None
        if self.ceiling is None:
            return
        style: dict[str, Any] = {"color": "black", "linestyle": "--", "label": f"ceiling {self.ceiling:.6g}"}
        self.ceiling_line_ = self.ax_.axhline(self.ceiling, **style)
        remaining = self.ceiling - sum(self.amounts)
        if remaining > 0:
            style = {"facecolor": "none", "edgecolor": "0.75", "hatch": "//", "linewidth": 0, "zorder": 0}
            style["label"] = f"remaining {remaining:.6g}"
            self.remaining_ = self.ax_.axhspan(self.ceiling - remaining, self.ceiling, **style)

    def _highest(self) -> float:
        """Return the height of the picture, with a little room above the ceiling's line."""
        return 1.05 * max(self.ceiling or 0, sum(self.amounts)) or 1

    def _draw_legend(self) -> None:
        """Put the legend above the picture, into room that is made for it."""
        from matplotlib.patches import Patch

        handles = [*self.areas_, *self.bars_]
        if self.bars_ and self.private is not None and not all(self.private):
            handles.append(Patch(facecolor="0.5", edgecolor="white", hatch="xx", label="NOT PRIVATE"))
        handles += [one for one in (self.ceiling_line_, self.remaining_) if one is not None]
        if not handles:
            return
        for columns in range(1, _MOST_COLUMNS + 1):
            legend = self.ax_.legend(handles=handles, loc="upper left", ncols=columns)
            share = legend.get_window_extent().height / self.ax_.get_window_extent().height
            if share <= _LARGEST_LEGEND:
                break
        # Between the legend and the frame is a gap of half a line of text.
        room = min(share + 0.05, 0.9)
        self.ax_.set_ylim(0, self._highest() / (1 - room))

    def _draw_bars(self, style: dict[str, Any]) -> list[Any]:
        amounts = np.asarray(self.amounts, dtype=np.float64)
        bottoms = np.cumsum(amounts) - amounts
        private = np.ones(len(amounts), dtype=bool) if self.private is None else np.asarray(self.private)
        bars = []
        for name, total in self.totals().items():
            own = np.flatnonzero(np.array(self.groups) == name)
            options = {"label": f"{name}: {total:.6g}", "edgecolor": "white"} | style
            bars.append(self.ax_.bar(own + 1, amounts[own], bottom=bottoms[own], **options))
            for bar in np.array(bars[-1].patches)[~private[own]]:
                bar.set_hatch("xx")
        if self.names is None or len(self.times) > _MOST_TICK_LABELS:
            from matplotlib.ticker import MaxNLocator

            self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        else:
            labels = [f"{place}\n{_shorten(name)}" for place, name in enumerate(self.names, start=1)]
            self.ax_.set_xticks(range(1, len(labels) + 1), labels)
        return bars

    def _draw_areas(self, against: Against, style: dict[str, Any]) -> list[Any]:
        if not len(self.times):
            return []
        names = list(dict.fromkeys(self.groups))
        own = np.array(names)[:, None] == np.array(self.groups)[None, :]
        sums = np.cumsum(own * np.asarray(self.amounts, dtype=np.float64), axis=1)
        # At every position a charge holds until the next one.
        sums = np.hstack([sums, sums[:, -1:]])
        tops = np.cumsum(sums, axis=0)
        areas = []
        for name, bottom, top in zip(names, tops - sums, tops, strict=True):
            label = f"{name}: {top[-1] - bottom[-1]:.6g}"
            options = {"step": "post", "label": label} | style
            areas.append(self.ax_.fill_between(self._positions(against), bottom, top, **options))
        if against == "time":
            from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

            locator = AutoDateLocator()
            self.ax_.xaxis.set_major_locator(locator)
            self.ax_.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        return areas

    def _positions(self, against: Against) -> list[Any]:
        """Return where every entry begins, and where the last one ends: a charge holds until the next one."""
        if against == "fits":
            return list(range(len(self.times) + 1))
        first, last = self.times[0], self.times[-1]
        return [*self.times, last + max((last - first) / 50, timedelta(seconds=1))]

    def _title(self) -> str:
        title = f"{len(self.times)} entries"
        if self.n_not_private:
            title += f", {self.n_not_private} of them NOT PRIVATE"
        if self.n_data:
            title += f"\nadds up {self.n_data} groups of data, disjoint as declared"
        # As in the ledger's report: such a sum means nothing by itself.
        return f"{title}\nrelations or units differ: see compose" if self.n_kinds > 1 else title


def _shorten(name: str) -> str:
    text = " ".join(name.split())
    return text if len(text) <= _LONGEST_TICK_LABEL else f"{text[: _LONGEST_TICK_LABEL - 3]}..."
