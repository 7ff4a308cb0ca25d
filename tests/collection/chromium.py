# SPDX-License-Identifier: BSD-3-Clause
"""A real Chromium, driven over its own protocol through two pipes; nothing but the browser is needed."""

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
#: The browser that the tests drive; None where there is none.
PROGRAM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
# The browser reads its descriptor 3 and writes to 4.
_LAUNCH = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3])
os.dup2(read, 3), os.dup2(write, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
_OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe")


class Browser:
    """A browser; use it in a ``with`` block."""

    def __init__(self, profile):
        (theirs_in, mine_out), (mine_in, theirs_out) = os.pipe(), os.pipe()
        launch = [sys.executable, "-c", _LAUNCH, str(theirs_in), str(theirs_out)]
        self._process = subprocess.Popen(
            [*launch, PROGRAM, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out, self._numbers, self._rest = mine_in, mine_out, itertools.count(1), b""

    def call(self, method, session=None, **parameters):
        """Return the result of a command."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        data = json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            found = self._receive()
            if found.get("id") == number:
                if "error" in found:
                    raise RuntimeError(found["error"])
                return found["result"]

    def _receive(self):
        while b"\0" not in self._rest:
            part = os.read(self._in, 2**16)
            if not part:
                raise RuntimeError("the browser has ended")
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Not by a signal: the program may be a script that starts the browser.
        with contextlib.suppress(RuntimeError, OSError):
            self.call("Browser.close")
        os.close(self._in)
        os.close(self._out)
        self._process.wait(30)


class Page:
    """A page of one person: no other page sees what it stores. Use it in a ``with`` block."""

    def __init__(self, browser, url):
        self._browser = browser
        self._context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=self._context)[
            "targetId"
        ]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._script = None
        self.call("Page.enable")
        self.open(url)

    def call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def open(self, url, script=None):
        """Load an address, and run a script before those of the page."""
        if self._script is not None:
            self.call("Page.removeScriptToEvaluateOnNewDocument", identifier=self._script)
            self._script = None
        if script is not None:
            found = self.call("Page.addScriptToEvaluateOnNewDocument", source=script)
            self._script = found["identifier"]
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)

    def run(self, expression):
        """Return the value of an expression, or of its promise."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["exception"]["description"])
        return found["result"].get("value")

    def wait(self, expression, seconds=60):
        """Return the value of an expression once it is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if value := self.run(expression):
                    return value
            except RuntimeError:  # the page is not there yet
                pass
            time.sleep(0.01)
        raise TimeoutError(f"never true: {expression}; the page says {self.run('document.body.innerText')}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._browser.call("Target.disposeBrowserContext", browserContextId=self._context)
