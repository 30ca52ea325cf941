"""The option `--device`, which sets the device of all tests; a limit of memory; a summary in the format of `cargo test`; and
shared fixtures."""

import resource

import pytest
import torch

#: The most memory of a process in bytes. A test that needs more fails, and does not stop the processes beside it.
MEMORY = 8 << 30


def pytest_addoption(parser):
    parser.addoption("--device", default=None, help="the device that the tests run on, such as `cuda` (default: the CPU)")


def pytest_configure(config):
    device = config.getoption("--device")
    if device is None:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    elif not _missing(device):
        torch.set_default_device(device)


def pytest_collection_modifyitems(config, items):
    device = config.getoption("--device")
    if missing := _missing(device):
        for item in items:
            item.add_marker(pytest.mark.skip(reason=f"--device {device}: {missing}"))


def _missing(device):
    """Returns why tensors cannot be created on a device, or an empty text if they can."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # an AssertionError if torch was built without it
        return str(error).splitlines()[0]
    return ""


def pytest_terminal_summary(terminalreporter):
    counts = {outcome: len(terminalreporter.stats.get(outcome, ())) for outcome in ("passed", "failed", "error")}
    failed = counts["failed"] + counts["error"]
    verdict = "FAILED" if failed else "ok"
    terminalreporter.write_line(f"test result: {verdict}. {counts['passed']} passed; {failed} failed")


@pytest.fixture
def path(tmp_path):
    """Returns the path of a file that does not exist yet."""
    return tmp_path / "file"


@pytest.fixture
def all_calls_looked_up(monkeypatch):
    """Staged functions look up a graph in each call, even if that costs more time than it saves."""
    monkeypatch.setattr("autograph.api.benefit.FIRST_WINDOW", 1 << 30)
