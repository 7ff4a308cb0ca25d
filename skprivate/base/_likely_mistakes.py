# SPDX-License-Identifier: BSD-3-Clause
"""Sentences about likely mistakes, from released values: first about declarations, then about the noise.

Every function takes released values and public facts alone, and returns one sentence, or None.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal

import numpy as np

from .._typing import FloatArray
from ..accounting._statements.fields import escape_controls
from ..domain import TableDomain
from ..domain._readers import hint_of
from ..exceptions import UtilityWarning
from ..utils._private_fit import warn_after_release

# A count of at most so many standard deviations of its noise may be 0: this holds for 95 % of the classes
# without rows (for normal and Laplace noise).
_MAY_BE_ZERO = 1.645
#: The noise of a count exceeds so many standard deviations with probability 1 % in one direction: for Laplace
#: noise ln(50) / sqrt(2); normal noise needs 2.33.
CONFIDENT = 2.77
# A class is small below a twenty-fifth of an even share of the rows (2 % with two classes). A smaller limit
# would miss misspelt classes at 5,000 rows and epsilon 1. A larger one would name common rare events.
_SMALL = 0.04
# Errors below this part of the width of bounds_y count as 0. Errors of a useful regressor are larger if the
# bounds are less than thirty times as wide as the spread of the values.
_NO_ERROR = 0.01
# A share this much below 1, except for noise, counts as 1: a few cells may be right by chance.
_ELSEWHERE = 0.01
#: Most cells are more than this share.
MOSTLY = 0.5
# Names in a sentence at most.
_SHOWN = 3

_OTHERWISE = "Otherwise the noise hides the effect: use more rows, fewer columns or a larger epsilon."


def warn_of_mistakes(name: str, *sentences: str | None) -> None:
    """Join the sentences to one `UtilityWarning` about the estimator or function `name`, if there are any."""
    said = [sentence[0].upper() + sentence[1:] for sentence in sentences if sentence]
    if said:
        warn_after_release(escape_controls(f"{name}: {' '.join(said)}"), UtilityWarning)


def hardly_any_rows(
    classes: Iterable[Any], counts: FloatArray, std: float | FloatArray, n_rows: float | None = None
) -> str | None:
    """Return a sentence on declared classes with hardly any rows, by released counts.

    Parameters
    ----------
    classes : iterable of labels
        The public classes.
    counts : ndarray of shape (n_classes,)
        Unbiased counts of the rows by label.
    std : float or ndarray of shape (n_classes,)
        Standard deviation of the noise of a count.
    n_rows : float, default=None
        Known number of rows, for counts with independent noise. All counts are moved by one constant to add
        up to it. None: the counts add up to it already.

    Notes
    -----
    A class is named if its count may be 0 by the noise, and the upper limit of its count is below a
    twenty-fifth of an even share. With few rows the second condition fails, and the result is None. A class
    without rows is named with probability 95 % if that part is 4.4 standard deviations. A class with more
    rows than that part is named with probability 1 % at most.
    """
    labels = list(classes)
    named = _hardly_any(labels, counts, std, n_rows)
    if not named:
        return None
    return (
        f"by the released counts, hardly any row has the class {_listed(named)}. Look for another spelling "
        "or coding of the labels. White space around them is ignored, case and punctuation are not. "
        "Meta-estimators may encode labels as 0 to K - 1. A label that is not in `classes` counts as the "
        f"first class, {_plain(labels[0])!r}. Otherwise the class is rare."
    )


def _hardly_any(
    labels: Sequence[Any], counts: FloatArray, std: float | FloatArray, n_rows: float | None
) -> list[str]:
    """Return the labels with hardly any rows, as Python writes them."""
    n_classes = len(counts)
    if n_rows is None:
        n_rows = float(counts.sum())
    else:
        counts = counts + (n_rows - counts.sum()) / n_classes
        std = std * sqrt(1 - 1 / n_classes)
    # Half a row, since exact counts are whole.
    may_be_zero = counts < 0.5 + _MAY_BE_ZERO * std
    few = may_be_zero & (counts + CONFIDENT * std < _SMALL * n_rows / n_classes)
    return [repr(_plain(label)) for label, absent in zip(labels, few, strict=False) if absent]


def empty_groups(levels: Sequence[Any], counts: FloatArray, std: float) -> str | None:
    """Return a sentence on declared groups of interest with hardly any rows, by released counts.

    Parameters
    ----------
    levels : sequence
        The public groups. The last one holds all other values.
    counts : ndarray of shape (n_levels,)
        Counts of the rows by group.
    std : float
        Standard deviation of the noise of a count. A group is named as a class is by `hardly_any_rows`.
    """
    named = _hardly_any(levels[:-1], counts, std, None)
    if not named:
        return None
    return (
        f"by the released counts, hardly any row is in the group {_listed(named)} of groups_of_interest. "
        "Look for another spelling or coding of its values: a value that is no declared level is "
        "counted in the group '(other)'. Otherwise the group is small."
    )


def errors_near_zero(nodes: FloatArray, counts: FloatArray, std: float) -> str | None:
    """Return a sentence on errors of a regressor that are nearly all 0, by released counts.

    Parameters
    ----------
    nodes : ndarray of shape (n_nodes,)
        Errors at which rows were counted, with the greatest possible one last.
    counts : ndarray of shape (n_nodes,)
    std : float
        Standard deviation of the noise of a count.
    """
    near = np.abs(nodes) <= _NO_ERROR * nodes[-1]
    least = counts[near].sum() - CONFIDENT * std * sqrt(near.sum())
    if least <= _NEARLY_ALL * max(float(counts.sum()), 1.0):
        return None
    return (
        "by the released counts, nearly all errors are below 1 % of the width of bounds_y. Look for "
        "bounds_y in another unit: targets and predictions beyond them are clipped to the same bound. "
        "Otherwise bounds_y is far too wide, or the model is very accurate."
    )


def no_effect(target: Literal["classes", "numbers"], found: str | None = None, *, bounds: bool = True) -> str:
    """Return the sentence on a model that, by its released values, may predict no better than a constant.

    Parameters
    ----------
    target : {"classes", "numbers"}
    found : str, default=None
        Another finding than the default one.
    bounds : bool, default=True
        Whether the model has bounds of X, or a domain.
    """
    if target == "classes":
        base = "the base rate of the classes"
        hint = "another spelling or coding of the labels than in `classes`"
    else:
        base, hint = "a constant", "bounds_y in another unit (numbers beyond them are clipped)"
    if bounds:
        hint += ", for bounds of X that are in another unit or far too wide, and for columns that are "
        hint += "declared otherwise than they are written (levels, formats)"
    found = found or f"by the released values, {base} may predict as well as the model."
    return f"{found} Look for {hint}. {_OTHERWISE}"


def mostly_missing(domain: TableDomain | None, least: Mapping[str, float]) -> str | None:
    """Return a sentence on declared columns whose cells are mostly missing or undeclared.

    Parameters
    ----------
    domain : TableDomain or None
    least : mapping of str to float
        A lower limit of the share of such cells, by column of the domain, from released values.
    """
    names = [name for name, share in least.items() if share > MOSTLY]
    if domain is None or not names:
        return None
    hints = list(dict.fromkeys(hint_of(domain.columns[name]) for name in names))
    return (
        f"by the released counts, nearly all cells of {_listed(list(map(repr, names)))} are missing, or "
        f"differ from the domain. Look at {'; at '.join(hints[:_SHOWN])}. A larger epsilon does not help."
    )


def least_missing(domain: TableDomain | None, means: FloatArray, std: FloatArray) -> dict[str, float]:
    """Return lower limits of the shares of missing or undeclared cells, by column of a domain.

    Parameters
    ----------
    domain : TableDomain or None
    means, std : ndarray of shape (n_encoded,)
        Released means of the encoded columns, and standard deviations of their noise.
    """
    limits = {}
    for group in () if domain is None else domain.groups:
        levels = slice(group.start, group.stop)
        if group.indicator is not None:
            share, noise = float(means[group.indicator]), float(std[group.indicator])
        elif group.n_levels and group.fill is None:
            # If missing cells are an error, strict mode reads them as such levels, too.
            share, noise = 1.0 - float(means[levels].sum()), float(np.linalg.norm(std[levels]))
        else:
            continue
        limits[group.name] = least_share(domain, group.name, share, noise)
    return limits


def least_share(domain: TableDomain | None, name: str, share: float, std: float) -> float:
    """Return a lower limit of a share of missing or undeclared cells; 0 if the declaration explains it.

    A column that is declared with missing cells may have many of them. Other columns have hardly any.
    """
    nearly_all = share > 1.0 - _ELSEWHERE - _MAY_BE_ZERO * std
    expected = domain is None or domain.columns[name].missing != "error"
    return share - CONFIDENT * std if nearly_all or not expected else 0.0


# Values of X at their bounds

# Mean distance of the values from a bound, as a share of the distance of the bounds. It is confidently
# exceeded unless nearly all values are there. Chosen with `_ELSEWHERE` on 2965 columns of 103 tables.
_NEAR_A_BOUND = 0.1
# Bounds of indicators, which may nearly all be 1; lower bounds at which counts and amounts pile up.
_INDICATORS, _FLOORS = ((0.0, 1.0), (-1.0, 1.0)), (-1.0, 0.0, 1.0)


@dataclass(frozen=True)
class BoundedColumn:
    """A column of numbers or dates, and the distances of its values from its bounds.

    Attributes
    ----------
    name : str
    lower, upper : float
        Public bounds.
    below, above : float
        Released means of ``value - lower`` and of ``upper - value``, as shares of ``upper - lower``.
    std : float
        Standard deviation of their noise.
    is_date : bool, default=False
    """

    name: str
    lower: float
    upper: float
    below: float
    above: float
    std: float
    is_date: bool = False

    def is_near(self, gap: float) -> bool:
        """Return whether values at this mean distance from a bound may nearly all be there, and are near."""
        return gap < _ELSEWHERE + _MAY_BE_ZERO * self.std and gap + CONFIDENT * self.std < _NEAR_A_BOUND


def columns_at_a_bound(columns: Sequence[BoundedColumn]) -> str | None:
    """Return a sentence on columns whose values nearly all lie at a bound.

    Notes
    -----
    Some such columns are normal, and are not named: amounts and counts that are mostly 0 or 1; indicators,
    unless they are most of the columns; a constant whose bounds were widened.

    Examples
    --------
    >>> from skprivate.base._likely_mistakes import BoundedColumn, columns_at_a_bound
    >>> columns_at_a_bound([BoundedColumn("gain", 0.0, 1e5, 0.001, 0.999, 0.001)]) is None
    True
    >>> columns_at_a_bound([BoundedColumn("weight", 0.6, 2.5, 1.0, 0.0, 0.001)])[:76]
    "by the released values, nearly all values of 'weight' lie at the upper bound"
    """
    above = [column for column in columns if column.is_near(column.above)]
    indicators = [column for column in above if (column.lower, column.upper) in _INDICATORS]
    if 2 * len(indicators) <= len(columns):
        above = [column for column in above if column not in indicators]
    below = [
        column
        for column in columns
        if column.is_near(column.below)
        and (column.is_date or column.lower not in _FLOORS)
        and column.upper != column.lower + max(1.0, abs(column.lower))
    ]
    ends = [
        f"of {_listed([repr(column.name) for column in found])} lie at the {end} bound"
        for end, found in (("upper", above), ("lower", below))
        if found
    ]
    if not ends:
        return None
    return (
        f"by the released values, nearly all values {' and '.join(ends)}, near it or beyond. Check the unit "
        "of the declared bounds, and whether they are far too wide."
    )


def bounded_columns(
    domain: TableDomain | None,
    names: Sequence[str] | None,
    bounds: tuple[FloatArray, FloatArray],
    means: FloatArray,
    std: FloatArray,
) -> list[BoundedColumn]:
    """Return the columns of numbers and dates, from released means of the encoded columns.

    Parameters
    ----------
    domain : TableDomain or None
    names : sequence of str, or None
        Names of the columns, without a domain.
    bounds : two ndarrays of shape (n_encoded,)
    means, std : ndarray of shape (n_encoded,)
        In the units of the bounds.
    """
    lower, upper = bounds
    # Names, encoded columns, indicators, values of missing cells, and kinds.
    if domain is None:
        shown = [f"x{place}" for place in range(len(lower))] if names is None else names
        columns: list[Any] = [(name, place, None, None, "number") for place, name in enumerate(shown)]
    else:
        columns = [
            (one.name, one.start, one.indicator, one.fill, domain.columns[one.name].kind)
            for one in domain.groups
        ]
    found = []
    for name, place, missing, fill, kind in columns:
        if kind not in ("number", "date"):
            continue
        mean, noise, low, high = means[place], std[place], lower[place], upper[place]
        width = max(high - low, 1e-300)
        if missing is not None:
            # Leave out the cells that were filled in.
            share, fill = min(means[missing], 1.0), (low / 2 + high / 2) if fill is None else fill
            known, noise = max(1.0 - share, 1e-9), noise + std[missing] * width
            mean, noise = (mean - share * fill) / known, noise / known
        gaps = (mean - low) / width, (high - mean) / width
        found.append(BoundedColumn(name, low, high, *gaps, noise / width, kind == "date"))
    return found


# Values of y at both ends of bounds_y

# Share of all values at a bound that suggests another unit: then nearly all of them are there.
_NEARLY_ALL = 0.9
# A mean this near to a bound, in half-widths of the bounds, suggests the same: of values that are spread
# between the bounds one in a hundred would be. So does a mean within two standard deviations of its noise, if
# these are at most a tenth: nine values in ten are then at the bound, if the others are spread.
_NEAR, _NEAR_AT_MOST = 0.01, 1.0 - _NEARLY_ALL

_UNIT = (
    "by the released values, nearly all values of y lie at the {} bound of bounds_y or beyond it. Check "
    "whether y is in another unit than bounds_y."
)


def count_at_a_bound(below: float, above: float, n: float) -> str | None:
    """Return a sentence on counts of values beyond the bounds.

    Parameters
    ----------
    below, above : float
        Released numbers of values beyond the lower and the upper bound.
    n : float
        Number of values, at least 1.

    Examples
    --------
    >>> from skprivate.base._likely_mistakes import count_at_a_bound
    >>> count_at_a_bound(40.0, 3.0, 1000.0) is None
    True
    >>> count_at_a_bound(0.0, 998.0, 1000.0)[24:69]
    'nearly all values of y lie at the upper bound'
    """
    shares = {"lower": below / n, "upper": above / n}
    return next((_UNIT.format(end) for end, share in shares.items() if share > _NEARLY_ALL), None)


def mean_at_a_bound(mean: float, noise_std: float, bounds: tuple[float, float]) -> str | None:
    """Return a sentence on the mean of values that were clipped to their bounds.

    Parameters
    ----------
    mean : float
        The released mean.
    noise_std : float
        Standard deviation of its noise.
    bounds : tuple of two floats
        Bounds of the values, in the same unit. Many values may be 0, so a mean at a lower bound of 0 is not
        reported.

    Examples
    --------
    >>> from skprivate.base._likely_mistakes import mean_at_a_bound
    >>> [mean_at_a_bound(mean, 0.001, (0.0, 10.0)) is None for mean in (0.0, 5.0, 9.9, 10.0)]
    [True, True, True, False]
    """
    low, high = bounds
    half = high / 2 - low / 2
    reach = half * _NEAR if half * _NEAR > 2.0 * noise_std else 2.0 * noise_std
    if reach > _NEAR_AT_MOST * half:
        return None
    if mean > high - reach:
        return _UNIT.format("upper")
    return _UNIT.format("lower") if low != 0 and mean < low + reach else None


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
