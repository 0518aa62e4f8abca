"""Whatever a test makes of logging and signals is undone."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
import structlog

from client.request_log import set_verbosity


@pytest.fixture(autouse=True)
def _restore_process() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    handlers = {number: signal.getsignal(number) for number in numbers}
    configuration = structlog.get_config()
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    structlog.configure(**configuration)
    set_verbosity(0)
