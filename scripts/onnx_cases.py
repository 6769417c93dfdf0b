#!/usr/bin/env python3
"""Writes ONNX's node tests for our operators: scripts/onnx_cases.py FOLDER

Needs the package `onnx`, which makes the cases and what they must give.
"""

import pathlib
import sys

from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

OPERATORS = [
    "argmax",
    "argmin",
    "reduce_max",
    "reduce_min",
    "max",
    "min",
    "reduce_sum",
    "reduce_mean",
    "reduce_l1",
    "reduce_l2",
    "reduce_sum_square",
    "top_k",
]


def is_ours(case):
    # An expanded case is made of other operators.
    if case.name.endswith("_expanded"):
        return False
    return any(f"{case.name}_".startswith(f"test_{name}_") for name in OPERATORS)


def tensor(value, name):
    if isinstance(value, TensorProto):
        return value
    return numpy_helper.from_array(value, name)


def write(case, folder):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    graph = case.model.graph
    for i, (inputs, outputs) in enumerate(case.data_sets):
        data_set = folder / f"test_data_set_{i}"
        data_set.mkdir()
        for kind, values, names in [("input", inputs, graph.input), ("output", outputs, graph.output)]:
            for j, (value, info) in enumerate(zip(values, names)):
                path = data_set / f"{kind}_{j}.pb"
                path.write_bytes(tensor(value, info.name).SerializeToString())


target = pathlib.Path(sys.argv[1])
cases = [case for case in collect_testcases(None) if is_ours(case)]
for case in cases:
    write(case, target / case.name)
print(f"{len(cases)} cases in {target}")
