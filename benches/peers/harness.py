"""What every peer shares: the cases, their data, NumPy's answers, the clock and the JSON.

A peer is an object with `name`, `device` and `prepare(inputs, op, axes)`, which returns its result
as a NumPy array and a function that times it. It raises what it likes where it has no kernel.
"""

import argparse
import functools
import json
import math
import signal
import statistics
import sys
import time

import numpy as np

# What matters most comes first, here and below: time may run out.
DTYPES = ["float32", "int32", "float16", "uint8", "int8", "bfloat16", "float64", "int64"]
DTYPES += ["int16", "uint16", "uint32", "uint64", "bool"]
try:
    from ml_dtypes import bfloat16  # NumPy has none of its own.
except ImportError:
    DTYPES.remove("bfloat16")

# Names, shapes and axes as in benches/catalogue.rs, so that rows meet those of `wgreduce bench`.
PEERS = [
    ("A", (1, 1 << 24), (1,)),
    ("B", (4096, 4096), (1,)),
    ("C", (4096, 4096), (0,)),
    ("D", (1 << 20, 16), (1,)),
    ("E", (64, 512, 512), (1,)),
    ("F", (1_000_000, 3), (0,)),
]
# The rest of the catalogue, float32 only.
MORE = [
    ("huge", (1, 1 << 28), (1,)),
    ("huge-rows", (1 << 14, 1 << 14), (1,)),
    ("cube512-0", (512, 512, 512), (0,)),
    ("cube512-1", (512, 512, 512), (1,)),
    ("cube512-2", (512, 512, 512), (2,)),
    ("odd4095", (32, 512, 4095), (2,)),
    ("pixels151", (1, 513, 513, 151), (3,)),
    ("middle50", (50, 10_000, 50), (1,)),
    ("rows8", (1 << 20, 8), (1,)),
    ("rows3", (1_000_000, 3), (1,)),
    ("rows10", (1_600_000, 10), (1,)),
    ("classes21", (2, 21, 512, 512), (1,)),
    ("classes21-odd", (1, 21, 513, 513), (1,)),
    ("channels64", (1024, 64, 128), (1,)),
    ("short-axis", (4, 3_000_000), (0,)),
    ("columns8", (300_000, 8), (0,)),
    ("flat", (1, 1_215_488), (1,)),
    ("vocab8", (8, 151_936), (1,)),
    ("vocab1", (1, 129_280), (1,)),
    ("tiny", (8, 1000), (1,)),
    ("scattered02", (64, 128, 64, 32), (0, 2)),
    ("scattered024", (8, 16, 8, 16, 64), (0, 2, 4)),
    ("cube100-0", (100, 100, 100), (0,)),
    ("cube100-1", (100, 100, 100), (1,)),
    ("cube100-2", (100, 100, 100), (2,)),
    ("over-binding-0", (4500, 8000), (0,)),
    ("over-binding-1", (4500, 8000), (1,)),
]
FLAT, MATRIX = (1 << 24,), (4096, 4096)
ELEMENTWISE = [
    ("pair", [FLAT] * 2),
    ("three", [FLAT] * 3),
    ("eight", [FLAT] * 8),
    ("matrix-row", [MATRIX, (4096,)]),
    ("matrix-column", [MATRIX, (4096, 1)]),
]


def dtype_of(name):
    return np.dtype(bfloat16 if name == "bfloat16" else name)


def cases(every):
    """Name, operators, shapes of the inputs, axes and type."""
    for dtype in map(dtype_of, DTYPES):
        for name, shape, axes in PEERS:
            shape = list(shape)
            if dtype.itemsize == 8:  # The bytes stay.
                shape[axes[0]] //= 2
            sums = [] if dtype == np.bool_ else ["reduce-sum"]
            yield name, ["argmin", "reduce-min"] + sums, [tuple(shape)], axes, dtype
        if every and dtype == np.float32:
            for name, shape, axes in MORE:
                ops = ["argmin", "reduce-min"] if len(axes) == 1 else ["reduce-min"]
                yield name, ops, [shape], axes, dtype
            for name, shapes in ELEMENTWISE:
                yield name, ["min"], shapes, (), dtype


