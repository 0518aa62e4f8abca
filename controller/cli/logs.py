"""
Writes logs to stderr as klog lines, readable text or JSON, through structlog on top of stdlib logging.

Levels are klog's: `log.info` is level 0, and `log.debug(..., v=4)` is shown at `-v 4` and above. All
tracebacks are shown at level 4 and above. Below that, each place in the code logs only its first traceback.
A problem is a warning, an error, or an info line that contains an error. The same problem of an object is
logged at most once a minute. The next line says how many lines were dropped since. If many objects have the
same problem, at most ten of them are logged within a minute, and the others are counted.

A record is one line, plus any traceback. Control characters in the text are escaped. A line that cannot be
written is lost.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import math
import os
import re
import threading
import traceback
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from functools import cache, partial
from typing import Any, Final, NamedTuple, TextIO, TypeVar

import structlog
from structlog.processors import CallsiteParameter, CallsiteParameterAdder
from structlog.typing import EventDict, Processor, WrappedLogger

from handloop.client import request_reports
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import Problem
from handloop.controller.cli.terminal import printable, show
from handloop.controller.cli.values import MAX_VERBOSITY
from handloop.informers.keys import ObjectName
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.locks import new_lock
from handloop.seams.logs import ROOT, StdlibLogger, get_logger, in_words, raised
from handloop.seams.traceback_places import TracebackPlaces

log = get_logger("controller")

_Subject = tuple[tuple[str, str], ...]
T = TypeVar("T")

REPEAT_WINDOW_SECONDS: Final = 60.0
TRACEBACK_VERBOSITY: Final = 4
MAX_TOLD: Final = 10
_MAX_REMEMBERED: Final = 1000
_MAX_CROWDS: Final = 100
_TROUBLE: Final = frozenset({"err", "failures"})
_ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]+\b")
"""A memory address, as in `<HTTPConnection object at 0x7f0d841af920>`; it differs for each object."""
_OF_ONE_MOMENT: Final = frozenset(
    {"causes", "reconcileID", "traceID", "spanID", "resourceVersion", "retryIn", "after", "stack"}
)
_SEVERITY: Final = {"critical": "F", "error": "E", "warning": "W", "info": "I", "debug": "I"}
_LEVELS: Final = {"F": "fatal", "E": "error", "W": "warning"}
_COLOURS: Final = {"E": "\x1b[31m", "F": "\x1b[31m", "W": "\x1b[33m", "I": "\x1b[32m"}
_DIM, _RESET = "\x1b[2m", "\x1b[0m"


def default_format(stream: TextIO, environment: Mapping[str, str] = os.environ) -> str:
    """Return the default log format: text on a terminal, json in a cluster, otherwise klog."""
    if stream.isatty():
        return "text"
    return "json" if environment.get("KUBERNETES_SERVICE_HOST") else "klog"


def tell(problem: Problem, options: Options, stream: TextIO) -> int:
    """Print a problem on stream, or log it as one line if logs are JSON. Returns: the problem's exit code."""
    if (options.log_format or default_format(stream)) == "json":
        # Log collectors expect one JSON object per line.
        write = {"error": log.error, "warning": log.warning, "info": log.info}[problem.severity]
        write(problem.what, **problem.facts(), more=problem.more)
    else:
        show(f"{problem}\n", stream)
    return problem.exit_code


def configure_logging(log_format: str, verbosity: int, *, stream: TextIO, quiet: bool = False) -> LogLevel:
    """
    Set up structlog for this process. The last call wins. Returns: the level, which can still be changed.

    Args: quiet means that level 0 logs only warnings and errors.
    """
    level = LogLevel(quiet=quiet)
    renderers = _renderers(log_format or default_format(stream), stream)
    structlog.configure(
        # The first processor adds the running reconcile's id to every line that its thread logs.
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.StackInfoRenderer(),
            level,
            RepeatFilter(),
            *renderers,
        ],
        logger_factory=cache(StdlibLogger),
        cache_logger_on_first_use=False,
    )
    _write_to(stream)
    level.set(verbosity)
    return level


