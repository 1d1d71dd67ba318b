"""Compares a kernel with a reference in 64 bits, for several shapes, between guard zones that nothing may touch."""
import os

import torch

from tiny_llama import DEVICE, report

if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"
import triton  # reads the variable

# Rows and width. Powers of two show no missing mask.
SHAPES = [(4, 64), (2, 1024), (1, 1), (3, 7), (5, 65), (7, 777), (2, 1023)]
GUARD = 2048  # elements on each side, more than a block has
MARK = 12345.0
TOLERANCE = 1e-5


def guarded(values):
    """The values within a larger buffer of marks. What a kernel loads or stores beyond them meets the marks."""
    buffer = torch.full((values.numel() + 2 * GUARD,), MARK, device=DEVICE)
    inside = buffer[GUARD:-GUARD].view(values.shape)
    inside.copy_(values)
    return buffer, inside


def check(function):
    torch.manual_seed(42)
    rows = []
    for shape in SHAPES:
        (_, x), (_, weight) = guarded(torch.randn(shape)), guarded(torch.rand(shape[1]) + 0.5)
        buffer, out = guarded(torch.full(shape, MARK))
        function(x, weight, out)
        exact = x.double() * weight.double() / (x.double().square().mean(-1, keepdim=True) + 1e-6).sqrt()
        difference = ((out.double() - exact).norm() / exact.norm()).item()
        outside = int((buffer[:GUARD] != MARK).sum() + (buffer[-GUARD:] != MARK).sum())
        good = difference <= TOLERANCE and outside == 0
        rows.append(dict(shape=f"{shape[0]} x {shape[1]}", difference=float(f"{difference:.2e}"), outside=outside, right=good))
        print(f"{rows[-1]['shape']:>10}: difference {difference:.1e}, {outside} elements stored outside, {'right' if good else 'WRONG'}")
    right = sum(row["right"] for row in rows)
    print(f"{right} of {len(rows)} shapes are right")
    report(triton=triton.__version__, interpreted=os.environ.get("TRITON_INTERPRET") == "1", shapes=len(rows), right=right, rows=rows)
