# SPDX-License-Identifier: BSD-3-Clause
"""The organiser's side of a study: its document, and sites as the tables of a source, under masks."""

import base64
import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from .._version import __version__
from ..domain import TableDomain
from ..domain._life_data import EventCoding
from ..exceptions import ConsentError
from ..noise import check_entropy
from ..rounds._plans.descriptions import DescriptionPlan, Tree, plan_tables
from ..rounds._schema import RowSchema
from ..rounds._sources import InspectFunction, SourceFacts, TableFacts, TableSource
from ..rounds._tables import TableColumns
from ..rounds._task import PartialSums, PartitionFunction, Plan, RoundTask
from ..utils import check_int
from ..utils._json_documents import canonical, parse_json, seal_document
from ..utils._public_module import public_module
from ._protocols.consortium import (
    FORMAT,
    PLAN_KINDS,
    VERSION,
    Consortium,
    plan_digest,
    without_key,
)
from ._protocols.keys import SiteKey
from ._protocols.messages import make_query
from ._site_state import ANSWERED, DENIED, REFUSED

Post = Callable[[str, bytes], bytes]

# Seconds between two tries, at first and at most.
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 5.0
# A refusal in the open may be forged, or due to a request that was damaged on its way: asked again so often.
_OPEN_REFUSALS = 3
_NOT_PARAMETERS = ("ledger", "random_state")


