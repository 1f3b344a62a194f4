"""A decoder of every family, in the sizes of a published model, passes TensorRT-RTX's builder for every card family."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engines.models.decoder_config import KNOWN_ARCHITECTURES
from engines.models.decoder_trt import decoder_requests, plan_name
from engines.models.families import model_config
from engines.models.published_sizes import PUBLISHED
from engines.models.trt_parts import DECODER_PARTS, find_model
from engines.trt.flavours import Flavour, installed
from engines.trt.jobs import Job, Outcome, run_jobs
from engines.trt.matrix import TARGETS, MatrixPart, MatrixTable, matrix_jobs


class Silent:
    """Hears nothing."""

    def began(self, job: Job) -> None: ...

    def moved(self, job: Job, fraction: float, text: str) -> None: ...

    def ended(self, outcome: Outcome) -> None: ...

    def tick(self) -> None: ...


@pytest.fixture(scope="module")
def rtx() -> Flavour:
    found = [flavour for flavour in installed() if flavour.builds_without_gpu]
    assert found, "TensorRT-RTX is in the dev extra; run packaging/test.sh"
    return found[0]


def test_every_family_has_published_sizes() -> None:
    assert PUBLISHED.keys() == KNOWN_ARCHITECTURES.keys()
    assert all(config.architecture == family for family, (_, config) in PUBLISHED.items())


@pytest.mark.models
@pytest.mark.parametrize(("family", "model"), [("llama", "smollm2-135m"), ("qwen2", "qwen2.5-coder-0.5b")])
def test_published_sizes_are_those_of_the_files(family: str, model: str, model_path: Callable[[str], Path]) -> None:
    """So the graphs in the table are the ones that are loaded."""
    model_path(model)
    config, known = model_config(find_model(model).path), PUBLISHED[family][1]
    assert plan_name(config) == plan_name(known)
    for name in ("layers", "heads", "kv_heads", "head_size", "vocabulary", "rope_size", "context", "rope_theta"):
        assert getattr(config, name) == getattr(known, name), name
    assert config.rms_epsilon == pytest.approx(known.rms_epsilon, rel=1e-6)


@pytest.mark.parametrize("family", KNOWN_ARCHITECTURES)
def test_the_decoder_builds_for_every_card(rtx: Flavour, tmp_path: Path, family: str) -> None:
    name, config = PUBLISHED[family]
    requests = decoder_requests(tmp_path / "graphs", config, 2048)
    parts = [
        MatrixPart(f"{name} {part}", request, TARGETS if part in ("project", "attend") else (89,))
        for part, request in zip(DECODER_PARTS, requests, strict=True)
    ]
    table = MatrixTable(tmp_path, rtx, parts)
    for outcome in run_jobs(matrix_jobs(parts, rtx, tmp_path), Silent(), at_once=2):
        assert outcome.result == "built", outcome.error
        table.add(outcome)
    for part in ("project", "attend"):
        assert {cell.target for cell in table.cells if cell.part == f"{name} {part}"} == set(TARGETS)
    # Weights are inputs: a plan holds kernels alone, whatever the model weighs.
    assert all(50_000 < cell.bytes < 20e6 for cell in table.cells)
