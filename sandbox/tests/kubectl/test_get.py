from __future__ import annotations

import json
import re

import pytest
import yaml

from support.builders.manifests import CONFIG, DEPLOYMENT, LEASE, SERVICE
from support.servers.kubectl import Kubectl

pytestmark = pytest.mark.kubectl


def _apply(kubectl: Kubectl, *manifests: str) -> None:
    kubectl("apply", "-f", "-", stdin="\n---\n".join(manifests))


def _running(kubectl: Kubectl) -> None:
    _apply(kubectl, DEPLOYMENT)
    kubectl("rollout", "status", "deployment/web")


def test_namespaces(kubectl: Kubectl) -> None:
    """`get ns` shows the four namespaces every cluster has, and the test's own."""
    shown = {words[0]: words[1] for words in kubectl("get", "ns", "--no-headers").words}
    assert {"default", "kube-node-lease", "kube-public", "kube-system", kubectl.namespace} <= set(shown)
    assert shown[kubectl.namespace] == "Active"
    assert kubectl("get", "ns").words[0] == ["NAME", "STATUS", "AGE"]


def test_columns_of_workloads(kubectl: Kubectl) -> None:
    """Deployments, ReplicaSets and pods have the server's columns."""
    _running(kubectl)
    header, row = kubectl("get", "deployments").words
    assert header == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert row[:4] == ["web", "2/2", "2", "2"]
    header, row = kubectl("get", "rs").words
    assert header == ["NAME", "DESIRED", "CURRENT", "READY", "AGE"]
    assert row[1:4] == ["2", "2", "2"]
    header, *rows = kubectl("get", "pods").words
    assert header == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [row[1:4] for row in rows] == [["1/1", "Running", "0"]] * 2


