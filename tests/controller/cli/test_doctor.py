"""`doctor`: the table, the JSON, and the exit code of the first class that fails."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path

import pytest

from handloop.controller.cli.main import execute
from handloop.controller.cli.options import Options
from handloop.controller.cli.preflight import doctor
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from support.builders.options import new_options
from support.checks.threads import Background
from support.servers.cluster import SandboxCluster, token_kubeconfig, usual_definition
from support.servers.service_account import bound, create_account, token_of
from support.servers.wire_server import Peer, WireServer, response

CRD = "foos.samplecontroller.k8s.io/v1alpha1"


def examined(options: Options) -> tuple[int, str]:
    """Exit code and output."""
    out = io.StringIO()
    seams = Seams(clock=FakeClock(moves_itself=True))
    return doctor(options, threading.Event(), out, seams=seams), out.getvalue()


def account(cluster: SandboxCluster, folder: Path) -> Path:
    """The kubeconfig of a service account without any rights."""
    create_account(cluster, "poor")
    return token_kubeconfig(cluster, token_of(cluster, "poor"), folder / "poor.kubeconfig")


def nothing_in(folder: Path) -> Path:
    """An empty kubeconfig."""
    empty = folder / "kubeconfig"
    empty.write_text("apiVersion: v1\nkind: Config\n", encoding="utf-8")
    return empty


def test_each_check_has_a_line_and_a_mark(bare: SandboxCluster) -> None:
    """With all in place: every line has its tick, and there are no others."""
    bare.install(usual_definition())
    code, text = examined(
        new_options(command="doctor", kubeconfig=str(bare.kubeconfig), controllers=("foo",))
    )
    *rows, empty, last, asked = text.splitlines()
    assert [row.split()[:2] for row in rows[:4]] == [
        ["✓", "configuration"],
        ["✓", "server"],
        ["✓", "identity"],
        ["✓", "CRD"],
    ]
    assert {row.split()[1] for row in rows[4:]} == {"permission", "fit"}
    assert f"✓ CRD            {CRD}" in rows
    assert rows[-2:] == [f"✓ fit            {CRD}", "✓ fit            deployments.apps/v1"]
    assert "✓ permission     patch foos.samplecontroller.k8s.io/status at cluster scope" in rows
    assert not [row for row in rows if not row.startswith("✓ ")]
    assert (empty, last, code) == ("", f"all {len(rows)} checks passed", 0)
    assert asked == "permissions: only those that the set-up declares were checked (E09)"


@pytest.mark.parametrize("output", ["", "json"])
def test_a_terminal_without_its_marks_gets_others(bare: SandboxCluster, output: str) -> None:
    """An ASCII locale is no reason to print nothing; JSON stays JSON."""
    buffer = io.BytesIO()
    out = io.TextIOWrapper(buffer, encoding="ascii")
    options = new_options(
        command="doctor", kubeconfig=str(bare.kubeconfig), output=output, controllers=("foo",)
    )
    assert doctor(options, threading.Event(), out, seams=Seams(clock=FakeClock(moves_itself=True))) == 6
    out.flush()
    text = buffer.getvalue().decode("ascii")
    if output:
        assert json.loads(text)["ok"] is False
    else:
        assert "+ configuration" in text
        assert "x CRD" in text


def test_leader_election_and_metrics_are_asked_about_when_they_are_on(bare: SandboxCluster) -> None:
    """The lease by its name in its namespace, the reviews at cluster scope."""
    options = new_options(
        command="doctor",
        kubeconfig=str(bare.kubeconfig),
        controllers=("foo",),
        leader_elect=True,
        leader_elect_resource_namespace="home",
        metrics_auth=True,
    )
    rows = examined(options)[1].splitlines()
    assert '✓ permission     update leases.coordination.k8s.io "handloop" in namespace "home"' in rows
    assert "✓ permission     create tokenreviews.authentication.k8s.io at cluster scope" in rows


@pytest.mark.parametrize(
    ("by", "told"), [("namespace", "every server can leave out"), ("uid", "the server ignores shardSelector")]
)
def test_what_the_server_makes_of_shards_is_told(bare: SandboxCluster, by: str, told: str) -> None:
    """A line of its own; that each replica reads everything is no failure."""
    bare.install(usual_definition())
    options = new_options(
        command="doctor",
        kubeconfig=str(bare.kubeconfig),
        controllers=("foo",),
        shards=16,
        shards_by=by,
        leader_elect_resource_namespace="home",
    )
    code, text = examined(options)
    rows = text.splitlines()
    assert code == 0
    assert [row for row in rows if row.startswith(f"✓ shards         16 slots by {by}: {told}")]
    assert '✓ permission     delete leases.coordination.k8s.io in namespace "home"' in rows


def test_the_exit_code_is_that_of_the_first_class_that_fails(bare: SandboxCluster, tmp_path: Path) -> None:
    """CRD before permissions; each problem follows in full, with its cause and its fix."""
    poor = account(bare, tmp_path)
    code, text = examined(new_options(command="doctor", kubeconfig=str(poor), namespace="demo"))
    assert code == 6
    assert f"✗ CRD            {CRD}  E07" in text
    assert '✗ permission     patch events in namespace "demo"  E09' in text
    assert "checks failed" in text
    assert text.index("handloop errors E07") < text.index("handloop errors E09")
    assert "fix: python -m controller manifests rbac -n demo | kubectl apply -f -" in text


def test_what_is_missing_is_exactly_what_is_denied(bare: SandboxCluster, tmp_path: Path) -> None:
    """A role that lacks one verb leaves one cross; the JSON agrees with the table."""
    poor = account(bare, tmp_path)
    options = new_options(command="doctor", kubeconfig=str(poor), output="json")
    everything = json.loads(examined(options)[1])
    denied = [check for check in everything["checks"] if check["check"] == "permission"]
    assert denied
    assert not any(check["ok"] for check in denied)
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["list", "watch", "create", "update", "get"]}]
    with bound(bare, {"kind": "ClusterRole", "metadata": {"name": "most"}, "rules": rules}, "poor"):
        report = json.loads(examined(options)[1])
    left = {check["subject"].split()[0] for check in report["checks"] if check.get("code") == "E09"}
    assert left <= {"patch", "delete"}
    assert "patch" in left
    (problem,) = [problem for problem in report["problems"] if problem["code"] == "E09"]
    assert (problem["exitCode"], problem["more"]) == (5, "handloop errors E09")
    assert report["user"] == f"system:serviceaccount:{bare.namespace}:poor"
    assert (report["ok"], report["exitCode"]) == (False, 6)


def test_a_server_that_is_not_there_is_the_only_finding(tmp_path: Path) -> None:
    """Exit code 4 after three tries; what could not be asked is not marked as wrong."""
    master = "http://127.0.0.1:1"
    code, text = examined(new_options(command="doctor", kubeconfig=str(nothing_in(tmp_path)), master=master))
    assert code == 4
    assert f"✗ server         {master}  E04" in text
    assert "1 of 2 checks failed" in text
    assert "tried 3 times" in text


def test_only_the_result_is_on_stdout(tmp_path: Path) -> None:
    """`doctor -o json` can be read by a program."""
    out, err = io.StringIO(), io.StringIO()
    options = new_options(command="doctor", kubeconfig=str(tmp_path / "nowhere"), output="json")
    assert execute(options, out, err) == 3
    assert json.loads(out.getvalue())["checks"][0] == {
        "check": "configuration",
        "subject": f"kubeconfig {tmp_path / 'nowhere'}: no such file",
        "ok": False,
        "code": "E02",
    }
    assert err.getvalue() == ""


def test_a_stop_ends_it_with_what_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C at a server that does not answer: the request under way is the last one."""
    monkeypatch.setattr("handloop.controller.cli.preflight.REQUEST_SECONDS", 1.0)
    stop, out = threading.Event(), io.StringIO()

    def say_nothing(peer: Peer) -> None:
        peer.receive()
        stop.set()
        peer.wait_for_hangup()

    with WireServer(say_nothing) as server:
        options = new_options(command="doctor", kubeconfig=str(nothing_in(tmp_path)), master=server.url)
        assert Background(lambda: doctor(options, stop, out)).result() == 4
        assert server.connections == 1
    assert "✗ server " in out.getvalue()


