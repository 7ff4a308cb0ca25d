# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's validation of tables and targets, which here refuses dates, masks and the like first.

Arrays of other libraries become NumPy's, whatever ``array_api_dispatch`` says: exact sums and noise are made
of its integers. scikit-learn is imported where it is called: what stands beside it serves clients that have
NumPy alone.
"""

from typing import Any

import numpy as np

from .._typing import FloatArray
from ._parameter_checks import is_frame
from ._refused_values import refuse_cells, refuse_kinds, refuse_missing, refuse_text
from ._replacements import numbers_of

_NOT_GIVEN = "no_validation"


def validate_data(
    estimator: Any,
    X: Any = _NOT_GIVEN,
    y: Any = _NOT_GIVEN,
    *,
    cells: bool = True,
    kinds: bool = True,
    **options: Any,
) -> Any:
    """Validate as scikit-learn does; X and y of kinds that no table may hold are refused.

    Parameters
    ----------
    estimator : estimator
    X, y : array-like or data frame
    cells : bool, default=True
        Whether single objects are looked at; not in strict mode, where they are replaced.
    kinds : bool, default=True
        Whether X of a kind that no table of numbers may hold is refused; not where columns are declared.
    **options
        As of scikit-learn's function.

    Returns
    -------
    out : X, y or both
        As scikit-learn returns them.

    Raises
    ------
    TypeError, ValueError
        As `refuse_kinds`, `refuse_text` (where numbers are wanted), `refuse_cells`, `refuse_missing` and
        scikit-learn's function.
    """
    refuse_series(X)
    if kinds:
        _refuse(X, "X", cells)
        if options.get("dtype", "numeric") is not None and not options.get("skip_check_array"):
            refuse_text(X, objects=not cells, takes_domain=hasattr(estimator, "domain"))
    _refuse(y, "y", cells)
    from sklearn import config_context
    from sklearn.utils.validation import validate_data as validate

    with config_context(array_api_dispatch=False):
        return validate(estimator, X, y, **options)


def check_array(values: Any, *, input_name: str = "", **options: Any) -> Any:
    """Check an array as scikit-learn does; kinds that no table (of numbers) may hold are refused."""
    _refuse(values, input_name or "X", True)
    if input_name in ("", "X") and options.get("dtype", "numeric") is not None:
        refuse_text(values, objects=False)
    from sklearn import config_context
    from sklearn.utils import check_array as check

    with config_context(array_api_dispatch=False):
        return check(values, input_name=input_name, **options)


def read_numbers(estimator: Any, X: Any, *, reset: bool = True, least_rows: int = 1) -> FloatArray:
    """Validate a table of numbers of which no cell makes it fail: NaN stands for what is no number.

    Parameters
    ----------
    estimator : estimator
    X : array-like or data frame of shape (n_rows, n_features)
    reset : bool, default=True
        True in ``fit``: number and names of the columns are kept, else compared.
    least_rows : int, default=1

    Returns
    -------
    table : ndarray of float64 of shape (n_rows, n_features)
        In C order; what is not finite is left to the caller.

    Raises
    ------
    TypeError, ValueError
        It is no table, or one of text, dates, masks or complex numbers, or has other columns.

    Notes
    -----
    **Privacy.** What is raised depends on the container's type, names and shape alone.
    """
    refuse_text(X, objects=estimator.is_strict(), takes_domain=hasattr(estimator, "domain"))
    refuse_series(X)
    options: dict[str, Any] = {"ensure_all_finite": False, "ensure_min_samples": least_rows}
    table: FloatArray = check_array(
        numbers_of(X), dtype=np.float64, order="C", estimator=estimator, **options
    )
    validate_data(estimator, X if is_frame(X) else table, skip_check_array=True, reset=reset, cells=False)
    return table


def refuse_series(X: Any) -> None:
    """Refuse a table that is a series: one row of a frame is one, and so is one column."""
    if hasattr(X, "to_frame") and getattr(X, "ndim", len(getattr(X, "shape", ()))) == 1:
        raise ValueError(
            "X is a series, not a table. Pass a frame of one row, such as frame.iloc[[0]] in place of "
            "frame.iloc[0], or a frame of one column, X.to_frame()."
        )


def _refuse(values: Any, name: str, cells: bool) -> None:
    if values is None or isinstance(values, str):
        return
    refuse_kinds(values, name)
    if cells and name == "y":
        refuse_missing(values, name)
    if cells:
        refuse_cells(values, name)
