"""The lines of a library: stdlib logging, and nothing below a warning by default."""

from __future__ import annotations

import copy
import logging
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
import structlog

from handloop.apis.meta import ObjectMeta
from handloop.controller.runtime.manager import Manager
from handloop.seams.logs import get_logger
from handloop.testing.eventually import eventually
from support.rigs.greeter import Greeting, set_up
from support.rigs.managed_sandbox import ManagedSandbox

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _as_imported() -> Iterator[None]:
    """Logging as it is after an import, undoing the set-up of a program in an earlier test."""
    before, ours = structlog.get_config(), logging.getLogger("handloop")
    level = ours.level
    structlog.reset_defaults()
    ours.setLevel(logging.NOTSET)
    yield
    structlog.configure(**before)
    ours.setLevel(level)


class Broken:
    """A reconciler with a bug."""

    def __init__(self) -> None:
        self.calls = 0

    def reconcile(self, *_: object) -> None:
        """Raises: KeyError."""
        self.calls += 1
        raise KeyError("missing")


def run_broken(times: int) -> None:
    """A library's manager whose reconciler raises several times."""
    cluster, broken = ManagedSandbox(Greeting), Broken()
    manager: Manager = cluster.manager()
    set_up(manager, broken)
    with cluster.running(manager):
        greeting = Greeting(metadata=ObjectMeta(name="a", namespace="default"))
        cluster.client.resource(Greeting).create(greeting)
        eventually(lambda: broken.calls >= times, "failed")


def test_a_bug_shows_its_place_once(caplog: pytest.LogCaptureFixture) -> None:
    """Caplog sees each failure; the first has the traceback, the others are a line."""
    run_broken(4)
    errors = [one for one in caplog.records if one.getMessage().startswith("Reconciler error")]
    assert len(errors) >= 4
    assert {one.name for one in errors} == {"handloop.greeter"}
    assert "err=\"KeyError('missing')\"" in errors[0].getMessage()
    assert "raise KeyError" in caplog.text
    assert [one.exc_info is not None for one in errors] == [True] + [False] * (len(errors) - 1)


class Unshown:
    """An object whose repr has a bug."""

    def __repr__(self) -> str:
        raise KeyError("no name yet")


def test_no_line_raises_and_the_arguments_of_logging_work(caplog: pytest.LogCaptureFixture) -> None:
    """As in logging: exc_info takes a tuple, too, stack_info shows the stack, and a bad repr is reported."""
    try:
        raise ValueError("late")  # noqa: TRY301 - a place of its own: each place is shown once
    except ValueError as raised:
        error, told = raised, sys.exc_info()
    get_logger("mine").error("Failed", thing=Unshown(), exc_info=told, stack_info=True)
    (line,) = caplog.records
    assert line.getMessage() == "Failed thing=<Unshown, whose repr raised KeyError>"
    assert line.exc_info is not None
    assert line.exc_info[1] is error
    assert "Stack (most recent call last)" in (line.stack_info or "")


def test_debug_lines_are_there_on_request(caplog: pytest.LogCaptureFixture) -> None:
    """By the levels of stdlib logging."""
    log = get_logger("some")
    log.debug("unasked")
    with caplog.at_level(logging.DEBUG, "handloop.some"):
        log.debug("asked", v=4, once=True, a="b")
    assert [one.getMessage() for one in caplog.records] == ["asked a='b'"]


def test_an_application_that_configures_structlog_gets_our_lines(caplog: pytest.LogCaptureFixture) -> None:
    """Also one that does so after our loggers were made and used; and back."""
    log, lines = get_logger("some"), []

    def note(_logger: object, _method: str, event: structlog.typing.EventDict) -> NoReturn:
        lines.append(event)
        raise structlog.DropEvent

    log.warning("before")
    structlog.configure(processors=[note])
    log.warning("after", a=1)
    structlog.reset_defaults()
    log.warning("again")
    assert lines == [{"event": "after", "a": 1}]
    assert [one.getMessage() for one in caplog.records] == ["before", "again"]


def test_an_applications_own_loggers_are_not_touched() -> None:
    """Structlog is as it is without us, though a manager was made and has logged."""
    code = """
import structlog
from handloop.controller.runtime.manager import Manager
from handloop.seams.logs import get_logger
get_logger("some").debug("ours")
assert not structlog.is_configured()
structlog.get_logger().info("theirs", a=1)
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert "theirs" in ended.stdout
    assert "[info" in ended.stdout
    assert "ours" not in ended.stdout + ended.stderr


def test_a_library_logs_nothing_below_a_warning() -> None:
    """Without any set-up: the failure on stderr, and not a line about reconciles that begin or end."""
    path = "import sys; sys.path[:0] = ['tests', 'tests/seams']"
    code = f"{path}; import test_logs; test_logs.run_broken(2)"
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert ended.stdout == ""
    assert ended.stderr.count("Traceback") == 1
    assert "Reconciler error" in ended.stderr
    for sign in ("Reconciling", "Starting controller", "Starting workers"):
        assert sign not in ended.stderr


def test_a_logger_can_be_copied() -> None:
    """An object that holds one may be copied or pickled, used or not."""
    for logger in (get_logger("a", controller="c"), get_logger("b")):
        logger.debug("used")
        for again in (copy.copy(logger), copy.deepcopy(logger), pickle.loads(pickle.dumps(logger))):  # noqa: S301
            again.debug("used")
            assert type(again) is type(logger)
