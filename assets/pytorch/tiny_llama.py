"""The model of the course in plain PyTorch: RMSNorm, rotary position, grouped-query attention, SwiGLU, tied head.

    python3 tiny_llama.py            trains a few steps and says how many parameters receive a gradient

`fused=True` takes one matrix product for query, key and value, one for gate and up, and the library's attention. On an AMD GPU
`torch.cuda` means HIP; nothing in these files is written for one maker.
"""
import json
import math
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

SIZES = {
    "tiny": dict(hidden=256, layers=4, heads=8, kv_heads=4, ffn=512, seq=128, batch=8),
    "small": dict(hidden=512, layers=8, heads=8, kv_heads=4, ffn=2048, seq=128, batch=8),
}
VOCABULARY = 1000
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


def rotate(x, cos, sin):
    """Turns features 2p and 2p + 1 of [batch, seq, heads, width] by the angle of their position."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


class Layer(nn.Module):
    def __init__(self, size, fused):
        super().__init__()
        hidden, self.heads, self.kv_heads = size["hidden"], size["heads"], size["kv_heads"]
        self.width, self.fused = hidden // self.heads, fused
        kv, ffn = self.kv_heads * self.width, size["ffn"]
        self.split = [hidden, kv, kv]

        def weights(outputs):  # one matrix product, or one for each output
            widths = [sum(outputs)] if fused else outputs
            return nn.ModuleList(nn.Linear(hidden, width, bias=False) for width in widths)

        self.qkv, self.gate_up = weights(self.split), weights([ffn, ffn])
        self.out, self.down = nn.Linear(hidden, hidden, bias=False), nn.Linear(ffn, hidden, bias=False)
        self.first, self.second = Norm(hidden), Norm(hidden)

    def attention(self, x, cos, sin):
        batch, seq, _ = x.shape
        parts = self.qkv[0](x).split(self.split, -1) if self.fused else [w(x) for w in self.qkv]
        q, k, v = (part.unflatten(-1, (-1, self.width)) for part in parts)
        q, k = rotate(q, cos, sin).transpose(1, 2), rotate(k, cos, sin).transpose(1, 2)
        group = self.heads // self.kv_heads
        k, v = k.repeat_interleave(group, 1), v.transpose(1, 2).repeat_interleave(group, 1)
        if self.fused:  # no table of scores in memory
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(self.width)
            future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
            mixed = scores.masked_fill(future, float("-inf")).softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, seq, -1))

    def forward(self, x, cos, sin):
        x = x + self.attention(self.first(x), cos, sin)
        y = self.second(x)
        gate, up = self.gate_up[0](y).chunk(2, -1) if self.fused else [w(y) for w in self.gate_up]
        return x + self.down(F.silu(gate) * up)


class TinyLlama(nn.Module):
    def __init__(self, size, fused=False):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, size["hidden"])
        self.layers = nn.ModuleList(Layer(size, fused) for _ in range(size["layers"]))
        self.last = Norm(size["hidden"])
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)  # without this line: stage 1
        width = size["hidden"] // size["heads"]
        angle = torch.outer(torch.arange(size["seq"]), 10000.0 ** (-torch.arange(0, width, 2) / width))
        self.register_buffer("cos", angle.cos()[:, None])
        self.register_buffer("sin", angle.sin()[:, None])

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        logits = self.last(x) @ self.embedding.weight.T
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def setup(name="small", fused=False, tf32=True, **options):
    """Model, optimizer and the one batch that it sees again and again."""
    torch.manual_seed(42)
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    size = SIZES[name]
    model = TinyLlama(size, fused).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.01, **options)
    tokens = torch.randint(VOCABULARY, (size["batch"], size["seq"] + 1), device=DEVICE)
    return model, optimizer, tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


STEPS, WARMUP = (30, 5) if DEVICE == "cuda" else (8, 2)


def median_ms(step, steps=STEPS, warmup=WARMUP):
    """Median of steps that are waited for once, after some that are not counted."""
    times = []
    for n in range(warmup + steps):
        synchronize()
        start = time.perf_counter()
        step()
        synchronize()
        if n >= warmup:
            times.append((time.perf_counter() - start) * 1e3)
    return sorted(times)[len(times) // 2]


def report(**figures):
    """Prints the figures as one line of JSON for `tinyllama-tutor pytorch --json`."""
    if os.environ.get("TINYLLAMA_JSON"):
        name = torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu"
        print(json.dumps(dict(torch=torch.__version__, device=name, **figures)))


if __name__ == "__main__":
    model, optimizer, tokens, targets = setup("tiny")
    losses = []
    for n in range(20):
        optimizer.zero_grad(set_to_none=True)
        loss = model(tokens, targets)
        loss.backward()
        optimizer.step()
        if n in (0, 19):  # .item() waits for the device: not in every step
            losses.append(loss.item())
            print(f"step {n + 1}: loss {loss.item():.4f}")
    parameters = list(model.parameters())
    with_gradient = sum(p.grad is not None for p in parameters)
    print(f"with a gradient: {with_gradient} of {len(parameters)} tensors")
    report(with_gradient=with_gradient, tensors=len(parameters), first_loss=losses[0], final_loss=losses[-1])
