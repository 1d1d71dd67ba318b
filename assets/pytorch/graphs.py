"""One step captured as a graph and replayed: the kernels stay, their launches go.

    python3 graphs.py [tiny|small]

Capturing asks for what any graph asks for: the same buffers in every step (the batch is copied into them), an optimizer whose state
lives on the device (`capturable`), and no value that the host looks at.
"""
import sys

import torch

from tiny_llama import DEVICE, median_ms, setup

if DEVICE != "cuda":
    sys.exit("this needs a GPU: a CPU has no launches to save")
model, optimizer, tokens, targets = setup(sys.argv[1] if len(sys.argv) > 1 else "small", fused=True, capturable=True)
forward = torch.compile(model)


def step():
    optimizer.zero_grad(set_to_none=False)  # the gradients' buffers stay where they are
    loss = forward(tokens, targets)
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):  # warm up on another stream, so that nothing is allocated while capturing
    for _ in range(5):
        step()
torch.cuda.current_stream().wait_stream(side)

one_by_one = median_ms(step)
graph = torch.cuda.CUDAGraph()  # a HIP graph on AMD
with torch.cuda.graph(graph):
    loss = step()
graph.replay()  # while capturing nothing ran, and the loss held no number yet
before = loss.item()
replayed = median_ms(graph.replay)
print(f"launched one by one {one_by_one:.2f} ms, replayed {replayed:.2f} ms: {one_by_one / replayed:.2f} times faster")
print(f"loss {before:.4f} after the first replay, {loss.item():.4f} after the last: the graph really trains")
