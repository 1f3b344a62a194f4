"""Fetching from a hub and from local files: breaks, wrong bytes, full disks, cancelling, two at once."""

from __future__ import annotations

import errno
import hashlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines import fetch_part
from engines.catalogue import Catalogue, Model
from engines.errors import Cancelled, FetchError
from engines.fetch import Fetcher, FetchProgress
from engines.fetch_lock import fetch_lock
from engines.fetch_part import PartFile, arrived, part_path
from engines.fetch_verify import verify
from tests.engines.fetch_world import HUB, Server, catalogue_of, entry

BYTES = os.urandom(3_000_001)
ADDRESS = "/someone/model/resolve/main/model.bin"


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "models"
    monkeypatch.setenv("IDOL_MODELS", str(root))
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setattr("engines.sources.hub_blocks.__kwdefaults__", {"pause": 0.0, "answer": 2.0})
    return root


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server() as server:
        server.files[ADDRESS] = BYTES
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def one(*sources: str, data: bytes = BYTES) -> Model:
    return catalogue_of(entry("m", "model.bin", data, *sources)).models["m"]


def local(path: Path) -> str:
    return f'kind = "local"\npath = "{path}"'


def whole(model: Model) -> bool:
    path = model.folder / "model.bin"
    leftovers = [item.name for item in model.folder.iterdir() if item != path]
    return path.read_bytes() == BYTES and not leftovers and not model.missing()


def test_a_file_comes_from_the_hub(hub: Server) -> None:
    model = one(HUB)
    seen: list[FetchProgress] = []
    assert model.missing()
    Fetcher([model], seen.append).run()
    assert whole(model)
    assert [state.done for state in seen] == sorted(state.done for state in seen)
    assert {(state.model, state.file, state.source, state.total) for state in seen} == {
        ("m", "model.bin", "hub", len(BYTES))
    }
    Fetcher([model]).run()
    assert len(hub.requests) == 1, "what is here is not fetched again"


def test_a_broken_connection_goes_on_where_it_broke(hub: Server) -> None:
    hub.breaks, hub.break_after = 2, 1_000_000
    model = one(HUB)
    Fetcher([model]).run()
    assert whole(model)
    assert [wanted for _, wanted in hub.requests] == ["", "bytes=1000000-", "bytes=2000000-"]


def test_a_server_without_ranges_is_read_from_the_start(hub: Server) -> None:
    hub.breaks, hub.break_after, hub.ranges = 1, 1_000_000, False
    model = one(HUB)
    Fetcher([model]).run()
    assert whole(model)


@pytest.mark.parametrize("stop", [Cancelled("stop"), KeyboardInterrupt()])
def test_cancelled_and_started_again_it_fetches_only_the_rest(hub: Server, stop: BaseException) -> None:
    model = one(HUB)

    def progress(state: FetchProgress) -> None:
        if state.done > 1_000_000:
            raise stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engines.fetch_rate.REPORT_SECONDS", 0.0)
        with pytest.raises(type(stop)):
            Fetcher([model], progress).run()
    assert model.missing(), "half a file does not count as there"
    have = arrived(model.folder / "model.bin")
    assert 1_000_000 < have < len(BYTES)
    Fetcher([model]).run()
    assert whole(model)
    assert hub.requests[-1][1] == f"bytes={have}-"


def test_cancel_ends_a_wait_for_a_silent_hub(hub: Server) -> None:
    hub.silent.clear()
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        Fetcher([one(HUB)], cancel=lambda: time.monotonic() - begun > 0.3).run()
    assert time.monotonic() - begun < 1.5


def test_a_silent_hub_is_given_up_once_for_all_files(hub: Server, tmp_path: Path) -> None:
    hub.silent.clear()
    (tmp_path / "model.bin").write_bytes(BYTES)
    source = local(tmp_path / "model.bin")
    catalogue = catalogue_of(*(entry(name, "model.bin", BYTES, HUB, source) for name in ("m", "n", "o")))
    begun = time.monotonic()
    Fetcher(list(catalogue.models.values())).run()
    assert time.monotonic() - begun < 4.0
    assert len(hub.requests) == 1
    assert all(whole(model) for model in catalogue.models.values())


