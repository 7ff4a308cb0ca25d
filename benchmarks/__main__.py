# SPDX-License-Identifier: BSD-3-Clause
"""Run the benchmarks: ``python -m benchmarks [NAME ...]``; without a name, those of speed; all: every one."""

import argparse
import importlib

SPEED = (
    *("noise", "tree", "fit", "moments", "regression"),
    *("local_average", "swapping", "consent", "platform", "games", "peers"),
)
FIGURES = (
    "choices",
    *("rules", "accuracy", "tables", "mechanisms", "interaction"),
    *("lls", "adassp", "censored", "censored_intervals", "turbofan", "paper_lls"),
    *("collaborative", "perturbation", "warfarin"),
    *("games_figures", "private_search", "statements", "audit", "plants", "peers_audit", "ledger", "parsers"),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"all, or among {', '.join(SPEED + FIGURES)}"
    )
    names = parser.parse_args().names or SPEED
    names = SPEED + FIGURES if list(names) == ["all"] else names
    for name in names:
        if name not in SPEED + FIGURES:
            parser.error(f"there is no benchmark {name!r}")
    for name in names:
        print(f"\n== {name}", flush=True)
        importlib.import_module(f"benchmarks.bench_{name}").run()


if __name__ == "__main__":
    main()
