# SPDX-License-Identifier: BSD-3-Clause
"""The command line of clients and curators: ``python -m skprivate.collection``.

A client's commands import neither scikit-learn nor SciPy. A curator's imports wait until they are needed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import math
import re
import secrets
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..domain import TableDomain
from ..noise import check_entropy
from ..utils._files import OWNER_ONLY, create_atomically, write_atomically
from ..utils._json_documents import parse_json
from ._csv_tables import CsvTable, guess_labels
from ._report_files import ReportWriter
from ._specification import TreeSpecification, check_protection

if TYPE_CHECKING:
    from ._curator import TreeCurator
    from ._curator_state import LocalTree

_PICKLE = b"\x80"  # the first byte of every pickle, and of no other file here
_EXAMPLE = """example:
  {prog} curator plan study.state study.json --public public.csv --label sick \\
      --epsilon 1 --clients 100000
  {prog} client study.json rows.csv monday.bin
  {prog} curator add study.state monday.bin tuesday.bin
  {prog} curator release study.state tree.joblib
"""
# Seconds between lines of progress: on a terminal, and in a log.
_INTERVALS = {True: 0.5, False: 60.0}


def main(arguments: Sequence[str] | None = None, prog: str = "python -m skprivate.collection") -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Command line; None: that of the process.
    prog : str, default="python -m skprivate.collection"
        Name of the program in help and errors.

    Returns
    -------
    code : int
        0, or 2 after an error, which is printed on one line of the error stream.
    """
    options = _parser(prog).parse_args(arguments)
    try:
        options.run(options)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (TypeError, ValueError) as error:
        return _fail(str(error))
    return 0


def _fail(message: str) -> int:
    print("error:", " ".join(message.split()), file=sys.stderr)
    return 2


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(_fail(f"{message} (see {self.prog} --help)"))


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=prog,
        description="Collect reports for a locally private tree: clients answer a published specification, "
        "and a curator adds up the reports. Strict mode is on: bounds and classes are public or declared.",
        epilog=_EXAMPLE.format(prog=prog),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="client|curator|tokens")
    client = commands.add_parser("client", help="answer a specification for every row of a table")
    client.description = (
        "Answer SPEC for every row of ROWS, one for each person, and write the reports to a new file. "
        "REPORTS is never overwritten: a person answers once. Do not send rows again under another name."
    )
    client.add_argument("specification", metavar="SPEC.json", type=Path)
    client.add_argument("rows", metavar="ROWS.csv", type=Path, help="with a header; exactly SPEC's columns")
    client.add_argument("reports", metavar="REPORTS.bin", type=Path, help="a new file")
    client.add_argument(
        "--protect",
        default="record",
        help='"label": answer even if SPEC protects the label alone, not the features (default: record)',
    )
    client.set_defaults(run=_run_client)
    tokens = commands.add_parser("tokens", help="make tokens, each of which sends one report to a service")
    tokens.description = (
        "Write COUNT random tokens to TOKENS, one on each line: give one to each person. Write their "
        "SHA-256, sorted, to ACCEPTED: a service needs nothing else about them."
    )
    tokens.add_argument("count", metavar="COUNT", type=int)
    tokens.add_argument("tokens", metavar="TOKENS.txt", type=Path, help="a new file")
    tokens.add_argument("accepted", metavar="ACCEPTED.txt", type=Path, help="a new file")
    tokens.set_defaults(run=_run_tokens)
    curator = commands.add_parser("curator", help="plan a collection, add reports, merge, release the tree")
    _add_curator(curator.add_subparsers(required=True, metavar="plan|add|merge|release|show"))
    return parser


def _add_curator(commands: Any) -> None:
    plan = commands.add_parser("plan", help="make a specification from public data")
    plan.add_argument("state", metavar="STATE", type=Path, help="the curator's new file")
    plan.add_argument("specification", metavar="SPEC.json", type=Path, help="a new file, to be published")
    _add_plan_options(plan)
    plan.set_defaults(run=_run_plan)
    add = commands.add_parser("add", help="count files of reports; each batch counts once")
    add.add_argument("state", metavar="STATE", type=Path, help="saved regularly; run again if killed")
    add.add_argument("reports", metavar="REPORTS.bin", type=Path, nargs="+")
    add.set_defaults(run=_run_add)
    merge = commands.add_parser("merge", help="add the counts of other curators of the same specification")
    merge.add_argument("state", metavar="STATE", type=Path)
    merge.add_argument("others", metavar="OTHER", type=Path, nargs="+", help="not changed")
    merge.set_defaults(run=_run_merge)
    release = commands.add_parser("release", help="write the fitted tree, and print what was spent")
    release.add_argument("state", metavar="STATE", type=Path, help="not changed; more may be added")
    release.add_argument("model", metavar="MODEL.joblib", type=Path)
    release.set_defaults(run=_run_release)
    show = commands.add_parser("show", help="print what a state holds")
    show.add_argument("state", metavar="STATE", type=Path)
    show.set_defaults(run=_run_show)


