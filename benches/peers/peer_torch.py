"""PyTorch on a CUDA GPU, eager or compiled by inductor: answers `gpu` (on_gpu.py)."""

import functools
import sys

import on_gpu
import torch
from on_gpu import np


class Torch:
    clock = "gpu_ns"

    def __init__(self, compiled):
        if not torch.cuda.is_available():
            raise RuntimeError("no CUDA device")
        self.compiled = compiled
        self.name = f"PyTorch {torch.__version__}" + (" compiled" if compiled else "")
        self.device = torch.cuda.get_device_name()

    def prepare(self, case):
        self.x = self.call = None  # Its memory first.
        shape, (axis,), op = case["inputs"][0], case["axes"], case["op"]
        self.x = x = data(shape, axis, case["dtype"])
        function = {
            "argmin": lambda x: torch.argmin(x, dim=axis),
            "reduce-min": lambda x: torch.amin(x, dim=axis),
            "reduce-sum": lambda x: torch.sum(x, dim=axis),
        }[op]
        if self.compiled:
            torch.compiler.reset()
            function = torch.compile(function)
        self.call = functools.partial(function, x)
        why = difference(x, axis, case, self.call())
        calls = on_gpu.calls_of_a_batch(self.run)
        return why, lambda: self.run(calls) / calls

    def run(self, calls):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            self.call()
        end.record()
        end.synchronize()
        return 1e6 * begin.elapsed_time(end)


def data(shape, axis, dtype):
    """Noise with the least element of each row in two places, made on the device."""
    kind = getattr(torch, dtype)
    if kind.is_floating_point:
        x = torch.empty(shape, dtype=kind, device="cuda").uniform_(-0.5, 0.5)
    else:
        least, most = on_gpu.least(dtype), int(np.iinfo(dtype).max)
        x = torch.empty(shape, dtype=kind, device="cuda").random_(least + 1, most)
    length = shape[axis]
    for at in (on_gpu.place(length), length - 1):
        x.select(axis, at).fill_(on_gpu.least(dtype))
    return x


def difference(x, axis, case, result):
    if case["op"] == "reduce-sum":
        rows, results = first_rows(x, axis, result)
        # NumPy has no bfloat16: the right sums are rounded to the type by torch.
        rounded = lambda sums: on_host(torch.from_numpy(sums.astype(np.float64)).to(x.dtype))
        return on_gpu.error_of_sums(rows, results, rounded)
    argmin = case["op"] == "argmin"
    right = on_gpu.place(x.shape[axis]) if argmin else on_gpu.least(case["dtype"])
    wrong = int((result != right).sum())
    return f"{wrong} of {result.numel()} differ" if wrong else None


def first_rows(x, axis, result):
    """Some rows with their results on the host: of the longest dimension that is kept, the beginning."""
    x, shape = torch.movedim(x, axis, -1), list(result.shape)
    longest = max(range(len(shape)), key=shape.__getitem__)
    few = max(1, on_gpu.SLICE * shape[longest] // x.numel())
    x, result = (t.narrow(longest, 0, min(few, shape[longest])) for t in (x, result))
    return on_host(x).reshape(-1, x.shape[-1]), on_host(result).reshape(-1)


def on_host(x):
    """As float64, which holds every float."""
    return x.double().cpu().numpy()


if __name__ == "__main__":
    on_gpu.serve(lambda: Torch("compiled" in sys.argv[1:]))