def test_killed_it_goes_on_from_the_last_checkpoint(hub: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_part, "CHECKPOINT_BYTES", 500_000)
    model = one(HUB)
    child = multiprocessing.get_context("fork").Process(target=_fetch_until_killed, args=(model,))
    child.start()
    child.join(20)
    assert child.exitcode == -signal.SIGKILL
    Fetcher([model]).run()
    assert whole(model)
    resumed = int(hub.requests[-1][1].removeprefix("bytes=").rstrip("-"))
    assert 1_000_000 <= resumed < len(BYTES)


def _fetch_until_killed(model: Model) -> None:
    def progress(state: FetchProgress) -> None:
        if state.done > 2_000_000:
            os.kill(os.getpid(), signal.SIGKILL)

    fetcher = Fetcher([model], progress)
    fetch_part_report_every_block()
    fetcher.run()


def fetch_part_report_every_block() -> None:
    import engines.fetch_rate

    engines.fetch_rate.REPORT_SECONDS = 0.0


def test_wrong_bytes_are_refused_and_the_next_source_is_tried(hub: Server, tmp_path: Path) -> None:
    hub.files[ADDRESS] = BYTES[:-1] + bytes([BYTES[-1] ^ 1])
    with pytest.raises(FetchError, match=r"model.bin from hub has another SHA-256"):
        Fetcher([one(HUB)]).run()
    assert one(HUB).missing()
    (tmp_path / "model.bin").write_bytes(BYTES)
    model = one(HUB, local(tmp_path / "model.bin"))
    Fetcher([model]).run()
    assert whole(model)


@pytest.mark.parametrize("change", [-1000, 1000])
def test_a_file_of_another_length_is_refused(hub: Server, tmp_path: Path, change: int) -> None:
    other = BYTES[:change] if change < 0 else BYTES + bytes(change)
    (tmp_path / "model.bin").write_bytes(other)
    hub.files[ADDRESS] = other
    with pytest.raises(FetchError, match=r"Tried: \(1\) .* \(2\) .*") as caught:
        Fetcher([one(HUB, local(tmp_path / "model.bin"))]).run()
    assert (f"{len(other)} bytes, not {len(BYTES)}" if change < 0 else "is larger than") in str(caught.value)
    assert one(HUB).missing()


def test_a_damaged_part_is_fetched_afresh_from_the_same_source(hub: Server) -> None:
    model = one(HUB)
    target = model.folder / "model.bin"
    with PartFile(target, 0, model.files[0].sources[0]) as part:
        part.append(bytes(1_000_000))
    Fetcher([model]).run()
    assert whole(model)
    assert [wanted for _, wanted in hub.requests] == ["bytes=1000000-", ""]


def test_bytes_behind_the_certain_ones_are_not_trusted(hub: Server) -> None:
    model = one(HUB)
    target = model.folder / "model.bin"
    with PartFile(target, 0, model.files[0].sources[0]) as part:
        part.append(BYTES[:1_000_000])
    with part_path(target, 0, model.files[0].sources[0]).open("ab") as file:
        file.write(bytes(5000))
    Fetcher([model]).run()
    assert whole(model)
    assert hub.requests[0][1] == "bytes=1000000-"


def test_without_network_the_message_says_what_was_tried_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(FetchError) as caught:
        Fetcher([one(HUB, local(Path("/nowhere/model.bin")))]).run()
    text = str(caught.value)
    assert "(1) the hub cannot be reached" in text
    assert "(2) /nowhere/model.bin cannot be read" in text
    assert "Check the network and start again" in text
    assert "models verify" in text


@pytest.mark.parametrize("status", [401, 404])
def test_a_hub_without_the_file_is_asked_once(hub: Server, status: int) -> None:
    hub.status = status
    with pytest.raises(FetchError, match=f"the hub answers {status} for someone/model/model.bin"):
        Fetcher([one(HUB)]).run()
    assert len(hub.requests) == 1


def test_an_overloaded_hub_is_asked_again(hub: Server) -> None:
    hub.status = 503
    with pytest.raises(FetchError, match="stopped answering"):
        Fetcher([one(HUB)]).run()
    assert len(hub.requests) == 4


