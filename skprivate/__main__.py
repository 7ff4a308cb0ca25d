# SPDX-License-Identifier: BSD-3-Clause
"""Demonstration, in strict mode: accuracy and error against protection, what was spent, and a picture.

Run ``python -m skprivate [--full] [PICTURE.png]``.
"""

import argparse
import os
from pathlib import Path

from ._demo import demonstration


def main(arguments: list[str] | None = None, prog: str = "python -m skprivate") -> None:
    """Run the demonstration.

    Parameters
    ----------
    arguments : list of str, default=None
        Command line; None takes that of the process.
    prog : str, default="python -m skprivate"
        What the user typed, for help and errors.
    """
    parser = argparse.ArgumentParser(prog=prog, description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "picture", nargs="?", default="skprivate_demo.png", type=Path, help="where to save it, a .png file"
    )
    parser.add_argument("--full", action="store_true", help="print the long tables too, in about 20 seconds")
    options = parser.parse_args(arguments)
    picture: Path = options.picture
    if picture.suffix != ".png" or not picture.parent.is_dir() or not os.access(picture.parent, os.W_OK):
        parser.error(f"{picture} must be a .png file in a folder that exists and can be written")
    demonstration.run(picture, options.full)


if __name__ == "__main__":
    main()
