"""What the peers on a GPU share: they answer `gpu` line by line, at a full clock, beside a plain read.

A peer is an object with `name`, `device` and `prepare(case)`, which makes the case's data on the
device, computes once and returns what is wrong (None: nothing) and a function that runs a batch of
5 ms or more and returns the nanoseconds of one call. It raises what it likes where it has no kernel.
"""

import ctypes
import json
import os
import statistics
import sys
import time

import harness
from harness import np

BYTES = int(os.environ.get("PEERS_BYTES", 1 << 30))
BATCH_NS = 5_000_000
LOAD_S = 0.4  # A clock that has fallen comes back after some 350 ms of unbroken load.
ROUNDS = 5
FULL = 0.95
SLICE = 1 << 22  # Elements that are summed again on the host.
# As in cub.cu.
TYPES = ["float32", "uint8", "int64", "float64"]


class Library:
    """cub.cu, compiled; GPU_LIBRARY has its path."""

    def __init__(self, with_cub):
        path = os.environ.get("GPU_LIBRARY")
        if not path:
            raise FileNotFoundError("the library of cub.cu, which nvcc compiles")
        self.c = ctypes.CDLL(path)
        self.c.peers_error.restype = ctypes.c_char_p
        name = ctypes.create_string_buffer(256)
        self.call("peers_open", ctypes.c_size_t(BYTES), int(with_cub), name)
        self.device = name.value.decode()

    def call(self, name, *arguments):
        error = getattr(self.c, name)(*arguments)
        if error:
            raise RuntimeError(f"{name}: {self.c.peers_error(error).decode()}")

    def number(self, name, *arguments, kind=ctypes.c_double):
        value = kind()
        self.call(name, *arguments, ctypes.byref(value))
        return value.value


def place(length):
    """Where the least element of each row stands first. It stands in the last place, too."""
    return length * 3 // 4


def least(dtype):
    """The least element; all others are greater."""
    return -1 if "float" in dtype else 0 if dtype[0] == "u" else np.iinfo(dtype).min


def calls_of_a_batch(run):
    """How many calls take long enough; `run(calls)` returns the nanoseconds of all of them."""
    calls = 1
    while run(calls) < BATCH_NS:
        calls *= 2
    return calls


def in_turns(batch, library):
    """Medians of batches, each beside one of the plain read, after unbroken load."""
    clock = None
    for _ in range(3):
        start = time.monotonic()
        while time.monotonic() - start < LOAD_S:
            batch()
        clock = library and library.number("peers_clock")
        if clock is None or clock >= FULL:
            break
    times, reads = [], []
    for _ in range(ROUNDS):
        times.append(batch())
        if library:
            reads.append(library.number("peers_read"))
    ceiling = round(statistics.median(reads)) if reads else None
    return round(statistics.median(times)), {"ceiling_gbps": ceiling, "clock": clock}


def error_of_sums(rows, sums, rounded):
    """What is wrong with the sums of rows; `rounded` makes those of the peer's type out of exact ones."""
    right = rounded(rows.sum(-1, dtype=np.longdouble))
    wrong = int((right != sums).sum())
    return f"{wrong} of {sums.size} differ{harness.error_of_sum(right, sums)}" if wrong else None


def serve(make):
    """A line for the peer, then one for each case that stdin gives."""
    peer = make()
    # The peers' own chatter shall not come between.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        library = getattr(peer, "library", None) or Library(False)
    except Exception as e:
        library = None
        harness.say(f"no ceiling: {e}")
    print(json.dumps({"peer": peer.name, "device": peer.device}), file=out)
    for text in sys.stdin:
        case = json.loads(text)
        row = {"peer": peer.name, **case, "device": peer.device}
        row |= measured(peer, case, library)
        print(json.dumps(row), file=out)


def measured(peer, case, library):
    row = {"gpu_ns": None, "wall_ns": None, "verified": None}
    try:
        why, batch = peer.prepare(case)
        row["verified"] = why is None
        # A sum that is not exact is what others give: its time counts all the same.
        if why is None or case["op"] == "reduce-sum":
            ns, beside = in_turns(batch, library)
            row |= {peer.clock: ns, **beside}
        return row | ({"error": why} if why else {})
    except Exception as e:  # Peers raise anything.
        first = (str(e).strip() or repr(e)).splitlines()[0]
        return row | {"verified": None, "error": first[:300]}
