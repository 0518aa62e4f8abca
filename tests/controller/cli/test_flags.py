"""The command line: flags, environment, precedence, and the errors of people who mistype."""

from __future__ import annotations

from pathlib import Path

import pytest

from handloop.controller.cli.flags import UsageError
from handloop.controller.runtime.serving.bind_address import BindAddress
from handloop_sandbox.differences import DIFFERENCES, bullets
from handloop_sandbox.program import LIMITS
from support.builders.options import new_options, parse_options


def test_without_flags_the_defaults_are_sample_controllers() -> None:
    """Two workers, a resync of 30 s, all namespaces, no request limit, no election (15 s, 10 s, 2 s)."""
    options = parse_options([], {})
    assert options == new_options()
    assert (options.workers, options.resync, options.namespace, options.kube_api_qps) == (2, 30.0, "", 0.0)
    assert not options.leader_elect
    assert (options.leader_elect_lease_duration, options.leader_elect_renew_deadline) == (15.0, 10.0)
    assert (options.leader_elect_retry_period, options.leader_elect_resource_name) == (2.0, "handloop")


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


@pytest.mark.parametrize("text", [",", ",,", "a,", " ", "a,,b", "A_B", "../x", "a.b", "a" * 64, "a/b"])
@pytest.mark.parametrize("command", [[], ["doctor"], ["rbac"], ["manifests", "rbac"]])
def test_what_is_no_namespace_is_refused(text: str, command: list[str]) -> None:
    """By flag and by variable: a variable that is not set in a list must not mean all namespaces."""
    with pytest.raises(UsageError, match=r"^--namespace: .*name (of|for) a namespace"):
        parse_options([*command, "-n", text], {})
    with pytest.raises(UsageError, match=r"name (of|for) a namespace"):
        parse_options(command, {"CONTROLLER_NAMESPACE": text})


def test_namespaces_are_names_without_the_spaces_between() -> None:
    """`""` means all, as in the variable that OLM sets."""
    assert parse_options(["-n", " a, b"], {}).namespaces == ("a", "b")
    assert parse_options(["-n", ""], {}).namespaces == ()


def test_namespaces_are_chosen_by_their_labels() -> None:
    """No name of a namespace looks like a selector."""
    options = parse_options(["-n", "team=x, env!=prod"], {})
    assert (options.namespaces, options.namespace_labels) == ((), "env!=prod,team=x")
    assert parse_options(["-n", "a,b"], {}).namespace_labels == ""
    with pytest.raises(UsageError, match=r"expected: '\('"):
        parse_options(["-n", "team in=x"], {})


@pytest.mark.parametrize("text", ["a.b", "A", "../x"])
def test_the_namespace_of_the_lease_is_checked(text: str, tmp_path: Path) -> None:
    """By flag, and as the pod's own."""
    with pytest.raises(UsageError, match="valid name for a namespace"):
        lease_namespace(["--leader-elect", f"--leader-elect-resource-namespace={text}"], {})
    with pytest.raises(UsageError, match="valid name for a namespace"):
        lease_namespace(["--leader-elect"], {"POD_NAMESPACE": text}, tmp_path)


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "inf"])
def test_a_sandbox_that_stands_still_is_refused(speed: str) -> None:
    """Its pods would never be ready."""
    with pytest.raises(UsageError, match="must be more than 0"):
        parse_options(["sandbox", f"--sandbox-speed={speed}"], {})


def test_the_help_shows_what_a_resync_is_for_and_what_is_bound(capsys: pytest.CaptureFixture[str]) -> None:
    """With the defaults, and where they differ: those who come from elsewhere expect hours, or none."""
    with pytest.raises(SystemExit):
        parse_options(["--help"], {})
    text = " ".join(capsys.readouterr().out.split())
    assert "every cached object is reconciled again, to repair what no watch event reports (30s)" in text
    assert "where /metrics is served (127.0.0.1:8080; in a cluster :8080, all interfaces)" in text
    assert "served (127.0.0.1:8081; in a cluster :8081, all interfaces)" in text