def test_wide_columns(kubectl: Kubectl) -> None:
    """-o wide adds images and selectors to Deployments, addresses and nodes to pods."""
    _running(kubectl)
    header, row = kubectl("get", "deployments", "-o", "wide").words
    assert header[5:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    assert row[5:] == ["nginx", "nginx:1.25", "app=web"]
    header, row = kubectl("get", "rs", "-o", "wide").words
    assert header[5:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    titles, first, _ = kubectl("get", "pods", "-o", "wide").lines
    assert titles.split()[5:] == ["IP", "NODE", "NOMINATED", "NODE", "READINESS", "GATES"]
    assert re.search(r"10\.244\.\d+\.\d+ +\S+-\d +<none> +<none>", first)


def test_columns_of_plain_objects(kubectl: Kubectl) -> None:
    """ConfigMaps, Secrets, Services and Leases have their columns."""
    _apply(kubectl, CONFIG, SERVICE, LEASE)
    kubectl("create", "secret", "generic", "password", "--from-literal=a=b")
    header, row = kubectl("get", "cm", "settings").words
    assert (header, row[:2]) == (["NAME", "DATA", "AGE"], ["settings", "2"])
    header, row = kubectl("get", "secrets").words
    assert (header, row[:3]) == (["NAME", "TYPE", "DATA", "AGE"], ["password", "Opaque", "1"])
    header, row = kubectl("get", "services").words
    assert header == ["NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE"]
    assert [row[1], row[3], row[4]] == ["ClusterIP", "<none>", "80/TCP"]
    header, row = kubectl("get", "leases").words
    assert (header, row[:2]) == (["NAME", "HOLDER", "AGE"], ["leader", "me"])


def test_events_columns(kubectl: Kubectl) -> None:
    """`get events` shows what happened with its reason and object."""
    _running(kubectl)
    header, *rows = kubectl("get", "events").words
    assert header == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert ["Normal", "ScalingReplicaSet", "deployment/web"] in [row[1:4] for row in rows]


def test_yaml_json_and_names(kubectl: Kubectl) -> None:
    """The object itself comes as YAML and JSON with its kind; managedFields only on request."""
    _apply(kubectl, CONFIG)
    shown = yaml.safe_load(kubectl("get", "cm", "settings", "-o", "yaml").out)
    assert shown == kubectl.json("get", "cm", "settings")
    assert (shown["kind"], shown["apiVersion"], shown["data"]["color"]) == ("ConfigMap", "v1", "blue")
    assert "managedFields" not in shown["metadata"]
    fields = json.loads(kubectl("get", "cm", "settings", "-o", "json", "--show-managed-fields").out)
    assert fields["metadata"]["managedFields"][0]["manager"] == "kubectl-client-side-apply"
    assert kubectl.json("get", "cm")["kind"] == "List"
    assert "configmap/settings" in kubectl("get", "cm", "-o", "name").lines


def test_jsonpath_go_template_and_custom_columns(kubectl: Kubectl) -> None:
    """Output formats that kubectl makes itself work on what the server gives."""
    _apply(kubectl, CONFIG)
    assert kubectl("get", "cm", "settings", "-o", "jsonpath={.data.color}").out == "blue"
    assert kubectl("get", "cm", "settings", "-o", "go-template={{.data.size}}").out == "large"
    columns = kubectl("get", "cm", "settings", "-o", "custom-columns=N:.metadata.name,C:.data.color")
    assert columns.words == [["N", "C"], ["settings", "blue"]]


def test_selectors(kubectl: Kubectl) -> None:
    """-l and --field-selector choose on the server; wrong ones are refused."""
    _apply(kubectl, CONFIG, CONFIG.replace("settings", "other").replace("app: web", "app: db"))
    assert kubectl("get", "cm", "-l", "app=web", "-o", "name").lines == ["configmap/settings"]
    assert kubectl("get", "cm", "-l", "app in (db,web),app!=web", "-o", "name").lines == ["configmap/other"]
    assert "configmap/other" not in kubectl("get", "cm", "-l", "!app", "-o", "name").lines
    chosen = kubectl("get", "cm", "--field-selector", "metadata.name=other", "-o", "name")
    assert chosen.lines == ["configmap/other"]
    refused = kubectl("get", "cm", "--field-selector", "data.color=blue", fails=True)
    assert '"data.color" is not a known field selector' in refused.err
    wrong = kubectl("get", "cm", "-l", "a==b==c", fails=True)
    assert "found '==', expected: ',' or 'end of string'" in wrong.err


def test_field_selectors_of_pods(kubectl: Kubectl) -> None:
    """Pods can be chosen by phase and node."""
    _running(kubectl)
    assert len(kubectl("get", "pods", "--field-selector", "status.phase=Running", "-o", "name").lines) == 2
    assert kubectl("get", "pods", "--field-selector", "status.phase=Failed").err.startswith(
        "No resources found"
    )
    assert kubectl("get", "pods", "--field-selector", "spec.nodeName=nowhere", "-o", "name").out == ""


def test_sorting(kubectl: Kubectl) -> None:
    """--sort-by orders by a field of the objects."""
    _apply(
        kubectl,
        *(
            CONFIG.replace("settings", name).replace("blue", color)
            for name, color in (("a", "violet"), ("b", "black"))
        ),
    )
    rows = kubectl("get", "cm", "-l", "app=web", "--sort-by=.data.color", "--no-headers").words
    assert [row[0] for row in rows] == ["b", "a"]


def test_labels_as_columns(kubectl: Kubectl) -> None:
    """--show-labels and -L show labels."""
    _apply(kubectl, CONFIG)
    assert kubectl("get", "cm", "settings", "--show-labels").words[1][3] == "app=web"
    assert kubectl("get", "cm", "settings", "-L", "app").words[1][3] == "web"


def test_all_namespaces(kubectl: Kubectl) -> None:
    """-A lists across namespaces, with the namespace as a column."""
    _apply(kubectl, CONFIG)
    header, *rows = kubectl("get", "cm", "-A").words
    assert header == ["NAMESPACE", "NAME", "DATA", "AGE"]
    assert [kubectl.namespace, "settings"] in [row[:2] for row in rows]


def test_several_kinds_at_once(kubectl: Kubectl) -> None:
    """Kinds can be listed together, and `all` means the kinds of that category."""
    _running(kubectl)
    _apply(kubectl, SERVICE)
    names = kubectl("get", "all", "-o", "name").lines
    assert {name.partition("/")[0] for name in names} == {
        "pod",
        "service",
        "deployment.apps",
        "replicaset.apps",
    }
    assert kubectl("get", "deploy/web", "svc/web", "-o", "name").lines == [
        "deployment.apps/web",
        "service/web",
    ]


def test_absent_objects(kubectl: Kubectl) -> None:
    """A missing object is reported in the server's words."""
    missing = kubectl("get", "pod", "nobody", fails=True)
    assert missing.err == 'Error from server (NotFound): pods "nobody" not found\n'
    assert kubectl("get", "pods").err == f"No resources found in {kubectl.namespace} namespace.\n"
    assert kubectl("get", "pod", "nobody", "--ignore-not-found").out == ""
    kind = kubectl("get", "gizmos", fails=True)
    assert kind.err == 'error: the server doesn\'t have a resource type "gizmos"\n'


def test_watching(kubectl: Kubectl) -> None:
    """-w shows the present state, then each change as a row, without repeating the header."""
    _apply(kubectl, CONFIG)
    with kubectl.following("get", "cm", "settings", "-w") as follower:
        follower.wait_for(lambda lines: len(lines) == 2)
        kubectl("patch", "cm", "settings", "--type=merge", "-p", '{"data":{"third":"x"}}')
        lines = follower.wait_for(lambda lines: len(lines) == 3)
    assert [line.split()[:2] for line in lines] == [["NAME", "DATA"], ["settings", "2"], ["settings", "3"]]


def test_watching_only_with_events(kubectl: Kubectl) -> None:
    """--watch-only with --output-watch-events names what happened."""
    with kubectl.following("get", "cm", "--watch-only", "--output-watch-events") as follower:
        kubectl("create", "cm", "first", "--dry-run=server")
        kubectl.until(lambda: _seen(kubectl, follower_lines=follower.wait_for(lambda _: True)))
        kubectl("delete", "cm", "probe")
        lines = follower.wait_for(lambda lines: any(line.startswith("DELETED") for line in lines))
    events = [line.split()[:2] for line in lines[1:]]
    assert ["ADDED", "probe"] in events
    assert ["DELETED", "probe"] in events
    assert "first" not in " ".join(lines)


def _seen(kubectl: Kubectl, *, follower_lines: list[str]) -> bool:
    """The watch is on once it shows a change made after it was asked for."""
    kubectl.run("create", "cm", "probe")
    if any("probe" in line for line in follower_lines):
        return True
    kubectl.run("delete", "cm", "probe", "--wait=false")
    return False


def test_watching_a_rollout(kubectl: Kubectl) -> None:
    """`get deployment -w` shows availability climb while kubectl apply returns at once."""
    kubectl("create", "deployment", "idle", "--image=nginx", "--replicas=0")
    with kubectl.following("get", "deployment", "-w") as follower:
        # it has listed what there is, and misses nothing from there on
        follower.wait_for(lambda lines: any(line.startswith("idle ") for line in lines))
        _apply(kubectl, DEPLOYMENT)
        lines = follower.wait_for(lambda lines: any(line.split()[1:2] == ["2/2"] for line in lines))
    shown = [line.split()[1] for line in lines if line.startswith("web ")]
    assert shown[0].startswith("0/")
    assert shown == sorted(shown)


RAW_KEEPS_THE_SERVERS_PATH = 34


def test_raw_paths(kubectl: Kubectl) -> None:
    """--raw reads any path as an administrator."""
    if kubectl.minor < RAW_KEEPS_THE_SERVERS_PATH:
        pytest.skip("this kubectl leaves the path of the server's URL out of --raw")
    assert kubectl("get", "--raw", "/healthz").out == "ok"
    assert kubectl("get", "--raw", "/readyz").out == "ok"
    assert json.loads(kubectl("get", "--raw", "/api/v1/namespaces/default").out)["kind"] == "Namespace"
    assert json.loads(kubectl("get", "--raw", "/version").out)["major"] == "1"


def test_chunks(kubectl: Kubectl) -> None:
    """Lists are read in pages when kubectl asks for them."""
    _apply(kubectl, *(CONFIG.replace("settings", f"c{index}") for index in range(7)))
    names = kubectl("get", "cm", "-l", "app=web", "--chunk-size=2", "-o", "name").lines
    assert names == [f"configmap/c{index}" for index in range(7)]
