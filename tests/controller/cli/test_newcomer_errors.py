"""
Every message that a newcomer may meet, provoked for real: code, exit code, cause and fix, and no traceback.

Commands run in this process, in the main thread, as from the shell; those that go on after the message run in
a thread of their own and are stopped.
"""

from __future__ import annotations

import base64
import io
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from handloop.controller.cli.logs import configure_logging
from handloop.controller.cli.main import execute
from handloop.controller.cli.run import run
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually as until
from handloop.testing.fake_clock import FakeClock
from handloop_sandbox.requests.request import User
from handloop_sandbox.server import Sandbox
from support.builders.options import parse_options
from support.checks.output import WatchedText
from support.checks.threads import Background
from support.doubles.fast_clock import FastClock
from support.rigs.foo_story import wait_event
from support.rigs.managed_sandbox import allow_foos, post
from support.rigs.program import NO_SERVERS
from support.servers.certificates import CertificateAuthority
from support.servers.cluster import (
    CRDS,
    SandboxCluster,
    nobodys_deployment,
    token_kubeconfig,
    usual_definition,
)
from support.servers.wire_server import WireServer, always, response

SECONDS = 20.0
INSTALL_CRD = "fix: python -m controller manifests crd | kubectl apply -f -"


class Outcome(NamedTuple):
    """How a command ended, and its output."""

    code: int
    text: str

    def says(self, *parts: str) -> bool:
        """Whether all parts occur; shows the text if not."""
        assert [part for part in parts if part not in self.text] == [], self.text
        assert "Traceback" not in self.text
        return True

    def ends(self, code: int, *parts: str) -> bool:
        """Whether it ended with this code, and all parts occur."""
        assert self.code == code, self.text
        return self.says(*parts)


@pytest.fixture(autouse=True)
def _nothing_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No kubeconfig of the machine, no cluster around, no proxy."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def command(*argv: str) -> Outcome:
    """Run a command line to its end."""
    err = io.StringIO()
    code = execute(parse_options(["--controllers=foo", *NO_SERVERS, *argv], {}), io.StringIO(), err)
    return Outcome(code, err.getvalue())


def checked(path: str) -> Outcome:
    """Check the server of a kubeconfig, and end with what is found; pauses take no time."""
    argv = [*NO_SERVERS, "--preflight=exit", "--kubeconfig", path]
    err, seams = io.StringIO(), Seams(clock=FakeClock(moves_itself=True))
    code = run(parse_options(argv, {}), threading.Event(), err, seams=seams)
    return Outcome(code, err.getvalue())


@contextmanager
def going_on(*argv: str, clock: Clock = REAL_CLOCK) -> Iterator[WatchedText]:
    """A controller that runs while the block does; it must end with 0 and without a traceback."""
    stop, text = threading.Event(), WatchedText()
    options = parse_options(["--controllers=foo", *NO_SERVERS, *argv], {})
    configure_logging("klog", 0, stream=text)
    running = Background(lambda: run(options, stop, text, seams=Seams(clock=clock)))
    try:
        yield text
    finally:
        stop.set()
        code = running.result()
    assert code == 0, text.text()
    assert "Traceback" not in text.text()


