# SPDX-License-Identifier: BSD-3-Clause
"""The demonstration prints its tables, says what was spent, and saves a picture."""

import re
import sys

import pytest

import skprivate
from skprivate import __main__ as demo


@pytest.fixture
def output(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(demo, "REPETITIONS", 2)
    demo.main([str(tmp_path / "picture.png")])
    return capsys.readouterr().out


def test_tables_spending_and_picture(output, tmp_path):
    rows = re.findall(r"^ +(0\.5|1|2|4|8)((?: +0\.\d{3}){7})$", output, flags=re.MULTILINE)
    assert [row[0] for row in rows] == ["0.5", "1", "2", "4", "8"] * 3
    both = [float(row[1].split()[2]) for row in rows[:5]]
    # About .757 with a standard deviation of .01: below .65 with a probability far below 1e-9.
    assert both[-1] > 0.65, "at epsilon 8 the simulated tree learns"
    columns = ["epsilon", *demo.METHODS, "non-private"]
    assert len(re.findall(" +".join(columns), output)) == 3
    assert "SIMULATED" in output
    assert "local" in output
    assert (tmp_path / "picture.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_it_is_strict_and_leaves_the_setting_alone(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(
        demo, "_evaluate", lambda problem: seen.append(skprivate.get_config()["strict"]) or 1 / 0
    )
    before = skprivate.get_config()
    with pytest.raises(ZeroDivisionError):
        demo.main([str(tmp_path / "picture.png")])
    assert seen == [True]
    assert skprivate.get_config() == before


@pytest.mark.parametrize("name", ["missing/picture.png", "picture.jpg", "picture", "."])
def test_a_place_that_cannot_be_written_is_told_before_anything_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "_evaluate", lambda problem: 1 / 0)
    with pytest.raises(SystemExit, match="2"):
        demo.main([str(tmp_path / name)])
    assert "must be a .png file" in capsys.readouterr().err


def test_without_matplotlib_it_names_the_extra(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "REPETITIONS", 1)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    demo.main([str(tmp_path / "picture.png")])
    assert "pip install 'skprivate[plot]'" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
