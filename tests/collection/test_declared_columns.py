# SPDX-License-Identifier: BSD-3-Clause
"""Specifications with declared columns: their documents, clients that take raw records, and raw tables."""

import copy
import json
import pickle
import subprocess
import sys
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import skprivate
from skprivate import LocallyPrivateTreeClassifier
from skprivate.collection import TreeClient, TreeCurator, TreeSpecification
from skprivate.collection._commands import main
from skprivate.domain import TableDomain
from skprivate.exceptions import PrivacyLeakError
from skprivate.partition import build_partition
from skprivate.randomizers import KRRRandomizer
from skprivate.utils._json_documents import digest, seal_document

RECORDS = [
    {"since": "2020-06-01", "age": 80, "job": "smith"},
    {"since": date(2001, 5, 17), "age": "21", "job": " clerk"},
    {"since": None, "age": 33.5, "job": "?"},
]
ANSWERS = ["yes", "no", "yes"]


def make_domain(**columns):
    declared = {"age": (17, 90), "job": ["clerk", "smith"], "since": ("2001-01-01", "2020-12-31")}
    return TableDomain(declared | columns, missing_values=["?"])


def make_specification(domain=None, epsilon=60.0, **kwargs):
    """Reports of so large an epsilon are the categories themselves, but for one in e^50."""
    domain = make_domain() if domain is None else domain
    lower, upper = domain.bounds
    n_columns = len(lower)
    partition = build_partition(
        np.zeros((0, n_columns)), [], lower=lower, upper=upper, max_depth=n_columns, groups=domain.groups
    )
    kwargs = {"label": "sick", "domain": domain} | kwargs
    return TreeSpecification(partition, KRRRandomizer(epsilon, partition.n_leaves), ["no", "yes"], **kwargs)


def expected(specification, records=RECORDS, answers=ANSWERS):
    cells = specification.partition.apply(specification.domain.encode(records, strict=True))
    return 2 * cells + (np.array(answers) == "yes")


def test_the_rows_lie_in_different_cells():
    assert len(set(expected(make_specification()).tolist())) == 3


def test_json_restores_the_domain():
    specification = make_specification()
    assert specification.features == ("age", "job", "since")
    again = TreeSpecification.from_json(specification.to_json())
    assert again.domain == specification.domain
    assert again.to_json() == specification.to_json()
    assert again == specification
    assert again != make_specification(make_domain(job=["smith", "clerk"]))
    assert pickle.loads(pickle.dumps(specification)) == copy.deepcopy(specification) == specification


def resealed(state):
    return state | {"hash": digest({name: value for name, value in state.items() if name != "hash"})}


def test_derived_columns_and_domains_belong_together():
    specification = make_specification()
    with pytest.raises(ValueError, match="there is none"):
        TreeSpecification(specification.partition, specification.randomizer, ["no", "yes"])
    for other in (
        {"age": (17, 90), "job": ["clerk", "smith", "none"], "since": (0, 1)},
        {"age": (17, 90), "size": (0, 1), "job": ["clerk", "smith", "none"]},
        {"age": (17, 90), "job": ["clerk", "smith"], "married": bool},
    ):
        domain = TableDomain(other, missing_values=["?"] * ("married" in other))
        with pytest.raises(ValueError, match=r"derived columns|the domain encodes"):
            TreeSpecification(specification.partition, specification.randomizer, ["no", "yes"], domain=domain)


@pytest.mark.parametrize("foreign", [None, 7, "age", [], {}, {"age": [0, 1]}, {"format": "skprivate.domain"}])
def test_a_hostile_domain_is_a_value_error(foreign):
    state = json.loads(make_specification().to_json())
    with pytest.raises(ValueError, match="no specification"):
        TreeSpecification.from_json(json.dumps(resealed(state | {"domain": foreign})))