def test_a_stop_before_the_end_is_no_success(bare: SandboxCluster) -> None:
    """Exit code 1, in the table and in the JSON: most was not asked."""
    stop = threading.Event()
    stop.set()
    for output, sign in (("", "stopped before the checks were complete"), ("json", '"exitCode": 1')):
        out = io.StringIO()
        options = new_options(command="doctor", kubeconfig=str(bare.kubeconfig), output=output)
        assert doctor(options, stop, out) == 1
        assert sign in out.getvalue()


@pytest.mark.parametrize("output", ["", "json"])
def test_a_servers_own_words_are_in_its_line(tmp_path: Path, output: str) -> None:
    """A version with escapes of a terminal is shown, not obeyed."""
    version = b'{"gitVersion": "v1.30\\u001b[2J\\n\\u009b\\u2028", "major": "1", "minor": "30"}'
    refusal = response(b'{"kind":"Status","code":403,"message":"no \\u001b[2J"}', status=403)

    def answer(peer: Peer) -> None:
        while True:
            peer.send(response(version) if peer.receive().target == "/version" else refusal)

    with WireServer(answer) as server:
        options = new_options(
            command="doctor", kubeconfig=str(nothing_in(tmp_path)), master=server.url, output=output
        )
        text = examined(options)[1]
    assert r"\u001b[2J" in text
    assert all(line.isprintable() for line in text.split("\n"))
