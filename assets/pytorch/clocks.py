"""Four clocks for one training step: launches only, one wait, three waits, and events on the device.

    python3 clocks.py [tiny|small]

On a CPU there is nothing to wait for, so the clocks agree, and there are no events.
"""
import sys
import time

import torch

from tiny_llama import DEVICE, STEPS, WARMUP, report, setup, synchronize

model, optimizer, tokens, targets = setup(sys.argv[1] if len(sys.argv) > 1 else "small", fused=True)


def step(after_phase=lambda: None):
    """One step; `after_phase` is called after forward, backward and optimizer."""
    optimizer.zero_grad(set_to_none=True)
    loss = model(tokens, targets)
    after_phase()
    loss.backward()
    after_phase()
    optimizer.step()
    after_phase()


def measure(wait_for_phases, wait_for_step):
    marks = [time.perf_counter()]

    def after_phase():
        if wait_for_phases:
            synchronize()
        marks.append(time.perf_counter())

    step(after_phase)
    if wait_for_step:
        synchronize()
    marks.append(time.perf_counter())
    synchronize()
    return [(b - a) * 1e3 for a, b in zip(marks, marks[1:4])] + [(marks[-1] - marks[0]) * 1e3]


for _ in range(WARMUP):
    step()
synchronize()
PARTS = ["forward_ms", "backward_ms", "optimizer_ms", "step_ms"]
clocks = []


def show(name, rows):
    medians = [sorted(column)[len(column) // 2] for column in zip(*rows)]
    print(f"{name:20}" + "".join(f"{value:10.2f}" for value in medians))
    clocks.append(dict(clock=name, **{part: round(value, 3) for part, value in zip(PARTS, medians)}))


print(f"{'':22}forward  backward  optimizer     step   (ms, medians of {STEPS})")
for name, phases, whole in [("never wait", False, False), ("wait once", False, True), ("wait three times", True, True)]:
    show(name, [measure(phases, whole) for _ in range(STEPS)])

# Events are marks in the stream. The device notes their times by itself, so nobody has to wait in between.
rows = []
for _ in range(STEPS if DEVICE == "cuda" else 0):
    events = [torch.cuda.Event(enable_timing=True) for _ in range(4)]
    marks = iter(events)
    next(marks).record()
    step(lambda: next(marks).record())
    synchronize()  # once, before the times are read
    rows.append([a.elapsed_time(b) for a, b in zip(events, events[1:])] + [events[0].elapsed_time(events[3])])
if rows:
    show("events", rows)
report(clocks=clocks)
