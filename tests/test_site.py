# SPDX-License-Identifier: BSD-3-Clause
"""The site is complete: names in the reference, proofs linked with what they prove, a picture an example."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import skprivate
from tests.test_doctests import PACKAGES

ROOT = Path(__file__).parent.parent
DOC = ROOT / "doc"
EXTENSIONS = DOC / "_ext"
sys.path.append(str(EXTENSIONS))
GROUPS = sorted((DOC / "api").glob("*.rst"))
PROOFS = sorted(set((DOC / "proofs").glob("*.rst")) - {DOC / "proofs/index.rst"})


def find(name):
    """Return the object of a full name, such as skprivate.games.PrivateNashSolver.fit."""
    thing = skprivate
    for part in name.split(".")[1:]:
        thing = getattr(thing, part, None) or importlib.import_module(f"{thing.__name__}.{part}")
    return thing


def names_in_the_reference():
    """Return the full names on the pages of the reference."""
    documented = importlib.import_module("reference_names").documented_names
    return [name for page in GROUPS for name in documented(page.read_text(encoding="utf-8"))]


def proven_by(page):
    """Return the names in the line "Proves: ..." of a proof."""
    line = re.search(r"^Proves: (.*?)\.\n\n", page.read_text(encoding="utf-8"), re.M | re.S)
    return re.findall(r"`~(skprivate\.[\w.]+)`", line[1]) if line else []


def proofs_in(thing):
    return set(re.findall(r":doc:`/proofs/(\w+)`", inspect.getdoc(thing) or ""))


def test_every_public_name_is_in_the_reference_once():
    names = names_in_the_reference()
    assert len(names) == len(set(names))
    documented = [find(name) for name in names]
    public = {
        f"{room}.{name}": getattr(importlib.import_module(room), name)
        for room in PACKAGES
        for name in getattr(importlib.import_module(room), "__all__", [])
    }
    missing = [
        name
        for name, thing in public.items()
        if (inspect.isclass(thing) or inspect.isfunction(thing))
        and not any(thing is other for other in documented)
    ]
    assert missing == []


def test_the_reference_names_every_group_in_its_index_and_in_the_navigation():
    index = (DOC / "api.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   (api/\w+)$", index, re.M)
    assert sorted(listed) == sorted(2 * [f"api/{page.stem}" for page in GROUPS])


def test_what_users_call_comes_first():
    pytest.importorskip("sphinx")
    used, others = importlib.import_module("method_groups").method_groups(skprivate.DPBoostingClassifier)
    assert used == ["fit", "predict", "predict_log_proba", "predict_proba", "decision_function", "score"]
    assert {"charge", "planned_cost", "get_params", "set_fit_request"} < set(others)


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_a_proof_and_what_it_proves_link_each_other(page):
    names = proven_by(page)
    assert names
    reference = names_in_the_reference()
    for name in names:
        # A method is on the page of its class.
        assert name in reference or name.rpartition(".")[0] in reference, name
        assert page.stem in proofs_in(find(name)), name


def test_what_links_a_proof_is_named_there():
    proven = {page.stem: {id(find(name)) for name in proven_by(page)} for page in PROOFS}
    for name in names_in_the_reference():
        for page in proofs_in(find(name)):
            assert id(find(name)) in proven[page], f"{name} is not named in proofs/{page}.rst"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<article><p>Text.</p><img src="_images/one.png"></article>', True),
        ("<article><svg></svg></article>", True),
        ('<article><div class="output_subarea output_html">A diagram.</div></article>', True),
        ("<article><pre>print('a picture')</pre></article>", False),
        ('<img src="logo.png"><article><p>Text.</p></article><img src="foot.png">', False),
        ('<article><img src="_images/other_thumb.png"></article>', False),
    ],
)
def test_pictures_of_a_page_are_found(html, expected):
    assert importlib.import_module("gallery_pictures").has_picture(html) is expected


@pytest.mark.process
@pytest.mark.parametrize("picture", ["", ".. image:: dot.svg\n"], ids=["without", "with"])
def test_an_example_without_a_picture_fails_the_build(picture, tmp_path):
    pytest.importorskip("pydata_sphinx_theme")
    (tmp_path / "gallery").mkdir()
    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(EXTENSIONS)!r})\nextensions = ['gallery_pictures']\n"
        "def setup(app):\n"
        "    app.add_config_value('sphinx_gallery_conf', {'gallery_dirs': 'gallery'}, 'env')\n"
    )
    (tmp_path / "index.rst").write_text("Site\n====\n\n.. toctree::\n\n   gallery/plot_dots\n")
    (tmp_path / "gallery/dot.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    (tmp_path / "gallery/plot_dots.rst").write_text(f"Dots\n====\n\nText.\n\n{picture}")
    options = ["-q", "-W", "-b", "html", "-D", "html_theme=pydata_sphinx_theme"]
    command = [sys.executable, "-m", "sphinx", *options, str(tmp_path), str(tmp_path / "html")]
    built = subprocess.run(command, capture_output=True, text=True)
    assert (built.returncode == 0) is bool(picture)
    assert ("plot_dots: an example without a picture" in built.stderr) is not bool(picture)
