# SPDX-License-Identifier: BSD-3-Clause
"""Entries of the deployments registry: complete, honest about what is not private, and safe as YAML."""

import re
from fractions import Fraction
from functools import partial

import pytest
import yaml

from skprivate.accounting import DisclosureRisk, PrivacyGuarantee
from tests.accounting.records import EXPOSED, report, spend

make = partial(spend, epsilon=Fraction(1, 2), sensitivity=2, unprotected={"private rows": 100})
RISK = DisclosureRisk(
    protection="TQMA", attack="linkage", metric="hits", bound={"age": 6.4}, assumption="none"
)


def deployment(statement, **given):
    return statement.to_registry(**given)["deployment"]


@pytest.mark.parametrize(
    ("changes", "name", "parameters"),
    [
        ({}, "Pure DP", {"epsilon": 0.5}),
        ({"delta": 1e-6}, "Approximate DP", {"epsilon": 0.5, "delta": 1e-6}),
        ({"delta": 1e-6, "rho": 0.1}, "Zero-concentrated DP", {"epsilon": 0.5, "delta": 1e-6, "rho": 0.1}),
        ({"relation": "label"}, "Custom", {"epsilon": 0.5}),
        ({"relation": "local", "deployment": "collected"}, "Pure DP", {"epsilon": 0.5}),
    ],
)
def test_flavours(changes, name, parameters):
    inner = deployment(make(**changes))
    assert inner["dp_flavor"]["name"] == name
    assert inner["privacy_loss"]["privacy_parameters"] == parameters
    assert "claimed epsilon = 0.5" in inner["privacy_loss"]["privacy_parameters_description"]


def test_trust_models_units_and_reasons():
    assert deployment(make(relation="local", deployment="collected"))["model"]["model_name"] == "Local"
    # Who drew the reports in one place saw the rows: that is a curator who is trusted.
    assert deployment(make(relation="local", deployment="simulated"))["model"]["model_name"] == "Central"
    loss = deployment(make(unit="group", max_rows_per_unit=3))
    assert loss["privacy_loss"]["privacy_unit"].startswith("One group of rows")
    assert loss["dp_flavor"]["bound_on_input_distance"] == "1 unit of at most 3 rows"
    described = deployment(report(make(), uncovered=True))["privacy_loss"]
    assert "scaler (StandardScaler): uncovered: read rows" in described["privacy_parameters_description"]
    audited = deployment(make().with_audit(0.25, 0.999, "x"))["privacy_loss"]
    audited = audited["privacy_parameters_description"]
    assert audited.startswith("claimed epsilon = 0.5 (exactly 1/2), audited at >= 0.25 (confidence 0.999; ")
    assert audited.endswith("not certified")


def numbers(value):
    if isinstance(value, dict):
        return [found for item in value.values() for found in numbers(item)]
    return [value] if isinstance(value, int | float) else []


@pytest.mark.parametrize(
    "statement",
    [
        make(**EXPOSED),
        make(**EXPOSED, noise_source="seeded"),
        make().with_audit(0.75, 0.999, "x"),
        report(make(), uncovered=True),
        report(uncovered=True),
        RISK,
        PrivacyGuarantee(
            epsilon=0.5, status="estimate", criterion="pml", subject="x", prior="p", confidence=0.9
        ),
    ],
)
def test_what_is_not_private_is_exported_as_such_and_without_any_number(statement):
    inner = deployment(statement)
    assert inner["dp_flavor"]["name"] == "Not differentially private"
    assert inner["privacy_loss"]["privacy_parameters"] == {}
    assert numbers(inner) == []
    assert not re.search(r"\d", inner["dp_flavor"]["bound_on_output_distance"])


def test_steps_add_up_only_where_they_mean_the_same():
    both = deployment(report(make(), make(delta=0.25)))
    assert both["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 0.25}
    mixed = deployment(report(make(), make(relation="add-remove")))
    assert mixed["dp_flavor"]["name"] == "Custom"
    assert mixed["privacy_loss"]["privacy_parameters"] == {}


def test_leakage_is_custom():
    leakage = make().given_prior([0.7, 0.3]).leakage
    inner = deployment(leakage)
    assert inner["dp_flavor"]["name"] == "Custom"
    assert inner["privacy_loss"]["privacy_parameters"] == {}
    assert deployment(PrivacyGuarantee(epsilon=0.5, status="exact", criterion="dp", subject="x"))[
        "dp_flavor"
    ]["name"] == ("Pure DP")


NASTY = 'a: "b" - x # y {} é \\'


@pytest.mark.parametrize("changes", [{}, {"delta": 1e-30}, {"epsilon": 1e22}, EXPOSED])
def test_text_of_an_entry_holds_the_entry(changes):
    entry = make(**changes).to_registry(name=NASTY, registry_authors=[NASTY, "TODO: ask"])
    # YAML 1.1 reads 1e-30 as a text.
    assert yaml.safe_load(str(entry)) == entry
    assert not re.search(r": -?\d+e", str(entry))
