"""No log lines between those of a program that shows running controllers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import structlog


def _drop(*_: Any) -> NoReturn:
    raise structlog.DropEvent


@contextmanager
def quiet_logs() -> Iterator[None]:
    """Drop every log line of this process for the length of the context."""
    was_configured, before = structlog.is_configured(), structlog.get_config()
    level = logging.root.manager.disable
    structlog.configure(processors=[_drop], cache_logger_on_first_use=False)
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(level)
        if was_configured:
            structlog.configure(**before)
        else:
            structlog.reset_defaults()
