"""The workloads in other frameworks: runs the peers' programs, and makes a table of what they took."""

import json
import os
import subprocess
import sys
from pathlib import Path

SKIPPED = {
    # Rewritten by hand, over levels of trees, over plays, or with the gradient or the products turned round: not what
    # a plain program gets.
    "hoisted", "transposed", "manualgrad", "batched", "vmap", "padded_levels",
    # Another rule for the first step.
    "optim_LBFGS",
    # Minutes of compilation.
    "compile_unrolled",
    # Several times slower than the same program in a graph.
    "tf_eager",
}  # fmt: skip


def measure(stem, pythons, options):
    """What each variant took, one dictionary for each of them and each configuration."""
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
                print(f"{stem}, {framework}: ended with {run.returncode}", file=sys.stderr)
        except subprocess.TimeoutExpired as error:
            output = error.stdout or b""
            print(f"{stem}, {framework}: cut off after {options.limit:.0f} s", file=sys.stderr)
        lines = output.decode().splitlines()
        rows += [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
    if options.keep:
        with options.keep.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    return rows


HEAD = """\
| CPU ms | torch eager | ag | times faster | apart | torch script | best of torch | TF AutoGraph | best of TF | best of JAX \
| all apart |
|---|---|---|---|---|---|---|---|---|---|---|"""


def lines(rows, tolerance):
    """Of the table, one for each configuration; and whether our results are eager torch's."""
    configurations = {}
    for row in rows:
        key = " ".join([row["workload"], *(f"{name}={value}" for name, value in row["configuration"].items())])
        configurations.setdefault(key, {})[row["variant"]] = row
    made = [line(key, variants, tolerance) for key, variants in configurations.items()]
    return [text for text, _ in made], bool(made) and all(agrees for _, agrees in made)


def line(key, variants, tolerance):
    failed = [f"{name}: {row['error']}" for name, row in variants.items() if "error" in row]
    measured = {name: row for name, row in variants.items() if "error" not in row}
    eager = min((name for name in measured if name.startswith("torch_eager")), key=len, default=None)
    if not eager or "ag" not in measured:
        return f"| {key} | {'; '.join(failed) or 'cut off'} |", False
    sums = {name: row["checksum"] for name, row in measured.items()}
    apart = {name: abs(total - sums[eager]) / abs(sums[eager]) for name, total in sums.items()}
    took = {name: row["least"] for name, row in measured.items()}

    def best(start, without=None):
        names = [name for name in took if name.startswith(start) and name != eager and without not in name.split("_")]
        name = min(names, key=took.get, default=None)
        return f"{took[name]:.2f} {name.partition('_')[2]}" if name else "-"

    cells = [key, f"{took[eager]:.2f}", f"{took['ag']:.2f}", f"**{took[eager] / took['ag']:.2f}**", f"{apart['ag']:.1e}"]
    cells += [best("torch_jit_script"), best("torch_"), best("tf_autograph", "jit"), best("tf_"), best("jax_")]
    cells += [f"{max(apart.values()):.1e}", *failed]
    return f"| {' | '.join(cells)} |", apart["ag"] <= tolerance
