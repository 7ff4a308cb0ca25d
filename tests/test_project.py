# SPDX-License-Identifier: BSD-3-Clause
"""Files for publishing agree with pyproject.toml and each other; workflows take nothing that can move."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import skprivate

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+(\.\d+){2}")


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def read(name):
    return yaml.safe_load(text_of(name))


def load_release():
    specification = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def requirement(text):
    """Return (name, version) of a requirement with one lower bound, as pip or conda writes it."""
    return tuple(part.strip() for part in text.split(">="))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_permissions_are_least(path):
    text = path.read_text(encoding="utf-8")
    for line in re.findall(r"uses: .*", text):
        # A workflow of this repository is of the same commit.
        assert PINNED.fullmatch(line) or line.startswith("uses: ./.github/workflows/"), line
    assert "secrets." not in text
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"].startswith(f"{path.stem}-")
    asked = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    if path.stem != "release":
        assert asked == {}
    else:
        read_only = {"contents": "read"}
        upload = {"id-token": "write", "contents": "read"}
        assert asked == {"build": read_only, "pypi": upload, "github": {"contents": "write"}}


def test_one_action_has_one_pin():
    pins = {}
    for path in WORKFLOWS:
        for action, pin in re.findall(r"uses: (\S+)@(.*)", path.read_text(encoding="utf-8")):
            pins.setdefault(action, set()).add(pin)
    assert pins
    assert {action: pin for action, pin in pins.items() if len(pin) > 1} == {}


def test_the_matrix_holds_every_python_and_the_oldest_scikit_learn():
    matrix = read(".github/workflows/tests.yml")["jobs"]["versions"]["strategy"]["matrix"]
    claimed = [found[1] for line in PROJECT["classifiers"] if (found := re.search(r":: (3\.\d+)$", line))]
    assert matrix["python"] == claimed
    assert f">={matrix['python'][0]}" == PROJECT["requires-python"]
    (oldest,) = (
        version for name, version in map(requirement, PROJECT["dependencies"]) if name == "scikit-learn"
    )
    assert f"{matrix['scikit-learn'][0]}.".startswith(f"{oldest}.")
    assert matrix["scikit-learn"][-1] == "newest"


def test_the_conda_recipe_asks_for_what_pyproject_asks_for():
    recipe = read("conda.recipe/recipe.yaml")
    build = tomllib.loads(text_of("pyproject.toml"))["build-system"]["requires"]
    asked = {requirement(one) for one in recipe["requirements"]["run"] if one != "python"}
    assert asked == set(map(requirement, PROJECT["dependencies"]))
    host = {requirement(one) for one in recipe["requirements"]["host"] if ">=" in one}
    assert host == {requirement(one.lower()) for one in build}
    assert recipe["build"]["python"]["entry_points"] == [
        f"{name} = {home}" for name, home in PROJECT["scripts"].items()
    ]
    assert recipe["build"]["skip"] == f'match(python, "{PROJECT["requires-python"].replace(">=", "<")}")'
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["repository"] == PROJECT["urls"]["Source"]


def test_citations_agree():
    citation, page = read("CITATION.cff"), text_of("doc/project.rst")
    title, (author,) = citation["title"], citation["authors"]
    assert author == PROJECT["authors"][0]
    assert citation["license"] == PROJECT["license"]
    assert citation["url"] == PROJECT["urls"]["Documentation"]
    assert citation["repository-code"] == PROJECT["urls"]["Source"]
    assert re.findall(r"^ +(title|author|url) += \{+(.*?)\}+,$", page, re.MULTILINE) == [
        ("title", title),
        ("author", author["name"]),
        ("url", citation["url"]),
    ]
    readme = " ".join(text_of("README.md").split())
    assert f"{author['name']}, *{title}*" in readme
    # A version that is typed here would be forgotten there.
    assert "version" not in citation
    assert skprivate.__version__ not in page


def test_links_of_the_readme_work_on_pypi_too():
    targets = re.findall(r"\]\(([^)]+)\)", text_of("README.md"))
    assert targets
    for target in targets:
        assert target.startswith("https://"), target
        _, here, path = target.partition("/skprivate/main/" if "raw." in target else "/blob/main/")
        assert not here or (ROOT / path).is_file(), target


def test_read_the_docs_installs_what_make_doc_installs():
    (install,) = read(".readthedocs.yaml")["python"]["install"]
    stamp = re.search(r"/doc: EXTRAS = (\S+),\$\(@F\)", text_of("Makefile"))
    assert set(install["extra_requirements"]) == {*stamp[1].split(","), "doc"}
    assert read(".readthedocs.yaml")["sphinx"]["fail_on_warning"] is True


def test_the_notes_of_a_release_are_its_section_of_the_changelog():
    release = load_release()
    changelog = (
        "What's new\n==========\n\n1.1.0\n-----\n\nNew\n~~~\n\n- One :doc:`page`.\n\n1.0.0\n-----\n\n- Old.\n"
    )
    assert release.to_markdown(release.section(changelog, "1.1.0")) == "### New\n\n- One `page`."
    assert release.section(changelog, "1.0.0") == "- Old."
    assert release.section(changelog, "1.0") == ""
    assert release.version() == skprivate.__version__


def test_the_changelog_begins_with_the_version_of_the_package():
    first = re.search(r"^(\S+)\n-{3,}$", text_of("doc/whats_new.rst"), re.MULTILINE)
    assert first[1] == skprivate.__version__.removesuffix(".dev0")


@pytest.mark.process
@pytest.mark.parametrize(
    ("version", "tag", "said"),
    [
        ("1.1.0", "v1.1.0", ""),
        ("1.1.0", "v1.2.0", "The tag is v1.2.0, and the version in skprivate/_version.py is 1.1.0.\n"),
        ("1.2.0.dev0", "v1.2.0.dev0", "The tag is v1.2.0.dev0; a release has a tag such as v1.2.3.\n"),
        ("1.2.0", "v1.2.0", "doc/whats_new.rst says nothing under a heading 1.2.0.\n"),
    ],
)
def test_a_release_that_does_not_agree_stops_in_one_line(version, tag, said, tmp_path):
    for name, text in {
        ".ci/release.py": text_of(".ci/release.py"),
        "skprivate/_version.py": f'__version__ = "{version}"\n',
        "doc/whats_new.rst": "What's new\n==========\n\n1.1.0\n-----\n\n- One.\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, tmp_path / ".ci" / "release.py", tag]
    out = subprocess.run(command, capture_output=True, text=True)
    assert (out.returncode, out.stdout, out.stderr) == ((1, "", said) if said else (0, "- One.\n", ""))
