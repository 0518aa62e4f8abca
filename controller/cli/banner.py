"""What runs, where and as whom: a few lines on a terminal, one log line elsewhere."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from typing import TextIO

import structlog

from handloop.controller.cli.options import Options
from handloop.controller.cli.terminal import printable, show
from handloop.controller.cli.values import format_duration
from handloop.controller.cli.version import DISTRIBUTION, version

log = structlog.get_logger("controller")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the banner says besides the options. An empty text is not known."""

    host: str
    context: str
    source: str
    server_version: str
    user: str
    metrics: str
    health: str
    checks: str
    live: str = ""


def show_banner(facts: Facts, options: Options, stream: TextIO) -> None:
    """Write the banner to a terminal; to anything else one log line with the same facts."""
    if stream.isatty():
        show(banner(facts, options), stream)
        return
    log.info(
        "Starting handloop",
        version=version(),
        cluster=facts.host,
        serverVersion=facts.server_version,
        context=facts.context,
        source=facts.source,
        identity=facts.user,
        controllers=",".join(options.controllers),
        namespaces=options.namespace or "all",
        workers=options.workers,
        resync=format_duration(options.resync),
        metrics=facts.metrics,
        health=facts.health,
        checks=facts.checks,
        **({"live": facts.live} if facts.live else {}),
    )


def banner(facts: Facts, options: Options) -> str:
    """Six lines for people, and one for the live page."""
    server = f" ({facts.server_version})" if facts.server_version else ""
    context = f"  context {facts.context}" if facts.context else ""
    source = f"  from {facts.source}" if facts.source else ""
    scope = options.namespace or "all"
    rows = [
        f"{DISTRIBUTION} {version()} · python {platform.python_version()} · pid {os.getpid()}",
        f"  cluster   {facts.host}{server}{context}{source}",
        f"  identity  {facts.user or 'unknown'} · namespaces: {scope}",
        f"  running   {', '.join(options.controllers)} · workers {options.workers} each · resync "
        + format_duration(options.resync),
        f"  serving   metrics {facts.metrics} · health {facts.health}",
        f"  checks    {facts.checks}",
        *([f"  live      {facts.live}"] if facts.live else []),
    ]
    return "\n".join(map(printable, rows)) + "\n"
