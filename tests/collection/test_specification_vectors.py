# SPDX-License-Identifier: BSD-3-Clause
"""What is drawn from known words of entropy stands in files that clients in other languages match."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from skprivate.noise._sampling_kernels import fill_bits
from skprivate.noise._stream_kernels import WordStream
from tests.collection.make_vectors import FOLDER, RANDOMIZERS, Words, documents, randomizer_vectors

JAVASCRIPT = FOLDER.parents[2] / "clients" / "javascript"


def read(name):
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("seed", range(1, len(RANDOMIZERS) + 1))
def test_the_first_reports_of_every_mechanism(seed):
    (path,) = FOLDER.glob(f"randomizer-{seed:02d}-*")
    known, found = read(path.name), randomizer_vectors(RANDOMIZERS[seed - 1], seed, n=100)
    assert (found["randomizer"], found["first"]) == (known["randomizer"], known["first"])
    assert known["checksums"].startswith(found["checksums"])


@pytest.mark.slow
def test_all_files_are_what_the_command_writes():
    made = {name: make() for name, make in documents()}
    assert made.keys() == {path.name for path in FOLDER.iterdir()}
    for name, document in made.items():
        assert json.loads(json.dumps(document)) == read(name), name
    labels = {
        len(json.loads(one["specification"])["target"].get("classes", []))
        for one in made.values()
        if "cells" in one
    }
    assert {2, 3, 10} <= labels


def test_the_words_are_those_of_splitmix64():
    # The first outputs of the reference implementation for the state 1234567.
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    out = np.empty(3, dtype=np.uint64)
    with WordStream(Words(1234567, 0, 0).entropy, 3) as stream:
        fill_bits(out, 64, stream)
    assert out.tolist() == known


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js")
def test_the_javascript_client_matches_them():
    done = subprocess.run(["node", "--test"], cwd=JAVASCRIPT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert f"# pass {len(list(FOLDER.iterdir())) + 9}" in done.stdout


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_port_to_c_matches_them(tmp_path):
    source, program = JAVASCRIPT.parent / "c" / "report.c", tmp_path / "report"
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", source, "-o", program], check=True)
    for seed, randomizer in enumerate(RANDOMIZERS, 1):
        if randomizer.sensitivity is not None:
            continue  # no Laplace noise
        known = read(f"randomizer-{seed:02d}-{randomizer.name}.json")
        plan = known["randomizer"]
        extra = plan.get("n_blocks", plan.get("subset_size", 0))
        last = [int(plan[name]) for name in ("signed", "n_columns") if name in plan]
        words = [plan[name] for name in ("mechanism", "n_cells", "n_labels", "threshold")]
        arguments = map(str, [*words, extra, seed, known["n"], *last])
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
        assert done.stdout.split() == known["first"] + known["checksums"].split(), plan


def test_the_javascript_client_is_small():
    text = (JAVASCRIPT / "skprivate-client.js").read_bytes()
    assert len(text) <= 12_000
    assert text.count(b"\n") <= 350
    assert b"import " not in text
    assert b"Math.random" not in text
