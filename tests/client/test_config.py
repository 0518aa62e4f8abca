from __future__ import annotations

import base64
import textwrap
from pathlib import Path
from typing import Any

import pytest

from handloop.client.auth.credentials import TokenFile
from handloop.client.auth.tls import KeyPair, TLSOptions
from handloop.client.config import ClientConfig, load_config
from handloop.client.errors import ConfigError, ConfigProblem
from support.checks.captured_logs import captured_logs

PEM = base64.b64encode(b"CERT").decode()


class Machine:
    """A home folder, an environment and a service account, all in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.environ: dict[str, str] = {}
        self.service_account = folder / "serviceaccount"

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return str(path)

    def config(self, name: str, server: str, context: str = "ctx", **context_fields: str) -> str:
        fields = "".join(f", {key}: {value}" for key, value in context_fields.items())
        return self.write(
            name,
            f"""
            current-context: {context}
            clusters: [{{name: c-{context}, cluster: {{server: "{server}"}}}}]
            contexts: [{{name: {context}, context: {{cluster: c-{context}{fields}}}}}]
            """,
        )

    def pod(self) -> None:
        self.environ |= {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
        self.service_account.mkdir()
        (self.service_account / "token").write_text("pod-token")
        (self.service_account / "namespace").write_text("pod-namespace")

    def load(self, **options: Any) -> ClientConfig:
        return load_config(
            environ=self.environ, home=str(self.home), service_account=str(self.service_account), **options
        )

    def problem(self, **options: Any) -> ConfigError:
        with pytest.raises(ConfigError) as caught:
            self.load(**options)
        return caught.value


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_order_of_places(machine: Machine) -> None:
    """The flag beats $KUBECONFIG, that beats ~/.kube/config, and that beats the pod, and is named."""

    def found(**options: Any) -> tuple[str, str]:
        config = machine.load(**options)
        return config.host, config.source

    flag = machine.config("flag", "https://flag")
    env = machine.config("env", "https://env")
    machine.config("home/.kube/config", "https://home")
    machine.environ["KUBECONFIG"] = env
    machine.pod()
    assert found(kubeconfig=flag) == ("https://flag", flag)
    assert found() == ("https://env", env)
    del machine.environ["KUBECONFIG"]
    assert found() == ("https://home", "~/.kube/config")
    (machine.home / ".kube" / "config").unlink()
    assert found() == ("https://10.0.0.1:443", "in-cluster")


def test_kubeconfig_is_a_list_that_is_merged(machine: Machine) -> None:
    """$KUBECONFIG may name several files; missing ones are skipped, and the first wins."""
    one = machine.config("one", "https://one", "one")
    two = machine.config("two", "https://two", "two")
    machine.environ["KUBECONFIG"] = f":{machine.folder}/missing:{one}:{two}:{one}"
    found = machine.load()
    assert (found.host, found.context_name, found.source) == ("https://one", "one", f"{one}:{two}")
    assert machine.load(context="two").host == "https://two"


def test_when_every_file_of_the_list_is_missing(machine: Machine) -> None:
    """$KUBECONFIG replaces ~/.kube/config even when it leads nowhere; one warning names it."""
    machine.config("home/.kube/config", "https://home")
    machine.environ["KUBECONFIG"] = f"{machine.folder}/a:{machine.folder}/b"
    with captured_logs() as entries:
        error = machine.problem()
    assert error.kind is ConfigProblem.NOT_FOUND
    assert [entry["event"] for entry in entries] == ["Config not found"]
    machine.pod()
    assert machine.load().source == "in-cluster"


def test_nothing_anywhere(machine: Machine) -> None:
    """E01: the error lists every place and its content, and a way out."""
    error = machine.problem()
    assert error.kind is ConfigProblem.NOT_FOUND
    assert error.message == "no cluster configuration found"
    assert error.looked_in == (
        ("--kubeconfig", "not given"),
        ("$KUBECONFIG", "unset"),
        ("~/.kube/config", "missing"),
        ("in-cluster token", "missing"),
    )
    assert error.cause == (
        "looked in: --kubeconfig (not given), $KUBECONFIG (unset), ~/.kube/config (missing), "
        "in-cluster token (missing)"
    )
    assert error.fix.startswith("export KUBECONFIG=PATH")


def test_empty_files_are_nothing(machine: Machine) -> None:
    """E01: the error for an empty ~/.kube/config differs from that of a missing one."""
    machine.write("home/.kube/config", "")
    assert machine.problem().looked_in[2] == ("~/.kube/config", "empty")
    path = machine.write("empty", "apiVersion: v1\nkind: Config\n")
    machine.environ["KUBECONFIG"] = path
    assert machine.problem().looked_in[1] == ("$KUBECONFIG", f"{path}: empty")


def test_a_file_that_is_given_must_be_there(machine: Machine) -> None:
    """E02: --kubeconfig does not fall through to the next place."""
    machine.config("home/.kube/config", "https://home")
    machine.pod()
    assert machine.problem(kubeconfig="/nowhere").kind is ConfigProblem.UNREADABLE
    assert machine.problem(kubeconfig=machine.write("empty", "")).cause == "is empty"


def test_a_broken_file_is_an_error_wherever_it_is(machine: Machine) -> None:
    """E02: a file that exists is not passed over because it is broken."""
    machine.write("home/.kube/config", "a: b: c")
    machine.pod()
    error = machine.problem()
    assert (error.kind, error.line) == (ConfigProblem.MALFORMED, 1)


def test_context_chooses(machine: Machine) -> None:
    """--context beats the current context, and brings cluster, user and namespace."""
    path = machine.write(
        "config",
        """
        current-context: a
        clusters: [{name: ca, cluster: {server: "https://a"}}, {name: cb, cluster: {server: "https://b"}}]
        users: [{name: ub, user: {token: tb}}]
        contexts:
        - {name: a, context: {cluster: ca}}
        - {name: b, context: {cluster: cb, user: ub, namespace: nb}}
        """,
    )
    found = machine.load(kubeconfig=path)
    assert (found.host, found.context_name, found.namespace, found.user_name) == (
        "https://a",
        "a",
        "default",
        "",
    )
    found = machine.load(kubeconfig=path, context="b")
    assert (found.host, found.context_name, found.cluster_name) == ("https://b", "b", "cb")
    assert (found.user_name, found.namespace) == ("ub", "nb")
    assert found.credentials.authorization() == "Bearer tb"


def test_an_unknown_context(machine: Machine) -> None:
    """E03: the error lists the contexts, and the nearest name."""
    one = machine.config("one", "https://x", "prod")
    two = machine.config("two", "https://x", "kind-dev")
    machine.environ["KUBECONFIG"] = f"{one}:{two}"
    error = machine.problem(context="prd")
    assert error.kind is ConfigProblem.CONTEXT
    assert error.message == 'context "prd" not in kubeconfig; have: kind-dev, prod'
    assert error.cause == "did you mean prod?"
    assert error.available == ("kind-dev", "prod")
    assert error.fix == "did you mean prod? --context prod"
    assert machine.problem(context="zzz").cause == ""


def test_no_current_context(machine: Machine) -> None:
    """E03: with contexts but none chosen, the error lists them; a pod uses its own account."""
    path = machine.write("config", "contexts: [{name: b, context: {}}, {name: a, context: {}}]")
    error = machine.problem(kubeconfig=path)
    assert error.kind is ConfigProblem.CONTEXT
    assert error.message == "no current context in kubeconfig; have: a, b"
    machine.environ["KUBECONFIG"] = path
    machine.pod()
    assert machine.load().source == "in-cluster"


def test_a_current_context_that_is_gone(machine: Machine) -> None:
    """E03: a kubeconfig may name a context it does not have."""
    path = machine.write("config", "current-context: gone")
    error = machine.problem(kubeconfig=path)
    assert error.message == 'context "gone" not in kubeconfig; have: none'


@pytest.mark.parametrize(
    ("context", "kind", "message"),
    [
        (
            "{cluster: gone}",
            ConfigProblem.REFERENCE,
            'names cluster "gone", which is not in the kubeconfig; have: c',
        ),
        (
            "{cluster: c, user: gone}",
            ConfigProblem.REFERENCE,
            'names user "gone", which is not in the kubeconfig; have: u',
        ),
        ("{user: u}", ConfigProblem.SERVER, 'context "x" names no cluster'),
        ("{cluster: e}", ConfigProblem.SERVER, 'cluster "e" has no server'),
    ],
)
def test_a_context_that_leads_nowhere(
    machine: Machine, context: str, kind: ConfigProblem, message: str
) -> None:
    """A context must name a cluster with a server, and a user that exists."""
    path = machine.write(
        "config",
        f"""
        current-context: x
        clusters: [{{name: c, cluster: {{server: "https://h"}}}}, {{name: e, cluster: {{}}}}]
        users: [{{name: u, user: {{}}}}]
        contexts: [{{name: x, context: {context}}}]
        """,
    )
    error = machine.problem(kubeconfig=path)
    assert error.kind is kind
    assert message in error.message


def test_master_overrides_the_server(machine: Machine) -> None:
    """--master keeps user and trust but drops a server name that belonged to the other address."""
    path = machine.write(
        "config",
        f"""
        current-context: x
        clusters:
        - name: c
          cluster: {{server: "https://h", tls-server-name: inside, certificate-authority-data: {PEM}}}
        users: [{{name: u, user: {{token: t}}}}]
        contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
        """,
    )
    assert machine.load(kubeconfig=path).tls_server_name == "inside"
    found = machine.load(kubeconfig=path, master="https://other:6443")
    assert (found.host, found.tls_server_name, found.tls.ca) == ("https://other:6443", "", b"CERT")
    assert found.credentials.authorization() == "Bearer t"


def test_master_alone_is_enough(machine: Machine) -> None:
    """A plain server needs no kubeconfig, and a pod's account is not sent to it."""
    machine.pod()
    found = machine.load(master="http://127.0.0.1:8001")
    assert (found.host, found.source, found.namespace) == ("http://127.0.0.1:8001", "--master", "default")
    assert found.credentials.authorization() == ""
    assert machine.load(master="127.0.0.1:8001").host == "http://127.0.0.1:8001"


