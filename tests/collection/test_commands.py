# SPDX-License-Identifier: BSD-3-Clause
"""The command line: what it writes, what it refuses in one line, and what it imports."""

import os
import signal
import subprocess
import sys
import tracemalloc

import joblib
import numpy as np
import pytest

from skprivate.collection import TreeCurator, TreeSpecification, _commands, _csv_tables
from skprivate.collection._commands import main
from skprivate.collection._csv_tables import CsvTable, guess_labels
from skprivate.collection._report_files import ReportReader
from skprivate.tree import LocallyPrivateTreeClassifier
from skprivate.utils._files import locked

pytestmark = pytest.mark.process

SECRET = "4711.0815"


def write_rows(path, n, seed=0, header="sick,b,a", labels=("no", "yes")):
    X = np.random.default_rng(seed).uniform(size=(n, 2)).round(4)
    y = np.where(X[:, 0] > 0.5, labels[1], labels[0])
    lines = [f"{label},{b},{a}" for label, (a, b) in zip(y, X, strict=True)]
    path.write_text("\n".join([header, *lines, ""]))
    return X, y


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with public rows, a plan and private rows."""
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "public.csv", 60, seed=1)
    assert main(plan_arguments()) == 0
    write_rows(tmp_path / "rows.csv", 500)
    return tmp_path


def plan_arguments(*more):
    plan = "curator plan study.state spec.json --public public.csv --label sick --epsilon 4 --clients 500"
    return [*plan.split(), *more]


def run(line):
    return main(line.split())


def fails(capsys, line):
    """Run a command that fails, and return the one line that says why."""
    capsys.readouterr()
    assert (run(line) if isinstance(line, str) else main(line)) == 2
    out, err = capsys.readouterr()
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert SECRET not in out + err
    return err


def test_from_plan_to_release(folder, capsys):
    assert run("client spec.json rows.csv monday.bin") == 0
    write_rows(folder / "more.csv", 300, seed=2, header="sick,b,a")
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
        "monday.bin: counted before, dropped",
        "800 reports in study.state",
    ]
    assert run("curator show study.state") == 0
    assert "800 reports in 2 batches, 0 of them unfinished" in capsys.readouterr().out
    assert run("curator release study.state tree.joblib") == 0
    assert "deployment: collected" in capsys.readouterr().out
    tree = joblib.load(folder / "tree.joblib")
    assert isinstance(tree, LocallyPrivateTreeClassifier)
    assert tree.privacy_spent_.private
    assert tree.n_reports_ == 800
    assert list(tree.feature_names_in_) == ["b", "a"]


def test_a_model_replaces_nothing_but_a_model(folder, capsys):
    assert run("client spec.json rows.csv monday.bin") == 0
    assert run("curator add study.state monday.bin") == 0
    for name in ("study.state", "spec.json", "monday.bin", "rows.csv"):
        before = (folder / name).read_bytes()
        assert run(f"curator release study.state {name}") == 2
        assert "is no model" in capsys.readouterr().err
        assert (folder / name).read_bytes() == before
    assert run("curator release study.state tree.joblib") == 0
    assert run("curator release study.state tree.joblib") == 0


def test_the_reports_are_of_the_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = "curator plan s spec.json --epsilon 60 --clients 500 --mechanism krr --max-depth 2 --label y"
    assert main([*arguments.split(), "--bounds", '{"a": [0, 1], "b": [0, 1]}', "--classes", "[0, 1]"]) == 0
    X, y = write_rows(tmp_path / "rows.csv", 50, header='"y",b,a', labels=("0.0", "1"))
    assert run("client spec.json rows.csv r.bin") == 0
    specification = TreeSpecification.from_json(tmp_path / "spec.json")
    assert specification.features == ("a", "b")
    with ReportReader(tmp_path / "r.bin", specification) as reader:
        (_, reports), *_ = reader.chunks()
    # A lie has a probability below 1e-24.
    np.testing.assert_array_equal(reports, 2 * specification.partition.apply(X) + (y == "1"))


def test_the_plan_is_that_of_the_estimator(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "public.csv", 60)
    more = "--max-depth 3 --rule cart --prune --public-weight 0.5 --mechanism subset --min-samples-leaf 2"
    assert main(plan_arguments(*more.split(), "--bounds", '{"a": [0, 2], "b": [0, 1]}')) == 0
    tree = TreeCurator.from_bytes((tmp_path / "study.state").read_bytes())._state.tree
    parameters = tree.get_params()
    assert (parameters["max_depth"], parameters["rule"], parameters["prune"]) == (3, "cart", True)
    assert (parameters["public_weight"], parameters["mechanism"]) == (0.5, "subset")
    assert (parameters["min_samples_leaf"], parameters["bounds"]) == (2, {"a": [0, 2], "b": [0, 1]})


@pytest.mark.parametrize(("text", "ratio"), [("0.1", (1, 10)), ("1/3", (1, 3))])
def test_epsilon_is_taken_exactly(tmp_path, monkeypatch, text, ratio):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "public.csv", 60)
    arguments = plan_arguments()
    arguments[arguments.index("--epsilon") + 1] = text
    assert main(arguments) == 0
    epsilon = TreeSpecification.from_json(tmp_path / "spec.json").randomizer.epsilon
    assert (epsilon.numerator, epsilon.denominator) == ratio


def test_merging_states(folder, capsys):
    empty = (folder / "study.state").read_bytes()
    for name in ("left", "right"):
        (folder / name).write_bytes(empty)
        assert run(f"client spec.json rows.csv {name}.bin") == 0
        assert run(f"curator add {name} {name}.bin") == 0
    assert run("curator merge study.state left right") == 0
    assert TreeCurator.from_bytes((folder / "study.state").read_bytes()).n_reports == 1000
    before = (folder / "study.state").read_bytes()
    assert "left: both curators have counted the batch" in fails(capsys, "curator merge study.state left")
    assert (folder / "study.state").read_bytes() == before


def test_a_client_answers_once(folder, capsys):
    assert run("client spec.json rows.csv r.bin") == 0
    before = (folder / "r.bin").read_bytes()
    assert "r.bin exists and is not overwritten" in fails(capsys, "client spec.json rows.csv r.bin")
    assert (folder / "r.bin").read_bytes() == before


def test_a_plan_overwrites_nothing(folder, capsys):
    before = (folder / "study.state").read_bytes(), (folder / "spec.json").read_bytes()
    assert "study.state exists" in fails(capsys, plan_arguments())
    os.unlink(folder / "study.state")
    assert "spec.json exists" in fails(capsys, plan_arguments())
    assert not (folder / "study.state").exists()
    assert (folder / "spec.json").read_bytes() == before[1]


def test_text_in_public_rows_leads_to_a_domain(folder, capsys):
    (folder / "public.csv").write_text("sick,a,job\nno,1,4711.0815x\nyes,2,smith\n")
    error = fails(capsys, "curator plan s p.json --public public.csv --label sick --epsilon 1 --clients 10")
    assert "--domain DOMAIN.json" in error
    assert 'TableDomain({"a": (low, high), "job": ["...", ...]}).to_json()' in error


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "line 1: the header"),
        (b"\nsick,a,b\n", "line 1: the header"),
        (b"sick,a\nno,4711.0815\n", "line 1: column 'b' is missing; wanted are b, a, sick"),
        (b"sick,a,b,c\nno,1,2,4711.0815\n", "line 1: column 'c' is unknown"),
        (b"sick,a,b,a\nno,1,2,4711.0815\n", "line 1: columns 2 and 4 have the same name"),
        (b"4711.0815,4711.0815,no\n1,2,no\n", "line 1: columns 1 and 2 have the same name"),
        (b"no,4711.0815,2\n", "line 1: column 'b' is missing; wanted are b, a, sick"),
        (b"sick;a;b\nno;1;2\n", "line 1: column 'b' is missing"),
        (b"sick,a,b\nno,1,2\nno,4711.0815\n", "line 3: 2 cells, but there are 3 columns"),
        (b"sick,a,b\nno,1,2\nno,4711.0815,2,3\n", "line 3: 4 cells"),
        (b"sick,a,b\nno,1,2\n\n\nno,4711.0815x,2\n", "line 5: column 'a' must hold a finite number"),
        (b"sick,a,b\nno,1,2\nno,2,\n", "line 3: column 'b' must hold a finite number"),
        (b"sick,a,b\nno,1,nan\n", "line 2: column 'b' must hold a finite number"),
        (b"sick,a,b\nno,1,1e999\n", "line 2: column 'b' must hold a finite number"),
        (b"sick,a,b\nno,1,2\n4711.0815,1,2\n", "line 3: column 'sick' must hold one of the classes"),
        (b'sick,a,b\nno,1,2\nno,"4711.0815,2\n', "this is not CSV"),
        (b"sick,a,b\nno,1,2\nno,1,4711.0815\xff\n", "the file is not in UTF-8 near here"),
    ],
)
def test_a_bad_table_gives_no_file_and_shows_no_value(folder, capsys, content, match):
    (folder / "rows.csv").write_bytes(content)
    before = sorted(os.listdir(folder))
    error = fails(capsys, "client spec.json rows.csv r.bin")
    assert error.startswith("error: rows.csv, line ")
    assert match in error
    assert sorted(os.listdir(folder)) == before


def test_features_are_told_with_consent_only(folder, capsys):
    os.unlink(folder / "study.state")
    os.unlink(folder / "spec.json")
    assert main(plan_arguments("--protect", "label")) == 0
    assert "protects the label alone" in fails(capsys, "client spec.json rows.csv r.bin")
    assert not (folder / "r.bin").exists()
    assert run("client spec.json rows.csv r.bin --protect label") == 0


def test_a_bad_row_far_down(folder, capsys, monkeypatch):
    monkeypatch.setattr(_csv_tables, "_ROWS_AT_ONCE", 100)
    with open(folder / "rows.csv", "a") as file:
        file.write(f"no,{SECRET},x\n")
    assert "rows.csv, line 502: column 'a'" in fails(capsys, "client spec.json rows.csv r.bin")
    assert not (folder / "r.bin").exists()


def test_tables_of_spreadsheets(folder):
    rows = (folder / "rows.csv").read_bytes().replace(b"\n", b"\r\n")
    (folder / "rows.csv").write_bytes(b"\xef\xbb\xbf" + rows)
    assert run("client spec.json rows.csv r.bin") == 0


def test_a_table_without_rows_is_a_file_without_reports(folder, capsys):
    (folder / "rows.csv").write_text("sick,a,b\n")
    assert run("client spec.json rows.csv r.bin") == 0
    assert run("curator add study.state r.bin") == 0
    assert "no reports yet" in fails(capsys, "curator release study.state tree.joblib")
    assert not (folder / "tree.joblib").exists()


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["1", "0"], [1, 0]),
        (["1", "0.5"], [1.0, 0.5]),
        (["1", "x"], ["1", "x"]),
        (["True", "1"], ["True", "1"]),
    ],
)
def test_labels_of_public_tables(cells, labels):
    guessed = guess_labels(cells)
    assert guessed.tolist() == labels
    assert type(guessed.tolist()[0]) is type(labels[0])


@pytest.mark.parametrize(
    ("classes", "cells", "positions"),
    [
        (["no", "yes"], ["yes", "no"], [1, 0]),
        ([0, 1], ["1", "0", "1.0", " 1"], [1, 0, 1, 1]),
        ([0.5, 2.0], ["2", ".5"], [1, 0]),
        ([False, True], ["true", "False", "1"], [1, 0, 1]),
        ([2**60, 2**60 + 1], [str(2**60 + 1)], [1]),
    ],
)
def test_labels_of_private_tables(tmp_path, classes, cells, positions):
    (tmp_path / "rows.csv").write_text("\n".join(["y,a", *(f"{cell},1" for cell in cells)]))
    with CsvTable(tmp_path / "rows.csv") as table:
        (chunk,) = table.chunks()
        np.testing.assert_array_equal(table.labels(chunk, "y", classes), positions)


@pytest.mark.parametrize("cell", ["Yes", "1", "", "nan"])
def test_labels_that_are_no_class(tmp_path, cell):
    (tmp_path / "rows.csv").write_text(f"y,a\nno,1\n{cell},1\n")
    for classes in (["no", "yes"], [0, 2]):
        with CsvTable(tmp_path / "rows.csv") as table:
            (chunk,) = table.chunks()
            with pytest.raises(ValueError, match="must hold one of the classes"):
                table.labels(chunk, "y", classes)


def test_the_curator_is_strict(folder, capsys):
    plan = "curator plan s p.json --epsilon 1 --clients 10"
    assert "bounds and classes must be declared" in fails(capsys, plan)
    # Before any of them can be made: the public rows hold one class only.
    (folder / "public.csv").write_text("sick,a,b\nno,1,2\nno,2,1\n")
    os.unlink(folder / "study.state")
    os.unlink(folder / "spec.json")
    assert "one class only" in fails(capsys, plan_arguments())


@pytest.mark.parametrize(
    ("more", "match"),
    [
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
    ],
)
def test_bad_plans(folder, capsys, more, match):
    os.unlink(folder / "study.state")
    os.unlink(folder / "spec.json")
    assert match in fails(capsys, plan_arguments(*more))
    assert not (folder / "study.state").exists()
    assert not (folder / "spec.json").exists()


@pytest.mark.parametrize(
    "line",
    [
        "",
        "client",
        "server",
        "curator",
        "curator add study.state",
        "curator plan s p --epsilon x --clients 1",
        "curator plan s p --epsilon nan --clients 1",
        "curator plan s p --epsilon 1/0 --clients 1",
        "curator plan s p --epsilon 1e999999999 --clients 1",
        "curator plan s p --epsilon 1 --clients x",
        "curator plan s p --epsilon 1 --clients 1 --bounds {",
        "curator plan s p --epsilon 1 --clients 1 --max-depth deep",
    ],
)
def test_bad_command_lines_are_one_line(capsys, line):
    with pytest.raises(SystemExit) as caught:
        run(line)
    assert caught.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert "_amount" not in err


def test_files_that_are_missing_or_foreign(folder, capsys):
    assert run("client spec.json rows.csv r.bin") == 0
    assert "none.json: No such file" in fails(capsys, "client none.json rows.csv x.bin")
    assert "none.csv: No such file" in fails(capsys, "client spec.json none.csv x.bin")
    assert "no specification" in fails(capsys, "client rows.csv rows.csv x.bin")
    assert "none: No such file" in fails(capsys, "curator add none r.bin")
    assert "rows.csv: this is no state of a curator" in fails(capsys, "curator add rows.csv r.bin")
    # What a file of reports begins with is no text.
    why = fails(capsys, "curator show r.bin")
    assert "r.bin: this is no state of a curator that can be used: it is not text" in why
    assert "rows.csv, byte 0: this is no file of reports" in fails(capsys, "curator add study.state rows.csv")
    assert not (folder / "none.lock").exists()


def test_what_was_added_before_a_bad_file_is_saved(folder, capsys):
    for name in ("good", "bad"):
        assert run(f"client spec.json rows.csv {name}.bin") == 0
    os.truncate(folder / "bad.bin", 100)
    assert "bad.bin, byte 100: the file ends" in fails(capsys, "curator add study.state good.bin bad.bin")
    assert TreeCurator.from_bytes((folder / "study.state").read_bytes()).n_reports == 500


def test_two_writers_of_a_state(folder, capsys):
    assert run("client spec.json rows.csv r.bin") == 0
    with locked(folder / "study.state"):
        assert "in use by another process" in fails(capsys, "curator add study.state r.bin")
        assert "in use by another process" in fails(capsys, "curator merge study.state study.state")
    assert run("curator add study.state r.bin") == 0


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


def command(folder, *arguments, code=None):
    """Run the module in a process of its own, or a program that calls it."""
    start = ["-m", "skprivate.collection"] if code is None else ["-c", code]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, *start, *arguments], cwd=folder, capture_output=True, text=True, env=environment
    )


def test_the_module_runs(folder):
    done = command(folder, "client", "spec.json", "rows.csv", "r.bin")
    assert (done.returncode, done.stdout, done.stderr) == (0, "500 reports in r.bin\n", "")
    again = command(folder, "client", "spec.json", "rows.csv", "r.bin")
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == "error: r.bin exists and is not overwritten.\n"
    assert "example:" in command(folder, "--help").stdout
    assert "REPORTS is never overwritten" in command(folder, "client", "--help").stdout


def test_the_client_command_needs_numpy_only(folder):
    code = (
        "import sys; from skprivate.collection._commands import main;"
        "assert main(['client', 'spec.json', 'rows.csv', 'r.bin']) == 0;"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'sklearn', 'scipy', 'joblib', 'pandas'}))"
    )
    done = command(folder, code=code)
    assert done.stdout.splitlines() == ["500 reports in r.bin", "[]"], done.stderr


def test_a_killed_client_leaves_no_reports(folder):
    code = (
        "import os, signal; from skprivate.collection import _commands;"
        "_commands._Progress.__call__ = lambda *_: os.kill(os.getpid(), signal.SIGKILL);"
        "_commands.main(['client', 'spec.json', 'rows.csv', 'r.bin'])"
    )
    assert command(folder, code=code).returncode == -signal.SIGKILL
    assert not (folder / "r.bin").exists()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_table(folder):
    peaks = []
    for n in (20_000, 100_000):
        write_rows(folder / "rows.csv", n)
        tracemalloc.start()
        try:
            assert run("client spec.json rows.csv r.bin") == 0
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        os.unlink(folder / "r.bin")
    # 80,000 rows as Python texts would be some 15 MB.
    assert peaks[1] - peaks[0] < 10**6
