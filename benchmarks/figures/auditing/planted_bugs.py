# SPDX-License-Identifier: BSD-3-Clause
"""Share of planted privacy bugs that the audit battery finds, and what it reports of honest controls.

SKPRIVATE_PLANTS: names or kinds, separated by commas ("control" is a kind). SKPRIVATE_THOROUGH=1: thorough.
"""

import contextlib
import io
import os
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterable
from functools import partial
from unittest import mock

import numpy as np

from skprivate.audit import AuditCase, check_private_estimator

from ..._tables import Table
from ..._timing import timed
from ...planted import CONTROLS, PLANTS
from ...planted.records import Record

#: Check and records of a small run: one that it catches, one that it cannot, and a control.
FEW_CHECKS = ("check_sentinels",)
FEW = ("PickleBlobMean", "DistinctMean", "PublicSeedMean")


def run(*, small: bool = False) -> None:
    """Print a row for each plant and control, shares by kind, and what was missed or reported wrongly."""
    counts, totals, notes = Counter[str](), Counter[str](), list[str]()
    table = Table(("kind", "<12"), ("name", "<32"), ("caught by", "<45"), ("CPU s", ">6.1f"))
    for record in chosen(FEW if small else os.environ.get("SKPRIVATE_PLANTS", "").split(",")):
        found, seconds = measured(record, FEW_CHECKS if small else None)
        is_control = record.kind == "control"
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        nothing = "nothing" if is_control else "MISSED"
        table.row(record.kind, record.name, next(iter(found)) + more if found else nothing, seconds)
        totals[record.kind] += 1
        counts[record.kind] += bool(found)
        if is_control:
            notes += [f"{record.name}, {check}: {' '.join(why.split())}" for check, why in found.items()]
        elif not found:
            notes.append(f"{record.name}: {record.what}. " + (record.why_hard or record.leak))
    print("\nkind: caught of planted, reported of controls")
    for kind, total in totals.items():
        print(f"  {kind}: {counts[kind]} of {total}")
    if notes:
        print("\nmissed plants and reported controls", *notes, sep="\n  ")


def chosen(names: Iterable[str]) -> list[Record]:
    """Return the records to run, in the order of the modules."""
    wanted = {name.strip() for name in names} - {""}
    records = PLANTS + CONTROLS
    unknown = wanted - {known for record in records for known in (record.name, record.kind)}
    if unknown:
        raise ValueError(f"SKPRIVATE_PLANTS: there is no {', '.join(sorted(unknown))}.")
    return [record for record in records if not wanted or {record.name, record.kind} & wanted]


def case_of(record: Record) -> AuditCase:
    """Return what the battery is given: nothing but the estimator and rows."""
    X, y = record.make_data(np.random.default_rng(0))
    data = {"X": X, "y": y}
    if "groups" in record.needs:
        data["groups"] = np.random.default_rng(1).permutation(len(X)) // 3 % 20
    return AuditCase.of(record.factory(), data)


def findings(record: Record, only: tuple[str, ...] | None) -> dict[str, str]:
    """Return the checks that fail and why: of a plant the first one, of a control all."""
    thorough = os.environ.get("SKPRIVATE_THOROUGH", "0") == "1"
    first_only = record.kind != "control"
    try:
        results = check_private_estimator(
            case_of(record), only=only, thorough=thorough, on_fail="raise" if first_only else None
        )
    except AssertionError as error:
        check, _, reason = str(error).partition(": ")
        return {check: reason}
    return {one["check_name"]: one["reason"] for one in results if one["status"] == "failed"}


def measured(record: Record, only: tuple[str, ...] | None) -> tuple[dict[str, str], float]:
    """Return the findings and the processor seconds; what a plant writes and warns of is dropped."""
    # A file of an earlier run would hide what is written, and settings of one plant would reach the next.
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(tempfile, "tempdir", folder),
        mock.patch.dict(os.environ),
        warnings.catch_warnings(),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        took, found = timed(partial(findings, record, only), time.process_time)
        return found, took
