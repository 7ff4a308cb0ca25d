# SPDX-License-Identifier: BSD-3-Clause
"""Labels: whole documents that load and run nothing, and say what is and what is not private."""

import dataclasses
import re

import pytest

from skprivate.accounting import DisclosureRisk, PrivacyGuarantee, PrivacyReport
from tests.accounting.records import NASTY, UNCOVERED, assert_loads_nothing, report, spend, step

STATEMENTS = {
    "spent": spend(0.5, mechanism=NASTY, public_inputs=(NASTY,), unprotected={NASTY: NASTY}),
    "exposed": spend(0.5, claim="not-private", reasons=("bounds were read " + NASTY,)),
    "audited": spend(0.5).with_audit(0.25, 0.999, NASTY),
    "report": report(spend(0.5)),
    "uncovered": PrivacyReport((step(spend(0.5)), dataclasses.replace(UNCOVERED, estimator=NASTY))),
    "guarantee": PrivacyGuarantee(epsilon=0.5, status="exact", criterion="pml", subject=NASTY, prior=NASTY),
    "risk": DisclosureRisk(
        protection=NASTY, attack=NASTY, metric=NASTY, bound={NASTY: 6.4}, assumption=NASTY, leaks=(NASTY,)
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_page_loads_nothing_and_can_be_read_by_everyone(name):
    page = STATEMENTS[name].to_html()
    attributes = assert_loads_nothing(page).attributes
    assert not re.search(r"url\(|@import|https?://", page)
    assert page.startswith("<!DOCTYPE html>")
    assert {("lang", "en"), ("name", "viewport"), ("content", "light dark")} <= set(attributes)
    assert "prefers-color-scheme:dark" in page


@pytest.mark.parametrize("name", ["exposed", "uncovered", "risk"])
def test_what_is_not_private_shows_no_figure(name):
    page = STATEMENTS[name].to_html()
    assert "ε =" not in page
    assert "no ε holds" in page
    assert 'class="sp-verdict sp-dp"' not in page
    assert "NOT PRIVATE" in page or "Not differential privacy" in page


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    channels = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_contrast_in_light_and_dark():
    themes = re.findall(r"--fg:.*?(?=;\s*color|\})", spend().to_html(), flags=re.S)
    # By the browser's preference, and by what the page around says.
    assert len(themes) == 4
    for theme in themes:
        colours = dict(re.findall(r"--(\w+):\s*(#[0-9a-f]+)", theme))
        ground = luminance(colours.pop("bg"))
        for colour in colours.values():
            low, high = sorted([luminance(colour), ground])
            assert (high + 0.05) / (low + 0.05) >= 4.5