def cluster_config(machine: Machine, cluster: str, user: str = "{}") -> str:
    return machine.write(
        "config",
        f"""
        current-context: x
        clusters: [{{name: c, cluster: {cluster}}}]
        users: [{{name: u, user: {user}}}]
        contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
        """,
    )


def test_trust_and_identity(machine: Machine) -> None:
    """CA, client certificate, tls-server-name, proxy and impersonation reach the configuration."""
    path = cluster_config(
        machine,
        '{server: "https://h", certificate-authority: ca.crt, tls-server-name: n, proxy-url: "http://p:3128"}',
        f"{{client-certificate-data: {PEM}, client-key: k.pem, as: somebody}}",
    )
    found = machine.load(kubeconfig=path)
    assert found.tls == TLSOptions(
        ca_file=str(machine.folder / "ca.crt"),
        key_pair=KeyPair(b"CERT", b"", "", str(machine.folder / "k.pem")),
    )
    assert (found.tls_server_name, found.proxy_url) == ("n", "http://p:3128")
    assert found.impersonate == (("Impersonate-User", "somebody"),)


def test_a_proxy_from_the_environment(machine: Machine) -> None:
    """$HTTPS_PROXY is honoured where the kubeconfig names no proxy, in a pod too."""
    machine.environ["HTTPS_PROXY"] = "http://env:3128"
    path = cluster_config(machine, '{server: "https://h"}')
    assert machine.load(kubeconfig=path).proxy_url == "http://env:3128"
    path = cluster_config(machine, '{server: "https://h", proxy-url: "http://own:1"}')
    assert machine.load(kubeconfig=path).proxy_url == "http://own:1"
    machine.pod()
    assert machine.load().proxy_url == "http://env:3128"
    machine.environ["NO_PROXY"] = "10.0.0.0/8"
    assert machine.load().proxy_url == ""


