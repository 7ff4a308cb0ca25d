# SPDX-License-Identifier: BSD-3-Clause
"""What the check of a pipeline found."""

from dataclasses import dataclass

from ...accounting._checks import escape_controls
from ...utils._public_module import public_module


@public_module("skprivate.audit")
@dataclass(frozen=True, kw_only=True)
class Hole:
    """Something on a fitted pipeline that one row of the data changes without noise.

    Attributes
    ----------
    step : str
        Path of the step, as in `privacy_report`.
    place : str
        The attribute, or what else tells: a text, names, a warning.
    neighbour : str
        What was put into the row.

    Examples
    --------
    >>> from skprivate.audit import Hole
    >>> print(Hole(step="scaler", place="mean_", neighbour="zeros"))
    scaler: mean_ tells of one row (zeros)
    """

    step: str
    place: str
    neighbour: str

    def __str__(self) -> str:
        return escape_controls(f"{self.step}: {self.place} tells of one row ({self.neighbour})")


@public_module("skprivate.audit")
@dataclass(frozen=True, kw_only=True)
class PipelineCheck:
    """What `check_private_pipeline` found.

    Attributes
    ----------
    holes : tuple of Hole
    failures : tuple of str
        Changes of rows on which the fit fails: a claim does not cover that it fails.
    unpaid : tuple of str
        Steps that `privacy_report` names already, and that were not looked at.
    n_fits : int

    Examples
    --------
    >>> from skprivate.audit import PipelineCheck
    >>> print(PipelineCheck(holes=(), failures=(), unpaid=(), n_fits=30))
    no hole found in 30 fits
    """

    holes: tuple[Hole, ...]
    failures: tuple[str, ...]
    unpaid: tuple[str, ...]
    n_fits: int

    @property
    def passed(self) -> bool:
        """Whether no hole was found."""
        return not self.holes

    def __str__(self) -> str:
        head = f"{len(self.holes)} holes" if self.holes else "no hole"
        lines = [f"{head} found in {self.n_fits} fits", *(f"- {hole}" for hole in self.holes)]
        lines += [f"- not looked at, named by privacy_report: {step}" for step in self.unpaid]
        lines += [f"- the fit fails on {failure}" for failure in self.failures]
        return "\n".join(map(escape_controls, lines))
