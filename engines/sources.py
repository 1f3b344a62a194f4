"""The plain places model files come from: a hub over HTTPS and a local file. Packages are in ``packages``.

Each yields a file's bytes from an offset on.
"""

from __future__ import annotations

import http.client
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from engines.catalogue import Source
from engines.errors import Cancelled, FetchError

HUB = "https://huggingface.co"
"""The environment variable HF_ENDPOINT names a mirror, as it does for the hub's own client."""
SOCKET_SECONDS = 4.0
ANSWER_SECONDS = 8.0
"""Until the headers: name look-up, all addresses, TLS and redirects together."""
BREAKS = 4
"""So many breaks in a row without a byte between them, and the hub is given up."""
_BLOCK = 1 << 18
_AGAIN = (408, 429, 500, 502, 503, 504)

Cancel = Callable[[], bool]


class SourceDown(FetchError):
    """This kind of source does not answer; it is not asked again in this run."""


def hub_blocks(
    source: Source, offset: int, size: int, cancel: Cancel, *, pause: float = 0.5, answer: float = ANSWER_SECONDS
) -> Generator[bytes, None, None]:
    """Bytes ``offset`` to ``size`` of a hub file; a broken connection is taken up again where it broke.

    Raises ``FetchError`` when the hub has no such file, ``SourceDown`` when it does not answer, ``Cancelled``.
    """
    url = (
        f"{os.environ.get('HF_ENDPOINT', HUB).rstrip('/')}/{source.repository}/resolve/{source.revision}/{source.path}"
    )
    breaks = 0
    while offset < size:
        reason: object = "the connection ended early"
        begun = offset
        try:
            with _open(url, offset, cancel, answer) as response:
                if offset and response.status != 206:
                    _skip(response, offset, cancel)
                while block := response.read1(_BLOCK):
                    offset += len(block)
                    yield block
                    check(cancel)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code not in _AGAIN:
                raise FetchError(f"the hub answers {error.code} for {source.repository}/{source.path}.") from error
            reason = f"it answers {error.code}"
        except urllib.error.URLError as error:
            raise SourceDown(f"the hub cannot be reached ({error.reason}).") from error
        except (OSError, http.client.HTTPException) as error:
            reason = error
        breaks = breaks + 1 if offset == begun else 0
        if breaks >= BREAKS:
            raise SourceDown(f"the hub stopped answering ({reason}).")
        if offset < size:
            _wait(pause, cancel)


def local_blocks(source: Source, offset: int, size: int, cancel: Cancel) -> Generator[bytes, None, None]:
    """Bytes of a file on this machine from ``offset`` on. Raises ``FetchError``, ``Cancelled``."""
    try:
        file = Path(source.path).expanduser().open("rb")
    except OSError as error:
        raise FetchError(f"{source.path} cannot be read: {error.strerror}.") from error
    with file:
        file.seek(offset)
        while True:
            try:
                block = file.read(_BLOCK)
            except OSError as error:
                raise FetchError(f"{source.path} cannot be read: {error.strerror}.") from error
            if not block:
                return
            yield block
            check(cancel)


def check(cancel: Cancel) -> None:
    """Raises ``Cancelled`` when ``cancel`` says so."""
    if cancel():
        raise Cancelled("Fetching was cancelled.", "What has arrived is kept; start again to go on.")


def _wait(seconds: float, cancel: Cancel) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        check(cancel)
        time.sleep(0.05)


def _open(url: str, offset: int, cancel: Cancel, answer: float) -> Any:
    """Open ``url`` within ``answer`` seconds. A name look-up cannot be interrupted, so it happens on a thread that is
    left to itself when it takes too long; what it opens then is closed.
    """
    request = urllib.request.Request(url, headers={"Range": f"bytes={offset}-"} if offset else {})
    opening = _Opening()
    threading.Thread(target=opening.work, args=(request,), name="fetch-open", daemon=True).start()
    try:
        until = time.monotonic() + answer
        while not opening.ready.wait(0.05):
            check(cancel)
            if time.monotonic() > until:
                raise urllib.error.URLError(f"no answer within {answer:.0f} s")
    except BaseException:
        opening.abandon()
        raise
    result = opening.result
    if isinstance(result, urllib.error.URLError):
        raise result
    if isinstance(result, Exception):
        raise urllib.error.URLError(str(result)) from result
    return result


class _Opening:
    """A connection being opened on another thread. Whoever comes last, the opener or ``abandon``, closes it."""

    def __init__(self) -> None:
        self.ready = threading.Event()
        self.result: Any = None
        self._lock = threading.Lock()
        self._abandoned = False

    def work(self, request: urllib.request.Request) -> None:
        result: Any
        try:
            result = urllib.request.urlopen(request, timeout=SOCKET_SECONDS)
        except (OSError, ValueError, http.client.HTTPException) as error:
            result = error
        with self._lock:
            self.result = result
            if self._abandoned:
                self._close()
        self.ready.set()

    def abandon(self) -> None:
        with self._lock:
            self._abandoned = True
            self._close()

    def _close(self) -> None:
        if hasattr(self.result, "close"):
            self.result.close()


def _skip(response: Any, count: int, cancel: Cancel) -> None:
    """A server that knows no ranges sends the file from the start."""
    while count > 0 and (block := response.read1(min(_BLOCK, count))):
        count -= len(block)
        check(cancel)