def _write_to(stream: TextIO) -> None:
    """Make handloop's stdlib loggers write their lines to a stream, in place of an earlier stream."""
    ours = logging.getLogger(ROOT)
    for handler in [known for known in ours.handlers if isinstance(known, _LineHandler)]:
        ours.removeHandler(handler)
    ours.addHandler(_LineHandler(stream))
    # LogLevel has already dropped unwanted lines.
    ours.setLevel(logging.DEBUG)


def _renderers(log_format: str, out: TextIO) -> list[Processor]:
    if log_format == "klog":
        return [CallsiteParameterAdder([CallsiteParameter.FILENAME, CallsiteParameter.LINENO]), render_klog]
    if log_format == "json":
        return [render_json]
    return [partial(render_text, in_colour=out.isatty() and "NO_COLOR" not in os.environ)]


class _NoLock:
    """A lock for `logging.Handler` that locks nothing, so no thread waits for it."""

    def acquire(self) -> bool:
        """Hold nothing."""
        return True

    def release(self) -> None:
        """Hold nothing."""

    def __enter__(self) -> bool:
        return True

    def __exit__(self, *_: object) -> None:
        pass


class _LineHandler(logging.Handler):
    """
    Writes rendered lines. If the disk is full, or the stream's reader has exited, only log lines are lost.

    A failed write must not raise an error in the thread that logs, because that thread has more important
    work, such as reopening a watch or requesting a stop.
    Follows: klog, which ignores the errors of writes.
    """

    def __init__(self, out: TextIO) -> None:
        super().__init__()
        self._out = structlog.WriteLogger(out)

    def createLock(self) -> None:  # noqa: N802 - a name of the library
        """
        Use no lock, because WriteLogger has its own.

        With a lock here, a blocked write would delay the interpreter's exit.
        """
        self.lock = _NoLock()  # type: ignore[assignment] # since Python 3.13 the library enters it unasked

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line. If the write fails, the line is lost."""
        # ValueError: the stream is closed
        with suppress(OSError, ValueError):
            self._out.msg(record.getMessage())


class LogLevel:
    """
    The -v level of this process. Drops lines with a higher `v` and, below level 4, repeated tracebacks.

    State: value is written by the main thread and the thread `signal-reports`, and read by every thread that
    logs.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.value = 0
        self._least = logging.WARNING if quiet else logging.INFO
        self._places = TracebackPlaces()

    def set(self, verbosity: int) -> None:
        """Set the level for the program's log lines and for the client's request lines."""
        self.value = verbosity
        request_reports.set_verbosity(verbosity)
        # At level 0, a debug call returns at once.
        lowest = logging.DEBUG if verbosity > 0 else self._least
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(lowest))

    def cycle(self) -> int:
        """Set the next higher level, or 0 after the highest one. Returns: the new level."""
        self.set((self.value + 1) % (MAX_VERBOSITY + 1))
        return self.value

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        """Drop the event, or add its severity, its logger and, if it should be shown, a traceback."""
        if event.setdefault("v", 1 if method == "debug" else 0) > self.value:
            raise structlog.DropEvent
        event["severity"] = _SEVERITY.get(method, "I")
        event["logger"] = getattr(logger, "name", "")
        error = raised(event.pop("exc_info", None))
        if error is not None and (self._places.is_new(error) or self.value >= TRACEBACK_VERBOSITY):
            event["stack"] = "".join(traceback.format_exception(error)).rstrip()
        return event


class _Crowd(NamedTuple):
    """Subjects with the same trouble. From the time `since`, `told` of them were logged, `others` not."""

    since: float
    told: int
    others: set[_Subject]