def kubeconfig(path: Path, server: str, **parts: Any) -> str:
    """Write a kubeconfig of one server; parts are `user`, and fields of the cluster."""
    user = parts.pop("user", {})
    document = {
        "current-context": "dev",
        "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("dev", "prod")],
        "clusters": [{"name": "c", "cluster": {"server": server, **parts}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(path)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port without a listener, on which none can begin."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


def test_e01_no_configuration() -> None:
    """Every place that was looked at, and the way that needs no cluster."""
    assert command().ends(
        3,
        "error: no cluster configuration found",
        "cause: looked in: --kubeconfig (not given), $KUBECONFIG (unset), ~/.kube/config (missing), "
        "in-cluster token (missing)",
        "fix: python -m controller --sandbox   (no cluster needed)",
        "more: handloop errors E01",
    )


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (None, ("{path}: no such file", "fix: check the path: ls -l {path}")),
        ("", ("{path}: is empty", "cause: the file does not exist, is empty", "fix: check the path")),
        (
            "a: b\nc: d: e\n",
            ("{path} is not valid", "cause: line 2: mapping values are not allowed", "fix: "),
        ),
        ("[]", ("{path} is not valid", "cause: expected a map at the top, got a list", "fix: ")),
    ],
    ids=["missing", "empty", "not YAML", "not a kubeconfig"],
)
def test_e02_a_kubeconfig_that_cannot_be_used(
    tmp_path: Path, content: str | None, parts: tuple[str, ...]
) -> None:
    """The file is named, with its fault."""
    path = tmp_path / "k"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert command("--kubeconfig", str(path)).ends(
        3, "error: kubeconfig ", "handloop errors E02", *(part.format(path=path) for part in parts)
    )


@pytest.mark.parametrize(
    ("path", "fix"),
    [("~/k", 'fix: the shell did not expand "~"'), ("/a:/b", "fix: --kubeconfig takes one file")],
)
def test_e02_recognises_usual_slips(path: str, fix: str) -> None:
    """An unexpanded ~, and a list where one file belongs."""
    assert command("--kubeconfig", path).ends(3, fix, "handloop errors E02")


NOWHERE = "https://127.0.0.1:1"
PROXY = "http://u:canary@127.0.0.1:1"


@pytest.mark.parametrize(
    ("server", "parts", "environment", "argv"),
    [
        ("https://admin:canary@127.0.0.1:1", {}, {}, ()),
        ("https://:canary@127.0.0.1:1", {}, {}, ()),
        ("https://admin:can/ary@127.0.0.1:1", {}, {}, ()),
        ("https://127.0.0.1:1?token=canary", {}, {}, ()),
        ("http://127.0.0.1:1/canary", {}, {}, ()),
        (NOWHERE, {}, {}, ("--master", "https://admin:canary@127.0.0.1:1")),
        (NOWHERE, {}, {}, ("--master", "admin:canary@127.0.0.1:1")),
        ("https://h.invalid", {"proxy-url": PROXY}, {}, ()),
        ("https://h.invalid", {"proxy-url": "canary:x@127.0.0.1:1"}, {}, ()),
        ("https://h.invalid", {"proxy-url": "http://u:can#ary@127.0.0.1:1"}, {}, ()),
        ("https://h.invalid", {}, {"HTTPS_PROXY": PROXY}, ()),
        ("https://h.invalid", {}, {"HTTPS_PROXY": "u:can/ary@127.0.0.1:1"}, ()),
    ],
)
@pytest.mark.parametrize("words", [(), ("doctor", "-o", "json")], ids=["run", "doctor"])
def test_e02_a_secret_in_a_url_is_never_shown(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    server: str,
    parts: dict[str, str],
    environment: dict[str, str],
    argv: tuple[str, ...],
    words: tuple[str, ...],
) -> None:
    """Neither in the refusal, nor in a log of any level, nor in what doctor finds."""
    monkeypatch.setattr("handloop.controller.cli.preflight.PAUSE_SECONDS", 0.0)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    given = [*words, *argv, "--kubeconfig", kubeconfig(tmp_path / "k", server, **parts), "-v", "9"]
    out, err = io.StringIO(), io.StringIO()
    code = execute(parse_options(given if words else [*given, *NO_SERVERS, "--preflight=exit"], {}), out, err)
    said = out.getvalue() + err.getvalue()
    assert code in (3, 4), said
    assert [word for word in ("canary", "can/", "can#", "ary@") if word in said] == [], said
    assert "Traceback" not in said


def test_e03_an_unknown_context(tmp_path: Path) -> None:
    """The contexts there are, and the nearest one; without one like it, a single way to look."""
    path = kubeconfig(tmp_path / "k", "https://h")
    assert command("--kubeconfig", path, "--context", "dve").ends(
        3,
        'error: context "dve" not in kubeconfig',
        "cause: the kubeconfig has these contexts: dev, prod",
        "fix: did you mean dev? --context dev",
        "fix: kubectl config get-contexts",
        "handloop errors E03",
    )
    assert command("--kubeconfig", path, "--context", "x").text.count("fix: ") == 1


def test_e04_nothing_listens(tmp_path: Path, closed_port: int) -> None:
    """Tried three times, and the message has the time that it took."""
    server = f"http://127.0.0.1:{closed_port}"
    assert checked(kubeconfig(tmp_path / "k", server)).ends(
        4,
        f"error: cannot reach {server}: connection refused (tried 3 times in 4s)",
        "cause: nothing listens there",
        "fix: kubectl cluster-info",
        "fix: in a container 127.0.0.1 is the container itself",
        "handloop errors E04",
    )


def test_e04_is_not_the_end_by_default(tmp_path: Path, closed_port: int) -> None:
    """It logs the cause, logs what it waits for, and can be stopped."""
    server = f"http://127.0.0.1:{closed_port}"
    with going_on("--kubeconfig", kubeconfig(tmp_path / "k", server)) as text:
        text.wait_for("error: cannot reach")
        text.wait_for('"Failed to list" reflector="deployments.apps" .*connection refused.* retryIn=')


def test_e05_a_certificate_of_another_authority(tmp_path: Path) -> None:
    """Who signed it, what names it has; never the advice to look away."""
    shown = CertificateAuthority(tmp_path / "a", "the-real-one").issue("server")
    expected = CertificateAuthority(tmp_path / "b", "another-one").certificate
    with WireServer(always(response()), tls=shown.server_context()) as server:
        path = kubeconfig(tmp_path / "k", server.url, **{"certificate-authority": str(expected)})
        outcome = checked(path)
    assert outcome.ends(
        4,
        'error: certificate for 127.0.0.1 not trusted (signed by "the-real-one")',
        server.url,
        "cause: the kubeconfig's CA belongs to another cluster",
        "cause: names in the certificate: 127.0.0.1, localhost",
        "fix: kubectl config view --minify",
        "handloop errors E05",
    )
    assert "insecure" not in outcome.text


def test_e06_an_expired_token(bare: SandboxCluster, tmp_path: Path) -> None:
    """Fatal even without --preflight=exit; the age is printed, the token is not."""
    claims = base64.urlsafe_b64encode(json.dumps({"exp": 1_700_000_000}).encode()).decode().rstrip("=")
    token = f"eyJhbGciOiJub25lIn0.{claims}.canary"
    outcome = command("--kubeconfig", str(token_kubeconfig(bare, token, tmp_path / "k")))
    assert outcome.ends(
        3,
        "error: the API server did not accept your credentials (401)",
        "cause: token expired ",
        " d ago",
        "fix: log in again",
        "handloop errors E06",
    )
    assert "canary" not in outcome.text


def test_e06_a_login_program_that_is_not_installed(bare: SandboxCluster, tmp_path: Path) -> None:
    """The kubeconfig's own words on how to install it are the fix."""
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "handloop-no-such-plugin",
        "installHint": "Install it from https://example.com",
        "interactiveMode": "Never",
    }
    outcome = command("--kubeconfig", kubeconfig(tmp_path / "k", bare.server, user={"exec": plugin}))
    assert outcome.ends(
        3,
        'error: exec plugin "handloop-no-such-plugin" not found in PATH',
        "cause: ",
        "fix: Install it from https://example.com",
        "handloop errors E06",
    )
    assert outcome.text.count("fix: ") == 1


