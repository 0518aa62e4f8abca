"""The three log formats, the levels, and what happens to repetitions."""

from __future__ import annotations

import errno
import io
import json
import logging
import re
from typing import Any

import pytest
import structlog

from handloop.client import request_reports
from handloop.controller.cli.logs import RepeatFilter, configure_logging, default_format, tell
from handloop.controller.cli.problems import Problem
from handloop.informers.keys import ObjectName
from handloop.testing.fake_clock import FakeClock
from support.builders.options import new_options
from support.checks.output import WatchedText


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


def test_json_lines_have_klogs_fields_a_level_and_a_time() -> None:
    """Ts as RFC 3339, level, v, msg and the pairs; warnings and errors carry no v."""
    log, out = logged("json", 2)
    log.info("Started")
    log.debug("Steady", v=2, count=1)
    log.warning("Slow")
    log.error("Failed", err="broken")
    log.critical("Over")
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    told = [(line["level"], line.get("v"), line["msg"]) for line in lines]
    assert told == [
        ("info", 0, "Started"),
        ("debug", 2, "Steady"),
        ("warning", None, "Slow"),
        ("error", None, "Failed"),
        ("fatal", None, "Over"),
    ]
    assert (lines[1]["count"], lines[3]["err"]) == (1, "broken")
    for line in lines:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["ts"])
        assert list(line)[:2] == ["ts", "level"]


def test_an_authors_facts_leave_the_fields_of_json_lines_alone() -> None:
    """A fact named as one of ours gets an underscore, and a number that JSON lacks is a text."""
    log, out = logged("json")
    log.info("x", level=5, ts="now", msg="y", rate=float("inf"))

    def refuse(word: str) -> object:
        raise AssertionError(word)

    line = json.loads(out.getvalue(), parse_constant=refuse)
    assert (line["level"], line["msg"]) == ("info", "x")
    assert (line["level_"], line["ts_"], line["msg_"], line["rate"]) == (5, "now", "y", "inf")


def test_text_lines_are_short_and_quote_only_what_needs_it() -> None:
    """Time, one letter, message, pairs."""
    log, out = logged("text")
    log.info("Synced", name="default/foo", why="two words")
    assert re.fullmatch(r'\d\d:\d\d:\d\d I Synced name=default/foo why="two words"\n', out.getvalue())


class Unshown:
    """An object whose str has a bug."""

    def __str__(self) -> str:
        raise KeyError("no name yet")


@pytest.mark.parametrize("log_format", ["klog", "json", "text"])
def test_a_line_never_raises_and_shows_a_stack_that_is_asked_for(log_format: str) -> None:
    """As in logging: the values of a line may be foreign objects."""
    log, out = logged(log_format)
    log.error("Failed", thing=Unshown(), err=Unshown(), stack_info=True)
    assert out.getvalue().count("<Unshown, whose str raised KeyError>") == 2
    assert "Stack (most recent call last)" in out.getvalue()


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
    assert written(repeats, "a", err="x") is not None
    assert [written(repeats, "a", err="x") for _ in range(37)] == [None] * 37
    assert written(repeats, "b", err="x") is not None
    clock.advance(60)
    again = written(repeats, "a", err="x")
    assert again is not None
    assert again["repeated"] == "×37 in 60 s"  # noqa: RUF001 - times
    assert written(repeats, "a", err="x") is None


def test_an_error_that_shows_an_object_in_memory_is_a_repetition() -> None:
    """An HTTP client's error names its connection, which is another one each time."""
    repeats = RepeatFilter(FakeClock())
    errors = [f"(Caused by <HTTPConnection object at {hex(id(each))}>: refused)" for each in ("a", b"", 1.5)]
    assert [written(repeats, "a", err=each) is None for each in errors] == [False, True, True]


def test_information_is_never_taken_for_a_repetition() -> None:
    """Two objects that sync the same way are two lines."""
    log, out = logged("text")
    log.info("Synced")
    log.info("Synced")
    assert len(out.getvalue().splitlines()) == 2


def test_lost_races_are_thinned_and_details_are_not() -> None:
    """An info line with an err, such as a conflict on one object, counts as trouble; a debug line never."""
    repeats = RepeatFilter(FakeClock())

    def lines(method: str, name: str) -> int:
        every = [written(repeats, "Error syncing", method=method, err=f"409 {name}") for _ in range(5)]
        return sum(line is not None for line in every)

    assert [lines("info", "a"), lines("info", "b"), lines("debug", "a")] == [1, 1, 5]


