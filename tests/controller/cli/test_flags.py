"""The command line: flags, environment, precedence, and the errors of people who mistype."""

from __future__ import annotations

from pathlib import Path

import pytest

from handloop.controller.cli.flags import SANDBOX_LIMITS, UsageError, parse_options
from handloop.controller.cli.options import Options
from handloop.controller.cli.values import BindAddress
from handloop.sandbox.differences import DIFFERENCES, bullets


def test_nothing_said_means_the_defaults_of_sample_controller() -> None:
    """Two workers, a resync of 30 s, all namespaces, no request limit."""
    options = parse_options([], {})
    assert options == Options()
    assert (options.workers, options.resync, options.namespace, options.kube_api_qps) == (2, 30.0, "", 0.0)


@pytest.mark.parametrize(
    "argv",
    [
        ["--kubeconfig", "a/b"],
        ["--kubeconfig=a/b"],
        ["-kubeconfig=a/b"],
        ["-kubeconfig", "a/b"],
        ["run", "-kubeconfig=a/b"],
    ],
)
def test_go_spelling_of_a_flag_is_accepted(argv: list[str]) -> None:
    """One dash or two, with = or without, mean the same, as with Go's flag package."""
    assert parse_options(argv, {}).kubeconfig == "a/b"


@pytest.mark.parametrize(
    "argv", [["-v", "4"], ["-v=4"], ["-v4"], ["--v=4"], ["--v", "4"], ["--verbosity", "4"]]
)
def test_verbosity_has_every_spelling_of_klog(argv: list[str]) -> None:
    """-v takes its level apart, attached, or after =."""
    assert parse_options(argv, {}).verbosity == 4


def test_a_flag_wins_over_the_environment_and_that_over_the_default() -> None:
    """Flag > CONTROLLER_* > default."""
    environment = {"CONTROLLER_WORKERS": "5", "CONTROLLER_RESYNC": "1m"}
    assert parse_options([], environment).workers == 5
    assert parse_options(["--workers", "7"], environment).workers == 7
    assert parse_options(["--workers", "7"], environment).resync == 60.0
    assert parse_options([], {"CONTROLLER_WORKERS": ""}).workers == 2


def test_kubeconfig_from_the_environment_is_left_to_the_loader() -> None:
    """$KUBECONFIG is a list of files to be merged, not one path: the options do not take it."""
    assert parse_options([], {"KUBECONFIG": "a:b"}).kubeconfig == ""


def test_all_namespaces_undoes_a_namespace_of_the_environment() -> None:
    """-A means every namespace, whatever $CONTROLLER_NAMESPACE says."""
    assert parse_options([], {"CONTROLLER_NAMESPACE": "demo"}).namespace == "demo"
    assert parse_options(["-A"], {"CONTROLLER_NAMESPACE": "demo"}).namespace == ""
    assert parse_options(["-n", "x"], {"CONTROLLER_NAMESPACE": "demo"}).namespace == "x"


@pytest.mark.parametrize("pod", [True, False])
def test_outside_a_cluster_pages_are_for_this_machine(tmp_path: Path, pod: bool) -> None:
    """In a cluster the kubelet and Prometheus come from elsewhere; flags are taken as given in both."""
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    host = "127.0.0.1"
    if pod:
        (tmp_path / "token").write_text("t")
        host = ""
    options = parse_options([], environment, service_account=str(tmp_path))
    assert options.in_cluster is pod
    assert options.metrics_bind_address == BindAddress(host, 8080)
    assert options.health_probe_bind_address == BindAddress(host, 8081)
    argv = ["--metrics-bind-address=:1", "--health-probe-bind-address=127.0.0.1:2"]
    told = parse_options(argv, environment, service_account=str(tmp_path))
    assert told.metrics_bind_address == BindAddress("", 1)
    assert told.health_probe_bind_address == BindAddress("127.0.0.1", 2)


def test_help_says_what_is_bound(capsys: pytest.CaptureFixture[str]) -> None:
    """The defaults, and where they differ."""
    with pytest.raises(SystemExit):
        parse_options(["--help"], {})
    text = " ".join(capsys.readouterr().out.split())
    assert "where /metrics is served (127.0.0.1:8080; in a cluster :8080, all interfaces)" in text
    assert "served (127.0.0.1:8081; in a cluster :8081, all interfaces)" in text


