# SPDX-License-Identifier: BSD-3-Clause
"""Types of columns that no fit can read are refused before the charge, whatever holds the columns."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from skprivate import DPLogLocationScaleRegressor, PrivacyLedger, TableDomain, config_context
from skprivate.rounds import TableSource, fit_rounds

N = 400
ROWS = pd.DataFrame(
    {
        "age": np.linspace(18, 95, N),
        "ward": ["surgery", "medicine"] * (N // 2),
        "days": np.geomspace(1, 900, N),
        "status": [2, 1] * (N // 2),
        "died": [True, False] * (N // 2),
        "state": ["dead", "alive"] * (N // 2),
        "admitted": pd.date_range("2001-01-01", periods=N),
        "stay": pd.to_timedelta(np.arange(N) + 1, unit="h"),
    }
)
DOMAIN = TableDomain({"admitted": (18, 95)})
DEAD: dict[str, Any] = {"target": "days", "event": "died", "features": ["age"]}
MISTAKES: dict[str, tuple[dict[str, Any], TableDomain | None, str]] = {
    "text among numbers": ({**DEAD, "features": ["age", "ward"]}, None, "X holds text or objects.*domain="),
    "dates declared as numbers": ({**DEAD, "features": ["admitted"]}, DOMAIN, "column 'admitted'.*dates"),
    "events of text": ({**DEAD, "event": "state"}, None, "column 'state' is not boolean.*happened="),
    "a code of text": ({**DEAD, "event": "status", "happened": "2"}, None, "'status' holds numbers"),
    "a code of booleans": ({**DEAD, "happened": 2}, None, "'died' holds booleans.*happened=True"),
    "durations": ({**DEAD, "target": "stay"}, None, "dates or durations|timedelta64"),
}
FORMS = {
    "pandas": lambda rows: rows,
    "polars": lambda rows: pytest.importorskip("polars").from_pandas(rows),
    "Arrow": lambda rows: pytest.importorskip("pyarrow").Table.from_pandas(rows),
    "Arrow stream": lambda rows: lambda: pytest.importorskip("pyarrow").Table.from_pandas(rows).to_reader(),
}


def refuse(
    tmp_path: Any, strict: bool, source: TableSource, domain: TableDomain | None, message: str
) -> None:
    ledger = PrivacyLedger(tmp_path / "ledger")
    given = {"bounds_X": (0, 100)} if domain is None else {"domain": domain}
    model = DPLogLocationScaleRegressor(1.0, bounds_y=(0.5, 1000), ledger=ledger, **given)
    with config_context(strict=strict), pytest.raises(TypeError, match=message):
        fit_rounds(model, source)
    assert ledger.spent().epsilon == 0


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_columns_of_unreadable_types_are_refused_before_the_charge(
    mistake: str, form: str, strict: bool, tmp_path: Any
) -> None:
    named, domain, message = MISTAKES[mistake]
    refuse(tmp_path, strict, TableSource(FORMS[form](ROWS), **named), domain, message)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (ROWS[["age", "ward"]], ROWS[["died", "days"]], "X holds text or objects"),
        (ROWS[["age"]].to_numpy().astype(str), ROWS[["died", "days"]], "X holds text or objects"),
        (
            ROWS[["age"]],
            ROWS[["status", "days"]],
            r"life_data\(time=y\['days'\], event=y\['status'\], happened=",
        ),
        (ROWS[["age"]], ROWS[["days", "died"]], r"life_data\(time=y\['days'\], event=y\['died'\]\)"),
    ],
)
def test_arrays_of_unreadable_types_are_refused_before_the_charge(
    X: Any, y: Any, message: str, strict: bool, tmp_path: Any
) -> None:
    refuse(tmp_path, strict, TableSource((X, y)), None, message)
