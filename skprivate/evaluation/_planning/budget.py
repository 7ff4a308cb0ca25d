# SPDX-License-Identifier: BSD-3-Clause
"""A total epsilon, split between the description of a table, a fit and its evaluation."""

import math
from dataclasses import dataclass
from fractions import Fraction

from ...utils import check_epsilon
from ...utils._public_module import public_module
from .._counts import plan_noise

# 95 % intervals.
_Z = 1.96
# Bins of a score in an evaluation; each holds rows of every class.
_BINS = 20
# What is wanted of a description: shares within one percentage point of the exact ones, but for at most a
# fifth of the budget; and of an evaluation: an interval of two points to either side, in the smallest of the
# shares of rows that reaches it. They are wishes of a reader, and not fitted to anything.
_DESCRIBE_WITHIN, _DESCRIBE_AT_MOST = 0.01, Fraction(1, 5)
_EVALUATE_WITHIN, _HELD_OUT = 0.02, (0.1, 0.2, 0.3, 0.5)
# Shares of the budget that a description is tried at.
_SHARES = tuple(Fraction(k, 100) for k in (1, 2, 5, 10, 20))

DISJOINT = (
    "Fit and evaluation read different persons: a person is in one of the two parts, so that the pair of "
    "releases loses no more than the dearer of them. That holds where a person is added or removed; and "
    "where one is replaced, if the part is fixed beforehand by a position or a public number and not by the "
    "person's values (the replacement is then in the same part). Else the two costs add up. All rows of a "
    "person must be in one part. The description reads all rows, and its cost is added. Declare the "
    "parts to the ledger (PrivacyLedger.data), whose ceiling counts them in full."
)


@public_module("skprivate.evaluation")
@dataclass(frozen=True)
class BudgetSplit:
    """A suggestion for what is spent on what.

    Attributes
    ----------
    total : Fraction
        Greatest privacy loss of a person by all of it.
    describe : Fraction
        For the description, on all rows.
    fit, evaluate : Fraction
        For the fit, and for the evaluation on rows that the fit does not see: each the whole remainder.
    n_fit, n_evaluate : int
        Rows of the two.
    describe_half_width : float
        Half of the 95 % interval of a share in the description, by its noise alone.
    evaluate_half_width : float
        Half of the 95 % interval of the score of the evaluation, AUC or accuracy, by noise and sampling.
    evaluate_half_width_if_added : float
        The same where the costs of fit and evaluation add up, and each gets half.
    argument : str
        Why fit and evaluation do not add up.

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
    Sampling: a binomial variance of the accuracy; of the AUC, Hanley and McNeil's (1982). Noise: half of the
    cells add up to the number of right predictions. A cell of the first class counts in the AUC with
    (F - A) / n_1, F being the share of the second class below its bin; over bins from end to end F - A has
    the mean square 1/12 + (A - 1/2)^2. The second class is alike.
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
