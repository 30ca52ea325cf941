"""CPU time of processes (user and system time of all threads) and their peak memory."""
import dataclasses
import os
import pathlib
import statistics
import subprocess


@dataclasses.dataclass
class Cost:
    seconds: float
    mebibytes: float
    output: str


def cost(command, folder):
    """Runs a command. Returns its CPU time, peak memory and output."""
    process = subprocess.Popen([str(part) for part in command], cwd=folder, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env=os.environ | {"NO_COLOR": "1"}, text=True)
    output = process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 1), f"{command} exited with {process.returncode}:\n{output[-2000:]}"
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output)


def alternate(commands, folder, rounds):
    """Runs commands alternately, so that load on the machine affects all of them. Returns name -> costs."""
    costs = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            costs[name].append(cost(command, folder))
    return costs


def median_ratio(costs, reference):
    """Returns the median ratio of the CPU times of adjacent runs."""
    pairs = zip(costs, reference, strict=True)
    return statistics.median(cost.seconds / other.seconds for cost, other in pairs)


def seconds_so_far(pid):
    """Returns the CPU time of a running process, with nanosecond resolution."""
    spent = 0
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            spent += int((thread / "schedstat").read_text().split()[0])
        except FileNotFoundError:
            continue
    return spent / 1e9
