"""The builder's own process: reads one order from standard input, reports JSON lines, writes the plan."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from engines.trt.flavours import Flavour, TensorRTError, load_api
from engines.trt.plans import BuildRequest
from engines.trt.weak_norms import put_layers, with_placeholders

_NORMS = ("NORMALIZATION", "REDUCE")
_MOVES = ("SHAPE", "CONSTANT", "CAST", "CONCATENATION", "SHUFFLE", "SLICE")
_NARROW = ("MATRIX_MULTIPLY", "ELEMENTWISE", "ACTIVATION", "SOFTMAX")
"""Layers that are held to 16 bits: left free, each is as likely to be given 32, with copies before and behind it."""


def main() -> int:
    """The last line said is the result; the exit status says nothing more."""
    order = json.loads(sys.stdin.read())
    # Libraries print to descriptor 1; what we say goes to the pipe alone.
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(document: dict[str, object]) -> None:
        pipe.write(json.dumps(document) + "\n")
        pipe.flush()

    try:
        build(order, say)
    except TensorRTError as error:
        say({"error": error.message, "remedy": error.remedy})
    sys.stderr.flush()
    os._exit(0)  # builders of some versions crash when they are taken down, after all is written


def build(order: dict[str, Any], say: Any) -> dict[str, object]:
    """Build as ordered. Raises ``TensorRTError`` with the failing node's name."""
    request = BuildRequest.from_document(order["request"])
    flavour = Flavour(**order["flavour"])
    plan, cache_path = Path(order["plan"]), order["timing_cache"]
    started = time.perf_counter()
    api = load_api(flavour)
    messages: list[str] = []
    log = _log(api, messages)
    if not flavour.builds_without_gpu:
        import pycuda.driver as cuda

        cuda.init()
        context = cuda.Device(0).retain_primary_context()
        context.push()
    say({"fraction": 0.01, "phase": "reading the graph"})
    builder = api.Builder(log)
    network = builder.create_network(_network_flags(api, flavour))
    parser = api.OnnxParser(network, log)
    rewritten = None if flavour.typed else with_placeholders(request.graph, request.extra.get("norms", "layer"))
    try:
        if not parser.parse_from_file(str(rewritten or request.graph)):
            raise TensorRTError(f"the parser refuses {_first_error(parser)}", "The next form or runtime is tried.")
    finally:
        if rewritten is not None:
            rewritten.unlink()
    kept: list[Any] = []
    norms = put_layers(api, network, kept) if rewritten is not None else 0
    config = builder.create_builder_config()
    config.builder_optimization_level = request.level
    _set_precision(api, flavour, request, network, config)
    _set_profiles(builder, config, request, network)
    if flavour.name == "tensorrt_rtx" and request.targets:
        config.num_compute_capabilities = len(request.targets)
        for index, target in enumerate(request.targets):
            config.set_compute_capability(getattr(api.ComputeCapability, f"SM{target}"), index)
    cache = None
    if cache_path:
        cache = config.create_timing_cache(Path(cache_path).read_bytes() if Path(cache_path).exists() else b"")
        config.set_timing_cache(cache, True)
    monitor = _monitor(api, say) if flavour.has_progress else None
    if monitor is not None:
        config.progress_monitor = monitor
    else:
        say({"fraction": 0.05, "phase": "choosing kernels"})
    serialized = builder.build_serialized_network(network, config)
    if serialized is None:
        raise TensorRTError(_blame(messages), "The next form or runtime is tried.")
    _write(plan, serialized)
    if cache is not None:
        _write(Path(cache_path), cache.serialize())
    note: dict[str, object] = {
        "name": request.name,
        "flavour": flavour.name,
        "version": flavour.version,
        "seconds": round(time.perf_counter() - started, 1),
        "bytes": plan.stat().st_size,
        "layers": network.num_layers,
        "norms": norms,
        "half": request.half,
        "targets": list(request.targets),
        "profiles": [{name: [list(s) for s in shapes] for name, shapes in p.items()} for p in request.profiles],
        "warnings": [message for message in messages if "nused" in message][:5],
    }
    _write(plan.with_suffix(".json"), json.dumps(note).encode())
    say(note)  # before anything is given back: some versions crash at that
    return note


def _network_flags(api: Any, flavour: Flavour) -> int:
    """By the enum's names: their numbers differ between versions, and some have no EXPLICIT_BATCH any more."""
    names = api.NetworkDefinitionCreationFlag
    wanted = ["EXPLICIT_BATCH"] if not flavour.typed else ["STRONGLY_TYPED"]
    return sum(1 << int(getattr(names, name)) for name in wanted if hasattr(names, name))


