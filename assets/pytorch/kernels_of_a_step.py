"""Which kernels a step launches, how often, how long: torch.profiler, and a timeline for https://ui.perfetto.dev.

    python3 kernels_of_a_step.py [tiny|small]
"""
import os
import sys

from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, record_function

from tiny_llama import DEVICE, WARMUP, report, setup, synchronize

model, optimizer, tokens, targets = setup(sys.argv[1] if len(sys.argv) > 1 else "small")


def step():
    optimizer.zero_grad(set_to_none=True)
    with record_function("forward"):  # a range in the timeline; rocprofv3 shows it with --marker-trace
        loss = model(tokens, targets)
    with record_function("backward"):
        loss.backward()
    with record_function("optimizer"):
        optimizer.step()


for _ in range(WARMUP):
    step()
synchronize()
STEPS = 3
activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if DEVICE == "cuda" else [])
with profile(activities=activities, record_shapes=True) as profiler:
    for _ in range(STEPS):
        step()
    synchronize()

on_device = [event for event in profiler.events() if event.device_type == DeviceType.CUDA]
ranges = {"forward", "backward", "optimizer"}
kernels = [event for event in on_device if event.name not in ranges and not event.name.startswith("Mem")]
if DEVICE == "cuda":
    total = sum(event.device_time for event in kernels)
    print(f"{len(kernels) / STEPS:.0f} kernels a step, {total / STEPS / 1e3:.2f} ms of device time (timed one by one)")
print(profiler.key_averages().table(sort_by="self_device_time_total" if kernels else "self_cpu_time_total", row_limit=12,
                                    max_name_column_width=50))
if not os.environ.get("TINYLLAMA_JSON"):
    profiler.export_chrome_trace("trace.json")
    print("trace.json written")
# On a CPU the operators of PyTorch take the place of kernels.
time = (lambda it: it.self_device_time_total) if kernels else (lambda it: it.self_cpu_time_total)
rows = [it for it in profiler.key_averages() if it.key not in ranges and time(it) > 0]
rows = sorted(rows, key=time, reverse=True)
sums = dict(what="kernels" if kernels else "operators", calls=sum(it.count for it in rows) // STEPS)
sums["step_ms"] = round(sum(map(time, rows)) / STEPS / 1e3, 3)
names = [dict(name=it.key[:50], calls=it.count // STEPS, ms=round(time(it) / STEPS / 1e3, 3)) for it in rows]
report(**sums, names=names[:12])
