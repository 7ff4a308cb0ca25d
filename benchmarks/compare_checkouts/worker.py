# SPDX-License-Identifier: BSD-3-Clause
"""Run the cases on the checkout of the working directory: ``compare_checkouts.worker OUT [FAMILY ...]``."""

import resource
import sys
from pathlib import Path

import skprivate

from . import accounts, games, models, parties, searches, surface
from .encode import normalise_fingerprints
from .names import public, public_estimators
from .record import Recorder

_FAMILIES = (
    *(surface.names, surface.commands, surface.errors, models.trees, models.regressions, models.accumulators),
    *(parties.platforms, parties.aggregators, parties.sealed_messages, parties.collection),
    *(games.games, searches.searches, searches.pipelines, searches.splits),
    *(accounts.noise, accounts.randomizers, accounts.bounds, accounts.ledgers, accounts.leakage),
    *(accounts.datasets, surface.examples),
)
# A wrapper, not fitted by itself: it is a step of the pipelines.
_ELSEWHERE = {"PublicEstimator"}


def main(out: Path) -> None:
    """Write what this checkout computes."""
    here = Path.cwd().resolve()
    if here not in Path(str(skprivate.__file__)).resolve().parents:
        raise SystemExit(f"skprivate comes from {skprivate.__file__}, not from {here}.")
    normalise_fingerprints(public("accounting", "PackageRecord").current())
    recorder = Recorder()
    chosen = sys.argv[2:]
    for family in _FAMILIES:
        if not chosen or family.__name__ in chosen:
            family(recorder)
    missing = sorted(set(public_estimators()) - set(recorder.cases) - _ELSEWHERE)
    missing = [] if chosen else missing
    recorder.cases["estimators without a case"] = {name: {} for name in missing}
    recorder.seconds["all"] = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    recorder.save(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
