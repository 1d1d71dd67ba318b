"""What fusing is worth: as written, one matrix product with the library's attention, compiled, 16 bits; each alone and together.

    python3 fusing.py [tiny|small]
"""
import sys

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from tiny_llama import DEVICE, median_ms, report, setup, synchronize

name = sys.argv[1] if len(sys.argv) > 1 else "small"


def launches(step):
    if DEVICE != "cuda":
        return "not reported"
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        step()
        synchronize()
    return sum(e.device_type == DeviceType.CUDA and not e.name.startswith("Mem") for e in profiler.events())


rows = []
print(f"{'':34}ms a step  launches      loss  with a gradient")
for label, fused, compiled, bf16 in [
    ("as written", False, False, False),
    ("fused products, SDPA", True, False, False),
    ("as written, compiled", False, True, False),
    ("fused products, SDPA, compiled", True, True, False),
    ("the same in bf16", True, True, True),
]:
    if compiled and DEVICE == "cpu":
        print(f"{label:34}  left out: compiling takes minutes on a CPU")
        continue
    torch._dynamo.reset()
    model, optimizer, tokens, targets = setup(name, fused=fused)
    forward = torch.compile(model) if compiled else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=bf16):  # operands in 16 bits, parameters stay in 32
            step.loss = forward(tokens, targets)
        step.loss.backward()
        optimizer.step()

    ms = median_ms(step)
    parameters = list(model.parameters())
    with_gradient, loss = sum(p.grad is not None for p in parameters), step.loss.item()
    print(f"{label:34}{ms:9.2f}  {launches(step)!s:>8}  {loss:8.4f}  {with_gradient} of {len(parameters)}")
    rows.append(dict(way=label, step_ms=round(ms, 2), loss=round(loss, 4), with_gradient=with_gradient, tensors=len(parameters)))
report(rows=rows)
