"""burn's wgpu backend: drives the program of burn/ (burn/src/main.rs says how they talk).

With `--gpu` it answers `gpu` (on_gpu.py): the result of a part of the rows is compared, and the whole, which
the device makes, is timed.
"""

import argparse
import math
import subprocess
import sys
import tempfile
import threading

import harness
import on_gpu
from harness import np

LIMIT_S = 120  # A job that takes longer hangs.


class Burn:
    def __init__(self, program):
        self.program, self.process = program, None
        self.name, self.device = self.ask("hello").split("\t")

    def start(self):
        self.stderr = tempfile.TemporaryFile("w+")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([self.program], stdin=pipe, stdout=pipe, stderr=self.stderr)

    def ask(self, line, data=b"", answer=lambda line, stdout: line):
        """Sends a line and bytes. A process that fails is replaced: burn poisons its device."""
        if self.process is None:
            self.start()
        process = self.process
        watch = threading.Timer(LIMIT_S, process.kill)
        watch.start()
        try:
            process.stdin.write(line.encode() + b"\n" + data)
            process.stdin.flush()
            reply = process.stdout.readline().decode().rstrip("\n")
            if reply:
                return answer(reply, process.stdout)
        except BrokenPipeError:
            pass
        finally:
            watch.cancel()
        self.stop()
        raise RuntimeError(self.complaint() or f"it ended, or took {LIMIT_S} s")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def complaint(self):
        """What a panic says: the shader compiler's line if there is one, else the first."""
        self.stderr.seek(0)
        lines = [line.strip() for line in self.stderr if line.strip()]
        panics = [i for i, line in enumerate(lines) if " panicked at " in line]
        said = lines[panics[0] + 1 :] if panics else []
        compiler = (line.split("' ")[-1] for line in said if " error: " in line)
        return next(compiler, said[0] if said else None)

    def prepare(self, inputs, op, axes):
        if len(axes) != 1:
            raise NotImplementedError("one axis")
        x = inputs[0]

        def result(reply, stdout):
            dtype, length = reply.split()
            return np.frombuffer(stdout.read(int(length)), harness.dtype_of(dtype))

        shape = ",".join(map(str, x.shape))
        job = f"job {op} {x.dtype} {axes[0]} {shape}"
        answer = self.ask(job, np.ascontiguousarray(x).tobytes(), result)
        # A thread of burn's can fail and the answer still come, with nothing in it.
        if self.complaint():
            self.stop()
            raise RuntimeError(self.complaint())
        return answer, lambda: {"wall_ns": harness.median(lambda: self.time(1))}

    def time(self, calls):
        return int(self.ask(f"time {calls}"))


class OnGpu:
    """The same for on_gpu.py."""

    clock = "wall_ns"

    def __init__(self, program):
        self.burn = Burn(program)
        self.name, self.device = self.burn.name, self.burn.device

    def prepare(self, case):
        (shape,), (axis,), op, dtype = case["inputs"], case["axes"], case["op"], case["dtype"]
        kept = max((d for d in range(len(shape)) if d != axis), key=shape.__getitem__)
        few = list(shape)
        few[kept] = min(few[kept], max(1, on_gpu.SLICE * few[kept] // math.prod(shape)))
        inputs = [harness.data(few, (axis,), harness.dtype_of(dtype), 1)]
        if op == "reduce-sum":
            expected = inputs[0].sum(axis, dtype=np.longdouble).astype(dtype)
        else:
            expected = harness.numpy_answer(inputs, op, (axis,))
        result, _ = self.burn.prepare(inputs, op, (axis,))
        why = harness.difference(inputs, op, (axis,), expected, result)
        self.burn.ask(f"make {op} {dtype} {axis} {','.join(map(str, shape))}")
        calls = on_gpu.calls_of_a_batch(self.burn.time)
        return why, lambda: self.burn.time(calls) / calls


def start(args):
    try:
        return [Burn(args.program)]
    except (OSError, RuntimeError) as e:
        harness.say(f"missing: burn ({args.program}): {e}")
        return []


parser = argparse.ArgumentParser()
parser.add_argument("program", help="what cargo built in burn/")
if sys.argv[-1:] == ["--gpu"]:
    on_gpu.serve(lambda: OnGpu(sys.argv[1]))
else:
    harness.main(start, parser)
