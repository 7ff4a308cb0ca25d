# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the columns that a specification asks for: their cells, their declaration, their names."""

from typing import Any

from ...domain import TableDomain
from ...partition import ColumnBins, Partition, TableCells
from ...randomizers import ColumnRandomizer, LocalRandomizer
from ...utils import check_characters


def kind_of(cells: Any) -> Any:
    """Return the class of cells, by a field that it alone has."""
    if isinstance(cells, dict) and "groups" in cells:
        return TableCells
    return ColumnBins if isinstance(cells, dict) and "n_bins" in cells else Partition


def check_columns(partition: Partition | ColumnBins | TableCells, randomizer: LocalRandomizer) -> None:
    """Refuse cells and a randomizer of which one is about columns, or of different numbers of these."""
    if isinstance(partition, Partition) == isinstance(randomizer, ColumnRandomizer):
        raise ValueError("cells of columns and a randomizer of columns belong together")
    if isinstance(partition, Partition) or not isinstance(randomizer, ColumnRandomizer):
        return
    if randomizer.n_columns != partition.n_columns:
        raise ValueError(
            f"the randomizer is for {randomizer.n_columns} columns, but there are {partition.n_columns}"
        )


def check_domain(domain: Any, partition: Partition | ColumnBins | TableCells, features: Any) -> None:
    """Refuse declared columns that are not those of the cells."""
    n_features = partition.n_features
    derived = partition.derived if isinstance(partition, Partition) else None
    if domain is None:
        if derived is not None or isinstance(partition, TableCells):
            raise ValueError("the cells are those of a domain's columns, and there is none")
        return
    if not isinstance(domain, TableDomain):
        raise TypeError("domain must be a TableDomain")
    if isinstance(partition, TableCells) and partition.groups != domain.groups:
        raise ValueError("the cells are not those of the domain's columns")
    if len(domain.encoded_names) != n_features:
        raise ValueError(
            f"the partition has {n_features} columns, but the domain encodes {len(domain.encoded_names)}"
        )
    if features is not None and tuple(features) != domain.names:
        raise ValueError("features must be the columns of the domain, in their order")
    if derived is not None:
        derived.check_groups(domain.groups)


def check_names(features: Any, label: Any, n_features: int) -> tuple[str, ...]:
    """Return the names of the columns; refuse what are no different names."""
    names = tuple(features)
    if not all(isinstance(name, str) and name for name in (*names, label)):
        raise ValueError("features and label must be names, texts that are not empty")
    if len(names) != n_features:
        raise ValueError(f"there are {n_features} columns, but features has {len(names)} names")
    if len({*names, label}) != n_features + 1:
        raise ValueError("features and label must be different names")
    for name in (*names, label):
        check_characters(name, "a name of features and label")
    # np.str_ is a str, but not for ever: names end in JSON and in messages.
    return tuple(str(name) for name in names)
