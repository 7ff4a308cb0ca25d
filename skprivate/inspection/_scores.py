# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of scores: utility against epsilon, and the curves of a private evaluation."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal, Self, get_args

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import indexable
from sklearn.utils.validation import has_fit_parameter

from .._typing import FloatArray, RandomSource
from ..utils import check_epsilons
from ..utils._compat import num_samples, rows_of, safe_indexing
from ..utils._private_fit import warn_user
from ..utils._public_module import public_module
from ._matplotlib import check_axes, check_matplotlib, class_colours, new_axes, plain_legend

#: Epsilon of the line without privacy, if no other estimator is given for it.
ALMOST_NO_NOISE = 1e6
# Title of the picture.
_WARNING = "For planning, on public or simulated data: this picture itself is NOT private"


@public_module("skprivate.inspection")
@dataclass(kw_only=True, eq=False, repr=False)
class PrivacyUtilityDisplay:
    """Test score against epsilon: median and quartiles over repeated splits and fresh noise.

    **A planning tool for public or simulated data.** The scores are exact functions of the rows that they are
    computed on. If the picture is drawn from private rows, it leaks them, whatever the ledger holds. So does
    an epsilon that was chosen from it.

    It is recommended to use `from_estimator`; parameters are stored as attributes.

    Parameters
    ----------
    epsilons : ndarray of shape (n_epsilons,)
        The epsilons, rising.
    scores : ndarray of shape (n_epsilons, n_repeats)
        Test scores; NaN if a fit failed.
    non_private_scores : ndarray of shape (n_repeats,) or None, default=None
        Test scores without privacy on the same splits.
    non_private_name : str, default="not private"
        Their name.
    score_name : str, default="score"
        Label of the vertical axis.
    failures : tuple of str, default=()
        Error of every fit that failed.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the picture.
    figure_ : matplotlib Figure
        The figure of the axes.
    line_ : matplotlib Line2D
        The medians.
    band_ : matplotlib PolyCollection
        From the lower to the upper quartile.
    non_private_line_ : matplotlib Line2D or None
        The median without privacy.

    See Also
    --------
    BudgetDisplay : What fits have spent.

    Notes
    -----
    **Privacy.** None: see above. If the estimator has a ledger, every fit is charged, and so are fits of the
    line without privacy, if they have one. The ledger does not cover the scores.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from skprivate import DPTreeClassifier
    >>> from skprivate.inspection import PrivacyUtilityDisplay
    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> tree = DPTreeClassifier(bounds=(0, 1), classes=[0, 1])
    >>> display = PrivacyUtilityDisplay.from_estimator(
    ...     tree, X, y, epsilons=[0.01, 0.1, 1], n_repeats=3, ax=Figure().subplots())
    >>> display.scores.shape
    (3, 3)
    """

    epsilons: FloatArray
    scores: FloatArray
    non_private_scores: FloatArray | None = None
    non_private_name: str = "not private"
    score_name: str = "score"
    failures: tuple[str, ...] = ()

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        epsilons: Sequence[float | Fraction] = (0.1, 0.3, 1, 3, 10),
        n_repeats: int = 10,
        param_name: str = "epsilon",
        test_size: float = 0.25,
        fit_params: Mapping[str, Any] | None = None,
        scoring: str | Callable[..., float] | None = None,
        non_private: Any = "auto",
        random_state: RandomSource = None,
        n_jobs: int | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Fit at every epsilon on repeated splits, and draw the test scores.

        Parameters
        ----------
        estimator : estimator
            It is cloned for every fit.
        X : array-like or data frame of shape (n_samples, n_features)
            PUBLIC or simulated rows.
        y : array-like of shape (n_samples,), default=None
            Targets.
        epsilons : sequence of float or Fraction, default=(0.1, 0.3, 1, 3, 10)
            Different numbers, finite, above 0.
        n_repeats : int, default=10
            Number of splits, at least 1; the same ones at every epsilon. Every fit draws fresh noise.
        param_name : str, default="epsilon"
            Parameter that takes the epsilon, such as "dptreeclassifier__epsilon" in a pipeline.
        test_size : float, default=0.25
            Share of the rows, in (0, 1), that is held out: at random, stratified for a classifier. With
            ``groups`` in `fit_params` it is the share of the groups, which are never split.
        fit_params : mapping, default=None
            Keywords of ``fit``; those with one value per row are split with the rows.
        scoring : str, callable or None, default=None
            As in scikit-learn. None: the estimator's own score.
        non_private : estimator, "auto" or None, default="auto"
            Estimator of the line without privacy. "auto": the same estimator at epsilon 1e6, unless it has a
            ledger, which would be charged this epsilon. None: no line. Another estimator takes those of
            `fit_params` that its ``fit`` names.
        random_state : int, RandomState instance or None, default=None
            Seed of the splits; it seeds no noise.
        n_jobs : int, default=None
            Number of fits at a time, as in joblib.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            Keywords of the line of medians.

        Returns
        -------
        display : PrivacyUtilityDisplay

        Raises
        ------
        TypeError, ValueError
            A parameter is of another type or out of its range.
        ImportError
            Matplotlib is not installed; it is raised before anything is fitted.
        Exception
            The error of the first fit, if no fit with privacy succeeded.

        Warns
        -----
        FitFailedWarning
            Some fits failed, such as by a ledger without budget. The others are drawn; `failures` has the
            errors.
        """
        check_matplotlib(cls.__name__)
        check_axes(ax)
        _check_options(estimator, n_repeats, test_size)
        grid = check_epsilons(epsilons)
        X, y = indexable(X, y)
        params = {} if fit_params is None else dict(fit_params)
        splits = _split(estimator, X, y, params, n_repeats=n_repeats, test_size=test_size, seed=random_state)
        reference, name = _non_private_reference(estimator, non_private, param_name)
        models = [(clone(estimator).set_params(**{param_name: epsilon}), params) for epsilon in grid]
        if reference is not None:
            known = {key: value for key, value in params.items() if has_fit_parameter(reference, key)}
            models.append((reference, known))
        scorer = check_scoring(estimator, scoring)
        # Repeat by repeat: if a budget runs out, whole repeats are left, not whole epsilons.
        outcomes = Parallel(n_jobs=n_jobs)(
            delayed(_score)(model, X, y, own, split, scorer) for split in splits for model, own in models
        )
        table, failures = _collect(outcomes, len(models), len(grid))
        display = cls(
            epsilons=np.array([float(epsilon) for epsilon in grid]),
            scores=table[: len(grid)],
            non_private_scores=None if reference is None else table[-1],
            non_private_name=name,
            score_name=scoring if isinstance(scoring, str) else "score",
            failures=failures,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the line, the band and the line without privacy.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        **kwargs : dict
            Keywords of the line of medians, such as ``color``.

        Returns
        -------
        self : PrivacyUtilityDisplay

        Raises
        ------
        ImportError
            Matplotlib is not installed.
        """
        self.ax_, self.figure_ = new_axes(ax, type(self).__name__)
        known = ~np.isnan(self.scores).all(axis=1)
        quartiles = np.full((3, len(self.scores)), math.nan)
        quartiles[:, known] = np.nanpercentile(self.scores[known], (25, 50, 75), axis=1)
        lower, median, upper = quartiles
        (self.line_,) = self.ax_.plot(self.epsilons, median, **({"marker": "o", "label": "median"} | kwargs))
        colour = self.line_.get_color()
        band = {"color": colour, "alpha": 0.25, "linewidth": 0, "label": "middle half of the repeats"}
        self.band_ = self.ax_.fill_between(self.epsilons, lower, upper, **band)
        self.non_private_line_ = None
        if self.non_private_scores is not None and not np.isnan(self.non_private_scores).all():
            line = {"color": "black", "linestyle": "--", "label": self.non_private_name}
            self.non_private_line_ = self.ax_.axhline(np.nanmedian(self.non_private_scores), **line)
        self.ax_.set(xscale="log", xlabel="epsilon", ylabel=f"{self.score_name} on held-out rows")
        self.ax_.set_title(self._title(), fontsize="medium")
        self.ax_.legend()
        return self

    def _title(self) -> str:
        if not self.failures:
            return _WARNING
        fits = self.scores.size + (0 if self.non_private_scores is None else self.non_private_scores.size)
        return f"{_WARNING}\n{len(self.failures)} of {fits} fits failed"


