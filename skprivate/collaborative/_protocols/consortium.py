# SPDX-License-Identifier: BSD-3-Clause
"""A study of several sites: its document, sealed requests and replies, and sums of integers under masks.

The document names the members and their public keys, the driver's public key, and all that may be asked.
Everything that is sent is bound to its digest D.

- A *request* is canonical JSON P, the same for all sites, sealed to each of them under the secret of its key
  pair and the driver's. Its *binding* is b = SHA-256(protocol, D, P).
- A *reply* is sealed to the driver under a key that is made of the same secret, D and b, for the site's name.
  A reply to another request, of another site or of another study cannot be opened as this one.

**Masked integers.** Site i has n integers a_i, and appends two zeros. With the secret k_ij of each other
member (X25519, HKDF-SHA256, bound to both public keys and the protocol), the key SHAKE-256(k_ij || "integers"
|| b) of 32 bytes, and the AES-256 counter stream s_ij of that key, read as n + 2 words of 64 bits, it sends

    x_i = (a_i, 0, 0) + sum_{j > i} s_ij - sum_{j < i} s_ji    modulo 2^64.

*Exactness.* In the sum over all sites of one binding each s_ij occurs once with each sign. So the sum is that
of (a_i, 0, 0), modulo 2^64. It is the sum of the integers where that is below 2^63 in magnitude, which the
driver makes sure of before anything is charged (`Plan.check_room` of the masked total of rows). If a site had
another binding, or another key, at least one stream is left over. Both last words are then 0 with probability
2^-128, and otherwise the driver opens nothing.

*What is learned.* Proof and assumptions are those of masked sums (:doc:`/proofs/swapping`), in the group of
n + 2 words modulo 2^64, in its case of a stream: every two honest sites share a stream that nobody else can
distinguish from uniform words, and that occurs in no other message, because b is a digest of all that is
asked, and a site masks once under one id (`SiteState`). So the driver, together with any sites but two,
learns the sum over the others and nothing else; of fewer than all replies, nothing.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._typing import IntArray
from ...domain._labels import declared_classes
from ...exceptions import ConsentError
from ...rounds._plans.descriptions import DescriptionPlan
from ...rounds._rows import CODES, PreparedRows, on_model_scale
from ...rounds._schema import RowSchema
from ...rounds._sources import InspectFunction
from ...rounds._task import Plan, RoundTask
from ...utils._arguments import KEY_BYTES as PERSON_KEY_BYTES
from ...utils._json_documents import UNREADABLE, Fields, canonical, digest, parse_json, read_sealed
from .keys import KEY_BYTES, SiteKey, framed, key_stream, seal, stretch, unseal
from .masked_sum import MaskedSum, _as_pairs
from .messages import check_columns
from .roster import Roster

FORMAT, VERSION = "skprivate.consortium", 1
_FIELDS = ("title", "members", "driver", "ledger", "fits", "predictions")
_FIT = ("estimator", "parameters", "runs", "schema", "plan")
_PREDICTIONS = ("columns", "classes", "n_rows", "most_rows", "askers")
#: Words behind the sums that must open as zeros.
_ZEROS = 2
_WORD = np.dtype("<u8")
_MOST_RUNS = 1000
MOST_ROWS = 2**53
# Of a round: 64 MiB from each site. A level of a tree has some 10,000.
_MOST_SUMS = 2**23

_CELLS = "cells"
_TREES = frozenset({_CELLS, "histograms", "masses", "mass-histograms"})
_LOGISTIC = frozenset({_CELLS, "column-moments", "logits", "probabilities"})
_LIVES = frozenset({_CELLS, "looks", "moments", "gradients"})
_BOOSTING = frozenset({_CELLS, "code-counts", "column-residuals", "linear-residuals", "residuals"})
#: Kinds of plans that every estimator has, by the name of its class.
PLAN_KINDS = {
    "DPTreeClassifier": _TREES,
    "DPTreeRegressor": _TREES,
    "DPBoostingClassifier": _BOOSTING | {"probabilities"},
    "DPBoostingRegressor": _BOOSTING,
    "DPLogisticRegression": _LOGISTIC,
    **dict.fromkeys(
        ("DPLogLocationScaleRegressor", "DPSEVRegressor", "DPLogisticLLSRegressor", "DPNormalLLSRegressor"),
        _LIVES,
    ),
    "private_describe": frozenset({"description"}),
}


def most_rounds(fit: Mapping[str, Any]) -> int:
    """Return how many rounds a fit of a document can have."""
    if fit["estimator"] == "private_describe":
        return 1
    # A tree has at most 30 levels, and three rounds beside them. The longest schedules of the others have 80
    # steps (boosting; logistic regression 64 and a quarter more), two for each column, and a dozen rounds
    # before and after.
    return 33 if PLAN_KINDS[fit["estimator"]] is _TREES else 100 + 2 * int(fit["schema"]["n_features"])


def without_key(schema: RowSchema) -> dict[str, Any]:
    """Return all of a schema but the key of a run, which is drawn when it begins."""
    return {name: value for name, value in schema.to_dict().items() if name != "key"}


def plan_digest(plan: Plan) -> str:
    """Return the digest of a plan that a document agrees on; of a description, all but how fine its bins are.

    Bins follow from the number of rows, which is not known before the sites have joined.
    """
    content = plan.to_dict()
    if isinstance(plan, DescriptionPlan):
        fine = ("branches", "n_levels", "n_times", "every", "sizes")
        content = {name: value for name, value in content.items() if name not in fine}
    return digest(content)


def try_plan(plan: Plan, schema: RowSchema) -> None:
    """Raise if a plan fails for some rows that a schema may read: whether it does must not depend on them.

    It is tried on artificial rows: every label, every kind of observation, and the least and the largest
    numbers. If an axis, a grid or a loss fails for any number, it fails for those.
    """
    if isinstance(plan, DescriptionPlan):
        # No cell is an error.
        return
    if getattr(plan, "largest", 1) != 1:
        raise ValueError("the rows have no weights, for which room would be made by their number")
    most = np.finfo(np.float64).max
    sides = [np.zeros(schema.n_features) if side is None else side for side in (schema.lower, schema.upper)]
    columns = np.array([np.full(schema.n_features, one) for one in (-most, 0.0, most)] + sides)
    n = max(20, 0 if schema.classes is None else len(schema.classes))
    at = np.arange(n)
    rows: dict[str, Any] = {"X": columns[at % 5]}
    if schema.classes is not None:
        rows["labels"] = at % len(schema.classes)
    elif schema.bounds_y is not None:
        low, high = on_model_scale(schema.bounds_y, schema.log_target)
        y = np.array([-most, 0.0, most, low, high])[at % 5]
        if schema.structured or schema.log_target:
            y = np.clip(y, low, high)
        kinds = [CODES[kind] for kind in (schema.kinds if schema.structured else ("exact",)) if kind in CODES]
        rows |= {"y": y, "event": np.array(kinds, dtype=np.uint8)[at // 5 % len(kinds)]}
        rows["start"] = np.full(n, low) if CODES["interval"] in kinds else None
        rows["entry"] = np.where(at % 2, low, -np.inf) if "entry" in schema.kinds else None
    with np.errstate(all="ignore"):
        plan.sums(PreparedRows(**rows))


class Consortium(Roster):
    """The members of a study, and what they agreed to answer.

    Parameters
    ----------
    document : bytes
        From `MaskedSites.roster`.

    Raises
    ------
    ConsentError
        The document is damaged, of another version, or not one that `MaskedSites.roster` writes.
    """

    _protocol = b"skprivate consortium 1"

    def __init__(self, document: bytes) -> None:
        try:
            content = read_sealed(document, FORMAT, VERSION, _FIELDS)
            fields = Fields(content, ("format", "version", *_FIELDS), what="the document")
            self.title, self.ledger = fields.text("title"), fields.text("ledger")
            members = {name: _key(text) for name, text in fields.mapping("members").items()}
            self.fits = fields.items("fits")
            self.schemas = [_read_fit(fit) for fit in self.fits]
            self.predictions = fields.maybe(fields.mapping, "predictions")
            if self.predictions is not None:
                _check_predictions(self.predictions)
            super().__init__(members, _key(fields.text("driver")))
        except UNREADABLE as error:
            problem = str(error)
        else:
            self._digest = hashlib.sha256(framed(self._protocol, canonical(content))).digest()
            # For predictions, which are no integers. Without its warning: a site says how many are enough.
            self._floats = MaskedSum.__new__(MaskedSum)
            Roster.__init__(self._floats, members, self._receiver)
            return
        raise ConsentError(f"this is no roster of a study that can be used: {problem}.")

    @property
    def fingerprint(self) -> str:
        """Digest of the whole document, 160 bits, in groups of four digits to be read aloud."""
        digits = self._digest.hex()
        return " ".join(digits[at : at + 4] for at in range(0, 40, 4))

    def name_of(self, key: SiteKey) -> str:
        """Return the member with this key; ConsentError if there is none."""
        found = [name for name, public in self._members.items() if public == key.public]
        if not found:
            raise ConsentError("this site's public key is not on the roster.")
        return found[0]

    def read_task(self, text: str) -> RoundTask:
        """Read a round; ConsentError unless it can be of this study, and fails for no rows at all."""
        task = RoundTask.from_bytes(text.encode())
        self.matching(task)
        try:
            try_plan(task.plan, task.schema)
        except Exception:
            raise ConsentError("the plan cannot count all rows that the roster allows.") from None
        return task

    def matching(self, task: RoundTask) -> list[int]:
        """Return which fits a round can be of; ConsentError if it is of none."""
        read, plan, number = without_key(task.schema), task.plan, task.number
        first = None if number else plan_digest(plan)
        found = [
            place
            for place, fit in enumerate(self.fits)
            if plan.kind in PLAN_KINDS[fit["estimator"]]
            and number < most_rounds(fit)
            and fit["schema"] == read
            and first in (None, fit["plan"])
        ]
        if not found or plan.n_sums > _MOST_SUMS:
            raise ConsentError(
                "the task is outside the study: no fit of the roster reads the rows in this way, begins with "
                "this plan, has plans of this kind, or so many rounds or sums. Fit the estimator with the "
                "parameters of the roster."
            )
        return found

    def place_of(self, look: InspectFunction) -> int:
        """Return the first fit whose rows a source looks at; ConsentError if there is none."""
        domain = None if look.domain is None else look.domain.to_dict()
        classes = None if look.classes is None else declared_classes(look.classes).tolist()
        asked = look.columns.to_dict() | {"strict": look.strict, "domain": domain, "classes": classes}
        for place, fit in enumerate(self.fits):
            agreed = {name: fit["schema"][name] for name in asked}
            # A source may leave features unnamed; the roster's are looked at.
            if agreed == asked or agreed | {"features": None} == asked:
                return place
        raise ConsentError("no fit of the roster is of these columns, target, classes, mode and domain.")

    def kinds_of(self, place: int) -> frozenset[str]:
        """Return the kinds of plans of one of the fits."""
        return PLAN_KINDS[self.fits[place]["estimator"]]

    # Messages.

    def binding(self, request: bytes) -> bytes:
        """Return what all that is sent about a request is bound to."""
        return hashlib.sha256(framed(self._protocol, self._digest, request)).digest()

    def seal_request(self, driver: SiteKey, name: str, request: bytes) -> bytes:
        """Return a request for one site."""
        link = self._link(driver, self._members[name], b"request", bytes(KEY_BYTES))
        sealed = seal(link, request, self._context(b"request", b"", name))
        return self._protocol + self._digest + sealed

    def read_request(self, name: str, key: SiteKey, message: bytes) -> bytes:
        """Return a request that the driver made for this site; ConsentError for anything else."""
        head = len(self._protocol)
        if message[:head] != self._protocol:
            raise ConsentError("the request is not of this version of the protocol: update skprivate.")
        if message[head : head + KEY_BYTES] != self._digest:
            raise ConsentError("the request is of another study or roster than this site has joined.")
        link = self._link(key, self._receiver, b"request", bytes(KEY_BYTES))
        return unseal(link, message[head + KEY_BYTES :], self._context(b"request", b"", name))

    def seal_reply(self, name: str, key: SiteKey, request: bytes, content: bytes) -> bytes:
        """Return a site's reply, sealed to the driver."""
        binding = self.binding(request)
        link = self._link(key, self._receiver, b"reply", binding)
        return self._protocol + seal(link, content, self._context(b"reply", binding, name))

    def read_reply(self, driver: SiteKey, name: str, request: bytes, message: bytes) -> bytes:
        """Return the content of one site's reply to this very request; ConsentError for anything else."""
        binding = self.binding(request)
        link = self._link(driver, self._members[name], b"reply", binding)
        sealed = message.removeprefix(self._protocol)
        return unseal(link, sealed, self._context(b"reply", binding, name))

    # Sums.

    def mask_integers(self, key: SiteKey, request: bytes, values: IntArray) -> bytes:
        """Return integers under masks, with two zeros behind them."""
        name, binding = self.name_of(key), self.binding(request)
        total = np.zeros(len(values) + _ZEROS, dtype=_WORD)
        total[:-_ZEROS] = values.astype("<i8").view(_WORD)
        for peer in self._order:
            if peer != name:
                secret = key.agree(self._members[peer], self._protocol)
                stream = key_stream(stretch(secret, b"integers" + binding, KEY_BYTES))
                words = np.frombuffer(stream.update(bytes(total.nbytes)), dtype=_WORD)
                total = total + words if peer > name else total - words
        return total.tobytes()

    def add_integers(self, contents: Sequence[bytes], length: int) -> IntArray:
        """Return the sum of what every site masked; ConsentError where the masks do not cancel."""
        total = np.zeros(length + _ZEROS, dtype=_WORD)
        for content in contents:
            if len(content) != total.nbytes:
                raise ConsentError("Nothing was opened: a site masked another number of sums.")
            total = total + np.frombuffer(content, dtype=_WORD)
        if len(contents) != len(self._order) or total[-_ZEROS:].any():
            raise ConsentError("Nothing was opened: the masks do not cancel; a site was asked otherwise.")
        return total[:-_ZEROS].astype(np.uint64).view(np.int64)

    def mask_answers(self, key: SiteKey, request: bytes, values: Any, sizes: Any) -> bytes:
        """Return answers times sizes, and sizes, under masks of numbers modulo 2^256, with a row of zeros.

        ValueError where an answer is infinite, or too large for sums to be exact.
        """
        pairs = _as_pairs(np.append(values, 0.0), np.append(np.repeat(sizes, values.shape[1]), 0.0))
        return self._floats._masked(self.name_of(key), key, self.binding(request), pairs)

    def add_answers(self, contents: Sequence[bytes], n_rows: int) -> tuple[Any, Any]:
        """Return the sums of values and of sizes; ConsentError where the masks do not cancel."""
        if len(contents) != len(self._order):
            raise ConsentError("Nothing was opened: an answer of every site is needed.")
        values, sizes = self._floats._add(contents, n_rows + 1)
        if values[-1] or sizes[-1]:
            raise ConsentError("Nothing was opened: the masks do not cancel; a site was asked otherwise.")
        return values[:-1], sizes[:-1]


