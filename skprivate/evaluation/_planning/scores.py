# SPDX-License-Identifier: BSD-3-Clause
"""Bands of planned scores, the split of a budget, and the result of planning a study."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from html import escape
from typing import Any, Self

import numpy as np
from scipy.stats import norm, t

from ..._typing import FloatArray
from ...accounting._statements.html import html_table
from ...utils import check_epsilon
from ...utils._public_module import public_module
from .._counts import plan_noise

#: Share of the studies that end in the band, if all assumptions hold.
COVERAGE = 0.9


@public_module("skprivate.evaluation")
@dataclass(frozen=True)
class PlannedScore:
    """The expected score at one epsilon.

    Attributes
    ----------
    epsilon : float
    score : float
        Expected score of a fit to n private rows, on other rows; greater is better.
    lower, upper : float
        Band of the score of one such fit.
    repeats : int
        Number of fits for the estimate.
    gain, gain_lower, gain_upper, gain_error : float or None
        Excess over the score of a model of the public rows alone, with the band of the difference, and the
        standard error of its expectation. Both models are fitted to rows of the same worlds, so that this
        band is narrower than that of the score. None without public rows.

    See Also
    --------
    plan_study : Returns one for each epsilon.

    Notes
    -----
    **Privacy.** It was computed without private rows.

    Examples
    --------
    >>> from skprivate.evaluation import PlannedScore
    >>> PlannedScore(epsilon=1.0, score=0.89, lower=0.87, upper=0.91, repeats=8).gain is None
    True
    """

    epsilon: float
    score: float
    lower: float
    upper: float
    repeats: int
    gain: float | None = None
    gain_lower: float | None = None
    gain_upper: float | None = None
    gain_error: float | None = None


@dataclass(frozen=True)
class Shift:
    """A correction of scores: the estimator may do better or worse on public rows than in the worlds.

    Attributes
    ----------
    amount : float
    error : float
        Standard error of the score on public rows, by sampling.
    """

    amount: float = 0.0
    error: float = 0.0

    @classmethod
    def measured(cls, real: FloatArray, in_worlds: FloatArray, deviations: FloatArray, base: float) -> Self:
        """Return the difference of scores on folds of public rows and in worlds.

        The shift is 0 if the estimator learnt nothing in some of them. So few rows may be too few for it at
        any epsilon, and carry no information about n rows.
        """
        if np.isclose(np.r_[real, in_worlds], base, rtol=0, atol=1e-9).any():
            return cls()
        error = float(real.std(ddof=1) / np.sqrt(len(real)))
        return cls(float(real.mean()) - band_of(in_worlds, deviations)[0], error)


def plan_score(
    epsilon: Any,
    scores: FloatArray,
    alone: FloatArray,
    deviations: FloatArray,
    shift: Shift,
    shift_alone: float,
    limits: tuple[float, float],
) -> PlannedScore:
    """Return the expected score at an epsilon, from the scores of fits.

    Parameters
    ----------
    epsilon : float
    scores, alone, deviations : ndarray of shape (n_repeats,)
        Scores of the fits; scores of the public rows alone (NaN if there are none); deviations of the
        strength, in standard errors.
    shift : Shift
    shift_alone : float
        The shift of the model of public rows alone.
    limits : (least, greatest)
        Range of the score.
    """
    centre, lower, upper = (float(np.clip(end, *limits)) for end in band_of(scores, deviations, shift)[:3])
    head = float(epsilon), centre, lower, upper, len(scores)
    if np.isnan(alone).any():
        return PlannedScore(*head)
    # Both are measured on the same public rows, and share their sampling errors.
    return PlannedScore(*head, *band_of(scores - alone, deviations, Shift(shift.amount - shift_alone)))


def band_of(
    scores: FloatArray, deviations: FloatArray, shift: Shift | None = None
) -> tuple[float, float, float, float]:
    """Return centre, lower and upper end of scores, and the standard error of the centre.

    Each score is from a world that is some standard errors from the expected strength. The score is fitted by
    a line in that deviation. Its slope is the error by the size of the public sample. The residuals are due
    to noise, rows and the model of labels.
    """
    shift = Shift() if shift is None else shift
    n = len(scores)
    design = np.column_stack([np.ones(n), deviations]) if np.ptp(deviations) > 0 else np.ones((n, 1))
    coefficients = np.linalg.lstsq(design, scores, rcond=None)[0]
    freedom = n - design.shape[1]
    residual = float(np.sum((scores - design @ coefficients) ** 2)) / freedom
    slope = abs(float(coefficients[1])) if len(coefficients) > 1 else 0.0
    # The shift is measured on few rows, and holds for many only if its cause remains. So half of it counts as
    # an error. Both scores are of the same public rows, so that their sampling errors do not add up.
    error = float(np.hypot(max(slope, shift.error), shift.amount / 2))
    level = (1 + COVERAGE) / 2
    half = float(np.hypot(norm.ppf(level) * error, t.ppf(level, freedom) * np.sqrt(residual * (1 + 1 / n))))
    centre = float(coefficients[0]) + shift.amount
    return centre, centre - half, centre + half, float(np.hypot(error, np.sqrt(residual / n)))


def recommend(rows: Sequence[PlannedScore], alone: float | None, base: float, name: str) -> tuple[str, str]:
    """Return "go", "no-go" or "cannot say", and the reason in words.

    Parameters
    ----------
    rows : sequence of PlannedScore
        By rising epsilon.
    alone : float or None
        Score of the public rows alone.
    base : float
        Score of a constant.
    name : str
        Name of the score.
    """
    first = len(rows)
    while first and _passes(rows[first - 1], base):
        first -= 1
    best = max(rows, key=lambda row: row.score)
    shown = rows[first] if first < len(rows) else best
    figures = f"expected {name} {shown.score:.3g} (band {shown.lower:.3g} to {shown.upper:.3g})"
    against = f"{base:.3g} of the base rate"
    if alone is not None and shown.gain is not None:
        against = (
            f"{alone:.3g} of public rows alone, a gain of {shown.gain:.2g} (band {shown.gain_lower:.2g} to "
            f"{shown.gain_upper:.2g})"
        )
    if first < len(rows):
        return "go", f"go at epsilon >= {shown.epsilon:g}: {figures} against {against}"
    if all(_fails(row, base) for row in rows):
        return "no-go", (
            f"no-go: at no epsilon is a gain expected over the base rate and the public rows; at epsilon "
            f"{shown.epsilon:g}, {figures} against {against}"
        )
    return "cannot say", (
        f"cannot say: the band holds the score of the base rate or of the public rows; at epsilon "
        f"{shown.epsilon:g}, {figures} against {against}"
    )


def _passes(row: PlannedScore, base: float) -> bool:
    return row.lower > base and (row.gain_lower is None or row.gain_lower > 0)


def _fails(row: PlannedScore, base: float) -> bool:
    if row.gain is None or row.gain_error is None:
        return row.upper <= base
    return row.gain + norm.ppf((1 + COVERAGE) / 2) * row.gain_error <= 0


# 95 % intervals.
_Z = 1.96
# Assumed bins of a score in an evaluation; each holds rows of every class.
_BINS = 20
# Aims of a split. Shares of a description are within one percentage point of the exact ones, for at most a
# fifth of the budget. The interval of an evaluation has two points to either side, on the smallest share of
# rows that reaches it. They are wishes of a reader, and not fitted to anything.
_DESCRIBE_WITHIN, _DESCRIBE_AT_MOST = 0.01, Fraction(1, 5)
_EVALUATE_WITHIN, _HELD_OUT = 0.02, (0.1, 0.2, 0.3, 0.5)
# Shares of the budget that are tried for a description.
_SHARES = tuple(Fraction(k, 100) for k in (1, 2, 5, 10, 20))

DISJOINT = (
    "Fit and evaluation read different persons. A person is in one of the two parts, so the pair of releases "
    "costs no more than the larger of the two. This holds if a person is added or removed. It holds if a "
    "person is replaced, too, if a position or a public number fixes the part beforehand, and not the "
    "person's values. The replacement is then in the same part. Otherwise the two costs add up. All rows of "
    "a person must be in one part. The description reads all rows, and its cost is added. Declare the parts "
    "to the ledger (PrivacyLedger.data). Its ceiling counts them in full."
)


@public_module("skprivate.evaluation")
@dataclass(frozen=True)
class BudgetSplit:
    """A suggested split of the budget.

    Attributes
    ----------
    total : Fraction
        Greatest privacy loss of a person by all releases together.
    describe : Fraction
        Epsilon of the description of all rows.
    fit, evaluate : Fraction
        Epsilon of the fit, and of the evaluation on rows that the fit does not use: each is the whole
        remainder.
    n_fit, n_evaluate : int
        Rows of the fit and of the evaluation.
    describe_half_width : float
        Half of the 95 % interval of a share in the description, by its noise alone.
    evaluate_half_width : float
        Half of the 95 % interval of the score of the evaluation, AUC or accuracy, by noise and sampling.
    evaluate_half_width_if_added : float
        The same if the costs of fit and evaluation add up, and each gets half.
    argument : str
        The reason why the costs of fit and evaluation do not add up.

    See Also
    --------
    plan_study : Suggests one.

    Notes
    -----
    **Privacy.** It is computed from public numbers alone.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skprivate.evaluation import BudgetSplit
    >>> split = BudgetSplit(
    ...     total=Fraction(1), describe=Fraction(1, 10), fit=Fraction(9, 10), evaluate=Fraction(9, 10),
    ...     n_fit=8000, n_evaluate=2000, describe_half_width=0.02, evaluate_half_width=0.03,
    ...     evaluate_half_width_if_added=0.04,
    ... )
    >>> str(split)[:50]
    'of epsilon 1: 0.1 for a description of all rows (s'
    """

    total: Fraction
    describe: Fraction
    fit: Fraction
    evaluate: Fraction
    n_fit: int
    n_evaluate: int
    describe_half_width: float
    evaluate_half_width: float
    evaluate_half_width_if_added: float
    argument: str = DISJOINT

    def __str__(self) -> str:
        return (
            f"of epsilon {float(self.total):g}: {float(self.describe):g} for a description of all rows "
            f"(shares within {self.describe_half_width:.2g} by noise), {float(self.fit):g} for the fit to "
            f"{self.n_fit:,} rows, and {float(self.evaluate):g} for the evaluation on "
            f"{self.n_evaluate:,} other rows (score within {self.evaluate_half_width:.2g}; "
            f"{self.evaluate_half_width_if_added:.2g} if the two costs were added and halved)"
        )


def split_budget(
    total: float | Fraction, n: int, n_columns: int, score: float, share: float | None, *, is_area: bool
) -> BudgetSplit:
    """Return the split for a table of n rows.

    Parameters
    ----------
    total : float or Fraction
    n, n_columns : int
        Rows, and tables of counts in a description.
    score : float
        Expected AUC or accuracy.
    share : float or None
        Share of the rarer class; None: half.
    is_area : bool
        Whether the score is an AUC.
    """
    amount = check_epsilon(total)
    describe = min(
        (one * amount for one in _SHARES if _width_of_share(one * amount, n, n_columns) <= _DESCRIBE_WITHIN),
        default=_DESCRIBE_AT_MOST * amount,
    )
    rest = amount - describe

    def width(held: int, epsilon: Fraction) -> float:
        return evaluation_half_width(score, held, epsilon, 0.5 if share is None else share, is_area=is_area)

    sizes = [max(int(part * n), 1) for part in _HELD_OUT]
    held = next((size for size in sizes if width(size, rest) <= _EVALUATE_WITHIN), sizes[2])
    return BudgetSplit(
        amount, describe, rest, rest, n - held, held, _width_of_share(describe, n, n_columns),
        width(held, rest), width(held, rest / 2),
    )  # fmt: skip


def _width_of_share(epsilon: Fraction, n: int, n_columns: int) -> float:
    return _Z * plan_noise(n_columns, epsilon).std / n


def evaluation_half_width(score: float, n: int, epsilon: Fraction, share: float, *, is_area: bool) -> float:
    """Return half of the 95 % interval of an AUC or an accuracy from a noisy table of score bin by class.

    Notes
    -----
    Sampling: the accuracy has a binomial variance, and the AUC that of Hanley and McNeil (1982). Noise: half
    of the cells add up to the number of right predictions. A cell of the first class counts in the AUC with
    (F - A) / n_1, with F the share of the second class below its bin. Over bins from end to end, F - A has
    the mean square 1/12 + (A - 1/2)^2. The second class is similar.
    """
    variance = plan_noise(1, epsilon).std ** 2
    score = min(max(score, 0.0), 1.0)
    if not is_area:
        return _Z * math.sqrt(score * (1 - score) / n + _BINS * variance / n**2)
    first, second = max(share * n, 1.0), max((1 - share) * n, 1.0)
    one, two = score / (2 - score), 2 * score**2 / (1 + score)
    sampling = score * (1 - score) + (first - 1) * (one - score**2) + (second - 1) * (two - score**2)
    noise = _BINS * variance * (1 / 12 + (score - 0.5) ** 2) * (1 / first**2 + 1 / second**2)
    return min(_Z * math.sqrt(max(sampling, 0.0) / (first * second) + noise), 1.0)


# The result of planning a study.


class Plan:
    """The common part of both plans: plain values, text and HTML."""

    table: tuple[Any, ...]
    unknowns: tuple[str, ...]
    source: str

    @property
    def mark(self) -> str:
        """The rows that it was computed from."""
        return f"computed from {self.source} rows: nothing was spent"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON.

        Exact numbers become text such as "9/10". An infinite half-width, of fits that warned, becomes None.
        """
        fields: Any = self
        return _plain({**asdict(fields), "mark": self.mark})

    def to_frame(self) -> Any:
        """Return the table as a DataFrame of pandas, one row for each entry of the table.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        import pandas as pd

        return pd.DataFrame(list(map(self._record, self.table)))

    def _record(self, row: Any) -> dict[str, Any]:
        return asdict(row)

    def _as_text(self, title: str, lines: Iterable[str]) -> str:
        unknown = (f"- {text}" for text in self.unknowns)
        return "\n".join([title, f"({self.mark})", "", *lines, "", "What this cannot know:", *unknown])

    def _as_html(self, title: str, head: Sequence[str], rows: Iterable[Sequence[str]], after: str) -> str:
        return (
            f"<div><p>{title}</p><p><i>{escape(self.mark)}</i></p>{html_table(head, rows)}{after}"
            "<p>What this cannot know:</p><ul>"
            + "".join(f"<li>{escape(text)}</li>" for text in self.unknowns)
            + "</ul></div>"
        )

    def to_html(self) -> str:
        """Return it as a fragment of HTML: no scripts, nothing to load, every text escaped."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self.to_html()


