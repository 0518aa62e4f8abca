"""The banner: six lines on a terminal, one log line elsewhere."""

from __future__ import annotations

import errno
import os
import platform

from handloop.controller.cli.banner import banner, show_banner
from support.captured_logs import captured_logs
from support.watched_text import WatchedText

FACTS = {
    "version": "1.2.3",
    "cluster": "https://10.0.0.1:6443",
    "serverVersion": "v1.32.4",
    "context": "kind-dev",
    "source": "~/.kube/config",
    "identity": "kind-dev-admin",
    "controllers": "foo,myapp",
    "namespaces": "all",
    "workers": 2,
    "resync": "30s",
    "metrics": ":8080",
    "health": ":8081",
    "checks": "✓ reachable  ✓ CRD foos.samplecontroller.k8s.io  ✓ RBAC 9/9",
}


def test_a_terminal_gets_six_lines() -> None:
    """What runs, against which cluster and where that was said, as whom, what it serves, what was checked."""
    assert banner(FACTS).splitlines() == [
        f"handloop 1.2.3 · python {platform.python_version()} · pid {os.getpid()}",
        "  cluster   https://10.0.0.1:6443 (v1.32.4)  context kind-dev  from ~/.kube/config",
        "  identity  kind-dev-admin · namespaces: all",
        "  running   foo, myapp · workers 2 each · resync 30s",
        "  serving   metrics :8080 · health :8081",
        "  checks    ✓ reachable  ✓ CRD foos.samplecontroller.k8s.io  ✓ RBAC 9/9",
    ]


def test_what_is_not_known_leaves_no_gap() -> None:
    """No empty brackets or dangling words for a server that did not answer."""
    unknown = dict.fromkeys(("serverVersion", "context", "source", "identity"), "")
    lines = banner({**FACTS, **unknown, "cluster": "h", "controllers": "foo"}).splitlines()
    assert lines[1:4] == [
        "  cluster   h",
        "  identity  unknown · namespaces: all",
        "  running   foo · workers 2 each · resync 30s",
    ]


def test_a_terminal_gets_no_log_line_and_a_file_gets_no_banner() -> None:
    """Each reader gets one of the two."""
    terminal, file = WatchedText(is_terminal=True), WatchedText()
    with captured_logs() as logs:
        show_banner(FACTS, terminal)
        assert not logs
        show_banner(FACTS, file)
    assert terminal.text() == banner(FACTS)
    assert file.text() == ""
    assert [entry["event"] for entry in logs] == ["Starting handloop"]


def test_the_log_line_has_the_same_facts() -> None:
    """Whoever reads logs learns as much as whoever sits at a terminal."""
    with captured_logs() as logs:
        show_banner(FACTS, WatchedText())
    assert logs[0].items() >= FACTS.items()


def test_what_a_server_says_of_itself_is_in_its_line() -> None:
    """S06: version and user come from the server, the context from a file."""
    facts = {**FACTS, "serverVersion": "v1\x1b[2J", "identity": "a\r\nb", "context": "\x9bc"}
    lines = banner(facts).removesuffix("\n").split("\n")
    assert len(lines) == 6
    assert all(line.isprintable() for line in lines)


def test_a_terminal_that_has_gone_needs_no_banner() -> None:
    """P22: the start goes on."""

    class Gone(WatchedText):
        def write(self, _text: str) -> int:
            raise OSError(errno.EIO, "Input/output error")

    show_banner(FACTS, Gone(is_terminal=True))
