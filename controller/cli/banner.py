"""What runs, where and as whom: six lines on a terminal, one log line elsewhere."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from typing import Any, TextIO

import structlog

from handloop.controller.cli.terminal import printable, show
from handloop.controller.cli.version import DISTRIBUTION

log = structlog.get_logger("controller")


def show_banner(facts: Mapping[str, Any], stream: TextIO) -> None:
    """Write the banner to a terminal; to anything else one log line, whose pairs are the facts."""
    if stream.isatty():
        show(banner(facts), stream)
    else:
        log.info("Starting handloop", **facts)


def banner(facts: Mapping[str, Any]) -> str:
    """Six lines for people. A fact that is "" is not known."""
    server = f" ({facts['serverVersion']})" if facts["serverVersion"] else ""
    context = f"  context {facts['context']}" if facts["context"] else ""
    source = f"  from {facts['source']}" if facts["source"] else ""
    controllers = facts["controllers"].replace(",", ", ")
    rows = [
        f"{DISTRIBUTION} {facts['version']} · python {platform.python_version()} · pid {os.getpid()}",
        f"  cluster   {facts['cluster']}{server}{context}{source}",
        f"  identity  {facts['identity'] or 'unknown'} · namespaces: {facts['namespaces']}",
        f"  running   {controllers} · workers {facts['workers']} each · resync {facts['resync']}",
        f"  serving   metrics {facts['metrics']} · health {facts['health']}",
        f"  checks    {facts['checks']}",
    ]
    return "\n".join(map(printable, rows)) + "\n"