class RepeatFilter:
    """
    Drops lines that repeat the same trouble within a minute, and counts the dropped lines.

    Trouble is a warning, an error, or an info line with `err` or `failures`. Lines that only `-v` shows and
    lines marked with `once=True` are never dropped. The subject of a line, such as an object with its error,
    consists of those keys and values that stay the same when the line is repeated. The same subject is logged
    at most once a minute. Of the subjects with the same trouble, at most MAX_TOLD are logged in a minute. The
    first line after that minute says how many other subjects were not logged.

    State, under _lock: _seen maps a subject to (time of the last line, number of lines dropped since then);
    _crowds has one _Crowd for each trouble. Threads: any thread can log.
    """

    def __init__(self, clock: Clock = REAL_CLOCK) -> None:
        self._clock = clock
        self._lock = new_lock("RepeatFilter._lock", 99)
        self._seen: dict[_Subject, tuple[float, int]] = {}
        self._crowds: dict[_Subject, _Crowd] = {}

    def __call__(self, _logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        """Drop a repetition, or add the number of dropped lines."""
        once = event.pop("once", False)
        if once or method == "debug" or (event["severity"] == "I" and not event.keys() & _TROUBLE):
            return event
        subject, now = _subject(event), self._clock.now()
        with self._lock:
            left_out, seconds = self._count_locked(subject, now)
            others = self._others_locked(_trouble(event, subject), subject, now)
            _remember(self._seen, subject, (now, 0), _MAX_REMEMBERED)
        if left_out:
            event["repeated"] = f"×{left_out} in {seconds:.0f} s"  # noqa: RUF001 - times
        if others:
            event["others"] = others
        return event

    def _count_locked(self, subject: _Subject, now: float) -> tuple[int, float]:
        written_at, left_out = self._seen.get(subject, (now - REPEAT_WINDOW_SECONDS, 0))
        if now - written_at < REPEAT_WINDOW_SECONDS:
            _remember(self._seen, subject, (written_at, left_out + 1), _MAX_REMEMBERED)
            raise structlog.DropEvent
        return left_out, now - written_at

    def _others_locked(self, trouble: _Subject, subject: _Subject, now: float) -> str:
        """
        Return a note about the subjects with this trouble that were not logged, or "".

        Raises: DropEvent if MAX_TOLD subjects with this trouble were already logged in this minute.
        """
        before = self._crowds.get(trouble, _Crowd(now, 0, set()))
        lasted = now - before.since
        if lasted >= REPEAT_WINDOW_SECONDS:
            _remember(self._crowds, trouble, _Crowd(now, 1, set()), _MAX_CROWDS)
            missed = len(before.others - {subject})
            return f"{missed} not logged in {lasted:.0f} s" if missed else ""
        if before.told == MAX_TOLD:
            if len(before.others) < _MAX_REMEMBERED:
                before.others.add(subject)
            raise structlog.DropEvent
        _remember(self._crowds, trouble, before._replace(told=before.told + 1), _MAX_CROWDS)
        return "counted for a minute, but not logged" if before.told + 1 == MAX_TOLD else ""


def _remember(memory: dict[_Subject, T], key: _Subject, value: T, limit: int) -> None:
    """
    Store the value under the newest key. If limit keys are stored, drop the oldest key.

    A plain dict is used, because importing cachetools would slow every start.
    """
    memory.pop(key, None)
    if len(memory) >= limit:
        del memory[next(iter(memory))]
    memory[key] = value


def _subject(event: EventDict) -> _Subject:
    """Return the keys and values that stay the same if a line is repeated: no numbers or memory addresses."""
    return tuple(
        (name, _ADDRESS.sub("", in_words(value)))
        for name, value in event.items()
        if name == "err" or not (name in _OF_ONE_MOMENT or isinstance(value, int | float))
    )


def _trouble(event: EventDict, subject: _Subject) -> _Subject:
    """Return the message and the error without the object's names, so that many objects can share them."""
    error = _ADDRESS.sub("", in_words(event.get("err", "")))
    for part in (part for name, value in subject if name != "err" for part in value.split("/") if part):
        error = error.replace(part, "")
    return (("event", str(event["event"])), ("err", error))


def _quoted(value: object) -> str:
    """Format a value as klog does: numbers without quotes, everything else as a quoted string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return _in_quotes(in_words(value))


def _in_quotes(text: str) -> str:
    return printable(json.dumps(text, ensure_ascii=False))


def _take_head(event: MutableMapping[str, Any]) -> tuple[str, str, str]:
    """
    Remove the keys that every line has. The caller formats the remaining ones as key=value pairs.

    Returns: the severity, the message, and the traceback as indented lines ("" if there is none).
    """
    severity, message = event.pop("severity"), str(event.pop("event"))
    stack = str(event.pop("stack", "")).rstrip()
    for name in ("v", "logger"):
        event.pop(name, None)
    # The traceback is indented, because an error message in it may contain lines that look like log lines.
    lines = [f"\n    {printable(line)}" for line in stack.split("\n")] if stack else []
    return severity, message, "".join(lines)


def render_klog(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    """
    Format a line as klog does.

    Example: `I1121 07:20:21.123456    4121 foo.py:142] "Successfully synced" objectName="default/foo"`.
    """
    filename, line = event.pop("filename", "?"), event.pop("lineno", 0)
    severity, message, stack = _take_head(event)
    at = dt.datetime.now(tz=dt.UTC).astimezone()
    head = f"{severity}{at:%m%d %H:%M:%S.%f} {threading.get_native_id():7d} {filename}:{line}]"
    pairs = [f"{key}={_quoted(value)}" for key, value in event.items()]
    return " ".join([head, _quoted(message), *pairs]) + stack


def render_json(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    """
    Format a line as `{"ts":"2026-11-21T07:20:21.123Z","level":"info","v":0,"logger":"foo","msg":"..."}`.

    Errors have `err` and no `v`. The fields follow component-base; the level and the time format follow
    controller-runtime, because log collectors understand these conventions. If a key of the line is
    also the name of a field, an underscore is appended to the key.
    """
    severity, v, name = event.pop("severity"), event.pop("v"), event.pop("logger", "")
    at = dt.datetime.now(tz=dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line: dict[str, Any] = {"ts": at, "level": _LEVELS.get(severity, "debug" if v else "info")}
    if severity == "I":
        line["v"] = v
    if name:
        line["logger"] = name
    line["msg"] = str(event.pop("event"))
    line |= {f"{key}_" if key in line else key: _json_value(value) for key, value in event.items()}
    return printable(json.dumps(line, ensure_ascii=False))


def _json_value(value: object) -> object:
    """Keep numbers, mappings and object names. Convert everything else to a string, including infinity."""
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, ObjectName):
        return {"name": value.name, "namespace": value.namespace}
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    return in_words(value)


def render_text(_logger: WrappedLogger, _method: str, event: EventDict, *, in_colour: bool) -> str:
    """Format a line as `07:20:21 I Successfully synced objectName=default/example-foo`, perhaps in colour."""
    severity, said, stack = _take_head(event)
    message = printable(said)
    at = dt.datetime.now(tz=dt.UTC).astimezone()
    pairs = " ".join(f"{key}={_bare(value)}" for key, value in event.items())
    if not in_colour:
        return f"{at:%H:%M:%S} {severity} {message} {pairs}".rstrip() + stack
    head = f"{_DIM}{at:%H:%M:%S}{_RESET} {_COLOURS[severity]}{severity}{_RESET}"
    return f"{head} {message} {_DIM}{pairs}{_RESET}{stack}"


def _bare(value: object) -> str:
    """Return a value as text, in quotes only if the text is ambiguous without them."""
    text = in_words(value)
    return text if text and text.isprintable() and not any(c in text for c in ' "=') else _in_quotes(text)
