"""three-vrm in headless Chromium, at our command: the peer our loader, poses and pictures are held against.

A page of ours (``three_vrm.html``) runs in the browser and draws by software. It asks a server on the loopback
interface what to do next and posts the answer, so no driver program is needed.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from engines.store import files_dir

HERE = Path(__file__).parent
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
START_SECONDS = 60.0
ANSWER_SECONDS = 60.0
_KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript"}
_OPTIONS = (
    "--headless", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run",
    "--disable-dev-shm-usage", "--no-proxy-server", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-extensions", "--disable-default-apps", "--mute-audio", "--password-store=basic",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
"""Draws on the processor, asks no network. The sandbox is off because root and containers cannot have it; only our
own page is ever opened."""

Turns = Mapping[str, Sequence[float]]


class PeerError(RuntimeError):
    """three-vrm or the browser failed; the message is theirs."""


def browser() -> str | None:
    """The Chromium of this machine."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


class ThreeVrm:
    """One browser with one avatar at a time. A context manager; raises ``PeerError`` with the browser's own words."""

    def __init__(self) -> None:
        program = browser()
        if program is None:
            raise PeerError(
                "No Chromium is here. Install: apt-get install --no-install-recommends chromium-headless-shell"
            )
        self._commands: queue.Queue[bytes] = queue.Queue(1)
        self._answers: queue.Queue[bytes] = queue.Queue(1)
        self._closing = threading.Event()
        self._avatar = b""
        self._folder = Path(tempfile.mkdtemp(prefix="idol-chromium-"))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._serving = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="three-vrm")
        self._serving.start()
        self._process: subprocess.Popen[bytes] | None = None
        try:
            with (self._folder / "browser.log").open("wb") as log:
                self._process = subprocess.Popen(
                    [program, *_OPTIONS, f"--user-data-dir={self._folder}",
                     f"http://127.0.0.1:{self._server.server_port}/three_vrm.html"],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                    env={**os.environ, "HOME": str(self._folder)},
                )  # fmt: skip
            self.about: dict[str, Any] = self._ask("about", START_SECONDS)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and the server."""
        self._closing.set()
        if self._process is not None:
            for how in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(self._process.pid, how)
                except ProcessLookupError:
                    break
                try:
                    self._process.wait(3)
                except subprocess.TimeoutExpired:
                    continue
            self._process.wait()
        self._server.shutdown()
        self._serving.join()
        self._server.server_close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def load(self, path: Path) -> dict[str, Any]:
        """Load a VRM file: ``version``, ``title``, ``bones`` (node, world position and rotation at rest by name),
        ``expressions`` (names), ``springs`` (nodes of joints), ``meshes`` (node, primitive, corners, morphs).

        A VRM 0.x is turned to face +Z, as three-vrm's users do.
        """
        self._avatar = path.read_bytes()
        answer: dict[str, Any] = self._ask("load", url="/avatar")
        return answer

    def pose(
        self,
        turns: Turns | None = None,
        expressions: Mapping[str, float] | None = None,
        target: Sequence[float] | None = None,
        steps: int = 0,
        seconds: float = 0.0,
        reset: bool = True,
    ) -> dict[str, Any]:
        """Set normalised bones (x y z w), expressions and the point looked at; swing ``steps`` times ``seconds``.

        Answers with ``bones`` (world position and rotation by name), ``morphs`` (influences by node), ``materials``
        (colours by material), ``springs`` (joints with node, position and rotation), ``gaze`` (degrees).
        """
        answer: dict[str, Any] = self._ask(
            "pose", turns={name: [float(v) for v in turn] for name, turn in (turns or {}).items()},
            expressions=dict(expressions or {}), target=None if target is None else [float(v) for v in target],
            steps=steps, seconds=seconds, reset=reset,
        )  # fmt: skip
        return answer

    def corners(self, stride: int) -> dict[tuple[int, int], NDArray[np.float64]]:
        """World positions (K, 3) of every ``stride``-th triangle corner by (node, primitive), in the present pose."""
        return {
            (item["node"], item["primitive"]): np.asarray(item["positions"], np.float64).reshape(-1, 3)
            for item in self._ask("corners", stride=stride)
        }

    def picture(
        self,
        view: NDArray[np.float64],
        projection: NDArray[np.float64],
        size: tuple[int, int],
        *,
        outlines: bool = True,
    ) -> NDArray[np.uint8]:
        """RGBA (height, width, 4), premultiplied alpha, first row on top, transparent behind her."""
        width, height = size
        data = base64.b64decode(
            self._ask(
                "picture", view=view.reshape(-1).tolist(), projection=projection.reshape(-1).tolist(),
                width=width, height=height, outlines=outlines,
            )
        )  # fmt: skip
        return np.frombuffer(data, np.uint8).reshape(height, width, 4)[::-1]

    def _ask(self, verb: str, timeout: float = ANSWER_SECONDS, **parameters: Any) -> Any:
        self._commands.put(json.dumps({"verb": verb, "parameters": parameters}).encode(), timeout=timeout)
        try:
            answer = json.loads(self._answers.get(timeout=timeout))
        except queue.Empty:
            state = "still runs" if self._process and self._process.poll() is None else "has ended"
            log = (self._folder / "browser.log").read_text(errors="replace")[-1500:]
            raise PeerError(
                f"No answer to {verb!r} within {timeout:.0f} s; the browser {state}. It says:\n{log}"
            ) from None
        if "fault" in answer:
            raise PeerError(f"{verb}: {answer['fault']}")
        return answer["value"]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        peer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/next":
                    while True:
                        try:
                            command = peer._commands.get(timeout=0.1)
                            break
                        except queue.Empty:
                            if peer._closing.is_set():
                                self.close_connection = True
                                return
                    return self._send(command, "application/json")
                if self.path == "/avatar":
                    return self._send(peer._avatar, "model/gltf-binary")
                root = files_dir() if self.path.startswith("/files/") else HERE
                path = root / self.path.removeprefix("/files").lstrip("/")
                if path.suffix not in _KINDS or not path.is_file():
                    return self.send_error(404)
                return self._send(path.read_bytes(), _KINDS[path.suffix])

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/fault":
                    body = json.dumps({"fault": body.decode(errors="replace")}).encode()
                self._send(b"", "text/plain")
                peer._answers.put(body)

            def _send(self, body: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler
