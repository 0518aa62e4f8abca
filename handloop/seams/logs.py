"""
Sends the library's log lines to stdlib logging, under `handloop.<logger>`, so that any handler sees them.

Every module logs with get_logger(name). By default, structlog writes every line to stdout, even debug lines,
which a library must not do. Our loggers therefore have their own set-up. They change no process-wide
configuration, so the application's structlog loggers stay as they are. If the application configures
structlog, at any time, our loggers follow that configuration.
Decision: Logs belong to stdlib logging.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

import structlog
from structlog.typing import EventDict, WrappedLogger

from handloop.seams.traceback_places import TracebackPlaces

ROOT: Final = "handloop"
_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "exception": logging.ERROR,
    "critical": logging.CRITICAL,
}


class StdlibLogger:
    """
    The stdlib logger to which structlog's loggers write. Threads: usable from any thread.

    Its methods take the keyword arguments of logging.Logger.log.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._logger = logging.getLogger(f"{ROOT}.{name}" if name else ROOT)

    def is_enabled(self, method: str) -> bool:
        """Return whether a handler may accept lines of this method's level, such as those of `info`."""
        return self._logger.isEnabledFor(_LEVELS.get(method, logging.INFO))

    def debug(self, message: str, **more: Any) -> None:
        """Log a line."""
        self._logger.log(logging.DEBUG, "%s", message, **more)

    def info(self, message: str, **more: Any) -> None:
        """Log a line."""
        self._logger.log(logging.INFO, "%s", message, **more)

    def warning(self, message: str, **more: Any) -> None:
        """Log a line."""
        self._logger.log(logging.WARNING, "%s", message, **more)

    def error(self, message: str, **more: Any) -> None:
        """Log a line."""
        self._logger.log(logging.ERROR, "%s", message, **more)

    exception = critical = error


def drop_unwanted(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Drop the lines that no handler accepts, before they are formatted."""
    if not logger.is_enabled(method):
        raise structlog.DropEvent
    return event


class _Rendered:
    """
    Formats lines like `Failed to list reflector=foos err=...`.

    If the same line of code raises errors of the same type, only the first one is shown with its traceback.
    """

    def __init__(self) -> None:
        self._places = TracebackPlaces()

    def __call__(
        self, _logger: WrappedLogger, _method: str, event: EventDict
    ) -> tuple[tuple[str], dict[str, Any]]:
        for name in ("v", "once"):
            event.pop(name, None)
        error = raised(event.pop("exc_info", None))
        wants_stack = bool(event.pop("stack_info", None))
        message = str(event.pop("event"))
        pairs = [f"{key}={in_words(value, repr)}" for key, value in event.items()]
        shown = error if error is not None and self._places.is_new(error) else None
        more = {"exc_info": shown, "stack_info": wants_stack, "extra": {"facts": dict(event)}}
        return (" ".join([message, *pairs]),), more


def in_words(value: object, words: Callable[[object], str] = str) -> str:
    """Return a value's str or repr for a log line. This never raises, even if str or repr does."""
    try:
        return words(value)
    except BaseException as error:  # noqa: BLE001 - its class is unknown to us
        return f"<{type(value).__name__}, whose {words.__name__} raised {type(error).__name__}>"


def raised(exc_info: object) -> BaseException | None:
    """Return the exception for a line's exc_info: an exception, a tuple from sys.exc_info, or True."""
    if isinstance(exc_info, tuple):
        exc_info = exc_info[1]
    if isinstance(exc_info, BaseException):
        return exc_info
    return sys.exc_info()[1] if exc_info else None


_PROCESSORS: Final = (drop_unwanted, structlog.contextvars.merge_contextvars, _Rendered())
_ALL_LEVELS: Final = structlog.make_filtering_bound_logger(logging.NOTSET)


class _Logger:
    """
    One of our loggers, which follows structlog's configuration if there is one, or otherwise our own.

    The logger is set up when it logs its first line, because many loggers, such as a reconcile's, log none.
    Threads: usable from any thread.
    """

    def __init__(self, name: str, facts: Mapping[str, Any]) -> None:
        self._name = name
        self._facts = facts

    @cached_property
    def _configured(self) -> Any:
        return structlog.get_logger(self._name, **self._facts)

    @cached_property
    def _ours(self) -> Any:
        out = StdlibLogger(self._name)
        return structlog.wrap_logger(
            out, _PROCESSORS, _ALL_LEVELS, cache_logger_on_first_use=True, **self._facts
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _Logger, (self._name, self._facts)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # copy and pickle look up special methods before the object has any state.
            raise AttributeError(name)
        return getattr(self._configured if structlog.is_configured() else self._ours, name)


def get_logger(name: str, **facts: Any) -> Any:
    """
    Return a structlog logger, which by default logs to the stdlib logger `handloop.<name>`.

    Args: name is the name of a controller or of another part of handloop. facts are added to each line.
    """
    return _Logger(name, facts)