def _set_precision(api: Any, flavour: Flavour, request: BuildRequest, network: Any, config: Any) -> None:
    if not request.tf32:
        config.clear_flag(api.BuilderFlag.TF32)
    if flavour.typed:
        return
    if os.environ.get("IDOL_TENSORRT_TACTICS") == "edge":  # a host without cuBLAS and cuDNN
        sources = api.TacticSource
        config.set_tactic_sources(
            1 << int(sources.EDGE_MASK_CONVOLUTIONS) | 1 << int(sources.JIT_CONVOLUTIONS)
        )  # fmt: skip
    if not request.half:
        return
    config.set_flag(api.BuilderFlag.FP16)
    for index in range(network.num_layers):
        layer = network.get_layer(index)
        if layer.get_output(0).dtype not in (api.float32, api.float16):
            continue
        if layer.name.endswith("_f32") or layer.type.name in _NORMS:
            wanted = None if layer.type.name in _MOVES else api.float32
        else:
            wanted = api.float16 if layer.type.name in _NARROW else None
        if wanted is None:
            continue
        layer.precision = wanted
        for output in range(layer.num_outputs):
            if layer.get_output(output).dtype in (api.float32, api.float16):
                layer.set_output_type(output, wanted)
    config.set_flag(api.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)


def _set_profiles(builder: Any, config: Any, request: BuildRequest, network: Any) -> None:
    inputs = {network.get_input(i).name: network.get_input(i) for i in range(network.num_inputs)}
    for shapes in request.profiles:
        profile = builder.create_optimization_profile()
        for name, tensor in inputs.items():
            if name in shapes:
                if not profile.set_shape(name, *shapes[name]) and shapes[name][0] > shapes[name][2]:
                    raise TensorRTError(f"the profile of {name} is not in order: {shapes[name]}")
            elif any(size < 0 for size in tensor.shape):
                raise TensorRTError(f"the input {name} has open sizes {tensor.shape} and no profile")
        config.add_optimization_profile(profile)
    unknown = {name for shapes in request.profiles for name in shapes} - set(inputs)
    if unknown:
        raise TensorRTError(f"profiles name inputs the graph does not have: {sorted(unknown)}")


def _first_error(parser: Any) -> str:
    if not parser.num_errors:
        return "the graph without a reason"
    error = parser.get_error(0)
    name = error.node_name() if hasattr(error, "node_name") else f"number {error.node()}"
    kind = error.node_operator() if hasattr(error, "node_operator") else ""
    return f"node {name} ({kind}): {' '.join(str(error.desc()).split())[:300]}"


def _blame(messages: list[str]) -> str:
    """The log's message that names a layer, else its last error."""
    named = [message for message in messages if "node" in message.lower() or "layer" in message.lower()]
    return " ".join((named or messages or ["no message"])[-1].split())[:500]


def _log(api: Any, messages: list[str]) -> Any:
    verbose = os.environ.get("IDOL_TENSORRT_VERBOSE") == "1"

    class Log(api.ILogger):  # type: ignore[misc]
        def __init__(self) -> None:
            api.ILogger.__init__(self)

        def log(self, severity: Any, message: str) -> None:
            if severity.name in ("ERROR", "INTERNAL_ERROR") or "nused" in message:
                messages.append(message)
            if verbose or severity.name in ("ERROR", "INTERNAL_ERROR"):
                sys.stderr.write(f"{severity.name}: {message}\n")
                sys.stderr.flush()

    return Log()


def _monitor(api: Any, say: Any) -> Any:
    class Monitor(api.IProgressMonitor):  # type: ignore[misc]
        """Top phases only: nested ones come and go too quickly to be read."""

        def __init__(self) -> None:
            api.IProgressMonitor.__init__(self)
            self._steps: dict[str, int] = {}

        def phase_start(self, phase: str, parent: str | None, steps: int) -> None:
            if parent is None:
                self._steps[phase] = max(1, steps)

        def step_complete(self, phase: str, step: int) -> bool:
            if phase in self._steps:
                say({"fraction": 0.05 + 0.94 * (step + 1) / self._steps[phase], "phase": phase})
            return True

        def phase_finish(self, phase: str) -> None:
            self._steps.pop(phase, None)

    return Monitor()


def _write(path: Path, content: Any) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(memoryview(content))
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise TensorRTError(f"{path.name} cannot be written: {error.strerror}", "Free disk space.") from error


if __name__ == "__main__":
    sys.exit(main())
