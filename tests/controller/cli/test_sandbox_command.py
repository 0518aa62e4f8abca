"""The sandbox as a command and under the controller: CRD installed, kubeconfig written and removed."""

from __future__ import annotations

import errno
import io
import json
import stat
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from handloop.apis.unstructured import Unstructured
from handloop.client.config import load_config
from handloop.client.server_url import shown_server
from handloop.client.transport import HTTPTransport
from handloop.controller.cli import sandbox_command
from handloop.controller.cli.operator import Setup
from handloop.controller.cli.options import Options
from handloop.controller.cli.sandbox_command import CRDS, run_sandbox, running_sandbox, sandbox_hint
from handloop.controller.program import PROGRAM
from handloop.controller.runtime.serving.listening import ListenError
from handloop_sandbox import program
from handloop_sandbox.program import LIMITS
from support.builders.options import new_options
from support.checks.output import WatchedText
from support.checks.threads import Background

FOOS = "/apis/samplecontroller.k8s.io/v1alpha1/foos"


@pytest.fixture
def options(tmp_path: Path) -> Options:
    """A sandbox on a free port, with its kubeconfig in a folder that is not there yet."""
    return new_options(command="sandbox", sandbox_kubeconfig=str(tmp_path / "new" / "kubeconfig"))


def test_the_kubeconfig_leads_to_a_server_that_knows_foos(options: Options) -> None:
    """The CRD is installed before the sandbox is announced; the file is its owner's alone."""
    with running_sandbox(options) as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        transport = HTTPTransport(load_config(kubeconfig=str(path)))
        assert transport.request("GET", FOOS).status == 200
        transport.close()
    assert not path.exists()


