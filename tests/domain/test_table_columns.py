# SPDX-License-Identifier: BSD-3-Clause
"""Tables of every library give the same bits; names of columns are the domain's."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skprivate.domain import CategoricalColumn, TableDomain

DOMAIN = TableDomain(
    {
        "age": (0, 100),
        "job": ["clerk", "smith"],
        "grade": CategoricalColumn([1, 2, 3], ordered=True),
        "married": bool,
        "since": ("2001-01-01", "2020-12-31"),
        "at": ("2001-01-01T00:00", "2001-01-02T00:00"),
    },
    missing="indicator",
)
ROWS = [
    (17.5, "clerk", 1, True, date(2001, 2, 3), datetime(2001, 1, 1, 5, 30, 0, 123)),
    (None, " smith", 3, None, None, datetime(2001, 1, 1, 23, 59, 59, 999999)),
    (99.0, None, None, False, date(2020, 12, 31), None),
    (33.25, "smith", 2, True, date(2011, 11, 11), datetime(2001, 1, 2)),
]
COLUMNS = {name: [row[place] for row in ROWS] for place, name in enumerate(DOMAIN.names)}
EXPECTED = DOMAIN.encode([dict(zip(DOMAIN.names, row, strict=True)) for row in ROWS])

ARROW = pa.table({**COLUMNS, "married": pa.array(COLUMNS["married"], pa.bool_())})
PANDAS = pd.DataFrame(COLUMNS)
POLARS = pl.DataFrame(COLUMNS)
TEXT = pd.DataFrame(
    {name: [None if cell is None else str(cell) for cell in cells] for name, cells in COLUMNS.items()}
)


class Stream:
    """An Arrow stream of an unknown library."""

    def __arrow_c_stream__(self, requested_schema=None):
        return ARROW.__arrow_c_stream__(requested_schema)


def structured():
    kinds = [
        ("age", "f8"),
        ("job", "O"),
        ("grade", "f4"),
        ("married", "O"),
        ("since", "M8[D]"),
        ("at", "M8[us]"),
    ]
    rows = np.empty(len(ROWS), dtype=kinds)
    for name in DOMAIN.names:
        rows[name] = [np.nan if cell is None and name in ("age", "grade") else cell for cell in COLUMNS[name]]
    return rows


TABLES = {
    "dict of lists": COLUMNS,
    "list of rows": [list(row) for row in ROWS],
    "array of objects": np.array(ROWS, dtype=object),
    "structured array": structured(),
    "pandas objects": PANDAS.astype(object),
    "pandas as inferred": PANDAS,
    "pandas in another order": PANDAS[list(DOMAIN.names)[::-1]],
    "pandas nullable": PANDAS.convert_dtypes(),
    "pandas categories": PANDAS.astype({"job": "category", "grade": "category", "at": "category"}),
    "pandas with zones": PANDAS.assign(at=PANDAS["at"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
    "pandas of Arrow": pd.DataFrame(
        {name: pd.Series(ARROW[name], dtype=pd.ArrowDtype(ARROW[name].type)) for name in DOMAIN.names}
    ),
    "text": TEXT,
    "bytes": np.array([[b"" if cell is None else str(cell).encode() for cell in row] for row in ROWS]),
    "polars": POLARS,
    "polars categories": POLARS.with_columns(pl.col("job").cast(pl.Categorical)),
    "polars with zones": POLARS.with_columns(
        pl.col("at").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")
    ),
    "polars integers": POLARS.with_columns(
        pl.col("grade").cast(pl.UInt8), pl.col("at").cast(pl.Datetime("ns"))
    ),
    "Arrow": ARROW,
    "Arrow in chunks": pa.concat_tables([ARROW.slice(0, 1), ARROW.slice(1, 2), ARROW.slice(3)]),
    "Arrow dictionaries": ARROW.set_column(1, "job", ARROW["job"].dictionary_encode()),
    "Arrow dictionaries in chunks": pa.concat_tables(
        [
            ARROW.slice(at, 2).set_column(1, "job", ARROW["job"].slice(at, 2).dictionary_encode())
            for at in (0, 2)
        ]
    ),
    "Arrow record batch": ARROW.to_batches()[0],
    "Arrow large strings": ARROW.set_column(1, "job", ARROW["job"].cast(pa.large_string())),
    "Arrow views": ARROW.set_column(1, "job", ARROW["job"].cast(pa.string_view())),
    "Arrow decimals": ARROW.set_column(
        0, "age", pa.array([Decimal("17.5"), None, Decimal(99), Decimal("33.25")])
    ),
    "an unknown stream": Stream(),
    "dict of mixed columns": {**COLUMNS, "age": pl.Series(COLUMNS["age"]), "job": pa.array(COLUMNS["job"])},
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("kind", TABLES)
def test_every_table_gives_the_same_bits(kind, strict):
    encoded = DOMAIN.encode(TABLES[kind], strict=strict)
    assert encoded.dtype == np.float64
    assert encoded.flags.c_contiguous
    assert encoded.tobytes() == EXPECTED.tobytes()


def test_one_record_is_one_row():
    record = dict(zip(DOMAIN.names, ROWS[0], strict=True))
    assert DOMAIN.encode(record).tobytes() == EXPECTED[:1].tobytes()
    assert DOMAIN.encode([record]).tobytes() == EXPECTED[:1].tobytes()


@pytest.mark.parametrize(
    "table", [PANDAS[:0], POLARS[:0], ARROW[:0], {name: [] for name in DOMAIN.names}, []]
)
def test_a_table_without_rows(table):
    assert DOMAIN.encode(table).shape == (0, len(DOMAIN.encoded_names))


def test_in_strict_mode_a_record_may_lack_a_field_or_have_another():
    np.testing.assert_array_equal(
        DOMAIN.encode([{"secret": 1, "age": 17.5}], strict=True), DOMAIN.encode([{"age": 17.5}], strict=True)
    )
    with pytest.raises(ValueError, match="a field that is not declared") as refused:
        DOMAIN.encode([{**dict.fromkeys(DOMAIN.names), "secret": 1}])
    assert "secret" not in str(refused.value)
