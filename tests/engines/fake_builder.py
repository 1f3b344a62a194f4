"""Stands for ``engines.trt.build_child``: the same orders and words, and a plan of a few bytes in no time.

``IDOL_FAKE_BUILDER`` holds JSON, request name → what happens: ``refuse`` (a layer is named), ``full`` (no room),
``slow`` (goes on for a minute; its half plan holds its process id), ``crash`` (dies with a half plan written).
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    order = json.loads(sys.stdin.read())
    request = order["request"]
    fate = json.loads(os.environ.get("IDOL_FAKE_BUILDER", "{}")).get(request["name"], "")
    plan = Path(order["plan"])

    def say(**document: object) -> None:
        print(json.dumps(document), flush=True)

    say(fraction=0.2, phase="Building engine")
    if fate == "refuse":
        say(error="node /decoder/odd_one (NoSuchOperator): no importer", remedy="The next form or runtime is tried.")
    elif fate == "full":
        say(error=f"{plan.name} cannot be written: No space left on device", remedy="Free disk space.")
    elif fate == "crash":
        plan.write_bytes(b"half")
        sys.stderr.write("something in the builder broke\n")
        os._exit(11)
    else:
        if fate == "slow":
            plan.write_text(str(os.getpid()))
            for step in range(600):
                say(fraction=0.2 + step / 1000, phase="Building engine")
                time.sleep(0.1)
        content = f"plan of {request['name']} for {request['targets']}".encode() * 40
        plan.write_bytes(content)
        flavour = order["flavour"]
        note = {
            "name": request["name"], "flavour": flavour["name"], "version": flavour["version"], "seconds": 0.1,
            "bytes": len(content), "layers": 3, "targets": request["targets"],
            "warnings": ["Unused Input: speed"] if fate == "unused" else [],
        }  # fmt: skip
        plan.with_suffix(".json").write_text(json.dumps(note))
        say(fraction=1.0, phase="Building engine")
        say(**note)


main()
