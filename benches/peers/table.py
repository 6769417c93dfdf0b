"""One table out of `wgreduce bench --json` files and the peers': GB/s of input, side by side.

    table.py FILE...

Files of the same peer are rounds: their median counts, and one wrong round makes a case wrong.
Cases of which no peer says anything are left out.
"""

import json
import math
import statistics
import sys

BYTES = {"float64": 8, "int64": 8, "uint64": 8, "float32": 4, "int32": 4, "uint32": 4}
BYTES |= {"float16": 2, "bfloat16": 2, "int16": 2, "uint16": 2, "int8": 1, "uint8": 1, "bool": 1}


class Cell:
    """What one peer did in one case."""

    def __init__(self):
        self.ns, self.wrong, self.errors = [], False, set()

    def add(self, row, ns):
        self.wrong |= row["verified"] is False
        if row.get("error"):
            self.errors.add(row["error"])
        if ns and row["verified"]:
            self.ns.append(ns)

    def text(self, size):
        if self.wrong:
            return "X"
        if not self.ns:
            return "-"
        gbps = size / statistics.median(self.ns)  # Bytes a nanosecond.
        return f"{gbps:.2f}" if gbps < 9.995 else f"{gbps:.1f}" if gbps < 99.95 else f"{gbps:.0f}"


def columns(row):
    """The columns that a row fills, by name, and the time of each."""
    if "peer" in row:
        return {row["peer"]: row["gpu_ns"] or row["wall_ns"]}
    # Peers are timed by either clock, so both are shown.
    return {"wgreduce (GPU)": row.get("gpu_ns"), "wgreduce (wall)": row.get("wall_ns")}


def read(paths):
    cells, peers, clocks, devices = {}, [], {}, {}
    for path in paths:
        try:
            with open(path) as file:
                rows = json.load(file)
        except (OSError, ValueError) as e:
            print(f"table.py: {path}: {e}", file=sys.stderr)
            continue
        for row in rows:
            shape = row["shape"]
            if shape and isinstance(shape[0], list):
                continue  # Min of several inputs: no peer has it.
            key = (row["op"], row["dtype"], row["case"], tuple(shape), tuple(row["axes"]))
            for name, ns in columns(row).items():
                if name not in peers:
                    peers.append(name)
                if "peer" in row:
                    clocks[name] = "GPU" if row["gpu_ns"] else clocks.get(name, "wall")
                devices[name] = row["device"]
                cells.setdefault(key, {}).setdefault(name, Cell()).add(row, ns)
    return cells, peers, clocks, devices


def markdown(cells, peers, clocks, devices):
    lines = ["GB/s of input. X: wrong result; -: no answer.", ""]
    heads = [f"{p} ({clocks[p]})" if p in clocks else p for p in peers]
    groups = {}
    for key in cells:
        if any(peer in clocks for peer in cells[key]) or not clocks:
            groups.setdefault(key[:2], []).append(key)
    for (op, dtype), keys in groups.items():
        lines += [f"### {dtype} {op}", "", "| case | " + " | ".join(heads) + " |"]
        lines.append("|---|" + "---:|" * len(peers))
        for key in keys:
            _, _, case, shape, axes = key
            size = math.prod(shape) * BYTES[dtype]
            row = [cells[key].get(p, Cell()).text(size) for p in peers]
            axes = "axis " + ", ".join(map(str, axes))
            lines.append(f"| {case} {list(shape)} {axes} | " + " | ".join(row) + " |")
        lines.append("")
    ran = (f"- {p.removesuffix(' (GPU)')} ran on {devices[p]}" for p in peers)
    lines += [line for line in ran if "(wall)" not in line]
    return lines + [""] + complaints(cells, peers)


def complaints(cells, peers):
    """Why there is no number: each reason once, with what it stands for."""
    reasons = {}
    for (op, dtype, case, _, _), row in cells.items():
        for peer in peers:
            cell = row.get(peer, Cell())
            for error in cell.errors:
                mark = "X" if cell.wrong else "-"
                kinds = reasons.setdefault((peer, mark, error), {})
                kinds.setdefault(f"{op} {dtype}", []).append(case)
    lines = []
    for (peer, mark, error), kinds in reasons.items():
        where = "; ".join(f"{kind} {' '.join(names)}" for kind, names in kinds.items())
        lines.append(f"- {peer} {mark} {error}: {where}")
    return lines


print("\n".join(markdown(*read(sys.argv[1:]))))
