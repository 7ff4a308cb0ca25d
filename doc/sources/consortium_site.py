# SPDX-License-Identifier: BSD-3-Clause
"""A site of a study: python consortium_site.py key | join ROSTER FINGERPRINT | serve [PORT] | log."""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd

from skprivate import LocalAverageRegressor
from skprivate.collaborative import CollaborativeSite, SiteState

FEATURES, MOST_BYTES = ["age", "dose"], 2**22
BOUNDS = [20, 0], [90, 10]


def rows():
    """Read the site's own rows, the same in every round."""
    return pd.read_csv("rows.csv")


def model(total):
    """Return the site's own model, refined to the rows of all sites without choosing a bandwidth anew."""
    own = rows()
    X, y = own[FEATURES].to_numpy(), own["response"]
    chosen = LocalAverageRegressor(bandwidth="cv", bounds=BOUNDS).fit(X, y).bandwidth_cv_
    average = LocalAverageRegressor(bandwidth=chosen, refine_to=total, bounds=BOUNDS).fit(X, y)
    return CollaborativeSite("own", average, len(own), columns=FEATURES)


class Handler(BaseHTTPRequestHandler):
    """Passes bytes to the state, and returns its bytes: a refusal is a reply, too."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # without it a reply waits 40 ms for an acknowledgement
    timeout = 600

    def do_POST(self):
        length = int(self.headers.get("Content-Length", -1))
        if not 0 <= length <= MOST_BYTES:
            return self.send_error(413)
        reply = self.server.state.answer(self.rfile.read(length), rows, model)
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        """Write nothing: `log` shows what was asked."""


def main(what, *given):
    state = SiteState("site.state", least=3, most=1000)
    if what == "key":
        print(state.public.hex())
    elif what == "join":
        print("joined as", state.enrol(Path(given[0]).read_bytes(), given[1]))
    elif what == "log":
        print(pd.DataFrame(state.log()).to_string())
    elif what == "serve":
        server = ThreadingHTTPServer(("", int(given[0]) if given else 8080), Handler)
        server.state = state
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
