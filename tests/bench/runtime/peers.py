"""The workloads in other frameworks: runs the peers' programs, and makes tables of what they took."""

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


def table(rows, tolerance):
    """In Markdown, a line a configuration; and whether our results are eager torch's."""
    configurations = {}
    for row in rows:
        key = " ".join(f"{name}={value}" for name, value in row["configuration"].items())
        configurations.setdefault(key, []).append(row)
    text = [
        "| CPU ms | torch eager | ag | times faster | apart | torch script | best of torch | TF AutoGraph "
        "| best of TF | best of JAX | all apart |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    agrees = bool(rows)
    for key, variants in configurations.items():
        measured = {row["variant"]: row for row in variants if "error" not in row}
        failed = [f"{row['variant']}: {row['error']}" for row in variants if "error" in row]
        eager = next((row for name, row in measured.items() if name.startswith("torch_eager")), None)
        ours = measured.get("ag")
        if not eager or not ours:
            text.append(f"| {key} | {'; '.join(failed) or 'cut off'} |")
            agrees = False
            continue

        def apart(row):
            return abs(row["checksum"] - eager["checksum"]) / abs(eager["checksum"])

        def best(start, *without):
            names = [name for name in measured if name.startswith(start) and not any(word in name for word in without)]
            name = min(names, key=lambda name: measured[name]["least"], default=None)
            return f"{measured[name]['least']:.2f} `{name.partition('_')[2]}`" if name else "-"

        agrees &= apart(ours) <= tolerance
        cells = [
            key,
            f"{eager['least']:.2f}",
            f"{ours['least']:.2f}",
            f"**{eager['least'] / ours['least']:.2f}**",
            f"{apart(ours):.1e}",
            best("torch_jit_script"),
            best("torch_", "torch_eager_recursive" if eager["variant"] == "torch_eager_recursive" else "torch_eager"),
            best("tf_autograph", "jit"),
            best("tf_"),
            best("jax_"),
            f"{max(map(apart, measured.values())):.1e}",
        ]
        text.append(f"| {' | '.join(cells)} |")
        text += [f"| {key} | {message} |" for message in failed]
    return "\n".join(text), agrees
