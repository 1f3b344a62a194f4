"""``main.py doctor`` on the card's health: the child's question and what is made of the answer."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from idol.cli import doctor_devices, doctor_health, doctor_probe
from idol.cli.doctor_findings import GOOD, NOTE, Finding
from tests.engines.health_driver import DRIVER_NOT_LOADED, LOST, FakeDriver, driver_under_pynvml


def asked(driver_setup: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Finding:
    """The finding from what the probe prints, in this process."""
    monkeypatch.setattr(doctor_probe.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(doctor_probe.sys, "argv", ["doctor_probe", "health"])
    with driver_under_pynvml() as (driver, _):
        driver_setup(driver)
        doctor_probe.main()
        assert driver.open == 0
    answer = json.loads(capsys.readouterr().out)
    monkeypatch.setattr(
        doctor_devices, "probe", lambda name: (None, answer["error"]) if "error" in answer else (answer, "")
    )
    (finding,) = doctor_health.health()
    return finding


def test_a_card_in_order(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(lambda driver: None, monkeypatch, capsys) == Finding(
        "GPU health", GOOD, "RTX 4070, 37 %, 61 °C, 145/200 W, 3.4/12.9 GB, 2475 MHz, power cap"
    )


def test_what_strains_it_has_a_remedy(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def strain(driver: FakeDriver) -> None:
        driver.celsius, driver.reasons = 90, 0x48
        driver.memory = (12 << 30, 200 << 20, (12 << 30) - (200 << 20))

    finding = asked(strain, monkeypatch, capsys)
    assert finding.state == NOTE and "90 °C" in finding.value and "thermal hardware" in finding.value
    for word in ("close other programs", "give it air", "check cooling"):
        assert word in finding.remedy


def test_no_driver_needs_no_remedy_without_a_card(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(driver: FakeDriver) -> None:
        driver.codes = {"nvmlInitWithFlags": DRIVER_NOT_LOADED}

    finding = asked(none, monkeypatch, capsys)
    assert finding.state == NOTE and "Driver Not Loaded" in finding.value
    assert "None is needed without an NVIDIA card" in finding.remedy and "Install" in finding.remedy


def test_a_lost_card_is_a_note(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def lost(driver: FakeDriver) -> None:
        driver.codes = {"nvmlDeviceGetMemoryInfo": LOST}

    finding = asked(lost, monkeypatch, capsys)
    assert finding.state == NOTE and "GPU is lost" in finding.value and finding.remedy


def test_the_real_child_answers() -> None:
    answer, trouble = doctor_devices.probe("health")
    assert answer is not None, trouble
    assert "reason" in answer or answer["card"]
    json.dumps(answer)
    assert asdict(doctor_health.health()[0])["remedy"] or doctor_health.health()[0].state == GOOD