def test_all_namespaces_undoes_a_namespace_of_the_environment() -> None:
    """-A means every namespace, with any $CONTROLLER_NAMESPACE."""
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


def test_a_broken_environment_is_the_loader_s(tmp_path: Path) -> None:
    """A broken in-cluster environment is reported when the configuration loads, not when flags are parsed."""
    (tmp_path / "token").write_text("t")
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "tcp://10.0.0.1:443"}
    assert parse_options([], environment, service_account=str(tmp_path)).in_cluster


def test_the_sandbox_listens_on_free_loopback_ports_by_default() -> None:
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
        (["-n", "a", "doctor"], "put the command before its flags: doctor"),
        (["-n", "a", "why", "b/c"], "put the command before its flags: why"),
        (["snadbox"], 'unknown command "snadbox"; did you mean sandbox?'),
        (
            ["zzzz"],
            (
                'unknown command "zzzz"; '
                "have: run, sandbox, doctor, plan, crd, rbac, user-roles, monitoring, manifests, "
                "bundle, chart, "
                "migrate-storage, why, version"
            ),
        ),
        (["--workers", "0"], "--workers: at least 1 worker is needed"),
        (["--workers", "two"], '--workers: "two" is not a number'),
        (["--resync", "30"], '--resync: missing unit in duration "30"'),
        (["--resync=-1s"], '--resync: duration "-1s" must not be negative'),
        (["-v", "10"], "--verbosity: levels are 0 to 9"),
        (["--log-format", "xml"], '--log-format: "xml" is not one of klog, text, json'),
        (["--preflight", "maybe"], '--preflight: "maybe" is not one of warn, exit, off'),
        (["--metrics-bind-address", "8080"], '--metrics-bind-address: "8080" is not an address'),
        (["--kube-api-qps", "-1"], "--kube-api-qps: must be 0 or more"),
        (["--kube-api-qps", "nan"], "--kube-api-qps: must be 0 or more"),
        (["--kube-api-qps", "inf"], "--kube-api-qps: must be 0 or more"),
        (["--kube-api-burst=-1"], "--kube-api-burst: must be 0 or more"),
        (["--kube-api-burst", "x"], '--kube-api-burst: "x" is not a number'),
        (["--sandbox-port", "65536"], "--sandbox-port: ports are 0 to 65535"),
        (["--sandbox-address=localhost"], '--sandbox-address: "localhost" is not an IP address'),
        (["--leader-elect=maybe"], '--leader-elect: "maybe" is neither true nor false'),
        (
            ["--leader-elect-resource-name=Foo"],
            'resource-name: "Foo" is not a name: use lower case letters',
        ),
        (["--shards", "257"], "--shards: slots are 1 to 256; 0 turns shards off"),
        (["--shards-by", "name"], '--shards-by: "name" is not one of namespace, uid'),
        (["--shards=4", "--leader-elect"], "--shards and --leader-elect are mutually exclusive"),
        (["--shards=4", "-n", "demo"], "--shards needs all namespaces: remove -n"),
        (["--shards=4"], "outside a cluster --shards needs --leader-elect-resource-namespace=NAME"),
        (["--workers"], "expected one argument"),
        (["manifests"], "what"),
        (["manifests", "helm"], "invalid choice"),
        (["version", "-o", "xml"], "--output"),
    ],
)
def test_a_mistake_is_named(argv: list[str], message: str) -> None:
    """The message names the flag and its fault, or the nearest flag that exists."""
    with pytest.raises(UsageError) as caught:
        parse_options(argv, {})
    assert message in str(caught.value)


def test_a_mistake_in_the_environment_names_the_variable() -> None:
    """The message names the variable to mend."""
    with pytest.raises(UsageError, match=r"\$CONTROLLER_WORKERS: \"many\" is not a number"):
        parse_options([], {"CONTROLLER_WORKERS": "many"})


