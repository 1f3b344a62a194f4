"""The health log: whole rows, one header, bounded size, an end without drama when the disk is full."""

from __future__ import annotations

import csv
import errno
import json
import logging
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.health import HealthLog, HealthSample
from engines.health.log import COLUMNS, RawFile

SAMPLE = HealthSample(
    12.3456, 1_700_000_000.25, "NVIDIA GeForce RTX 4070", utilisation=37, power=145.31239,
    memory_total=12 << 30, throttles=("thermal hardware", "power cap"), resident=5_000_000, processor=0.123456,
)  # fmt: skip


def at(number: int) -> HealthSample:
    return HealthSample(float(number), 1_700_000_000.0 + number, "card", utilisation=number % 100, throttles=())


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def test_a_row_is_on_the_disk_at_once(tmp_path: Path) -> None:
    log = HealthLog(tmp_path / "not" / "there yet")
    log.write(SAMPLE)
    (row,) = rows(log.path)
    assert tuple(row) == COLUMNS
    assert row["time"] == "2023-11-14T22:13:20.250+00:00"
    assert (row["at"], row["utilisation"], row["power"], row["temperature"]) == ("12.346", "37", "145.312", "")
    assert row["throttles"] == "thermal hardware; power cap"
    log.write(at(1))
    assert rows(log.path)[1]["throttles"] == "none"
    log.close()


def test_json_lines_keep_what_is_known(tmp_path: Path) -> None:
    log = HealthLog(tmp_path, "jsonl")
    log.write(SAMPLE)
    log.write(at(5))
    log.close()
    first, second = (json.loads(line) for line in (tmp_path / "health.jsonl").read_text("utf-8").splitlines())
    assert first["throttles"] == ["thermal hardware", "power cap"] and first["memory_total"] == 12 << 30
    assert "temperature" not in first and first["time"].startswith("2023-11-14T22:13:20.250")
    assert second["at"] == 5.0 and second["throttles"] == []


def test_the_header_is_written_once_over_many_starts(tmp_path: Path) -> None:
    for start in range(3):
        log = HealthLog(tmp_path)
        log.write(at(start))
        log.close()
    assert [row["at"] for row in rows(tmp_path / "health.csv")] == ["0.0", "1.0", "2.0"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_files_turn_over_by_size(form: str, tmp_path: Path) -> None:
    log = HealthLog(tmp_path, form, limit=1500, keep=3)  # type: ignore[arg-type]
    for number in range(200):
        log.write(at(number))
    log.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"health.1.{form}", f"health.2.{form}", f"health.{form}"]
    assert all(path.stat().st_size <= 1500 for path in tmp_path.iterdir())
    found = []
    for name in (f"health.2.{form}", f"health.1.{form}", f"health.{form}"):
        if form == "csv":
            found += [float(row["at"]) for row in rows(tmp_path / name)]
        else:
            found += [json.loads(line)["at"] for line in (tmp_path / name).read_text().splitlines()]
    assert found == [float(n) for n in range(200 - len(found), 200)]
    assert len(found) >= 15


def test_one_file_alone_starts_over(tmp_path: Path) -> None:
    log = HealthLog(tmp_path, limit=1500, keep=1)
    for number in range(100):
        log.write(at(number))
    log.close()
    assert [path.name for path in tmp_path.iterdir()] == ["health.csv"]
    assert rows(log.path)[-1]["at"] == "99.0"


def test_a_limit_below_one_row_still_logs(tmp_path: Path) -> None:
    log = HealthLog(tmp_path, limit=1)
    for number in range(2):
        log.write(at(number))
    log.close()
    assert {path.name: len(rows(path)) for path in tmp_path.iterdir()} == {"health.csv": 1, "health.1.csv": 1}


def test_a_row_cut_short_by_a_crash_spoils_no_other(tmp_path: Path) -> None:
    log = HealthLog(tmp_path)
    log.write(at(1))
    log.close()
    log.path.write_bytes(log.path.read_bytes()[:-9])
    log = HealthLog(tmp_path)
    log.write(at(2))
    log.close()
    lines = log.path.read_text().splitlines()
    assert len(lines) == 3 and lines[2].split(",")[1] == "2.0"


def test_columns_of_another_version_are_put_aside(tmp_path: Path) -> None:
    (tmp_path / "health.csv").write_text("time,load\n1,2\n")
    log = HealthLog(tmp_path)
    log.write(at(3))
    log.close()
    assert [row["at"] for row in rows(log.path)] == ["3.0"]
    assert (tmp_path / "health.1.csv").read_text() == "time,load\n1,2\n"


@given(name=st.text(st.characters(codec="utf-8")), trouble=st.text(st.characters(codec="utf-8")))
def test_any_words_of_a_driver_read_back_from_one_line(
    name: str, trouble: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = HealthLog(tmp_path_factory.mktemp("log"))
    log.write(HealthSample(1.0, 2.0, name, trouble))
    log.write(at(2))
    log.close()
    first, second = rows(log.path)
    assert (first["card"], first["trouble"]) == (" ".join(name.split()), " ".join(trouble.split()))
    assert second["at"] == "2.0"
    assert log.path.read_bytes().count(b"\n") == 3


class FullDisk:
    """A file on a disk with ``room`` bytes left; ``short`` writes what fits, as a raw file does, before it refuses."""

    def __init__(self, room: int, short: bool) -> None:
        self.room = room
        self.short = short
        self.closed = 0
        self.refused = 0

    def write(self, data: bytes) -> int:
        if len(data) <= self.room:
            self.room -= len(data)
            return len(data)
        self.refused += 1
        fits, self.room = self.room, 0
        if self.short and fits:
            return fits
        raise OSError(errno.ENOSPC, "No space left on device")

    def close(self) -> None:
        self.closed += 1
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("room", [0, 100, 1000])
def test_a_full_disk_ends_the_log_with_one_warning(
    room: int, short: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = FullDisk(room, short)
    log = HealthLog(tmp_path, open_file=lambda path: file)
    for number in range(50):
        log.write(at(number))
    log.close()
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert "No space left on device" in warnings[0].message and "free disk space" in warnings[0].message
    assert log.stopped and (file.refused, file.closed) == (1, 1)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full is Linux's")
def test_a_device_that_is_really_full(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def full(path: Path) -> RawFile:
        return Path("/dev/full").open("ab", buffering=0)

    log = HealthLog(tmp_path, open_file=full)
    log.write(at(1))
    log.write(at(2))
    assert log.stopped and len(caplog.records) == 1


def test_a_file_in_the_way_of_the_folder_ends_it_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "logs").touch()
    log = HealthLog(tmp_path / "logs")
    log.write(at(1))
    log.write(at(2))
    assert log.stopped and len(caplog.records) == 1


@pytest.mark.parametrize(("limit", "keep"), [(0, 3), (5, 0)])
def test_no_room_at_all_is_refused(limit: int, keep: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        HealthLog(tmp_path, limit=limit, keep=keep)