def written(
    repeats: RepeatFilter, event: str, *, method: str = "error", **facts: object
) -> structlog.typing.EventDict | None:
    """The line that passes the filter, None for one that is left out."""
    try:
        return repeats(None, method, {"event": event, "severity": "E", **facts})
    except structlog.DropEvent:
        return None


@pytest.mark.parametrize(
    "facts",
    [
        [{"object": ObjectName("default", name), "err": "no such plan"} for name in "abcd"],
        [{"reflector": name, "err": "refused"} for name in ("foos", "bars")],
        [{"text": text, "resource": "foos"} for text in ("old", "unknown field")],
        [{"controller": name, "err": "refused"} for name in ("foo", "bar")],
    ],
)
def test_each_subject_has_its_line(facts: list[dict[str, Any]]) -> None:
    """Trouble of one object, kind, text or controller hides no other's. Its repetition is left out."""
    repeats = RepeatFilter(FakeClock())
    assert all(written(repeats, "Failed", **one, failures=1, reconcileID="x") for one in facts)
    assert not any(written(repeats, "Failed", **one, failures=2, reconcileID="y") for one in facts)


def test_many_objects_with_one_trouble_are_ten_lines_and_a_count() -> None:
    """The error may name its object; another error has lines of its own."""
    clock = FakeClock()
    repeats = RepeatFilter(clock)

    def lines(error: str) -> list[structlog.typing.EventDict]:
        names = [ObjectName("default", f"web-{number}") for number in range(500)]
        every = [written(repeats, "Failed", object=name, err=error.format(name.name)) for name in names]
        return [line for line in every if line is not None]

    first = lines('deployments "{}" is forbidden')
    assert [line.get("others") for line in first] == [None] * 9 + ["counted for a minute, but not logged"]
    assert len(lines("another error")) == 10
    clock.advance(60)
    again = lines('deployments "{}" is forbidden')
    assert [line.get("others") for line in again[:2]] == ["490 not logged in 60 s", None]
    assert len(again) == 10


def test_a_line_that_is_reported_once_is_never_left_out() -> None:
    """Its writer knows that it does not repeat: a hot loop, an object that no other try can help."""
    repeats = RepeatFilter(FakeClock())
    lines = [written(repeats, "Hot", err="x", once=True) for _ in range(20)]
    assert lines == [{"event": "Hot", "severity": "E", "err": "x"}] * 20


def test_remembered_errors_are_bounded() -> None:
    """Neither errors with ever new texts nor ever new objects fill the memory."""
    repeats = RepeatFilter(FakeClock())
    for number in range(3000):
        written(repeats, "a", err=str(number))
        written(repeats, "b", err="x", object=str(number))
    assert len(repeats._seen) <= 1000
    assert len(repeats._crowds) <= 100
    assert len(repeats._crowds[(("event", "b"), ("err", "x"))].others) <= 1000


def test_default_format_depends_on_where_it_runs() -> None:
    """Text on a terminal, JSON in a cluster, klog elsewhere."""
    assert default_format(WatchedText(is_terminal=True), {}) == "text"
    assert default_format(io.StringIO(), {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}) == "json"
    assert default_format(io.StringIO(), {}) == "klog"


def test_colours_only_on_a_terminal_that_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR is honoured."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    for no_color, coloured in ((False, True), (True, False)):
        if no_color:
            monkeypatch.setenv("NO_COLOR", "1")
        out = WatchedText(is_terminal=True)
        configure_logging("", 0, stream=out)
        structlog.get_logger("foo").warning("a", b=1)
        assert ("\x1b[" in out.text()) is coloured


def test_json_lines_name_their_logger_and_keep_shapes() -> None:
    """The logger's name, if it has one, object names as klog's KObj, maps as maps."""
    log, out = logged("json")
    log.info("Synced", objectName=ObjectName("default", "web"), errors={"a": 1, "b": None})
    structlog.get_logger().info("x")
    line, nameless = map(json.loads, out.getvalue().splitlines())
    assert line["logger"] == "foo"
    assert "logger" not in nameless
    assert line["objectName"] == {"name": "web", "namespace": "default"}
    assert line["errors"] == {"a": 1, "b": "None"}