def test_e07_no_crd(bare: SandboxCluster) -> None:
    """The command that installs it."""
    assert command("--kubeconfig", str(bare.kubeconfig), "--preflight=exit").ends(
        6,
        "error: the server has no resource foos.samplecontroller.k8s.io/v1alpha1",
        "cause: the CRD for foos is not installed",
        INSTALL_CRD,
        "handloop errors E07",
    )


def test_e07_goes_on_by_itself_when_the_crd_appears(bare: SandboxCluster) -> None:
    """The waiting lines contain the fix; once it is followed the workers start."""
    with going_on("--kubeconfig", str(bare.kubeconfig)) as text:
        text.wait_for("error: the server has no resource foos")
        text.wait_for(r'"Failed to list" reflector="foos.*manifests crd \| kubectl apply -f -')
        bare.create(CRDS, usual_definition())
        text.wait_for("Started workers")


def test_e08_a_crd_of_another_version(bare: SandboxCluster) -> None:
    """The served version, and the needed one."""
    definition = usual_definition()
    definition["spec"]["versions"][0]["name"] = "v1beta1"
    bare.create(CRDS, definition)
    group = "/apis/samplecontroller.k8s.io/v1beta1"
    until(lambda: b'"foos"' in bare.transport.request("GET", group).body, "served", seconds=SECONDS)
    assert command("--kubeconfig", str(bare.kubeconfig), "--preflight=exit").ends(
        6,
        "error: the CRD foos.samplecontroller.k8s.io serves v1beta1; the controller needs v1alpha1",
        "cause: the CRD in the cluster belongs to another release",
        INSTALL_CRD,
        "handloop errors E08",
    )


