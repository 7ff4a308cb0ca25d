# SPDX-License-Identifier: BSD-3-Clause
"""Statements as entries of the public registry of differential privacy deployments."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Any

from ...utils._public_module import public_module
from .._privacy_amounts import upper_sum
from . import text as words
from .fields import check_text, decode_number, decode_required, decode_value, escape_controls
from .text import Statement

TODO = "TODO"
Given = Mapping[str, Any]

# The registry's fields, section by section. "" is the deployment itself.
_FIELDS = {
    "": (
        "name data_curator description intended_use data_product_type data_product_region "
        "data_product_sector publication_date"
    ),
    "dp_flavor": (
        "name input_metric bound_on_input_distance output_measure bound_on_output_distance data_domain "
        "unprotected_quantities"
    ),
    "privacy_loss": "privacy_unit privacy_unit_description privacy_parameters privacy_parameters_description",
    "model": "model_name model_name_description actors release_type release_type_description",
    "accounting": "post_processing composition",
    "implementation": "pre_processing_eda_hyperparameter_tuning mechanisms justification",
}
# Fields that only people know, and fields that they may write in their own words.
_OPEN = {
    *_FIELDS[""].split(),
    *_FIELDS["accounting"].split(),
    *("registry_authors", "data_domain", "privacy_unit_description", "actors", "justification"),
    *("release_type", "release_type_description", "pre_processing_eda_hyperparameter_tuning"),
}
_STATED = {field for fields in _FIELDS.values() for field in fields.split()} - _OPEN

# In the terms of NIST SP 800-226: units of privacy, bounded and unbounded, trust models.
_INPUT_METRICS = {
    "replace-one": "change-one distance: number of units whose values differ (bounded differential privacy)",
    "add-remove": "symmetric distance: number of units that are in one data set only (unbounded "
    "differential privacy)",
    "local": "number of units whose values differ, for each unit's own report by itself (local differential "
    "privacy)",
    "joint": "number of units whose values differ, for all that the other units see (joint differential "
    "privacy)",
    "label": "number of units whose label differs; the features are equal, and NOT protected (label "
    "differential privacy)",
}
_UNITS = {
    "row": "One row (event level; user level only if no person has several rows)",
    "group": "One group of rows, such as all rows of one person (user level)",
    "player": "One player: everything that the player sends during a run (user level)",
}
_MODELS = {"curator": "Central", "simulated": "Central", "collected": "Local"}


@public_module("skprivate.accounting")
class RegistryEntry(dict[str, Any]):
    """An entry of the public registry of differential privacy deployments; made by ``to_registry``.

    A dict of dicts, lists, texts and numbers. Its ``str()`` is a YAML document in which missing fields are
    TODO. The field names are those of the registry's records that have a ``dp_flavor``. The registry is
    young, and renames fields now and then.

    Attributes
    ----------
    missing : list of str
        Paths of the fields that are still TODO, joined by dots.

    Notes
    -----
    Keywords of ``to_registry``: name, data_curator, description, intended_use, data_product_type (default
    "Machine learning model"), data_product_region, data_product_sector, publication_date (a date or a text),
    registry_authors (a list), data_domain, privacy_unit_description, actors, release_type ("One release" or
    "Many releases"), release_type_description, post_processing, composition,
    pre_processing_eda_hyperparameter_tuning, justification. The run states all other fields.

    **Privacy**: the entry of a run that is not private has no epsilon, and its flavour is "Not differentially
    private". The statements of a run are claims of the software. Nobody has certified them.

    References
    ----------
    .. [1] Differential Privacy Deployments Registry, https://github.com/opendp/deployments-registry-data
    .. [2] J. P. Near, D. Darais, N. Lefkovitz, G. S. Howarth, *Guidelines for Evaluating Differential Privacy
       Guarantees*, NIST SP 800-226, 2025: the terms.

    Examples
    --------
    >>> from skprivate.accounting import PrivacySpent
    >>> spent = PrivacySpent(
    ...     mechanism="discrete Laplace", epsilon=1, relation="local", noise_scale=None,
    ...     noise_source="seeded", deployment="simulated", claim="not-private", reasons=("seeded",))
    >>> entry = spent.to_registry(registry_authors=["A. Author"])
    >>> str(entry).splitlines()[:3]
    ['status: "Draft"', 'registry_authors:', '  - "A. Author"']
    >>> entry["deployment"]["dp_flavor"]["name"]
    'Not differentially private'
    """

    @property
    def missing(self) -> list[str]:
        """Paths of the fields that are still TODO."""
        return list(_blanks(self, ""))

    def __str__(self) -> str:
        return "\n".join(_yaml(self, 0)) + "\n"


def registry_entry_of_spent(statement: Statement, given: Given) -> RegistryEntry:
    """Return the entry of one release."""
    return _entry_of_releases([statement], statement["reasons"], given)


def registry_entry_of_report(statement: Statement, given: Given) -> RegistryEntry:
    """Return the entry of all releases of a fitted object."""
    spents = [step["spent"] for step in statement["steps"] if step["spent"] is not None]
    return _entry_of_releases(spents, statement["reasons"], given)


def registry_entry_of_guarantee(statement: Statement, package: Statement, given: Given) -> RegistryEntry:
    """Return the entry of one guarantee; fields that it does not know stay open."""
    epsilon = decode_number(statement["epsilon"])
    proven = statement["status"] != "estimate" and math.isfinite(epsilon)
    dp = statement["criterion"] == "dp"
    method = statement["method"] or TODO
    name = "Not differentially private" if not proven else "Pure DP" if dp else "Custom"
    measure = "max divergence" if dp else "pointwise maximal leakage, almost surely"
    bound = f"{epsilon:.6g} nats" if proven else "none that is proven"
    loss = _stated_loss(
        name, measure, bound, {"epsilon": epsilon} if dp and proven else {}, statement["statement"]
    )
    mechanisms = f"{statement['subject']}; computed by: {method}; {words.describe_package(package)}"
    return _assemble({**loss, "mechanisms": mechanisms}, {}, given)


def registry_entry_of_risk(statement: Statement, package: Statement, given: Given) -> RegistryEntry:
    """Return the entry of a protection that is not differential privacy."""
    stated = {
        **_no_loss([words.one_line(line) for line in words.describe_risk(statement).splitlines()]),
        "unprotected_quantities": _join(statement["unprotected"]) or "none stated",
        "mechanisms": f"{statement['protection']}; {words.describe_package(package)}",
    }
    return _assemble(stated, {}, given)


def _entry_of_releases(spents: Sequence[Statement], reasons: Sequence[str], given: Given) -> RegistryEntry:
    """Return the entry of releases from the same rows; they are private if there are no reasons."""
    stated = {
        "unprotected_quantities": _unprotected(spents),
        "mechanisms": _mechanisms(spents),
        **_parties(spents),
        **(_no_loss(reasons) if reasons else _loss(spents)),
    }
    composition = (
        "Basic composition of all releases in this entry, as if all used the same rows. Other uses of the "
        "rows are not covered: see the ledger, if one was kept."
    )
    defaults = {
        "privacy_unit_description": _join(words.RELATIONS[spent["relation"]] for spent in spents),
        "post_processing": "Everything that is computed from released values alone, including predictions.",
        "composition": composition,
    }
    return _assemble(stated, defaults, given)


def _assemble(stated: Mapping[str, Any], defaults: Mapping[str, str], given: Given) -> RegistryEntry:
    texts = {"data_product_type": "Machine learning model", **defaults, **_check_given(given)}
    authors = texts.pop("registry_authors", [TODO])
    deployment: dict[str, Any] = {}
    for section, names in _FIELDS.items():
        target = deployment.setdefault(section, {}) if section else deployment
        for name in names.split():
            if section == "dp_flavor" and name == "name":
                target[name] = stated["dp_name"]
            else:
                value = texts.get(name) if name in _OPEN else stated.get(name)
                target[name] = TODO if value in (None, "") else value
    return RegistryEntry(status="Draft", registry_authors=authors, deployment=deployment)


def _check_given(given: Given) -> dict[str, Any]:
    unknown = min(given.keys() - _OPEN, default=None)
    if unknown in _STATED:
        raise TypeError(f"to_registry() states {unknown!r} itself, from the run: it cannot be given.")
    if unknown is not None:
        raise TypeError(
            f"to_registry() got {unknown!r}, which is not a field of the registry. Accepted fields: "
            f"{', '.join(sorted(_OPEN))}."
        )
    return {name: _check_value(name, value) for name, value in given.items()}


def _check_value(name: str, value: Any) -> str | list[str]:
    if name == "registry_authors" and isinstance(value, list | tuple) and value:
        for author in value:
            check_text(author, "each of registry_authors")
        return list(value)
    text = value.isoformat() if name == "publication_date" and isinstance(value, date) else value
    check_text(text, name)
    return [text] if name == "registry_authors" else str(text)


def _stated_loss(
    name: str, measure: str, bound: str, parameters: Mapping[str, float], description: str
) -> dict[str, Any]:
    return {
        "dp_name": name,
        "output_measure": measure,
        "bound_on_output_distance": bound,
        "privacy_parameters": parameters,
        "privacy_parameters_description": description,
    }


def _no_loss(reasons: Sequence[str]) -> dict[str, Any]:
    text = f"NOT PRIVATE, no epsilon holds. {_join(reasons)}"
    return _stated_loss("Not differentially private", "none", "none: no bound holds", {}, text)


def _loss(spents: Sequence[Statement]) -> dict[str, Any]:
    """Return the privacy loss of private releases, added up if relation and unit are the same."""
    if len({(spent["relation"], spent["unit"]) for spent in spents}) > 1:
        parts = _join(f"{spent['relation']}, {spent['unit']}: {_claimed(spent)}" for spent in spents)
        text = f"Releases of different relation or unit do not add up. {parts}"
        measure = "one for each release, see privacy_parameters_description"
        return _stated_loss("Custom", measure, parts, {}, text)
    parameters = {"epsilon": _total(spents, "epsilon")}
    name, measure = "Pure DP", "max divergence (epsilon)"
    if delta := _total(spents, "delta"):
        parameters["delta"] = delta
        name, measure = "Approximate DP", "hockey-stick divergence at exp(epsilon) (delta)"
    if all(spent["charged"]["rho"] for spent in spents):
        parameters["rho"] = _total(spents, "rho")
        name = "Zero-concentrated DP"
        measure = "Rényi divergence of every order a > 1, divided by a (rho)"
    if spents[0]["relation"] == "label":
        name = "Custom"
    bound = ", ".join(f"{key} = {words.describe_amount(value)}" for key, value in parameters.items())
    floats = {key: float(value) for key, value in parameters.items()}
    return _stated_loss(name, measure, bound, floats, _join(_claimed(spent) for spent in spents))


def _total(spents: Sequence[Statement], name: str) -> Fraction:
    return upper_sum(Fraction(decode_required(spent["charged"][name])) for spent in spents)


def _parties(spents: Sequence[Statement]) -> dict[str, Any]:
    rows = max((spent["max_rows_per_unit"] for spent in spents), default=1)
    distance = f"1 unit of at most {rows} rows" if rows > 1 else "1 unit"
    models = sorted({_MODELS[spent["deployment"]] for spent in spents}) or [TODO]
    return {
        "input_metric": _join(_INPUT_METRICS[spent["relation"]] for spent in spents),
        "bound_on_input_distance": distance if spents else None,
        "privacy_unit": _join(_UNITS[spent["unit"]] for spent in spents),
        "model_name": models[0] if len(models) == 1 else "Varies",
        "model_name_description": _join(words.DEPLOYMENTS[spent["deployment"]] for spent in spents),
    }


def _unprotected(spents: Sequence[Statement]) -> str:
    pairs = [
        f"{name}: {words.one_line(decode_value(value))}"
        for spent in spents
        for name, value in spent["unprotected"].items()
    ]
    pairs += [f"public input: {name}" for spent in spents for name in spent["public_inputs"]]
    return _join(pairs) or "none stated"


def _mechanisms(spents: Sequence[Statement]) -> str:
    return _join(
        f"{spent['mechanism']}; sensitivity {words.describe_scale(spent['sensitivity'])} and noise scale "
        f"{words.describe_scale(spent['noise_scale'], down=True)} on a grid of integers; noise from "
        f"{words.SOURCES[spent['noise_source']]}; {words.describe_package(spent['package'])}"
        for spent in spents
    )


def _claimed(spent: Statement) -> str:
    audit = "not audited" if spent["audit"] is None else words.describe_audit(spent["audit"])
    epsilon, delta = (decode_required(spent["charged"][name]) for name in ("epsilon", "delta"))
    also = f", delta = {words.describe_amount(delta)}" if delta else ""
    return f"claimed epsilon = {words.describe_amount(epsilon)}{also}, {audit}, not certified"


def _join(texts: Any) -> str:
    return "; ".join(dict.fromkeys(texts))


def _blanks(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _blanks(item, f"{path}.{name}" if path else name)
    elif value in (TODO, [TODO]):
        yield path


def _yaml(value: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Yield lines of block YAML; texts are JSON strings, so that no text can end early or start something."""
    indent = "  " * depth
    for name, item in value.items():
        if isinstance(item, dict) and item:
            yield f"{indent}{name}:"
            yield from _yaml(item, depth + 1)
        elif isinstance(item, list):
            yield f"{indent}{name}:"
            yield from (f"{indent}  - {_scalar(part)}" for part in item)
        else:
            yield f"{indent}{name}: {_scalar(item)}"


def _scalar(value: Any) -> str:
    if value == TODO:
        return TODO
    if isinstance(value, float):
        # YAML 1.1 reads 1e-06 as a text: a number needs a dot.
        text = repr(value)
        return text if "e" not in text or "." in text else text.replace("e", ".0e")
    return escape_controls(json.dumps(value, ensure_ascii=False))
