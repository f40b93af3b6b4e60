"""What was not tested, because a library is missing, is the last thing that a run says."""

import pytest


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = {str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", []) if isinstance(report.longrepr, tuple)}
    for reason in sorted(reasons):
        terminalreporter.write_line(f"NOT TESTED: {reason.removeprefix('Skipped: ')}", red=True)
