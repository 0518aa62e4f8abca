"""
The command line: `handloop explore greeter:set_up --apply hello.yaml`.

Exit codes: 0 = no plan failed; 1 = a plan or the undisturbed run failed; 2 = the command line is wrong; 130 =
Ctrl-C was pressed before the undisturbed run had ended.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO

import yaml

from handloop.apis.grammar.yaml_text import from_yaml
from handloop.client.config import load_config
from handloop.client.errors import ConfigError, TransportError
from handloop.controller.cli.dry_set_up import DrySetUp
from handloop.controller.cli.operator import SetUpError
from handloop.controller.cli.values import duration, format_duration
from handloop.picture.page_data import INDEX
from handloop_explore.administrator import RefusedError
from handloop_explore.explorer import run_plans
from handloop_explore.generated import generated
from handloop_explore.html_report import html_report
from handloop_explore.live_runs import is_free_for_page, remove_page, write_live_page
from handloop_explore.on_server import SAMPLE, run_on_server
from handloop_explore.plan import Plan
from handloop_explore.progress import Progress
from handloop_explore.report import Report, UndisturbedError
from handloop_explore.workload import Step, Workload, applied, deleted, settled

EXIT_OK: Final = 0
EXIT_FOUND: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130
_BUDGET_SECONDS: Final = 60.0
_ENDLESS: Final = 10**9


class UsageError(Exception):
    """The command line is wrong. The message says how to correct it."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


