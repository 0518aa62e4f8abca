"""
Where the lines of a library go: to stdlib logging, under `handloop.<logger>`, so that any handler sees them.

Every module logs by structlog.get_logger(name). By itself structlog writes each line to stdout, those for
debugging too, which a library must not. So the first import of this folder, which all parts that log need,
configures structlog, unless the application has done so: its own configuration counts, before or after.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, Final

import structlog
from structlog.typing import EventDict, WrappedLogger

from handloop.workqueue.traceback_places import TracebackPlaces

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
    What structlog's loggers write to: a stdlib logger. Threads: any.

    Keyword arguments of its methods are those of logging.Logger.log.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._logger = logging.getLogger(f"{ROOT}.{name}" if name else ROOT)

    def is_enabled(self, method: str) -> bool:
        """Whether some handler may want a line of this method."""
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
    """Drop lines that no handler wants, before they cost more."""
    if not logger.is_enabled(method):
        raise structlog.DropEvent
    return event


class _Rendered:
    """`Failed to list reflector=foos err=...`; the traceback of a bug once per place."""

    def __init__(self) -> None:
        self._places = TracebackPlaces()

    def __call__(
        self, _logger: WrappedLogger, _method: str, event: EventDict
    ) -> tuple[tuple[str], dict[str, Any]]:
        event.pop("v", None)
        error = raised(event.pop("exc_info", None))
        message = str(event.pop("event"))
        pairs = [f"{key}={value!r}" for key, value in event.items()]
        shown = error if error is not None and self._places.is_new(error) else None
        return (" ".join([message, *pairs]),), {"exc_info": shown, "extra": {"facts": dict(event)}}


def raised(exc_info: object) -> BaseException | None:
    """The exception that the argument exc_info of a line means."""
    if isinstance(exc_info, BaseException):
        return exc_info
    return sys.exc_info()[1] if exc_info else None


def log_to_stdlib() -> None:
    """Configure structlog for a library, unless it is configured."""
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[drop_unwanted, structlog.contextvars.merge_contextvars, _Rendered()],
        logger_factory=StdlibLogger,
        wrapper_class=structlog.make_filtering_bound_logger(logging.NOTSET),
        cache_logger_on_first_use=False,
    )