def read_plain(request: bytes) -> dict[str, Any]:
    """Return the JSON of a request, which has one form."""
    content = parse_json(request)
    if not isinstance(content, dict) or canonical(content) != request:
        raise ValueError("a request must be canonical JSON")
    return content


def _key(text: Any) -> bytes:
    key = bytes.fromhex(text) if type(text) is str else b""
    if len(key) != KEY_BYTES or key.hex() != text:
        raise ValueError("a public key is 32 bytes in lower-case hexadecimal digits")
    return key


def _read_fit(content: Any) -> RowSchema:
    fields = Fields(content, _FIT, what="a fit")
    fields.integer("runs", 1, _MOST_RUNS)
    fields.text("plan")
    if fields.text("estimator") not in PLAN_KINDS:
        raise ValueError("a fit is of an estimator that has no rounds")
    if not all(type(value) is str for value in fields.mapping("parameters").values()):
        raise ValueError("the parameters of a fit must be texts")
    schema = fields.mapping("schema")
    grouped = schema.get("max_rows_per_unit") is not None
    found = RowSchema.from_dict({**schema, "key": "00" * PERSON_KEY_BYTES if grouped else ""})
    if without_key(found) != schema or found.columns.features is None:
        raise ValueError("a schema is not in the one form that is written, or names no columns")
    return found


def _check_predictions(content: dict[str, Any]) -> None:
    fields = Fields(content, _PREDICTIONS, what="the predictions")
    check_columns(fields.texts("columns"), len(fields.texts("columns")))
    fields.maybe(fields.items, "classes")
    fields.texts("askers")
    fields.integer("n_rows", 1, MOST_ROWS)
    fields.maybe(fields.integer, "most_rows", 1, MOST_ROWS)
