# SPDX-License-Identifier: BSD-3-Clause
"""Where loaders find their files: what is missing or different is refused with its place and source."""

import pytest

from skprivate.datasets import fetch_census, fetch_diabetes_outcome, fetch_turbofan, fetch_warfarin
from skprivate.datasets._files import find_data_file

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
LOADERS = {
    fetch_census: ("census/adult.data", r"archive\.ics\.uci\.edu", "5b00.* or df25"),
    fetch_diabetes_outcome: ("diabetes/Healthcare-Diabetes.csv", "kaggle", ""),
    fetch_turbofan: ("turbofan/train_FD001.txt", "NASA", "963b5"),
    fetch_warfarin: ("warfarin/warfarin.csv", "pharmgkb.*553247439", "13c3"),
}


@pytest.mark.parametrize("fetch", LOADERS)
def test_a_missing_file_says_where_to_get_it_and_put_it_and_another_one_is_refused(tmp_path, fetch):
    place, source, digest = LOADERS[fetch]
    with pytest.raises(FileNotFoundError, match=f"{source}.*SKPRIVATE_DATA") as caught:
        fetch(data_home=tmp_path)
    assert str(tmp_path / place) in str(caught.value)
    (tmp_path / place).parent.mkdir()
    (tmp_path / place).write_text("Id,Outcome\n1,1\n")
    with pytest.raises(ValueError, match=f"SHA-256.*{digest}"):
        fetch(data_home=tmp_path)


def test_the_folder_comes_from_the_argument_else_the_environment(tmp_path, monkeypatch):
    for home in ("argument", "environment"):
        (tmp_path / home / "x").mkdir(parents=True)
        (tmp_path / home / "x" / "empty").touch()
    monkeypatch.setenv("SKPRIVATE_DATA", str(tmp_path / "environment"))
    found = [
        find_data_file("x", "empty", EMPTY, data_home=home, source="")
        for home in (None, tmp_path / "argument")
    ]
    assert [path.parent.parent.name for path in found] == ["environment", "argument"]