def test_fields_of_the_domain_are_checked_one_by_one():
    state = json.loads(make_specification().to_json())

    def change(value, path):
        if isinstance(value, dict):
            places = list(value)
        elif isinstance(value, list):
            places = range(len(value))
        else:
            return
        for place in places:
            for foreign in (None, [], {}, "\ud800", 1e308, -7, True, "2001-13-01"):
                whole = copy.deepcopy(state)
                inner = whole["domain"]
                for step in path:
                    inner = inner[step]
                if inner[place] != foreign:
                    inner[place] = foreign
                    yield whole
            yield from change(value[place], [*path, place])

    n_read = 0
    for whole in change(state["domain"], []):
        try:
            made = TreeSpecification.from_dict(resealed(whole))
        except ValueError:
            continue
        n_read += 1
        assert made.to_dict() == resealed(whole)
    assert n_read < 40


@pytest.mark.parametrize("change", [{"domain": None}, {"features": ["age"]}])
def test_columns_and_domains_belong_together(change):
    state = json.loads(make_specification().to_json())
    with pytest.raises(ValueError, match=r"there is none|features"):
        TreeSpecification.from_dict(resealed(state | change))


def test_bad_arguments():
    specification = make_specification()
    with pytest.raises(TypeError, match="domain must be a TableDomain"):
        TreeSpecification(specification.partition, specification.randomizer, [0, 1], domain={"age": (0, 1)})
    with pytest.raises(ValueError, match="5 columns, but the domain encodes 1"):
        TreeSpecification(
            specification.partition, specification.randomizer, [0, 1], domain=TableDomain({"age": (0, 1)})
        )
    with pytest.raises(ValueError, match="features must be the columns of the domain"):
        make_specification(features=["job", "age", "since"])
    with pytest.raises(ValueError, match="different names"):
        make_specification(label="age")


@pytest.mark.parametrize(
    "form", [dict, pd.Series, lambda record: [record[name] for name in make_domain().names]]
)
def test_a_client_takes_a_raw_record(form):
    specification = make_specification()
    for record, answer, category in zip(RECORDS, ANSWERS, expected(specification), strict=True):
        report = TreeClient(specification).randomize(form(record), answer)
        assert specification.unpack(report) == [category]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"age": "old987"}, "'age' holds a value that is no finite number"),
        ({"age": [987]}, "'age' holds a value"),
        ({"since": "987"}, "'since' holds a value that is no date"),
        ({"trade": "987"}, "'trade' is unknown"),
    ],
)
def test_a_client_refuses_what_is_not_declared(strict, change, match):
    client = TreeClient(make_specification())
    with skprivate.config_context(strict=strict), pytest.raises(ValueError, match=match) as caught:
        client.randomize(RECORDS[0] | change, "yes")
    assert "987" not in str(caught.value)
    assert client.spent_epsilon == 0


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(lambda frame: (frame, None), id="pandas"),
        pytest.param(lambda frame: (frame.drop(columns=["sick", "id"]), frame["sick"]), id="pandas-and-y"),
        pytest.param(lambda frame: (pl.from_pandas(frame), None), id="polars"),
        pytest.param(lambda frame: (pa.Table.from_pandas(frame), None), id="arrow"),
        pytest.param(lambda frame: (pa.Table.from_pandas(frame).to_reader(1), None), id="stream"),
        pytest.param(lambda frame: (RECORDS, ANSWERS), id="records"),
        pytest.param(lambda frame: (iter([frame[:1], (RECORDS[1:], ANSWERS[1:])]), None), id="iterator"),
    ],
)
def test_raw_tables_in_bulk(table):
    specification = make_specification()
    frame = pd.DataFrame(
        {
            "id": [4, 5, 6],
            "since": pd.to_datetime(["2020-06-01", "2001-05-17", None]),
            "job": pd.Series(["smith", "clerk", None], dtype="category"),
            "age": [80.0, 21.0, 33.5],
            "sick": ANSWERS,
        }
    )
    reports = np.concatenate(list(specification.randomize_many(*table(frame))))
    np.testing.assert_array_equal(reports, expected(specification))


@pytest.mark.parametrize("strict", [False, True])
def test_cells_that_a_client_refuses_are_missing_in_bulk(strict):
    specification = make_specification()
    bad = [{"since": "soon", "age": "old", "job": "pilot"}, {"since": [1], "age": np.inf, "job": 3}]
    counted = [{"since": None, "age": None, "job": None}, {"since": None, "age": 90, "job": None}]
    with skprivate.config_context(strict=strict):
        reports = np.concatenate(list(specification.randomize_many(bad, ["no", "maybe"])))
    np.testing.assert_array_equal(reports, expected(specification, counted, ["no", "no"]))


