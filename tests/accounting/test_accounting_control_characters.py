# SPDX-License-Identifier: BSD-3-Clause
"""No text forges a line of a report: control characters are refused where texts enter, and shown escaped."""

import json
import re
import unicodedata
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from skprivate import (
    DPSEVRegressor,
    TableDomain,
    private_describe,
    private_evaluate,
)
from skprivate.accounting import (
    LedgerAudit,
    LedgerEntry,
    PrivacyLedger,
    study_page,
)
from skprivate.accounting._ledger.state import LedgerState
from skprivate.accounting._statements.fields import check_text
from skprivate.audit import Hole, PipelineCheck
from skprivate.exceptions import LedgerError
from tests.accounting.records import execute

EMBEDDINGS = "".join(chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
STRANGE = "\n\r\t\x00\x1b\x7f\x85\x9b\u2028\u2029" + EMBEDDINGS + "x\nTotal: epsilon = 0"
FORGED = "x\nTotal: epsilon = 0"


def test_all_controls_are_refused_and_nothing_else():
    refused = {"Cc", "Zl", "Zp"}
    for code in (*range(0xD800), *range(0xE000, 0x11000)):
        character = chr(code)
        text = f"a{character}b"
        if unicodedata.category(character) in refused or character in EMBEDDINGS:
            with pytest.raises(ValueError, match="control character"):
                check_text(text, "label")
        else:
            check_text(text, "label")
            assert len(text.splitlines()) == 1


@pytest.mark.parametrize(
    "name", ["estimator", "mechanism", "label", "data", "purpose", "person", "approver", "expiry"]
)
def test_what_is_read_back_is_refused(ledger, tmp_path, name):
    ledger.count_failure("Forest")
    text = ledger.to_json()
    export = json.loads(text)
    entry = export["entries"][0] | {name: FORGED}
    with pytest.raises(ValueError, match=f"{name}.*control character"):
        LedgerEntry.from_dict(entry)
    state = LedgerState().after(tuple({**entry, "private": 1}.values()))
    (tmp_path / "export").write_text(json.dumps(export | {"entries": [entry], "chain": state.chain}), "utf-8")
    execute(
        ledger.path,
        f"UPDATE entries SET {name} = '{FORGED}'",
        f"UPDATE meta SET value = '{state.chain}' WHERE key = 'chain'",
    )
    ledger.path.with_name("study.ledger.mark").unlink()
    for file in (tmp_path / "export", ledger.path):
        with pytest.raises(LedgerError, match=f"{name}.*control character"):
            LedgerAudit(file)
    with pytest.raises(LedgerError, match=f"{name}.*control character"):
        PrivacyLedger(ledger.path, epsilon=1).report()
    (tmp_path / "export").write_text(text.replace('"Forest"', json.dumps(FORGED)), "utf-8")
    with pytest.raises(LedgerError, match="control character"):
        LedgerAudit(tmp_path / "export")


def assert_nothing_is_forged(text):
    assert not re.search("[^\\n -~\xa0-\u2027\u202f-\u2065\u206a-\uffff]", text)
    assert not any(line.lstrip(" -|").startswith("Total:") for line in text.splitlines())


def test_results_that_carry_a_statement_show_names_escaped():
    rng = np.random.default_rng(0)
    X, groups = rng.uniform(size=(500, 1)), np.array(["a", STRANGE], dtype=object)[np.arange(500) % 2]
    model = LogisticRegression().fit([[0.2], [0.8]], [0, 1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluation = private_evaluate(
            model, X, X[:, 0] > 0.5, 10.0, groups_of_interest=(groups, ["a", STRANGE])
        )
    for warning in caught:
        assert_nothing_is_forged(str(warning.message))
    table = pd.DataFrame({STRANGE: X[:, 0], "level": groups})
    domain = TableDomain({STRANGE: (0, 1), "level": ["a", STRANGE]})
    description = private_describe(table, domain, 10.0)
    life = DPSEVRegressor(10.0, bounds_X=(0, 1), bounds_y=(1, 9)).fit(table[[STRANGE]], 1 + X[:, 0])
    hole = PipelineCheck(
        holes=(Hole(step=STRANGE, place="a", neighbour="b"),), failures=(), uncovered=(), n_fits=1
    )
    for result in (evaluation, description, life.summary(), hole):
        assert_nothing_is_forged(str(result))
        if result is not hole:
            assert_nothing_is_forged(result._repr_html_())


def test_the_path_of_a_ledger_is_shown_escaped(tmp_path):
    ledger = PrivacyLedger(tmp_path / "a\nTotal: epsilon = 0\x1b\u202e")
    for text in (ledger.report(), ledger.to_html(), ledger._repr_html_(), study_page(ledger, {}, title="a")):
        assert_nothing_is_forged(text)
