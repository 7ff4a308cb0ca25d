# SPDX-License-Identifier: BSD-3-Clause
"""Tables as text: labels of public and private ones, and the line, but no value, of what cannot be read."""

import numpy as np
import pytest

from skprivate.collection import _commands, _csv_tables
from skprivate.collection._csv_tables import CsvTable, guess_labels
from tests.collection.studies import SECRET, domain_specification, make_specification, number_specification


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


def labels_of(path, classes, cells):
    path.write_text("\n".join(["y,a", *(f"{cell},1" for cell in cells)]))
    with CsvTable(path) as table:
        (chunk,) = table.chunks()
        return table.labels(chunk, "y", classes)


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
    np.testing.assert_array_equal(labels_of(tmp_path / "rows.csv", classes, cells), positions)


@pytest.mark.parametrize("classes", [["no", "yes"], [0, 2]])
@pytest.mark.parametrize("cell", ["Yes", "1", "", "nan"])
def test_labels_that_are_no_class(tmp_path, classes, cell):
    with pytest.raises(ValueError, match="must hold one of the classes"):
        labels_of(tmp_path / "rows.csv", classes, [str(classes[0]), cell])


LABELS = make_specification(classes=["no", "yes"], features=["b", "a"], label="sick")
DECLARED = "job,age,sick,since\nsmith,80,yes,2020-06-01\n"
BAD = [
    *(
        (LABELS, content, match)
        for content, match in (
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
            # Far down, in a later piece of the table.
            (b"sick,a,b\n" + b"no,1,2\n" * 250 + b"no,4711.0815,x\n", "line 252: column 'b'"),
        )
    ),
    (number_specification(), b"a,b,cost\n1,1,4711.0815x\n", "line 2: column 'cost' must hold a finite"),
    (domain_specification(), DECLARED.encode() + b"smith,old4711.0815,no,\n", "line 3: column 'age'"),
]


@pytest.mark.parametrize(("specification", "content", "match"), BAD)
def test_a_bad_table_gives_no_file_and_shows_no_value(
    tmp_path, monkeypatch, capsys, specification, content, match
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_csv_tables, "_ROWS_AT_ONCE", 100)
    (tmp_path / "spec.json").write_text(specification.to_json())
    (tmp_path / "rows.csv").write_bytes(content)
    assert _commands.main(["client", "spec.json", "rows.csv", "r.bin"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: rows.csv, line ")
    assert error.count("\n") == 1
    assert match in error
    assert str(SECRET) not in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.csv", "spec.json"]


@pytest.mark.parametrize("declared", [False, True])
def test_the_reports_are_of_the_rows(tmp_path, monkeypatch, declared):
    monkeypatch.chdir(tmp_path)
    if declared:
        specification = domain_specification()
        rows = DECLARED + "?,33.5,yes,\n"
        records = [{"job": "smith", "age": 80, "since": "2020-06-01"}, {"job": "?", "age": 33.5, "since": ""}]
        cells, y = specification.partition.apply(specification.domain.encode(records, strict=True)), 1
    else:
        # As spreadsheets write them.
        specification = make_specification("krr", epsilon=60.0, features=["b", "a"], label="sick")
        X, y = np.random.default_rng(0).uniform(size=(50, 2)).round(4), np.arange(50) % 2
        lines = [f"{label}.0,{a},{b}" for label, (b, a) in zip(y, X, strict=True)]
        rows = "\ufeff" + "\r\n".join(['"sick",a,b', *lines])
        cells = specification.partition.apply(X)
    (tmp_path / "spec.json").write_text(specification.to_json())
    (tmp_path / "rows.csv").write_bytes(rows.encode())
    assert _commands.main(["client", "spec.json", "rows.csv", "r.bin"]) == 0
    # A lie has a probability below 1e-24; 72 bytes are the header.
    found = specification.unpack((tmp_path / "r.bin").read_bytes()[72:])
    np.testing.assert_array_equal(found, 2 * cells + y)