@public_module("skprivate.collaborative")
class MaskedSites:
    """Sites that answer under masks, for `TableSource` in place of tables: only sums over all can be read.

    Parameters
    ----------
    post : callable
        ``post(name, request) -> reply``: brings bytes to the site of this name, and returns its reply; any
        exception means that it could not. It is called from several threads at once, and is all that there is
        of a transport.
    roster : bytes
        The document that the sites have joined, from `roster`.
    key : SiteKey
        The driver's key, which the roster names.
    patience : float, default=60.0
        Seconds for which a site that does not answer is asked again, in each round. It gets the same request,
        and gives the same bytes.

    Attributes
    ----------
    members : tuple of str
    fingerprint : str

    Raises
    ------
    ConsentError
        The roster cannot be used, or names another driver.

    See Also
    --------
    SiteState : A site's side.
    skprivate.rounds.fit_rounds : Fits an estimator to a source.

    Notes
    -----
    **Privacy.** *This process* (the driver) learns the exact sums over all sites in every round, and the
    numbers of rows and of persons over all sites. It learns none of a single site. It is trusted with these
    totals, charges the ledger, and draws the noise of a release once. Its releases have the privacy of the
    estimator's ``fit`` to all rows together. *The transport* sees lengths and times. Proof:
    :doc:`/proofs/swapping`.

    A fit needs every site in every round. `ConsentError` names those that are missing; nothing is opened
    then, and with ``checkpoint=`` the fit goes on later, with one charge. A site that has left for good ends
    the study.

    Examples
    --------
    Three sites in one process, for trials:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skprivate import DPNormalLLSRegressor
    >>> from skprivate.collaborative import MaskedSites, SiteKey, SiteState
    >>> from skprivate.rounds import TableSource, fit_rounds
    >>> rng = np.random.default_rng(0)
    >>> rows = pd.DataFrame({"age": rng.uniform(20, 80, 3000)})
    >>> rows["dose"] = 60 - 0.5 * rows["age"] + rng.normal(size=3000)
    >>> model = DPNormalLLSRegressor(1.0, bounds_X=(20, 80), bounds_y=(0, 70), random_state=0)
    >>> columns = {"features": ["age"], "target": "dose"}
    >>> folder = tempfile.TemporaryDirectory()
    >>> states = {name: SiteState(Path(folder.name, name)) for name in ("north", "south", "west")}
    >>> tables = {name: rows[place::3] for place, name in enumerate(states)}
    >>> key = SiteKey.generate()
    >>> roster = MaskedSites.roster(
    ...     {name: state.public for name, state in states.items()},
    ...     key.public,
    ...     [MaskedSites.plan_fit(model, n_rows=3000, **columns)],
    ...     ledger="dose.ledger",
    ... )
    >>> for state in states.values():
    ...     name = state.enrol(roster, MaskedSites.fingerprint_of(roster))
    >>> post = lambda name, request: states[name].answer(request, tables[name])
    >>> sites = MaskedSites(post, roster, key)
    >>> sites.check()
    >>> joint = fit_rounds(model, TableSource(sites, **columns))
    >>> pooled = DPNormalLLSRegressor(**model.get_params()).fit(rows[["age"]], rows["dose"])
    >>> bool((joint.coef_ == pooled.coef_).all())
    True
    >>> folder.cleanup()
    """

    def __init__(self, post: Post, roster: bytes, key: SiteKey, *, patience: float = 60.0) -> None:
        if not callable(post):
            raise TypeError("post must be a function of a site's name and bytes.")
        self._post, self._key, self._patience = post, key, float(patience)
        self._study = Consortium(roster)
        self._study._check_receiver(key)
        self._pool = ThreadPoolExecutor(len(self._study.members), "skprivate-site")

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the sites."""
        return self._study.members

    @property
    def fingerprint(self) -> str:
        """Digest of the roster."""
        return self._study.fingerprint

    # The document.

    @staticmethod
    def roster(
        members: Mapping[str, bytes],
        driver: bytes,
        fits: Sequence[Mapping[str, Any]] = (),
        *,
        predictions: Mapping[str, Any] | None = None,
        ledger: str = "",
        title: str = "",
    ) -> bytes:
        """Write the document of a study, which every site reads and joins.

        Parameters
        ----------
        members : mapping of str to bytes
            Every site's public key (`SiteState.public`) by its name.
        driver : bytes of length 32
            The driver's public key.
        fits : sequence
            From `plan_fit` and `plan_description`: all that may be fitted, ever.
        predictions : mapping, default=None
            From `plan_predictions`. None: no site predicts.
        ledger : str, default=""
            Name of the ledger that is charged, for people.
        title : str, default=""
            For people.

        Returns
        -------
        roster : bytes
            JSON, to be read by people; public among the parties.

        Raises
        ------
        ConsentError
            Members, keys or fits that no study can have.
        """
        content = {
            "title": title,
            "members": {str(name): public.hex() for name, public in members.items()},
            "driver": driver.hex(),
            "ledger": ledger,
            "fits": [dict(fit) for fit in fits],
            "predictions": None if predictions is None else dict(predictions),
        }
        document = seal_document(FORMAT, VERSION, content)
        Consortium(document)
        return document

    @staticmethod
    def fingerprint_of(roster: bytes) -> str:
        """Return the digest of a document, which all parties compare over a channel that they trust."""
        return Consortium(roster).fingerprint

    @staticmethod
    def plan_fit(
        estimator: BaseEstimator,
        *,
        n_rows: int,
        features: Sequence[str],
        public: Any = None,
        runs: int = 1,
        **columns: Any,
    ) -> dict[str, Any]:
        """Describe a fit for the document: the estimator, its parameters, and how rows are read.

        Parameters
        ----------
        estimator : estimator with rounds
            With the parameters that it will be fitted with; ledger and random_state play no part.
        n_rows : int
            About how many rows all sites have. It decides nothing: parameters are checked for so many.
        features : list of str
            Names of the columns of X.
        public : tuple (X, y), default=None
            Public rows, as for `fit_rounds`.
        runs : int, default=1
            How often the fit may be begun. A fit that goes on from its checkpoint is not begun again.
        **columns
            ``target``, ``event``, ``groups`` and others, as for `TableSource`.

        Returns
        -------
        fit : dict
            For `roster`.

        Raises
        ------
        TypeError, ValueError
            The estimator has no rounds, or cannot be fitted to such a source.
        """
        names = [one.__name__ for one in type(estimator).__mro__ if one.__name__ in PLAN_KINDS]
        if not names or not getattr(type(estimator), "_has_rounds", False):
            raise TypeError(f"{type(estimator).__name__} has no rounds: fit it to rows in memory.")
        source = TableSource(lambda: None, features=list(features), **columns)
        n_rows, found = check_int(n_rows, "n_rows", least=1), source.columns
        roles = tuple(sorted(found.roles))
        width = len(features)
        facts = SourceFacts(n_rows, n_rows, tuple(features), width, found.has_target, roles, None)
        model: Any = clone(estimator)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schema, open_rounds = model._open_source(found, facts, public)
            # The first plan follows from what is public, and from no noise.
            rounds = open_rounds(check_entropy(0).source)
            plan = next(rounds).plan
            rounds.close()
        return _fit_entry(names[0], estimator.get_params(deep=False), runs, schema, plan)

    @staticmethod
    def plan_description(
        domain: TableDomain,
        epsilon: Any,
        *,
        runs: int = 1,
        strict: bool = False,
        columns: Sequence[str] | None = None,
        crosstabs: Sequence[Any] = (),
        survival: Sequence[Any] | None = None,
        happened: Any = None,
        censored: Any = None,
        **parameters: Any,
    ) -> dict[str, Any]:
        """Describe a `skprivate.private_describe` of all rows for the document, survival curves included.

        Parameters
        ----------
        domain : TableDomain
        epsilon : float or Fraction
        runs : int, default=1
            How often it may be begun.
        strict : bool, default=False
            Whether strict mode will be on.
        columns, crosstabs, survival, happened, censored
            As it will be called: sites answer no other tables. How fine their bins are follows from the
            number of rows, which no site knows: a site cannot check it.
        **parameters
            Others that it will be called with, for people.

        Returns
        -------
        fit : dict
            For `roster`.
        """
        schema = RowSchema(
            columns=TableColumns(domain.names), n_features=len(domain.names), domain=domain, strict=strict
        )
        tree, coding = Tree(2, 1), EventCoding.of(happened, censored)
        tables = plan_tables(domain, columns, crosstabs, survival, tree, 1, 1, coding)
        given = {"epsilon": epsilon, "columns": columns, "crosstabs": crosstabs, "survival": survival}
        plan = DescriptionPlan.of(tables, tree, 1, 1, coding)
        return _fit_entry("private_describe", given | parameters, runs, schema, plan)

    @staticmethod
    def plan_predictions(
        columns: Sequence[str],
        classes: Iterable[Any] | None = None,
        *,
        n_rows: int,
        most_rows: int | None = None,
        askers: Sequence[str] = ("",),
    ) -> dict[str, Any]:
        """Describe joint predictions for the document.

        Parameters
        ----------
        columns : sequence of str
            Names of the features, in the order of all sites' models.
        classes : sequence, default=None
            Of classifiers; None: regressors.
        n_rows : int
            About how many rows all sites have together; a local average is refined to this number. It is
            agreed on paper, and is at least the largest site's. Too large a number narrows the averages, to
            single rows at last.
        most_rows : int, default=None
            The largest number of rows that a site's answers are weighted by. A site then has at most
            ``most_rows`` shares, and one that claims many rows does not decide everything. None: no limit.
        askers : sequence of str, default=("",)
            Names of those who may ask (`predict`), for the sites' limits.

        Returns
        -------
        predictions : dict
            For `roster`.
        """
        listed = None if classes is None else np.asarray(list(classes)).tolist()
        named = {"columns": list(map(str, columns)), "askers": list(map(str, askers))}
        return {
            **named,
            "classes": listed,
            "n_rows": check_int(n_rows, "n_rows", least=1),
            "most_rows": most_rows,
        }

    # What `TableSource` asks for.

    def map_partitions(self, function: Any) -> list[bytes]:
        """Return facts of all sites' rows, or sums over them, as those of one table: for `TableSource`."""
        if isinstance(function, InspectFunction):
            return [self._facts(function).to_bytes()]
        if not isinstance(function, PartitionFunction):
            raise TypeError("sites answer the functions of a TableSource alone.")
        task = RoundTask.from_bytes(function.task)
        self._study.matching(task)
        replies = self._ask({"ask": "sums", "task": function.task.decode("ascii")})
        sums = self._study.add_integers(replies, task.plan.n_sums + 2)
        n_rows, n_units = sums[-2:].tolist()
        return [PartialSums.of_batch(task.id, "sites", sums[:-2], n_rows, n_units).to_bytes()]

    def before_charge(self, task: RoundTask) -> None:
        """Ask every site whether it will answer a round, before the round is charged: for `TableSource`."""
        self._study.read_task(task.to_bytes().decode("ascii"))
        if not task.number:
            self.check(task)

    def _facts(self, look: InspectFunction) -> TableFacts:
        place = self._study.place_of(look)
        shown, sizes = [], []
        for reply in self._ask({"ask": "facts", "fit": place, "nonce": os.urandom(16).hex()}):
            length = int.from_bytes(reply[:4], "big")
            shown.append(TableFacts.from_dict(parse_json(reply[4 : 4 + length])))
            sizes.append(reply[4 + length :])
        n_rows, n_units = self._study.add_integers(sizes, 2).tolist()
        for name, facts in zip(self._study._order, shown, strict=True):
            if facts != shown[0]:
                raise ValueError(
                    f"site {name!r} differs from {self._study._order[0]!r} in its columns, or in their types."
                )
        return replace(shown[0], n_rows=n_rows, n_units=n_units)

    def check(self, task: RoundTask | None = None) -> None:
        """Ask every site whether it is ready, before anything is charged.

        Checked are version, roster, and free space on the disk; with a round, as `fit_rounds` passes it, also
        whether it is of the study, and the columns of the site's table. Then the driver announces the fit to
        the sites, one after the other in the order of their names. If two drivers begin at once, the first
        site refuses the second, which is not charged.

        Parameters
        ----------
        task : RoundTask, default=None

        Raises
        ------
        ConsentError
            Names every site that does not answer, refuses, or is not ready, and says why.
        """
        text = None if task is None else task.to_bytes().decode("ascii")
        content = {"ask": "check", "task": text, "nonce": os.urandom(16).hex()}
        problems = {
            name: "; ".join(parse_json(reply)["problems"])
            for name, reply in zip(self._study._order, self._ask(content), strict=True)
        }
        told = [f"site {name!r}: {problem}" for name, problem in problems.items() if problem]
        if told:
            raise ConsentError(f"Nothing was charged: {'. '.join(told)}.")
        for name in () if task is None else self._study._order:
            self._ask({"ask": "begin", "task": text}, [name])

    # Predictions.

    def predict(self, X: Any, *, asker: str = "") -> NDArray[Any]:
        """Return the sites' answers to queries, weighted by their rows.

        Opened are two sums: of answers times rows, and of rows, over the sites that have rows near a query.
        Where that is one site alone, they are its answer and its number of rows, up to ``most_rows``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_queries, n_features)
            Coarsen them before (`TQMATransformer`): every site reads them.
        asker : str, default=""
            Who asks, one of the roster's, for the sites' limits and logs.

        Returns
        -------
        predictions : ndarray of shape (n_queries,) or (n_queries, n_classes)
            Of classifiers, probabilities. NaN where no site has rows near a query.

        Raises
        ------
        ConsentError
            A site does not answer, or refuses: nothing is opened.
        """
        agreed = self._study.predictions
        if agreed is None:
            raise ConsentError("this study makes no predictions.")
        query = make_query(X, agreed["columns"], self._study._digest)
        message = base64.b64encode(query.to_bytes()).decode("ascii")
        replies = self._ask({"ask": "query", "query": message, "asker": asker})
        n_outputs = len(agreed["classes"] or [None])
        values, sizes = self._study.add_answers(replies, len(query.X) * n_outputs)
        with np.errstate(invalid="ignore"):
            found = (values / sizes).reshape(len(query.X), n_outputs)
        return found if agreed["classes"] is not None else found[:, 0]

    # The transport.

    def _ask(self, content: dict[str, Any], names: Sequence[str] | None = None) -> list[bytes]:
        """Return sites' replies to one request, in the order of their names; None: of all."""
        request = canonical({"version": __version__, **content})
        deadline, names = time.monotonic() + self._patience, names or self._study._order
        found = list(self._pool.map(lambda name: self._ask_one(name, request, deadline), names))
        told = [
            f"site {name!r} {reply}" for name, reply in zip(names, found, strict=True) if type(reply) is str
        ]
        if told:
            raise ConsentError(
                f"Nothing was opened, as a reply of every site is needed: {'; '.join(told)}. A fit with a "
                "checkpoint goes on later, for one charge."
            )
        return [reply for reply in found if isinstance(reply, bytes)]

    def _ask_one(self, name: str, request: bytes, deadline: float) -> bytes | str:
        """Return one site's reply, or what is wrong; the same request is sent until it is answered."""
        message, wait, refusals = self._study.seal_request(self._key, name, request), _FIRST_WAIT, 0
        while True:
            reply = b""
            try:
                reply = bytes(self._post(name, message))
                content = self._study.read_reply(self._key, name, request, reply)
            except ConsentError:
                problem = "sent what is no reply to this request"
                if reply.startswith(REFUSED):
                    refusals += 1
                    text = reply.removeprefix(REFUSED)[:300].decode("utf-8", "replace")
                    problem = f"refused: {text!r}"
            except Exception as error:
                problem = f"is missing ({type(error).__name__})"
            else:
                if content[:1] == ANSWERED:
                    return content[1:]
                return f"refused: {content[len(DENIED) :].decode('utf-8', 'replace')}"
            if time.monotonic() + wait > deadline or refusals == _OPEN_REFUSALS:
                return problem
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)


def _fit_entry(
    name: str, parameters: Mapping[str, Any], runs: int, schema: RowSchema, plan: Plan
) -> dict[str, Any]:
    texts = {key: repr(value) for key, value in sorted(parameters.items()) if key not in _NOT_PARAMETERS}
    read = without_key(schema)
    return {"estimator": name, "parameters": texts, "runs": runs, "schema": read, "plan": plan_digest(plan)}
