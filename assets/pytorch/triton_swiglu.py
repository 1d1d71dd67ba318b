"""silu(gate) * up in Triton, forward *and* backward, checked against PyTorch on an awkward shape, then timed.

    python3 triton_swiglu.py

Triton compiles the same source for AMD and NVIDIA. Its `program` is a workgroup; `num_warps` counts wavefronts.
"""
import sys

import torch
import triton
import triton.language as tl
from torch.nn import functional as F

from tiny_llama import DEVICE, median_ms

if DEVICE != "cuda":
    sys.exit("this needs a GPU")
BLOCK = 1024


@triton.jit
def forward_kernel(gate, up, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n  # without it the last program reads and writes foreign memory
    g = tl.load(gate + at, inside)
    tl.store(out + at, g * tl.sigmoid(g) * tl.load(up + at, inside), inside)


@triton.jit
def backward_kernel(grad, gate, up, d_gate, d_up, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    d, g, u = tl.load(grad + at, inside), tl.load(gate + at, inside), tl.load(up + at, inside)
    s = tl.sigmoid(g)
    tl.store(d_up + at, d * g * s, inside)
    tl.store(d_gate + at, d * u * s * (1 + g * (1 - s)), inside)


class SwiGlu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        out = torch.empty_like(gate)
        forward_kernel[(triton.cdiv(out.numel(), BLOCK),)](gate, up, out, out.numel(), BLOCK)
        return out

    @staticmethod
    def backward(ctx, grad):  # leave this out and everything before it stops learning: stage 6
        gate, up = ctx.saved_tensors
        d_gate, d_up = torch.empty_like(gate), torch.empty_like(up)
        n = gate.numel()
        backward_kernel[(triton.cdiv(n, BLOCK),)](grad.contiguous(), gate, up, d_gate, d_up, n, BLOCK)
        return d_gate, d_up


def difference(a, b):
    return ((a - b).norm() / b.norm()).item()


torch.manual_seed(42)
inputs = [torch.randn(7, 777, device=DEVICE) for _ in range(3)]
results = []
for function, dtype in [(SwiGlu.apply, torch.float32), (lambda g, u: F.silu(g) * u, torch.float64)]:
    gate, up = (x.detach().to(dtype, copy=True).requires_grad_() for x in inputs[:2])
    out = function(gate, up)
    out.backward(inputs[2].to(dtype))
    results.append((out, gate.grad, up.grad))
print("differences from 64 bits, 7 x 777 (out, d_gate, d_up):", *(f"{difference(a.double(), b):.1e}" for a, b in zip(*results)))

gate, up = (torch.randn(8192, 8192, device=DEVICE) for _ in range(2))
bytes_moved = 3 * gate.nbytes
for name, function in [("PyTorch, two kernels", lambda: F.silu(gate) * up), ("Triton, one kernel", lambda: SwiGlu.apply(gate, up))]:
    ms = median_ms(function)
    print(f"{name:22}{ms:7.3f} ms, {bytes_moved / ms / 1e9:.2f} TB/s of the bytes that have to move")