def test_compression_is_on_unless_the_cluster_says_no(machine: Machine) -> None:
    """`disable-compression`, as for kubectl."""
    for more, disabled in (
        ("", False),
        (", disable-compression: true", True),
        (", disable-compression: False", False),
    ):
        path = cluster_config(machine, f'{{server: "https://h"{more}}}')
        assert machine.load(kubeconfig=path).disable_compression is disabled


def test_insecure_only_when_set(machine: Machine) -> None:
    """Verification is off only for the words that turn it off."""
    for word, insecure in (("true", True), ("false", False)):
        path = cluster_config(machine, f'{{server: "https://h", insecure-skip-tls-verify: {word}}}')
        assert machine.load(kubeconfig=path).tls.insecure_skip_verify is insecure
    assert machine.load(kubeconfig=cluster_config(machine, '{server: "https://h"}')).tls == TLSOptions()


@pytest.mark.parametrize(
    ("cluster", "user", "kind", "words"),
    [
        ('{server: "https://h", insecure-skip-tls-verify: maybe}', "{}", ConfigProblem.MALFORMED, "maybe"),
        (
            '{server: "https://h", disable-compression: yes}',
            "{}",
            ConfigProblem.MALFORMED,
            'cluster "c": disable-compression is yes, not true or false',
        ),
        (
            f'{{server: "https://h", certificate-authority: a, certificate-authority-data: {PEM}}}',
            "{}",
            ConfigProblem.CERTIFICATE,
            "both given",
        ),
        (
            '{server: "https://h", certificate-authority: a, insecure-skip-tls-verify: true}',
            "{}",
            ConfigProblem.CERTIFICATE,
            "cannot be combined",
        ),
        (
            '{server: "https://h", certificate-authority-data: "!"}',
            "{}",
            ConfigProblem.CERTIFICATE,
            'clusters["c"].certificate-authority-data is not base64',
        ),
        (
            '{server: "https://h", proxy-url: "socks5://p"}',
            "{}",
            ConfigProblem.SERVER,
            "SOCKS is not supported",
        ),
        ('{server: "https://h", proxy-url: "p:3128"}', "{}", ConfigProblem.SERVER, "proxy"),
        ('{server: "ftp://h"}', "{}", ConfigProblem.SERVER, "ftp://h"),
        ('{server: "https://h"}', "{token: a, username: b}", ConfigProblem.MALFORMED, "more than one way"),
        ('{server: "https://h"}', "{client-certificate: a}", ConfigProblem.CERTIFICATE, "client-key"),
        ('{server: "https://h"}', "{client-key-data: '!'}", ConfigProblem.CERTIFICATE, "client-key-data"),
    ],
)
def test_contradictions(machine: Machine, cluster: str, user: str, kind: ConfigProblem, words: str) -> None:
    """A senseless value is refused before anything is sent, naming the field."""
    error = machine.problem(kubeconfig=cluster_config(machine, cluster, user))
    assert error.kind is kind
    assert words in str(error)


