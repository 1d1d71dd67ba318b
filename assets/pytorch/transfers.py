"""A batch that travels: ordinary memory, pinned memory, and pinned memory on a stream of its own.

    python3 transfers.py
"""
import sys

import torch

from tiny_llama import DEVICE, median_ms

if DEVICE != "cuda":
    sys.exit("this needs a GPU")
ordinary = torch.randn(64 * 2**20)  # 256 MiB
pinned = ordinary.pin_memory()
buffers = [torch.empty_like(ordinary, device=DEVICE) for _ in range(2)]
matrix = torch.randn(4096, 4096, device=DEVICE)
copies = torch.cuda.Stream()
turn = 0


def compute():
    for _ in range(3):  # about as long as the copy, on a large GPU
        matrix @ matrix


def from_ordinary():
    buffers[0].copy_(ordinary)
    compute()


def from_pinned():
    buffers[0].copy_(pinned, non_blocking=True)  # the host goes on; the stream still waits
    compute()


def overlapped():
    global turn
    turn = 1 - turn
    with torch.cuda.stream(copies):  # the next batch travels ...
        buffers[turn].copy_(pinned, non_blocking=True)
    compute()  # ... while this one is computed with
    torch.cuda.current_stream().wait_stream(copies)


alone = median_ms(lambda: buffers[0].copy_(pinned, non_blocking=True), steps=10)
slow = median_ms(lambda: buffers[0].copy_(ordinary), steps=10)
print(f"256 MiB from ordinary memory {slow:.1f} ms, from pinned memory {alone:.1f} ms ({0.268 / alone * 1e3:.0f} GB/s)")
print(f"computing alone {median_ms(compute, steps=10):.1f} ms")
for name, function in [("one stream, ordinary", from_ordinary), ("one stream, pinned", from_pinned), ("two streams, pinned", overlapped)]:
    print(f"{name:22}{median_ms(function, steps=10):8.1f} ms")
