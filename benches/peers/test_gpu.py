"""What `gpu` keeps when its steps hang or crash, with programs in their place: python3 test_gpu.py"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent

# In place of Python with torch: the peers' scripts come first among its arguments.
PEER = """
import json, os, sys, time
script = os.path.basename(sys.argv[1])
if script == "peer_cub.py":
    sys.exit("no CUDA device")
name = " ".join([script, *sys.argv[2:]])
print(json.dumps({"peer": name, "device": "fake"}), flush=True)
for text in sys.stdin:
    case = json.loads(text)
    what = (case["case"], case["op"])
    if what == ("B", "reduce-min"):
        time.sleep(1000)
    if what == ("C", "argmin"):
        print('{"peer": "half a li', end="", flush=True)
        os._exit(3)
    row = {"peer": name, **case, "device": "fake", "gpu_ns": 1000, "wall_ns": None, "verified": True}
    print(json.dumps(row | {"ceiling_gbps": 4000, "clock": 1.0}), flush=True)
"""

# In place of the tool: measures the argmin of float32, hangs in the minimum, fails in all else.
TOOL = """
import json, sys, time
arguments = sys.argv[1:]
if arguments[0] == "bench":
    part = arguments[arguments.index("--filter") + 1]
    if "reduce-min" in part:
        time.sleep(1000)
    if "argmin" not in part:
        sys.exit(3)
    row = {"case": "B", "op": "argmin", "dtype": "float32", "inputs": [[16384, 16384]], "axes": [1]}
    row |= {"device": "fake", "gpu_ns": 2000, "wall_ns": 3000, "verified": True}
    json.dump([row], open(arguments[arguments.index("--json") + 1], "w"))
"""


class Gpu(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def program(self, name, text):
        path = self.path / name
        path.write_text(f"#!{sys.executable}\n{textwrap.dedent(text)}")
        path.chmod(0o755)
        return path

    def start(self, limit, each):
        env = os.environ | {"LIMIT": str(limit), "EACH": str(each), "OUT": str(self.path / "out")}
        env |= {"PYTHON": str(self.program("peer", PEER))}
        env |= {"NVCC": "true", "BURN": str(self.program("burn", "import sys; sys.exit(1)"))}
        tool = self.program("tool", TOOL)
        pipe = subprocess.PIPE
        return subprocess.Popen([HERE / "gpu", tool], env=env, stdout=pipe, stderr=pipe, text=True)

    def rows(self, name):
        return json.loads((self.path / "out" / name).read_text())

    def found(self, peer):
        rows = [row for row in self.rows("peers.json") if row["peer"].startswith(peer)]
        return {(r["case"], r["op"], r["dtype"]): r["verified"] for r in rows}

    def test_a_case_that_hangs_or_crashes_costs_itself_alone(self):
        begun = time.monotonic()
        gpu = self.start(limit=30, each=0.5)
        said, errors = gpu.communicate(timeout=90)
        self.assertLess(time.monotonic() - begun, 35)
        self.assertEqual(gpu.returncode, 0, errors)
        torch = self.found("peer_torch.py")
        self.assertIs(torch["B", "argmin", "float32"], True)
        self.assertIs(torch["B", "reduce-min", "float32"], None)
        self.assertIs(torch["B", "reduce-sum", "float32"], True)
        self.assertIs(torch["C", "argmin", "float32"], None)
        self.assertIs(torch["C", "reduce-min", "float32"], True)
        self.assertIn("missing: CUB: no CUDA device", said)
        self.assertIn("wgreduce reduce-min float32: stopped", said)
        # What the tool had measured before stays, and stands in the table beside the peers.
        self.assertEqual(len(self.rows("wgreduce.json")), 1)
        table = (self.path / "out/table.md").read_text()
        self.assertIn("### float32 argmin", table)
        self.assertIn("reached 4000 to 4000 GB/s", table)

    def test_what_is_stopped_from_outside_keeps_what_it_has(self):
        gpu = self.start(limit=60, each=100)
        rows = self.path / "out/peers.jsonl"
        end = time.monotonic() + 60
        while time.monotonic() < end and not (rows.exists() and rows.read_text()):
            time.sleep(0.1)
        # It waits for the second case.
        gpu.send_signal(signal.SIGTERM)
        gpu.communicate(timeout=20)
        self.assertEqual([row["verified"] for row in self.rows("peers.json")], [True])


if __name__ == "__main__":
    unittest.main()
