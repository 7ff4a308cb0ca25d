# SPDX-License-Identifier: BSD-3-Clause
"""The differential test of a pipeline: fits on other rows with the same noise may not differ."""

from collections.abc import Mapping
from typing import Any, Literal

from .._cases.domain import make_rows
from .comparison import PipelineComparison
from .results import PipelineCheck


def check_private_pipeline(
    pipeline: Any,
    X: Any = None,
    y: Any = None,
    *,
    fit_params: Mapping[str, Any] | None = None,
    every_step: bool = False,
    on_fail: Literal["raise"] | None = "raise",
) -> PipelineCheck:
    """Look for what a fitted pipeline tells about one row without noise, beyond what `privacy_report` names.

    The pipeline is fitted on the data and on changed data, each time with the same noise. Then nothing may
    differ: no attribute of any step, text, pickle, clone, name of a column, output for fixed rows, warning or
    print.

    One row is changed, and all rows are: to zeros, halves, whole, negative, far and infinite numbers, missing
    values, unseen text, copies of one row, other targets. Where fits on two data sets without a common row
    differ, rows are changed one after the other until two neighbours are found that differ: so what depends
    on a share of the rows, a density say, is found wherever its threshold lies.

    Parameters
    ----------
    pipeline : estimator
        Unfitted: a pipeline, a private search, or any estimator.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features), default=None
        Data made for the purpose, with columns of the types that the real ones have. None: random numbers.
    y : array-like of shape (n_samples,), default=None
        Targets.
    fit_params : mapping, default=None
        Further arguments of ``fit``; rows that ``is_public`` marks are not changed.
    every_step : bool, default=False
        Look at the steps that `privacy_report` names as unpaid, too: it shows what they keep.
    on_fail : {"raise"} or None, default="raise"
        Whether a hole is raised, or only returned.

    Returns
    -------
    check : PipelineCheck
        Its ``str()`` names every hole by step and attribute.

    Raises
    ------
    AssertionError
        A hole was found, and `on_fail` is "raise".
    ValueError, TypeError
        The pipeline cannot be fitted on the data as they are.

    See Also
    --------
    check_private_estimator : Every check on one private estimator.
    skprivate.privacy_report : Names the steps that are known to read rows, from a list.

    Notes
    -----
    Noise that comes from elsewhere than skprivate cannot be replayed: of a step with such noise, form and
    names are compared, and not its numbers. Fits run with seeds, and without ledgers.

    **Privacy**: a passed check is no proof: it says that these changes were tried. Never give it private
    rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skprivate import BoundsScaler, DPTreeClassifier
    >>> from skprivate.audit import check_private_pipeline
    >>> X = np.random.default_rng(0).uniform(size=(20, 2))
    >>> tree = DPTreeClassifier(max_depth=1, bounds=(0, 1), classes=[0, 1])
    >>> check_private_pipeline(make_pipeline(BoundsScaler((0, 1)), tree), X, np.arange(20) % 2).passed
    True
    >>> pipe = make_pipeline(StandardScaler(), tree)
    >>> found = check_private_pipeline(pipe, X, np.arange(20) % 2, every_step=True, on_fail=None)
    >>> [hole.place for hole in found.holes if hole.step == "standardscaler" and "mean_" in hole.place]
    ['attribute mean_']
    """
    if on_fail not in ("raise", None):
        raise ValueError('on_fail must be "raise" or None.')
    rows = make_rows(pipeline) if X is None else {"X": X} if y is None else {"X": X, "y": y}
    search = PipelineComparison(pipeline, {**rows, **(fit_params or {})}, every_step)
    check = search.run()
    if on_fail == "raise" and not check.passed:
        raise AssertionError(str(check))
    return check
