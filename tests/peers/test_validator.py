"""The Khronos glTF validator finds nothing wrong with our avatars."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.peers.validator import validate

ROOT = Path(__file__).resolve().parents[2]
AVATARS = sorted((ROOT / "avatars").glob("*.vrm"))
ASSETS = sorted((ROOT / "tests" / "data").glob("*/*.vrm*")) + sorted((ROOT / "tests" / "data" / "models").glob("*.glb"))
UNKNOWN = "UNSUPPORTED_EXTENSION"


@pytest.fixture(scope="module")
def script(model_path: Callable[[str], Path]) -> Path:
    return model_path("gltf-validator") / "gltf_validator.dart.js"


def test_our_avatars_are_without_fault(script: Path) -> None:
    assert ROOT / "avatars" / "default.vrm" in AVATARS
    found = validate(script, AVATARS)
    assert list(found) == AVATARS
    for path, issues in found.items():
        assert [str(issue) for issue in issues if issue.severity in ("error", "warning")] == [], path.name
        assert {issue.at for issue in issues if issue.code == UNKNOWN}, "it was not read at all"


def test_the_test_files_are_valid(script: Path) -> None:
    """What our loader is tested with is no worse than glTF's own judge thinks; warnings are for information."""
    for path, issues in validate(script, ASSETS).items():
        print(*(f"{path.name}: {issue}" for issue in issues if issue.severity == "warning"), sep="\n")
        assert [str(issue) for issue in issues if issue.severity == "error"] == [], path.name


def test_a_fault_is_found(script: Path, tmp_path: Path) -> None:
    """One accessor too long, one joint that is no node: both are named with their place."""
    data = AVATARS[0].read_bytes()
    size = struct.unpack_from("<I", data, 12)[0]
    document = json.loads(data[20 : 20 + size])
    document["accessors"][0]["count"] += 10_000_000
    document["skins"][0]["joints"][0] = 100_000
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    rest = data[20 + size :]
    broken = tmp_path / "broken.vrm"
    broken.write_bytes(
        struct.pack("<4sII", b"glTF", 2, 20 + len(text) + len(rest))
        + struct.pack("<I4s", len(text), b"JSON")
        + text
        + rest
    )
    errors = {issue.at: issue.code for issue in validate(script, [broken])[broken] if issue.severity == "error"}
    assert errors["/accessors/0"] == "ACCESSOR_TOO_LONG"
    assert errors["/skins/0/joints/0"] == "UNRESOLVED_REFERENCE"
