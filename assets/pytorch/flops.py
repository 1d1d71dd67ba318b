"""Counted work, measured time, and how far that is from what the device can do.

    python3 flops.py [tiny|small]
"""
import sys

import torch
from torch.utils.flop_counter import FlopCounterMode

from tiny_llama import DEVICE, median_ms, setup

model, optimizer, tokens, targets = setup(sys.argv[1] if len(sys.argv) > 1 else "small", fused=True)


def step():
    optimizer.zero_grad(set_to_none=True)
    model(tokens, targets).backward()
    optimizer.step()


counter = FlopCounterMode(display=False)  # matrix products and attention; element-wise work is not counted
with counter:
    step()
work = counter.get_total_flops()
ms = median_ms(step)
rate = work / ms * 1e3

n = 8192 if DEVICE == "cuda" else 1024
a, b = torch.randn(2, n, n, device=DEVICE).unbind()
best = 2 * n**3 / median_ms(lambda: a @ b, steps=10) * 1e3
print(f"{work / 1e9:.1f} GFLOP of matrix products in {ms:.2f} ms: {rate / 1e12:.2f} TFLOP/s")
print(f"a matrix product of {n} x {n} x {n} reaches {best / 1e12:.2f} TFLOP/s here, so the step is at {100 * rate / best:.1f} %")

if DEVICE == "cuda":  # the other ceiling
    source = torch.empty(2**28, device=DEVICE)
    target = torch.empty_like(source)
    bandwidth = 2 * source.nbytes / median_ms(lambda: target.copy_(source), steps=10) * 1e3
    print(f"a copy of 1 GiB reaches {bandwidth / 1e12:.2f} TB/s: the ridge lies at {best / bandwidth:.0f} FLOP/B")
