"""PyTorch, CuPy (CUB) and JAX on a CUDA GPU; what cannot be imported or finds no GPU is skipped.

Times are the device's own, by CUDA events around each call; JAX has none, so its time is that
of calls enqueued together, by the wall, and means little below some 50 us. The input stays where
it is between the calls, and in the L2 cache if it fits, as in `wgreduce bench`.
"""

import functools
import importlib
import os
import statistics

import harness
from harness import np

# CuPy's own kernels are much slower than CUB's.
os.environ.setdefault("CUPY_ACCELERATORS", "cub")
# JAX would take three quarters of the GPU's memory at its start.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

WARM_UP, CALLS = 3, 15
FILLER_BYTES, FILLS = 256 << 20, 48


def on_events(call, event, elapsed_ms, fill, synchronize):
    """Medians of events around single calls.

    The GPU is given some milliseconds of other work first, so that the calls queue up behind it:
    else the time between two events would hold the CPU's time for what lies between them.
    """
    for _ in range(WARM_UP):
        call()
    synchronize()
    for _ in range(FILLS):
        fill()
    pairs = []
    for _ in range(CALLS):
        begin, end = event(), event()
        begin.record()
        call()
        end.record()
        pairs.append((begin, end))
    synchronize()
    times = [elapsed_ms(begin, end) for begin, end in pairs]
    return {"gpu_ns": round(1e6 * statistics.median(times))}


class Torch:
    def __init__(self):
        self.torch = torch = importlib.import_module("torch")
        if not torch.cuda.is_available():
            raise RuntimeError("no CUDA device")
        self.name = f"PyTorch {torch.__version__}"
        self.device = torch.cuda.get_device_name()
        self.filler = torch.empty(FILLER_BYTES, dtype=torch.uint8, device="cuda")

    def upload(self, x):
        """torch.from_numpy refuses ml_dtypes' bfloat16: it travels as bits."""
        bits = x.view(np.int16) if str(x.dtype) == "bfloat16" else x
        source = self.torch.from_numpy(np.ascontiguousarray(bits)).cuda()
        return source if bits is x else source.view(self.torch.bfloat16)

    def prepare(self, inputs, op, axes):
        torch = self.torch
        sources = [self.upload(x) for x in inputs]
        call = {
            "argmin": lambda: torch.argmin(sources[0], dim=axes[0]),
            "reduce-min": lambda: torch.amin(sources[0], dim=axes),
            "min": lambda: functools.reduce(torch.minimum, sources),
        }[op]
        result = call()
        if result.dtype == torch.bfloat16:
            result = result.float()  # Exact, and NumPy compares it with its own bfloat16.
        event = lambda: torch.cuda.Event(enable_timing=True)
        return result.cpu().numpy(), lambda: on_events(
            call,
            event,
            lambda begin, end: begin.elapsed_time(end),
            lambda: self.filler.fill_(1),
            torch.cuda.synchronize,
        )


class CuPy:
    def __init__(self):
        self.cupy = cupy = importlib.import_module("cupy")
        if not cupy.cuda.is_available():
            raise RuntimeError("no CUDA device")
        self.name = f"CuPy {cupy.__version__} (CUB)"
        self.device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        self.filler = cupy.empty(FILLER_BYTES, dtype=cupy.uint8)

    def prepare(self, inputs, op, axes):
        cupy, x = self.cupy, inputs[0]
        if str(x.dtype) == "bfloat16":
            raise NotImplementedError("CuPy has no bfloat16")
        sources = [cupy.asarray(x) for x in inputs]
        # An array of one row is reduced as a whole: only then does CuPy hand it to CUB's
        # device-wide kernels, as its users would have it.
        flat = len(axes) == 1 and x.size == x.shape[axes[0]]
        axis = None if flat else axes if len(axes) > 1 else axes[0] if axes else ()
        call = {
            "argmin": lambda: sources[0].argmin(axis),
            "reduce-min": lambda: sources[0].min(axis),
            "min": lambda: functools.reduce(cupy.minimum, sources),
        }[op]
        return cupy.asnumpy(call()), lambda: on_events(
            call,
            cupy.cuda.Event,
            cupy.cuda.get_elapsed_time,
            lambda: self.filler.fill(1),
            cupy.cuda.Device().synchronize,
        )


class Jax:
    def __init__(self):
        self.jax = jax = importlib.import_module("jax")
        # For 64-bit elements, and for indices of 64 bits as the others have.
        jax.config.update("jax_enable_x64", True)
        gpus = [d for d in jax.devices() if d.platform in ("gpu", "cuda")]
        if not gpus:
            raise RuntimeError("no CUDA device")
        self.gpu = gpus[0]
        self.name = f"JAX {jax.__version__}"
        self.device = self.gpu.device_kind

    def prepare(self, inputs, op, axes):
        jax, jnp = self.jax, self.jax.numpy
        sources = [jax.device_put(x, self.gpu) for x in inputs]
        call = jax.jit(
            {
                "argmin": lambda x: jnp.argmin(x, axis=axes[0]),
                "reduce-min": lambda x: jnp.min(x, axis=axes),
                "min": lambda *xs: functools.reduce(jnp.minimum, xs),
            }[op]
        )
        result = np.asarray(call(*sources))

        def together():
            elapsed = harness.clock()
            results = [call(*sources) for _ in range(CALLS)]
            jax.block_until_ready(results)
            return elapsed() // CALLS

        return result, lambda: {"wall_ns": harness.median(together)}


def start(args):
    peers = []
    for make in (Torch, CuPy, Jax):
        try:
            peers.append(make())
        except Exception as e:  # A broken CUDA installation raises anything.
            why = (str(e).strip() or repr(e)).splitlines()[0]
            harness.say(f"missing: {make.__name__}: {why}")
    return peers


harness.main(start)
