# SPDX-License-Identifier: BSD-3-Clause
"""A site's state on disk: the same bytes again, one roster for ever, and refusals by name."""

import datetime
import json
import os
import shutil
import sqlite3
import stat
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor

from skprivate import DPTreeClassifier, __version__
from skprivate.collaborative import CollaborativeSite, LocalAverageRegressor, MaskedSites, SiteKey, SiteState
from skprivate.collaborative import _site_state as module
from skprivate.collaborative._protocols.consortium import Consortium
from skprivate.exceptions import ConsentError
from skprivate.rounds import fit_rounds
from skprivate.rounds._plans.cells import CellsPlan, LabelAxis, TargetAxis
from skprivate.rounds._plans.logits import ColumnMomentsPlan
from skprivate.rounds._plans.moments import MomentGrid
from skprivate.rounds._task import RoundTask
from skprivate.utils._json_documents import canonical
from tests.collaborative.studies import FEATURES, MODEL, NAMES, Study

PREDICTIONS = MaskedSites.plan_predictions(FEATURES, n_rows=3000, askers=["ward", "lab"])


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path, predictions=PREDICTIONS)


@pytest.fixture
def fitted(study):
    """A study after a fit; the driver's messages are in ``sent``."""
    fit_rounds(MODEL, study.source())
    return study


def last_request(study, name="north"):
    return [(request, reply) for site, request, reply in study.sent if site == name][-1]


def ask(study, name="north", **content):
    """Return what one site says to a request of the true driver."""
    consortium, plain = Consortium(study.roster), canonical({"version": __version__, **content})
    reply = study.post(name, consortium.seal_request(study.key, name, plain))
    return consortium.read_reply(study.key, name, plain, reply)


