"""Keeps log lines out of the output of programs that show running controllers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn, TypeAlias

import structlog

Hear: TypeAlias = Callable[[str, Mapping[str, Any]], object]
"""A function that receives a line's level, such as error, and its parts. The part `event` is the text."""


@contextmanager
def quiet_logs(hear: Hear = lambda *_: None) -> Iterator[None]:
    """Drop all log lines of this process during the block. Args: hear is called with each structlog line."""

    def drop(_: object, level: str, event: Mapping[str, Any]) -> NoReturn:
        hear(level, event)
        raise structlog.DropEvent

    was_configured, before = structlog.is_configured(), structlog.get_config()
    level = logging.root.manager.disable
    structlog.configure(processors=[drop], cache_logger_on_first_use=False)
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(level)
        if was_configured:
            structlog.configure(**before)
        else:
            structlog.reset_defaults()
