# SPDX-License-Identifier: BSD-3-Clause
"""The demonstration prints its tables, says what was spent, and saves a picture."""

import re

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
    rows = re.findall(r"^ +(0\.5|1|2|4|8)((?: +0\.\d{3}){4})$", output, flags=re.MULTILINE)
    assert [row[0] for row in rows] == ["0.5", "1", "2", "4", "8"] * 2
    both = [float(row[1].split()[2]) for row in rows[:5]]
    assert both[-1] > 0.7, "at epsilon 8 the simulated tree learns"
    assert both[-1] > both[0]
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