@pytest.mark.parametrize(("asks", "gets"), [("true", True), ("True", True), ("false", False), ('""', False)])
def test_a_plugin_gets_its_cluster_only_if_it_asks(machine: Machine, asks: str, gets: bool) -> None:
    """A truth value, also as a word; relative commands start at the file's folder."""
    version = "client.authentication.k8s.io/v1"
    script = Path(
        machine.write(
            "plugin",
            f"""\
            #!/bin/sh
            printf '{{"kind":"ExecCredential","apiVersion":"{version}","status":{{"token":"%s"}}}}' \
              "$(echo $KUBERNETES_EXEC_INFO | tr -dc a-z)"
            """,
        )
    )
    script.chmod(0o755)
    user = f"{{exec: {{command: ./plugin, apiVersion: {version}, provideClusterInfo: {asks}}}}}"
    found = machine.load(kubeconfig=cluster_config(machine, '{server: "https://marker"}', user))
    assert ("marker" in found.credentials.authorization()) is gets


@pytest.mark.parametrize(
    ("proxy", "shown"),
    [
        ("http://u:can/ary@p:3128", "http://..."),
        ("http://u:can#ary@p:3128", "http://..."),
        ("http://[canary", "http://..."),
        ("http://u:canary@", "http://"),
        ("http://u:canary@p:x", "http://..."),
        ("socks5://u:canary@p", "socks5://p"),
    ],
)
@pytest.mark.parametrize("place", ["proxy-url", "$HTTPS_PROXY"])
def test_a_refused_proxy_shows_no_secret(machine: Machine, proxy: str, shown: str, place: str) -> None:
    """A proxy that cannot be used is refused at the start; its password is not shown."""
    if place == "proxy-url":
        path = cluster_config(machine, f'{{server: "https://h", proxy-url: "{proxy}"}}')
    else:
        path = cluster_config(machine, '{server: "https://h"}')
        machine.environ["HTTPS_PROXY"] = proxy
    error = machine.problem(kubeconfig=path)
    assert (error.kind, error.message) == (ConfigProblem.SERVER, f'cannot use the proxy "{shown}" of {place}')
    assert "canary" not in f"{error}{error.fix}"