@pytest.mark.parametrize("log_format", ["klog", "text", "json"])
@pytest.mark.parametrize(("verbosity", "again"), [(0, False), (3, False), (4, True)])
def test_each_place_shows_its_first_traceback(log_format: str, verbosity: int, again: bool) -> None:
    """As lines or in its own field; then an error is one line, and from level 4 on each has its traceback."""
    log, out = logged(log_format, verbosity)
    for attempt in range(2):
        log.error("Failed", exc_info=broken(), attempt=attempt, err=attempt)
    log.error("Failed elsewhere", exc_info=KeyError("broken"))
    if log_format == "json":
        stacks = [json.loads(line).get("stack", "") for line in out.getvalue().splitlines()]
        assert ["in broken" in stack for stack in stacks] == [True, again, False]
        assert "KeyError: 'broken'" in stacks[2]
    else:
        assert out.getvalue().count("in broken") == 1 + again


def broken() -> ValueError:
    """An error from here."""
    try:
        int("broken")
    except ValueError as error:
        return error
    raise AssertionError


def test_any_handler_sees_the_lines(caplog: pytest.LogCaptureFixture) -> None:
    """The program logs by stdlib logging, under `handloop`; what -v leaves out is left out there, too."""
    log, out = logged("klog", 1)
    with caplog.at_level(logging.DEBUG, "handloop"):
        log.warning("Careful", name="a")
        log.debug("Hidden", v=2)
    assert [(one.name, one.levelname) for one in caplog.records] == [("handloop.foo", "WARNING")]
    assert caplog.records[0].getMessage() + "\n" == out.getvalue()


def test_the_level_also_rules_the_requests_of_the_client() -> None:
    """-v 6 to 9 are the client's lines: without this they would never show."""
    configure_logging("klog", 6, stream=io.StringIO())
    assert (request_reports.enabled(6), request_reports.enabled(7)) == (True, False)


def test_cycling_raises_the_level_and_starts_over() -> None:
    """One step up at a time, from 9 back to 0, and the shown lines follow."""
    out = io.StringIO()
    level = configure_logging("json", 7, stream=out)
    log = structlog.get_logger("foo")
    assert [level.cycle() for _ in range(3)] == [8, 9, 0]
    assert not request_reports.enabled(1)
    log.debug("hidden", v=1)
    assert level.cycle() == 1
    log.debug("shown", v=1)
    assert [json.loads(line)["msg"] for line in out.getvalue().splitlines()] == ["shown"]


def test_what_a_reconcile_logs_elsewhere_carries_its_id() -> None:
    """Lines of the client or of an event, written by a reconcile's thread, have its fields."""
    log, out = logged("klog")
    with structlog.contextvars.bound_contextvars(reconcileID="id-1"):
        log.info("Request")
    log.info("Other")
    first, second = out.getvalue().splitlines()
    assert first.endswith('"Request" reconcileID="id-1"')
    assert "reconcileID" not in second