def _add_plan_options(plan: argparse.ArgumentParser) -> None:
    plan.add_argument(
        "--epsilon", required=True, type=_amount, help="privacy loss of a report, an exact number"
    )
    plan.add_argument("--clients", required=True, type=int, help="expected number of reports")
    plan.add_argument("--public", type=Path, metavar="PUBLIC.csv", help="public rows, with a header")
    plan.add_argument("--label", default="label", help="name of the target's column (default: label)")
    target = plan.add_argument("--target", choices=("labels", "numbers"), default="labels")
    kinds = "labels, for a classification tree (default), or numbers, for a regression tree"
    target.help = f"content of that column: {kinds}"
    read_from_rows = {
        "--bounds-y": "[0, 100]: bounds of numbers",
        "--bounds": '{"age": [0, 120], ...}',
        "--classes": '["no", "yes"]',
    }
    for name, example in read_from_rows.items():
        plan.add_argument(name, type=_json, metavar="JSON", help=f"{example}; default: as in public rows")
    declared = "declared columns, a file of TableDomain.to_json; instead of --bounds"
    plan.add_argument("--domain", type=Path, metavar="DOMAIN.json", help=declared)
    tree = plan.add_argument_group(
        "the tree, as in LocallyPrivateTreeClassifier or LocallyPrivateTreeRegressor"
    )
    tree.add_argument("--mechanism")
    tree.add_argument("--rule")
    tree.add_argument("--criterion", help="for labels only")
    tree.add_argument("--protect")
    tree.add_argument("--max-depth", type=_number_or_auto(int))
    tree.add_argument("--public-weight", type=_number_or_auto(float))
    tree.add_argument("--min-samples-leaf", type=int)
    tree.add_argument("--partition-seed", type=int)
    tree.add_argument("--prune", action="store_const", const=True, help="for labels only")


# Names of options, and of their parameters if these differ. Without an option a parameter has its default.
_SHARED_OPTIONS = (
    *("epsilon", "mechanism", "rule", "protect", "max_depth", "public_weight"),
    *("min_samples_leaf", "partition_seed", "domain"),
)
_LABEL_OPTIONS = {"bounds": "bounds", "classes": "classes", "criterion": "criterion", "prune": "prune"}
_NUMBER_OPTIONS = {"bounds": "bounds_X", "bounds_y": "bounds_y"}


def _amount(text: str) -> Fraction:
    # Not converted to a float: 0.1 is 1/10 here. Fraction would need very long for 1e999999999.
    with contextlib.suppress(ValueError, ZeroDivisionError):
        if re.fullmatch("[0-9]{1,20}/[0-9]{1,20}", text) or math.isfinite(float(text)):
            return Fraction(text)
    raise argparse.ArgumentTypeError(f"not a number such as 2, 0.1 or 1/3: {text!r}")


def _json(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"cannot be used: {error}") from None


def _number_or_auto(kind: type) -> Any:
    def number(text: str) -> Any:
        return text if text == "auto" else kind(text)

    return number


def _run_client(options: argparse.Namespace) -> None:
    specification = TreeSpecification.from_json(options.specification)
    check_protection(specification, options.protect)
    progress = _Progress("rows")
    wanted = (*specification.features, specification.label)
    with CsvTable(options.rows) as table, ReportWriter(options.reports, specification) as writer, progress:
        table.check_columns(wanted)
        for chunk in table.chunks():
            target = table.target(chunk, specification)
            domain = specification.domain
            numbers = (
                table.numbers(chunk, specification.features)
                if domain is None
                else table.encoded(chunk, domain)
            )
            cells = specification.partition.apply(numbers).astype(np.int64)
            writer.write(specification._draw_reports(cells, target, check_entropy(None)))
            progress(writer.n_reports)
    print(f"{writer.n_reports} reports in {options.reports}")


def _run_tokens(options: argparse.Namespace) -> None:
    made = [secrets.token_urlsafe(16) for _ in range(options.count)]
    hashes = sorted(hashlib.sha256(token.encode()).hexdigest() for token in made)
    if not made:
        raise ValueError("COUNT must be 1 or more")
    # Whoever can read the tokens can answer in place of others.
    keep = create_atomically(options.tokens, mode=OWNER_ONLY)
    with keep as tokens, create_atomically(options.accepted) as accepted:
        for file, lines in ((tokens, made), (accepted, hashes)):
            file.write("".join(f"{line}\n" for line in lines).encode("ascii"))
    print(f"{len(made)} tokens in {options.tokens}")


def _run_plan(options: argparse.Namespace) -> None:
    from ._curator import TreeCurator

    tree = _make_tree(options)
    X, y, features = None, None, None
    if options.public is not None:
        X, y, features = _read_public(options, tree.domain)
    curator = TreeCurator(tree, X, y, n_clients=options.clients, features=features, label=options.label)
    text = curator.specification.to_json()
    with create_atomically(options.state) as state, create_atomically(options.specification) as specification:
        state.write(curator.to_bytes())
        specification.write(text.encode("ascii"))
    print(curator.specification)