def test_a_kubeconfig_of_another_sandbox_stays(options: Options) -> None:
    """Whoever ends removes only what it wrote."""
    with running_sandbox(options) as path:
        path.write_text("another", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "another"


def test_a_second_sandbox_leaves_the_first_its_kubeconfig(options: Options) -> None:
    """It is refused before it writes anything; once the first has died, its file is no obstacle."""
    with running_sandbox(options) as path:
        written, said, at_once = path.read_bytes(), io.StringIO(), threading.Event()
        at_once.set()
        host = shown_server(load_config(kubeconfig=str(path)).host)
        assert run_sandbox(options, at_once, said) == 3
        assert said.getvalue().splitlines() == [
            f"error: cannot write {path}",
            f"  cause: it names {host}, which is running: another sandbox was started here",
            "  fix: stop that one, or write another file: --sandbox-kubeconfig PATH",
            "  more: handloop errors E02",
        ]
        assert path.read_bytes() == written
    path.write_bytes(written)
    with running_sandbox(options) as path:
        assert path.read_bytes() != written


def test_a_kubeconfig_that_was_removed_meanwhile_is_no_error(options: Options) -> None:
    """Somebody tidied up."""
    with running_sandbox(options) as path:
        path.unlink()


def test_the_command_serves_until_stop(options: Options) -> None:
    """It prints the limits of the sandbox, and what to type next, and ends with 0."""
    stop, text = threading.Event(), WatchedText()
    running = Background(lambda: run_sandbox(options, stop, text))
    text.wait_for("kubectl get foo,deployment,pod -w")
    assert Path(options.sandbox_kubeconfig).exists()
    stop.set()
    assert running.result() == 0
    assert text.text().startswith(LIMITS)
    assert f"export KUBECONFIG={options.sandbox_kubeconfig}" in text.text()


def test_in_a_bare_one_nothing_lives(options: Options) -> None:
    """No CRDs, no service accounts, no pods for a Deployment; the hint is for suites that know envtest."""
    stop, text = threading.Event(), WatchedText()
    running = Background(lambda: run_sandbox(replace(options, bare=True), stop, text))
    text.wait_for("export USE_EXISTING_CLUSTER=true")
    transport = HTTPTransport(load_config(kubeconfig=options.sandbox_kubeconfig))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = json.dumps({"metadata": {"name": "a"}, "spec": spec}).encode()
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    headers = {"Content-Type": "application/json"}
    assert transport.request("POST", deployments, headers=headers, body=body).status == 201
    quiet = ("/api/v1/serviceaccounts", "/api/v1/nodes", "/apis/apps/v1/replicasets", CRDS)
    assert [json.loads(transport.request("GET", path).body)["items"] for path in quiet] == [[]] * 4
    transport.close()
    stop.set()
    assert running.result() == 0


def test_a_kubeconfig_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    """The file and the reason are named, and the flag that chooses another; the server is stopped."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    given = str(tmp_path / "file" / "kubeconfig")
    err = io.StringIO()
    assert run_sandbox(new_options(command="sandbox", sandbox_kubeconfig=given), threading.Event(), err) == 3
    assert err.getvalue().splitlines() == [
        f"error: cannot write {given}",
        "  cause: file exists",
        "  fix: --sandbox-kubeconfig PATH",
        "  more: handloop errors E02",
    ]


def test_an_address_that_cannot_be_had_is_reported(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any failure to listen is E10, not only a taken port."""

    class Refused(program.Sandbox):
        def start(self) -> str:
            raise OSError(errno.EACCES, "denied")

    monkeypatch.setattr(program, "Sandbox", Refused)
    with pytest.raises(ListenError, match="permission denied"), running_sandbox(options):
        pass


def test_a_refused_crd_is_no_silent_failure(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sandbox's own words come out, and nothing keeps running."""
    monkeypatch.setattr(sandbox_command, "definition_of", lambda _kind, _options: {"kind": "Nonsense"})
    with pytest.raises(OSError, match="the sandbox refused the CRD"), running_sandbox(options):
        pass
    assert not Path(options.sandbox_kubeconfig).exists()


def test_tls_is_asked_for_by_a_flag(options: Options) -> None:
    """The kubeconfig carries the certificate, and the token is in no URL."""
    with running_sandbox(replace(options, sandbox_tls=True)) as path:
        config = load_config(kubeconfig=str(path))
        assert config.host.startswith("https://127.0.0.1:")
        assert config.host.count("/") == 2
        transport = HTTPTransport(config)
        assert transport.request("GET", FOOS).status == 200
        transport.close()


def test_tls_without_its_package_is_reported(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that is missing, what to type, and the way around."""
    monkeypatch.setitem(sys.modules, "cryptography", None)
    err = io.StringIO()
    assert run_sandbox(replace(options, sandbox_tls=True), threading.Event(), err) == 3
    assert "needs the cryptography package" in err.getvalue()
    assert "pip install 'handloop[tls]', or leave out --sandbox-tls" in err.getvalue()


def test_another_address_is_warned_of(options: Options, caplog: pytest.LogCaptureFixture) -> None:
    """Others can reach it, and without TLS read the token."""
    with running_sandbox(replace(options, sandbox_address="0.0.0.0")) as path:  # noqa: S104 - the subject
        assert "127.0.0.1" in load_config(kubeconfig=str(path)).host
    assert "the sandbox listens on 0.0.0.0: other machines can reach it" in caplog.text
    assert "unencrypted over the network. Use TLS" in caplog.text


def test_the_hint_is_short_where_it_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path below the working directory is shown relative to it."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for path, shown in ((folder / ".sandbox" / "k", ".sandbox/k"), (tmp_path / "k", str(tmp_path / "k"))):
        stream = io.StringIO()
        sandbox_hint(path, PROGRAM.setups(), stream)
        assert f"export KUBECONFIG={shown}\n" in stream.getvalue()


def test_a_controller_of_built_in_kinds_has_no_sample_to_apply(tmp_path: Path) -> None:
    """The hint is the kubeconfig; another controller's kinds are named wherever it stands in the list."""
    stream = io.StringIO()
    plain = Setup(name="plain", kinds=(), access=())
    sandbox_hint(tmp_path / "k", [plain], stream)
    assert stream.getvalue().splitlines()[1:] == [f"  export KUBECONFIG={tmp_path / 'k'}"]
    sandbox_hint(tmp_path / "k", [plain, *PROGRAM.setups()], stream)
    assert "kubectl get foo," in stream.getvalue()


def test_the_definition_of_another_program_is_asked_for(tmp_path: Path) -> None:
    """Without it the controller waits, and no command of ours prints it."""
    stream = io.StringIO()
    crontabs = Unstructured.of("stable.example.com/v1", "CronTab")
    sandbox_hint(tmp_path / "k", [Setup(name="x", kinds=(), foreign=(crontabs,), access=())], stream)
    *_, last = stream.getvalue().splitlines()
    what = "this program does not contain the CRD of crontabs.stable.example.com"
    assert last == f"  kubectl apply -f FILE   ({what})"
