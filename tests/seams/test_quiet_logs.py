from __future__ import annotations

import logging

import pytest
import structlog

from handloop.seams.quiet_logs import quiet_logs
from support.checks.captured_logs import captured_logs


def test_dropped_lines_may_be_heard() -> None:
    """Those of ours, with their parts."""
    heard = []
    with quiet_logs(lambda level, line: heard.append((level, line["event"], line["err"]))):
        structlog.get_logger("foo").error("Handler failed", err="x")
    assert heard == [("error", "Handler failed", "x")]


def test_logs_are_dropped_and_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    """Inside, neither kind of logger writes a line; afterwards the settings are those of before."""
    before = structlog.get_config()["processors"]
    with quiet_logs():
        structlog.get_logger("foo").error("Handler failed")
        logging.getLogger("sandbox").critical("a line")
    assert capsys.readouterr() == ("", "")
    assert structlog.get_config()["processors"] == before
    with captured_logs() as entries:
        structlog.get_logger("foo").error("Handler failed")
    assert len(entries) == 1
