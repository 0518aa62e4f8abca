"""`run`: configuration, servers, checks, banner and controller put together."""

from __future__ import annotations

import errno
import os
import platform
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from handloop.controller.cli.logs import configure_logging
from handloop.controller.cli.options import Options
from handloop.controller.cli.preflight import REQUEST_SECONDS
from handloop.controller.cli.run import banner, run, show_banner
from handloop.controller.runtime.election.leader_election import LeadershipLost, StopTimeoutError
from handloop.controller.runtime.life.runnable import WorkersBusyError
from handloop.testing.eventually import eventually as until
from support.builders.options import parse_options
from support.checks.captured_logs import captured_logs
from support.checks.output import WatchedText
from support.checks.threads import Background
from support.rigs.program import NO_SERVERS, ON_FREE_PORTS
from support.servers.cluster import CRDS, SandboxCluster, usual_definition
from support.servers.served_pages import fetch
from support.servers.wire_server import Peer, WireServer, always, response

SECONDS = 20.0


def options_for(cluster: SandboxCluster, *argv: str) -> Options:
    """Options of a run on a cluster that knows Foos."""
    return parse_options(["--kubeconfig", str(cluster.kubeconfig), "--controllers=foo", *argv], {})


@contextmanager
def running(options: Options, *, is_terminal: bool = False) -> Iterator[WatchedText]:
    """A run for as long as the block lasts; it must end with 0."""
    stop, text = threading.Event(), WatchedText(is_terminal=is_terminal)
    configure_logging(options.log_format or "klog", options.verbosity, stream=text)
    background = Background(lambda: run(options, stop, text))
    try:
        yield text
    finally:
        stop.set()
        assert background.result() == 0, text.text()


def test_pages_are_served(cluster: SandboxCluster) -> None:
    """/metrics, /healthz, /livez and /readyz at the address in the log line."""
    with running(options_for(cluster, *ON_FREE_PORTS)) as text:
        health = "http://" + text.wait_for(r'health="([^"]+)"')[1]
        metrics = "http://" + text.wait_for(r'metrics="([^"]+)"')[1]
        text.wait_for("Started workers")
        until(lambda: fetch(f"{health}/readyz") == (200, "ok"), "ready", seconds=SECONDS)
        assert fetch(f"{health}/healthz") == fetch(f"{health}/livez") == (200, "ok")
        status, body = fetch(f"{metrics}/metrics")
        assert fetch(f"{health}/metrics")[0] == 404
    assert status == 200
    assert 'rest_client_requests_total{code="200"' in body
    assert 'rest_client_dns_resolution_duration_seconds_count{host="127.0.0.1"}' in body
    text.wait_for('"Stopped"')