def test_a_pod_s_server_and_proxy_are_checked_too(machine: Machine) -> None:
    """What the environment of a pod names is refused alike, and shows no more."""
    machine.pod()
    machine.environ["HTTPS_PROXY"] = "socks5://u:canary@p"
    assert machine.problem().message == 'cannot use the proxy "socks5://p" of $HTTPS_PROXY'
    machine.environ["KUBERNETES_SERVICE_HOST"] = "u:canary@h"
    assert "canary" not in str(machine.problem())


def test_in_cluster(machine: Machine) -> None:
    """A pod's account, namespace and server; its token is not tied to a context."""
    machine.pod()
    found = machine.load()
    assert (found.host, found.namespace, found.context_name) == ("https://10.0.0.1:443", "pod-namespace", "")
    assert isinstance(found.credentials, TokenFile)
    assert found.credentials.authorization() == "Bearer pod-token"
    machine.environ["KUBERNETES_SERVICE_HOST"] = "fd00::1"
    assert machine.load().host == "https://[fd00::1]:443"


def test_nothing_secret_in_a_repr(machine: Machine) -> None:
    """A configuration can be printed."""
    path = cluster_config(
        machine,
        '{server: "https://h", proxy-url: "http://u:canary@p:1"}',
        f"{{token: canary, client-certificate-data: {PEM}, client-key-data: {PEM}}}",
    )
    shown = repr(machine.load(kubeconfig=path))
    assert "https://h" in shown
    assert "canary" not in shown
    assert "CERT" not in shown


def test_a_path_below_the_home_of_nobody(machine: Machine) -> None:
    """The shell leaves such a path as it is; it is a missing file, as any other."""
    error = machine.problem(kubeconfig="~nobody-of-this-name/.kube/config")
    assert (error.kind, error.fix) == (
        ConfigProblem.UNREADABLE,
        'the shell did not expand "~": write the whole path',
    )


def test_a_user_without_a_home(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user is only a number: a given kubeconfig and the pod's are found."""
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("os.getuid", lambda: 4_123_456)
    monkeypatch.chdir(machine.folder)
    path, service_account = machine.config("a", "https://a:1"), str(machine.service_account)
    assert load_config(kubeconfig=path, environ={}).source == path
    with pytest.raises(ConfigError, match="no cluster configuration"):
        load_config(environ={}, service_account=service_account)
    machine.pod()
    assert load_config(environ=machine.environ, service_account=service_account).source == "in-cluster"
