"""The three log formats, the levels, and what happens to repetitions."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator

import pytest
import structlog

from controller.cli.logs import RepeatFilter, configure_logging, default_format
from support.fake_clock import FakeClock


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def logged(log_format: str, verbosity: int = 0) -> tuple[structlog.typing.FilteringBoundLogger, io.StringIO]:
    """A configured logger and where it writes."""
    out = io.StringIO()
    configure_logging(log_format, verbosity, stream=out)
    return structlog.get_logger("foo"), out


def test_klog_lines_look_like_client_gos() -> None:
    """Severity and date, time, thread, file and line, the quoted message, then key="value" pairs."""
    log, out = logged("klog")
    log.info("Successfully synced", objectName="default/example-foo", requeues=3, ok=True)
    expected = (
        r'I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ test_logs\.py:\d+\] "Successfully synced" '
        r'objectName="default/example-foo" requeues=3 ok=true\n'
    )
    assert re.fullmatch(expected, out.getvalue())


def test_klog_severities() -> None:
    """Warnings start with W, errors with E."""
    log, out = logged("klog")
    log.warning("a")
    log.error("b", err='say "no"')
    first, second = out.getvalue().splitlines()
    assert first.startswith("W")
    assert second.startswith("E")
    assert second.endswith(r'"b" err="say \"no\""')


def test_json_lines_have_klogs_fields() -> None:
    """Ts in milliseconds, v, msg and the pairs; errors carry err and no v."""
    log, out = logged("json", 2)
    log.debug("Steady", v=2, count=1)
    log.error("Failed", err="broken")
    first, second = (json.loads(line) for line in out.getvalue().splitlines())
    assert first.items() >= {"v": 2, "msg": "Steady", "count": 1}.items()
    assert first["ts"] > 1_600_000_000_000
    assert second.items() >= {"msg": "Failed", "err": "broken", "level": "error"}.items()
    assert "v" not in second


def test_text_lines_are_short_and_quote_only_what_needs_it() -> None:
    """Time, one letter, message, pairs."""
    log, out = logged("text")
    log.info("Synced", name="default/foo", why="two words")
    assert re.fullmatch(r'\d\d:\d\d:\d\d I Synced name=default/foo why="two words"\n', out.getvalue())


@pytest.mark.parametrize(
    ("verbosity", "seen"), [(0, ["a"]), (1, ["a", "c"]), (3, ["a", "b", "c"]), (4, ["a", "b", "c", "d"])]
)
def test_verbosity_lets_levels_through(verbosity: int, seen: list[str]) -> None:
    """A line shows when its v is not above -v; a debug line without v counts as 1."""
    log, out = logged("json", verbosity)
    log.info("a")
    log.debug("b", v=3)
    log.debug("c")
    log.debug("d", v=4)
    assert sorted(json.loads(line)["msg"] for line in out.getvalue().splitlines()) == seen


def test_repeated_errors_are_written_once_a_minute_and_counted() -> None:
    """The first in full, the rest counted, the count on the next one after the window."""
    clock = FakeClock()
    repeats = RepeatFilter(clock)

    def write(message: str) -> structlog.typing.EventDict | None:
        try:
            return repeats(None, "error", {"event": message, "err": "x", "severity": "E"})
        except structlog.DropEvent:
            return None

    assert write("a") is not None
    assert [write("a") for _ in range(37)] == [None] * 37
    assert write("b") is not None
    clock.advance(60)
    again = write("a")
    assert again is not None
    assert again["repeated"] == "×37 in 60 s"  # noqa: RUF001 - times
    assert write("a") is None


def test_information_is_never_taken_for_a_repetition() -> None:
    """Two objects that sync the same way are two lines."""
    log, out = logged("text")
    log.info("Synced")
    log.info("Synced")
    assert len(out.getvalue().splitlines()) == 2


def test_remembered_errors_are_bounded() -> None:
    """Errors with ever new texts do not fill the memory."""
    repeats = RepeatFilter(FakeClock())
    for number in range(3000):
        repeats(None, "error", {"event": "a", "err": str(number), "severity": "E"})
    assert len(repeats._seen) <= 1000


def test_default_format_depends_on_where_it_runs() -> None:
    """Text on a terminal, JSON in a cluster, klog elsewhere."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert default_format(Terminal(), {}) == "text"
    assert default_format(io.StringIO(), {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}) == "json"
    assert default_format(io.StringIO(), {}) == "klog"


def test_colours_only_on_a_terminal_that_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR is honoured."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    for no_color, coloured in ((False, True), (True, False)):
        if no_color:
            monkeypatch.setenv("NO_COLOR", "1")
        out = Terminal()
        configure_logging("", 0, stream=out)
        structlog.get_logger("foo").warning("a", b=1)
        assert ("\x1b[" in out.getvalue()) is coloured
