# SPDX-License-Identifier: BSD-3-Clause
"""Data files on disk, checked by their hashes, and the return values of the loaders."""

import hashlib
import os
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray
from sklearn.datasets import get_data_home
from sklearn.utils import Bunch

from .._typing import BoolArray, FloatArray

#: Folder of the data files; None: that of the environment variable, or of scikit-learn.
DataHome = str | os.PathLike[str] | None
#: Values of ``return_X_y`` and ``as_frame``, which determine the type of the result.
Yes = Literal[True]
No = Literal[False]


def find_data_file(
    folder: str, filename: str, sha256: str | tuple[str, ...], *, data_home: Any, source: str
) -> Path:
    """Return the path of a data file after checking its hash.

    Parameters
    ----------
    folder, filename : str
        Place below the data folder.
    sha256 : str or tuple of str
        Hash of the expected content, in hexadecimal digits; several if the file exists in several forms.
    data_home : path-like or None
        The data folder. None: the folder named by the environment variable SKPRIVATE_DATA, else
        ``skprivate`` in scikit-learn's data folder.
    source : str
        Source of the file, for a person.

    Returns
    -------
    path : Path

    Raises
    ------
    FileNotFoundError
        The file does not exist. The message has its place.
    ValueError
        The file has another content.
    """
    if data_home is None:
        data_home = os.environ.get("SKPRIVATE_DATA") or Path(get_data_home()) / "skprivate"
    path = Path(data_home).expanduser() / folder / filename
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is not there. Download {filename} from {source} and put it there, or name the folder "
            "that holds it with data_home or the environment variable SKPRIVATE_DATA."
        )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    known = (sha256,) if isinstance(sha256, str) else sha256
    if found not in known:
        raise ValueError(
            f"{path} is not the expected file: its SHA-256 is {found}, expected {' or '.join(known)}."
        )
    return path


def as_bunch(
    data: FloatArray,
    target: NDArray[Any],
    names: list[str],
    target_name: str,
    is_public: BoolArray | None = None,
    *,
    return_X_y: bool,
    as_frame: bool,
    **more: Any,
) -> Bunch | tuple[Any, ...]:
    """Return a Bunch, or with ``return_X_y`` a tuple; with ``as_frame``, data and target of pandas."""
    X: Any = data
    y: Any = target
    if as_frame:
        import pandas as pd

        X, y = pd.DataFrame(data, columns=names), pd.Series(target, name=target_name)
    mask = {} if is_public is None else {"is_public": is_public}
    if return_X_y:
        return X, y, *mask.values()
    return Bunch(data=X, target=y, **mask, feature_names=names, **more)
