# SPDX-License-Identifier: BSD-3-Clause
"""The command line: what it writes, what it refuses in one line, and how it ends."""

import os
import shutil
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest

from skprivate.collection import TreeCurator, TreeSpecification, _commands, _csv_tables
from skprivate.collection._commands import main
from skprivate.tree import LocallyPrivateTreeClassifier
from tests.collection.studies import SECRET, make_domain, named, number_rows

pytestmark = pytest.mark.process

PLAN = "curator plan study.state spec.json --public public.csv --label sick --epsilon 4 --clients 500"
NUMBERS = "curator plan study.state spec.json --label cost --epsilon 3 --clients 3000 --target numbers"


def write_rows(path, n, seed=0):
    X = np.random.default_rng(seed).uniform(size=(n, 2)).round(4)
    y = np.where(X[:, 0] > 0.5, "yes", "no")
    frame = pd.DataFrame({"sick": y, "b": X[:, 1], "a": X[:, 0]})
    frame.to_csv(path, index=False)
    return X, y


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A folder with public rows, a plan and private rows, to be copied."""
    folder = tmp_path_factory.mktemp("planned")
    write_rows(folder / "public.csv", 60, seed=1)
    write_rows(folder / "rows.csv", 500)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(PLAN) == 0
    return folder


@pytest.fixture
def folder(planned, tmp_path, monkeypatch):
    shutil.copytree(planned, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def unplanned(folder):
    """The same without the plan."""
    os.unlink(folder / "study.state")
    os.unlink(folder / "spec.json")
    return folder


def run(line, *more):
    return main([*line.split(), *more])


def fails(capsys, line, *more):
    """Run a command that fails, and return the one line that says why."""
    capsys.readouterr()
    assert run(line, *more) == 2
    out, err = capsys.readouterr()
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert str(SECRET) not in out + err
    return err


def n_reports(folder, name="study.state"):
    return TreeCurator.from_bytes((folder / name).read_bytes()).n_reports


def test_from_plan_to_release(folder, capsys):
    assert run("client spec.json rows.csv monday.bin") == 0
    write_rows(folder / "more.csv", 300, seed=2)
    assert run("client spec.json more.csv tuesday.bin") == 0
    capsys.readouterr()
    assert run("curator add study.state monday.bin tuesday.bin") == 0
    assert run("curator add study.state monday.bin") == 0
    out = capsys.readouterr()
    assert out.err == ""
    assert out.out.splitlines() == [
        "monday.bin: 500 reports added",
        "tuesday.bin: 300 reports added",
        "800 reports in study.state",
        "monday.bin: already counted, not added again",
        "800 reports in study.state",
    ]
    assert run("curator show study.state") == 0
    assert "800 reports in 2 batches, 0 of them unfinished" in capsys.readouterr().out
    # A model replaces nothing but a model.
    for name in ("study.state", "spec.json", "monday.bin", "rows.csv"):
        before = (folder / name).read_bytes()
        assert "is not a model" in fails(capsys, f"curator release study.state {name}")
        assert (folder / name).read_bytes() == before
    for _ in range(2):
        assert run("curator release study.state tree.joblib") == 0
    assert "deployment: collected" in capsys.readouterr().out
    tree = joblib.load(folder / "tree.joblib")
    assert isinstance(tree, LocallyPrivateTreeClassifier)
    assert tree.privacy_spent_.private
    assert tree.n_reports_ == 800
    assert list(tree.feature_names_in_) == ["b", "a"]


def test_from_plan_to_release_of_numbers(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, n, seed in (("public", 200, 1), ("rows", 3000, 2)):
        X, y = number_rows(n, seed=seed)
        named(X).assign(cost=y)[["a", "cost", "b"]].to_csv(f"{name}.csv", index=False)
    more = "--public public.csv --mechanism krr --bounds-y"
    assert run(f"{NUMBERS} {more}", "[-5, 15]") == 0
    assert TreeSpecification.from_json(tmp_path / "spec.json").bounds_y == (-5.0, 15.0)
    for line in (
        "client spec.json rows.csv monday.bin",
        "curator add study.state monday.bin",
        "curator show study.state",
        "curator release study.state tree.joblib",
    ):
        assert run(line) == 0
    assert "target: numbers from -5 to 15 on" in capsys.readouterr().out
    tree = joblib.load(tmp_path / "tree.joblib")
    assert (tree.mechanism_, tree.rule_, tree.n_reports_) == ("krr", "cart", 3000)
    assert tree.score(named(X), y) > 0.7


def test_the_plan_is_that_of_the_estimator(unplanned):
    more = "--max-depth 3 --rule cart --prune --public-weight 0.5 --mechanism subset --min-samples-leaf 2"
    assert run(f"{PLAN} {more} --bounds", '{"a": [0, 2], "b": [0, 1]}') == 0
    found = TreeCurator.from_bytes((unplanned / "study.state").read_bytes())._state.tree.get_params()
    wanted = {"max_depth": 3, "rule": "cart", "prune": True, "public_weight": 0.5, "mechanism": "subset"}
    wanted |= {"min_samples_leaf": 2, "bounds": {"a": [0, 2], "b": [0, 1]}}
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize(("text", "ratio"), [("0.1", (1, 10)), ("1/3", (1, 3))])
def test_epsilon_is_taken_exactly(unplanned, text, ratio):
    assert run(PLAN.replace("--epsilon 4", f"--epsilon {text}")) == 0
    epsilon = TreeSpecification.from_json(unplanned / "spec.json").randomizer.epsilon
    assert (epsilon.numerator, epsilon.denominator) == ratio


def test_a_plan_reads_a_domain_and_raw_public_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    age = np.arange(17, 91)
    frame = pd.DataFrame({"since": "2002-01-01", "age": age, "job": np.where(age % 2, "smith", "?")})
    sick = np.where(age > 60, "yes", "no")
    frame.assign(sick=sick).to_csv("public.csv", index=False)
    (tmp_path / "domain.json").write_text(make_domain().to_json())
    options = "--label sick --epsilon 8 --clients 4000 --domain domain.json"
    assert run(f"curator plan state spec.json --public public.csv {options}") == 0
    plan = LocallyPrivateTreeClassifier(8.0, domain=make_domain())
    planned = TreeCurator(plan, frame, sick, n_clients=4000, label="sick").specification
    assert TreeSpecification.from_json(tmp_path / "spec.json") == planned
    with open("public.csv", "a") as file:
        file.write(f"2002-01-01,old{SECRET},smith,yes\n")
    error = fails(capsys, f"curator plan state2 spec2.json --public public.csv {options}")
    assert "public.csv, line 76: column 'age'" in error
    (tmp_path / "domain.json").write_text("{")
    assert "domain.json" in fails(capsys, f"curator plan state2 spec2.json {options}")


def test_merging_states(folder, capsys):
    for name in ("left", "right"):
        shutil.copy(folder / "study.state", folder / name)
        assert run(f"client spec.json rows.csv {name}.bin") == 0
        assert run(f"curator add {name} {name}.bin") == 0
    assert run("curator merge study.state left right") == 0
    assert n_reports(folder) == 1000
    before = (folder / "study.state").read_bytes()
    assert "left: both curators have counted the batch" in fails(capsys, "curator merge study.state left")
    assert (folder / "study.state").read_bytes() == before


def test_nothing_is_overwritten(folder, capsys):
    assert run("client spec.json rows.csv r.bin") == 0
    before = {name: (folder / name).read_bytes() for name in ("r.bin", "study.state", "spec.json")}
    assert "r.bin exists and is not overwritten" in fails(capsys, "client spec.json rows.csv r.bin")
    assert "study.state exists" in fails(capsys, PLAN)
    assert {name: (folder / name).read_bytes() for name in before} == before
    os.unlink(folder / "study.state")
    assert "spec.json exists" in fails(capsys, PLAN)
    assert not (folder / "study.state").exists()
    assert (folder / "spec.json").read_bytes() == before["spec.json"]


def test_features_are_told_with_consent_only(unplanned, capsys):
    assert run(f"{PLAN} --protect label") == 0
    assert "protects the label alone" in fails(capsys, "client spec.json rows.csv r.bin")
    assert not (unplanned / "r.bin").exists()
    assert run("client spec.json rows.csv r.bin --protect label") == 0


def test_a_table_without_rows_is_a_file_without_reports(folder, capsys):
    (folder / "rows.csv").write_text("sick,a,b\n")
    assert run("client spec.json rows.csv r.bin") == 0
    assert run("curator add study.state r.bin") == 0
    assert "no reports yet" in fails(capsys, "curator release study.state tree.joblib")
    assert not (folder / "tree.joblib").exists()


def test_what_was_added_before_a_bad_file_is_saved(folder, capsys):
    for name in ("good", "bad"):
        assert run(f"client spec.json rows.csv {name}.bin") == 0
    os.truncate(folder / "bad.bin", 100)
    assert "bad.bin, byte 100: the file ends" in fails(capsys, "curator add study.state good.bin bad.bin")
    assert n_reports(folder) == 500


@pytest.mark.parametrize("terminal", [True, False])
def test_progress(folder, capsys, monkeypatch, terminal):
    monkeypatch.setattr(_csv_tables, "_ROWS_AT_ONCE", 100)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    assert run("client spec.json rows.csv quick.bin") == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(_commands, "_INTERVALS", {True: -1.0, False: -1.0})
    assert run("client spec.json rows.csv slow.bin") == 0
    err = capsys.readouterr().err
    assert "300 rows, 0 s" in err
    assert ("\r" in err) == terminal
    assert run("curator add study.state slow.bin") == 0
    assert "500 of 500 reports" in capsys.readouterr().err


# What is refused


@pytest.mark.parametrize(
    ("line", "more", "match"),
    [
        *(
            (PLAN, more, match)
            for more, match in (
                (["--mechanism", "none"], "mechanism"),
                (["--rule", "none"], "rule"),
                (["--max-depth", "0"], "max_depth"),
                (["--clients", "0"], "n_clients"),
                (["--epsilon", "-1"], "epsilon"),
                (["--bounds", "5"], "bounds"),
                (["--bounds", '{"a": [0, 1]}'], "bounds"),
                (["--classes", "5"], "classes"),
                (["--classes", '["yes", "maybe"]'], "public.csv, line"),
                (["--label", "nobody"], "column 'nobody' is missing"),
                (["--public", "none.csv"], "none.csv: No such file"),
                # Before anything can be made: the public rows hold one class only.
                (["--public", "flat.csv"], "one class only"),
                (["--public", "text.csv"], "--domain DOMAIN.json"),
                (["--public", "text.csv"], '({"a": (low, high), "job": ["...", ...]}).to_json()'),
            )
        ),
        (PLAN.replace("--public public.csv", ""), [], "bounds and classes must be declared"),
        *(
            (NUMBERS, more, match)
            for more, match in (
                ([], "without public rows bounds_X and bounds_y must be declared"),
                (["--bounds", '{"a": [0, 1], "b": [0, 1]}'], "bounds_y must be declared"),
                (["--classes", "[0, 1]"], "--classes does not go with --target numbers"),
                (["--prune"], "--prune does not go with --target numbers"),
                (["--criterion", "gini"], "--criterion does not go with --target numbers"),
                (["--target", "labels", "--bounds-y", "[0, 1]"], "--bounds-y does not go with"),
            )
        ),
    ],
)
def test_plans(unplanned, capsys, line, more, match):
    (unplanned / "flat.csv").write_text("sick,a,b\nno,1,2\nno,2,1\n")
    (unplanned / "text.csv").write_text(f"sick,a,job\nno,1,{SECRET}x\nyes,2,smith\n")
    before = sorted(os.listdir(unplanned))
    assert match in fails(capsys, line, *more)
    assert sorted(os.listdir(unplanned)) == before


@pytest.mark.parametrize(
    "line",
    [
        *("", "client", "server", "curator", "curator add study.state"),
        *(f"curator plan s p --epsilon {text} --clients 1" for text in ("x", "nan", "1/0", "1e999999999")),
        "curator plan s p --epsilon 1 --clients x",
        "curator plan s p --epsilon 1 --clients 1 --bounds {",
        "curator plan s p --epsilon 1 --clients 1 --max-depth deep",
    ],
)
def test_command_lines(capsys, line):
    with pytest.raises(SystemExit) as caught:
        run(line)
    assert caught.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert "_amount" not in err


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("client none.json rows.csv x.bin", "none.json: No such file"),
        ("client spec.json none.csv x.bin", "none.csv: No such file"),
        ("client rows.csv rows.csv x.bin", "no specification"),
        ("curator add none r.bin", "none: No such file"),
        ("curator add rows.csv r.bin", "rows.csv: this is not a valid state of a curator"),
        # What a file of reports begins with is no text.
        ("curator show r.bin", "r.bin: this is not a valid state of a curator: it is not text"),
        ("curator add study.state rows.csv", "rows.csv, byte 0: this is not a file of reports"),
    ],
)
def test_files_that_are_missing_or_foreign(folder, capsys, line, match):
    assert run("client spec.json rows.csv r.bin") == 0
    assert match in fails(capsys, line)
    assert not (folder / "none.lock").exists()


# Processes


def command(folder, *arguments, code=None):
    """Run the module in a process of its own, or a program that calls it."""
    start = ["-m", "skprivate.collection"] if code is None else ["-c", code]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, *start, *arguments], cwd=folder, capture_output=True, text=True, env=environment
    )
