# SPDX-License-Identifier: BSD-3-Clause
"""The words in which a run's fields are told: in print, on labels, in model cards."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from .._amounts import show

if TYPE_CHECKING:
    from .spent import PrivacySpent

RELATIONS = {
    "replace-one": "replace-one: data sets of the same size that differ in one unit's values",
    "add-remove": "add-remove: data sets of which one has one unit more",
    "local": "local: each unit's report is private by itself, whatever it holds",
    "label": "label: data sets that differ in one unit's label; the features are NOT protected",
}
UNITS = {
    "row": "row: one ROW is protected; persons with several rows are not covered without `groups`",
    "group": "group: all rows of one group (one person, say) are protected together",
    "player": "player: everything one player sends during a run is protected together",
}
DEPLOYMENTS = {
    "curator": "curator: whoever ran fit saw the rows and is trusted; the released values are protected",
    "simulated": "simulated: local reports drawn in one place: whoever ran fit saw the rows",
    "collected": "collected: reports came from the clients; whoever ran fit saw reports, not rows",
}
SOURCES = {
    "os-entropy": "entropy of the operating system",
    "seeded": "seeded: whoever knows the seed can subtract the noise",
}
_WIDTH = 200  # characters of one printed value: bounds of a thousand features stay one line


def describe(spent: PrivacySpent) -> list[tuple[str, str]]:
    """Return names and texts of everything that is stated about a run, the claim first."""
    pairs = [*_claim(spent), *_mechanism(spent), *_leakage(spent)]
    pairs += [(f"unprotected {name}", one_line(value)) for name, value in spent.unprotected.items()]
    return [*pairs, *(("not private because", " ".join(reason.split())) for reason in spent.reasons)]


def claim_of(spent: PrivacySpent) -> str:
    """Return the claim with what an audit says about it."""
    audit = "" if spent.audit is None else f"{spent.audit}, "
    if spent.private:
        return f"differential privacy (claimed by the software, {audit}not certified)"
    return "NOT PRIVATE"


def print_amount(amount: Fraction | float) -> str:
    """Print an amount to six digits, and exactly where that is something else."""
    if amount == math.inf:
        return "infinite"
    rounded = show(amount)
    return rounded if rounded == str(amount) else f"{rounded} (exactly {amount})"


def one_line(value: object) -> str:
    """Print a value on one line: text with a line break in it could pass for another line of the block."""
    text = "none" if value is None else " ".join(str(value).split())
    return text if len(text) <= _WIDTH else text[:_WIDTH] + " ..."


def _claim(spent: PrivacySpent) -> list[tuple[str, str]]:
    epsilon = print_amount(spent.epsilon)
    if not spent.private and spent.epsilon != math.inf:
        epsilon = f"infinite (nominal amount, as charged: {epsilon})"
    pairs = [("claim", claim_of(spent)), ("epsilon", epsilon), ("delta", print_amount(spent.delta))]
    if spent.audit is not None and not spent.private:
        pairs.insert(1, ("audit", str(spent.audit)))
    if spent.rho is not None:
        pairs.append(("rho (zCDP)", print_amount(spent.rho)))
    pairs += [("relation", RELATIONS[spent.relation]), ("unit", UNITS[spent.unit])]
    if spent.unit != "player":  # who has no rows
        pairs.append(("rows per unit", f"at most {spent.max_rows_per_unit}"))
    return [*pairs, ("deployment", DEPLOYMENTS[spent.deployment])]


def _mechanism(spent: PrivacySpent) -> list[tuple[str, str]]:
    return [
        ("mechanism", spent.mechanism),
        ("sensitivity (integer grid)", one_line(spent.sensitivity)),
        ("noise scale (integer grid)", one_line(spent.noise_scale)),
        ("noise source", SOURCES[spent.noise_source]),
        ("public inputs", ", ".join(spent.public_inputs) or "none"),
    ]


def _leakage(spent: PrivacySpent) -> list[tuple[str, str]]:
    if spent.leakage is None:
        return []
    status = str(spent.leakage.status).replace("_", " ")
    pairs = [("leakage", f"{spent.leakage.epsilon:.6g} nats of pointwise maximal leakage ({status})")]
    pairs += [("leakage by", one_line(spent.leakage.method))] if spent.leakage.method else []
    return [*pairs, ("for the data holder", " ".join(spent.leakage.statement().split()))]
