"""The banner: six lines on a terminal, one log line elsewhere."""

from __future__ import annotations

import dataclasses
import errno
import os
import platform

from handloop.controller.cli.banner import Facts, banner, show_banner
from handloop.controller.cli.options import Options
from handloop.controller.cli.version import version
from support.captured_logs import captured_logs
from support.watched_text import WatchedText

FACTS = Facts(
    host="https://10.0.0.1:6443",
    context="kind-dev",
    source="~/.kube/config",
    server_version="v1.32.4",
    user="kind-dev-admin",
    metrics=":8080",
    health=":8081",
    checks="✓ reachable  ✓ CRD foos.samplecontroller.k8s.io  ✓ RBAC 9/9",
)
NOTHING_KNOWN = Facts(
    host="h", context="", source="", server_version="", user="", metrics="off", health="off", checks="off"
)


def test_a_terminal_gets_six_lines() -> None:
    """What runs, against which cluster and where that was said, as whom, what it serves, what was checked."""
    assert banner(FACTS, Options()).splitlines() == [
        f"handloop {version()} · python {platform.python_version()} · pid {os.getpid()}",
        "  cluster   https://10.0.0.1:6443 (v1.32.4)  context kind-dev  from ~/.kube/config",
        "  identity  kind-dev-admin · namespaces: all",
        "  running   foo, myapp · workers 2 each · resync 30s",
        "  serving   metrics :8080 · health :8081",
        "  checks    ✓ reachable  ✓ CRD foos.samplecontroller.k8s.io  ✓ RBAC 9/9",
    ]


def test_what_is_not_known_leaves_no_gap() -> None:
    """No empty brackets or dangling words for a server that did not answer."""
    lines = banner(
        NOTHING_KNOWN, Options(controllers=("foo",), namespace="demo", workers=3, resync=0)
    ).splitlines()
    assert lines[1:4] == [
        "  cluster   h",
        "  identity  unknown · namespaces: demo",
        "  running   foo · workers 3 each · resync 0s",
    ]


def test_a_terminal_gets_no_log_line_and_a_file_gets_no_banner() -> None:
    """Each reader gets one of the two."""
    terminal, file = WatchedText(is_terminal=True), WatchedText()
    with captured_logs() as logs:
        show_banner(FACTS, Options(), terminal)
        assert not logs
        show_banner(FACTS, Options(), file)
    assert terminal.text() == banner(FACTS, Options())
    assert file.text() == ""
    assert [entry["event"] for entry in logs] == ["Starting handloop"]


def test_the_log_line_has_the_same_facts() -> None:
    """Whoever reads logs learns as much as whoever sits at a terminal."""
    with captured_logs() as logs:
        show_banner(FACTS, Options(), WatchedText())
    assert (
        logs[0].items()
        >= {
            "version": version(),
            "cluster": FACTS.host,
            "serverVersion": FACTS.server_version,
            "context": FACTS.context,
            "source": FACTS.source,
            "identity": FACTS.user,
            "namespaces": "all",
            "workers": 2,
            "resync": "30s",
            "metrics": FACTS.metrics,
            "health": FACTS.health,
            "checks": FACTS.checks,
        }.items()
    )


def test_what_a_server_says_of_itself_is_in_its_line() -> None:
    """S06: version and user come from the server, the context from a file."""
    facts = dataclasses.replace(FACTS, server_version="v1\x1b[2J", user="a\r\nb", context="\x9bc")
    lines = banner(facts, Options()).removesuffix("\n").split("\n")
    assert len(lines) == 6
    assert all(line.isprintable() for line in lines)


def test_a_terminal_that_has_gone_needs_no_banner() -> None:
    """P22: the start goes on."""

    class Gone(WatchedText):
        def write(self, _text: str) -> int:
            raise OSError(errno.EIO, "Input/output error")

    show_banner(FACTS, Options(), Gone(is_terminal=True))
