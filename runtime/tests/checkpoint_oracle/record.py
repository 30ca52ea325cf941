"""Records what `tf.train.Checkpoint` restores in random programs, in `recorded.json`.

PYTHON_WITH_TENSORFLOW runtime/tests/checkpoint_oracle/record.py [NUMBER OF PROGRAMS]
"""

import json
import logging
import os
import pathlib
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from program_pairs import build, case, roots

tf.get_logger().setLevel(logging.CRITICAL)


def make(kind, content):
    if kind == "variable":
        return tf.Variable(float(content))
    return tf.Module() if kind == "object" else content


def passes(check):
    try:
        check()
    except AssertionError:
        return False
    return True


def record(seed, folder):
    saved, changed, late = case(seed)
    before = build(saved, make, 1000)
    path = tf.train.Checkpoint(**roots(saved, before)).write(os.path.join(folder, f"c{seed}"))
    after = build(changed, make, 2000)
    checkpoint = tf.train.Checkpoint(**roots(changed, after))
    status = checkpoint.read(path)
    found = {"values": values(changed, after)}
    for owner, name, target in late:
        setattr(after[owner] if owner else checkpoint, name, after[target])
    found["late"] = values(changed, after)
    found["consumed"] = passes(status.assert_consumed)
    found["matched"] = passes(status.assert_existing_objects_matched)
    status.expect_partial()
    return found


def values(nodes, made):
    return [int(made[i].numpy()) for i, (kind, _) in enumerate(nodes) if kind == "variable"]


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    with tempfile.TemporaryDirectory() as folder:
        recorded = [record(seed, folder) for seed in range(count)]
    file = pathlib.Path(__file__).with_name("recorded.json")
    lines = ",\n".join(json.dumps(one) for one in recorded)
    text = f'{{"tensorflow": "{tf.__version__}", "programs": [\n{lines}\n]}}\n'
    file.write_text(text, encoding="utf-8")
    print(f"{count} programs: {sum(one['consumed'] for one in recorded)} consumed")


main()
