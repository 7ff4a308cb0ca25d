# SPDX-License-Identifier: BSD-3-Clause
"""Lifetimes of turbofan engines from their first cycles; the test engines' inputs are public."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._typing import FloatArray
from ..utils import check_int
from ._files import DataHome, No, Yes, find_data_file

if TYPE_CHECKING:
    import pandas as pd

# The published files: their hashes, and their source.
_SHA256 = {
    "train_FD001.txt": "963b5e22825b34d8b21c69e1aeb4af3e647050eb672ee8834ba4b5d91d2de0f8",
    "test_FD001.txt": "3cda7109ce17bafb5443f2ac926cfcf88154b941b8c4cf95eb55d1ddd6f52851",
    "RUL_FD001.txt": "a19c8ec94931949d0485bdc35118206e9c81c4547b422efb9cf86f4ceddbceca",
}
_SOURCE = "NASA's Prognostics Data Repository, CMAPSSData.zip (public domain)"
# Columns of the files: engine, cycle, three settings, then sensors 1 to 21.
_BEFORE_SENSORS = 4
_N_SENSORS = 21
# An assumption about engines of this kind, made without the data.
_LONGEST = 400.0
# Bounds of the scores, in standard deviations of the test engines.
_DEVIATIONS = 3.0

_DESCRIPTION = """Turbofan engine degradation, C-MAPSS FD001, NASA Prognostics Data Repository, public domain.

Saxena, A. and Goebel, K. (2008). 100 simulated engines run to failure, 100 test engines stopped before it.
The case study of the DP-LLS paper: engines with at least {n_cycles} cycles, their first {n_cycles} cycles of
sensors {sensors}, principal components of these, and the lifetime in cycles: {n_train} engines to train on,
{n_test} to test.

