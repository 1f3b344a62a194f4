"""The same decoder shapes in PyTorch eager mode, for the host's own Python: eager.py SHAPE ... -o F.json

Modules as model libraries write them: separate projections, RMS norm in float32, rotary embedding, keys and values
joined to a growing cache, ``scaled_dot_product_attention``. Half precision on the card; weights are random.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import torch
from torch import nn

SHAPES = {
    "smollm2": dict(layers=30, hidden=576, heads=9, kv=3, size=64, inner=1536, vocabulary=49152, bias=False),
    "qwen0.5b": dict(layers=24, hidden=896, heads=14, kv=2, size=64, inner=4864, vocabulary=151936, bias=True),
    "llama7b": dict(layers=32, hidden=4096, heads=32, kv=32, size=128, inner=11008, vocabulary=32000, bias=False),
}


class Norm(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * wide.to(x.dtype)


def turned(x: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


class Layer(nn.Module):
    def __init__(self, s: dict) -> None:
        super().__init__()
        self.s = s
        self.q = nn.Linear(s["hidden"], s["heads"] * s["size"], bias=s["bias"])
        self.k = nn.Linear(s["hidden"], s["kv"] * s["size"], bias=s["bias"])
        self.v = nn.Linear(s["hidden"], s["kv"] * s["size"], bias=s["bias"])
        self.o = nn.Linear(s["heads"] * s["size"], s["hidden"], bias=False)
        self.gate = nn.Linear(s["hidden"], s["inner"], bias=False)
        self.up = nn.Linear(s["hidden"], s["inner"], bias=False)
        self.down = nn.Linear(s["inner"], s["hidden"], bias=False)
        self.before, self.after = Norm(s["hidden"]), Norm(s["hidden"])

    def forward(self, x, cos, sin, past):
        s, n = self.s, x.shape[1]
        y = self.before(x)
        q = self.q(y).view(1, n, s["heads"], s["size"]).transpose(1, 2)
        k = self.k(y).view(1, n, s["kv"], s["size"]).transpose(1, 2)
        v = self.v(y).view(1, n, s["kv"], s["size"]).transpose(1, 2)
        q, k = q * cos + turned(q) * sin, k * cos + turned(k) * sin
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        group = s["heads"] // s["kv"]
        wide_k, wide_v = (t.repeat_interleave(group, 1) if group > 1 else t for t in (k, v))
        out = nn.functional.scaled_dot_product_attention(q, wide_k, wide_v, is_causal=n > 1)
        x = x + self.o(out.transpose(1, 2).reshape(1, n, -1))
        y = self.after(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y)), (k, v)


class Model(nn.Module):
    def __init__(self, s: dict) -> None:
        super().__init__()
        self.s = s
        self.embed = nn.Embedding(s["vocabulary"], s["hidden"])
        self.layers = nn.ModuleList(Layer(s) for _ in range(s["layers"]))
        self.norm = Norm(s["hidden"])
        self.head = nn.Linear(s["hidden"], s["vocabulary"], bias=False)

    @torch.inference_mode()
    def forward(self, ids, start, past):
        x = self.embed(ids)
        at = torch.arange(start, start + ids.shape[1], device=x.device)
        size = self.s["size"]
        rate = 1.0 / 10000 ** (torch.arange(0, size, 2, device=x.device).float() / size)
        angle = torch.outer(at.float(), rate)
        angle = torch.cat((angle, angle), -1)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        kept = []
        for i, layer in enumerate(self.layers):
            x, pair = layer(x, cos, sin, past[i] if past else None)
            kept.append(pair)
        return self.head(self.norm(x[:, -1:])), kept


def measure(name: str) -> dict:
    torch.manual_seed(0)
    with torch.device("cuda"):
        torch.set_default_dtype(torch.float16)
        model = Model(SHAPES[name]).eval()
    prompt = torch.randint(0, 30000, (1, 64), device="cuda")
    prefill, decode, clause = [], [], []
    for turn in range(14):
        torch.cuda.synchronize()
        began = time.perf_counter()
        logits, past = model(prompt, 0, None)
        token = logits[:, -1].argmax(-1, keepdim=True)
        token.item()
        prefill.append(time.perf_counter() - began)
        for step in range(11):
            lap = time.perf_counter()
            logits, past = model(token, 64 + step, past)
            token = logits[:, -1].argmax(-1, keepdim=True)
            token.item()
            decode.append(time.perf_counter() - lap)
        clause.append(time.perf_counter() - began)
        if turn < 4:
            prefill.clear(), decode.clear(), clause.clear()
    del model
    torch.cuda.empty_cache()
    return {
        key: {"median_ms": statistics.median(v) * 1e3, "sd_ms": statistics.stdev(v) * 1e3}
        for key, v in (("prefill64", prefill), ("token", decode), ("prompt64_12tokens", clause))
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("shapes", nargs="+", choices=SHAPES)
    parser.add_argument("-o", default="eager.json")
    arguments = parser.parse_args()
    results = {"card": torch.cuda.get_device_name(0), "torch": torch.__version__}
    for shape in arguments.shapes:
        results[shape] = measure(shape)
        print(shape, json.dumps(results[shape]), flush=True)
    with open(arguments.o, "w") as file:  # noqa: PTH123
        json.dump(results, file)