class Unwritable(io.StringIO):
    """A stream that takes nothing."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def write(self, _text: str) -> int:
        raise self._error


class Unflushable(io.StringIO):
    """A stream that notices only later that nothing gets through."""

    def flush(self) -> None:
        raise BrokenPipeError


@pytest.mark.parametrize("log_format", ["klog", "text", "json"])
@pytest.mark.parametrize(
    "stream",
    [
        Unwritable(BrokenPipeError()),
        Unwritable(OSError(errno.ENOSPC, "No space left on device")),
        Unwritable(ValueError("I/O operation on closed file")),
        Unflushable(),
    ],
    ids=["reader gone", "disk full", "closed", "noticed late"],
)
def test_a_line_that_cannot_be_written_is_lost_and_stops_no_thread(
    log_format: str, stream: io.StringIO
) -> None:
    """A caller that logs goes on, at any severity."""
    configure_logging(log_format, 1, stream=stream)
    log = structlog.get_logger("foo")
    for write in (log.debug, log.info, log.warning, log.error, log.exception, log.critical):
        write("lost")


def test_a_log_that_can_be_written_again_goes_on() -> None:
    """A disk that was full costs the lines of that time only."""

    class Disk(io.StringIO):
        is_full = False

        def write(self, text: str) -> int:
            if self.is_full:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(text)

    disk = Disk()
    configure_logging("klog", 0, stream=disk)
    log = structlog.get_logger("foo")
    for message, is_full in (("one", False), ("two", True), ("three", False)):
        disk.is_full = is_full
        log.info(message)
    assert [line.rpartition(" ")[2] for line in disk.getvalue().splitlines()] == ['"one"', '"three"']


EVIL = "\x1b[2J\x1b[1;1H\r\nI1121 forged\x9b2J\u2028\u202eé字"
EVIL_SHOWN = r"\u001b[2J\u001b[1;1H\r\nI1121 forged\u009b2J\u2028\u202eé字"


@pytest.mark.parametrize("log_format", ["klog", "text", "json"])
def test_words_of_others_make_no_line_and_move_no_cursor(log_format: str) -> None:
    """
    In message, value, error and traceback; a record is one line, and the indented ones after it.

    Visible characters are as they were, and a reader that decodes JSON gets the original text.
    """
    log, out = logged(log_format, 4)
    log.error(EVIL, holder=EVIL, names={EVIL: EVIL}, exc_info=ValueError(EVIL))
    lines = out.getvalue().removesuffix("\n").split("\n")
    assert [line for line in lines if not line.isprintable()] == []
    assert lines[0].count(EVIL_SHOWN) >= 2
    assert [line for line in lines[1:] if not line.startswith(" ")] == []
    if log_format == "json":
        assert json.loads(lines[0])["holder"] == EVIL


PROBLEM = Problem(code="E04", exit_code=4, what="cannot reach h", causes=("c", "d"), fixes=("f",))


@pytest.mark.parametrize(
    ("severity", "level"), [("error", "error"), ("warning", "warning"), ("info", "info")]
)
def test_json_logs_stay_json(severity: str, level: str) -> None:
    """Where logs are JSON a problem is one object, too."""
    stream = io.StringIO()
    configure_logging("json", 0, stream=stream)
    problem = Problem(code="E04", exit_code=4, what="w", causes=("c", "d"), fixes=("f",), severity=severity)
    assert tell(problem, new_options(log_format="json"), stream) == 4
    line = json.loads(stream.getvalue())
    assert line["level"] == level
    assert {key: line[key] for key in ("msg", "code", "cause", "fix", "more")} == {
        "msg": "w",
        "code": "E04",
        "cause": "c; d",
        "fix": "f",
        "more": "handloop errors E04",
    }


def test_json_is_the_default_in_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """No --log-format is needed in a pod; a terminal is read by a person even there."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    stream, terminal = io.StringIO(), WatchedText(is_terminal=True)
    configure_logging("", 0, stream=stream)
    tell(PROBLEM, new_options(), stream)
    tell(PROBLEM, new_options(), terminal)
    assert json.loads(stream.getvalue())["code"] == "E04"
    assert terminal.text().startswith("error: ")


@pytest.mark.parametrize("error", [BrokenPipeError(), ValueError("I/O operation on closed file")])
def test_a_client_that_cannot_be_answered_keeps_no_other_waiting(error: Exception) -> None:
    """With a terminal that has gone the exit code is the problem's all the same."""

    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise error

    assert tell(PROBLEM, new_options(log_format="text"), Gone()) == 4


def test_lines_of_others_are_not_ours() -> None:
    """A lease's holder, or a server's message, is shown in full, and in the line where it belongs."""
    evil = "\x1b[2J\rx\n  fix: rm -r \x9b"
    stream = io.StringIO()
    problem = Problem(code="E11", exit_code=0, what=evil, causes=(evil, "é 字"), fixes=(evil,))
    tell(problem, new_options(log_format="text"), stream)
    shown = r"\u001b[2J\rx\n  fix: rm -r \u009b"
    assert stream.getvalue().split("\n") == [
        f"error: {shown}",
        f"  cause: {shown}",
        "  cause: é 字",
        f"  fix: {shown}",
        "  more: handloop errors E11",
        "",
    ]


def test_a_log_of_the_library_is_written_by_our_handler() -> None:
    """Through logging's own code, which since Python 3.13 enters the handler's lock unasked."""
    _, out = logged("text")
    logging.getLogger("handloop.pool").warning("the pool is full")
    assert "the pool is full" in out.getvalue()