def test_the_client_command_reads_raw_tables(tmp_path, capsys):
    specification = make_specification()
    (tmp_path / "spec.json").write_text(specification.to_json(), encoding="utf-8")
    rows = "job,age,sick,since\n smith,80,yes,2020-06-01\nclerk,21,no,2001-05-17\n?,33.5,yes,\n"
    (tmp_path / "rows.csv").write_text(rows, encoding="utf-8")
    files = [str(tmp_path / name) for name in ("spec.json", "rows.csv", "reports.bin")]
    assert main(["client", *files]) == 0
    reports = specification.unpack(
        (tmp_path / "reports.bin").read_bytes()[-3 * specification.randomizer.report_bytes :]
    )
    np.testing.assert_array_equal(reports, expected(specification))
    (tmp_path / "rows.csv").write_text(rows + "smith,old987,no,2020-06-01\n", encoding="utf-8")
    assert main(["client", *files[:2], str(tmp_path / "more.bin")]) == 2
    message = capsys.readouterr().err
    assert "rows.csv, line 5: column 'age'" in message
    assert "987" not in message


def test_a_client_of_declared_columns_needs_numpy_only(tmp_path):
    path = tmp_path / "spec.json"
    path.write_text(make_specification(epsilon=1.0).to_json(), encoding="utf-8")
    code = (
        "import sys; from skprivate.collection import TreeClient, TreeSpecification;"
        f"c = TreeClient(TreeSpecification.from_json({str(path)!r}));"
        "c.randomize({'age': '39', 'job': 'smith', 'since': None}, 'no');"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'sklearn', 'scipy', 'joblib', 'pandas'}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def make_public(n=300, seed=0):
    """Smiths since 2010 and all above 60 are sick."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "since": pd.Timestamp("2001-01-01") + pd.to_timedelta(rng.integers(0, 7300, size=n), "D"),
            "age": rng.integers(17, 91, size=n),
            "job": rng.choice(["clerk", "smith", "?"], size=n),
        }
    )
    sick = (frame["age"] > 60) | ((frame["job"] == "smith") & (frame["since"] >= "2010-01-01"))
    return frame, np.where(sick, "yes", "no")


def make_curator(*rows, **parameters):
    domain, classes = make_domain(), None if rows else ["no", "yes"]
    plan = LocallyPrivateTreeClassifier(epsilon=8.0, domain=domain, classes=classes, **parameters)
    return TreeCurator(plan, *rows, n_clients=4000, label="sick")


def test_a_curator_plans_with_raw_rows_and_releases_a_tree_that_takes_them():
    curator = make_curator(*make_public())
    assert curator.specification.domain == make_domain()
    assert curator.specification.features == make_domain().names
    frame, sick = make_public(4000, seed=1)
    curator.update(curator.specification.randomize_many(frame, sick))
    for again in (curator, TreeCurator.from_bytes(curator.to_bytes()), copy.deepcopy(curator)):
        tree = again.release()
        assert tree.privacy_spent_.claim == "dp"
        assert list(tree.feature_names_in_) == list(make_domain().names)
        test_rows, expected_labels = make_public(1000, seed=2)
        assert (tree.predict(test_rows) == expected_labels).mean() > 0.85


def test_the_specification_is_that_of_the_encoded_public_rows():
    frame, sick = make_public()
    made, domain = make_curator(frame, sick).specification.partition, make_domain()
    by_hand = build_partition(
        domain.encode(frame),
        sick == "yes",
        lower=domain.bounds[0],
        upper=domain.bounds[1],
        max_depth=made.max_depth,
        groups=domain.groups,
    )
    assert made.max_depth > 1
    assert made == by_hand


def test_clients_with_any_level_or_a_missing_cell_report_the_leaf_of_their_row():
    domain = make_domain()
    curator = make_curator(*make_public(), max_depth=5)
    specification = TreeSpecification.from_json(curator.specification.to_json())
    partition = specification.partition
    assert partition.derived is not None
    assert {type(column).__name__ for column in partition.derived.columns} >= {"LevelsColumn", "ValueColumn"}
    sharp = TreeSpecification(
        partition, KRRRandomizer(60.0, partition.n_leaves), specification.classes, domain=domain, label="sick"
    )
    records = [
        {"age": age, "job": job, "since": since}
        for age in (18, "44", 89.5, 120)
        for job in ("clerk", "smith ", "?", None, "")
        for since in ("2001-01-02", date(2019, 3, 1))
    ]
    answers = [("no", "yes")[i % 2] for i in range(len(records))]
    wanted = 2 * partition.apply(domain.encode(records)) + (np.array(answers) == "yes")
    reports = [
        sharp.unpack(TreeClient(sharp).randomize(record, answer))[0]
        for record, answer in zip(records, answers, strict=True)
    ]
    assert reports == wanted.tolist()
    assert len(set(reports)) > 8
    # In bulk, of which no cell may fail, the same.
    in_bulk = np.concatenate(list(sharp.randomize_many(records, answers)))
    assert in_bulk.tolist() == reports
    # And the curator's state holds the same collection.
    again = TreeCurator.from_bytes(curator.to_bytes())
    assert again.specification == curator.specification
    for record, answer in zip(records, answers, strict=True):
        again.update(again.client().randomize(record, answer))
    assert again.release().partition_ == partition


def test_a_domain_declares_the_bounds():
    assert make_curator(max_depth=3).specification.partition.n_features == 5
    domain = make_domain()
    with pytest.raises(PrivacyLeakError, match="classes must be declared"):
        TreeCurator(LocallyPrivateTreeClassifier(domain=domain), n_clients=10)
    with pytest.raises(ValueError, match="domain"):
        TreeCurator(LocallyPrivateTreeClassifier(domain=domain, bounds=(0, 1)), *make_public(), n_clients=10)
    with pytest.raises(ValueError, match="features must be the columns of the domain"):
        TreeCurator(
            LocallyPrivateTreeClassifier(domain=domain), *make_public(), n_clients=10, features=["age"]
        )


def test_a_state_of_two_domains_is_refused():
    data = json.loads(make_curator(max_depth=2).to_bytes())
    del data["checksum"]

    def restored(state):
        return TreeCurator.from_bytes(seal_document(state.pop("format"), state.pop("version"), state))

    assert restored(copy.deepcopy(data)).specification.domain == make_domain()
    other = make_domain(job=["smith", "clerk"])
    for foreign in ({"domain": other.to_dict()}, {"domain": 7}, None):
        state = copy.deepcopy(data)
        state["tree"]["domain"] = foreign
        with pytest.raises(ValueError, match="no state of a curator"):
            restored(state)


def test_the_plan_command_reads_a_domain_and_a_raw_public_table(tmp_path, capsys):
    frame, sick = make_public()
    frame.assign(sick=sick).to_csv(tmp_path / "public.csv", index=False)
    (tmp_path / "domain.json").write_text(make_domain().to_json(), encoding="utf-8")
    files = [str(tmp_path / name) for name in ("state", "spec.json", "public.csv", "domain.json")]
    options = ["--label", "sick", "--epsilon", "8", "--clients", "4000", "--domain", files[3]]
    assert main(["curator", "plan", *files[:2], "--public", files[2], *options]) == 0
    assert TreeSpecification.from_json(files[1]) == make_curator(frame, sick).specification
    with open(files[2], "a", encoding="utf-8") as file:
        file.write("2002-01-01,old987,smith,yes\n")
    more = [str(tmp_path / name) for name in ("state2", "spec2.json")]
    assert main(["curator", "plan", *more, "--public", files[2], *options]) == 2
    message = capsys.readouterr().err
    assert "public.csv, line 302: column 'age'" in message
    assert "987" not in message
    (tmp_path / "domain.json").write_text("{", encoding="utf-8")
    assert main(["curator", "plan", *more, *options]) == 2
    assert "domain.json" in capsys.readouterr().err
