"""Builds plans in a child process: a builder that crashes, hangs or eats memory takes nobody with it, and can be ended.

The child (``engines.trt.build_child``) reports one JSON object per line and writes into a folder of its own beside the
plans; plan and note are moved out of it when both are whole, so no half plan is ever found.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from engines.errors import Cancelled
from engines.trt.flavours import Card, Flavour, TensorRTError
from engines.trt.plans import BuildRequest, graph_digest, plan_path, timing_cache_path

Progress = Callable[[float, str], None]
CHILD: tuple[str, ...] = ("-m", "engines.trt.build_child")
"""What Python is asked to run as the builder."""
WORKING = "building-"
"""How the folders of builds begin; one that is left behind belongs to a program that was ended."""
_ROOT = Path(__file__).resolve().parents[2]
_NO_ROOM = "Free disk space."
"""The child's remedy when it could not write."""


class StorageError(TensorRTError):
    """Plans cannot be written: no room, or no permission. Building again helps once that is put right."""


def ensure_plan(
    request: BuildRequest,
    flavour: Flavour,
    card: Card | None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Path:
    """The plan's path, built now when it is not there. Raises ``TensorRTError`` naming the layer, or ``Cancelled``."""
    if flavour.name == "tensorrt_rtx" and not request.targets and card is not None:
        request = replace(request, targets=(card.capability,))  # else it is built for all its default targets
    path = plan_path(request, flavour, card)
    if path.exists():
        return path
    failed = path.with_suffix(".failed")
    if failed.exists():
        reason = failed.read_text(encoding="utf-8", errors="replace")[:500]
        raise TensorRTError(f"{reason} (tried before)", "Try again: main.py engines build --force.")
    try:
        build_plan(request, flavour, path, timing_cache_path(flavour, card), progress, cancelled, card)
    except StorageError:
        raise
    except TensorRTError as error:
        with contextlib.suppress(OSError):  # a build that fails in minutes is not tried at every start
            failed.write_text(error.message, encoding="utf-8")
        raise
    return path


def build_plan(
    request: BuildRequest,
    flavour: Flavour,
    path: Path,
    timing_cache: Path | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    card: Card | None = None,
) -> dict[str, object]:
    """Build ``request`` to ``path``; returns what is noted beside it (``seconds``, ``bytes``, ``layers``, ``sha256``).

    Raises ``TensorRTError`` naming the layer, ``StorageError`` when the plan cannot be written, or ``Cancelled``.
    """
    tell = progress or (lambda fraction, text: None)
    tell(0.0, f"building {request.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        working = Path(tempfile.mkdtemp(prefix=f"{WORKING}{os.getpid()}-", dir=path.parent))
    except OSError as error:
        raise _storage_error(path.parent, error) from error
    try:
        order: dict[str, object] = {
            "request": request.document(),
            "flavour": asdict(flavour),
            "plan": str(working / path.name),
            "timing_cache": str(timing_cache) if timing_cache is not None and flavour.has_timing_cache else "",
        }
        result = _built_by_child(order, request, tell, cancelled or (lambda: False))
        if "error" in result:
            message, remedy = f"{request.name} could not be built: {result['error']}.", str(result.get("remedy", ""))
            raise (StorageError if remedy == _NO_ROOM else TensorRTError)(message, remedy)
        with (working / path.name).open("rb") as file:
            result["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
        result["graph_sha256"] = graph_digest(request.graph)
        if card is not None:
            result["card"], result["driver"] = card.name, card.driver
        note = (working / path.name).with_suffix(".json")
        note.write_text(json.dumps(result), encoding="utf-8")
        note.replace(path.with_suffix(".json"))
        (working / path.name).replace(path)
    except OSError as error:
        raise _storage_error(path.parent, error) from error
    finally:
        shutil.rmtree(working, ignore_errors=True)
    tell(1.0, f"built {request.name}")
    return result


def _storage_error(folder: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{folder} cannot be written: {error.strerror}.", "Free disk space, or name another place with IDOL_MODELS."
    )


def _built_by_child(
    order: dict[str, object], request: BuildRequest, tell: Progress, stopped: Callable[[], bool]
) -> dict[str, object]:
    """The child's last words. Raises ``TensorRTError`` when it dies without any."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as trouble:
        search = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
        child = subprocess.Popen(
            [sys.executable, *CHILD],
            cwd=_ROOT, env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, search))},
            text=True, encoding="utf-8", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=trouble,
            # A terminal's Ctrl-C is ours alone: a child that died of it would look like a build that failed.
            start_new_session=True, creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )  # fmt: skip
        try:
            result = _follow(child, order, request, tell, stopped, time.monotonic())
        finally:
            if child.poll() is None:
                child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    pipe.close()
        if result is not None:
            return result
        trouble.seek(0)
        last = " ".join(trouble.read()[-600:].split())
        raise TensorRTError(
            f"The builder of {request.name} ended with {child.returncode}: {last or 'no message'}.",
            "The engine runs on the CPU instead; report this with the log.",
        )


def _follow(
    child: subprocess.Popen[str],
    order: dict[str, object],
    request: BuildRequest,
    tell: Progress,
    stopped: Callable[[], bool],
    started: float,
) -> dict[str, object] | None:
    """Hand the order to the child and read its lines until the last; None when it dies without one."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert child.stdout is not None  # a pipe was asked for
        try:
            for line in child.stdout:
                lines.put(line)
        except ValueError:
            pass  # the pipe was closed: the build is being cancelled
        lines.put(None)

    reader = threading.Thread(target=read, name="idol-build-reader", daemon=True)
    reader.start()
    assert child.stdin is not None  # a pipe was asked for
    try:
        child.stdin.write(json.dumps(order))
        child.stdin.close()
    except OSError:
        pass  # it died at once; its stderr says why
    try:
        while True:
            if stopped():
                raise Cancelled(f"Building {request.name} was cancelled.")
            try:
                line = lines.get(timeout=0.2)
            except queue.Empty:
                continue
            if line is None:
                return None
            try:
                said = json.loads(line)
            except ValueError:
                continue  # a library printed something
            if "fraction" in said:
                seconds = time.monotonic() - started
                tell(min(0.99, float(said["fraction"])), f"building {request.name}: {said['phase']}, {seconds:.0f} s")
            else:
                result: dict[str, object] = said
                return result
    finally:
        if child.poll() is None and stopped():
            child.kill()
        reader.join(2)