def test_a_broken_environment_is_the_loader_s(tmp_path: Path) -> None:
    """What keeps a pod from its server is said with the configuration, not on the command line."""
    (tmp_path / "token").write_text("t")
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "tcp://10.0.0.1:443"}
    assert parse_options([], environment, service_account=str(tmp_path)).in_cluster


def test_the_sandbox_listens_on_free_loopback_ports_unless_told() -> None:
    """--sandbox never fails on a taken 8080 and shows nothing to the network."""
    options = parse_options(["--sandbox"], {})
    assert options.metrics_bind_address == BindAddress("127.0.0.1", 0)
    assert options.health_probe_bind_address == BindAddress("127.0.0.1", 0)
    told = parse_options(["--sandbox", "--metrics-bind-address=0"], {})
    assert told.metrics_bind_address is None


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--wokers", "3"], "unknown flag --wokers; did you mean --workers?"),
        (["-wokers=3"], "unknown flag -wokers; did you mean --workers?"),
        (["--zzzzzz"], "unknown flag --zzzzzz"),
        (["snadbox"], 'unknown command "snadbox"; did you mean sandbox?'),
        (["zzzz"], 'unknown command "zzzz"; have: run, sandbox, doctor, manifests, version'),
        (["--workers", "0"], "--workers: at least 1 worker is needed"),
        (["--workers", "two"], '--workers: "two" is not a number'),
        (["--resync", "30"], '--resync: missing unit in duration "30"'),
        (["--resync=-1s"], '--resync: duration "-1s" must not be negative'),
        (["-v", "10"], "--verbosity: levels are 0 to 9"),
        (["--log-format", "xml"], '--log-format: "xml" is not one of klog, text, json'),
        (["--preflight", "maybe"], '--preflight: "maybe" is not one of warn, exit, off'),
        (["--metrics-bind-address", "8080"], '--metrics-bind-address: "8080" is not an address'),
        (["--kube-api-qps", "-1"], "--kube-api-qps"),
        (["--kube-api-qps", "inf"], "--kube-api-qps: must be 0 or more"),
        (["--kube-api-burst=-1"], "--kube-api-burst: must be 0 or more"),
        (["--kube-api-burst", "x"], '--kube-api-burst: "x" is not a number'),
        (["--sandbox-port", "70000"], "--sandbox-port: ports are 0 to 65535"),
        (["--workers"], "expected one argument"),
        (["manifests"], "what"),
        (["manifests", "helm"], "invalid choice"),
        (["version", "-o", "xml"], "--output"),
    ],
)
def test_a_mistake_is_named(argv: list[str], message: str) -> None:
    """The message names the flag and what is wrong, or the nearest flag that exists."""
    with pytest.raises(UsageError) as caught:
        parse_options(argv, {})
    assert message in str(caught.value)


def test_a_mistake_in_the_environment_names_the_variable() -> None:
    """The reader is told which variable to mend."""
    with pytest.raises(UsageError, match=r"\$CONTROLLER_WORKERS: \"many\" is not a number"):
        parse_options([], {"CONTROLLER_WORKERS": "many"})


@pytest.mark.parametrize("command", ["", "sandbox", "manifests", "version"])
def test_help_ends_with_three_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--help prints the flags, the environment and, last, three examples, and exits with 0."""
    with pytest.raises(SystemExit) as caught:
        parse_options([command, "--help"] if command else ["-help"], {})
    assert caught.value.code == 0
    assert capsys.readouterr().out.rpartition("\nexamples:\n")[2].count("  python -m controller ") == 3


def test_the_sandboxs_help_says_what_it_does_not_do(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody looks for containers that are not there."""
    with pytest.raises(SystemExit):
        parse_options(["sandbox", "--help"], {})
    assert SANDBOX_LIMITS in capsys.readouterr().out


DOCS = Path(__file__).parents[3] / "docs" / "sandbox.md"


def test_the_help_lists_every_difference(capsys: pytest.CaptureFixture[str]) -> None:
    """`sandbox --help` ends with the sandbox's own list of differences."""
    with pytest.raises(SystemExit):
        parse_options(["sandbox", "--help"], {})
    told = " ".join(capsys.readouterr().out.partition("where it is not like a kube-apiserver")[2].split())
    assert all(difference.text in told for difference in DIFFERENCES)


def test_the_docs_list_the_same_differences() -> None:
    """docs/sandbox.md has the very same list, word for word and line for line."""
    assert f"\n{bullets()}" in DOCS.read_text(encoding="utf-8")