@public_module("skprivate.evaluation")
@dataclass(frozen=True)
class StudyPlan(Plan):
    """The expected accuracy of a private fit, before budget is spent.

    Attributes
    ----------
    estimator : str
        Class of the estimator.
    n : int
        Planned number of private rows.
    score_name : str
        Name of the score in scikit-learn; greater is better.
    table : tuple of PlannedScore
        Expected score and band at each epsilon, by rising epsilon.
    base_rate : float
        Score of a constant prediction.
    public_alone : float or None
        Cross-validated score of the better of two scikit-learn models of the public rows alone, at epsilon
        0; None without public rows.
    public_alone_error : float or None
        Standard error of that score.
    public_alone_model : str or None
        Name of that model.
    decision : {"go", "no-go", "cannot say"}
        "go": from some epsilon on, the lower ends of all bands are above `public_alone` and `base_rate`.
        "no-go": no band reaches above them. "cannot say": neither of these.
    recommendation : str
        The decision with its figures.
    split : BudgetSplit or None
        A suggestion for the total epsilon; None for scores of numbers.
    unknowns : tuple of str
        What the plan cannot know.
    source : {"public", "simulated"}
        The rows that it was computed from.

    See Also
    --------
    plan_study : Returns it.

    Notes
    -----
    **Privacy.** It was computed without private rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skprivate import DPLogisticRegression
    >>> from skprivate.evaluation import plan_study
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(60, 1))
    >>> y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    >>> plan = plan_study(DPLogisticRegression(delta=1e-6), (-1, 1), 1000, [1.0], public=(X, y),
    ...                   target=[0, 1], n_repeats=4, random_state=0)
    >>> plan.decision in ("go", "no-go", "cannot say")
    True
    """

    estimator: str
    n: int
    score_name: str
    table: tuple[PlannedScore, ...]
    base_rate: float
    public_alone: float | None
    public_alone_error: float | None
    public_alone_model: str | None
    decision: str
    recommendation: str
    split: BudgetSplit | None
    unknowns: tuple[str, ...]
    source: str

    def __str__(self) -> str:
        rows = [
            f"{row.epsilon:>8g}  {row.score:>10.3f}  {row.lower:.3f} to {row.upper:.3f}" for row in self.table
        ]
        head = f"{'epsilon':>8}  {self.score_name:>10}  band"
        title = f"{self.estimator} on {self.n:,} private rows: {self.recommendation}"
        split = self._suggested_split()
        return self._as_text(title, [head, *rows, "", *self._baselines(), *([""] if split else []), *split])

    def _baselines(self) -> list[str]:
        found = [f"base rate: {self.base_rate:.3f}"]
        if self.public_alone is not None:
            found.append(
                f"public rows alone ({self.public_alone_model}): {self.public_alone:.3f}, standard error "
                f"{self.public_alone_error:.3f}"
            )
        return found

    def _suggested_split(self) -> list[str]:
        return [] if self.split is None else [f"Suggested split {self.split}.", self.split.argument]

    def to_html(self) -> str:
        """Return it as a fragment of HTML: no scripts, nothing to load, every text escaped."""
        rows = [
            (
                f"{row.epsilon:g}",
                *(f"{one:.3f}" for one in (row.score, row.lower, row.upper)),
                f"{row.repeats}",
            )
            for row in self.table
        ]
        texts = "".join(f"<p>{escape(text)}</p>" for text in (*self._baselines(), *self._suggested_split()))
        title = f"<b>{escape(self.estimator)} on {self.n:,} private rows</b>: {escape(self.recommendation)}"
        return self._as_html(title, ("epsilon", self.score_name, "from", "to", "fits"), rows, texts)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Fraction) else value
