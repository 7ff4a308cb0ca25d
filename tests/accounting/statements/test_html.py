# SPDX-License-Identifier: BSD-3-Clause
"""Labels: whole documents that load and run nothing, and say what is and what is not private."""

import re
from html.parser import HTMLParser

import pytest

from skprivate.accounting import DisclosureRisk, PrivacyGuarantee, PrivacyReport, PrivacySpent, StepReport

NASTY = "<script>alert('x')</script>\"& </td>"


def make(**changes):
    fields = {
        "mechanism": "discrete Laplace",
        "epsilon": 0.5,
        "relation": "replace-one",
        "noise_scale": 4,
        "noise_source": "os-entropy",
        "deployment": "curator",
        "claim": "dp",
    }
    return PrivacySpent(**(fields | changes))


EXPOSED = {"claim": "not-private", "reasons": ("bounds were read " + NASTY,)}
UNCOVERED = StepReport(path="scaler", estimator=NASTY, status="uncovered", reason="read rows")
PAID = StepReport(path="tree", estimator="E", status="covered", reason="covered", spent=make())
STATEMENTS = {
    "spent": make(mechanism=NASTY, public_inputs=(NASTY,), unprotected={NASTY: NASTY}),
    "exposed": make(**EXPOSED),
    "audited": make().with_audit(0.25, 0.999, NASTY),
    "report": PrivacyReport((PAID,)),
    "uncovered": PrivacyReport((PAID, UNCOVERED)),
    "guarantee": PrivacyGuarantee(epsilon=0.5, status="exact", criterion="pml", subject=NASTY, prior=NASTY),
    "risk": DisclosureRisk(
        protection=NASTY, attack=NASTY, metric=NASTY, bound={NASTY: 6.4}, assumption=NASTY, leaks=(NASTY,)
    ),
}
VOID = {"meta", "link", "img", "br", "input"}


class Reader(HTMLParser):
    """Checks that tags are closed in order; collects tags, attributes and text."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_page_is_well_formed_and_loads_nothing(name):
    page = STATEMENTS[name].to_html()
    reader = read(page)
    assert not {"script", "link", "img", "iframe", "object"} & set(reader.tags)
    names = {key for key, _ in reader.attributes}
    assert not {"src", "href", "style"} & names
    assert not any(key.startswith("on") for key in names)
    assert not re.search(r"url\(|@import|https?://", page)


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_page_can_be_read_by_everyone(name):
    page = STATEMENTS[name].to_html()
    reader = read(page)
    assert page.startswith("<!DOCTYPE html>")
    assert {"title", "main", "h1", "caption"} <= set(reader.tags)
    attributes = reader.attributes
    assert ("lang", "en") in attributes
    assert ("name", "viewport") in attributes
    assert ("content", "light dark") in attributes
    assert reader.tags.count("th") == attributes.count(("scope", "row")) > 0
    assert "prefers-color-scheme:dark" in page


def text_of(name):
    return " ".join(" ".join(read(STATEMENTS[name].to_html()).text).split())


def test_words():
    assert "ε = 0.5" in text_of("spent")
    assert "claimed by the software, not certified" in text_of("spent")
    assert "audited at >= 0.25 (confidence 0.999" in text_of("audited")
    assert "δ = 1e-06" in make(delta=1e-6).to_html()
    assert "sources sha256" in text_of("spent")


@pytest.mark.parametrize("name", ["exposed", "uncovered", "risk"])
def test_what_is_not_private_shows_no_figure(name):
    page = STATEMENTS[name].to_html()
    assert "ε =" not in page
    assert "no ε holds" in page
    assert 'class="sp-verdict sp-dp"' not in page
    assert "NOT PRIVATE" in page or "Not differential privacy" in page


def test_texts_arrive_as_they_are():
    assert NASTY in text_of("spent")
    assert ("aria-label", f"Privacy facts: {NASTY}") in read(STATEMENTS["spent"].to_html()).attributes
    assert "bounds were read <script>" in text_of("exposed")


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    channels = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_contrast_in_light_and_dark():
    themes = re.findall(r"--fg:.*?(?=;\s*color|\})", make().to_html(), flags=re.S)
    # By the browser's preference, and by what the page around says.
    assert len(themes) == 4
    for theme in themes:
        colours = dict(re.findall(r"--(\w+):\s*(#[0-9a-f]+)", theme))
        ground = luminance(colours.pop("bg"))
        for colour in colours.values():
            low, high = sorted([luminance(colour), ground])
            assert (high + 0.05) / (low + 0.05) >= 4.5


def test_a_page_around_says_whether_it_is_dark():
    page = make()._repr_html_()
    rules = {
        selector: body
        for selectors, body in re.findall(r"([^{}]+){([^{}]*)}", page.partition("</style>")[0])
        for selector in selectors.strip().split(",")
    }
    light = rules['[data-jp-theme-light="true"] .skprivate-label']
    dark = rules['[data-jp-theme-light="false"] .skprivate-label']
    assert "--bg:#fff" in light
    assert "--bg:#161616" in dark
    assert rules[".vscode-dark .skprivate-label"] == rules['[data-theme="dark"] .skprivate-label'] == dark