def data(shape, axes, dtype, seed):
    """Noise whose minimum lies late in its row, and twice.

    A peer that stops early or takes another of equal minima shall not pass by luck, and small
    integers would have their minimum among the first few hundred.
    """
    rng = np.random.default_rng(seed)
    if dtype == np.bool_:
        lowest = False
        x = np.ones(shape, dtype)
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        lowest = info.min
        x = rng.integers(lowest + 1, info.max, shape, dtype, endpoint=True)
    else:
        lowest = -1
        x = rng.random(shape, np.float64 if dtype.itemsize == 8 else np.float32)
        x -= 0.5
        x = x.astype(dtype, copy=False)
    if len(axes) == 1:
        rows = np.moveaxis(x, axes[0], -1)
        n = rows.shape[-1]
        first = rng.integers(n // 2, n, (*rows.shape[:-1], 1))
        np.put_along_axis(rows, first, dtype.type(lowest), -1)
        rows[..., -1] = lowest
    return x


def numpy_answer(inputs, op, axes):
    if op == "min":
        return functools.reduce(np.minimum, inputs)
    if op == "reduce-sum":
        return inputs[0].sum(axes, dtype=inputs[0].dtype)
    return inputs[0].argmin(axes[0]) if op == "argmin" else inputs[0].min(axes)


def exact_sum(x, axes):
    """Rounded once, from NumPy's own sum for integers, which wrap."""
    if x.dtype.kind in "iu":
        return x.sum(axes, dtype=x.dtype)
    rows = np.moveaxis(x, axes[0], -1).astype(np.float64)
    sums = [math.fsum(row) for row in rows.reshape(-1, rows.shape[-1])]
    # The data are so coarse that float64 holds each sum of narrower floats.
    return np.array(sums).reshape(rows.shape[:-1]).astype(x.dtype)


def error_of_sum(expected, result):
    """How far a sum is off: the greatest error, as a share of the sum."""
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.abs(result.astype(np.float64) - expected.astype(np.float64))
        share = off / np.abs(expected.astype(np.float64))
    return f", off by up to {np.nanmax(share):.2g} of the sum"


def difference(inputs, op, axes, expected, result):
    """What is wrong with a result; None if it is NumPy's."""
    if result.size != expected.size:
        return f"{result.size} elements, not {expected.size}"
    result = result.reshape(expected.shape)
    wrong = result != expected
    if not wrong.any():
        return None
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    text = f"{int(wrong.sum())} of {wrong.size} differ, at {list(where)} {result[where]}"
    text += f", not {expected[where]}"
    if op == "reduce-sum":
        text += error_of_sum(expected, result)
    if op == "argmin":
        rows = np.moveaxis(inputs[0], axes[0], -1)
        inside = (result >= 0) & (result < rows.shape[-1])
        if inside.all():
            chosen = np.take_along_axis(rows, result[..., None].astype(np.int64), -1)[..., 0]
            if (chosen == inputs[0].min(axes)).all():
                text += " (minima all, but not the first)"
    return text


def clock():
    start = time.perf_counter_ns()
    return lambda: time.perf_counter_ns() - start


def wall(call):
    """For a call that returns when its work is done."""

    def once():
        elapsed = clock()
        call()
        return elapsed()

    return {"wall_ns": median(once)}


def median(once, warm_up=2, least=3, most=15, enough_ns=250_000_000):
    """The median of what `once` returns, in nanoseconds."""
    for _ in range(warm_up):
        once()
    times = []
    while len(times) < least or len(times) < most and sum(times) < enough_ns:
        times.append(once())
    return int(statistics.median(times))


def main(make_peers, parser=None):
    """Verifies and times; `make_peers(args)` returns peers, and says on stderr what is missing."""
    parser = parser or argparse.ArgumentParser()
    parser.add_argument("--filter", default="", help="part of a case's line, as 'A argmin float32'")
    parser.add_argument("--every", action="store_true", help="also the rest of the catalogue")
    parser.add_argument("--list", action="store_true", help="the cases' lines, and nothing else")
    parser.add_argument("--json", default="-", help="a file in place of stdout")
    args = parser.parse_args()
    if args.list:
        print("\n".join(line for case in cases(args.every) for line in lines(case, args.filter)))
        return
    # What `timeout` stops keeps what it has measured.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(124))
    rows = []
    try:
        peers = make_peers(args)
        for case in cases(args.every) if peers else ():
            run(case, peers, args.filter, rows)
    finally:
        text = json.dumps(rows, indent=1) + "\n"
        if args.json == "-":
            sys.stdout.write(text)
        else:
            with open(args.json, "w") as file:
                file.write(text)


def lines(case, part):
    """What a case is called, an operator each, as by `wgreduce bench --filter`."""
    name, ops, _, _, dtype = case
    every = (f"{name} {op} {dtype}" for op in ops)
    return [line for line in every if part in line]


def run(case, peers, part, rows):
    """All peers on one shape and type, one operator after the other."""
    name, _, shapes, axes, dtype = case
    ops = [line.split()[1] for line in lines(case, part)]
    if not ops:
        return
    inputs = [data(shape, axes, dtype, seed) for seed, shape in enumerate(shapes, 1)]
    for op in ops:
        exact = op == "reduce-sum"
        expected = exact_sum(inputs[0], axes) if exact else numpy_answer(inputs, op, axes)
        for peer in peers:
            row = {"peer": peer.name, "case": name, "op": op, "dtype": str(dtype)}
            row |= {"inputs": shapes, "axes": axes, "device": peer.device}
            # What a reader of its times must know.
            row |= {"note": peer.note} if getattr(peer, "note", None) else {}
            row |= measured(peer, inputs, op, axes, expected)
            rows.append(row)
            say(line(row))


def measured(peer, inputs, op, axes, expected):
    """`verified` is null where the peer gave no answer at all."""
    row = {"gpu_ns": None, "wall_ns": None, "verified": None}
    try:
        result, timing = peer.prepare(inputs, op, axes)
        why = difference(inputs, op, axes, expected, np.asarray(result))
        row["verified"] = why is None
        # A sum that is not exact is what others give: its time counts all the same.
        timed = timing() if why is None or op == "reduce-sum" else {}
        return row | timed | ({"error": why} if why else {})
    except Exception as e:  # Peers raise anything.
        first = (str(e).strip() or repr(e)).splitlines()[0]
        return row | {"verified": None, "error": first[:300]}


def line(row):
    what = f"{row['peer']}: {row['case']} {row['op']} {row['dtype']}"
    ns = row["gpu_ns"] or row["wall_ns"]
    told = [] if ns is None else [f"{ns / 1e6:.3f} ms"]
    return f"{what}: {', '.join(told + [row['error']] if 'error' in row else told)}"


def say(text):
    print(text, file=sys.stderr, flush=True)
