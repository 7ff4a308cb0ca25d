"""`make` says in one line why an installation fails, and recovers from what the failure left behind."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci" / "install"
# A Python whose pip says what a test wants: a full disk or a missing network is not had in a second.
PYTHON = f"""#!/bin/sh
case "$*" in
  "-m venv"*)
    echo "$*" >>calls
    mkdir -p venv/bin && touch venv/pyvenv.cfg && cp "$0" venv/bin/python ;;
  "-m ensurepip"* | "-m pip --version" | "-m compileall"*) ;;
  "-m pip install"*) [ ! -s says ] || {{ cat says; exit 1; }} ;;
  *) exec {sys.executable} "$@" ;;
esac
"""
pytestmark = pytest.mark.skipif(os.name == "nt", reason="make and sh")


@pytest.fixture
def folder(tmp_path):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "python").chmod(0o755)
    kernel = tmp_path / "build" / "c" / "kernel.c"
    kernel.parent.mkdir(parents=True)
    kernel.touch()
    return tmp_path


def install(folder, python="./python", extras="plot", says="", **environment):
    (folder / "says").write_text(says)
    command = ["/bin/sh", SCRIPT, python, "venv", extras]
    done = subprocess.run(command, cwd=folder, env=os.environ | environment, capture_output=True, text=True)
    return done.stdout


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ("OSError: [Errno 28] No space left on device", "No disk space: "),
        ("cc1: error: Disk quota exceeded\nerror: command 'gcc' failed", "No disk space: "),
        ("WARNING: Retrying (Retry(total=0)) after connection broken by ...\nERROR: none", "No network: "),
        (
            "kernel.c:1: error\nerror: command '/usr/bin/gcc' failed with exit code 1",
            "The kernels do not compile.",
        ),
        ("ERROR: No matching distribution found for scipy", "Installation failed: ERROR: No matching"),
    ],
)
def test_the_reason_is_one_line_and_the_log_has_the_rest(folder, says, reason):
    printed = install(folder, says=says)
    assert printed.startswith(reason)
    assert printed.count("\n") == 1
    assert (folder / "build" / "install.log").read_text().strip() == says


def test_nothing_is_printed_if_nothing_fails(folder):
    assert install(folder) == ""
    assert not (folder / "venv" / ".unfinished").exists()


def test_an_old_python_and_a_missing_one(folder):
    (folder / "old").write_text('#!/bin/sh\ncase "$*" in *print*) echo 3.9 ;; *) exit 1 ;; esac\n')
    (folder / "old").chmod(0o755)
    assert install(folder, "./old").startswith("Old Python: ./old is 3.9, and 3.11 or newer is needed.")
    assert install(folder, "./none").startswith("No Python: ./none does not run.")
    assert not (folder / "venv").exists()


@pytest.mark.parametrize("compiler", ["no-such-compiler -pthread", "false"])
def test_no_compiler_is_told_before_anything_is_made(folder, compiler):
    assert install(folder, CC=compiler).startswith("No compiler: ")
    assert not (folder / "venv").exists()


def test_an_environment_of_another_python_is_left_alone(folder):
    other = folder / "venv" / "bin" / "python"
    other.parent.mkdir(parents=True)
    other.write_text("#!/bin/sh\necho 3.99\n")
    other.chmod(0o755)
    for extras in ("", "plot"):
        assert install(folder, extras=extras).startswith("Another Python: venv has 3.99, ")
    assert "3.99" in other.read_text()


def test_what_a_full_disk_cut_off_is_made_again(folder):
    install(folder, says="No space left on device")
    assert not (folder / "build" / "c").exists(), "a kernel that was cut off looks newer than its source"
    assert install(folder) == ""
    assert "--clear" in (folder / "calls").read_text().splitlines()[1]


def test_what_a_missing_network_left_is_used_again(folder):
    install(folder, says="Retrying (Retry(total=0))")
    assert (folder / "build" / "c").exists()
    assert install(folder) == ""
    assert len((folder / "calls").read_text().splitlines()) == 1
