"""The log of a test, in spite of any logging that another test has set up."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import structlog
from structlog.typing import Processor


@contextmanager
def captured_logs(*processors: Processor) -> Iterator[list[MutableMapping[str, Any]]]:
    """Collect log entries of every level as dicts: `event` is the message, `log_level` the method."""
    before = structlog.get_config()
    structlog.reset_defaults()
    try:
        with structlog.testing.capture_logs(processors) as entries:
            yield entries
    finally:
        structlog.configure(**before)
