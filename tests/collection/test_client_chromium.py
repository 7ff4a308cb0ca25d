# SPDX-License-Identifier: BSD-3-Clause
"""People answer in a real browser, and the tree is that of a Python collection with the same entropy.

Each of the three tests of distributions fails a right client once in a million runs.
"""

import functools
import http.server
import itertools
import json
import math
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from skprivate import LocallyPrivateTreeClassifier
from skprivate.collection import TreeCurator
from skprivate.collection._commands import main
from skprivate.domain import BooleanColumn, NumberColumn, TableDomain
from skprivate.randomizers import HadamardRandomizer, KRRRandomizer, SubsetRandomizer
from tests.collection.chromium import PROGRAM, Browser, Page
from tests.collection.make_vectors import FOLDER, report_of_answer

ROOT = Path(__file__).parents[2]
SEED, N_PEOPLE, N_REPORTS = 7, 200, 100_000
pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium; CHROMIUM may name one"),
]
# The words of a person in place of the system's: splitmix64, as in the vectors.
WORDS = """{
    let k = 0n;
    const uint = (n) => BigInt.asUintN(64, n);
    crypto.getRandomValues = (array) => {
        let z = uint(%dn + ((%dn << 20n) + (3n << 18n) + ++k) * 0x9e3779b97f4a7c15n);
        z = uint((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
        z = uint((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
        array[0] = z ^ (z >> 31n);
        return array;
    };
}"""
FILL = """{
    const form = document.getElementById("form");
    for (const [name, value] of Object.entries(%s)) form.elements["value " + name].value = value;
    document.getElementById("consent").checked = %s;
    form.requestSubmit();
}"""
STATE = "document.getElementById('state').textContent"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def page(browser):
    """A page beside the files of the client, on an address that the browser trusts."""
    handler = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    folder = functools.partial(handler, directory=ROOT / "clients" / "javascript")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), folder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with Page(browser, f"http://127.0.0.1:{server.server_port}/package.json") as page:
            page.wait("document.readyState === 'complete' && location.port")
            yield page
        server.shutdown()


def test_the_browser_matches_the_vectors(page):
    page.run("import('/vectors.js').then((module) => { globalThis.compare = module.compare })")
    for path in sorted(FOLDER.iterdir()):
        text = path.read_text(encoding="utf-8")
        assert page.run(f"compare({text})") == (10_000 if "randomizer" in path.name else 100), path.name


@pytest.mark.statistical
@pytest.mark.parametrize("kind", [HadamardRandomizer, KRRRandomizer, SubsetRandomizer])
def test_the_words_of_the_browser_give_the_distribution(page, kind):
    randomizer, category = kind(1.0, 4), 5
    true = randomizer.threshold / 2**64
    if kind is SubsetRandomizer:
        size, n = randomizer.subset_size, randomizer.n_categories
        sets = [set(one) for one in itertools.combinations(range(n), size)]
        own = true / math.comb(n - 1, size - 1), (1 - true) / math.comb(n - 1, size)
        chances = {sum(1 << k for k in one): own[category not in one] for one in sets}
    elif kind is KRRRandomizer:
        chances = {k: true if k == category else (1 - true) / 7 for k in range(8)}
    else:
        n_rows, n_answers = randomizer.n_padded // randomizer.n_blocks, 2 * randomizer.n_blocks
        reports = range(2 * randomizer.n_padded)
        honest = {r for r in reports if is_true_answer(r, category, n_rows)}
        chances = {r: (true if r in honest else (1 - true) / (n_answers - 1)) / n_rows for r in reports}
    plan = json.dumps(randomizer.to_dict() | randomizer.drawn_by())
    counts = page.run(
        f"""import('/more.js').then(() => import('/skprivate-client.js')).then((js) => {{
            const {{ certify, randomize }} = js, r = certify({plan}), counts = {{}};
            const words = () => crypto.getRandomValues(new BigUint64Array(1))[0];
            for (let i = 0; i < {N_REPORTS}; i++) {{
                const bytes = randomize(r, [{category}], () => words);
                const report = bytes.reduceRight((sum, byte) => 256 * sum + byte, 0);
                counts[report] = (counts[report] ?? 0) + 1;
            }}
            return counts;
        }})"""
    )
    assert counts.keys() <= set(map(str, chances))
    found = [counts.get(str(report), 0) for report in chances]
    assert stats.chisquare(found, N_REPORTS * np.array(list(chances.values()))).pvalue > 1e-6


