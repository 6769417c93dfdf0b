"""Writes cases.json: what the ONNX reference implementation answers, for tests/reference.rs.

    pip install numpy ml_dtypes onnx
    python make.py

bfloat16 is computed in float32, which holds every bfloat16 exactly. Cases that ignore NaN, which
ONNX cannot, are NumPy's fmin and fmax. The data are the same on every run. A tensor is [type,
shape, bytes in hex, little-endian, C order]; cases name tensors by number. Without "axes" a case
gives none.
"""

import functools
import json
import math
from pathlib import Path

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

OPSET = 20
FLOATS = {  # bits, bits of the mantissa
    "bfloat16": (16, 7),
    "float16": (16, 10),
    "float32": (32, 23),
    "float64": (64, 52),
}
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMERIC = [*FLOATS, *INTEGERS]
ALL = [*NUMERIC, "bool"]
DTYPES = {name: np.dtype(getattr(ml_dtypes if name == "bfloat16" else np, name)) for name in NUMERIC}
DTYPES["bool"] = np.dtype(np.bool_)


class Data:
    """The notable values of one type, and tensors made of them."""

    def __init__(self, name):
        self.name = name
        self.dtype = DTYPES[name]
        self.rng = np.random.default_rng(ALL.index(name) + 1)
        self.nans = []
        if name in FLOATS:
            bits, mantissa = FLOATS[name]
            sign, inf = 1 << (bits - 1), (1 << (bits - 1)) - (1 << mantissa)
            quiet = 1 << (mantissa - 1)
            one = int(np.array(1, self.dtype).view(f"u{bits // 8}"))
            self.least, self.most = sign | inf, inf
            positive = [0, 1, 2, (1 << mantissa) - 1, 1 << mantissa, one, one + 1, inf - 1, inf]
            self.plain = positive + [sign | p for p in positive]
            self.nans = [inf | quiet, inf | 1, sign | inf | quiet | 5, sign | inf | 2]
            self.zeros = [0, sign]
            self.numbers = [self.plain[i] for i in (5, 6, 14, 1, 10)]
        elif name == "bool":
            self.least, self.most = 0, 1
            self.plain, self.zeros, self.numbers = [0, 1], [0, 0], [0, 1]
        else:
            info = np.iinfo(self.dtype)
            bits = info.bits
            mask = (1 << bits) - 1
            self.least, self.most = int(info.min) & mask, int(info.max) & mask
            # Neighbours of the limits, of both signs' border, and of what a half-wide integer,
            # a float or a double could confuse.
            edges = [0, 1, 2, int(info.min), int(info.max), 1 << (bits // 2), 1 << (bits - 1)]
            edges += [e for e in (1 << 24, 1 << 53) if e < info.max]
            near = sorted({(e + d) & mask for e in edges for d in (-1, 0, 1)})
            self.plain, self.zeros, self.numbers = near, [0, 0], near[:: len(near) // 5]

    def tensor(self, values, *shape):
        """A tensor of bit patterns."""
        unsigned = np.dtype(f"u{self.dtype.itemsize}")
        return np.array(values, unsigned).view(self.dtype).reshape(shape)

    def mixed(self, *shape, nans=0):
        """Few different values, so that there are ties; `nans` of them NaN if the type has it."""
        size = math.prod(shape)
        few = self.rng.permutation(len(self.plain))[:6]
        values = [self.plain[i] for i in self.rng.choice(few, size)]
        for i in self.rng.permutation(size)[: nans if self.nans else 0]:
            values[i] = self.nans[int(i) % len(self.nans)]
        return self.tensor(values, *shape)

    def cubes(self):
        """One without and, if the type has it, one with NaN."""
        return [self.mixed(2, 3, 4), self.mixed(2, 3, 4, nans=4)][: 2 if self.nans else 1]

    def rows(self):
        """A row of seven for every way in which a row can be special."""
        lo, hi, (zero, minus) = self.least, self.most, self.zeros
        n = self.numbers
        a, b, c = n[0], n[1 % len(n)], n[2 % len(n)]
        rows = [
            [lo] * 7,
            [hi] * 7,
            [zero] * 7,
            [hi, lo, hi, lo, hi, lo, hi],
            [a, b, c, b, c, a, c],
            [c, c, a, a, b, b, a],
            [hi, hi, hi, a, hi, hi, hi],
            [lo, lo, b, lo, lo, lo, lo],
            [self.plain[i % len(self.plain)] for i in range(7)],
            [self.plain[-1 - i % len(self.plain)] for i in range(7)],
        ]
        if self.nans:
            largest = hi - 1
            p, q, r, s = self.nans
            tiny, negative = 1, lo & ~hi | 1
            rows += [
                [minus] * 7,
                [zero, minus, zero, minus, zero, zero, minus],
                [minus, zero, minus, zero, minus, minus, zero],
                [largest] * 7,
                [lo - 1] * 7,
                [tiny + 1, tiny, zero, tiny, tiny + 1, minus, tiny],
                [negative, negative + 1, minus, negative + 1, zero, negative, minus],
                [p, q, r, s, p, q, r],
                [q] * 7,
                [r, a, lo, hi, b, c, a],
                [a, lo, hi, b, c, a, s],
                [a, q, lo, b, r, hi, c],
                [hi, hi, s, hi, hi, hi, hi],
                [lo, lo, lo, lo, lo, p, lo],
            ]
        return self.tensor(sum(rows, []), len(rows), 7)


class Book:
    """The tensors and cases of the file, each tensor kept once."""

    def __init__(self):
        self.tensors = {}
        self.cases = []

    def tensor(self, array):
        name = next(n for n, d in DTYPES.items() if d == array.dtype)
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        line = json.dumps([name, list(array.shape), little.tobytes().hex()])
        return self.tensors.setdefault(line, len(self.tensors))

    def add(self, op, inputs, axes=None, **options):
        copies = op in ("Min", "Max") and len(inputs) == 1
        copies |= options.get("noop_with_empty_axes", False) and not axes
        narrow = inputs[0].dtype == DTYPES["bfloat16"] and not copies
        wide = [i.astype(np.float32) if narrow else i for i in inputs]
        # NumPy warns of signalling NaN.
        with np.errstate(all="ignore"):
            output = evaluate(op, wide, axes, options)
            if narrow and output.dtype == np.float32:
                output = output.astype(DTYPES["bfloat16"])
        case = {"op": op, **({} if axes is None else {"axes": axes}), **options}
        case |= {"in": [self.tensor(i) for i in inputs], "out": self.tensor(output)}
        self.cases.append(case)

    def write(self, path):
        lines = ['{"tensors": [', ",\n".join(self.tensors), '], "cases": [']
        lines += [",\n".join(json.dumps(case) for case in self.cases), "]}\n"]
        path.write_text("\n".join(lines))


def evaluate(op, inputs, axes, options):
    """One node, run by the ONNX reference implementation, or by NumPy to ignore NaN."""
    if options.get("ignore_nan"):
        extreme = np.fmax if op.endswith("Max") else np.fmin
        # C's fmin, and so sometimes NumPy's, does not ignore a signalling NaN.
        inputs = [np.where(np.isnan(i), i.dtype.type(np.nan), i) for i in inputs]
        if not op.startswith("Reduce"):
            return functools.reduce(extreme, inputs)
        axes = None if axes is None else tuple(axes)
        return np.asarray(extreme.reduce(inputs[0], axis=axes, keepdims=options["keepdims"]))
    attributes = {k: int(v) for k, v in options.items()}
    tensors = list(inputs)
    if op in ("ArgMin", "ArgMax"):
        attributes["axis"] = axes[0]
    elif axes is not None:
        tensors.append(np.array(axes, np.int64))
    names = [f"x{i}" for i in range(len(tensors))]
    node = helper.make_node(op, names, ["y"], **attributes)
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(t.dtype), t.shape)
        for n, t in zip(names, tensors)
    ]
    result = helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)
    graph = helper.make_graph([node], "case", infos, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    output = ReferenceEvaluator(model).run(None, dict(zip(names, tensors)))[0]
    output = np.asarray(output)
    expected = np.dtype(np.int64) if op.startswith("Arg") else inputs[0].dtype
    assert output.dtype == expected, (op, output.dtype, expected)
    return output


def arg_cases(book, op, data):
    cubes, rows = data.cubes(), data.rows()
    wide, deep = data.mixed(3, 37), data.mixed(2, 3, 2, 3)
    for last in (False, True):
        for array, axis, keepdims in [
            *((cube, axis, axis % 2 == 0) for cube in cubes for axis in (0, 1, 2, -1, -2, -3)),
            (rows, 1, False),
            (rows, -2, True),
            (wide, -1, True),
            (wide, 0, False),
            (deep, 2, True),
            (deep, -3, False),
            (rows[0], 0, True),
            (rows[4], -1, False),
            (rows[:1, :1], 1, False),
            (rows[:0], 1, True),
            (wide[:, :0], 0, False),
            (deep[:, :0], -1, True),
        ]:
            book.add(op, [array], [axis], keepdims=keepdims, select_last_index=last)


def reduce_cases(book, op, data):
    cubes, rows, deep = data.cubes(), data.rows(), data.mixed(2, 3, 2, 3)
    for cube in cubes:
        for axes in ([0], [1], [-1], [0, 2], [2, 0], [-3, -1], [1, 2], [0, 1, 2], None):
            book.add(op, [cube], axes, keepdims=True)
            book.add(op, [cube], axes, keepdims=False)
        for axes, keepdims in ((None, True), ([], False), ([], True), ([1], True), ([0, 2], False)):
            book.add(op, [cube], axes, keepdims=keepdims, noop_with_empty_axes=True)
        for axes in ([0], [-1], [2, 0], None) if data.nans else ():
            book.add(op, [cube], axes, keepdims=False, ignore_nan=True)
    if data.nans:
        book.add(op, [rows], [1], keepdims=True, ignore_nan=True)
    for array, axes, keepdims in [
        (rows, [1], False),
        (rows, [0], True),
        (rows, None, False),
        (deep, [0, 2], True),
        (deep, [3, 1], False),
        (deep, [-4, 2], False),
        (rows[:0, 0], None, True),
        (rows[:0], [0], True),
        (rows[:0], [-1], False),
        (rows[:0], [1, 0], False),
        (deep[:, :0, :, 0], [1], False),
        (deep[:, :0, :, 0], [0, 2], True),
        (deep[:, :0, :, 0], [2, 1], True),
        (deep[:, :0, :, 0], None, True),
    ]:
        book.add(op, [array], axes, keepdims=keepdims)
    scalars = [data.least, data.most, *data.zeros, *data.nans]
    for scalar in sorted(set(scalars)):
        book.add(op, [data.tensor([scalar])], None, keepdims=True)
        book.add(op, [data.tensor([scalar])], None, keepdims=False, noop_with_empty_axes=True)


def elementwise_cases(book, op, data):
    values = data.plain + data.nans
    every = data.tensor(values, len(values))
    cube, deep = data.mixed(2, 3, 4), data.mixed(3, 1, 5)
    for inputs in [
        [every],
        [every[:, None], every[None, :]],
        [cube, data.mixed(2, 3, 4, nans=2)],
        [deep, data.mixed(4, 1)],
        [data.mixed(4, 1), deep],
        [data.mixed(), cube],
        [data.mixed(4), data.mixed(3, 1), cube],
        [cube, data.mixed(1), data.mixed(2, 1, 4), data.mixed(3, 4)],
        [data.mixed(), data.mixed()],
        [data.mixed(0, 3), data.mixed(1, 3)],
        [data.mixed(1), data.mixed(3, 0)],
        [data.mixed(3, 1, 0), data.mixed(4, 1), data.mixed()],
        [data.mixed(0)],
    ]:
        book.add(op, inputs)
        if len(inputs) > 1 and data.nans:
            book.add(op, inputs, ignore_nan=True)


def main():
    book = Book()
    data = {name: Data(name) for name in ALL}
    for name in NUMERIC:
        for op in ("ArgMin", "ArgMax"):
            arg_cases(book, op, data[name])
    for name in ALL:
        for op in ("ReduceMin", "ReduceMax"):
            reduce_cases(book, op, data[name])
        for op in ("Min", "Max"):
            elementwise_cases(book, op, data[name])
    path = Path(__file__).with_name("cases.json")
    book.write(path)
    print(len(book.cases), "cases,", len(book.tensors), "tensors,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
