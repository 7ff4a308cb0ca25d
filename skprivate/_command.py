# SPDX-License-Identifier: BSD-3-Clause
"""The command ``skprivate``: it passes each sub-command to its own program, and imports only that."""

import argparse
from collections.abc import Sequence

from ._version import __version__

_DESCRIPTION = "Privacy-preserving machine learning with the scikit-learn API."
_COMMANDS = """commands:
  demo        accuracy and error against protection, on one screen and in a picture
  collection  collect reports for a locally private tree: clients answer, a curator adds up

See `skprivate demo --help` and `skprivate collection --help`. The same programs without this command:
python -m skprivate, python -m skprivate.collection
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one sub-command.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Command line; None takes that of the process.

    Returns
    -------
    code : int
        0, or 2 after an error of the sub-command.
    """
    options = _parser().parse_args(arguments)
    prog = f"skprivate {options.command}"
    if options.command == "demo":
        from .__main__ import main as demonstrate

        demonstrate(options.arguments, prog)
        return 0
    from .collection._commands import main as collect

    return collect(options.arguments, prog)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="skprivate",
        description=_DESCRIPTION,
        epilog=_COMMANDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"skprivate {__version__}")
    parser.add_argument("command", choices=["demo", "collection"], metavar="demo|collection")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="what the command takes")
    return parser