def test_a_slow_start_can_be_probed(tmp_path: Path) -> None:
    """While the checks still wait for the server the process is alive, not ready, and gives the reason."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    seen: list[tuple[int, str]] = []

    def probe_then_answer(peer: Peer) -> None:
        peer.receive()
        seen.extend([fetch(f"http://{address}/healthz"), fetch(f"http://{address}/readyz")])
        peer.send(response(status=404))
        always(response(status=404))(peer)

    with WireServer(probe_then_answer, always(response(status=404))) as server:
        argv = ["--master", server.url, "--metrics-bind-address=0", "--health-probe-bind-address", address]
        with running(parse_options(argv, {})) as text:
            text.wait_for("Failed to list")
    assert seen == [(200, "ok"), (500, "[-]preflight failed: not finished\nhealthz check failed\n")]


def test_servers_can_be_turned_off(cluster: SandboxCluster) -> None:
    """0 means none."""
    with running(options_for(cluster, *NO_SERVERS)) as text:
        text.wait_for('metrics="off" health="off"')


def test_a_second_taken_port_gives_the_first_back(cluster: SandboxCluster) -> None:
    """Metrics was bound when health failed: nothing may keep that port."""
    with socket.create_server(("127.0.0.1", 0)) as free, socket.create_server(("127.0.0.1", 0)) as taken:
        first, second = (f"127.0.0.1:{one.getsockname()[1]}" for one in (free, taken))
        free.close()
        argv = ["--metrics-bind-address", first, "--health-probe-bind-address", second]
        text = WatchedText()
        assert run(options_for(cluster, *argv), threading.Event(), text) == 7
        assert second in text.text()
        with socket.create_server(("127.0.0.1", int(first.rpartition(":")[2]))):
            pass


def test_a_terminal_gets_the_banner(cluster: SandboxCluster) -> None:
    """With the findings of the checks."""
    with running(options_for(cluster, *NO_SERVERS), is_terminal=True) as text:
        text.wait_for("  checks    ✓ reachable  ✓ CRD foos.samplecontroller.k8s.io  ✓ RBAC 12/12\n")
        text.wait_for("  identity  sandbox-admin · namespaces: all")


def test_the_log_shows_what_was_started(cluster: SandboxCluster) -> None:
    """Where no terminal reads it: the choices of the command line, as people write them."""
    argv = ("--controllers=myapp,foo", "-n=a,b", "--workers=3", "--resync=0", "--preflight=off")
    with running(options_for(cluster, *NO_SERVERS, *argv)) as text:
        text.wait_for('controllers="foo,myapp" namespaces="a,b" workers=3 resync="0s"')
    with running(options_for(cluster, *NO_SERVERS)) as text:
        text.wait_for('controllers="foo" namespaces="all" workers=2 resync="30s"')


def test_replicas_share_slots_over_connections_of_their_own(cluster: SandboxCluster) -> None:
    """The Leases' requests bear a name of their own; at the end each slot is given up."""
    argv = ("--shards=4", "--leader-elect-resource-namespace=default", "-v=7")
    with running(options_for(cluster, *NO_SERVERS, *argv)) as text:
        text.wait_for("4 slots by namespace, shared by leases default/handloop-*")
        text.wait_for('"Slots taken" .* have="4 of 4"')
    assert '"Slots given up"' in text.text()
    sent = [line for line in text.text().splitlines() if "Request headers" in line and "/leases" in line]
    assert sent
    assert all(" shards" in line for line in sent)


def test_e17_for_controllers_that_cannot_be_sharded_so(cluster: SandboxCluster) -> None:
    """Exit code 3, before anything is reconciled."""
    argv = (
        "--shards=4",
        "--shards-by=uid",
        "--leader-elect-resource-namespace=default",
        "--controllers=myapp",
    )
    text = WatchedText()
    assert run(options_for(cluster, *NO_SERVERS, *argv), threading.Event(), text) == 3
    assert "myapp cannot be sharded by uid" in text.text()
    assert "E17" in text.text()


def test_the_checks_can_be_turned_off(cluster: SandboxCluster) -> None:
    """--preflight=off asks for nothing and prints that; the user is the kubeconfig's."""
    with running(options_for(cluster, *NO_SERVERS, "--preflight=off")) as text:
        text.wait_for('identity="sandbox" .*checks="off"')
        text.wait_for("Started workers")