def main(arguments: Sequence[str], out: TextIO | None = None) -> int:
    """
    Explore an operator.

    Args: arguments: the words after `handloop explore`; out: sys.stdout if None. Returns: the exit code.
    """
    out = sys.stdout if out is None else out
    try:
        given = _parser().parse_args(arguments)
        _check_targets(given)
        workload = _workload(given)
        asked = {"replicas": given.replicas, "deadline_seconds": given.deadline}
        workload = replace(workload, **{name: value for name, value in asked.items() if value is not None})
        workload = replace(workload, ignore=(*workload.ignore, *given.ignore))
        workload.ignored  # noqa: B018 - reports an invalid entry before any plan is played
        text, report = _played(workload, given)
    except (UsageError, SetUpError, RefusedError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return EXIT_USAGE
    except KeyboardInterrupt:
        sys.stderr.write("interrupted before the undisturbed run had ended\n")
        return EXIT_INTERRUPTED
    out.write(f"{text}\n")
    if files := _write(report, workload, given):
        out.write(f"\n{report.head}: see {', '.join(files)}\n")
    return EXIT_FOUND if report.failures else EXIT_OK


@contextmanager
def _terminated_by_interrupt() -> Iterator[None]:
    """Make SIGTERM act like Ctrl-C, so that the namespace and all processes are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _played(workload: Workload, given: argparse.Namespace) -> tuple[str, Report]:
    """
    Play the plans.

    Returns: the report as text, and the report. Raises: the same errors as run_plans and run_on_server,
    except UndisturbedError.
    """
    try:
        with _terminated_by_interrupt():
            report = _report(workload, given)
    except UndisturbedError as error:
        return str(error), error.report
    return report.text(_command(given)), report


def _report(workload: Workload, given: argparse.Namespace) -> Report:
    replay = str(Plan.parse(given.replay))
    plans = 1 if replay else given.plans
    if given.on:
        return _report_of_server(workload, given, replay)
    seconds = _BUDGET_SECONDS if given.budget is None else given.budget
    progress = Progress(sys.stderr, seconds=seconds, plans=plans)
    try:
        return run_plans(
            workload,
            plans=plans,
            seconds=seconds,
            seed=given.seed,
            replay=replay,
            processes=given.processes,
            progress=progress.show,
        )
    finally:
        progress.end()


def _report_of_server(workload: Workload, given: argparse.Namespace, replay: str) -> Report:
    for option in ("page", "deadline"):
        if getattr(given, option) is not None:
            raise UsageError(f"--{option} works only in virtual time; remove --on")
    plans = 1 if replay else SAMPLE if given.plans == _ENDLESS else given.plans
    seconds = math.inf if given.budget is None else given.budget
    progress = Progress(sys.stderr, seconds=seconds, plans=plans)
    try:
        return run_on_server(
            workload,
            load_config(kubeconfig=given.on),
            plans=plans,
            seconds=seconds,
            seed=given.seed,
            replay=replay,
            progress=progress.show,
            tell=lambda words: sys.stderr.write(f"{words}\n"),
        )
    except (ConfigError, TransportError) as error:
        raise UsageError(f"--on {given.on}: {error}") from error
    finally:
        progress.end()


def _write(report: Report, workload: Workload, given: argparse.Namespace) -> list[str]:
    """Write the report to the requested files. Returns: the files' names."""
    page = str(Path(given.page) / INDEX) if given.page and report.has_ended else ""
    if given.json:
        Path(given.json).write_text(json.dumps(report.document(), indent=1), encoding="utf-8")
    if given.page and not page:
        remove_page(Path(given.page))
    elif page:
        write_live_page(Path(given.page), workload, report, f"{given.what}, explored")
    if given.html:
        file = Path(given.html)
        address = os.path.relpath(page, file.parent) if page else ""
        file.write_text(html_report(report, given.what, _command(given), address), encoding="utf-8")
    return [file for file in (given.json, given.html, page) if file]


def _check_targets(given: argparse.Namespace) -> None:
    """Check the report's files before the plans are played. Raises: UsageError if one cannot be written."""
    for option, name in (("--json", given.json), ("--html", given.html)):
        if name and (Path(name).is_dir() or not Path(name).absolute().parent.is_dir()):
            raise UsageError(f"{option} {name}: this is a folder, or the file's folder does not exist")
    if given.page and Path(given.page).is_file():
        raise UsageError(f"--page {given.page}: this is a file, but the page needs a folder")
    if given.page and not is_free_for_page(Path(given.page)):
        raise UsageError(f"--page {given.page}: this folder contains other files; name an empty one")


def _command(given: argparse.Namespace) -> str:
    """Return the command line that replays a plan if `--replay PLAN` is added."""
    files = [word for file in given.apply for word in ("--apply", file)]
    chance = ["--generate", given.generate, "--seed", str(given.seed)] if given.generate else []
    replicas = ["--replicas", str(given.replicas)] if given.replicas else []
    deadline = ["--deadline", format_duration(given.deadline)] if given.deadline is not None else []
    ignored = [word for fields in given.ignore for word in ("--ignore", fields)]
    on = ["--on", given.on] if given.on else []
    words = (*files, *chance, *replicas, *deadline, *ignored, *on)
    return shlex.join(["handloop", "explore", given.what, *words])


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least 1")
    return int(text)


def _some_time(text: str) -> float:
    try:
        seconds = duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if not seconds:
        raise argparse.ArgumentTypeError(f"{text} is too short to play a plan")
    return seconds


def _parser() -> _Parser:
    parser = _Parser(
        prog="handloop explore",
        description="Run an operator in virtual time, with faults at each of its writes, and judge each run.",
        epilog="Exit codes: 0 = no plan failed; 1 = a plan failed; 2 = the command line is wrong. "
        "The command ends early after twenty plans have failed in different ways. After Ctrl-C, it prints "
        "the report so far.",
        allow_abbrev=False,
    )
    parser.add_argument("what", help="MODULE:NAME of a set_up function or a Workload")
    parser.add_argument(
        "--apply",
        metavar="FILE",
        action="append",
        default=[],
        help="for a set_up function: the objects that users create, and delete at the end; CRDs in the files "
        "are installed first; can be repeated",
    )
    parser.add_argument(
        "--generate",
        metavar="KIND",
        default="",
        help="also change objects of this kind, which the operator must define, at random (see --seed)",
    )
    parser.add_argument(
        "--budget", metavar="TIME", type=_some_time, help="how long to play (1m; with --on, no limit)"
    )
    parser.add_argument(
        "--plans", metavar="N", type=_positive, default=_ENDLESS, help="how many plans to play (no limit)"
    )
    parser.add_argument(
        "--processes", metavar="N", type=_positive, help="how many plans to play at once (one per processor)"
    )
    parser.add_argument(
        "--replicas", metavar="N", type=_positive, help="how many processes the operator has; one leads (1)"
    )
    parser.add_argument(
        "--deadline",
        metavar="TIME",
        type=_some_time,
        help="the longest virtual time that a reconcile may take (5m)",
    )
    parser.add_argument(
        "--ignore",
        metavar="FIELDS",
        action="append",
        default=[],
        help="exclude fields from comparisons, such as secrets:data.password; can be repeated",
    )
    parser.add_argument(
        "--on",
        metavar="KUBECONFIG",
        help=f"play {SAMPLE} plans (or --plans) on a real server, where rival clients act and processes are "
        "killed",
    )
    parser.add_argument("--seed", type=int, default=1, help="the seed of all random choices (1)")
    parser.add_argument("--replay", metavar="PLAN", default="", help="run only this plan, such as 3:lost")
    parser.add_argument("--json", metavar="FILE", help="also write the report to this file as JSON")
    parser.add_argument(
        "--html", metavar="FILE", help="also write the report to this file as HTML, with timelines"
    )
    parser.add_argument(
        "--page",
        metavar="FOLDER",
        help="also write the live page, which shows the failures step by step, to this folder",
    )
    return parser


def _workload(given: argparse.Namespace) -> Workload:
    """Return the workload that the command line describes. Raises: UsageError if it is wrong."""
    what, files = given.what, given.apply
    found = _named(what)
    if isinstance(found, Workload):
        for option in ("apply", "generate"):
            if getattr(given, option):
                raise UsageError(f"{what} is a Workload, which has its own steps; remove --{option}")
        return found
    if not callable(found):
        raise UsageError(f"{what} is neither a function that sets up controllers nor a Workload")
    if not files:
        raise UsageError(f"{what} needs objects to reconcile; add --apply FILE")
    given_objects = [one for file in files for one in _read(Path(file))]
    definitions = [one for one in given_objects if one["kind"] == "CustomResourceDefinition"]
    manifests = [one for one in given_objects if one not in definitions]
    if not manifests:
        raise UsageError(f"{', '.join(files)} contains no object")
    lives = _generated(found, manifests, given) if given.generate else map(applied, manifests)
    steps: list[Step] = [*lives, settled(), *map(deleted, reversed(manifests))]
    return Workload(found, steps, definitions=definitions)


def _generated(
    set_up: Callable[[Any], object], manifests: Sequence[dict[str, Any]], given: argparse.Namespace
) -> list[Step]:
    """
    Return steps that create objects, and change those of the --generate kind.

    Raises: UsageError if the operator does not have this kind, or if no object is of this kind.
    """
    (setup,) = DrySetUp((set_up,), None).setups()
    kinds = {kind.resource.kind: kind for kind in setup.kinds}
    kind = kinds.get(given.generate)
    if kind is None:
        known = ", ".join(sorted(kinds)) or "none"
        raise UsageError(f"--generate {given.generate}: no such kind; the operator's own kinds are {known}")
    if not any(one["kind"] == given.generate for one in manifests):
        raise UsageError(f"--generate {given.generate}: {', '.join(given.apply)} contains no such object")
    steps: list[Step] = []
    for one in manifests:
        chosen = one["kind"] == given.generate
        steps += generated(kind, one, seed=given.seed) if chosen else [applied(one)]
    return steps


def _named(what: str) -> Any:
    module, _, name = what.partition(":")
    if not module or not name:
        raise UsageError(f"{what} does not have the form MODULE:NAME, such as {module or 'greeter'}:set_up")
    if module.endswith(".py"):
        raise UsageError(f"{what} names a file, not a module; write {_module_of(module)}:{name}")
    sys.path.insert(0, "")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{what} does not exist: {error}") from error
    except Exception as error:
        raise UsageError(f"{module} cannot be imported: {error!r}") from error
    finally:
        sys.path.remove("")


def _module_of(file: str) -> str:
    return file.removesuffix(".py").removeprefix("./").replace("/", ".")


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        documents = from_yaml(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: {error}") from error
    objects = [one for one in documents if one is not None]
    for one in objects:
        if not (isinstance(one, dict) and {"apiVersion", "kind", "metadata"} <= one.keys()):
            raise UsageError(
                f"{path}: an object needs apiVersion, kind and metadata, but this is {str(one)[:60]}"
            )
        if not (one["metadata"] or {}).get("name"):
            raise UsageError(f"{path}: this {one['kind']} has no metadata.name")
    return objects