def is_true_answer(report, category, n_rows):
    cell, label = divmod(category, 2)
    (index, sign), rows = divmod(report, 2), n_rows
    odd = (index % rows & cell).bit_count() % 2
    return index // rows == cell // rows and sign == label ^ odd


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A curator, its tokens, and the address of its service."""
    pytest.importorskip("uvicorn")
    folder = tmp_path_factory.mktemp("study")
    domain = TableDomain({"age": (17, 90), "job": ["clerk", "smith"], "owns": BooleanColumn()})
    domain = TableDomain({**domain.columns, "rooms": NumberColumn(1, 9, missing="indicator")})
    plan = LocallyPrivateTreeClassifier(
        4.0, domain=domain, classes=["no", "yes"], max_depth=3, mechanism="krr"
    )
    curator = TreeCurator(plan, n_clients=N_PEOPLE, label="sick")
    (folder / "study.state").write_bytes(curator.to_bytes())
    main(["tokens", str(N_PEOPLE + 1), str(folder / "tokens.txt"), str(folder / "accepted.txt")])
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = [sys.executable, str(ROOT / "examples" / "collection_service.py")]
    serve = [*program, "serve", "study.state", "study.db", "accepted.txt", "--port", str(port)]
    service = subprocess.Popen(serve, cwd=folder)
    address = f"http://127.0.0.1:{port}/"
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{address}specification").close()
            break
        except OSError:
            time.sleep(0.1)
    yield curator, (folder / "tokens.txt").read_text().split(), address, folder, program
    service.terminate()
    service.wait()


def fill(page, x, y, consent="true"):
    values = {
        name: json.dumps(value) if isinstance(value, str | bool) else value for name, value in x.items()
    }
    page.run(FILL % (json.dumps(values | {"sick": json.dumps(y)}), consent))


def test_people_answer_once_and_the_tree_is_that_of_python(browser, study):
    curator, tokens, address, folder, program = study
    rng = np.random.default_rng(0)
    expected = []
    with Page(browser, address) as page:
        page.wait(f"{STATE}.includes('lacks the token')")
        for number, token in enumerate(tokens[:N_PEOPLE]):
            x = {"age": int(rng.integers(17, 90)), "job": ["clerk", "smith"][rng.integers(2)]}
            x |= {"owns": bool(rng.integers(2)), "rooms": [None, 2, 7.5][rng.integers(3)]}
            y = "yes" if x["age"] > 50 else "no"
            expected.append(report_of_answer(curator.specification, x, y, SEED, number))
            # Another person's browser.
            page.run("localStorage.clear()")
            page.open(f"{address}#{token}", WORDS % (SEED, number))
            page.wait("document.getElementById('form')?.hidden === false")
            fill(page, {name: "" if value is None else value for name, value in x.items()}, y)
            page.wait(f"{STATE}.includes('has arrived')")
    subprocess.run([*program, "export", "study.state", "study.db", "reports"], cwd=folder, check=True)
    (file,) = (folder / "reports").iterdir()
    other = curator.without_reports()
    assert curator.update_file(file)
    other.update(expected)
    ours, theirs = curator.release(), other.release()
    assert curator.n_reports == ours.n_reports_ == N_PEOPLE
    np.testing.assert_array_equal(ours.report_counts_, theirs.report_counts_)
    np.testing.assert_array_equal(ours.leaf_proba_, theirs.leaf_proba_)


def test_the_page_shows_the_label_asks_for_consent_and_retries(browser, study):
    curator, tokens, address, _, _ = study
    url = f"{address}#{tokens[-1]}"
    with Page(browser, url) as page:
        page.wait("document.getElementById('form')?.hidden === false")
        label = page.run("document.getElementById('label').textContent")
        for part in (
            '"age", "job", "owns", "rooms"',
            '"sick" (one of "no", "yes")',
            "epsilon 4",
            curator.specification.hash,
        ):
            assert part in label
        x = {"age": 30, "job": "clerk", "owns": True, "rooms": 3}
        fill(page, x, "yes", consent="false")
        assert page.run("localStorage.length") == 0
        page.call("Network.enable")
        condition = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        page.call("Network.emulateNetworkConditions", offline=True, **condition)
        fill(page, x, "yes")
        page.wait(f"{STATE}.includes('Not sent yet')")
        first = page.run("Object.values(localStorage)")
        page.call("Network.emulateNetworkConditions", offline=False, **condition)
        # The person comes back: what was drawn is sent, and nothing else can be answered.
        page.open(url)
        page.wait(f"{STATE}.includes('answered already')")
        assert page.run("document.getElementById('form').hidden")
        for _ in range(2):
            page.wait("!document.getElementById('retry').hidden")
            page.run("document.getElementById('retry').click()")
            page.wait(f"{STATE}.includes('has arrived')")
            page.open(url)
        page.wait(f"{STATE}.includes('answered already')")
        assert page.run("Object.values(localStorage)") == first
        assert len(first) == 1
        # Another person at this browser.
        page.open(f"{address}#{tokens[0]}")
        page.wait(f"{STATE}.includes('with another link')")
        assert page.run("document.getElementById('form').hidden && document.getElementById('retry').hidden")