def _make_tree(options: argparse.Namespace) -> LocalTree:
    from ..tree import LocallyPrivateTreeClassifier, LocallyPrivateTreeRegressor

    numbers = options.target == "numbers"
    own, other = (_NUMBER_OPTIONS, _LABEL_OPTIONS) if numbers else (_LABEL_OPTIONS, _NUMBER_OPTIONS)
    for name in other.keys() - own.keys():
        if getattr(options, name) is not None:
            raise ValueError(f"--{name.replace('_', '-')} does not go with --target {options.target}")
    options.domain = None if options.domain is None else TableDomain.from_json(options.domain)
    names = {**{name: name for name in _SHARED_OPTIONS}, **own}
    given = {names[name]: getattr(options, name) for name in names if getattr(options, name) is not None}
    return LocallyPrivateTreeRegressor(**given) if numbers else LocallyPrivateTreeClassifier(**given)


def _read_public(options: argparse.Namespace, domain: TableDomain | None) -> tuple[Any, Any, list[str]]:
    label, classes = options.label, options.classes
    with CsvTable(options.public) as table:
        features = [name for name in table.header if name != label] if domain is None else list(domain.names)
        table.check_columns([*features, label])
        numbers, cells = [np.empty((0, len(features)))], []
        raw: dict[str, list[str]] = {name: [] for name in features}
        for chunk in table.chunks():
            if domain is None:
                numbers.append(table.numbers(chunk, features, remedy=True))
            else:
                # Raises an error with the line of a cell that cannot be read.
                table.encoded(chunk, domain)
                for name, column in raw.items():
                    column += chunk.columns[table.header.index(name)]
            if options.target == "numbers":
                cells += table.numbers(chunk, [label])[:, 0].tolist()
            elif isinstance(classes, list) and classes:
                cells += [classes[position] for position in table.labels(chunk, label, classes)]
            else:
                cells += chunk.columns[table.header.index(label)]
    X = np.concatenate(numbers) if domain is None else raw
    return X, cells if classes or options.target == "numbers" else guess_labels(cells), features


def _run_add(options: argparse.Namespace) -> None:
    with _open_curator(options.state) as curator:
        for path in options.reports:
            before = curator.n_reports
            with _Progress("reports") as progress:
                new = curator.update_file(path, progress, checkpoint=options.state)
            added = curator.n_reports - before
            print(f"{path}: {added} reports added" if new else f"{path}: already counted, not added again")
    print(f"{curator.n_reports} reports in {options.state}")


def _run_merge(options: argparse.Namespace) -> None:
    with _open_curator(options.state) as curator:
        for path in options.others:
            try:
                curator.merge(_load(path))
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from error
        curator.save(options.state)
    print(f"{curator.n_reports} reports in {options.state}")


def _run_release(options: argparse.Namespace) -> None:
    import joblib

    curator, model = _load(options.state), options.model
    # Only an earlier model is replaced, but not a state, a specification or reports.
    if model.exists() and not (model.is_file() and model.read_bytes()[:1] == _PICKLE):
        raise ValueError(f"{model} exists and is not a model: it is not replaced. Choose another path.")
    tree = curator.release()
    buffer = io.BytesIO()
    joblib.dump(tree, buffer)
    write_atomically(model, buffer.getvalue())
    print(tree.privacy_spent_)


def _run_show(options: argparse.Namespace) -> None:
    curator = _load(options.state)
    specification, history = curator.specification, curator.history
    unfinished = sum(counted < total for counted, total in history.values())
    print(specification)
    print(f"hash: {specification.hash}")
    print(f"columns: {', '.join(specification.features)}; label: {specification.label}")
    if specification.classes is None:
        print(f"target: {specification._target.describe()}")
    else:
        print(f"classes: {', '.join(map(str, specification.classes))}")
    print(f"{curator.n_reports} reports in {len(history)} batches, {unfinished} of them unfinished")


def _open_curator(path: Path) -> TreeCurator:
    """Load a curator and lock its file; to be used in a ``with`` block."""
    from ._curator import TreeCurator

    return TreeCurator.from_file(path)


def _load(path: Path) -> TreeCurator:
    from ._curator import TreeCurator

    try:
        return TreeCurator.from_bytes(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


class _Progress:
    """A counter on the error stream, for terminals and for work of minutes; use it in a ``with`` block."""

    def __init__(self, unit: str) -> None:
        self._unit, self._terminal = unit, sys.stderr.isatty()
        self._start = self._shown = time.monotonic()

    def __call__(self, done: int, total: int | None = None) -> None:
        now = time.monotonic()
        if now - self._shown < _INTERVALS[self._terminal]:
            return
        self._shown = now
        text = f"{done} {self._unit}" if total is None else f"{done} of {total} {self._unit}"
        line = f"  {text}, {now - self._start:.0f} s"
        print(f"\r{line}" if self._terminal else line, end="" if self._terminal else "\n", file=sys.stderr)
        sys.stderr.flush()

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._terminal and self._shown > self._start:
            print("\r" + " " * 50 + "\r", end="", file=sys.stderr, flush=True)