def test_the_request_rate_defaults_its_burst_to_twice_the_rate(
    cluster: SandboxCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in --help; a given burst is taken as it is."""
    given: list[tuple[float, int]] = []

    def note(*_: object, qps: float, burst: int, **__: object) -> None:
        given.append((qps, burst))
        raise OSError("seen")

    monkeypatch.setattr("handloop.controller.runtime.process_services.Client", note)
    for argv in ([], ["--kube-api-qps=2.5"], ["--kube-api-qps=2.5", "--kube-api-burst=7"]):
        with pytest.raises(OSError, match="seen"):
            run(options_for(cluster, *NO_SERVERS, *argv), threading.Event(), WatchedText())
    assert given == [(0.0, 0), (2.5, 5), (2.5, 7)]


@pytest.mark.parametrize("disabled", [False, True])
def test_answers_come_in_full_where_compression_is_disabled(cluster: SandboxCluster, disabled: bool) -> None:
    """To every part of the program that asks: checks, caches, election."""
    argv = ["--leader-elect", "--leader-elect-resource-namespace=default", "-v=7"]
    options = options_for(cluster, *NO_SERVERS, *argv, *(["--disable-compression"] if disabled else []))
    with running(options) as text:
        text.wait_for("Started workers")
    sent = [line for line in text.text().splitlines() if "Request headers" in line]
    for sign in ("gzip", "drop=metadata.managedFields"):
        assert any(sign in line for line in sent) is not disabled
    leases = [line for line in sent if "/leases/" in line]
    assert leases
    assert all(("drop=" in line) is not disabled for line in leases if "GET" in line)


@pytest.mark.parametrize("log_format", ["klog", "json", "text"])
def test_requests_are_logged_at_the_highest_level_without_the_token(
    cluster: SandboxCluster, log_format: str
) -> None:
    """-v 9 shows requests, headers and bodies; the token, in header and URL, is in none of it."""
    options = options_for(cluster, *NO_SERVERS, "-v=9", "--log-format", log_format)
    with running(options) as text:
        text.wait_for("Started workers")
    for sign in ("Request headers", "<masked>", "Response body", "GET", "/apis/apps/v1/deployments"):
        assert sign in text.text()
    assert cluster.sandbox.token not in text.text()


LOST = LeadershipLost("default/lock", 10.0, "timeout")
BUSY = WorkersBusyError("foo", 1, 30.0)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (LOST, []),
        (BUSY, ["E16"]),
        (ExceptionGroup("2 failures", [LOST, BUSY]), ["E16"]),
        (ExceptionGroup("2 failures", [BUSY, StopTimeoutError("x")]), ["E16", "E16"]),
    ],
)
def test_an_end_that_is_not_clean_is_exit_code_1(
    cluster: SandboxCluster, monkeypatch: pytest.MonkeyPatch, error: Exception, said: list[str]
) -> None:
    """A lost lease was logged when it happened; everything left behind is logged now, each by itself."""
    monkeypatch.setattr("handloop.controller.cli.program.Program.run", raising(error))
    text = WatchedText()
    assert run(options_for(cluster, *NO_SERVERS), threading.Event(), text) == 1
    assert [line.rpartition(" ")[2] for line in text.text().splitlines() if "more:" in line] == said


def test_an_unexpected_error_goes_to_the_caller(
    cluster: SandboxCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone as it is, and out of a group, whose other failures have been logged."""
    monkeypatch.setattr("handloop.controller.cli.program.Program.run", raising(ZeroDivisionError("x")))
    with pytest.raises(ZeroDivisionError):
        run(options_for(cluster, *NO_SERVERS), threading.Event(), WatchedText())
    text = WatchedText()
    mixed = ExceptionGroup("2 failures: x; busy", [ZeroDivisionError("x"), BUSY])
    monkeypatch.setattr("handloop.controller.cli.program.Program.run", raising(mixed))
    with pytest.raises(ExceptionGroup, match="2 failures: x; busy") as caught:
        run(options_for(cluster, *NO_SERVERS), threading.Event(), text)
    assert list(map(repr, caught.value.exceptions)) == ["ZeroDivisionError('x')"]
    assert "foo: 1 workers did not end in 30s" in text.text()


def raising(error: Exception) -> Callable[[object], None]:
    """A run that ends so."""

    def run(_program: object) -> None:
        raise error

    return run


@pytest.mark.parametrize("preflight", ["warn", "exit"])
def test_a_stop_during_the_checks_starts_nothing(preflight: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a server that accepts and never answers the end comes with the deadline of one request."""
    monkeypatch.setattr("handloop.controller.cli.run.REQUEST_SECONDS", 1.0)
    stop, text = threading.Event(), WatchedText()
    configure_logging("klog", 0, stream=text)

    def say_nothing(peer: Peer) -> None:
        peer.receive()
        stop.set()
        peer.wait_for_hangup()

    with WireServer(say_nothing) as server:
        options = parse_options(["--master", server.url, *NO_SERVERS, "--preflight", preflight], {})
        assert Background(lambda: run(options, stop, text)).result() == 0
        assert server.connections == 1
    assert '"Stopped"' in text.text()
    for sign in ("Starting", "cannot reach", "Failed to list"):
        assert sign not in text.text()


def test_the_checks_wait_no_longer_than_a_stop_may_take() -> None:
    """A pod has 30 s to end, and a user who presses Ctrl-C has less patience."""
    assert REQUEST_SECONDS <= 5


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
    """The controllers, the cluster and where it was configured, the user, the addresses, the checks."""
    assert banner("handloop", FACTS).splitlines() == [
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
    lines = banner("handloop", {**FACTS, **unknown, "cluster": "h", "controllers": "foo"}).splitlines()
    assert lines[1:4] == [
        "  cluster   h",
        "  identity  unknown · namespaces: all",
        "  running   foo · workers 2 each · resync 30s",
    ]


def test_a_terminal_gets_no_log_line_and_a_file_gets_no_banner() -> None:
    """Each reader gets one of the two, with the same facts."""
    terminal, file = WatchedText(is_terminal=True), WatchedText()
    with captured_logs() as logs:
        show_banner("handloop", FACTS, terminal)
        assert not logs
        show_banner("handloop", FACTS, file)
    assert terminal.text() == banner("handloop", FACTS)
    assert file.text() == ""
    assert [entry["event"] for entry in logs] == ["Starting handloop"]
    assert logs[0].items() >= FACTS.items()


def test_a_servers_own_words_are_in_its_line() -> None:
    """Version and user come from the server, the context from a file."""
    facts = {**FACTS, "serverVersion": "v1\x1b[2J", "identity": "a\r\nb", "context": "\x9bc"}
    lines = banner("handloop", facts).removesuffix("\n").split("\n")
    assert len(lines) == 6
    assert all(line.isprintable() for line in lines)


def test_a_terminal_that_has_gone_needs_no_banner() -> None:
    """The start goes on."""

    class Gone(WatchedText):
        def write(self, _text: str) -> int:
            raise OSError(errno.EIO, "Input/output error")

    show_banner("handloop", FACTS, Gone(is_terminal=True))


def test_a_definition_that_does_not_fit_is_a_warning(cluster: SandboxCluster) -> None:
    """E20 while it works, a line on /readyz, a number; with --preflight=exit an end with 6."""
    definition = usual_definition()
    fields = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    del fields["status"]["properties"]["availableReplicas"]
    cluster.change(
        CRDS, definition["metadata"]["name"], {"spec": {"versions": definition["spec"]["versions"]}}
    )
    name = "foos.samplecontroller.k8s.io/v1alpha1"
    with running(options_for(cluster, *ON_FREE_PORTS)) as text:
        health = "http://" + text.wait_for(r'health="([^"]+)"')[1]
        metrics = "http://" + text.wait_for(r'metrics="([^"]+)"')[1]
        text.wait_for("cause: the server drops status.availableReplicas")
        text.wait_for("more: handloop errors E20")
        page = f"[+]definitions: {name} does not fit: status.availableReplicas (E20)\n"
        until(lambda: page in fetch(f"{health}/readyz?verbose")[1], "told", seconds=SECONDS)
        assert fetch(f"{health}/readyz") == (200, "ok")
        assert f'handloop_definition_misfits{{kind="{name}"}} 1.0' in fetch(f"{metrics}/metrics")[1]
    ended, argv = WatchedText(), ("--preflight=exit", *NO_SERVERS)
    assert run(options_for(cluster, *argv), threading.Event(), ended) == 6
    assert "handloop errors E20" in ended.text()
