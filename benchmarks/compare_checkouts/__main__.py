# SPDX-License-Identifier: BSD-3-Clause
"""Compare what two checkouts compute: ``python -m benchmarks.compare_checkouts OLD NEW``."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from .compare import Comparison, read_substitutions

_TIME_LIMIT = 3600
_HERE = Path(__file__).parent


def main() -> int:
    """Run both workers side by side; return 0 if they agree."""
    options = _parser().parse_args()
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        shutil.copytree(_HERE, top / "compare_checkouts", ignore=shutil.ignore_patterns("__pycache__"))
        # Threads only wait: each worker is a process.
        with ThreadPoolExecutor(2) as pool:
            texts = list(pool.map(partial(_run_worker, options, top), ("old", "new")))
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
        for side, text in zip(("old", "new"), texts, strict=True):
            (options.keep / f"{side}.json").write_text(text)
    comparison = Comparison(*texts, read_substitutions(options.substitutions))
    print(comparison)
    return 0 if comparison.equal else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare_checkouts", description=__doc__)
    parser.add_argument("old", type=Path, metavar="OLD", help="a checkout with built extensions")
    parser.add_argument("new", type=Path, metavar="NEW", help="another one")
    parser.add_argument("--python", type=Path, help="for both (default: .venv/bin/python of each)")
    parser.add_argument("--substitutions", type=Path, help="lines 'old -> new', whole words; # for comments")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where to leave old.json and new.json")
    parser.add_argument("--families", nargs="*", default=[], help="functions of `worker` (default: all)")
    return parser


def _run_worker(options: argparse.Namespace, top: Path, side: str) -> str:
    checkout = getattr(options, side).resolve()
    # Not resolved: an environment's python is a link, and is known by its place.
    python = Path(options.python or checkout / ".venv/bin/python").absolute()
    out = top / f"{side}.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SKPRIVATE_")}
    environment |= {"PYTHONPATH": f"{checkout}{os.pathsep}{top}", "PYTHONHASHSEED": "0", "COLUMNS": "100"}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(python), "-m", "compare_checkouts.worker", str(out), *options.families]
    done = subprocess.run(command, cwd=checkout, env=environment, timeout=_TIME_LIMIT, check=False)
    if done.returncode:
        raise SystemExit(f"The worker of {checkout} ended with {done.returncode}.")
    return out.read_text()


if __name__ == "__main__":
    sys.exit(main())
