# SPDX-License-Identifier: BSD-3-Clause
"""Targets in every form, and errors that repeat no value."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skprivate.rounds._rows import is_structured, read_target, replace_target

EVENT = np.array([True, False, True])
TIMES = np.array([7.25, 1.5, 1234.5])


def structured(event=EVENT, times=TIMES, names=("event", "time")):
    event, times = np.asarray(event), np.asarray(times)
    y = np.empty(len(event), dtype=[(names[0], event.dtype), (names[1], times.dtype)])
    y[names[0]], y[names[1]] = event, times
    return y


FORMS = {
    "structured": structured(),
    "other names": structured(names=("status", "days")),
    "records": structured().view(np.recarray),
    "strided": np.repeat(structured(), 2)[::2],
    "float32 times": structured(times=TIMES.astype(np.float32)),
    "objects": structured(event=EVENT.astype(object)),
    "pandas": pd.DataFrame({"a": EVENT, "b": TIMES}, index=[9, 5, 7]),
    "pandas, nullable": pd.DataFrame({"a": pd.array(EVENT), "b": pd.array(TIMES)}),
    "polars": pl.DataFrame({"a": EVENT, "b": TIMES}),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("log_target", [True, False])
def test_every_form_of_events_and_times(form, log_target):
    assert is_structured(form)
    target = read_target(form, log_target)
    assert target.structured
    np.testing.assert_array_equal(target.time_on_model_scale, np.log(TIMES))
    np.testing.assert_array_equal(target.event, EVENT)
    assert target.event.dtype == np.uint8


@pytest.mark.parametrize(
    "y",
    [
        TIMES,
        list(TIMES),
        pd.Series(TIMES),
        pl.Series(TIMES),
        pd.DataFrame({"y": TIMES}),
        TIMES[:, None],
        None,
    ],
)
def test_numbers_have_no_fields(y):
    assert not is_structured(y)


def test_numbers_are_read_on_the_scale_of_the_model():
    for log_target, expected in ((True, np.log(TIMES)), (False, TIMES)):
        target = read_target(TIMES, log_target)
        np.testing.assert_array_equal(target.time_on_model_scale, expected)
        assert target.event is None
        assert not target.structured
    np.testing.assert_array_equal(read_target(-TIMES, False).time_on_model_scale, -TIMES)


@pytest.mark.parametrize("missing", [False, True])
def test_what_strict_mode_says_of_a_nullable_column_does_not_depend_on_a_cell(missing):
    whole, truth = (pd.array([one, pd.NA if missing else one]) for one in (1, True))
    assert (str(whole.dtype), str(truth.dtype)) == ("Int64", "boolean")
    with pytest.raises(TypeError, match=r"the event is not boolean\. Declare"):
        replace_target(pd.DataFrame({"event": whole, "time": [1.0, 2.0]}), (0.5, 4.0), log_target=True)
    times = pd.DataFrame({"event": [True, True], "time": truth})
    assert replace_target(times, (0.5, 4.0), log_target=True).time_on_model_scale[0] == 0.0