def test_too_little_room_is_said_before_anything_is_fetched(hub: Server, models: Path) -> None:
    with pytest.raises(FetchError) as caught:
        Fetcher([one(HUB)], spare=5_000_000_000, free_bytes=lambda folder: 1_000_000_000).run()
    text = str(caught.value)
    assert "5.0 GB are needed" in text and "1.0 GB are free" in text and str(models) in text and "IDOL_MODELS" in text
    assert not hub.requests


def test_room_already_taken_by_a_part_is_not_asked_for_again(hub: Server) -> None:
    model = one(HUB)
    with PartFile(model.folder / "model.bin", 0, model.files[0].sources[0]) as part:
        part.append(BYTES[:2_000_000])
    Fetcher([model], spare=0, free_bytes=lambda folder: 1_100_000).run()
    assert whole(model)


def test_a_disk_that_fills_keeps_what_is_certain(hub: Server, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = one(HUB)
    write = PartFile.append

    def full(part: PartFile, block: bytes) -> None:
        if part.size + len(block) > 2_000_000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(part, block)

    with monkeypatch.context() as patch:
        patch.setattr(PartFile, "append", full)
        with pytest.raises(FetchError) as caught:
            Fetcher([model]).run()
    text = str(caught.value)
    assert "The disk is full" in text and str(model.folder) in text and "0.2 GB more" in text and "IDOL_MODELS" in text
    assert model.missing()
    Fetcher([model]).run()
    assert whole(model)
    assert hub.requests[-1][1].startswith("bytes=1")


def test_a_folder_that_cannot_be_made_is_named(hub: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path / "file" / "models"))
    with pytest.raises(FetchError, match=r"cannot be written.*IDOL_MODELS"):
        Fetcher([one(HUB)]).run()


def test_two_fetchers_do_not_run_at_once(hub: Server, models: Path) -> None:
    model = one(HUB)
    hub.silent.clear()
    failures: list[BaseException] = []

    def first() -> None:
        try:
            Fetcher([model]).run()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=first)
    thread.start()
    while not hub.requests:
        time.sleep(0.01)
    with pytest.raises(FetchError, match=rf"Another fetch is running \(process {os.getpid()}\)"):
        Fetcher([model]).run()
    hub.silent.set()
    thread.join(10)
    assert not failures
    assert whole(model)
    Fetcher([one(HUB)]).run()


def test_a_lock_dies_with_its_process(models: Path) -> None:
    def hold() -> None:
        with fetch_lock(models / "fetch.lock"):
            os.kill(os.getpid(), signal.SIGKILL)

    child = multiprocessing.get_context("fork").Process(target=hold)
    child.start()
    child.join(10)
    assert (models / "fetch.lock").exists()
    with fetch_lock(models / "fetch.lock"):
        pass


def test_verify_names_missing_short_and_changed_files(hub: Server) -> None:
    model = one(HUB)
    assert [problem.what for problem in verify(model)] == ["is missing"]
    Fetcher([model]).run()
    assert verify(model) == []
    path = model.folder / "model.bin"
    path.write_bytes(BYTES[:-5])
    assert [problem.what for problem in verify(model)] == [f"has {len(BYTES) - 5} bytes instead of {len(BYTES)}"]
    assert model.missing(), "a truncated file is seen without reading it"
    path.write_bytes(bytes(len(BYTES)))
    assert [problem.what for problem in verify(model)] == ["has another SHA-256 than the catalogue says"]
    assert path.exists(), "verify changes nothing"


def test_a_set_is_counted_as_one(hub: Server) -> None:
    second = b"x" * 1_000_000
    hub.files["/someone/model/resolve/main/second.bin"] = second
    catalogue: Catalogue = catalogue_of(
        entry("m", "model.bin", BYTES, HUB),
        entry("n", "second.bin", second, HUB.replace("model.bin", "second.bin")),
    )
    seen: list[FetchProgress] = []
    Fetcher(list(catalogue.models.values()), seen.append).run()
    assert {state.total for state in seen} == {len(BYTES) + len(second)}
    assert seen[-1].done <= seen[-1].total
    assert hashlib.sha256((catalogue.models["n"].folder / "second.bin").read_bytes()).digest() == (
        hashlib.sha256(second).digest()
    )
