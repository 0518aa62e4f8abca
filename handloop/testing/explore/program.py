"""
The command line: `handloop explore greeter:set_up --apply hello.yaml`.

Exit codes: 0; 1 = a plan failed, or the undisturbed run does; 2 = the command line makes no sense.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO

import yaml

from handloop.controller.cli.values import duration
from handloop.testing.explore.explorer import run_plans
from handloop.testing.explore.plan import Plan
from handloop.testing.explore.report import Report
from handloop.testing.explore.workload import Step, Workload, applied, deleted, settled

EXIT_OK: Final = 0
EXIT_FOUND: Final = 1
EXIT_USAGE: Final = 2
_ENDLESS: Final = 10**9


class UsageError(Exception):
    """The command line makes no sense; the message says what does."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


def main(arguments: Sequence[str], out: TextIO | None = None) -> int:
    """
    Explore what the words after `explore` name.

    Args: out None = the terminal. Returns: the exit code.
    """
    out = sys.stdout if out is None else out
    try:
        given = _parser().parse_args(arguments)
        workload = _workload(given.what, given.apply)
        report = run_plans(
            workload,
            plans=_ENDLESS,
            seconds=given.budget,
            seed=given.seed,
            replay=str(Plan.parse(given.replay)),
            progress=_Progress(sys.stderr).show,
        )
    except (UsageError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return EXIT_USAGE
    except AssertionError as error:
        out.write(f"{error}\n")
        return EXIT_FOUND
    out.write(f"{report.text()}\n")
    if given.json:
        Path(given.json).write_text(json.dumps(report.document(), indent=1), encoding="utf-8")
    return EXIT_FOUND if report.failures else EXIT_OK


class _Progress:
    """One line on a terminal, written again for each plan; none elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, report: Report) -> None:
        """Write it."""
        if self._stream.isatty():
            self._stream.write(f"\r{report.head}\x1b[K")
            self._stream.flush()


def _parser() -> _Parser:
    parser = _Parser(
        prog="handloop explore",
        description="Play an operator in virtual time, with a fault at each of its writes.",
        allow_abbrev=False,
    )
    parser.add_argument("what", help="MODULE:NAME of a set_up function, or of a Workload")
    parser.add_argument(
        "--apply",
        metavar="FILE",
        action="append",
        default=[],
        help="for a set_up: objects that users create, and delete in the end; may be given again",
    )
    parser.add_argument("--budget", metavar="TIME", type=duration, default="1m", help="how long (1m)")
    parser.add_argument("--seed", type=int, default=1, help="of the plans that are samples (1)")
    parser.add_argument("--replay", metavar="PLAN", default="", help="play this one alone, such as 3:lost")
    parser.add_argument("--json", metavar="FILE", help="write the report there, too")
    return parser


def _workload(what: str, files: Sequence[str]) -> Workload:
    """The workload that words name. Raises: UsageError."""
    found = _named(what)
    if isinstance(found, Workload):
        return found
    if not callable(found):
        raise UsageError(f"{what} is neither a function that sets controllers up nor a Workload")
    if not files:
        raise UsageError(f"{what} needs objects to work for: --apply FILE")
    manifests = [one for file in files for one in _read(Path(file))]
    steps: list[Step] = [*map(applied, manifests), settled(), *map(deleted, reversed(manifests))]
    return Workload(found, steps)


def _named(what: str) -> Any:
    module, _, name = what.partition(":")
    if not module or not name:
        raise UsageError(f"{what} is no MODULE:NAME: greeter:set_up is one")
    sys.path.insert(0, "")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{what} is not there: {error}") from error
    finally:
        sys.path.remove("")


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        documents = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: {error}") from error
    return [one for one in documents if isinstance(one, dict)]
