"""CUB, by the library of cub.cu: answers `gpu` (on_gpu.py). Rows alone: it has no columns."""

import ctypes
import sys

import on_gpu
from on_gpu import np

OPS = ["reduce-min", "argmin", "reduce-sum"]
REPRODUCIBLE = 3


class Cub:
    clock = "gpu_ns"

    def __init__(self, reproducible):
        self.library = on_gpu.Library(True)
        version = self.library.c.peers_version()
        self.name = f"CUB {version // 100000}.{version // 100 % 1000}.{version % 100}"
        self.reproducible = reproducible
        if reproducible:
            self.name += " reproducible"
        self.device = self.library.device

    def prepare(self, case):
        (rows, length), (axis,) = case["inputs"][0], case["axes"]
        if axis != 1:
            raise NotImplementedError("rows alone")
        op = REPRODUCIBLE if self.reproducible else OPS.index(case["op"])
        what = (op, on_gpu.TYPES.index(case["dtype"]))
        what += (ctypes.c_uint64(rows), ctypes.c_uint64(length))
        wrong = self.library.number("cub_prepare", *what, kind=ctypes.c_uint32)
        why = f"{wrong} of {rows} differ" if wrong else None
        if case["op"] == "reduce-sum":
            few = min(rows, max(1, on_gpu.SLICE // length))
            dtype = np.dtype(case["dtype"])
            data = self.copied(0, np.empty((few, length), dtype))
            sums = self.copied(1, np.empty(few, dtype))
            why = on_gpu.error_of_sums(data, sums, lambda right: right.astype(dtype))
        return why, lambda: self.library.number("cub_time", *what)

    def copied(self, which, array):
        to = array.ctypes.data_as(ctypes.c_void_p)
        self.library.call("cub_copy", which, to, ctypes.c_size_t(array.nbytes))
        return array


if __name__ == "__main__":
    on_gpu.serve(lambda: Cub("reproducible" in sys.argv[1:]))
