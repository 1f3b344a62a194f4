"""``main.py doctor``: looks at this machine and says what to do about each finding.

Everything that could hang or crash (drivers, Qt, PortAudio) is asked in a child process (``doctor_probe``).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict

from idol.cli.doctor_findings import BAD, GOOD, NOTE, Finding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="findings as JSON")
    parser.add_argument("--quick", action="store_true", help="compare sizes of model files only, not their SHA-256")


def run(arguments: argparse.Namespace) -> int:
    """0 when the app can run here, 1 when something stops it."""
    findings = examine(deep=not arguments.quick)
    able = not any(finding.state == BAD for finding in findings)
    if arguments.json:
        rows = [asdict(finding) for finding in findings]
        print(json.dumps({"able": able, "findings": rows}, ensure_ascii=False, indent=2))
    else:
        for finding in findings:
            print(_row(finding))
        stops = sum(finding.state == BAD for finding in findings)
        print(
            "The app can run here." if able else f"The app cannot run here: {stops} of the above (!!) must be mended."
        )
    return 0 if able else 1


def examine(*, deep: bool) -> list[Finding]:
    """All findings, in the order a person would fix them. ``deep`` reads the model files in full."""
    from idol.cli import doctor_devices, doctor_health, doctor_machine

    parts: list[Callable[[], list[Finding]]] = [
        doctor_machine.python,
        doctor_machine.libraries,
        doctor_machine.system_libraries,
        doctor_machine.hardware,
        doctor_devices.gpu,
        doctor_health.health,
        doctor_devices.runtimes,
        doctor_devices.screen,
        doctor_devices.sound,
        lambda: doctor_machine.models(deep=deep),
        doctor_machine.files,
    ]
    return [finding for part in parts for finding in part()]


def _row(finding: Finding) -> str:
    mark = {GOOD: "ok", NOTE: "--", BAD: "!!"}[finding.state]
    row = f"{mark} {finding.name:<22} {finding.value}"
    return f"{row}\n   {'':<22} -> {finding.remedy}" if finding.remedy else row
