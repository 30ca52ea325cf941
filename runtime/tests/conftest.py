"""The sum of the tests, in the form in which Rust's tests give it."""


def pytest_terminal_summary(terminalreporter):
    counts = {outcome: len(terminalreporter.stats.get(outcome, ())) for outcome in ("passed", "failed", "error")}
    failed = counts["failed"] + counts["error"]
    verdict = "FAILED" if failed else "ok"
    terminalreporter.write_line(f"test result: {verdict}. {counts['passed']} passed; {failed} failed")