def _check_options(estimator: Any, n_repeats: Any, test_size: float) -> None:
    if not isinstance(n_repeats, Integral) or n_repeats < 1:
        raise ValueError("n_repeats must be an int, at least 1.")
    if not 0 < test_size < 1:
        raise ValueError("test_size must be a share of the rows, in (0, 1).")
    if not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be an estimator, not {type(estimator).__name__}.")


def _split(
    estimator: Any, X: Any, y: Any, params: Mapping[str, Any], *, n_repeats: int, test_size: float, seed: Any
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return rows for training and for testing, repeat by repeat."""
    groups = params.get("groups")
    kind = GroupShuffleSplit if groups is not None else ShuffleSplit
    if groups is None and y is not None and is_classifier(estimator):
        kind = StratifiedShuffleSplit
    splitter = kind(n_splits=n_repeats, test_size=test_size, random_state=seed)
    return list(splitter.split(X, y, groups))


def _non_private_reference(estimator: Any, non_private: Any, param_name: str) -> tuple[Any, str]:
    """Return the estimator of the line without privacy, None for no line, and its name."""
    if non_private is None:
        return None, ""
    if not isinstance(non_private, str):
        return clone(non_private), f"not private: {type(non_private).__name__}"
    if non_private != "auto":
        raise ValueError('non_private must be an estimator, "auto" or None.')
    parameters = estimator.get_params()
    if any(name.split("__")[-1] == "ledger" and value is not None for name, value in parameters.items()):
        return None, ""
    return clone(estimator).set_params(**{param_name: ALMOST_NO_NOISE}), f"epsilon = {ALMOST_NO_NOISE:.0e}"


def _score(
    template: Any,
    X: Any,
    y: Any,
    params: Mapping[str, Any],
    split: tuple[NDArray[np.intp], NDArray[np.intp]],
    scorer: Callable[..., float],
) -> float | Exception:
    """Fit a clone and score it; an exception is a result too."""
    train, test = split
    own = {name: rows_of(value, train, num_samples(X)) for name, value in params.items()}
    targets = [() if y is None else (safe_indexing(y, rows),) for rows in split]
    try:
        fitted = clone(template).fit(safe_indexing(X, train), *targets[0], **own)
        return float(scorer(fitted, safe_indexing(X, test), *targets[1]))
    except Exception as error:
        return error


def _collect(
    outcomes: Sequence[float | Exception], n_models: int, n_epsilons: int
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the table of scores, a row for each model, and the messages of the fits that failed."""
    errors = [one for one in outcomes if isinstance(one, Exception)]
    scores = [math.nan if isinstance(one, Exception) else one for one in outcomes]
    table: FloatArray = np.array(scores).reshape(-1, n_models).T.copy()
    if errors and np.isnan(table[:n_epsilons]).all():
        raise errors[0]
    messages = tuple(f"{type(error).__name__}: {error}" for error in errors)
    if messages:
        share = f"{len(messages)} of {len(scores)} fits failed"
        warn_user(f"{share}; the others are kept. The first one: {messages[0]}", FitFailedWarning)
    return table, messages


Curve = Literal["calibration", "roc"]


@public_module("skprivate.inspection")
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateEvaluationDisplay:
    """Calibration curve or ROC curve of a model on private rows, from released counts.

    It is recommended to use `from_evaluation`; parameters are stored as attributes.

    Parameters
    ----------
    evaluation : PrivateEvaluation
        As `private_evaluate` returns it.
    groups : sequence, default=(None,)
        Declared groups of interest to draw; None means all rows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the picture.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of matplotlib artists
        An ``ErrorbarContainer`` per calibration curve, a ``Line2D`` per ROC curve.

    See Also
    --------
    skprivate.private_evaluate : What is drawn.

    Notes
    -----
    **Privacy.** A picture of released quantities is released: it costs nothing.

    Bars of a calibration curve are the intervals of the observed shares, each by itself. A ROC curve has no
    intervals. The legend has the interval of the area below it. Negative counts are drawn as 0, so the area
    of the picture may differ from the estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skprivate import private_evaluate
    >>> from skprivate.inspection import PrivateEvaluationDisplay
    >>> X = np.random.default_rng(0).normal(size=(3000, 2))
    >>> y = X[:, 0] + np.random.default_rng(1).logistic(size=3000) > 0
    >>> result = private_evaluate(LogisticRegression().fit(X[:500], y[:500]), X[500:], y[500:], epsilon=1.0)
    >>> display = PrivateEvaluationDisplay.from_evaluation(result, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'score'
    """

    evaluation: Any
    groups: Any = (None,)

    @classmethod
    def from_evaluation(
        cls,
        evaluation: Any,
        *,
        curve: Curve = "calibration",
        groups: Any = (None,),
        ax: Any = None,
        cmap: Any = None,
    ) -> Self:
        """Draw a curve of an evaluation.

        Parameters
        ----------
        evaluation : PrivateEvaluation
            As `private_evaluate` returns it.
        curve : {"calibration", "roc"}, default="calibration"
            What to draw.
        groups : sequence, default=(None,)
            Declared groups of interest to draw; None means all rows.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        cmap : str or Colormap, default=None
            Colours of the groups. None: "tab10" for up to ten of them, "gist_rainbow" for more.

        Returns
        -------
        display : PrivateEvaluationDisplay

        Raises
        ------
        ValueError
            There is no such curve or group.
        AttributeError
            The evaluation has no such curve: a regressor's has none.
        ImportError
            Matplotlib is not installed.
        """
        return cls(evaluation=evaluation, groups=groups).plot(curve=curve, ax=ax, cmap=cmap)

    def plot(self, *, curve: Curve = "calibration", ax: Any = None, cmap: Any = None) -> Self:
        """Draw a curve.

        Parameters
        ----------
        curve : {"calibration", "roc"}, default="calibration"
            What to draw.
        ax : matplotlib Axes, default=None
            Axes to draw on; None: those of a new figure.
        cmap : str or Colormap, default=None
            Colours of the groups. None: "tab10" for up to ten of them, "gist_rainbow" for more.

        Returns
        -------
        self : PrivateEvaluationDisplay

        Raises
        ------
        ValueError
            There is no such curve or group.
        AttributeError
            The evaluation has no such curve: a regressor's has none.
        ImportError
            Matplotlib is not installed.
        """
        if curve not in get_args(Curve):
            raise ValueError(f"curve must be one of {list(get_args(Curve))}.")
        read = self._calibration if curve == "calibration" else self.evaluation.roc_curve
        curves = [read(group) for group in self.groups]
        self.ax_, self.figure_ = new_axes(ax, type(self).__name__)
        self.lines_: list[Any] = []
        self.ax_.plot([0, 1], [0, 1], linestyle=":", color="grey")
        for group, colour, found in zip(
            self.groups, class_colours(len(self.groups), cmap), curves, strict=True
        ):
            name = "all rows" if group is None else str(group)
            if curve == "roc":
                metrics = self.evaluation.metrics if group is None else self.evaluation.by_group[group]
                label = f"{name}: AUC {metrics['auc']}"
                self.lines_ += self.ax_.plot(*found, color=tuple(colour), label=label)
            else:
                x, y, reach = found
                style = {"color": tuple(colour), "label": name, "capsize": 3, "marker": "o"}
                self.lines_.append(self.ax_.errorbar(x, y, yerr=reach, **style))
        names = (
            ("score", "observed share") if curve == "calibration" else ("false positives", "true positives")
        )
        self.ax_.set(xlabel=names[0], ylabel=names[1], xlim=(0, 1), ylim=(0, 1.02))
        plain_legend(self.ax_)
        if self.evaluation.on_training_rows:
            self.ax_.set_title("on rows that the model was fitted on")
        return self

    def _calibration(self, group: Any) -> tuple[Any, Any, Any]:
        """Return scores, observed shares, and the distances of the ends of their intervals, down and up."""
        points = [
            point
            for point in self.evaluation.calibration_curve(group)
            if not (math.isnan(point.observed.value) or point.observed.says_nothing)
        ]
        x, y = [point.predicted for point in points], [point.observed.value for point in points]
        down = [point.observed.value - point.observed.lower for point in points]
        up = [point.observed.upper - point.observed.value for point in points]
        return x, y, np.maximum([down, up], 0.0)
