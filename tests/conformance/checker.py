"""Runs the checker on a folder of programs."""
import json
import subprocess
import sys
from pathlib import Path


def findings(binary, folder):
    """Returns the errors and warnings in a folder as `{(file, line): code}`."""
    command = [binary, "check", "--isolated", "--output-format", "json", "."]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if result.returncode not in (0, 1):
        sys.exit(f"{binary} ended with {result.returncode} in {folder}: {result.stderr[-300:]}")
    return {(str(Path(finding["filename"]).resolve().relative_to(folder)), finding["location"]["row"]): finding["code"]
            for finding in json.loads(result.stdout) if finding["severity"] in ("error", "warning")}
