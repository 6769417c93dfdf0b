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
OURS = {"GPU": "wgreduce (GPU)", "wall": "wgreduce (wall)"}


class Cell:
    """What one peer did in one case."""

    def __init__(self):
        self.times, self.errors = [], set()
        self.wrong = self.inexact = False

    def add(self, row, ns):
        differs = row["verified"] is False
        self.inexact |= differs and row["op"] == "reduce-sum"
        self.wrong |= differs and row["op"] != "reduce-sum"
        if row.get("error"):
            self.errors.add(row["error"])
        if ns and (row["verified"] or self.inexact):
            self.times.append(ns)

    def ns(self):
        """None where there is nothing to compare."""
        return statistics.median(self.times) if self.times and not self.wrong else None

    def text(self, size):
        if self.wrong:
            return "X"
        if not self.times:
            return "-"
        # Bytes a nanosecond.
        return digits(size / self.ns()) + ("~" if self.inexact else "")


def digits(value):
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def columns(row):
    """The columns that a row fills, by name, and the time of each."""
    if "peer" in row:
        return {row["peer"]: row["gpu_ns"] or row["wall_ns"]}
    # Peers are timed by either clock, so both are shown.
    return {OURS["GPU"]: row.get("gpu_ns"), OURS["wall"]: row.get("wall_ns")}


def read(paths):
    cells, peers, clocks, devices, reads, notes = {}, [], {}, {}, {}, {}
    for path in paths:
        try:
            with open(path) as file:
                rows = json.load(file)
        except (OSError, ValueError) as e:
            print(f"table.py: {path}: {e}", file=sys.stderr)
            continue
        for row in rows:
            inputs = tuple(map(tuple, row["inputs"]))
            key = (row["op"], row["dtype"], row["case"], inputs, tuple(row["axes"]))
            for name, ns in columns(row).items():
                if name not in peers:
                    peers.append(name)
                if "peer" in row:
                    clocks[name] = "GPU" if row["gpu_ns"] else clocks.get(name, "wall")
                    if row.get("ceiling_gbps"):
                        reads.setdefault(name, []).append((row["ceiling_gbps"], row["clock"]))
                devices[name] = row["device"]
                if row.get("note"):
                    notes[name] = row["note"]
                cells.setdefault(key, {}).setdefault(name, Cell()).add(row, ns)
    # Only what somebody was asked can be held against somebody.
    answered = lambda row: not clocks or any(peer in clocks for peer in row)
    cells = {key: row for key, row in cells.items() if answered(row)}
    return cells, peers, clocks, devices, reads, notes


def against(row, peer, clock):
    """How many times as fast as the peer wgreduce is, by the peer's clock; None if there is no
    telling."""
    ours, theirs = row.get(OURS[clock], Cell()).ns(), row.get(peer, Cell()).ns()
    return theirs / ours if ours and theirs else None


def least(row, clocks):
    """Against the fastest of those that have the GPU's clock, or, where none has, of the others."""
    for clock in ("GPU", "wall"):
        peers = [peer for peer in clocks if clocks[peer] == clock]
        ratios = [ratio for peer in peers if (ratio := against(row, peer, clock))]
        if ratios:
            return min(ratios)
    return None


def beside(reads):
    """What a plain read reached beside each peer's cases."""
    for name, found in reads.items():
        gbps, slow = [read for read, _ in found], sum(clock < 0.95 for _, clock in found)
        text = f"- beside {name} a plain read of as many bytes reached {min(gbps)} to {max(gbps)} GB/s"
        text += f", median {statistics.median(gbps):.0f}"
        yield text + (f"; {slow} of {len(found)} at less than .95 of the full clock" if slow else "")


def markdown(cells, peers, clocks, devices, reads, notes):
    lines = ["GB/s of input. X: wrong result; -: no answer. The last column: how many times as fast"]
    lines += ["wgreduce is as the fastest of those timed by the GPU, or, without any, by the wall.", ""]
    lines += [f"\\* {peer}: {note}." for peer, note in notes.items()] + [""] * bool(notes)
    mark = lambda peer: clocks[peer] + (", \\*" if peer in notes else "")
    heads = [f"{p} ({mark(p)})" if p in clocks else p for p in peers] + ["times the fastest"]
    groups = {}
    for key in cells:
        groups.setdefault(key[:2], []).append(key)
    for (op, dtype), keys in groups.items():
        lines += [f"### {dtype} {op}", "", "| case | " + " | ".join(heads) + " |"]
        lines.append("|---|" + "---:|" * len(heads))
        for key in keys:
            _, _, case, inputs, axes = key
            size = sum(map(math.prod, inputs)) * BYTES[dtype]
            row = [cells[key].get(p, Cell()).text(size) for p in peers]
            ratio = least(cells[key], clocks)
            row.append(digits(ratio) if ratio else "-")
            shapes = " ".join(str(list(shape)) for shape in inputs)
            where = f" axis {', '.join(map(str, axes))}" if axes else ""
            lines.append(f"| {case} {shapes}{where} | " + " | ".join(row) + " |")
        lines.append("")
    ran = (f"- {p.removesuffix(' (GPU)')} ran on {devices[p]}" for p in peers)
    lines += [line for line in ran if "(wall)" not in line]
    lines += beside(reads)
    return lines + [""] + summary(cells, clocks) + complaints(cells, peers)


def summary(cells, clocks):
    """What the ratios come to, against each peer and against the fastest of each case."""
    lines = []
    whole = {peer: lambda row, p=peer: against(row, p, clocks[p]) for peer in clocks}
    whole["the fastest of each case"] = lambda row: least(row, clocks)
    for name, ratio in whole.items():
        every = [(r, f"{key[2]} {key[0]} {key[1]}") for key, row in cells.items() if (r := ratio(row))]
        if not every:
            continue
        every.sort()
        half = statistics.median(r for r, _ in every)
        behind = [f"{case} {digits(r)}" for r, case in every if r < 1 / 1.1]
        text = f"- against {name}: {len(every)} cases, median {digits(half)} times as fast, "
        text += f"least {digits(every[0][0])}, {len(every) - len(behind)} within 1.1 times its time"
        lines.append(text + (f"; the others: {', '.join(behind)}" if behind else ""))
    return lines


def complaints(cells, peers):
    """Why there is no number: each reason once, with what it stands for."""
    reasons = {}
    for (op, dtype, case, _, _), row in cells.items():
        for peer in peers:
            cell = row.get(peer, Cell())
            for error in cell.errors:
                mark = "X" if cell.wrong else "~" if cell.inexact else "-"
                kinds = reasons.setdefault((peer, mark, error), {})
                kinds.setdefault(f"{op} {dtype}", []).append(case)
    lines = []
    for (peer, mark, error), kinds in reasons.items():
        where = "; ".join(f"{kind} {' '.join(names)}" for kind, names in kinds.items())
        lines.append(f"- {peer} {mark} {error}: {where}")
    return lines


print("\n".join(markdown(*read(sys.argv[1:]))))