Public are the INPUTS of the {n_test} test engines, and nothing else: they centre and scale the sensors, give
the principal components and the bounds of the scores ({deviations:g} standard deviations). Bounds of the
lifetimes are {n_cycles}, by choice of the engines, and {longest:g} cycles. The lifetimes of all engines and
the inputs of the training engines are private; nothing here is computed from them.
"""


class _Engines(TypedDict, total=False):
    data_home: DataHome
    n_components: int
    n_cycles: int
    sensors: Sequence[int]


@overload
def fetch_turbofan(*, return_X_y: No = False, as_frame: bool = False, **more: Unpack[_Engines]) -> Bunch: ...


@overload
def fetch_turbofan(
    *, return_X_y: Yes, as_frame: No = False, **more: Unpack[_Engines]
) -> tuple[FloatArray, FloatArray]: ...


@overload
def fetch_turbofan(
    *, return_X_y: Yes, as_frame: Yes, **more: Unpack[_Engines]
) -> tuple["pd.DataFrame", "pd.Series"]: ...


@overload
def fetch_turbofan(
    *, return_X_y: bool = False, as_frame: bool = False, **more: Unpack[_Engines]
) -> Bunch | tuple[Any, ...]: ...


def fetch_turbofan(
    *,
    data_home: DataHome = None,
    n_components: int = 3,
    n_cycles: int = 150,
    sensors: Sequence[int] = (4, 17, 20),
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Bunch | tuple[Any, ...]:
    """Load the case study of the DP-LLS paper: lifetimes of turbofan engines from their first cycles.

    The loader downloads nothing. It reads ``train_FD001.txt``, ``test_FD001.txt`` and ``RUL_FD001.txt`` in
    ``turbofan/`` in the data folder and checks their hashes.

    Parameters
    ----------
    data_home : path-like, default=None
        The data folder. None: the folder named by the environment variable SKPRIVATE_DATA, else ``skprivate``
        in scikit-learn's data folder.
    n_components : int, default=3
        Number of principal components: below the number of test engines, at most that of measurements.
    n_cycles : int, default=150
        Cycles of an engine that are used; engines with fewer are left out.
    sensors : sequence of int, default=(4, 17, 20)
        Sensors that are used, among 1 to 21.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return data and targets as pandas objects.

    Returns
    -------
    bunch : Bunch
        - ``data`` (94, n_components): the scores of the training engines;
        - ``target`` (94,): their lifetimes in cycles;
        - ``test_data`` (37, n_components) and ``test_target`` (37,): the same for the test engines;
        - ``bounds_X``, a pair of arrays of shape (n_components,), and ``bounds_y``, a pair of floats, both
          from public knowledge;
        - ``feature_names``, ``DESCR``.

    Raises
    ------
    FileNotFoundError
        A file does not exist. The message has its source and its place.
    ValueError
        A file has another content than the published one, or a parameter is out of range.

    Notes
    -----
    **Privacy.** Centre, scale, components and bounds are functions of the test engines' inputs, which are
    declared public. A principal component analysis of the training engines would use them without spending
    budget.

    References
    ----------
    Sheng, Fang, Differentially private log-location-scale regression using functional mechanism, 2024.

    Examples
    --------
    >>> from skprivate.datasets import fetch_turbofan
    >>> data = fetch_turbofan()  # doctest: +SKIP
    >>> data.data.shape, data.test_data.shape, data.bounds_y  # doctest: +SKIP
    ((94, 3), (37, 3), (150.0, 400.0))
    """
    chosen = [check_int(sensor, "each of sensors", least=1) for sensor in sensors]
    if not chosen or max(chosen) > _N_SENSORS or len(set(chosen)) < len(chosen):
        raise ValueError(f"sensors must be different numbers among 1 to {_N_SENSORS}, at least one.")
    n_cycles = check_int(n_cycles, "n_cycles", least=1)
    n_components = check_int(n_components, "n_components", least=1)
    train, test, remaining = (_read(name, data_home) for name in _SHA256)
    engines, lifetimes, _ = _first_cycles(train, chosen, n_cycles)
    public, last_cycles, numbers = _first_cycles(test, chosen, n_cycles)
    if n_components > min(len(public) - 1, n_cycles * len(chosen)):
        raise ValueError(
            f"n_components must be below the number of test engines with {n_cycles} cycles, {len(public)}, "
            f"and at most that of the measurements, {n_cycles * len(chosen)}."
        )
    data, test_data = _scores(engines, public, n_components)
    names = [f"PC{i + 1}" for i in range(n_components)]
    parts = {"data": data, "target": lifetimes, "test_data": test_data}
    parts["test_target"] = last_cycles + remaining[numbers - 1, 0]
    if as_frame:
        import pandas as pd

        frames: dict[str, Any] = {
            key: pd.DataFrame(parts[key], columns=names) for key in ("data", "test_data")
        }
        parts = frames | {key: pd.Series(parts[key], name="lifetime") for key in ("target", "test_target")}
    if return_X_y:
        return parts["data"], parts["target"]
    reach = _DEVIATIONS * test_data.std(axis=0)
    return Bunch(
        **parts,
        bounds_X=(-reach, reach),
        bounds_y=(float(n_cycles), _LONGEST),
        feature_names=names,
        DESCR=_DESCRIPTION.format(
            n_cycles=n_cycles,
            sensors=", ".join(map(str, chosen)),
            n_train=len(data),
            n_test=len(test_data),
            deviations=_DEVIATIONS,
            longest=_LONGEST,
        ),
    )


def _read(name: str, data_home: Any) -> FloatArray:
    path = find_data_file("turbofan", name, _SHA256[name], data_home=data_home, source=_SOURCE)
    return np.loadtxt(path, ndmin=2)


def _first_cycles(
    table: FloatArray, sensors: list[int], n_cycles: int
) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Return the first cycles of every engine that has so many, its last cycle, and its number."""
    numbers, starts, lengths = np.unique(table[:, 0].astype(np.intp), return_index=True, return_counts=True)
    long_enough = lengths >= n_cycles
    rows = starts[long_enough, None] + np.arange(n_cycles)
    columns = [_BEFORE_SENSORS + sensor for sensor in sensors]
    return table[rows][..., columns], lengths[long_enough].astype(np.float64), numbers[long_enough]


def _scores(engines: FloatArray, public: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """Return the scores of private and public engines on the principal components of the public ones."""
    centre, spread = public.mean(axis=(0, 1)), public.std(axis=(0, 1))
    spread[spread == 0] = 1.0
    private_rows, public_rows = (((x - centre) / spread).reshape(len(x), -1) for x in (engines, public))
    mean = public_rows.mean(axis=0)
    components = np.linalg.svd(public_rows - mean, full_matrices=False)[2][:n_components]
    # A component and its opposite are equally good. The one with a positive largest loading is used.
    largest = np.abs(components).argmax(axis=1)
    components = components * np.sign(components[np.arange(n_components), largest])[:, None]
    return (private_rows - mean) @ components.T, (public_rows - mean) @ components.T
