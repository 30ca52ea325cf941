"""Runs the workloads in other frameworks and formats their times as a table."""

import json
import os
import subprocess
import sys
from pathlib import Path

SKIPPED = {
    # Restructured by hand (batched over levels of trees or over episodes, manual gradients, transposed products), so not
    # comparable with a plain program.
    "hoisted", "transposed", "manualgrad", "batched", "vmap", "padded_levels",
    # Uses a different first step.
    "optim_LBFGS",
    # Compiles for minutes.
    "compile_unrolled",
    # TensorFlow's eager mode: several times slower than in a graph.
    "tf_eager",
}  # fmt: skip


def measure(stem, pythons, options):
    """Returns the results of each variant and configuration, one dictionary each."""
    rows = []
    cache = Path(__file__).resolve().parents[3] / "target" / "bench" / "inductor"
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "TORCHINDUCTOR_CACHE_DIR": str(cache)}
    for framework, python in pythons.items():
        command = [python, Path(__file__).with_name("suite.py"), options.peers.resolve() / f"{stem}.py"]
        command += ["--fw", framework, "--threads", str(options.threads), "--skip", ",".join(sorted(SKIPPED))]
        command += ["--rounds", str(options.rounds), "--budget", str(options.budget)]
        try:
            run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, timeout=options.limit)
            output = run.stdout
            if run.returncode:
                print(f"{stem}, {framework}: exited with {run.returncode}", file=sys.stderr)
        except subprocess.TimeoutExpired as error:
            output = error.stdout or b""
            print(f"{stem}, {framework}: timed out after {options.limit:.0f} s", file=sys.stderr)
        lines = output.decode().splitlines()
        rows += [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
    if options.keep:
        with options.keep.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    return rows


HEAD = """\
| CPU ms | torch eager | ag | times faster | difference | torch script | best of torch | TF AutoGraph | best of TF \
| best of JAX | largest difference |
|---|---|---|---|---|---|---|---|---|---|---|"""


def lines(rows, tolerance):
    """Returns the lines of the table, one per configuration, and whether the results agree with eager torch's."""
    configurations = {}
    for row in rows:
        key = " ".join([row["workload"], *(f"{name}={value}" for name, value in row["configuration"].items())])
        configurations.setdefault(key, {})[row["variant"]] = row
    formatted = [line(key, variants, tolerance) for key, variants in configurations.items()]
    return [text for text, _ in formatted], bool(formatted) and all(agrees for _, agrees in formatted)


def line(key, variants, tolerance):
    """Returns the row for a configuration, and whether the results agree."""
    failed = [f"{name}: {row['error']}" for name, row in variants.items() if "error" in row]
    measured = {name: row for name, row in variants.items() if "error" not in row}
    eager = min((name for name in measured if name.startswith("torch_eager")), key=len, default=None)
    if not eager or "ag" not in measured:
        return f"| {key} | {'; '.join(failed) or 'timed out'} |", False
    sums = {name: row["checksum"] for name, row in measured.items()}
    differences = {name: abs(total - sums[eager]) / abs(sums[eager]) for name, total in sums.items()}
    times = {name: row["least"] for name, row in measured.items()}

    def best(start, without=None):
        names = [name for name in times if name.startswith(start) and name != eager and without not in name.split("_")]
        name = min(names, key=times.get, default=None)
        return f"{times[name]:.2f} {name.partition('_')[2]}" if name else "-"

    cells = [key, f"{times[eager]:.2f}", f"{times['ag']:.2f}", f"**{times[eager] / times['ag']:.2f}**"]
    cells += [f"{differences['ag']:.1e}"]
    cells += [best("torch_jit_script"), best("torch_"), best("tf_autograph", "jit"), best("tf_"), best("jax_")]
    cells += [f"{max(differences.values()):.1e}", *failed]
    return f"| {' | '.join(cells)} |", differences["ag"] <= tolerance
