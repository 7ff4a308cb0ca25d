# SPDX-License-Identifier: BSD-3-Clause
"""The result of planning a study: a table by epsilon, a recommendation, and what cannot be known."""

from dataclasses import asdict, dataclass
from fractions import Fraction
from html import escape
from typing import Any

from ...utils._public_module import public_module
from .bands import PlannedScore
from .budget import BudgetSplit

_MARKS = {
    "public": "computed from public rows: nothing was spent",
    "simulated": "computed from simulated rows: nothing was spent",
}


@public_module("skprivate.evaluation")
@dataclass(frozen=True)
class StudyPlan:
    """What a private fit is expected to be worth, before anything is spent.

    Attributes
    ----------
    estimator : str
        Class of what would be fitted.
    n : int
        Private rows that were planned for.
    score_name : str
        The score, as scikit-learn names it; greater is better.
    table : tuple of PlannedScore
        Expected score and band at each epsilon, which rise.
    base_rate : float
        Score of a constant prediction.
    public_alone : float or None
        Cross-validated score of the better of two scikit-learn models of the public rows alone, at epsilon
        0; None without public rows.
    public_alone_error : float or None
        Its standard error.
    public_alone_model : str or None
        Which one it is.
    decision : {"go", "no-go", "cannot say"}
        "go": from some epsilon on the lower ends of all bands are above `public_alone` and `base_rate`;
        "no-go": no band reaches above them; "cannot say": neither.
    recommendation : str
        The decision with its figures.
    split : BudgetSplit or None
        A suggestion for the total epsilon; None for scores of numbers.
    unknowns : tuple of str
        What the plan cannot know.
    source : {"public", "simulated"}
        Of which rows it was computed.

    See Also
    --------
    plan_study : Returns it.

    Notes
    -----
    **Privacy.** It holds nothing of private rows: there were none.

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

    @property
    def mark(self) -> str:
        """What it was computed from."""
        return _MARKS[self.source]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, which JSON takes; exact numbers become text such as "9/10"."""
        plain: dict[str, Any] = _plain({**asdict(self), "mark": self.mark})
        return plain

    def to_frame(self) -> Any:
        """Return the table as a DataFrame of pandas, one row for each epsilon.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.table])

    def __str__(self) -> str:
        lines = [
            f"{self.estimator} on {self.n:,} private rows: {self.recommendation}",
            f"({self.mark})",
            "",
            f"{'epsilon':>8}  {self.score_name:>10}  band",
            *(
                f"{row.epsilon:>8g}  {row.score:>10.3f}  {row.lower:.3f} to {row.upper:.3f}"
                for row in self.table
            ),
            "",
            *self._baselines(),
        ]
        if self.split is not None:
            lines += ["", f"Suggested split {self.split}.", self.split.argument]
        return "\n".join([*lines, "", "What this cannot know:", *(f"- {text}" for text in self.unknowns)])

    def _baselines(self) -> list[str]:
        found = [f"base rate: {self.base_rate:.3f}"]
        if self.public_alone is not None:
            found.append(
                f"public rows alone ({self.public_alone_model}): {self.public_alone:.3f}, standard error "
                f"{self.public_alone_error:.3f}"
            )
        return found

    def to_html(self) -> str:
        """Return it as a fragment of HTML: no scripts, nothing to load, every text escaped."""
        head = "".join(
            f"<th>{escape(name)}</th>" for name in ("epsilon", self.score_name, "from", "to", "fits")
        )
        body = "".join(
            f"<tr><td>{row.epsilon:g}</td><td>{row.score:.3f}</td><td>{row.lower:.3f}</td>"
            f"<td>{row.upper:.3f}</td><td>{row.repeats}</td></tr>"
            for row in self.table
        )
        texts = [*self._baselines()]
        if self.split is not None:
            texts += [f"Suggested split {self.split}.", self.split.argument]
        return (
            f"<div><p><b>{escape(self.estimator)} on {self.n:,} private rows</b>: "
            f"{escape(self.recommendation)}</p><p><i>{escape(self.mark)}</i></p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            + "".join(f"<p>{escape(text)}</p>" for text in texts)
            + "<p>What this cannot know:</p><ul>"
            + "".join(f"<li>{escape(text)}</li>" for text in self.unknowns)
            + "</ul></div>"
        )

    def _repr_html_(self) -> str:
        return self.to_html()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Fraction) else value