def test_e08_a_crd_without_the_status_subresource(bare: SandboxCluster) -> None:
    """A warning: the controller works, and the warning names what may be lost."""
    definition = usual_definition()
    del definition["spec"]["versions"][0]["subresources"]
    bare.install(definition)
    with going_on("--kubeconfig", str(bare.kubeconfig), "--preflight=exit") as text:
        text.wait_for("warning: the CRD foos.samplecontroller.k8s.io lacks subresources.status")
        text.wait_for("Started workers")
    assert Outcome(0, text.text()).says(
        "cause: the status is written with the whole object", INSTALL_CRD, "handloop errors E08"
    )


@pytest.mark.parametrize(
    ("argv", "parts"),
    [
        (
            [],
            [
                'error: "alice" may not get foos.samplecontroller.k8s.io at cluster scope',
                "fix: python -m controller manifests rbac --controllers=foo | kubectl apply -f -",
                "fix: kubectl create clusterrolebinding handloop --clusterrole=handloop --user=alice",
            ],
        ),
        (
            ["-n", "default"],
            [
                'error: "alice" may not get foos.samplecontroller.k8s.io in namespace "default"',
                "fix: python -m controller manifests rbac -n default --controllers=foo | kubectl apply -f -",
                "fix: kubectl -n default create rolebinding handloop --role=handloop --user=alice",
            ],
        ),
    ],
    ids=["everywhere", "one namespace"],
)
def test_e09_a_user_without_rights(alice: Path, argv: list[str], parts: list[str]) -> None:
    """Everything that is missing, at once, and the two commands that give it."""
    assert command("--kubeconfig", str(alice), "--preflight=exit", *argv).ends(
        5,
        *parts,
        "cause: missing 12 of 12 permissions: get foos.samplecontroller.k8s.io, list foos",
        "patch deployments.apps, watch deployments.apps, create events, patch events",
        "handloop errors E09",
    )


def test_e09_goes_on_by_itself_when_it_is_allowed(alice: Path, lax: Sandbox) -> None:
    """The waiting lines contain the fix for this namespace; once it is followed the workers start."""
    with going_on("--kubeconfig", str(alice), "-n", "default") as text:
        text.wait_for(r'"Failed to list" reflector="foos.*manifests rbac -n default \| kubectl apply -f -')
        allow_foos(lax, "alice", "default")
        text.wait_for("Started workers")


@pytest.mark.parametrize(
    ("flag", "purpose", "another"),
    [
        ("--metrics-bind-address", "metrics", "--metrics-bind-address=127.0.0.1:9090"),
        ("--health-probe-bind-address", "health", "--health-probe-bind-address=127.0.0.1:9091"),
    ],
)
def test_e10_a_taken_port(tmp_path: Path, closed_port: int, flag: str, purpose: str, another: str) -> None:
    """Fatal at once; names the owner of the port, and the flag."""
    path = kubeconfig(tmp_path / "k", f"http://127.0.0.1:{closed_port}")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        outcome = command("--kubeconfig", path, flag, address)
    assert outcome.ends(
        7,
        f"error: cannot listen on {address} for {purpose}",
        "cause: in use by pid ",
        f"fix: {another} for another port, {flag}=0 to turn it off",
        "handloop errors E10",
    )


