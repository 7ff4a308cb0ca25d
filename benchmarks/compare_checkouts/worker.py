# SPDX-License-Identifier: BSD-3-Clause
"""Run the cases on the checkout of the working directory: ``compare_checkouts.worker OUT [FAMILY ...]``."""

import inspect
import resource
import sys
from pathlib import Path

import skprivate

from . import estimators, objects, surface
from .encode import normalise_fingerprints
from .names import public, public_objects
from .record import Recorder

_FAMILIES = (
    *(surface.names, surface.commands, surface.errors, surface.examples),
    *(estimators.instances, estimators.accumulators, estimators.searches, estimators.containers),
    *(objects.randomizers, objects.ledgers, objects.collection),
    *(objects.sealed_messages, objects.games),
)
# A wrapper, not fitted by itself: it is a step of the pipelines.
_ELSEWHERE = {"PublicEstimator"}


def main(out: Path, chosen: list[str]) -> None:
    """Write what this checkout computes."""
    here = Path.cwd().resolve()
    if here not in Path(str(skprivate.__file__)).resolve().parents:
        raise SystemExit(f"skprivate comes from {skprivate.__file__}, not from {here}.")
    normalise_fingerprints(public("PackageRecord").current())
    recorder = Recorder()
    for family in _FAMILIES:
        if not chosen or family.__name__ in chosen:
            family(recorder)
    missing = set() if chosen else _fitted() - set(recorder.cases) - _ELSEWHERE
    recorder.cases["estimators without a case"] = {name: {} for name in sorted(missing)}
    recorder.seconds["all"] = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    recorder.save(out)


def _fitted() -> set[str]:
    """Return the names of public classes that have a ``fit``."""
    kinds = ((name, kind) for name, kind in public_objects().items() if inspect.isclass(kind))
    return {name for name, kind in kinds if callable(getattr(kind, "fit", None))}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
