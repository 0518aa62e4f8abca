"""`migrate-storage`: stores all objects of the program's kinds in their newest versions."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Final

from handloop.client.config import load_config
from handloop.client.errors import ClientError, ConfigError
from handloop.client.transport import HTTPTransport, Transport
from handloop.controller.cli.definition_source import SourceError
from handloop.controller.cli.flags import COMMANDS
from handloop.controller.cli.operator import Operator
from handloop.controller.cli.problems import EXIT_FATAL, EXIT_OK, EXIT_USAGE
from handloop.controller.cli.server_migration import NotByServerError, ServerMigration
from handloop.controller.cli.storage_migration import Progress, StorageMigration
from handloop.controller.cli.terminal import printable, show

_EVERY_SECONDS: Final = 2.0
_RATE: Final = 50.0
_SHOWN: Final = 5
"""The maximum number of refused objects that are listed."""


def run_migrate_storage(operator: Operator, arguments: Sequence[str]) -> int:
    """
    Migrate the stored objects of an operator's kinds, or only of the named definitions.

    Returns: the exit code, which is 1 if objects could remain in an old version.
    Raises: SystemExit if argparse refuses the arguments or prints help; SetUpError if set_up fails.
    """
    given = _parser(operator).parse_args(arguments)
    own = [kind.resource.group_resource for setup in operator.setups() for kind in setup.kinds]
    names = given.names or list(dict.fromkeys(own))
    if not names:
        return _failed("this program has no kinds of its own: name a definition")
    try:
        config = load_config(kubeconfig=given.kubeconfig, context=given.context)
        with closing(HTTPTransport(config)) as transport:
            done = [_migrate(transport, name, given.rate) for name in names]
    except (SourceError, ConfigError, ClientError) as error:
        return _failed(str(error))
    except KeyboardInterrupt:
        return _failed("stopped: run the same command again to continue")
    return EXIT_OK if all(done) else EXIT_FATAL


def _failed(text: str) -> int:
    show(f"error: {printable(text)}\n", sys.stderr)
    return EXIT_USAGE


def _parser(operator: Operator) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{operator.command} migrate-storage",
        description=f"{COMMANDS['migrate-storage'].capitalize()}. It can be stopped and started again.",
        allow_abbrev=False,
    )
    told = "a definition, such as sites.example.org; by default those of the program's own kinds"
    parser.add_argument("names", metavar="DEFINITION", nargs="*", help=told)
    rate = f"write at most N objects per second (by default {_RATE:g}); if set, the server does not migrate"
    parser.add_argument("--rate", type=_rate, metavar="N", help=rate)
    parser.add_argument("--kubeconfig", metavar="PATH", help="by default as for kubectl")
    parser.add_argument("--context", help="of the kubeconfig")
    return parser


def _rate(word: str) -> float:
    rate = float(word)
    if not 0 < rate < float("inf"):
        raise argparse.ArgumentTypeError(f"{word} is not above 0")
    return rate


def _migrate(transport: Transport, name: str, rate: float | None) -> bool:
    migration = StorageMigration(transport, name, rate=rate or _RATE)
    old = migration.old_versions()
    if not old and not migration.is_doubtful():
        show(f"{name}: nothing to do, all objects are stored in the newest version\n", sys.stdout)
        return True
    told = ", ".join(old) or "an older version, because the server's own migration has failed"
    show(f"{name}: objects may be stored as {told}\n", sys.stdout)
    if old and rate is None:
        if _by_server(transport, name) and not migration.old_versions():
            show(
                f"{name}: the server has rewritten the objects; status.storedVersions is shortened\n",
                sys.stdout,
            )
            return True
        migration.put_back(old)
    migration.tell = _teller(time.monotonic)
    done, progress = migration.run(), migration.progress
    for place, why in list(progress.refused.items())[:_SHOWN]:
        show(f"{name}: {printable(place)} cannot be written: {printable(why)}\n", sys.stdout)
    counts = f"{progress.done} objects, {progress.moved} of them rewritten"
    if done:
        show(f"{name}: {counts}; status.storedVersions is shortened\n", sys.stdout)
    elif progress.refused:
        show(
            f"{name}: {counts}; {len(progress.refused)} cannot be written: fix them, and try again\n",
            sys.stdout,
        )
    else:
        show(f"{name}: {counts}; too much changed in the meantime: try again\n", sys.stdout)
    return done


def _by_server(transport: Transport, name: str) -> bool:
    """Return whether the server migrated a kind. If it supports migration but failed, print why."""
    try:
        ServerMigration(
            transport, name, tell=lambda text: show(f"{name}: {printable(text)}\n", sys.stderr)
        ).run()
    except NotByServerError as error:
        if text := str(error):
            said = f"{name}: migrating object by object, because the server cannot: {printable(text)}\n"
            show(said, sys.stderr)
        return False
    return True


def _teller(clock: Callable[[], float]) -> Callable[[Progress], None]:
    """Return a function that prints the progress and the remaining time at most every two seconds."""
    began = last = clock()

    def tell(progress: Progress) -> None:
        nonlocal last
        now = clock()
        if now - last < _EVERY_SECONDS:
            return
        last = now
        rate = progress.done / max(now - began, 1e-9)
        left = (progress.total - progress.done) / max(rate, 1e-9)
        part = 100 * progress.done // max(progress.total, 1)
        show(
            f"{progress.name}: {progress.done} of {progress.total} ({part}%), {left:.0f} s left\n",
            sys.stderr,
        )

    return tell
