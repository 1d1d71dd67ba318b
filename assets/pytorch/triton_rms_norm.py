"""RMSNorm of rows in Triton: one program computes one row. It is right for some widths. Repair it for all.

    python3 triton_rms_norm.py

out[row, i] = x[row, i] * weight[i] / sqrt(mean of x[row, :]^2 + 1e-6)

A block has a power of two of lanes, at least as many as a row has elements. What do the other lanes do?
"""
from triton_check import check  # before triton: without a GPU, this chooses Triton's interpreter

import triton
import triton.language as tl


@triton.jit
def kernel(x, weight, out, width, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    at = tl.program_id(0) * width + lane
    values = tl.load(x + at)
    mean = tl.sum(values * values) / BLOCK
    tl.store(out + at, values * tl.load(weight + lane) / tl.sqrt(mean + 1e-6))


def rms_norm(x, weight, out):
    """x and out have `rows` rows of `width` elements, one behind the other."""
    rows, width = x.shape
    kernel[(rows,)](x, weight, out, width, triton.next_power_of_2(width))


if __name__ == "__main__":
    check(rms_norm)
