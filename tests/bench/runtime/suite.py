"""Measures one framework's variants of a program in PEERS with the suite of PEERS; for torch, also the runtime's variant.

    PYTHON suite.py PEERS/w1_rnn.py --fw torch ...      # the options of PEERS/common.py

The suite warms up every variant of a configuration and runs them in interleaved rounds. This script records the minimum
CPU time of a call, and prints one line of JSON per variant.
"""

import importlib
import json
import os
import runpy
import sys
import time
from pathlib import Path

program = Path(sys.argv[1])
# PEERS comes after this folder on the path, because the workloads here have the same names as the programs in PEERS.
sys.path.insert(1, str(program.parent))

import common  # noqa: E402


class Suite(common.Suite):
    def _call(self, variant):
        start = time.process_time()
        result = super()._call(variant)
        took = time.process_time() - start
        self.least[variant] = min(self.least.get(variant, took), took)
        return result

    def flush(self, **configuration):
        if self.a.fw == "torch":
            import autograph as ag

            workload = importlib.import_module(program.stem).workload(**configuration)
            staged = ag.function(workload.program)
            self.add("ag", lambda: staged(*workload.arguments), self.v[0][2])
        self.least = {}
        super().flush(**configuration)

    def _out(self, row, configuration):
        configuration.pop("steps", None) if self.w == "W5" else None
        row |= {"workload": self.w, "framework": self.a.fw, "configuration": configuration, "load": os.getloadavg()[0]}
        if "error" not in row:
            (variant,) = (entry[1] for entry in self.v if entry[0] == row["variant"])
            row["least"] = self.least[variant] * 1e3
        print(json.dumps(row), flush=True)


common.Suite = Suite
sys.argv[:2] = [str(program)]
runpy.run_path(str(program), run_name="__main__")
