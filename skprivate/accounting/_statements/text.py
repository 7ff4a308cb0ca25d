# SPDX-License-Identifier: BSD-3-Clause
"""The text of statements, in print and in model cards; a statement is what ``to_dict`` returns."""

import math
import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import Any

from .._privacy_amounts import show
from .fields import decode_number, decode_required, decode_scale, decode_value, escape_controls

Statement = Mapping[str, Any]

RELATIONS = {
    "replace-one": "replace-one: data sets of the same size that differ in one unit's values",
    "add-remove": "add-remove: data sets of which one has one additional unit",
    "local": "local: each unit's report is private by itself, whatever the unit's values are",
    "label": "label: data sets that differ in one unit's label; the features are NOT protected",
    "joint": "joint: a unit's values are protected in all that others see; its own actions are NOT covered",
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
#: The second line of a statement, wherever it is shown: a fit does not see the pipeline around it.
SCOPE = ("of this step alone", "a pipeline's other steps are not covered; see privacy_report(pipeline)")
_STATUS = {
    "exact": "exact: no smaller bound holds",
    "upper_bound": "upper bound: proven; the true leakage may be less",
    "estimate": "estimate: right with confidence {}",
}
_CRITERIA = {
    "pml": "pointwise maximal leakage",
    "corollary1": "pointwise maximal leakage by the mean of the worst sensitivity",
    "dp": "differential privacy",
}
_SENTENCES = {
    "pml": "For an adversary whose prior is {prior}, {subject} raises the best success probability of any "
    "guess about your value by at most the factor {factor}",
    "dp": "Whatever an adversary already knows, your data change the probability of any outcome of "
    "{subject} by at most the factor {factor}",
}
_SENTENCES["corollary1"] = _SENTENCES["pml"]

#: Noise whose sensitivity is the squared L2 sensitivity.
GAUSSIAN = "discrete Gaussian"
#: Fields of a release that are amounts.
AMOUNTS_OF_RELEASE = ("sensitivity", "noise_scale", "epsilon", "rho", "times")

# The numbers that follow are set by hand.
#: Relative error of an exact guarantee; many times the error of the floats behind it.
ROUNDING = 1e-9
_WIDTH = 200  # characters of one printed value: bounds of a thousand features stay on one line
# A factor with a larger exponent is printed as a power of e: near the largest float.
_LARGEST_EXPONENT = 700
# A larger factor is printed as a power of ten; set by hand.
_LARGEST_PLAIN = 10**6


def describe_spent(statement: Statement) -> str:
    """Return the text of a run's statement, the claim first."""
    claim, *rows = rows_of_spent(statement)
    rows = [claim, *scope_of_spent(statement), *rows, *rows_of_releases(statement)]
    lines = [f"{name}: {text}" for name, text in rows]
    return "\n  ".join(map(escape_controls, [f"Claim{lines[0].removeprefix('claim')}", *lines[1:]]))


def rows_of_spent(statement: Statement) -> list[tuple[str, str]]:
    """Return names and texts of all parts of a run's statement, the claim first."""
    rows = [
        *_claim_rows(statement),
        ("mechanism", statement["mechanism"]),
        ("sensitivity (integer grid)", describe_scale(statement["sensitivity"])),
        ("noise scale (integer grid)", describe_scale(statement["noise_scale"], down=True)),
        ("noise source", SOURCES[statement["noise_source"]]),
        ("public inputs", ", ".join(statement["public_inputs"]) or "none"),
        *_leakage_rows(statement),
    ]
    for name, value in statement["unprotected"].items():
        rows.append((f"unprotected {name}", one_line(decode_value(value))))
    return [*rows, *(("not private because", reason) for reason in statement["reasons"])]


def scope_of_spent(statement: Statement) -> list[tuple[str, str]]:
    """Return `SCOPE` as the row after the claim; a game has none, since it is no step of a pipeline."""
    return [] if statement["unit"] == "player" else [SCOPE]


def rows_of_releases(statement: Statement) -> list[tuple[str, str]]:
    """Return numbers and texts of the releases of a run."""
    releases = statement["releases"]
    return [(f"release {number}", one_line(describe_release(one))) for number, one in enumerate(releases, 1)]


def describe_release(record: Statement) -> str:
    """Return a release in a line."""
    amounts: dict[str, Any] = {name: decode_scale(record[name]) for name in AMOUNTS_OF_RELEASE}
    norm = "squared L2" if record["mechanism"] == GAUSSIAN else "L1"
    parts = [record["mechanism"]]
    parts += [f"{norm} sensitivity {show(amounts['sensitivity'])}"] if amounts["sensitivity"] else []
    parts += [f"noise scale {show(amounts['noise_scale'], down=True)}"] if amounts["noise_scale"] else []
    unit = "epsilon" if amounts["rho"] is None else "rho"
    share = f"{unit} {show(amounts[unit])}"
    share += f", {show(amounts['times'])} times" if amounts["times"] != 1 else ""
    share += f", of {record['rows']}" if record["rows"] is not None else ""
    return f"{record['name']}: {', '.join(parts)}; {share}"


def describe_guarantee(statement: Statement) -> str:
    """Return the text of a guarantee."""
    allowance = decode_number(statement["allowance"])
    share = f" (of it {allowance:.2g} for the grid and for rounding)" if allowance else ""
    status = _STATUS[statement["status"]].format(_describe_confidence(statement))
    if statement["status"] == "exact" and allowance:
        status = "exact except for that part: without a grid, no bound below the rest holds"
    lines = [
        f"Guarantee: {_CRITERIA[statement['criterion']]} of {statement['subject']}",
        f"epsilon: {decode_number(statement['epsilon']):.6g} nats{share}",
        f"status: {status}",
    ]
    lines += [f"{name}: {statement[name]}" for name in ("prior", "method") if statement[name]]
    return "\n  ".join(map(escape_controls, lines))


def sentence_of_guarantee(statement: Statement) -> str:
    """Return the sentence for the holder of the secret; the factor is rounded up to three digits."""
    epsilon, subject = decode_number(statement["epsilon"]), statement["subject"]
    if math.isinf(epsilon):
        return f"No bound holds for what {subject} reveals about your value."
    sentence = _SENTENCES[statement["criterion"]].format(
        prior=statement["prior"], subject=subject, factor=show_factor(epsilon)
    )
    if statement["confidence"] is not None:
        sentence += f"; this is an estimate, right with confidence {_describe_confidence(statement)}"
    return f"{sentence}."


def describe_risk(statement: Statement) -> str:
    """Return the text of a protection that is not differential privacy."""
    metric = statement["metric"]
    bounds = ", ".join(f"{name} {value:.3g} %" for name, value in statement["bound"].items())
    lines = [
        f"{statement['protection']} (not differential privacy)",
        f"- attack: {statement['attack']}",
        f"- {metric} at most: {bounds}" if bounds else f"- {metric}: no bound is known",
        f"- assumed: {statement['assumption']}",
        *(f"- not protected: {item}" for item in statement["unprotected"]),
        *(f"- LEAK: {item}" for item in statement["leaks"]),
    ]
    return "\n".join(map(escape_controls, lines))


def describe_report(statement: Statement, headline: str) -> str:
    """Return the text of the report of a whole fitted object under its headline."""
    lines = [headline, *(f"- {describe_step(step)}" for step in statement["steps"])]
    for step in statement["steps"]:
        if step["spent"] is not None:
            lines += ["", name_of_step(step), describe_spent(step["spent"])]
    return "\n".join(lines)


def describe_step(step: Statement) -> str:
    """Return how one fitted object used the private rows, on one line."""
    return escape_controls(f"{name_of_step(step)}: {step['status']}: {step['reason']}")


def name_of_step(step: Statement) -> str:
    """Return the path and the class of a fitted object."""
    return escape_controls(f"{step['path']} ({step['estimator']})")


def describe_audit(audit: Statement) -> str:
    """Return the result of an audit; its bound is rounded down, except for the last bits of a float."""
    bound = decode_required(audit["lower_bound"])
    digits = math.floor(bound * 10**4 + Fraction(1, 10**9)) / 10**4
    return (
        f"audited at >= {digits:.6g} (confidence {decode_number(audit['confidence']):.6g}; {audit['method']})"
    )


def describe_package(package: Statement) -> str:
    """Return name, version and the fingerprint of the sources of the package that made a statement."""
    return f"{package['name']} {package['version']}, sources sha256 {package['sha256_sources']}"


def describe_amount(amount: Fraction | float, *, down: bool = False) -> str:
    """Return an amount to six digits, as `show` does, and also exactly if that is different."""
    if amount == math.inf:
        return "infinite"
    rounded = show(amount, down=down)
    return rounded if rounded == str(amount) else f"{rounded} (exactly {amount})"


def describe_scale(encoded: Any, *, down: bool = False) -> str:
    """Return a sensitivity or a noise scale on one line."""
    amount = decode_scale(encoded)
    return one_line(describe_amount(amount, down=down) if isinstance(amount, Fraction) else amount)


def one_line(value: object) -> str:
    """Return a value on one line of bounded length."""
    text = "none" if value is None else escape_controls(str(value))
    return text if len(text) <= _WIDTH else text[:_WIDTH] + " ..."


def round_up(share: float) -> str:
    """Return a share to three digits, rounded up."""
    return f"{float(_ceiling(share * (1 - ROUNDING))):g}"


def _claim_rows(statement: Statement) -> list[tuple[str, str]]:
    charged, audit = statement["charged"], statement["audit"]
    exact = decode_required(charged["epsilon"])
    epsilon, delta = describe_amount(exact), describe_amount(decode_required(charged["delta"]))
    if not statement["private"] and exact != math.inf:
        epsilon = f"infinite (nominal amount, as charged: {epsilon})"
    audited = [] if audit is None else [describe_audit(audit)]
    if statement["private"]:
        proof = ", ".join([*audited, "not certified"])
        rows = [("claim", f"differential privacy (claimed by the software, {proof})")]
    else:
        rows = [("claim", "NOT PRIVATE"), *(("audit", found) for found in audited)]
    rows += [("epsilon", epsilon), ("delta", delta)]
    if charged["rho"] is not None:
        rows.append(("rho (zCDP)", describe_amount(decode_required(charged["rho"]))))
    rows += [("relation", RELATIONS[statement["relation"]]), ("unit", UNITS[statement["unit"]])]
    if statement["unit"] != "player":  # who has no rows
        rows.append(("rows per unit", f"at most {statement['max_rows_per_unit']}"))
    return [*rows, ("deployment", DEPLOYMENTS[statement["deployment"]])]


def _leakage_rows(statement: Statement) -> list[tuple[str, str]]:
    leakage = statement["leakage"]
    if leakage is None:
        return []
    status, nats = leakage["status"].replace("_", " "), f"{decode_number(leakage['epsilon']):.6g}"
    rows = [("leakage", f"{nats} nats of pointwise maximal leakage ({status})")]
    rows += [("leakage by", one_line(leakage["method"]))] if leakage["method"] else []
    return [*rows, ("for the data holder", leakage["statement"])]


def _describe_confidence(statement: Statement) -> str:
    """Return a confidence to six digits, or to all digits if six would exceed it."""
    if statement["confidence"] is None:
        return ""
    confidence = decode_number(statement["confidence"])
    text = f"{confidence:.6g}"
    return text if float(text) <= confidence * (1 + 1e-12) else repr(confidence)


def show_factor(epsilon: float) -> str:
    """Return e^epsilon to three digits, rounded up (except for the last bits: e^log(2) is 2.00)."""
    if epsilon > _LARGEST_EXPONENT:
        return f"e^{math.ceil(epsilon)}"
    rounded = _ceiling(max(1.0, math.exp(epsilon) * (1 - ROUNDING)))
    return f"{rounded:f}" if rounded < _LARGEST_PLAIN else f"{rounded:.2e}"


def _ceiling(number: float) -> Any:
    return Context(prec=3, rounding=ROUND_CEILING).create_decimal_from_float(number)


# Statements as blocks of the privacy section of a model card, in Markdown; every text is escaped.

# Characters that Markdown or HTML would read as markup.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$])")


def blocks_of_spent(statement: Statement) -> list[str]:
    """Return the blocks of one release: the claim, a table, and the package."""
    (_, claim), *rows = rows_of_spent(statement)
    table = ["| stated | value |", "|---|---|"]
    for name, text in (*scope_of_spent(statement), *rows, *rows_of_releases(statement)):
        table.append(f"| {_escape_markdown(name)} | {_escape_markdown(text)} |")
    package = describe_package(statement["package"])
    return [f"**{_escape_markdown(claim)}**", "\n".join(table), f"Stated by {_escape_markdown(package)}."]


def blocks_of_report(statement: Statement, headline: str) -> list[str]:
    """Return the blocks of a whole fitted object: its headline, its steps, and all releases."""
    steps = [f"- {_escape_markdown(describe_step(step))}" for step in statement["steps"]]
    alone = "" if statement["private"] else " Of this step alone; the whole object is NOT PRIVATE:"
    blocks = [f"**{_escape_markdown(headline)}**", "\n".join(steps)]
    for step in statement["steps"]:
        if step["spent"] is not None:
            title = f"Step {_escape_markdown(step['path'])}, {_escape_markdown(step['estimator'])}:{alone}"
            blocks += [title, *blocks_of_spent(step["spent"])]
    return blocks


def blocks_of_text(text: str) -> list[str]:
    """Return the blocks of a statement of several lines: the first line, and a list of the other lines."""
    head, *lines = text.splitlines()
    items = [f"- {_escape_markdown(line.strip().removeprefix('- '))}" for line in lines]
    return [f"**{_escape_markdown(head)}**", "\n".join(items)]


def _escape_markdown(text: str) -> str:
    return _MARKUP.sub(r"\\\1", escape_controls(text))