@pytest.mark.parametrize("argv", [["sandbox"], ["--sandbox"]], ids=["alone", "under the controller"])
def test_e10_the_sandboxs_port(tmp_path: Path, argv: list[str]) -> None:
    """The same for the port of the sandbox, and no kubeconfig is left that leads nowhere."""
    path = tmp_path / "sandbox.kubeconfig"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        more = ["--sandbox-port", str(port), "--sandbox-kubeconfig", str(path)]
        err = io.StringIO()
        code = execute(parse_options([*argv, *more], {}), io.StringIO(), err)
    assert code == 7
    assert Outcome(code, err.getvalue()).says(
        f"error: cannot listen on 127.0.0.1:{port} for the sandbox",
        "fix: --sandbox-port=",
        "handloop errors E10",
    )
    assert not path.exists()


def test_e14_a_foreign_deployment(cluster: SandboxCluster) -> None:
    """Warning, owner and fix in the log; Warning event on the Foo; the Deployment is left alone."""
    cluster.create(cluster.deployments, nobodys_deployment("web"))
    before = cluster.get(cluster.deployments, "web")["spec"]
    cluster.create_foo("example-foo", deployment="web", replicas=5)
    with going_on("--kubeconfig", str(cluster.kubeconfig)) as text:
        line = text.wait_for('W.*"default/web exists and is not managed by Foo default/example-foo".*')[0]
        assert wait_event(cluster, "example-foo", "ErrResourceExists")["type"] == "Warning"
        text.wait_for('"Error syncing; requeuing for later retry"')
    assert 'code="E14" cause="owner: none" fix="delete it or change spec.deploymentName"' in line
    assert cluster.get(cluster.deployments, "web")["spec"] == before


@pytest.mark.parametrize(
    ("argv", "what", "fix"),
    [
        ([], '"no Foo in any namespace"', "kubectl apply -f manifests/samples/foo.yaml"),
        (
            ["-n", "demo"],
            r'"no Foo in namespace \"demo\" (1 in other namespaces)"',
            "-A   (instead of -n demo: watch all namespaces)",
        ),
    ],
    ids=["anywhere", "in one namespace"],
)
def test_e15_nothing_to_do(cluster: SandboxCluster, argv: list[str], what: str, fix: str) -> None:
    """Information, once everything runs and there is no Foo; those elsewhere are counted."""
    if argv:
        cluster.create_foo("elsewhere")
    with going_on("--kubeconfig", str(cluster.kubeconfig), *argv, clock=FastClock(only_sleeps=True)) as text:
        line = text.wait_for('I.*"no Foo in .*')[0]
    assert [part for part in (what, 'code="E15"', fix) if part not in line] == []


@pytest.mark.real
@pytest.mark.parametrize("argv", [[], ["-n", "default"]], ids=["everywhere", "one namespace"])
def test_e09_on_a_real_server(real_alice: Path, argv: list[str]) -> None:
    """A real kube-apiserver and a user without any role give the same message."""
    outcome = command("--kubeconfig", str(real_alice), "--preflight=exit", *argv)
    assert outcome.code in (5, 6)  # 6 where the CRD is not installed either
    assert outcome.says(
        'error: "alice" may not get foos', "cause: missing 12 of 12 permissions", "handloop errors E09"
    )


@pytest.fixture
def lax(tmp_path: Path) -> Iterator[Sandbox]:
    """A cluster with the CRD in which alice has an account and no rights."""
    users = {"alice-token": User("alice", ("system:authenticated",))}
    with Sandbox(users=users, token="admin", controllers=()) as made:
        post(made, CRDS, usual_definition())
        yield made


@pytest.fixture
def alice(lax: Sandbox, tmp_path: Path) -> Path:
    """Her kubeconfig."""
    return Path(kubeconfig(tmp_path / "alice", lax.url, user={"token": "alice-token"}))


@pytest.fixture
def real_alice(beside_real: Callable[[str], Path]) -> Path:
    """The kubeconfig of a user without rights beside that of the real server's administrator."""
    return beside_real("kubeconfig.alice")