class TestTheSameBytes:
    def test_after_a_restart_and_without_the_table(self, fitted):
        request, reply = last_request(fitted)
        assert fitted.restart("north").answer(request) == reply
        assert fitted.states["north"].answer(request, fitted.tables["south"]) == reply

    def test_to_many_threads_at_once(self, study):
        sites, found = study.driver(), []
        plain = canonical({"ask": "facts", "fit": 0, "nonce": "1", "version": __version__})
        consortium = Consortium(study.roster)
        request = consortium.seal_request(study.key, "north", plain)
        threads = [
            threading.Thread(target=lambda: found.append(study.post("north", request))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        assert len(set(found)) == 1
        assert sites.members == NAMES


def model_of(table):
    average = LocalAverageRegressor(bandwidth=0.2, bounds=(0, 1))
    return CollaborativeSite("own", average.fit(table[FEATURES], table["y"]), len(table))


class TestRoster:
    def test_another_one_is_refused_and_the_same_one_is_not(self, study):
        state = study.states["north"]
        assert state.enrol(study.roster, study.sites.fingerprint) == "north"
        publics = {name: one.public for name, one in study.states.items() if name != "west"}
        publics["made up"] = SiteKey.generate().public
        other = MaskedSites.roster(publics, study.key.public)
        with pytest.raises(ConsentError, match="joined another roster"):
            state.enrol(other, MaskedSites.fingerprint_of(other))
        with pytest.raises(ConsentError, match="joined another roster"):
            study.restart("north").enrol(other, MaskedSites.fingerprint_of(other))
        # Nor does the driver get an answer under it.
        with pytest.raises(ConsentError, match="another study or roster"):
            MaskedSites(study.post, other, study.key, patience=0).check()

    def test_must_be_the_one_that_was_compared_and_have_members(self, tmp_path):
        states = [SiteState(tmp_path / str(place)) for place in range(3)]
        publics = {str(place): state.public for place, state in enumerate(states)}
        roster = MaskedSites.roster(publics, SiteKey.generate().public)
        with pytest.raises(ConsentError, match="fingerprint is"):
            states[0].enrol(roster, "0123 4567")
        with pytest.raises(ConsentError, match="not on the roster"):
            SiteState(tmp_path / "stranger").enrol(roster, MaskedSites.fingerprint_of(roster))
        with pytest.raises(ConsentError, match="fewer than 4"):
            SiteState(tmp_path / "0", least=4).enrol(roster, MaskedSites.fingerprint_of(roster))
        with pytest.raises(ValueError, match="least must be at least 2"):
            SiteState(tmp_path / "1", least=1)
        assert [state.name for state in states] == [None] * 3
        request = Consortium(roster).seal_request(SiteKey.generate(), "1", b"{}")
        assert b"not joined" in states[1].answer(request)

    def test_a_server_that_runs_already_learns_that_the_site_has_joined(self, tmp_path):
        study = Study(tmp_path)
        state = SiteState(tmp_path / "late")
        publics = {name: one.public for name, one in study.states.items()} | {"late": state.public}
        roster = MaskedSites.roster(publics, study.key.public)
        SiteState(tmp_path / "late").enrol(roster, MaskedSites.fingerprint_of(roster))
        request = Consortium(roster).seal_request(study.key, "late", canonical({"ask": "nothing"}))
        assert not state.answer(request).startswith(module.REFUSED)
        assert state.name == "late"

    def test_only_the_driver_of_the_roster_is_answered(self, study):
        with pytest.raises(ConsentError, match="receiver"):
            MaskedSites(study.post, study.roster, SiteKey.generate())
        forged = Consortium(study.roster).seal_request(
            SiteKey.generate(), "north", canonical({"ask": "check"})
        )
        assert study.post("north", forged).startswith(module.REFUSED)


class TestTheFile:
    def test_is_its_owners(self, study):
        for path in study.folder.glob("north*"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert study.states["north"].public.hex() not in repr(study.states["north"])
        assert not list(study.folder.glob("*unfinished*"))

    def test_a_byte_that_changed_anywhere_is_refused_or_of_no_content(self, fitted):
        path, request, reply = fitted.folder / "north", *last_request(fitted)
        log = fitted.states["north"].log()
        close(fitted.states["north"])
        whole, mark = path.read_bytes(), (fitted.folder / "north.mark").read_bytes()
        rng, refused = np.random.default_rng(0), 0
        for place in rng.integers(len(whole), size=120).tolist():
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
            (fitted.folder / "north.mark").write_bytes(mark)
            try:
                state = SiteState(path)
            except ConsentError:
                refused += 1
            else:
                assert state.log() == log
                assert state.answer(request) == reply
                close(state)
        # The others are of no content: free places, and what SQLite does not read.
        assert refused > 20
        for content in (b"", whole[:5000], b"SQLite format 3\0" + whole, b"{}"):
            path.write_bytes(content)
            with pytest.raises(ConsentError, match="is damaged"):
                SiteState(path)

    def test_a_copy_and_a_moved_file_are_refused(self, fitted):
        path = fitted.folder / "north"
        close(fitted.states["north"])
        for place in ("copy", "moved"):
            shutil.copy(path, fitted.folder / place) if place == "copy" else os.rename(
                path, fitted.folder / place
            )
            shutil.copy(fitted.folder / "north.mark", fitted.folder / f"{place}.mark")
            with pytest.raises(ConsentError, match="moved, copied or put back"):
                SiteState(fitted.folder / place)
        # Under the old name it is another file.
        shutil.copy(fitted.folder / "moved", path)
        with pytest.raises(ConsentError, match="moved, copied or put back"):
            SiteState(path)

    def test_an_older_one_in_its_place_is_refused(self, study):
        path = study.folder / "north"
        close(study.states["north"])
        older = path.read_bytes()
        study.restart("north")
        fit_rounds(MODEL, study.source())
        close(study.states["north"])
        newer = path.read_bytes()
        path.write_bytes(older)
        with pytest.raises(ConsentError, match="older than the mark"):
            SiteState(path)
        path.write_bytes(newer)
        (study.folder / "north.mark").unlink()
        with pytest.raises(ConsentError, match="the mark is gone"):
            SiteState(path)

    def test_of_another_version_is_refused(self, study):
        close(study.states["north"])
        with sqlite3.connect(study.folder / "north") as connection:
            connection.execute("UPDATE facts SET value = 2 WHERE name = 'version'")
        connection.close()
        with pytest.raises(ConsentError, match="another version"):
            SiteState(study.folder / "north")

    def test_that_is_gone_while_the_site_runs_gives_no_answer(self, fitted):
        (fitted.folder / "north").rename(fitted.folder / "away")
        assert b"cannot be used now" in ask(fitted, ask="facts", fit=0, nonce="1")

    def test_depends_on_no_clock(self, study, monkeypatch):
        times = iter(range(10**6, 0, -1000))
        clock = SimpleNamespace(now=lambda zone: datetime.datetime.fromtimestamp(next(times), zone))
        monkeypatch.setattr(module, "datetime", clock)
        found = fit_rounds(MODEL, study.source()).coef_
        study.restart("north")
        rows = study.rows
        np.testing.assert_array_equal(found, MODEL.fit(rows[FEATURES], rows["y"]).coef_)


def close(state):
    """Let go of the file, as the end of a process does."""
    state._connection.close()
    state._connection = None


class TestTasks:
    """What a site refuses of a driver who holds the true key."""

    @pytest.fixture
    def task(self, fitted):
        """The last task of the fit, from the driver's own request."""
        plain = Consortium(fitted.roster).read_request(
            "north", fitted.states["north"]._key, last_request(fitted)[0]
        )
        return RoundTask.from_bytes(json.loads(plain)["task"].encode())

    def told(self, study, task):
        reply = ask(study, ask="sums", task=task.to_bytes().decode())
        assert reply[:1] == module.DENIED
        entry = study.states["north"].log()[-1]
        assert (entry["kind"], entry["note"].encode()) == ("refused", reply[1:])
        return reply.decode()

    def test_another_one_under_the_same_id(self, fitted, task):
        other = replace(task, plan=replace(task.plan, clip=0.5))
        assert "same id: other rows, or another task" in self.told(fitted, other)

    def test_of_a_run_that_it_does_not_know(self, fitted, task):
        assert "stale" in self.told(fitted, replace(task, run="another"))

    def test_of_a_round_that_does_not_follow(self, fitted, task):
        assert "does not follow" in self.told(fitted, replace(task, number=task.number + 2))

    def test_of_a_second_run(self, fitted, task):
        read, key = Consortium(fitted.roster).read_request, fitted.states["north"]._key
        plains = [read("north", key, request) for name, request, _ in fitted.sent if name == "north"]
        first = next(json.loads(plain)["task"] for plain in plains if b'"ask":"sums"' in plain)
        first = replace(RoundTask.from_bytes(first.encode()), run="another")
        assert "as often as the roster allows" in self.told(fitted, first)
        new = replace(task, run="another", number=0)
        assert "outside the study" in self.told(fitted, new)

    def test_that_some_rows_would_fail_is_refused_before_any_is_read(self, fitted, task):
        fitted.tables["north"] = None
        nan = TargetAxis(1e10, 2.0 / np.finfo(float).max, 4)
        for axis in (nan, LabelAxis(1)):
            bad = replace(task, number=task.number + 1, plan=CellsPlan(((axis,),)))
            assert "cannot count all rows" in self.told(fitted, bad)

    def test_that_could_not_be_answered_tells_no_cause_and_has_used_its_id(self, fitted, task):
        table, number = fitted.tables["north"], task.number + 1
        new = replace(task, number=number, plan=CellsPlan(((TargetAxis(1.0, 3.0, 4),),)))
        fitted.tables["north"] = lambda: 1 / 0
        reply = ask(fitted, ask="sums", task=new.to_bytes().decode())
        assert b"could not be answered here" in reply
        assert fitted.states["north"].log()[-1]["note"] == "ZeroDivisionError"
        fitted.tables["north"] = table
        assert "same id" in self.told(fitted, replace(task, number=number))
        assert "does not follow" in self.told(fitted, replace(task, number=number + 1))
        assert ask(fitted, ask="sums", task=new.to_bytes().decode())[:1] == module.ANSWERED

    def test_outside_the_study(self, fitted, task):
        new = replace(task, run="another", number=0)
        grid = MomentGrid(lower=np.zeros(2), upper=np.ones(2), target=(0.0, 1.0), exponent=8)
        far = replace(task.schema, upper=np.array([1.0, 2.0]))
        for other in (
            replace(new, schema=far),
            replace(new, schema=replace(task.schema, bounds_y=(-2.0, 5.0))),
            replace(new, plan=ColumnMomentsPlan(grid)),
            replace(task, number=task.number + 1000),
            replace(task, plan=CellsPlan(((TargetAxis(0.0, 1.0, 2**23 + 1),),))),
        ):
            assert "outside the study" in self.told(fitted, other)

    def test_of_other_columns(self, study):
        tree = DPTreeClassifier(1.0, bounds=(0, 1), classes=[0, 1])
        with pytest.raises(ConsentError, match="no fit of the roster is of these columns"):
            fit_rounds(tree, study.source(features=FEATURES, target="label"))

    def test_with_other_rows(self, fitted, task):
        fitted.tables["north"] = fitted.tables["north"].assign(y=0.0)
        assert "table is another" in self.told(fitted, replace(task, number=task.number + 1))
        fitted.tables["north"] = None
        assert "no table" in self.told(fitted, replace(task, number=task.number + 1))

    def test_the_digest_of_a_table_is_of_its_cells_however_they_come(self, study):
        arrow = pytest.importorskip("pyarrow")
        rows = study.tables["north"][["age", "sex"]].assign(
            days=[None, *range(1, len(study.tables["north"]))]
        )
        table = arrow.Table.from_pandas(rows, preserve_index=False)
        cut = arrow.concat_tables([table.slice(0, 5), table.slice(5)])
        digests = [module._table_digest(one) for one in (table, cut, cut.to_reader(), table.slice(1))]
        assert digests[0] == digests[1] == digests[2] != digests[3]

    def test_an_error_while_rows_are_read_repeats_none(self, study):
        study.tables["north"] = study.tables["north"].assign(y=["x98765"] * len(study.tables["north"]))
        with pytest.raises(ConsentError) as caught:
            fit_rounds(MODEL, study.source())
        assert "98765" not in str(caught.value) + str(study.states["north"].log())
        assert "site 'north'" in str(caught.value)


class TestQueries:
    @pytest.fixture
    def asked(self, study):
        study.models = {name: model_of(table) for name, table in study.tables.items()}
        return study

    def test_a_limit_of_rows_an_asker(self, asked):
        asked.restart("north", most=3)
        rows = pd.DataFrame({"age": [0.2, 0.4], "dose": [0.5, 0.1]})
        asked.sites.predict(rows, asker="ward")
        asked.restart("north", most=3)
        with pytest.raises(ConsentError, match="site 'north' refused: this asker has asked more than the 3"):
            asked.sites.predict(rows, asker="ward")
        asked.sites.predict(rows, asker="lab")
        with pytest.raises(ConsentError, match="this asker is not on the roster"):
            asked.sites.predict(rows, asker="somebody")
        shown = [(entry["asker"], entry["n_rows"]) for entry in asked.states["north"].log()]
        assert ("ward", 2) in shown
        assert ("lab", 2) in shown

    def test_other_rows_under_the_same_id(self, asked):
        asked.sites.predict(asked.rows[FEATURES][:2], asker="ward")
        request, _ = last_request(asked)
        consortium = Consortium(asked.roster)
        plain = consortium.read_request("north", asked.states["north"]._key, request)
        content = json.loads(plain)
        assert b"same id: other rows" in ask(asked, **content | {"asker": "lab"})
        assert ask(asked, **content)[:1] == module.ANSWERED
        # The roster says to how many rows models are refined.
        assert ask(asked, **content | {"total": 2**53})[:1] == module.DENIED

    def test_an_answer_that_sums_have_no_room_for(self, asked):
        constant = DummyRegressor(strategy="constant", constant=1e60).fit([[0.0, 0.0]], [1e60])
        asked.models["west"] = CollaborativeSite("own", constant, 10, columns=FEATURES)
        with pytest.raises(ConsentError, match="site 'west' refused: this request could not be answered"):
            asked.sites.predict(asked.rows[FEATURES][:1], asker="ward")

    def test_a_model_of_other_columns(self, asked):
        average, table = LocalAverageRegressor(bandwidth=0.2, bounds=(0, 1)), asked.tables["west"]
        average.fit(table[["age", "days"]], table["y"])
        asked.models["west"] = CollaborativeSite("own", average, len(table))
        with pytest.raises(ConsentError, match=r"site 'west' refused: .*column 1 is 'days', and not 'dose'"):
            asked.sites.predict(asked.rows[FEATURES][:1], asker="ward")


def test_a_request_of_no_form_is_refused(study):
    for content in ({"ask": "nothing"}, {"ask": "sums"}, {"ask": "sums", "task": "{}"}, {"ask": 5}, {}):
        assert ask(study, **content)[:1] == module.DENIED
    assert b"another one" in ask(study, version="0.0", ask="facts", fit=0, nonce="1")
    consortium = Consortium(study.roster)
    for plain in (b"", b"[]", b'{"ask": "check"}', b"\xff"):
        reply = study.post("north", consortium.seal_request(study.key, "north", plain))
        assert consortium.read_reply(study.key, "north", plain, reply)[:1] == module.DENIED
