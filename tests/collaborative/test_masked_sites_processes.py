# SPDX-License-Identifier: BSD-3-Clause
"""Sites as processes: the guide's programs over loopback, and a study in which everything is killed."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.collaborative.studies import NAMES, make_rows

ROOT = Path(__file__).parents[2]
SITE, DRIVER, FLARE = (ROOT / f"doc/sources/consortium_{name}.py" for name in ("site", "driver", "flare"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def run(folder, *words, timeout=120, **environment):
    """Run a program in a folder, and return what it prints."""
    command = [sys.executable, "-W", "ignore", *map(str, words)]
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
        env=ENVIRONMENT | environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def join_all(folder, office):
    """Make a folder with rows for every site, the roster at the office, and join."""
    rows, publics = make_rows(1500), {}
    rows["age"], rows["dose"], rows["response"] = 20 + 70 * rows["age"], 10 * rows["dose"], rows["y"]
    for place, name in enumerate(NAMES):
        (folder / name).mkdir()
        rows[place::3].to_csv(folder / name / "rows.csv", index=False)
        publics[name] = run(folder / name, SITE, "key").strip()
    (office / "publics.json").write_text(json.dumps(publics))
    fingerprint = run(office, DRIVER, "roster").strip()
    for name in NAMES:
        joined = run(folder / name, SITE, "join", office / "roster.json", fingerprint)
        assert joined == f"joined as {name}\n"


@pytest.mark.slow
def test_the_guide_s_programs(tmp_path):
    ports, servers, office = {name: free_port() for name in NAMES}, {}, tmp_path / "office"
    office.mkdir()
    join_all(tmp_path, office)
    addresses = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
    (office / "addresses.json").write_text(json.dumps(addresses))

    def serve(name):
        command = [sys.executable, str(SITE), "serve", str(ports[name])]
        servers[name] = subprocess.Popen(command, cwd=tmp_path / name, env=ENVIRONMENT)

    try:
        for name in NAMES:
            serve(name)
        assert "all sites are ready" in run(office, DRIVER, "check")
        assert run(office, DRIVER, "fit").splitlines()[-1] == "spent 1.0"
        servers["south"].kill()
        servers["south"].wait()
        serve("south")
        curve = run(office, DRIVER, "curve")
        assert re.search(r"^1500 rows\nsurvival \(died\)", curve)
        assert curve.splitlines()[-1] == "spent 2.0"
        first, second = (run(office, DRIVER, "predict") for _ in range(2))
        assert first == second
        assert "query" in run(tmp_path / "south", SITE, "log")
    finally:
        for server in servers.values():
            server.kill()
            server.wait()


@pytest.mark.slow
def test_kills_of_sites_and_drivers_give_no_wrong_sum_and_no_second_charge(tmp_path):
    found = json.loads(run(tmp_path, "-m", "tests.collaborative.kills", tmp_path, 9, timeout=900))
    assert found["failed"] == found["wrong"] == []
    assert found["entries"] == [1] * 9
    assert found["twice"] == 0
    # About seven kills a fit, anywhere.
    assert found["kills"] > 20
    assert len(found["killed"]) > 8


@pytest.mark.slow
def test_a_job_of_flare(tmp_path):
    pytest.importorskip("nvflare")
    join_all(tmp_path, tmp_path)
    paths = {"SKPRIVATE_STUDY": str(tmp_path), "NVFLARE_SIMULATOR_WORKSPACE_ROOT": str(tmp_path / "work")}
    run(tmp_path, FLARE, timeout=300, **paths)
    assert len((tmp_path / "coefficients.txt").read_text().split()) == 2