@pytest.mark.parametrize("command", ["", "sandbox", "manifests", "version"])
def test_help_ends_with_three_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--help prints the flags, the environment and, last, three examples, and exits with 0."""
    with pytest.raises(SystemExit) as caught:
        parse_options([command, "--help"] if command else ["-help"], {})
    assert caught.value.code == 0
    assert capsys.readouterr().out.rpartition("\nexamples:\n")[2].count("  python -m controller ") == 3


def test_the_help_lists_every_difference(capsys: pytest.CaptureFixture[str]) -> None:
    """`sandbox --help` lists its limits, and ends with the sandbox's own list of differences."""
    with pytest.raises(SystemExit):
        parse_options(["sandbox", "--help"], {})
    text = capsys.readouterr().out
    assert LIMITS in text
    told = " ".join(text.partition("where it differs from a kube-apiserver")[2].split())
    assert all(difference.text in told for difference in DIFFERENCES)


DOCS = Path(__file__).parents[3] / "sandbox/docs/sandbox.md"


def test_the_docs_list_the_same_differences() -> None:
    """sandbox/docs/sandbox.md has the very same list, word for word and line for line."""
    assert f"\n{bullets()}" in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "on"),
    [
        (["--leader-elect"], True),
        (["-leader-elect"], True),
        (["--leader-elect=true"], True),
        (["--leader-elect=false"], False),
        (["--leader-elect", "-n", "demo"], True),
    ],
)
def test_the_switch_is_as_with_go(words: list[str], on: bool) -> None:
    """Bare means true; a value needs an equals sign or stands alone."""
    options = parse_options([*words, "--leader-elect-resource-namespace=demo"], {})
    assert options.leader_elect is on


def test_the_environment_can_switch_it_on() -> None:
    """And a flag switches it off again."""
    environment = {"CONTROLLER_LEADER_ELECT": "true", "POD_NAMESPACE": "demo"}
    assert parse_options([], environment).leader_elect
    assert not parse_options(["--leader-elect=false"], environment).leader_elect


def test_durations_that_do_not_go_together_are_refused() -> None:
    """With client-go's words, and all values as people write them."""
    with pytest.raises(UsageError) as error:
        parse_options(["--leader-elect-lease-duration=10.5s", "--leader-elect-retry-period=900ms"], {})
    assert str(error.value) == (
        "leaseDuration, rounded down to 10s, must be greater than renewDeadline "
        "(--leader-elect-lease-duration=10.5s --leader-elect-renew-deadline=10s "
        "--leader-elect-retry-period=900ms)"
    )


def test_in_a_cluster_the_lease_is_in_the_programs_own_namespace(tmp_path: Path) -> None:
    """From the downward API, else from the service account, as controller-runtime."""
    assert lease_namespace(["--leader-elect"], {"POD_NAMESPACE": "one"}, tmp_path) == "one"
    (tmp_path / "namespace").write_text("two\n", encoding="utf-8")
    assert lease_namespace(["--leader-elect"], {}, tmp_path) == "two"
    given = ["--leader-elect", "--leader-elect-resource-namespace=three"]
    assert lease_namespace(given, {"POD_NAMESPACE": "one"}, tmp_path) == "three"


@pytest.mark.parametrize(
    ("argv", "namespace"),
    [([], ""), (["--leader-elect", "--sandbox"], "default"), (["manifests", "rbac", "--leader-elect"], "")],
)
def test_outside_a_cluster_the_namespace_has_to_be_given(argv: list[str], namespace: str) -> None:
    """
    A usage error, not a lease in an accidental namespace.

    But trying things out needs no flags, and who applies a manifest chooses the namespace.
    """
    with pytest.raises(UsageError, match="needs --leader-elect-resource-namespace=NAME"):
        lease_namespace(["--leader-elect"], {})
    assert lease_namespace(argv, {}) == namespace


def lease_namespace(argv: list[str], environment: dict[str, str], account: Path = Path("/nowhere")) -> str:
    """The namespace of the lease, where account is the folder of a pod's service account."""
    return parse_options(argv, environment, service_account=str(account)).leader_elect_resource_namespace
