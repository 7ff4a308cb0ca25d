# SPDX-License-Identifier: BSD-3-Clause
"""Private estimators with one bug each, and honest ones that are unusual: what the battery is measured by."""

from importlib import import_module

from .records import CONTROLS, PLANTS

__all__ = ["CONTROLS", "PLANTS"]

_KINDS = ("sensitivity", "noise", "distribution", "statement", "state", "channel")
for _module in (*_KINDS, "in_the_suite", "controls"):
    import_module(f".{_module}", __name__)  # what it defines is put on the lists

assert len({record.name for record in PLANTS + CONTROLS}) == len(PLANTS + CONTROLS)
